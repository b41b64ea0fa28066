/* SPDX-License-Identifier: BSD-3-Clause */
/* Link down: a port on the slow step's path dropped packets because its link was down. */
#include "common/array.h"
#include "common/wire/drop.h"
#include "diag/vedrfolnir/cause/drops.h"

static void
look(struct cause_set *set, uint32_t step)
{
	drops_add(set, step, REC_DROP_LINK_DOWN, 0);
}

static const char *const clauses[] = {
	DROPS_CLAUSE("packets dropped because the link was down"),
};

const struct cause cause_link_down = {
	.type = { .key = "link-down",
		  .title = "link down",
		  .preposition = "at ",
		  .badge = "lost",
		  .traits = FINDING_OF_HOLE | FINDING_OF_FAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};
