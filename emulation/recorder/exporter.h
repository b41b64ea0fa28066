/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exporter: takes the nodes' reports, puts them into one order and sends them, packed into frames
 * (common/record/frame.h), under a fixed budget to its outputs, such as the analyzer and the recording.
 *
 * Order. Records are offered by (time, node, sequence). While the budget suffices they leave in that order, each at
 * its own time. Under pressure they leave by relevance (common/wire/record.h), oldest first within a class: a record
 * may then appear on the stream later than its time, behind younger ones, and a reader must go by the times in it.
 *
 * Budget. A token bucket in the run's own time, of bytes as they are sent: frames with their headers, and REC_GAP.
 * The time in a frame's header is when the bucket let it go: by these times no span of the run has more bytes than
 * the burst and the budget of that span, and no span of EXPORTER_PEAK_PS more than exporter_window_bytes(); how often
 * exporter_advance() is called changes nothing. Records that cannot
 * leave wait in a bounded queue; when that is full the oldest of the least relevant goes. Losses are counted by kind
 * and reported in the stream (REC_GAP) before the next frame, as long as such records take no more than an eighth of
 * the bytes, else later. All of them are reported before REC_END; the bucket keeps a reserve for that. The
 * configuration (REC_RUN .. REC_ECMP), sent before the run, and REC_END, after it, do not count.
 *
 * Meters. A switch, and a pod of switches, may have budgets of their own, buckets that hold a millisecond's worth. What
 * its frames take beyond them is dropped before it reaches the common budget, the least relevant of a report first, as a
 * policer of a switch's CPU port does.
 *
 * After each call: offered = sent + dropped + waiting, in records.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cfg/cfg.h"
#include "common/err.h"
#include "common/record/buffer.h"
#include "common/record/check.h"
#include "common/units.h"
#include "common/wire/record_hdr.h"
#include "common/wire/record_run.h"
#include "emulation/recorder/budget.h"
#include "emulation/recorder/gaps.h"
#include "emulation/recorder/output.h"

#define EXPORTER_BURST_MIN BUDGET_BURST_MIN
/* An output gets the sent bytes after this much of the run's time, if not sooner. */
#define EXPORTER_PACE_PS 1000000000ULL
/* exporter_peak() is the largest sum over intervals of this length. */
#define EXPORTER_PEAK_PS BUDGET_WINDOW_PS

/* Group "exporter". */
struct exporter_config {
	struct cfg_where where;
	uint64_t budget;                    /* bytes a second; 0: unlimited */
	uint64_t burst_bytes;               /* 0: the budget of EXPORTER_PEAK_PS, at least EXPORTER_BURST_MIN */
	uint64_t queue_bytes;               /* most that may wait, not packed */
	uint64_t switch_budget, pod_budget; /* bytes a second of each; 0: unlimited */
};

extern const struct cfg_table exporter_cfg_table;

struct exporter_count {
	uint64_t offered_records, sent_records, dropped_records;
	uint64_t deferred_records; /* sent, but later than their own time */
};

struct exporter_stats {
	struct exporter_count all;
	struct exporter_count kinds[RECORD_KINDS]; /* by enum rec_type, of kinds that the budget rules */
	uint64_t waiting_records, waiting_bytes;   /* bytes as they wait, not packed */
	uint64_t offered_bytes;                    /* that frames of all that was offered take when they leave at once */
	uint64_t reports, report_bytes;            /* frames of switches and NICs among those */
	uint64_t frames, frame_bytes;              /* sent */
	uint64_t gap_records, gap_bytes;           /* REC_GAP sent */
	uint64_t header_bytes;                     /* stream header, configuration and REC_END: not in the budget */
	uint64_t stream_bytes;                     /* the whole stream: frames, gaps and header bytes */
};

struct exporter;

/* The checks of exporter_create(), before there is a recording. @return 0, or -EINVAL with err set */
int exporter_check(const struct exporter_config *config, struct err *err);
/* @return burst_bytes, or the default for it */
uint64_t exporter_burst_bytes(const struct exporter_config *config);

/*
 * The most that leaves in any EXPORTER_PEAK_PS: the budget of that time and EXPORTER_BURST_MIN, or the burst where it is
 * set to more.
 */
uint64_t exporter_window_bytes(const struct exporter_config *config);

/*
 * Opens the outputs and starts the stream.
 * @param config   copied
 * @param targets  [count] where it goes
 * @return NULL with err set (file:line, value, remedy) and errno
 */
struct exporter *exporter_create(const struct exporter_config *config, const struct output_target *targets, uint32_t count,
				 struct err *err);
void exporter_destroy(struct exporter *exporter);

/*
 * How to treat an output that does not keep up (output_ops.on_full). Before the first record; without this call time
 * is virtual.
 * @param real_time  the run cannot wait: records are dropped and counted instead
 * @param hurried    NULL, or called during each wait: once it is true, waits are a tenth as long
 */
void exporter_set_clock(struct exporter *exporter, bool real_time, bool (*hurried)(void));

/*
 * Measures how late frames are by the wall clock: exporter_outputs()->queued, and sink_stats(). In real time.
 * @param zero_ns  clock_now_ns() at the run's time 0
 */
void exporter_measure(struct exporter *exporter, uint64_t zero_ns);

/*
 * Has switches and pods keep to budgets of their own, if they are configured. Before the first record.
 * @param is_switch  [nnodes] of each node
 * @param pods       [nnodes] below nnodes, or BUDGET_NO_POD
 * @return 0 or -ENOMEM with err
 */
int exporter_police(struct exporter *exporter, const bool *is_switch, const uint32_t *pods, uint32_t nnodes,
		    struct err *err);

/*
 * Sends a header record (REC_RUN .. REC_ECMP) at once, without counting it in the budget.
 * @param rec  a struct rec_*: body and hdr.node filled; type, size, time (0) and seq are set here
 */
void exporter_header(struct exporter *exporter, void *rec, uint16_t type, size_t size_bytes);
/* Sources of records other than the fabric: kernel hosts, other partitions. */
#define EXPORTER_SHOWN 2
/*
 * Passes header records to check too from now on, which so knows the names that records of others may use. Borrowed;
 * of NULL: nothing.
 */
void exporter_show(struct exporter *exporter, struct record_check *check);

/*
 * Takes over and empties the nodes' reports. Between windows only. It is offered to the budget by exporter_advance(),
 * once its time has passed.
 * @param bufs  reports (record_is_report()); no header records
 */
void exporter_collect(struct exporter *exporter, struct recbuf *const bufs[], size_t count);

/*
 * Sends the records that the budget allows up to a point in time of the run.
 * @param now_ps  no record older than this will be collected any more; those stamped now_ps wait for the next call
 */
void exporter_advance(struct exporter *exporter, uint64_t now_ps);

/*
 * Writes the sent bytes at once rather than within SPOOL_GATHER_NS: written bytes outlive this process. Does not
 * wait.
 */
void exporter_flush(struct exporter *exporter);

/*
 * Ends the stream: sends what the budget allows until end_ps, drops what still waits, reports all gaps, then sends
 * end with the exporter's own counts filled in, and closes the outputs. Once, after the last collection.
 * @param end  REC_END: reason, at_node, end_ps, the packet counts and the reports collected but not kept filled by
 *             the caller
 */
void exporter_finish(struct exporter *exporter, struct rec_end *end);

void exporter_stats(const struct exporter *exporter, struct exporter_stats *stats);
/* @return its outputs, for sink_stats(). Also after exporter_finish() */
const struct sink *exporter_outputs(const struct exporter *exporter);

/*
 * The rate that a run without a budget needs.
 * @return bytes a second: the most that was offered in one interval [k, k+1) of EXPORTER_PEAK_PS, scaled to a second
 */
uint64_t exporter_peak(const struct exporter *exporter);
