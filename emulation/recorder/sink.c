/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/recorder/sink.h"

#include <assert.h>

int
sink_init(struct sink *sink, const struct output_target *targets, uint32_t count, const struct rec_stream *head,
	  struct err *err)
{
	int ret = 0;

	*sink = (struct sink){ 0 };
	assert(count <= SINK_MAX_OUTPUTS);
	for (uint32_t i = 0; ret == 0 && i < count; i++)
		ret = output_open(&sink->outputs[sink->count++], &targets[i], head, err);
	if (ret < 0)
		sink_fini(sink);
	return ret;
}

void
sink_set_clock(struct sink *sink, bool real_time, bool (*hurried)(void))
{
	sink->real_time = real_time;
	sink->hurried = hurried;
}

void
sink_fini(struct sink *sink)
{
	for (uint32_t i = 0; i < sink->count; i++)
		output_close(&sink->outputs[i], sink->hurried);
}

void
sink_put(struct sink *sink, const struct rec_hdr *hdr)
{
	for (uint32_t i = 0; i < sink->count; i++)
		output_put(&sink->outputs[i], hdr, sink->real_time, sink->hurried);
}

int
sink_settle(struct sink *sink)
{
	int error = 0;

	for (uint32_t i = 0; i < sink->count; i++)
		if (sink->outputs[i].ops->kept) {
			int ret = output_settle(&sink->outputs[i], sink->hurried);

			error = error != 0 ? error : ret;
		}
	return error;
}

void
sink_flush(struct sink *sink)
{
	for (uint32_t i = 0; i < sink->count; i++)
		if (sink->outputs[i].spool != NULL)
			spool_flush(sink->outputs[i].spool);
}

static struct output_stats
stats_of(const struct output *output)
{
	int error = output->error;

	if (error == 0 && output->spool != NULL)
		error = spool_errno(output->spool);
	return (struct output_stats){ output->ops, error, output->dropped_records, output->put_bytes };
}

struct output_stats
sink_stats(const struct sink *sink, const struct output_ops *ops)
{
	for (uint32_t i = 0; i < sink->count; i++)
		if (sink->outputs[i].ops == ops)
			return stats_of(&sink->outputs[i]);
	return (struct output_stats){ 0 };
}

struct output_stats
sink_stats_fd(const struct sink *sink, int fd)
{
	for (uint32_t i = 0; i < sink->count; i++)
		if (sink->outputs[i].given_fd == fd)
			return stats_of(&sink->outputs[i]);
	return (struct output_stats){ 0 };
}
