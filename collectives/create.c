/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules by algorithms: parameters are checked, missing ones are filled in, and each channel is built. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/builder.h"
#include "collectives/data.h"
#include "collectives/op/op.h"

/*
 * Channels: a schedule's vectors are split into one range a channel, and each is sent by a copy of the algorithm with
 * flows of its own.
 * Vectors that an operation leaves whole are split in contiguous ranges; of vectors in blocks (AllGather,
 * ReduceScatter, AllToAll), each block is split. A message of several blocks becomes one message a block then, one
 * after another.
 */

/* One channel's schedule, and where its memory is in that of all: filled in by coll_channels_part(). */
struct coll_part {
	struct coll_params params; /* of its own length, one channel */
	uint64_t *counts;          /* params.counts, to be freed */
};

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

/* Elements of a run that a channel has: every run is split alike. */
static uint64_t
share(const struct coll_params *params, uint64_t count, uint32_t channel)
{
	return coll_block_count(count, params->channels, channel);
}

/*
 * Computes the share of one of params->channels channels.
 * @return 0; -ENOMEM; -EINVAL with err set: fewer elements than channels
 */
static int
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

/* One step of the channel becomes one step for each range that its chunk is split into, at either end. */
static void
move_step(const struct adding *adding, uint32_t rank, uint32_t index)
{
	const struct coll_step is = coll_step_of(adding->part, rank, index), *step = &is;
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

static void
depend(const struct adding *adding, uint32_t rank, uint32_t number)
{
	const struct coll_schedule *part = adding->part;
	const struct coll_step step = coll_step_get(part, rank, number);

	for (uint32_t d = 0; d < step.ndeps; d++) {
		struct coll_dep on = coll_step_dep(part, rank, number, &step, d);

		coll_builder_depend(adding->builder, adding->first[coll_step_index(part, rank, number)],
				    adding->last[coll_step_index(part, on.rank, on.step)]);
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
	for (uint32_t rank = 0; rank < part->ranks; rank++)
		for (uint32_t step = 1; step <= coll_steps(part, rank); step++)
			depend(adding, rank, step);
}

/*
 * Adds a channel's steps to those of all.
 * @param params, layout  of all
 * @param part            the channel's schedule, by the parameters of coll_channels_part()
 * @param part_layout     its layout
 * @param channel         which it is
 * @param first_channel   number of its channel 0 among all
 * @param scratch_elems   where its scratch begins in the memory of all
 * @return 0 or -ENOMEM
 */
static int
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

/* Checks the parameters, and fills in the missing ones. */

static int check_params(const struct coll_params *params, struct err *err);
static struct coll_schedule *create_channel(const struct coll_params *params, struct coll_layout *layout, struct err *err);
static struct coll_schedule *create_channels(const struct coll_params *params, struct err *err);
static int count_channel(struct coll_builder *builder, const struct coll_params *params, uint32_t channel);

static const struct coll_method *
method_of(const struct coll_params *params)
{
	return &coll_algorithm_ops(params->algorithm)->of[params->op];
}

/*
 * Checks what is asked for, and fills in what it leaves open.
 * @param pairs  set to a list of the algorithm's own, to be freed
 */
static int
complete_params(const struct coll_params *asked, struct coll_params *params, struct coll_pair **pairs, struct err *err)
{
	const struct coll_method *method = method_of(asked);
	int rc;

	*params = *asked;
	*pairs = NULL;
	rc = check_params(params, err);
	if (rc == 0 && method->pairs != NULL) {
		*pairs = calloc(params->ranks, sizeof(**pairs));
		if (*pairs == NULL)
			return err_set(err, -ENOMEM, "no memory for a schedule");
		params->npairs = method->pairs(params, *pairs);
		params->pairs = *pairs;
	}
	if (params->chunks == 0)
		params->chunks = method->chunks;
	if (params->channels == 0)
		params->channels = 1;
	return rc;
}

struct coll_schedule *
coll_schedule_create(const struct coll_params *asked, struct err *err)
{
	struct coll_schedule *schedule = NULL;
	struct coll_pair *pairs;
	struct coll_params params;
	struct coll_layout layout;
	int rc = complete_params(asked, &params, &pairs, err);

	errno = -rc;
	if (rc == 0)
		schedule = params.channels == 1 ? create_channel(&params, &layout, err) : create_channels(&params, err);
	rc = errno;
	free(pairs);
	errno = rc;
	return schedule;
}

int
coll_schedule_count(const struct coll_params *asked, struct coll_step_count *count)
{
	struct coll_pair *pairs;
	struct coll_params params;
	struct coll_builder *builder;
	int rc = complete_params(asked, &params, &pairs, &(struct err){ 0 });

	*count = (struct coll_step_count){ 0 };
	builder = rc == 0 ? coll_builder_create_counting(params.ranks) : NULL;
	for (uint32_t channel = 0; builder != NULL && channel < params.channels && rc == 0; channel++)
		rc = count_channel(builder, &params, channel);
	if (rc == 0)
		rc = coll_builder_counted(builder, count);
	coll_builder_destroy(builder);
	free(pairs);
	return rc;
}

/* @return -EINVAL, with the algorithms that have the operation */
static int
refuse_pair(const struct coll_params *params, struct err *err)
{
	char known[256] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < ENUM_COUNT(COLL_ALGORITHMS) && used < sizeof(known); i++)
		if (coll_algorithm_has(i, params->op))
			used += (size_t)snprintf(known + used, sizeof(known) - used, "%s\"%s\"", used != 0 ? ", " : "",
						 coll_algorithm_name(i));
	if (used == 0)
		return err_set(err, -EINVAL, "%s is what files hold: no algorithm makes it", coll_op_name(params->op));
	return err_set(err, -EINVAL, "there is no %s by algorithm \"%s\": use %s", coll_op_name(params->op),
		       coll_algorithm_name(params->algorithm), known);
}

/* Checks parameters that only some operations and algorithms take. @return 0 or -EINVAL */
static int
check_extras(const struct coll_params *params, struct err *err)
{
	const struct coll_op_ops *op = coll_op_ops(params->op);
	const struct coll_method *method = method_of(params);
	const char *name = coll_op_name(params->op), *by = coll_algorithm_name(params->algorithm);

	if (!op->rooted && params->root != 0)
		return err_set(err, -EINVAL, "%s has no root", name);
	if (params->root >= params->ranks)
		return err_set(err, -EINVAL, "root %" PRIu32 ": there are ranks 0 to %" PRIu32, params->root,
			       params->ranks - 1);
	if (params->chunks != 0 && method->chunks == 0)
		return err_set(err, -EINVAL, "%s by algorithm \"%s\" is no pipeline: it has no chunks", name, by);
	if (params->chunks > COLL_MAX_CHUNKS)
		return err_set(err, -EINVAL, "%" PRIu32 " chunks; at most %d are supported", params->chunks,
			       COLL_MAX_CHUNKS);
	if (params->channels > COLL_MAX_CHANNELS)
		return err_set(err, -EINVAL, "%" PRIu32 " channels; at most %d are supported", params->channels,
			       COLL_MAX_CHANNELS);
	if (params->counts != NULL && params->op != COLL_ALLTOALLV)
		return err_set(err, -EINVAL, "%s has no separate counts for each pair of ranks", name);
	if (params->npairs != 0 && (params->op != COLL_SENDRECV || method->pairs != NULL))
		return err_set(err, -EINVAL, "%s by algorithm \"%s\" knows who sends to whom: it takes no pairs", name, by);
	return 0;
}

static int
check_params(const struct coll_params *params, struct err *err)
{
	const struct coll_op_ops *op = coll_op_ops(params->op);
	const struct coll_algorithm_ops *algorithm = coll_algorithm_ops(params->algorithm);
	const struct coll_method *method = method_of(params);
	uint64_t least = (uint64_t)(method->split ? params->ranks : 1) * (params->channels == 0 ? 1 : params->channels);
	int rc;

	if (method->build == NULL)
		return refuse_pair(params, err);
	if (params->ranks < 2)
		return err_set(err, -EINVAL, "a collective needs at least 2 ranks, not %" PRIu32, params->ranks);
	if (params->ranks > COLL_MAX_RANKS)
		return err_set(err, -EINVAL, "%" PRIu32 " ranks; at most %d are supported", params->ranks, COLL_MAX_RANKS);
	rc = check_extras(params, err);
	if (rc == 0 && params->count_elems < least && params->channels > 1)
		return err_set(err, -EINVAL,
			       "%" PRIu64 " elements for %" PRIu32 " channels of %" PRIu32 " ranks: at least %" PRIu64
			       " are needed",
			       params->count_elems, params->channels, params->ranks, least);
	if (rc == 0 && params->count_elems < least)
		return err_set(err, -EINVAL,
			       "%" PRIu64 " elements for %" PRIu32 " ranks: every rank needs a block of at least one",
			       params->count_elems, params->ranks);
	if (rc == 0 && op->check != NULL && method->pairs == NULL)
		rc = op->check(params, err);
	return rc == 0 && algorithm->check != NULL ? algorithm->check(params, err) : rc;
}

/* Input, result if it is apart, scratch. */
static struct coll_layout
layout_of(const struct coll_params *params, uint64_t scratch_elems)
{
	const struct coll_op_ops *op = coll_op_ops(params->op);
	struct coll_layout layout = { .scratch_elems = op->length(params, COLL_IN) };

	if (op->apart) {
		layout.out_elems = layout.scratch_elems;
		layout.scratch_elems += op->length(params, COLL_OUT);
	}
	layout.memory_elems = layout.scratch_elems + scratch_elems;
	return layout;
}

static uint64_t
scratch_of(const struct coll_params *params)
{
	const struct coll_algorithm_ops *algorithm = coll_algorithm_ops(params->algorithm);

	return algorithm->scratch == NULL ? 0 : algorithm->scratch(params);
}

static struct coll_schedule *
create_channel(const struct coll_params *params, struct coll_layout *layout, struct err *err)
{
	struct coll_builder *builder = coll_builder_create(params->ranks);

	*layout = layout_of(params, scratch_of(params));
	if (builder != NULL)
		method_of(params)->build(builder, params, layout);
	return coll_builder_finish(builder, params, layout, err);
}

/* How many channels a schedule has: one more than its highest. */
static uint32_t
channels_of(const struct coll_schedule *schedule)
{
	uint32_t highest = 0;

	for (uint32_t rank = 0; rank < schedule->ranks; rank++)
		for (uint32_t step = 1; step <= coll_steps(schedule, rank); step++) {
			uint32_t channel = coll_step_get(schedule, rank, step).channel;

			highest = channel > highest ? channel : highest;
		}
	return highest + 1;
}

/* @return whether a channel has anything to send. With blocks of any length, none may be long enough for all channels. */
static bool
has_work(const struct coll_params *params, const struct coll_part *part)
{
	return params->counts == NULL || coll_op_ops(params->op)->check(&part->params, &(struct err){ 0 }) == 0;
}

/* @return 0 or negative errno */
static int
count_channel(struct coll_builder *builder, const struct coll_params *params, uint32_t channel)
{
	struct coll_part part = { .params = *params };
	struct coll_layout layout;
	int rc = params->channels == 1 ? 0 : coll_channels_part(params, channel, &part, &(struct err){ 0 });

	if (rc == 0 && (params->channels == 1 || has_work(params, &part))) {
		layout = layout_of(&part.params, scratch_of(&part.params));
		method_of(params)->build(builder, &part.params, &layout);
	}
	free(part.counts);
	return rc;
}

/* Builds one of several channels and adds it. @return 0 or negative errno with err set */
static int
add_channel(struct coll_builder *builder, const struct coll_params *params, uint32_t channel, uint32_t *first_channel,
	    uint64_t *scratch_elems, struct err *err)
{
	struct coll_layout all = layout_of(params, 0), layout;
	struct coll_schedule *schedule = NULL;
	struct coll_part part;
	int rc = coll_channels_part(params, channel, &part, err);

	if (rc == 0 && has_work(params, &part)) {
		schedule = create_channel(&part.params, &layout, err);
		rc = schedule == NULL ? -errno : 0;
	}
	if (schedule != NULL) {
		rc = coll_channels_add(builder, params, &all, schedule, &layout, channel, *first_channel, *scratch_elems);
		*first_channel += channels_of(schedule);
		*scratch_elems += layout.memory_elems - layout.scratch_elems;
	}
	coll_schedule_destroy(schedule);
	free(part.counts);
	return rc == 0 ? 0 : err_set(err, rc, "no memory for a schedule of %" PRIu32 " channels", params->channels);
}

static struct coll_schedule *
create_channels(const struct coll_params *params, struct err *err)
{
	struct coll_builder *builder = coll_builder_create(params->ranks);
	struct coll_layout layout = layout_of(params, 0);
	uint64_t scratch_elems = layout.scratch_elems;
	uint32_t first_channel = 0;
	int rc = 0;

	for (uint32_t channel = 0; channel < params->channels && rc == 0; channel++)
		rc = add_channel(builder, params, channel, &first_channel, &scratch_elems, err);
	if (rc == 0) {
		layout.memory_elems = scratch_elems;
		return coll_builder_finish(builder, params, &layout, err);
	}
	coll_builder_destroy(builder);
	errno = -rc;
	return NULL;
}
