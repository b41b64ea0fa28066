/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the 5-tuple of a frame to its flow: planned, or one of the spare slots for what hosts begin of their own accord.
 * A slot is given away again when its flow has been idle and no packet of it is left; the one idle for longest first.
 * Within a window it is only read, by all lcores; flows are added between windows, or by the only lcore.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "common/flow.h"
#include "dpswitch/edge/kernel_host/classify.h"
#include "topo/topo.h"

#define LOOKUP_NONE UINT32_MAX

struct lookup {
	const struct topo *topo;
	struct flow_table *flows;
	struct tuple *tuples; /* [flow slots] as in frames */
	uint32_t *next;       /* [flow slots] in the same bucket */
	uint32_t *buckets;    /* [mask + 1] */
	uint32_t mask;
	_Atomic uint64_t *used_ps; /* [spares] when a packet was last seen; any lcore, relaxed */
	uint64_t idle_ps;
	uint32_t taken, recycled; /* spare slots in use; given away again */
};

/* What is remembered of flows holds as long as this does. */
static inline uint32_t
lookup_generation(const struct lookup *lookup)
{
	return lookup->taken + lookup->recycled;
}

/* @return 0 or -ENOMEM */
int lookup_init(struct lookup *lookup, const struct topo *topo, struct flow_table *flows, uint64_t idle_ps);
void lookup_fini(struct lookup *lookup);

/* @return the flow with this tuple, LOOKUP_NONE: none */
uint32_t lookup_find(const struct lookup *lookup, const struct tuple *tuple);

/*
 * Takes a spare slot for a new flow between two hosts of the topology.
 * @param in_flight  [spares] packets of each slot's flow that are still somewhere
 * @param recycled   set if the slot had another flow before: what caches it must forget
 * @return its id; LOOKUP_NONE: an address is nobody's, or no slot is free or idle
 */
uint32_t lookup_add(struct lookup *lookup, const struct tuple *tuple, uint8_t prio, uint64_t now_ps,
		    const _Atomic uint32_t *in_flight, bool *recycled);

/* A packet of the flow was seen. */
static inline void
lookup_touch(struct lookup *lookup, uint32_t flow, uint64_t now_ps)
{
	if (flow >= lookup->flows->count)
		atomic_store_explicit(&lookup->used_ps[flow - lookup->flows->count], now_ps, memory_order_relaxed);
}
