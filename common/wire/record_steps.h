/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of collectives and their steps: as configured, and as hosts report them. */
#pragma once

#include <stdint.h>

#include "common/wire/record_hdr.h"

struct rec_collective {
	struct rec_hdr hdr;
	uint32_t id, iteration; /* id: which collective of the scenario, from 0; iteration from 0 */
	uint32_t algorithm, op;
	uint32_t ranks, steps;        /* steps: per rank */
	uint64_t bytes;               /* of the whole operation, as nccl-tests counts it */
	uint64_t ideal_ps, expect_ps; /* of the whole collective on idle links, without and with reverse ACKs */
};

/* One step that a rank will send. hdr.node: the sending host. */
struct rec_schedule {
	struct rec_hdr hdr;
	uint32_t collective, iteration;
	uint32_t step; /* from 1, per rank */
	uint32_t rank;
	struct rec_tuple flow;
	uint64_t bytes;
	uint32_t depends_on;          /* host whose data this step sends on, REC_NONE for the first */
	uint32_t depends_step;        /* which of its steps */
	uint64_t ideal_ps, expect_ps; /* expect includes the reverse ACK traffic, ideal does not */
	uint64_t base_rtt_ps;
};

/* A finished step (III-C1), or one still open at the end of the run. hdr.node: the sending host. */
struct rec_step {
	struct rec_hdr hdr;
	struct rec_tuple flow;
	uint32_t collective, iteration, step;
	uint32_t waited_for; /* host whose step the start actually waited for; REC_NONE: its own previous step */
	uint64_t bytes, acked_bytes;
	uint64_t start_ps, end_ps; /* end_ps 0: open; start_ps 0 with end_ps 0: not started, waits for waited_for */
	uint32_t open;             /* 1: open at the end of the run */
	uint32_t retransmits;      /* packets sent again in this step */
};

/* A detection was spent: hdr.event is the id its polling packet carries. */
struct rec_trigger {
	struct rec_hdr hdr;
	struct rec_tuple flow;
	uint32_t collective, iteration, step;
	uint32_t cause; /* sample above threshold, or age of the oldest unacknowledged packet above it */
	uint64_t rtt_ps, threshold_ps;
	uint32_t remaining; /* detections left to this step */
	uint32_t reserved;
};

/* A notification packet was sent (sender's report). hdr.node: sender. */
struct rec_notify {
	struct rec_hdr hdr;
	uint32_t to, collective, iteration, step;
	uint32_t detections; /* handed over */
	uint32_t reserved;
};

_Static_assert(sizeof(struct rec_collective) == 72, "layout");
_Static_assert(sizeof(struct rec_schedule) == 96, "layout");
_Static_assert(sizeof(struct rec_step) == 96, "layout");
_Static_assert(sizeof(struct rec_trigger) == 80, "layout");
_Static_assert(sizeof(struct rec_notify) == 48, "layout");
