/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/prng.h"
#include "common/wire/eth.h"
#include "common/wire/roce.h"
#include "common/wire/switch_manage.h"

struct rec_tuple
flow_tuple(const struct flow *flow)
{
	return (struct rec_tuple){
		.src_ip = flow->src_ip,
		.dst_ip = flow->dst_ip,
		.sport = flow->sport,
		.dport = flow->dport,
	};
}

int
flow_table_reserve(struct flow_table *table, uint32_t spares)
{
	struct flow *flows = realloc(table->flows, ((size_t)table->count + spares) * sizeof(*flows));

	if (flows == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < spares; i++)
		flows[table->count + i] = (struct flow){
			.src_node = UINT32_MAX,
			.dst_node = UINT32_MAX,
			.kind = FLOW_UNPLANNED,
		};
	table->flows = flows;
	table->spares = spares;
	return 0;
}

/* The index of tuples. */

struct flow_index {
	const struct flow_table *table;
	uint32_t *slots; /* [mask + 1] flow * 2 + reverse; FLOW_NONE: free. At most half are taken: a look-up ends */
	uint64_t mask;
};

static struct rec_tuple
tuple_of(const struct flow_table *table, uint32_t direction)
{
	struct rec_tuple tuple = flow_tuple(&table->flows[direction >> 1]);

	if ((direction & 1) == 0)
		return tuple;
	return (struct rec_tuple){
		.src_ip = tuple.dst_ip, .dst_ip = tuple.src_ip, .sport = tuple.dport, .dport = tuple.sport
	};
}

static bool
same(const struct rec_tuple *a, const struct rec_tuple *b)
{
	return a->src_ip == b->src_ip && a->dst_ip == b->dst_ip && a->sport == b->sport && a->dport == b->dport;
}

/* @return the slot that has the tuple, or the free one where it would be */
static uint64_t
slot_of(const struct flow_index *index, const struct rec_tuple *tuple)
{
	uint64_t addresses = (uint64_t)tuple->src_ip << 32 | tuple->dst_ip;
	uint64_t at = prng_mix(prng_mix(addresses) ^ ((uint64_t)tuple->sport << 16 | tuple->dport)) & index->mask;

	for (; index->slots[at] != FLOW_NONE; at = (at + 1) & index->mask) {
		struct rec_tuple known = tuple_of(index->table, index->slots[at]);

		if (same(&known, tuple))
			break;
	}
	return at;
}

struct flow_index *
flow_index_create(const struct flow_table *table)
{
	struct flow_index *index = calloc(1, sizeof(*index));
	uint64_t size = 4;

	while (size < 4 * (uint64_t)table->count)
		size *= 2;
	if (index == NULL || (index->slots = malloc(size * sizeof(*index->slots))) == NULL) {
		free(index);
		errno = ENOMEM;
		return NULL;
	}
	index->table = table;
	index->mask = size - 1;
	memset(index->slots, 0xff, size * sizeof(*index->slots));
	for (uint32_t reverse = 0; reverse < 2; reverse++)
		for (uint32_t f = 0; f < table->count; f++) {
			struct rec_tuple tuple = tuple_of(table, f * 2 + reverse);
			uint64_t at = slot_of(index, &tuple);

			if (index->slots[at] == FLOW_NONE)
				index->slots[at] = f * 2 + reverse;
		}
	return index;
}

void
flow_index_destroy(struct flow_index *index)
{
	if (index != NULL)
		free(index->slots);
	free(index);
}

uint32_t
flow_index_find(const struct flow_index *index, const struct rec_tuple *tuple, bool *reverse)
{
	uint32_t direction = index->slots[slot_of(index, tuple)];

	*reverse = direction != FLOW_NONE && (direction & 1) != 0;
	return direction != FLOW_NONE ? direction >> 1 : FLOW_NONE;
}

bool
sample_is_of_flow(const struct swm_sample *sample)
{
	if (sample->is_rocev2)
		return roce_is_rc_request(sample->opcode);
	return sample->protocol == IPV4_PROTOCOL_TCP || sample->protocol == IPV4_PROTOCOL_UDP;
}
