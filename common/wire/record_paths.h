/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of FlowTracer: the paths of flows, as hosts and switches reported when they were queried over the management
 * network.
 */
#pragma once

#include "common/wire/layout.h"
#include "common/wire/record_hdr.h"
#include "common/wire/trace.h"

/* How flows are traced. */
struct rec_tracer {
	struct rec_hdr hdr;
	uint64_t rtt_ps;      /* round trip of the management network */
	uint64_t period_ps;   /* between the starts of rounds; 0: there is one */
	uint16_t connections; /* enum rec_trace_connections */
	uint16_t first_hop;   /* enum rec_trace_first_hop */
	uint16_t processes;
	uint16_t threads; /* of a process */
};

#define REC_TRACER_FIELDS(F, T)                                                                                            \
	F(T, 24, rtt_ps, TIME)                                                                                             \
	F(T, 32, period_ps, TIME)                                                                                          \
	F(T, 40, connections, ENUM(REC_TRACE_CONNECTIONS))                                                                 \
	F(T, 42, first_hop, ENUM(REC_TRACE_FIRST_HOPS))                                                                    \
	F(T, 44, processes, RANGE(1, UINT16_MAX))                                                                          \
	F(T, 46, threads, RANGE(1, UINT16_MAX))
#define REC_TRACER_KEY(K, T)

REC_TRACER_FIELDS(WIRE_AT, rec_tracer)
WIRE_SIZE(rec_tracer, 48)

/* A flow whose path was traced, at the end of the trace. hdr.node: its source. */
struct rec_traced {
	struct rec_hdr hdr;
	struct rec_tuple tuple;
	uint64_t set_low, set_high; /* bit p % 64 of one or the other: port p of the source was a choice, as of a bond */
	uint64_t reported_ps;       /* when the host, or a leaf, named it */
	uint64_t messages;          /* that its QP had been given by then */
	uint32_t round;             /* from 0 */
	uint16_t nic;               /* by which it leaves */
	uint16_t result;            /* enum rec_trace_result, of its last hop */
};

#define REC_TRACED_FIELDS(F, T)                                                                                            \
	F(T, 24, tuple, TUPLE)                                                                                             \
	F(T, 40, set_low, ANY)                                                                                             \
	F(T, 48, set_high, ANY)                                                                                            \
	F(T, 56, reported_ps, PAST)                                                                                        \
	F(T, 64, messages, ANY)                                                                                            \
	F(T, 72, round, RANGE(0, RECORD_MAX_ROUND))                                                                        \
	F(T, 76, nic, PORT)                                                                                                \
	F(T, 78, result, ENUM(REC_TRACE_RESULTS))
#define REC_TRACED_KEY(K, T)

REC_TRACED_FIELDS(WIRE_AT, rec_traced)
WIRE_SIZE(rec_traced, 80)

/*
 * A switch's reply: the egress port of a flow for its ingress port. hdr.node: the switch, whether it replied or not. Where
 * its set of ports goes on, as that of ECMP does, so does the reply: alike but for the set.
 */
struct rec_traced_hop {
	struct rec_hdr hdr;
	struct rec_tuple tuple;
	uint64_t set_low, set_high; /* bit p % 64 of one or the other: port first + p was a choice of equal cost */
	uint32_t round;
	uint16_t hop;      /* from 1 on: the switch that the source is connected to */
	uint16_t in_port;  /* that it was asked about */
	uint16_t out_port; /* EGRESS; else REC_NO_PORT */
	uint16_t result;   /* enum rec_trace_result */
	uint16_t first;    /* 0 where all ports of the set are below 128; else the least of the record */
	uint16_t reserved;
};

#define REC_TRACED_HOP_FIELDS(F, T)                                                                                        \
	F(T, 24, tuple, TUPLE)                                                                                             \
	F(T, 40, set_low, ANY)                                                                                             \
	F(T, 48, set_high, ANY)                                                                                            \
	F(T, 56, round, RANGE(0, RECORD_MAX_ROUND))                                                                        \
	F(T, 60, hop, RANGE(1, RECORD_MAX_HOPS))                                                                           \
	F(T, 62, in_port, PORT)                                                                                            \
	F(T, 64, out_port, PORT_OR_NONE)                                                                                   \
	F(T, 66, result, ENUM(REC_TRACE_RESULTS))                                                                          \
	F(T, 68, first, PORT)                                                                                              \
	F(T, 70, reserved, ZERO)
#define REC_TRACED_HOP_KEY(K, T)

REC_TRACED_HOP_FIELDS(WIRE_AT, rec_traced_hop)
WIRE_SIZE(rec_traced_hop, 72)

/* In a round a host's flows are through: each was traced, or the run ended first. hdr.node: the host. */
struct rec_trace_round {
	struct rec_hdr hdr;
	uint64_t start_ps;
	uint64_t sent_bytes, received_bytes; /* over the management network: questions, replies */
	uint32_t round;
	uint32_t flows, traced; /* that were named; whose path is known to its end */
	uint32_t questions, connections;
	uint16_t complete; /* 1: every flow that was named was traced */
	uint16_t reserved;
};

#define REC_TRACE_ROUND_FIELDS(F, T)                                                                                       \
	F(T, 24, start_ps, PAST)                                                                                           \
	F(T, 32, sent_bytes, TOTAL)                                                                                        \
	F(T, 40, received_bytes, TOTAL)                                                                                    \
	F(T, 48, round, RANGE(0, RECORD_MAX_ROUND))                                                                        \
	F(T, 52, flows, ANY)                                                                                               \
	F(T, 56, traced, ANY)                                                                                              \
	F(T, 60, questions, ANY)                                                                                           \
	F(T, 64, connections, ANY)                                                                                         \
	F(T, 68, complete, FLAG)                                                                                           \
	F(T, 70, reserved, ZERO)
#define REC_TRACE_ROUND_KEY(K, T)

REC_TRACE_ROUND_FIELDS(WIRE_AT, rec_trace_round)
WIRE_SIZE(rec_trace_round, 72)
