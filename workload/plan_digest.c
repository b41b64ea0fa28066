/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/hash.h"
#include "workload/plan.h"

static uint64_t
flows(uint64_t digest, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->flows.count; i++) {
		const struct flow *flow = &plan->flows.flows[i];

		digest = digest_u64(digest, (uint64_t)flow->src_ip << 32 | flow->dst_ip);
		digest = digest_u64(digest, (uint64_t)flow->sport << 32 | (uint64_t)flow->dport << 16 |
						    (uint64_t)flow->prio << 8 | flow->kind);
		digest = digest_u64(digest, plan->of[i].base_rtt_ps << 1 | plan->of[i].measured);
	}
	return digest;
}

static uint64_t
collective(uint64_t digest, const struct plan_collective *c)
{
	const struct coll_schedule *s = c->schedule;

	digest = digest_u64(digest,
			    (uint64_t)c->type << 32 | (uint64_t)c->real << 2 | (uint64_t)c->verify << 1 | c->qp_per_step);
	digest = digest_u64(digest, (uint64_t)c->iterations << 32 | c->buffers);
	digest = digest_u64(digest, c->vector_bytes);
	digest = digest_u64(digest, c->start_ps);
	digest = digest_u64(digest, c->gap_ps);
	digest = digest_u64(digest, c->job);
	for (uint32_t i = 0; i < c->nafter; i++)
		digest = digest_u64(digest, c->after[i]);
	for (uint32_t r = 0; r < s->ranks; r++) {
		digest = digest_u64(digest, c->ranks[r].region_offset);
		for (uint32_t step = 1; step <= coll_steps(s, r); step++) {
			const struct coll_step *at = coll_step_at(s, r, step);
			const struct plan_step *known = &c->steps[plan_at(c, r, step)];

			digest = digest_u64(digest, (uint64_t)known->flow << 32 | known->notify_flow);
			digest = digest_u64(digest, (uint64_t)at->peer << 32 | (uint64_t)at->ndeps << 1 | at->reduce);
			digest = digest_u64(digest, at->src_elems);
			digest = digest_u64(digest, at->dst_elems);
			digest = digest_u64(digest, at->count_elems);
			digest = digest_u64(digest, at->compute_ps);
			digest = digest_u64(digest, known->expect_ps);
			for (uint32_t i = 0; i < at->ndeps; i++) {
				struct coll_dep dep = s->deps[at->first_dep + i];

				digest = digest_u64(digest, (uint64_t)dep.rank << 32 | dep.step);
			}
		}
	}
	return digest;
}

uint64_t
plan_digest(const struct plan *plan)
{
	uint64_t digest = flows(DIGEST_INIT, plan);

	for (uint32_t i = 0; i < plan->ncollectives; i++)
		digest = collective(digest, &plan->collectives[i]);
	for (uint32_t i = 0; i < plan->nbackgrounds; i++) {
		const struct plan_background *background = &plan->backgrounds[i];

		digest = digest_u64(digest, (uint64_t)background->flow << 1 | background->repeat);
		digest = digest_u64(digest, background->bytes);
		digest = digest_u64(digest, background->start_ps);
		digest = digest_u64(digest, background->until_ps);
	}
	for (uint32_t i = 0; i < plan->nmessages; i++) {
		digest = digest_u64(digest, plan->messages[i].flow);
		digest = digest_u64(digest, plan->messages[i].bytes);
		digest = digest_u64(digest, plan->messages[i].start_ps);
	}
	return digest;
}
