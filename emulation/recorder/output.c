/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/recorder/output.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/outfile.h"
#include "common/record/frame.h"
#include "common/run_files.h"
#include "common/units.h"
#include "common/wire/record.h"

/* Of its own REC_GAP: the exporter numbers its from 0. */
#define FIRST_GAP_SEQ 0x80000000u

/* ---- rows ---- */

static int
take_fd(const struct output_target *target, struct err *err)
{
	(void)err;
	return target->fd;
}

static void
report_analyzer(const struct output_stats *stats, const char *dir)
{
	if (stats->error != 0)
		log_warning("the analyzer ended (%s); the recording continues in %s/" RUN_RECORDING,
			    output_why(stats->error), dir);
	else if (stats->dropped_records != 0)
		log_warning("the analyzer did not keep up: it lacks %" PRIu64 " records that %s/" RUN_RECORDING " has",
			    stats->dropped_records, dir);
}

/* An analyzer that follows the run over a connected stream socket; it may be slow, stopped or dead. */
const struct output_ops output_analyzer = {
	.name = "analyzer",
	.what = "the stream to the analyzer",
	.cap_bytes = 8u << 20,
	.give_up_ns = 10000000000ULL, /* it is stopped or broken then */
	.on_full = { OUTPUT_WAIT, OUTPUT_DROP },
	.socket = true,
	.open = take_fd,
	.report = report_analyzer,
};

/* A plugin diagnoser that follows the run over a connected stream socket. Its session reports the results. */
const struct output_ops output_plugin = {
	.name = "plugins",
	.what = "the stream to a diagnoser",
	.cap_bytes = 8u << 20,
	.give_up_ns = 10000000000ULL,
	.on_full = { OUTPUT_WAIT, OUTPUT_DROP },
	.socket = true,
	.open = take_fd,
};

static int
open_file(const struct output_target *target, struct err *err)
{
	int fd = outfile_stream(target->path, NULL);

	return fd >= 0 ? fd : err_set(err, fd, "%s: cannot write the recording: %s", target->path, strerror(-fd));
}

static int
close_file(int fd)
{
	return close(fd) == 0 ? 0 : errno;
}

static void
report_recording(const struct output_stats *stats, const char *dir)
{
	if (stats->error != 0)
		log_warning("%s/" RUN_RECORDING " is cut short: %s", dir, output_why(stats->error));
	else if (stats->dropped_records != 0)
		log_warning("%s/" RUN_RECORDING " lacks %" PRIu64 " records: the disk did not keep up", dir,
			    stats->dropped_records);
}

/* The file that has the stream byte for byte, made anew. */
const struct output_ops output_recording = {
	.name = "recording",
	.what = "the recording",
	.cap_bytes = 32u << 20,       /* a disk that is late by seconds, or real time that a machine catches up with */
	.give_up_ns = 60000000000ULL, /* a disk hangs */
	.on_full = { OUTPUT_WAIT, OUTPUT_DROP },
	.kept = true,
	.open = open_file,
	.close = close_file,
	.report = report_recording,
};

const struct output_ops *const output_registry[] = {
	&output_analyzer,
	&output_plugin,
	&output_recording,
	NULL,
};

/* ---- an output ---- */

int
output_open(struct output *output, const struct output_target *target, const struct rec_stream *head, struct err *err)
{
	const struct output_ops *ops = target->ops;
	struct spool_config config = { .socket = ops->socket, .cap_bytes = ops->cap_bytes };

	*output = (struct output){ .ops = ops, .give_up_ns = ops->give_up_ns, .gap_seq = FIRST_GAP_SEQ };
	output->waiter = (struct spool_waiter){ .meanwhile = target->meanwhile, .ctx = target->ctx };
	output->given_fd = ops->close == NULL ? target->fd : -1;
	output->fd = config.fd = ops->open(target, err);
	if (output->fd < 0)
		return output->fd;
	output->spool = spool_create(&config, ops->what, err);
	if (output->spool == NULL)
		return -errno;
	spool_put(output->spool, head, sizeof(*head));
	spool_commit(output->spool);
	output->put_bytes = sizeof(*head);
	return 0;
}

int
output_settle(struct output *output)
{
	if (output->spool != NULL && output->error == 0)
		output->error = spool_wait(output->spool, output->ops->cap_bytes, output->give_up_ns, &output->waiter);
	return output->error;
}

void
output_close(struct output *output)
{
	int ret;

	if (output->spool != NULL) {
		output_settle(output);
		output->written = *spool_delays(output->spool);
		ret = spool_close(output->spool);
		output->error = output->error != 0 ? output->error : ret;
	}
	output->spool = NULL;
	if (output->fd >= 0 && output->ops->close != NULL) {
		ret = output->ops->close(output->fd);
		output->error = output->error != 0 ? output->error : ret;
	}
	output->fd = -1;
}

/*
 * Losses of this output are reported in its stream. A lost gap of the exporter's counts as the losses that it
 * reports.
 */
static void
drop(struct output *output, const struct rec_hdr *hdr)
{
	struct recframe_reader reader;
	const struct rec_hdr *rec;
	struct err err = { "" };

	if (hdr->type == REC_GAP) {
		gaps_note_gap(&output->gaps, (const struct rec_gap *)(const void *)hdr);
		return;
	}
	assert(hdr->type == REC_FRAME);
	recframe_open(&reader, hdr);
	while (recframe_next(&reader, &rec, &err) > 0) {
		gaps_note(&output->gaps, rec);
		output->dropped_records++;
	}
	output->dropped_bytes += hdr->size;
}

static void
report_gaps(struct output *output, uint64_t now_ps)
{
	struct rec_gap gap;

	while (gaps_take(&output->gaps, &gap)) {
		gap.hdr = (struct rec_hdr){
			.type = REC_GAP, .size = sizeof(gap), .node = REC_NONE, .time_ps = now_ps, .seq = output->gap_seq++
		};
		spool_put(output->spool, &gap, sizeof(gap));
		output->put_bytes += sizeof(gap);
	}
}

/* The totals as this one's reader finds them. */
static struct rec_end
end_of(const struct output *output, const struct rec_hdr *hdr)
{
	struct rec_end end;

	memcpy(&end, hdr, sizeof(end));
	end.sent_records -= output->dropped_records;
	end.sent_bytes -= output->dropped_bytes;
	end.dropped_records += output->dropped_records;
	return end;
}

static bool
may_drop(const struct output *output, const struct rec_hdr *hdr, bool real_time)
{
	return output->ops->on_full[real_time] == OUTPUT_DROP && (hdr->type == REC_GAP || hdr->type == REC_FRAME);
}

void
output_put(struct output *output, const struct rec_hdr *hdr, const struct output_clock *clock)
{
	size_t need_bytes = hdr->size + output->gaps.due_bytes;
	struct rec_end end;

	if (output->spool == NULL || output->error != 0)
		return;
	output->error = spool_errno(output->spool);
	if (output->error == 0 && spool_room(output->spool) < need_bytes) {
		if (may_drop(output, hdr, clock->real_time)) {
			drop(output, hdr);
			return;
		}
		output->error = spool_wait(output->spool, output->ops->cap_bytes / 2, output->give_up_ns, &output->waiter);
	}
	if (output->error != 0)
		return;
	report_gaps(output, hdr->time_ps);
	if (hdr->type == REC_END) {
		end = end_of(output, hdr);
		hdr = &end.hdr;
	}
	spool_put(output->spool, hdr, hdr->size);
	if (clock->zero_ns != 0 && hdr->type == REC_FRAME)
		spool_mark(output->spool, clock->zero_ns + hdr->time_ps / PS_PER_NS);
	spool_commit(output->spool);
	output->put_bytes += hdr->size;
}

const char *
output_why(int error)
{
	return error == ETIMEDOUT ? "it took nothing for long: stopped, or stuck" : strerror(error);
}

/* All outputs of a run. */

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
	sink->clock.real_time = real_time;
	for (uint32_t i = 0; i < sink->count; i++)
		sink->outputs[i].waiter.hurried = hurried;
}

void
sink_measure(struct sink *sink, uint64_t zero_ns)
{
	sink->clock.zero_ns = zero_ns;
}

void
sink_fini(struct sink *sink)
{
	for (uint32_t i = 0; i < sink->count; i++)
		output_close(&sink->outputs[i]);
}

void
sink_put(struct sink *sink, const struct rec_hdr *hdr)
{
	for (uint32_t i = 0; i < sink->count; i++)
		output_put(&sink->outputs[i], hdr, &sink->clock);
	if (sink->clock.zero_ns != 0 && hdr->type == REC_FRAME) {
		uint64_t now_ns = clock_now_ns(), own_ns = sink->clock.zero_ns + hdr->time_ps / PS_PER_NS;

		delays_note(&sink->queued, now_ns > own_ns ? now_ns - own_ns : 0);
	}
}

int
sink_settle(struct sink *sink)
{
	int error = 0;

	for (uint32_t i = 0; i < sink->count; i++)
		if (sink->outputs[i].ops->kept) {
			int ret = output_settle(&sink->outputs[i]);

			error = error != 0 ? error : ret;
		}
	return error;
}

void
sink_flush(struct sink *sink)
{
	for (uint32_t i = 0; i < sink->count; i++) {
		struct output *output = &sink->outputs[i];

		if (output->spool != NULL && output->ops->socket && sink->clock.real_time)
			spool_wake(output->spool);
		else if (output->spool != NULL)
			spool_flush(output->spool);
	}
}

static struct output_stats
stats_of(const struct output *output)
{
	int error = output->error;

	if (error == 0 && output->spool != NULL)
		error = spool_errno(output->spool);
	return (struct output_stats){ output->ops, error, output->dropped_records, output->put_bytes, &output->written };
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
