/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of collectives and their steps: as configured, and as hosts report them. */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"
#include "common/wire/record_hdr.h"

struct rec_collective {
	struct rec_hdr hdr;
	uint32_t id, iteration; /* id: which collective of the scenario, from 0; iteration from 0 */
	uint32_t algorithm, op;
	uint32_t ranks, steps;        /* steps: per rank */
	uint64_t bytes;               /* of the whole operation, as nccl-tests counts it */
	uint64_t ideal_ps, expect_ps; /* of the whole collective on idle links, without and with reverse ACKs */
};

#define REC_COLLECTIVE_FIELDS(F, T)                                                                                        \
	F(T, 24, id, ANY)                                                                                                  \
	F(T, 28, iteration, ANY)                                                                                           \
	F(T, 32, algorithm, ENUM(COLL_ALGORITHMS))                                                                         \
	F(T, 36, op, ENUM(COLL_OPS))                                                                                       \
	F(T, 40, ranks, RANGE(1, RECORD_MAX_NODES))                                                                        \
	F(T, 44, steps, RANGE(1, UINT32_MAX))                                                                              \
	F(T, 48, bytes, TOTAL)                                                                                             \
	F(T, 56, ideal_ps, TIME)                                                                                           \
	F(T, 64, expect_ps, TIME)
#define REC_COLLECTIVE_KEY(K, T) K(T, id) K(T, iteration)

REC_COLLECTIVE_FIELDS(WIRE_AT, rec_collective)
WIRE_SIZE(rec_collective, 72)

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

#define REC_SCHEDULE_FIELDS(F, T)                                                                                          \
	F(T, 24, collective, ANY)                                                                                          \
	F(T, 28, iteration, ANY)                                                                                           \
	F(T, 32, step, STEP)                                                                                               \
	F(T, 36, rank, ANY)                                                                                                \
	F(T, 40, flow, TUPLE)                                                                                              \
	F(T, 56, bytes, TOTAL)                                                                                             \
	F(T, 64, depends_on, HOST_OR_NONE)                                                                                 \
	F(T, 68, depends_step, ANY)                                                                                        \
	F(T, 72, ideal_ps, TIME)                                                                                           \
	F(T, 80, expect_ps, TIME)                                                                                          \
	F(T, 88, base_rtt_ps, TIME)
#define REC_SCHEDULE_KEY(K, T) K(T, collective) K(T, iteration) K(T, rank) K(T, step)

REC_SCHEDULE_FIELDS(WIRE_AT, rec_schedule)
WIRE_SIZE(rec_schedule, 96)

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

#define REC_STEP_FIELDS(F, T)                                                                                              \
	F(T, 24, flow, TUPLE)                                                                                              \
	F(T, 40, collective, ANY)                                                                                          \
	F(T, 44, iteration, ANY)                                                                                           \
	F(T, 48, step, STEP)                                                                                               \
	F(T, 52, waited_for, HOST_OR_NONE)                                                                                 \
	F(T, 56, bytes, TOTAL)                                                                                             \
	F(T, 64, acked_bytes, TOTAL)                                                                                       \
	F(T, 72, start_ps, PAST)                                                                                           \
	F(T, 80, end_ps, PAST)                                                                                             \
	F(T, 88, open, FLAG)                                                                                               \
	F(T, 92, retransmits, ANY)
#define REC_STEP_KEY(K, T) K(T, collective) K(T, iteration) K(T, hdr.node) K(T, step) K(T, flow)

REC_STEP_FIELDS(WIRE_AT, rec_step)
WIRE_SIZE(rec_step, 96)

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

#define REC_TRIGGER_FIELDS(F, T)                                                                                           \
	F(T, 24, flow, TUPLE)                                                                                              \
	F(T, 40, collective, ANY)                                                                                          \
	F(T, 44, iteration, ANY)                                                                                           \
	F(T, 48, step, STEP)                                                                                               \
	F(T, 52, cause, ENUM(REC_TRIGGER_CAUSES))                                                                          \
	F(T, 56, rtt_ps, TIME)                                                                                             \
	F(T, 64, threshold_ps, TIME)                                                                                       \
	F(T, 72, remaining, ANY)                                                                                           \
	F(T, 76, reserved, ZERO)
#define REC_TRIGGER_KEY(K, T)

REC_TRIGGER_FIELDS(WIRE_AT, rec_trigger)
WIRE_SIZE(rec_trigger, 80)

/* A notification packet was sent (sender's report). hdr.node: sender. */
struct rec_notify {
	struct rec_hdr hdr;
	uint32_t to, collective, iteration, step;
	uint32_t detections; /* handed over */
	uint32_t reserved;
};

#define REC_NOTIFY_FIELDS(F, T)                                                                                            \
	F(T, 24, to, HOST_OR_NONE)                                                                                         \
	F(T, 28, collective, ANY)                                                                                          \
	F(T, 32, iteration, ANY)                                                                                           \
	F(T, 36, step, STEP)                                                                                               \
	F(T, 40, detections, ANY)                                                                                          \
	F(T, 44, reserved, ZERO)
#define REC_NOTIFY_KEY(K, T)

REC_NOTIFY_FIELDS(WIRE_AT, rec_notify)
WIRE_SIZE(rec_notify, 48)
