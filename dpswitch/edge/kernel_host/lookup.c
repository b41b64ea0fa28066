/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/kernel_host/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/prng.h"
#include "common/wire/notify.h"

#define UDP 17

static uint32_t
bucket_of(const struct lookup *lookup, const struct tuple *t)
{
	uint64_t ports = (uint64_t)t->sport << 32 | (uint64_t)t->dport << 16 | t->protocol;

	return (uint32_t)prng_mix(((uint64_t)t->src_ip << 32 | t->dst_ip) ^ ports * 0x9e3779b97f4a7c15ULL) & lookup->mask;
}

static bool
same(const struct tuple *a, const struct tuple *b)
{
	return a->src_ip == b->src_ip && a->dst_ip == b->dst_ip && a->sport == b->sport && a->dport == b->dport &&
	       a->protocol == b->protocol;
}

/* A planned flow's destination port is a label; frames have that of their protocol. */
static struct tuple
tuple_of(const struct flow *flow)
{
	return (struct tuple){
		.src_ip = flow->src_ip,
		.dst_ip = flow->dst_ip,
		.sport = flow->sport,
		.dport = flow->kind == FLOW_CONTROL ? NOTIFY_UDP_PORT : ROCEV2_UDP_PORT,
		.protocol = UDP,
	};
}

static void
insert(struct lookup *lookup, uint32_t flow, const struct tuple *tuple)
{
	uint32_t *bucket = &lookup->buckets[bucket_of(lookup, tuple)];

	lookup->tuples[flow] = *tuple;
	lookup->next[flow] = *bucket;
	*bucket = flow;
}

static void
erase(struct lookup *lookup, uint32_t flow)
{
	uint32_t *at = &lookup->buckets[bucket_of(lookup, &lookup->tuples[flow])];

	while (*at != flow)
		at = &lookup->next[*at];
	*at = lookup->next[flow];
}

int
lookup_init(struct lookup *lookup, const struct topo *topo, struct flow_table *flows, uint64_t idle_ps)
{
	uint32_t slots = flow_table_slots(flows), buckets = 64;

	while (buckets < 2 * slots)
		buckets *= 2;
	*lookup = (struct lookup){ .topo = topo, .flows = flows, .mask = buckets - 1, .idle_ps = idle_ps };
	lookup->tuples = calloc(slots, sizeof(*lookup->tuples));
	lookup->next = calloc(slots, sizeof(*lookup->next));
	lookup->buckets = malloc(buckets * sizeof(*lookup->buckets));
	lookup->used_ps = calloc(flows->spares, sizeof(*lookup->used_ps));
	if (lookup->tuples == NULL || lookup->next == NULL || lookup->buckets == NULL || lookup->used_ps == NULL) {
		lookup_fini(lookup);
		return -ENOMEM;
	}
	memset(lookup->buckets, 0xff, buckets * sizeof(*lookup->buckets));
	/* Backwards: of several flows with one tuple the first is found. */
	for (uint32_t i = flows->count; i-- > 0;) {
		struct tuple tuple = tuple_of(&flows->flows[i]);

		insert(lookup, i, &tuple);
	}
	return 0;
}

void
lookup_fini(struct lookup *lookup)
{
	free(lookup->tuples);
	free(lookup->next);
	free(lookup->buckets);
	free(lookup->used_ps);
	*lookup = (struct lookup){ 0 };
}

uint32_t
lookup_find(const struct lookup *lookup, const struct tuple *tuple)
{
	uint32_t flow = lookup->buckets[bucket_of(lookup, tuple)];

	while (flow != LOOKUP_NONE && !same(&lookup->tuples[flow], tuple))
		flow = lookup->next[flow];
	return flow;
}

/* @return a spare slot for a new flow: never used, else idle for longest */
static uint32_t
free_slot(const struct lookup *lookup, uint64_t now_ps, const _Atomic uint32_t *in_flight)
{
	uint32_t first = lookup->flows->count, best = LOOKUP_NONE;
	uint64_t best_ps = now_ps;

	if (lookup->taken < lookup->flows->spares)
		return first + lookup->taken;
	for (uint32_t i = 0; i < lookup->flows->spares; i++) {
		uint64_t used_ps = atomic_load_explicit(&lookup->used_ps[i], memory_order_relaxed);

		if (atomic_load_explicit(&in_flight[i], memory_order_relaxed) != 0 || now_ps < used_ps + lookup->idle_ps)
			continue;
		if (best == LOOKUP_NONE || used_ps < best_ps) {
			best = first + i;
			best_ps = used_ps;
		}
	}
	return best;
}

uint32_t
lookup_add(struct lookup *lookup, const struct tuple *tuple, uint8_t prio, uint64_t now_ps,
	   const _Atomic uint32_t *in_flight, bool *recycled)
{
	struct flow flow = {
		.src_ip = tuple->src_ip,
		.dst_ip = tuple->dst_ip,
		.sport = tuple->sport,
		.dport = tuple->dport,
		.prio = prio,
		.kind = FLOW_UNPLANNED,
		.protocol = tuple->protocol == UDP ? 0 : (uint8_t)tuple->protocol,
	};
	uint32_t slot;

	if (!topo_find_nic(lookup->topo, tuple->src_ip, &flow.src_node, &flow.src_nic) ||
	    !topo_find_nic(lookup->topo, tuple->dst_ip, &flow.dst_node, &flow.dst_nic) || flow.src_node == flow.dst_node)
		return LOOKUP_NONE;
	slot = free_slot(lookup, now_ps, in_flight);
	if (slot == LOOKUP_NONE)
		return LOOKUP_NONE;
	*recycled = lookup->taken == lookup->flows->spares;
	if (*recycled) {
		erase(lookup, slot);
		lookup->recycled++;
	} else {
		lookup->taken++;
	}
	lookup->flows->flows[slot] = flow;
	insert(lookup, slot, tuple);
	lookup_touch(lookup, slot, now_ps);
	return slot;
}
