/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LetFlow (Vanini et al., NSDI 2017, section 3): packets of a flow that follow each other within a gap are a flowlet, and
 * stay on its port; the first one after a longer gap draws a port. Every flow has a row of its own: no two share one.
 */
#include <string.h>

#include "common/array.h"
#include "dpswitch/balance/balance.h"

struct flowlet {
	struct cfg_where where;
	uint64_t gap_ps;
};

#define S struct flowlet
static const struct cfg_field fields[] = {
	CFG_FIELD("gap", CFG_TIME, offsetof(S, gap_ps), .def = "50us", .max = 1e12,
		  .doc = "Gap between two packets of a flow at a switch after which the second one chooses a new port. A "
			 "gap longer than the difference between path delays keeps the order of a flow"),
};

static const struct cfg_table table = {
	.path = "load_balancing.flowlet",
	.doc = "kind = \"flowlet\".",
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

#define PORT_BITS 8

/* A flow's word: arrival of its last packet << 8 | 1 + its port. */
static uint32_t
choose(const struct balance *balance, struct balance_set *set, const struct balance_ask *ask)
{
	const struct flowlet *params = (const struct flowlet *)balance->params->own;
	const struct pkt *p = ask->p;
	uint64_t *word = &balance->flow_word[p->flow * 2 + ((p->flags & PKT_REVERSE) != 0)];
	const uint8_t *member = NULL;
	uint32_t index;

	if (*word != 0 && p->time_ps - (*word >> PORT_BITS) <= params->gap_ps)
		member = memchr(set->members, (int)(*word & 0xff) - 1, set->count);
	index = member != NULL ? (uint32_t)(member - set->members) : balance_draw(balance, p, set->count);
	*word = p->time_ps << PORT_BITS | (set->members[index] + 1u);
	return index;
}

const struct balance_ops balance_flowlet = {
	.name = "flowlet",
	.reorders = true,
	.in_order = true,
	.per_flow = true,
	.table = &table,
	.choose = choose,
};
