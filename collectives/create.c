/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules by algorithms: what is asked is checked, what is not said is filled in, and each channel is built. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm/algorithm.h"
#include "collectives/channels.h"
#include "collectives/op/op.h"

static int check_params(const struct coll_params *params, struct err *err);
static struct coll_schedule *create_channel(const struct coll_params *params, struct coll_layout *layout, struct err *err);
static struct coll_schedule *create_channels(const struct coll_params *params, struct err *err);

static const struct coll_method *
method_of(const struct coll_params *params)
{
	return &coll_algorithm_ops(params->algorithm)->of[params->op];
}

struct coll_schedule *
coll_schedule_create(const struct coll_params *asked, struct err *err)
{
	const struct coll_method *method = method_of(asked);
	struct coll_params params = *asked;
	struct coll_schedule *schedule = NULL;
	struct coll_pair *pairs = NULL;
	struct coll_layout layout;
	int rc = check_params(&params, err);

	if (rc == 0 && method->pairs != NULL) {
		pairs = calloc(params.ranks, sizeof(*pairs));
		if (pairs == NULL)
			rc = err_set(err, -ENOMEM, "no memory for a schedule");
		else
			params.npairs = method->pairs(&params, pairs);
		params.pairs = pairs;
	}
	if (params.chunks == 0)
		params.chunks = method->chunks;
	if (params.channels == 0)
		params.channels = 1;
	errno = -rc;
	if (rc == 0)
		schedule = params.channels == 1 ? create_channel(&params, &layout, err) : create_channels(&params, err);
	rc = errno;
	free(pairs);
	errno = rc;
	return schedule;
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

/* What only some operations and algorithms have. */
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
		return err_set(err, -EINVAL, "%s has no counts of its own for each pair of ranks", name);
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

	for (uint32_t i = 0; i < coll_all_steps(schedule); i++)
		highest = schedule->steps[i].channel > highest ? schedule->steps[i].channel : highest;
	return highest + 1;
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

	/* Of blocks of any length there may be none that is long enough for all channels. */
	if (rc == 0 && (params->counts == NULL || coll_op_ops(params->op)->check(&part.params, &(struct err){ 0 }) == 0)) {
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
