/* SPDX-License-Identifier: BSD-3-Clause */
/* Real payload: the vectors of a host's ranks in one region, the placement of received data in them, and the check. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rxe-hosts/steps/rank.h"
#include "workload/plan.h"

static uint8_t *
vector_of(const struct step_engine *engine, const struct step_rank *rank, uint32_t iteration)
{
	const struct plan_collective *c = &engine->plan->collectives[rank->collective];

	return engine->region + c->ranks[rank->rank].region_offset + iteration % c->buffers * c->vector_bytes;
}

int
payload_init(struct step_engine *engine)
{
	const struct plan *plan = engine->plan;

	if (!plan->real)
		return 0;
	for (uint32_t i = 0; i < engine->nranks; i++) {
		const struct plan_collective *c = &plan->collectives[engine->ranks[i].collective];
		uint64_t end = c->ranks[engine->ranks[i].rank].region_offset + c->buffers * c->vector_bytes;

		if (end > engine->region_bytes)
			engine->region_bytes = end;
	}
	/* Background messages read arbitrary bytes; the receiver discards them. */
	for (uint32_t i = 0; i < engine->nbackgrounds && !engine->device->own_background; i++)
		if (engine->backgrounds[i].plan->bytes > engine->region_bytes)
			engine->region_bytes = engine->backgrounds[i].plan->bytes;
	for (uint32_t i = 0; i < engine->messages.count && !engine->device->own_background; i++)
		if (engine->plan->messages[engine->messages.first + i].bytes > engine->region_bytes)
			engine->region_bytes = engine->plan->messages[engine->messages.first + i].bytes;
	if (engine->region_bytes == 0)
		return 0;
	engine->region = calloc(1, engine->region_bytes);
	if (engine->region == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < engine->nranks; i++)
		for (uint32_t b = 0; b < plan->collectives[engine->ranks[i].collective].buffers; b++)
			payload_fill(engine, &engine->ranks[i], b);
	return 0;
}

void
payload_fill(struct step_engine *engine, const struct step_rank *rank, uint32_t iteration)
{
	const struct plan_collective *c = &engine->plan->collectives[rank->collective];

	if (c->real)
		coll_data_fill(vector_of(engine, rank, iteration), c->schedule, coll_data_type(c->type, c->schedule),
			       rank->rank, iteration);
}

uint64_t
payload_wrong(const struct step_engine *engine, const struct step_rank *rank)
{
	const struct plan_collective *c = &engine->plan->collectives[rank->collective];

	if (!c->verify)
		return 0;
	return coll_data_wrong(vector_of(engine, rank, rank->iteration), c->schedule, coll_data_type(c->type, c->schedule),
			       rank->rank, rank->iteration);
}

void
payload_local(struct step_engine *engine, const struct step_rank *rank, uint32_t step)
{
	const struct plan_collective *c = &engine->plan->collectives[rank->collective];
	const struct coll_step at = coll_step_get(c->schedule, rank->rank, step);
	uint32_t elem = coll_elem_bytes(c->type);
	uint8_t *memory;

	if (!c->real || at.count_elems == 0)
		return;
	memory = vector_of(engine, rank, rank->iteration);
	if (at.reduce)
		coll_data_reduce(memory + at.dst_elems * elem, memory + at.src_elems * elem,
				 coll_data_type(c->type, c->schedule), at.count_elems);
	else
		memmove(memory + at.dst_elems * elem, memory + at.src_elems * elem, at.count_elems * elem);
}

uint64_t
payload_offset(const struct plan_collective *c, uint32_t rank, uint32_t iteration, uint64_t elem)
{
	if (!c->real)
		return 0;
	return c->ranks[rank].region_offset + iteration % c->buffers * c->vector_bytes + elem * coll_elem_bytes(c->type);
}

/* @return whether a flow carries the step of its sender */
static bool
carries(const struct plan_collective *c, const struct plan_flow *of, uint32_t flow, uint32_t step)
{
	return step >= 1 && step <= coll_steps(c->schedule, of->rank) && plan_step_at(c, of->rank, step)->flow == flow;
}

uint64_t
payload_place(void *ctx, uint32_t flow, uint32_t imm_value)
{
	const struct step_engine *engine = ctx;
	const struct plan_flow *of = &engine->plan->of[flow];
	struct imm imm = imm_decode(imm_value);
	const struct plan_collective *c;

	if (of->kind != FLOW_COLLECTIVE)
		return UINT64_MAX;
	c = &engine->plan->collectives[of->owner];
	if (!carries(c, of, flow, imm.step))
		return UINT64_MAX;
	return payload_offset(c, of->peer, imm.iteration, coll_step_get(c->schedule, of->rank, imm.step).dst_elems);
}

void
payload_extent(void *ctx, uint32_t flow, uint64_t *from, uint64_t *end)
{
	const struct step_engine *engine = ctx;
	const struct plan_flow *of = &engine->plan->of[flow];
	const struct plan_collective *c = of->kind == FLOW_COLLECTIVE ? &engine->plan->collectives[of->owner] : NULL;

	*from = UINT64_MAX;
	*end = 0;
	for (uint32_t step = 1; c != NULL && step <= coll_steps(c->schedule, of->rank); step++) {
		uint64_t first, last;

		if (!carries(c, of, flow, step))
			continue;
		first = payload_offset(c, of->peer, 0, coll_step_get(c->schedule, of->rank, step).dst_elems);
		last = first + (c->buffers - 1) * c->vector_bytes + plan_step_bytes(c, of->rank, step);
		*from = first < *from ? first : *from;
		*end = last > *end ? last : *end;
	}
	*from = *from < *end ? *from : *end;
}

void
payload_accept(void *ctx, uint32_t flow, uint32_t imm_value, uint64_t remote_offset, const void *src, uint32_t bytes)
{
	struct step_engine *engine = ctx;
	const struct plan_flow *of = &engine->plan->of[flow];
	struct imm imm = imm_decode(imm_value);
	const struct plan_collective *c;

	if (of->kind != FLOW_COLLECTIVE)
		return;
	c = &engine->plan->collectives[of->owner];
	if (!carries(c, of, flow, imm.step) || remote_offset > engine->region_bytes ||
	    bytes > engine->region_bytes - remote_offset) {
		engine->unexpected++;
		return;
	}
	if (coll_step_get(c->schedule, of->rank, imm.step).reduce) {
		uint32_t elem = coll_elem_bytes(c->type);

		if (remote_offset % elem != 0 || bytes % elem != 0) { /* the path MTU is whole elements */
			engine->unexpected++;
			return;
		}
		coll_data_reduce(engine->region + remote_offset, src, coll_data_type(c->type, c->schedule), bytes / elem);
	} else {
		memcpy(engine->region + remote_offset, src, bytes);
	}
}
