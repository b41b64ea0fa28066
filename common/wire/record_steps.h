/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of collectives and their steps: as configured, and as hosts report them. */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"
#include "common/wire/record_hdr.h"

/*
 * One iteration of a collective. A job runs its collectives several times; it and they have run-wide numbers, from 0.
 */
struct rec_collective {
	struct rec_hdr hdr;
	uint32_t id, iteration; /* from 0 */
	uint32_t algorithm, op;
	uint32_t ranks;
	uint32_t steps;      /* of all ranks: number of its SCHEDULE records */
	uint32_t rank_steps; /* of the rank that has most of them */
	uint32_t job;
	uint64_t bytes;               /* of the whole operation, as nccl-tests counts it; 0: unknown */
	uint64_t ideal_ps, expect_ps; /* of the whole collective on idle links, without and with reverse ACKs */
	char name[REC_NAME_LEN], job_name[REC_NAME_LEN];
	uint32_t group_ranks; /* of the ranks in each group that runs it for itself; 0: they are one group */
	uint32_t reserved;
};

#define REC_COLLECTIVE_FIELDS(F, T)                                                                                        \
	F(T, 24, id, ANY)                                                                                                  \
	F(T, 28, iteration, ANY)                                                                                           \
	F(T, 32, algorithm, ENUM(COLL_ALGORITHMS))                                                                         \
	F(T, 36, op, ENUM(COLL_OPS))                                                                                       \
	F(T, 40, ranks, RANGE(1, RECORD_MAX_NODES))                                                                        \
	F(T, 44, steps, RANGE(1, UINT32_MAX))                                                                              \
	F(T, 48, rank_steps, RANGE(1, UINT32_MAX))                                                                         \
	F(T, 52, job, ANY)                                                                                                 \
	F(T, 56, bytes, TOTAL)                                                                                             \
	F(T, 64, ideal_ps, TIME)                                                                                           \
	F(T, 72, expect_ps, TIME)                                                                                          \
	F(T, 80, name, TEXT)                                                                                               \
	F(T, 112, job_name, TEXT)                                                                                          \
	F(T, 144, group_ranks, ANY)                                                                                        \
	F(T, 148, reserved, ZERO)
#define REC_COLLECTIVE_KEY(K, T) K(T, id) K(T, iteration)

REC_COLLECTIVE_FIELDS(WIRE_AT, rec_collective)
WIRE_SIZE(rec_collective, 152)

/*
 * In every iteration of its job a rank begins a collective when its part in another one is over: all that it sends
 * there is acknowledged, and all that it receives has arrived.
 */
struct rec_follow {
	struct rec_hdr hdr;
	uint32_t collective, after; /* their ids */
};

#define REC_FOLLOW_FIELDS(F, T)                                                                                            \
	F(T, 24, collective, ANY)                                                                                          \
	F(T, 28, after, ANY)
#define REC_FOLLOW_KEY(K, T) K(T, collective) K(T, after)

REC_FOLLOW_FIELDS(WIRE_AT, rec_follow)
WIRE_SIZE(rec_follow, 32)

/*
 * One step of a rank. hdr.node: its host. It starts when all its dependencies are done: here are one own step and one
 * arrival, further ones are REC_DEPEND records; and when the step before it of the same peer and channel is complete.
 */
struct rec_schedule {
	struct rec_hdr hdr;
	uint32_t collective, iteration;
	uint32_t step; /* from 1, per rank */
	uint32_t rank;
	struct rec_tuple flow; /* of a local step: zeros */
	uint64_t bytes;
	uint32_t peer; /* rank that receives; the step's own: a local step, computation and no message */
	uint32_t channel;
	uint32_t own_step;     /* of the rank itself, to be complete before; 0: none */
	uint32_t depends_rank; /* whose message must have arrived before; REC_NONE: none */
	uint32_t depends_step; /* which of its steps; 0: none */
	uint32_t depends;      /* how many REC_DEPEND records it has besides */
	uint64_t ideal_ps;     /* of a local step: its computation, as configured */
	uint64_t expect_ps;    /* includes the reverse ACK traffic, which ideal does not */
	uint64_t base_rtt_ps;
	uint32_t prio;      /* class of its packets */
	uint32_t spread_ns; /* of a local step: how much longer than configured its computation usually takes at most */
};

#define REC_SCHEDULE_FIELDS(F, T)                                                                                          \
	F(T, 24, collective, ANY)                                                                                          \
	F(T, 28, iteration, ANY)                                                                                           \
	F(T, 32, step, STEP)                                                                                               \
	F(T, 36, rank, ANY)                                                                                                \
	F(T, 40, flow, TUPLE)                                                                                              \
	F(T, 56, bytes, TOTAL)                                                                                             \
	F(T, 64, peer, ANY)                                                                                                \
	F(T, 68, channel, ANY)                                                                                             \
	F(T, 72, own_step, ANY)                                                                                            \
	F(T, 76, depends_rank, ANY)                                                                                        \
	F(T, 80, depends_step, ANY)                                                                                        \
	F(T, 84, depends, ANY)                                                                                             \
	F(T, 88, ideal_ps, TIME)                                                                                           \
	F(T, 96, expect_ps, TIME)                                                                                          \
	F(T, 104, base_rtt_ps, TIME)                                                                                       \
	F(T, 112, prio, RANGE(0, 7))                                                                                       \
	F(T, 116, spread_ns, ANY)
#define REC_SCHEDULE_KEY(K, T) K(T, collective) K(T, iteration) K(T, rank) K(T, step)

REC_SCHEDULE_FIELDS(WIRE_AT, rec_schedule)
WIRE_SIZE(rec_schedule, 120)

/* A further dependency of a step: a step of the same iteration, perhaps of another collective of the job. */
struct rec_depend {
	struct rec_hdr hdr;
	uint32_t collective, iteration, step, rank; /* the rank that waits */
	uint32_t on_collective, on_rank, on_step; /* for what: an own step to be complete, another rank's to have arrived */
	uint32_t reserved;
};

#define REC_DEPEND_FIELDS(F, T)                                                                                            \
	F(T, 24, collective, ANY)                                                                                          \
	F(T, 28, iteration, ANY)                                                                                           \
	F(T, 32, step, STEP)                                                                                               \
	F(T, 36, rank, ANY)                                                                                                \
	F(T, 40, on_collective, ANY)                                                                                       \
	F(T, 44, on_rank, ANY)                                                                                             \
	F(T, 48, on_step, ANY)                                                                                             \
	F(T, 52, reserved, ZERO)
#define REC_DEPEND_KEY(K, T)                                                                                               \
	K(T, collective) K(T, iteration) K(T, rank) K(T, step) K(T, on_collective) K(T, on_rank) K(T, on_step)

REC_DEPEND_FIELDS(WIRE_AT, rec_depend)
WIRE_SIZE(rec_depend, 56)

/* State of a step when its host reports it. Value, number, name. */
#define REC_STEP_STATES(ROW)                                                                                               \
	ROW(REC_STEP_OVER, 0, "over")                                                                                      \
	ROW(REC_STEP_OPEN, 1, "open")                                                                                      \
	ROW(REC_STEP_WAITS, 2, "waits")

enum rec_step_state { REC_STEP_STATES(ENUM_VALUE) };

/* A finished step (III-C1), or one still open at the end of the run. hdr.node: its rank's host. */
struct rec_step {
	struct rec_hdr hdr;
	uint32_t collective, iteration, step, rank;
	/*
	 * The dependency that the start waited for: the last of all to be done, in the same iteration. waited_step 0:
	 * it waited for nothing of it, and the others are REC_NONE.
	 */
	uint32_t waited_collective, waited_rank, waited_step;
	uint32_t retransmits; /* packets sent again in this step */
	uint64_t bytes, acked_bytes;
	uint64_t start_ps, end_ps; /* end_ps 0: open */
	/*
	 * enum rec_step_state at the end of the run: one that waits has not begun, and waits for what waited_* name, or for
	 * its collective's start
	 */
	uint32_t open;
	/* least time after which it took a packet for lost, by time alone; 0: it did not, or not known */
	uint32_t waited_ns;
	uint64_t rtt_min_ps, rtt_mean_ps; /* of its packets' round trips; 0: no sample */
	uint32_t rtt_samples; /* round trips that were measured: one for each ACK, which may speak for several packets */
	uint32_t naks;        /* of its receiver, which a gap in its packets made; 0 also where hosts do not count them */
	/* the sender's ledger (common/wire/ledger.h), of a message; what it leaves of the step's time is unknown */
	uint64_t wire_ps, there_ps, back_ps, paced_ps, window_ps, late_ps, paused_ps, nak_ps, timeout_ps, early_ps,
		reordered_ps, nic_ps, peer_ps, behind_ps;
};

#define REC_STEP_FIELDS(F, T)                                                                                              \
	F(T, 24, collective, ANY)                                                                                          \
	F(T, 28, iteration, ANY)                                                                                           \
	F(T, 32, step, STEP)                                                                                               \
	F(T, 36, rank, ANY)                                                                                                \
	F(T, 40, waited_collective, ANY)                                                                                   \
	F(T, 44, waited_rank, ANY)                                                                                         \
	F(T, 48, waited_step, ANY)                                                                                         \
	F(T, 52, retransmits, ANY)                                                                                         \
	F(T, 56, bytes, TOTAL)                                                                                             \
	F(T, 64, acked_bytes, TOTAL)                                                                                       \
	F(T, 72, start_ps, PAST)                                                                                           \
	F(T, 80, end_ps, PAST)                                                                                             \
	F(T, 88, open, ENUM(REC_STEP_STATES))                                                                              \
	F(T, 92, waited_ns, ANY)                                                                                           \
	F(T, 96, rtt_min_ps, TIME)                                                                                         \
	F(T, 104, rtt_mean_ps, TIME)                                                                                       \
	F(T, 112, rtt_samples, ANY)                                                                                        \
	F(T, 116, naks, ANY)                                                                                               \
	F(T, 120, wire_ps, TIME)                                                                                           \
	F(T, 128, there_ps, TIME)                                                                                          \
	F(T, 136, back_ps, TIME)                                                                                           \
	F(T, 144, paced_ps, TIME)                                                                                          \
	F(T, 152, window_ps, TIME)                                                                                         \
	F(T, 160, late_ps, TIME)                                                                                           \
	F(T, 168, paused_ps, TIME)                                                                                         \
	F(T, 176, nak_ps, TIME)                                                                                            \
	F(T, 184, timeout_ps, TIME)                                                                                        \
	F(T, 192, early_ps, TIME)                                                                                          \
	F(T, 200, reordered_ps, TIME)                                                                                      \
	F(T, 208, nic_ps, TIME)                                                                                            \
	F(T, 216, peer_ps, TIME)                                                                                           \
	F(T, 224, behind_ps, TIME)
#define REC_STEP_KEY(K, T) K(T, collective) K(T, iteration) K(T, hdr.node) K(T, rank) K(T, step)

REC_STEP_FIELDS(WIRE_AT, rec_step)
WIRE_SIZE(rec_step, 232)

/* A detection was spent: hdr.event is the id its polling packet carries. */
struct rec_trigger {
	struct rec_hdr hdr;
	struct rec_tuple flow;
	uint32_t collective, iteration, step;
	uint32_t cause; /* sample above threshold, or age of the oldest unacknowledged packet above it */
	uint64_t rtt_ps, threshold_ps;
	uint32_t remaining; /* detections left to this step */
	uint32_t rank;      /* of the step */
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
	F(T, 76, rank, ANY)
#define REC_TRIGGER_KEY(K, T)

REC_TRIGGER_FIELDS(WIRE_AT, rec_trigger)
WIRE_SIZE(rec_trigger, 80)

/* A notification packet was sent (sender's report). hdr.node: sender. */
struct rec_notify {
	struct rec_hdr hdr;
	uint32_t to, collective, iteration, step;
	uint32_t detections; /* handed over */
	uint32_t rank;       /* of the step */
};

#define REC_NOTIFY_FIELDS(F, T)                                                                                            \
	F(T, 24, to, HOST_OR_NONE)                                                                                         \
	F(T, 28, collective, ANY)                                                                                          \
	F(T, 32, iteration, ANY)                                                                                           \
	F(T, 36, step, STEP)                                                                                               \
	F(T, 40, detections, ANY)                                                                                          \
	F(T, 44, rank, ANY)
#define REC_NOTIFY_KEY(K, T)

REC_NOTIFY_FIELDS(WIRE_AT, rec_notify)
WIRE_SIZE(rec_notify, 48)
