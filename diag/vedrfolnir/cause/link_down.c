/* SPDX-License-Identifier: BSD-3-Clause */
/* Link down: a port on the slow step's way dropped packets because its link was down. */
#include "diag/vedrfolnir/cause/drops.h"

void
cause_link_down(struct cause_set *set, uint32_t step)
{
	drops_add(set, step, FINDING_LINK_DOWN, REC_DROP_LINK_DOWN, "packets dropped because the link was down");
}
