/* SPDX-License-Identifier: BSD-3-Clause */
/* Blackhole: a switch on the slow step's way swallowed its packets, or knew no route for them. */
#include "diag/cause/drops.h"

void
cause_blackhole(struct cause_set *set, uint32_t step)
{
	drops_add(set, step, VERDICT_BLACKHOLE, REC_DROP_BLACKHOLE, "packets swallowed");
	drops_add(set, step, VERDICT_BLACKHOLE, REC_DROP_NO_ROUTE, "packets dropped for want of a route");
}
