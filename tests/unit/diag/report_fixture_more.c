/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/diag/report_fixture_parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/prng.h"
#include "common/units.h"
#include "common/wire/collective.h"
#include "common/wire/ending.h"

struct verdict *
fixture_stalled(void)
{
	struct verdict *v = fixture_clean();
	struct run_collective *c = &v->run.collectives[0];
	struct run_step *stuck = &v->run.steps[fixture_step(v, 5, 6)];

	v->run.end_ps = stuck->start_ps + 100 * PS_PER_MS;
	v->run.end_reason = REC_END_STALL;
	stuck->open = stuck->slow = true;
	stuck->end_ps = v->run.end_ps;
	stuck->acked_bytes = 118000000;
	stuck[1].started = false; /* its own last step, and what the next rank sends on */
	stuck[1].open = true;
	stuck[1].start_ps = stuck[1].end_ps = v->run.end_ps;
	stuck[1].waited_for = fixture_step(v, 5, 6);
	c->complete = false;
	c->end_ps = 0;
	for (uint32_t g = 0; g < v->run.niterations; g++) {
		free(vedrfolnir_of(v)->waiting[g].vertices);
		free(vedrfolnir_of(v)->waiting[g].edges);
		free(vedrfolnir_of(v)->waiting[g].path);
	}
	fixture_job(v);
	fixture_wait(v);
	v->sections[0].claim = (struct claim){ .kind = CLAIM_INCOMPLETE, .slow = 1 };
	v->run.overhead.completeness = 0.615;
	v->run.overhead.dropped = 412;
	v->run.overhead.deferred = 37;
	return v;
}

#define LEAF_HOSTS 16
#define SPINES 4

static void
make_leaf_spine(struct verdict *v, uint32_t ranks)
{
	uint32_t leaves = (ranks + LEAF_HOSTS - 1) / LEAF_HOSTS, nlinks = 0;
	uint32_t(*links)[2] = fixture_alloc((size_t)ranks + leaves * SPINES, sizeof(*links));

	for (uint32_t r = 0; r < ranks; r++, nlinks++) {
		links[nlinks][0] = leaves + SPINES + r;
		links[nlinks][1] = r / LEAF_HOSTS;
	}
	for (uint32_t i = 0; i < leaves * SPINES; i++, nlinks++) {
		links[nlinks][0] = i / SPINES;
		links[nlinks][1] = leaves + i % SPINES;
	}
	fixture_fabric(v, leaves + SPINES + ranks, leaves + SPINES, (const uint32_t(*)[2])links, nlinks);
	free(links);
}

struct verdict *
fixture_large(uint32_t ranks, uint32_t steps)
{
	struct verdict *v = fixture_verdict();
	uint64_t *duration_ps = fixture_alloc((size_t)ranks * steps, sizeof(*duration_ps));
	uint32_t *flows = fixture_alloc(ranks, sizeof(*flows)), first;
	struct prng prng;

	prng_init(&prng, 7, 0);
	make_leaf_spine(v, ranks);
	first = v->run.nnodes - ranks;
	v->run.nflows = ranks;
	v->run.flows = fixture_alloc(ranks, sizeof(*v->run.flows));
	for (uint32_t r = 0; r < ranks; r++) {
		flows[r] = r;
		fixture_flow(v, r, first + r, first + (r + 1) % ranks, 10000, true);
	}
	v->run.ncollectives = 1;
	v->run.collectives = fixture_alloc(1, sizeof(*v->run.collectives));
	v->run.collectives[0] = (struct run_collective){ .name = "grads",
							 .algorithm = COLL_RING,
							 .op = COLL_ALLREDUCE,
							 .ranks = ranks,
							 .group_ranks = ranks,
							 .rank_steps = steps,
							 .bytes = 1ULL << 30,
							 .step_bytes = (1ULL << 30) / ranks,
							 .ideal_ps = steps * 690 * PS_PER_US,
							 .expect_ps = steps * 700 * PS_PER_US };
	for (uint32_t i = 0; i < ranks * steps; i++)
		duration_ps[i] = 700 * PS_PER_US + (prng_below(&prng, 100) == 0 ? prng_below(&prng, 900) * PS_PER_US : 0);
	fixture_steps(v, flows, duration_ps, 0, 700 * PS_PER_US);
	fixture_wait(v);
	snprintf(v->run.name, sizeof(v->run.name), "large");
	v->sections[0].claim = (struct claim){ .kind = CLAIM_NO_SIGN, .slow = 1 };
	v->run.overhead.completeness = 1;
	free(flows);
	free(duration_ps);
	return v;
}
