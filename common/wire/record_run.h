/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of the run itself: its configuration, records that the budget kept back, its end. */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"
#include "common/wire/record_hdr.h"

struct rec_run {
	struct rec_hdr hdr;
	char name[REC_NAME_LEN];
	uint32_t policy;      /* enum rec_policy */
	uint32_t detections;  /* N per step */
	uint32_t rtt_percent; /* threshold as a share of the base RTT */
	uint32_t epochs_kept;
	uint64_t epoch_ps;
	uint64_t budget_bps;    /* exporter: bytes a second; 0 unlimited */
	uint32_t frame_bytes;   /* a full data frame on the wire */
	uint32_t payload_bytes; /* its payload: the path MTU */
	uint32_t ack_bytes;
	uint16_t exact_contention; /* 1: REC_MATRIX_ROW records follow reports */
	uint16_t strict_classes;   /* bit p: switches serve class p before those that share by weight; bit 0 is unused */
	uint64_t jitter_ps;        /* a host may be late by this much without being slow: its own scheduling */
	uint64_t window_bytes;     /* payload in flight of a QP at most; 0: not known, or without bound */
};

#define REC_RUN_FIELDS(F, T)                                                                                               \
	F(T, 24, name, TEXT)                                                                                               \
	F(T, 56, policy, ENUM(REC_POLICIES))                                                                               \
	F(T, 60, detections, ANY)                                                                                          \
	F(T, 64, rtt_percent, ANY)                                                                                         \
	F(T, 68, epochs_kept, ANY)                                                                                         \
	F(T, 72, epoch_ps, RANGE(1, RECORD_MAX_PS))                                                                        \
	F(T, 80, budget_bps, ANY)                                                                                          \
	F(T, 88, frame_bytes, ANY)                                                                                         \
	F(T, 92, payload_bytes, ANY)                                                                                       \
	F(T, 96, ack_bytes, ANY)                                                                                           \
	F(T, 100, exact_contention, FLAG)                                                                                  \
	F(T, 102, strict_classes, RANGE(0, 254))                                                                           \
	F(T, 104, jitter_ps, TIME)                                                                                         \
	F(T, 112, window_bytes, TOTAL)
#define REC_RUN_KEY(K, T)

REC_RUN_FIELDS(WIRE_AT, rec_run)
WIRE_SIZE(rec_run, 120)

/*
 * Records of one kind that the budget kept back. Precedes the next record that is sent, unless gaps already take more
 * than an eighth of the bytes; at the latest, it precedes REC_END. Counts add up over all gaps of a kind.
 */
struct rec_gap {
	struct rec_hdr hdr;
	uint32_t kind; /* enum rec_type */
	uint32_t dropped;
	uint64_t dropped_bytes; /* of the records as they stand by themselves, not packed */
	uint64_t from_ps, to_ps;
};

#define REC_GAP_FIELDS(F, T)                                                                                               \
	F(T, 24, kind, REPORT_KIND)                                                                                        \
	F(T, 28, dropped, RANGE(1, UINT32_MAX))                                                                            \
	F(T, 32, dropped_bytes, COUNT)                                                                                     \
	F(T, 40, from_ps, TIME)                                                                                            \
	F(T, 48, to_ps, TIME)
#define REC_GAP_KEY(K, T)

REC_GAP_FIELDS(WIRE_AT, rec_gap)
WIRE_SIZE(rec_gap, 56)

struct rec_end {
	struct rec_hdr hdr;
	uint16_t reason;          /* enum rec_end_reason */
	uint16_t recording_errno; /* why the recording, unlike this stream, broke off (Linux's errno); 0: it is whole */
	uint32_t at_node;         /* QP error, host lost: host. Else one that no longer answered at the end, or REC_NONE */
	uint64_t end_ps;
	uint64_t offered_bytes; /* that frames of all that was reported take when they leave at once */
	uint64_t sent_bytes;    /* frames and REC_GAP, as they were sent */
	uint64_t offered_records, sent_records, deferred_records, dropped_records;
	uint64_t polling_packets, polling_bytes; /* on every link they crossed */
	uint64_t notification_packets, notification_bytes;
	uint64_t detections; /* polling packets that hosts asked for */
	/*
	 * Frames of switches and NICs, and their bytes: of their reports; and with reports that were made but not kept.
	 */
	uint64_t kept_reports, kept_bytes, collected_reports, collected_bytes;
	/* Bound of the error of times reported by hosts with clocks of their own, of the worst; 0: one clock */
	uint64_t clock_error_ps;
};

#define REC_END_FIELDS(F, T)                                                                                               \
	F(T, 24, reason, ENUM(REC_ENDINGS))                                                                                \
	F(T, 26, recording_errno, RANGE(0, 4095))                                                                          \
	F(T, 28, at_node, NODE_OR_NONE)                                                                                    \
	F(T, 32, end_ps, TIME)                                                                                             \
	F(T, 40, offered_bytes, TOTAL)                                                                                     \
	F(T, 48, sent_bytes, TOTAL)                                                                                        \
	F(T, 56, offered_records, TOTAL)                                                                                   \
	F(T, 64, sent_records, TOTAL)                                                                                      \
	F(T, 72, deferred_records, TOTAL)                                                                                  \
	F(T, 80, dropped_records, TOTAL)                                                                                   \
	F(T, 88, polling_packets, TOTAL)                                                                                   \
	F(T, 96, polling_bytes, TOTAL)                                                                                     \
	F(T, 104, notification_packets, TOTAL)                                                                             \
	F(T, 112, notification_bytes, TOTAL)                                                                               \
	F(T, 120, detections, TOTAL)                                                                                       \
	F(T, 128, kept_reports, TOTAL)                                                                                     \
	F(T, 136, kept_bytes, TOTAL)                                                                                       \
	F(T, 144, collected_reports, TOTAL)                                                                                \
	F(T, 152, collected_bytes, TOTAL)                                                                                  \
	F(T, 160, clock_error_ps, TIME)
#define REC_END_KEY(K, T)

REC_END_FIELDS(WIRE_AT, rec_end)
WIRE_SIZE(rec_end, 168)

/*
 * Records of how late the machine was that runs a fabric in real time: its packet threads and hosts with their own
 * kernel waited for a processor, windows opened late. Reported unasked, of all of the run's time; in virtual time there
 * are none.
 */

/*
 * A thread that runs the fabric's windows; the processes of a host with its own kernel; the fabric's windows.
 * Value, number, name.
 */
#define REC_LATENESS_KINDS(ROW)                                                                                            \
	ROW(REC_LATENESS_LCORE, 0, "lcore")                                                                                \
	ROW(REC_LATENESS_HOST, 1, "host")                                                                                  \
	ROW(REC_LATENESS_WINDOWS, 2, "windows")

enum rec_lateness_kind { REC_LATENESS_KINDS(ENUM_VALUE) };

/*
 * hdr.node: the host; of an lcore or of windows, a node that this program runs. The kernel counts a wait for a
 * processor when it ends: late_ps of [from_ps, to_ps) may have begun before from_ps, by late_ps at most.
 */
struct rec_lateness {
	struct rec_hdr hdr;
	uint32_t kind;      /* enum rec_lateness_kind */
	uint32_t lcore;     /* of its program; REC_NONE: of no lcore */
	uint32_t partition; /* of the fabric, from 0 */
	uint32_t measured;  /* 0: its lateness in that time is unknown */
	uint64_t from_ps, to_ps;
	/* waited for a processor, by all tasks together; of windows: the time in which the fabric was behind */
	uint64_t late_ps;
	uint64_t most_ps;               /* of windows: how late one opened; else 0 */
	uint32_t windows, late_windows; /* opened, and of these late ones; else 0 */
};

#define REC_LATENESS_FIELDS(F, T)                                                                                          \
	F(T, 24, kind, ENUM(REC_LATENESS_KINDS))                                                                           \
	F(T, 28, lcore, ANY)                                                                                               \
	F(T, 32, partition, ANY)                                                                                           \
	F(T, 36, measured, FLAG)                                                                                           \
	F(T, 40, from_ps, PAST)                                                                                            \
	F(T, 48, to_ps, UNTIL)                                                                                             \
	F(T, 56, late_ps, TIME)                                                                                            \
	F(T, 64, most_ps, TIME)                                                                                            \
	F(T, 72, windows, ANY)                                                                                             \
	F(T, 76, late_windows, ANY)
#define REC_LATENESS_KEY(K, T)

REC_LATENESS_FIELDS(WIRE_AT, rec_lateness)
WIRE_SIZE(rec_lateness, 80)
