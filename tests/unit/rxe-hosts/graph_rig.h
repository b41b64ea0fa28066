/* SPDX-License-Identifier: BSD-3-Clause */
/* Step engines, on scripted devices in one star, of schedules that a test makes itself: rank r is at host r. */
#pragma once

#include "collectives/builder.h"
#include "rxe-hosts/steps/rank.h"
#include "tests/unit/rxe-hosts/steps_rig.h"

#define GRAPH_MAX 4 /* collectives */

/* One collective of the run. */
struct graph {
	struct coll_builder *builder;
	uint32_t iterations; /* 0: one */
	uint32_t job;
	uint32_t after[GRAPH_MAX], nafter;
	uint64_t memory_elems; /* 0: 8 */
	uint64_t gap_ps;
	uint64_t (*actual_ps)(const void *ctx, uint32_t rank, uint32_t iteration, uint64_t planned_ps);
	bool verify; /* as an AllGather of all the memory */
};

/*
 * Payload is real, elements are int32. graph_rig_init() gives every flow a base RTT of 10 us, every step an expected time
 * of 30 ms.
 * @param delay_ps  start hook, NULL: none
 */
void graph_rig_init(struct steps_rig *rig, uint32_t ranks, enum rec_policy policy, const struct graph *graphs,
		    uint32_t count,
		    uint64_t (*delay_ps)(const void *ctx, uint32_t node, uint32_t collective, uint32_t step));

/* The plan alone, without times. @param ranks  at most the topology's hosts. The caller destroys it */
struct plan *graph_rig_plan(const struct topo *topo, uint32_t ranks, bool notify, const struct graph *graphs,
			    uint32_t count);

/* The memory of a collective's rank in an iteration. */
int32_t *graph_rig_memory(const struct steps_rig *rig, uint32_t collective, uint32_t rank, uint32_t iteration);
