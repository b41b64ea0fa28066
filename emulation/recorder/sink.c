/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/recorder/sink.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/outfile.h"

/* Of its own REC_GAP: the exporter numbers its from 0. */
#define FIRST_GAP_SEQ 0x80000000u

static int
outlet_open(struct outlet *outlet, int fd, bool socket, const struct rec_stream *head, struct err *err)
{
	const struct spool_config config = { .fd = fd, .socket = socket, .cap_bytes = SINK_BUFFER_BYTES };

	*outlet = (struct outlet){
		.spool = spool_create(&config, socket ? "the stream to the analyzer" : "the recording", err),
		.give_up_ns = socket ? SINK_ANALYZER_NS : SINK_RECORDING_NS,
		.gap_seq = FIRST_GAP_SEQ,
	};
	if (outlet->spool == NULL)
		return -errno;
	spool_put(outlet->spool, head, sizeof(*head));
	spool_commit(outlet->spool);
	return 0;
}

static void
outlet_close(struct sink *sink, struct outlet *outlet)
{
	if (outlet->spool == NULL)
		return;
	if (outlet->error == 0)
		outlet->error = spool_wait(outlet->spool, SINK_BUFFER_BYTES, outlet->give_up_ns, sink->hurried);
	if (outlet->error == 0)
		outlet->error = spool_close(outlet->spool);
	else
		spool_close(outlet->spool);
	outlet->spool = NULL;
}

int
sink_init(struct sink *sink, const char *recording, int socket_fd, const struct rec_stream *head, struct err *err)
{
	int ret = 0;

	*sink = (struct sink){ .file_fd = -1 };
	if (recording != NULL) {
		sink->file_fd = outfile_stream(recording, NULL);
		if (sink->file_fd < 0)
			return err_set(err, sink->file_fd, "%s: cannot write the recording: %s", recording,
				       strerror(-sink->file_fd));
		ret = outlet_open(&sink->file, sink->file_fd, false, head, err);
	}
	if (ret == 0 && socket_fd >= 0)
		ret = outlet_open(&sink->socket, socket_fd, true, head, err);
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
	outlet_close(sink, &sink->socket);
	outlet_close(sink, &sink->file);
	if (sink->file_fd >= 0 && close(sink->file_fd) != 0 && sink->file.error == 0)
		sink->file.error = errno;
	sink->file_fd = -1;
}

/* What is dropped here is told here. A gap of the exporter's that is dropped counts as what it tells of. */
static void
drop(struct outlet *outlet, const struct rec_hdr *hdr)
{
	if (hdr->type == REC_GAP) {
		gaps_note_gap(&outlet->gaps, (const struct rec_gap *)(const void *)hdr);
		return;
	}
	gaps_note(&outlet->gaps, hdr);
	outlet->dropped_records++;
	outlet->dropped_bytes += hdr->size;
}

static void
tell_gaps(struct outlet *outlet, uint64_t now_ps)
{
	struct rec_gap gap;

	for (uint32_t kind = 0; outlet->gaps.due_bytes != 0 && kind < GAPS_KINDS; kind++) {
		if (!gaps_take(&outlet->gaps, kind, &gap))
			continue;
		gap.hdr = (struct rec_hdr){
			.type = REC_GAP, .size = sizeof(gap), .node = REC_NONE, .time_ps = now_ps, .seq = outlet->gap_seq++
		};
		spool_put(outlet->spool, &gap, sizeof(gap));
	}
}

/* The totals as this one's reader finds them. */
static struct rec_end
end_of(const struct outlet *outlet, const struct rec_hdr *hdr)
{
	struct rec_end end;

	memcpy(&end, hdr, sizeof(end));
	end.sent_records -= outlet->dropped_records;
	end.sent_bytes -= outlet->dropped_bytes;
	end.dropped_records += outlet->dropped_records;
	return end;
}

static void
outlet_put(const struct sink *sink, struct outlet *outlet, const struct rec_hdr *hdr)
{
	size_t need_bytes = hdr->size + outlet->gaps.due_bytes;
	struct rec_end end;

	if (outlet->spool == NULL || outlet->error != 0)
		return;
	outlet->error = spool_errno(outlet->spool);
	if (outlet->error == 0 && spool_room(outlet->spool) < need_bytes) {
		if (sink->real_time && (hdr->type == REC_GAP || gaps_kind(hdr->type) < GAPS_KINDS)) {
			drop(outlet, hdr);
			return;
		}
		outlet->error = spool_wait(outlet->spool, SINK_BUFFER_BYTES / 2, outlet->give_up_ns, sink->hurried);
	}
	if (outlet->error != 0)
		return;
	tell_gaps(outlet, hdr->time_ps);
	if (hdr->type == REC_END) {
		end = end_of(outlet, hdr);
		hdr = &end.hdr;
	}
	spool_put(outlet->spool, hdr, hdr->size);
	spool_commit(outlet->spool);
}

void
sink_put(struct sink *sink, const struct rec_hdr *hdr)
{
	outlet_put(sink, &sink->file, hdr);
	outlet_put(sink, &sink->socket, hdr);
}

int
sink_settle(struct sink *sink)
{
	struct outlet *file = &sink->file;

	if (file->spool != NULL && file->error == 0)
		file->error = spool_wait(file->spool, SINK_BUFFER_BYTES, file->give_up_ns, sink->hurried);
	return file->error;
}

void
sink_flush(struct sink *sink)
{
	if (sink->file.spool != NULL)
		spool_flush(sink->file.spool);
	if (sink->socket.spool != NULL)
		spool_flush(sink->socket.spool);
}
