/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/channels.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "collectives/contents.h"

/* A run of a channel's memory, and where it is in that of all. */
struct place {
	uint64_t from, to, count;
};

struct places {
	struct place *at; /* [ranks][most] by from */
	uint32_t *count;  /* [ranks] */
	uint32_t most;
};

struct adding {
	struct coll_builder *builder;
	const struct coll_schedule *part;
	struct places places;
	struct coll_dep *first, *last; /* [steps of part] what each became */
	uint32_t first_channel;
};

/* Elements of a run that a channel has: every run is cut alike. */
static uint64_t
share(const struct coll_params *params, uint64_t count, uint32_t channel)
{
	return coll_block_count(count, params->channels, channel);
}

int
coll_channels_part(const struct coll_params *params, uint32_t channel, struct coll_part *part, struct err *err)
{
	const struct coll_op_ops *op = coll_op_ops(params->op);
	size_t n = params->ranks;

	*part = (struct coll_part){ .params = *params };
	part->params.channels = 1;
	if (params->counts != NULL) {
		part->params.counts = part->counts = calloc(n * n, sizeof(*part->counts));
		if (part->counts == NULL)
			return err_set(err, -ENOMEM, "no memory for the counts of a channel");
		for (size_t i = 0; i < n * n; i++)
			part->counts[i] = share(params, params->counts[i], channel);
	}
	part->params.count_elems = 0;
	if (params->counts != NULL)
		part->params.count_elems = op->length(&part->params, COLL_IN);
	else if (op->pieces(params, params->root, op->grid) == n)
		for (uint32_t block = 0; block < n; block++)
			part->params.count_elems +=
				share(params, coll_block_count(params->count_elems, params->ranks, block), channel);
	else
		part->params.count_elems = share(params, params->count_elems, channel);
	if (params->counts == NULL && part->params.count_elems == 0)
		return err_set(err, -EINVAL, "%" PRIu32 " channels for %" PRIu64 " elements: each needs some of them",
			       params->channels, params->count_elems);
	return 0;
}

static void
add_places(struct places *places, const struct coll_params *params, const struct coll_params *part, uint32_t rank,
	   enum coll_side side, uint64_t to, uint64_t from, uint32_t channel)
{
	const struct coll_op_ops *op = coll_op_ops(params->op);
	uint32_t pieces = op->pieces(params, rank, side);

	for (uint32_t i = 0; i < pieces; i++) {
		struct coll_piece whole = op->piece(params, rank, side, op->apart, i);
		struct coll_piece mine = op->piece(part, rank, side, op->apart, i);

		assert(mine.count_elems == share(params, whole.count_elems, channel));
		if (mine.count_elems != 0)
			places->at[(size_t)rank * places->most + places->count[rank]++] = (struct place){
				.from = from + mine.at_elems,
				.to = to + whole.at_elems + coll_block_start(whole.count_elems, params->channels, channel),
				.count = mine.count_elems,
			};
	}
}

/* @return 0 or -ENOMEM */
static int
find_places(struct places *places, const struct coll_params *params, const struct coll_layout *layout,
	    const struct coll_schedule *part, const struct coll_layout *part_layout, uint32_t channel,
	    uint64_t scratch_elems)
{
	const struct coll_op_ops *op = coll_op_ops(params->op);
	struct coll_params mine = coll_schedule_params(part);
	uint64_t scratch = part_layout->memory_elems - part_layout->scratch_elems;
	uint32_t n = params->ranks;

	for (uint32_t rank = 0; rank < n; rank++) {
		uint32_t pieces = op->pieces(params, rank, COLL_IN) + op->pieces(params, rank, COLL_OUT) + 1;

		places->most = pieces > places->most ? pieces : places->most;
	}
	places->at = calloc((size_t)n * places->most, sizeof(*places->at));
	places->count = calloc(n, sizeof(*places->count));
	if (places->at == NULL || places->count == NULL)
		return -ENOMEM;
	for (uint32_t rank = 0; rank < n; rank++) {
		if (op->apart || op->grid == COLL_IN)
			add_places(places, params, &mine, rank, COLL_IN, layout->in_elems, part_layout->in_elems, channel);
		if (op->apart || op->grid == COLL_OUT)
			add_places(places, params, &mine, rank, COLL_OUT, layout->out_elems, part_layout->out_elems,
				   channel);
		if (scratch != 0)
			places->at[(size_t)rank * places->most + places->count[rank]++] =
				(struct place){ part_layout->scratch_elems, scratch_elems, scratch };
	}
	return 0;
}

/* @return where an element is, and in *left how many follow it there */
static uint64_t
find(const struct places *places, uint32_t rank, uint64_t elem, uint64_t *left)
{
	const struct place *at = places->at + (size_t)rank * places->most;
	uint32_t lo = 0, hi = places->count[rank];

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (at[mid].from <= elem)
			lo = mid;
		else
			hi = mid;
	}
	assert(at[lo].from <= elem && elem < at[lo].from + at[lo].count);
	*left = at[lo].from + at[lo].count - elem;
	return at[lo].to + (elem - at[lo].from);
}

static struct coll_dep
add_step(const struct adding *adding, uint32_t rank, const struct coll_step *step, const struct coll_chunk *chunk)
{
	uint32_t channel = adding->first_channel + step->channel;

	if (step->peer == rank)
		return coll_builder_local(adding->builder, rank, channel, chunk, step->compute_ps);
	return coll_builder_send(adding->builder, rank, step->peer, channel, chunk);
}

/* One step of the part becomes as many as its chunk is cut into, at either end. */
static void
move_step(const struct adding *adding, uint32_t rank, uint32_t index)
{
	const struct coll_step *step = &adding->part->steps[index];
	uint64_t done = 0;

	while (done < step->count_elems) {
		struct coll_chunk chunk = { .reduce = step->reduce };
		uint64_t left;

		chunk.src_elems = find(&adding->places, rank, step->src_elems + done, &left);
		chunk.count_elems = left < step->count_elems - done ? left : step->count_elems - done;
		chunk.dst_elems = find(&adding->places, step->peer, step->dst_elems + done, &left);
		chunk.count_elems = left < chunk.count_elems ? left : chunk.count_elems;
		adding->last[index] = add_step(adding, rank, step, &chunk);
		if (done == 0)
			adding->first[index] = adding->last[index];
		done += chunk.count_elems;
	}
}

/* The parts of a step follow each other on its flow: the first waits, and the last is waited for. */
static void
move_steps(const struct adding *adding)
{
	const struct coll_schedule *part = adding->part;

	for (uint32_t rank = 0; rank < part->ranks; rank++)
		for (uint32_t i = part->first_step[rank]; i < part->first_step[rank + 1]; i++)
			move_step(adding, rank, i);
	for (uint32_t i = 0; i < coll_all_steps(part); i++)
		for (uint32_t d = 0; d < part->steps[i].ndeps; d++) {
			const struct coll_dep *on = &part->deps[part->steps[i].first_dep + d];

			coll_builder_depend(adding->builder, adding->first[i],
					    adding->last[coll_step_index(part, on->rank, on->step)]);
		}
}

int
coll_channels_add(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout,
		  const struct coll_schedule *part, const struct coll_layout *part_layout, uint32_t channel,
		  uint32_t first_channel, uint64_t scratch_elems)
{
	size_t steps = coll_all_steps(part);
	struct adding adding = {
		.builder = builder,
		.part = part,
		.first = calloc(steps, sizeof(*adding.first)),
		.last = calloc(steps, sizeof(*adding.last)),
		.first_channel = first_channel,
	};
	int rc = adding.first == NULL || adding.last == NULL ? -ENOMEM : 0;

	if (rc == 0)
		rc = find_places(&adding.places, params, layout, part, part_layout, channel, scratch_elems);
	if (rc == 0)
		move_steps(&adding);
	free(adding.first);
	free(adding.last);
	free(adding.places.at);
	free(adding.places.count);
	return rc;
}
