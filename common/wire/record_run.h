/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of the run itself: what was configured, what the budget kept back, how it ended. */
#pragma once

#include <stdint.h>

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
	uint32_t exact_contention; /* 1: REC_MATRIX_ROW records follow reports */
	uint64_t jitter_ps;        /* by so much a host may be late without being slow: its own scheduling */
};

/*
 * What the budget kept back, one record per kind lost: precedes the next record that is sent, unless gaps already take
 * more than an eighth of the bytes; at the latest, REC_END. Counts add up over all gaps of a kind.
 */
struct rec_gap {
	struct rec_hdr hdr;
	uint32_t kind; /* enum rec_type */
	uint32_t dropped;
	uint64_t dropped_bytes;
	uint64_t from_ps, to_ps;
};

struct rec_end {
	struct rec_hdr hdr;
	uint16_t reason;          /* enum rec_end_reason */
	uint16_t recording_errno; /* why the recording, unlike this stream, broke off (Linux's errno); 0: it is whole */
	uint32_t at_node;         /* QP error, host lost: host. Else one that no longer answered at the end, or REC_NONE */
	uint64_t end_ps;
	uint64_t offered_bytes, sent_bytes; /* by the exporter, this record not included */
	uint64_t offered_records, sent_records, deferred_records, dropped_records;
	uint64_t polling_packets, polling_bytes; /* on every link they crossed */
	uint64_t notification_packets, notification_bytes;
	uint64_t detections; /* polling packets that hosts asked for */
	/* Reports of telemetry on the wire, headers included (telemetry/report.h): those kept, offered here; and all made. */
	uint64_t kept_reports, kept_bytes, collected_reports, collected_bytes;
};

_Static_assert(sizeof(struct rec_run) == 112, "layout");
_Static_assert(sizeof(struct rec_gap) == 56, "layout");
_Static_assert(sizeof(struct rec_end) == 160, "layout");
