/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/truth/overtakings.h"

#include <stdlib.h>

#include "common/log.h"

#define FIRST_PLACES 16

/* @return the flow's place, or a free one for it */
static struct overtaking *
place(const struct overtakings *o, uint32_t flow, bool acks)
{
	uint32_t i = ((flow << 1 | acks) * 2654435761u) >> 16;

	for (;; i++) {
		struct overtaking *at = &o->at[i & (o->cap - 1)];

		if (at->packets == 0 || (at->flow == flow && at->acks == acks))
			return at;
	}
}

static void
widen(struct overtakings *o)
{
	struct overtakings wider = { .cap = o->cap != 0 ? 2 * o->cap : FIRST_PLACES, .count = o->count };

	wider.at = calloc(wider.cap, sizeof(*wider.at));
	if (wider.at == NULL)
		log_fatal("out of memory for what overtook data at a port");
	for (uint32_t i = 0; i < o->cap; i++)
		if (o->at[i].packets != 0)
			*place(&wider, o->at[i].flow, o->at[i].acks) = o->at[i];
	free(o->at);
	*o = wider;
}

void
overtakings_fini(struct overtakings *o)
{
	free(o->at);
	*o = (struct overtakings){ 0 };
}

void
overtakings_add(struct overtakings *o, uint32_t flow, bool acks, uint32_t wire_bytes, uint64_t now_ps)
{
	struct overtaking *at;

	if (2 * o->count >= o->cap)
		widen(o);
	at = place(o, flow, acks);
	if (at->packets == 0) {
		*at = (struct overtaking){ .flow = flow, .acks = acks, .first_ps = now_ps };
		o->count++;
	}
	at->packets++;
	at->wire_bytes += wire_bytes;
	at->last_ps = now_ps;
}
