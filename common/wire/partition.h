/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between two programs that run partitions of one fabric: a byte stream, unix or TCP. Little-endian; a message is one
 * struct partition_hdr and its body. All times are the run's.
 *
 *   HELLO     both, first: its partition, and its scenario
 *   REFUSE    instead of anything else: the reason, for people; the stream closes behind it
 *   CLOCK     to the first partition, which sends it back with its own clock: how far clocks are apart
 *   READY     to the first partition: it could begin
 *   START     of the first partition: when time 0 of the run is
 *   FRAME     a frame on a boundary cable, with the time of its arrival
 *   LANE      frames of one cable that are a descriptor each and no more, in order of time
 *   PAUSE     the same of an 802.1Qbb frame, which concerns one MAC alone
 *   PROMISE   with kernel hosts: no later FRAME or PAUSE has left its sender before a time
 *   WINDOW    with embedded hosts, which open the same windows everywhere: the end of one; the frames of it, and what it
 *             held, precede it
 *   HELD      before it: classes that a port holds whose link is down
 *   STATE     what the partition knows of its hosts after a window, before all judge the run
 *   SHARED    a node's message to a program that every partition runs; SHARED_END: all of a round
 *   ALIVE     its sender waits for others, or for its output
 *   RECORDS   to the first partition: reports of nodes, all before a time
 *   BYE       the run has ended here, and why
 *   COUNTERS, STEP, ITERATION, FLOW, RESULT, FAULTS, REPORT, DONE
 *             to the first partition, after it: the outcome of its nodes; DONE is the last
 */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"

#define PARTITION_MAGIC 0x54504352U /* "RCPT" */
#define PARTITION_VERSION 7
#define PARTITION_MAX_BODY (256 * 1024)
#define PARTITION_TEXT 256
#define PARTITION_TOKEN 64 /* characters of a token, at most */
#define PARTITION_MAX 16   /* programs of a fabric */

/* ROW(id, number, name, least bytes of the body, most) */
#define PARTITION_MESSAGES(ROW)                                                                                            \
	ROW(PARTITION_NONE, 0, "none", 1, 0) /* never sent */                                                              \
	ROW(PARTITION_HELLO, 1, "HELLO", 112, 112)                                                                         \
	ROW(PARTITION_REFUSE, 2, "REFUSE", PARTITION_TEXT, PARTITION_TEXT)                                                 \
	ROW(PARTITION_READY, 3, "READY", 0, 0)                                                                             \
	ROW(PARTITION_START, 4, "START", 8, 8)                                                                             \
	ROW(PARTITION_FRAME, 5, "FRAME", 40, PARTITION_MAX_BODY)                                                           \
	ROW(PARTITION_PAUSE, 6, "PAUSE", 16, 16)                                                                           \
	ROW(PARTITION_PROMISE, 7, "PROMISE", 32, 32)                                                                       \
	ROW(PARTITION_RECORDS, 8, "RECORDS", 8, PARTITION_MAX_BODY)                                                        \
	ROW(PARTITION_BYE, 9, "BYE", 16 + PARTITION_TEXT, 16 + PARTITION_TEXT)                                             \
	ROW(PARTITION_COUNTERS, 10, "COUNTERS", 24, PARTITION_MAX_BODY)                                                    \
	ROW(PARTITION_STEP, 11, "STEP", 80, 80)                                                                            \
	ROW(PARTITION_ITERATION, 12, "ITERATION", 48, 48)                                                                  \
	ROW(PARTITION_FLOW, 13, "FLOW", 40, 40)                                                                            \
	ROW(PARTITION_RESULT, 14, "RESULT", 16, 16)                                                                        \
	ROW(PARTITION_FAULTS, 15, "FAULTS", 0, PARTITION_MAX_BODY) /* a byte a fault of the scenario, 1: it acted there */ \
	ROW(PARTITION_REPORT, 16, "REPORT", 1, PARTITION_MAX_BODY) /* a chunk of a JSON text, whole with DONE */           \
	ROW(PARTITION_CLOCK, 17, "CLOCK", 16, 16)                                                                          \
	ROW(PARTITION_DONE, 18, "DONE", 0, 0)                                                                              \
	ROW(PARTITION_WINDOW, 19, "WINDOW", 16, 16)                                                                        \
	ROW(PARTITION_HELD, 20, "HELD", 8, 8)                                                                              \
	ROW(PARTITION_STATE, 21, "STATE", 32, PARTITION_MAX_BODY)                                                          \
	ROW(PARTITION_ALIVE, 22, "ALIVE", 0, 0)                                                                            \
	ROW(PARTITION_SHARED, 23, "SHARED", 24, PARTITION_MAX_BODY)                                                        \
	ROW(PARTITION_SHARED_END, 24, "SHARED_END", 0, 0)                                                                  \
	ROW(PARTITION_MADE, 25, "MADE", 8, PARTITION_MAX_BODY)                                                             \
	ROW(PARTITION_LANE, 26, "LANE", 40, PARTITION_MAX_BODY)

#define PARTITION_MESSAGE_VALUE(id, number, name, least, most) id = (number),
enum partition_type { PARTITION_MESSAGES(PARTITION_MESSAGE_VALUE) PARTITION_TYPES };

struct partition_hdr {
	uint32_t magic;
	uint16_t type; /* enum partition_type */
	uint16_t reserved;
	uint32_t size; /* of the body, bytes */
	uint32_t reserved2;
};

WIRE_AT(partition_hdr, 0, magic)
WIRE_AT(partition_hdr, 4, type)
WIRE_AT(partition_hdr, 8, size)
WIRE_SIZE(partition_hdr, 16)

struct partition_hello {
	uint32_t version;               /* PARTITION_VERSION */
	uint32_t partition, partitions; /* of how many it is which, from 0 */
	uint32_t diagnosers;            /* plugin programs of the run, which partition 0 starts */
	uint64_t layout;                /* digest of the layouts that go by value: records, descriptors, counters */
	uint64_t scenario;              /* digest of the effective configuration, overrides and seed included */
	uint64_t division;              /* digest of which partition runs which node */
	uint64_t reserved2;
	char token[PARTITION_TOKEN]; /* padded with 0; all 0: none */
};

WIRE_AT(partition_hello, 0, version)
WIRE_AT(partition_hello, 4, partition)
WIRE_AT(partition_hello, 8, partitions)
WIRE_AT(partition_hello, 12, diagnosers)
WIRE_AT(partition_hello, 16, layout)
WIRE_AT(partition_hello, 24, scenario)
WIRE_AT(partition_hello, 32, division)
WIRE_AT(partition_hello, 48, token)
WIRE_SIZE(partition_hello, 112)

/* CLOCK */
struct partition_clock {
	uint64_t sent_ns;     /* by the clock of the partition that asks */
	uint64_t received_ns; /* by the first partition's clock; 0: not received yet */
};

WIRE_SIZE(partition_clock, 16)

struct partition_zero {
	uint64_t zero_ns; /* by the first partition's clock */
};

WIRE_SIZE(partition_zero, 8)

/* REFUSE */
struct partition_refuse {
	char text[PARTITION_TEXT]; /* NUL-terminated */
};

WIRE_SIZE(partition_refuse, 256)

/* A descriptor (common/pkt.h). */
struct partition_packet {
	uint64_t time_ps; /* the last bit is there */
	uint32_t flow;
	uint32_t psn; /* with the tag above, or the id of a control packet */
	uint32_t arg;
	uint16_t wire_bytes, payload_bytes;
	uint8_t opcode, syndrome, type, prio;
	uint8_t flags, ttl;
	uint8_t reserved[2];
};

WIRE_AT(partition_packet, 20, wire_bytes)
WIRE_AT(partition_packet, 24, opcode)
WIRE_SIZE(partition_packet, 32)

/* FRAME. Behind it, as flags say: struct partition_int, struct partition_contents and the segment's bytes. */
struct partition_frame {
	struct partition_packet packet;
	uint32_t port; /* global id of the port that it left by */
	uint8_t has_contents;
	/*
	 * only the frame's bytes from its kernel host follow: they hold the flow and the rest; or, behind a control packet
	 * about a flow of such hosts that is not planned, struct partition_tuple
	 */
	uint8_t has_bytes;
	uint8_t reserved[2];
};

WIRE_AT(partition_frame, 32, port)
WIRE_AT(partition_frame, 36, has_contents)
WIRE_AT(partition_frame, 37, has_bytes)
WIRE_SIZE(partition_frame, 40)

/* LANE: this, and one descriptor or more. */
struct partition_lane {
	uint32_t port; /* as of a FRAME */
	uint32_t reserved;
};

WIRE_SIZE(partition_lane, 8)

/* Telemetry of its path, struct int_header. */
struct partition_int {
	uint64_t hops[5];
	uint16_t path;
	uint8_t count;
	uint8_t reserved[5];
};

WIRE_SIZE(partition_int, 48)

/* Further fields of a data segment with contents, as in its RETH. */
struct partition_contents {
	uint64_t va; /* destination of its message, or, where packets may arrive in any order, of the segment itself */
	uint32_t dma_bytes;
	uint32_t reserved;
};

WIRE_SIZE(partition_contents, 16)

/* What a flow is known by everywhere: forward, whichever way the packet goes. */
struct partition_tuple {
	uint32_t src_ip, dst_ip;
	uint16_t sport, dport;
	uint8_t protocol; /* IPv4's number */
	uint8_t reserved[3];
};

WIRE_SIZE(partition_tuple, 16)

struct partition_pause {
	uint64_t time_ps; /* it is there */
	uint32_t port;    /* that it left by */
	uint8_t prio_mask, xoff;
	uint16_t reserved;
};

WIRE_AT(partition_pause, 8, port)
WIRE_SIZE(partition_pause, 16)

/*
 * WORKING: in the first phase of a run with kernel hosts, some are not ready. UP: there, all are up. INTERRUPTED: its
 * user wants the run to end
 */
enum partition_state { PARTITION_WORKING = 1, PARTITION_SENDING = 2, PARTITION_UP = 4, PARTITION_INTERRUPTED = 8 };

struct partition_promise {
	uint64_t leaves_ps; /* nothing leaves before */
	uint64_t progress;  /* bytes that its hosts accepted so far */
	uint64_t next_ps;   /* when a host begins what waits for its time alone; UINT64_MAX: none does */
	uint32_t state;     /* enum partition_state, several */
	uint32_t reserved;
};

WIRE_AT(partition_promise, 8, progress)
WIRE_AT(partition_promise, 16, next_ps)
WIRE_AT(partition_promise, 24, state)
WIRE_SIZE(partition_promise, 32)

struct partition_window {
	uint64_t index;   /* of the window */
	uint64_t next_ps; /* when something happens next in this partition: struct fabric_hooks.agree */
};

WIRE_AT(partition_window, 8, next_ps)
WIRE_SIZE(partition_window, 16)

/* MADE, before WINDOW: of each NIC that made datagrams with contents in the window: */
struct partition_made {
	uint32_t port; /* global id */
	uint32_t next; /* PSN of its next one */
};

WIRE_AT(partition_made, 4, next)
WIRE_SIZE(partition_made, 8)

struct partition_held {
	uint32_t port;
	uint8_t prio_mask;
	uint8_t reserved[3];
};

WIRE_AT(partition_held, 4, prio_mask)
WIRE_SIZE(partition_held, 8)

/* STATE: struct partition_promise, with leaves_ps the end of the window; then of each node that failed: */
struct partition_failure {
	uint32_t node;
	uint32_t status;           /* enum node_status */
	char text[PARTITION_TEXT]; /* NUL-terminated */
};

WIRE_AT(partition_failure, 8, text)
WIRE_SIZE(partition_failure, 264)

/* The request's bytes follow. */
struct partition_shared {
	uint32_t node;
	uint32_t rest_bytes; /* of the request, in later messages */
	uint64_t time_ps;    /* it arrives at the program */
	uint32_t program;    /* enum partition_program */
	uint32_t reserved;
};

WIRE_AT(partition_shared, 4, rest_bytes)
WIRE_AT(partition_shared, 8, time_ps)
WIRE_AT(partition_shared, 16, program)
WIRE_SIZE(partition_shared, 24)

/* The program that every partition runs, for which a request is. */
enum partition_program {
	PARTITION_PINGMESH, /* R-Pingmesh's controller */
	PARTITION_TRACER,   /* FlowTracer */
	PARTITION_PLUGINS,  /* plugin diagnosers: of partition 0 to nodes, and their replies */
	PARTITION_PROGRAMS
};

/* Whole records follow (common/wire/record.h). */
struct partition_records {
	uint64_t before_ps; /* all that happened before has been sent */
};

WIRE_SIZE(partition_records, 8)

struct partition_bye {
	uint64_t end_ps;
	uint32_t reason; /* enum rec_end_reason */
	uint32_t node;   /* at which, REC_NONE: at none */
	char text[PARTITION_TEXT];
};

WIRE_AT(partition_bye, 8, reason)
WIRE_AT(partition_bye, 16, text)
WIRE_SIZE(partition_bye, 272)

/* struct node_counters follows, as both have it. */
struct partition_counters {
	uint32_t node;
	uint32_t reserved;
	uint64_t digest; /* of its events (struct node) */
	uint64_t reserved2;
};

WIRE_AT(partition_counters, 8, digest)
WIRE_SIZE(partition_counters, 24)

/* STEP, ITERATION: a manage_step, manage_iteration (common/wire/manage.h) of a host follows. RESULT: see there. */
struct partition_host {
	uint32_t node;
	uint32_t reserved;
};

WIRE_SIZE(partition_host, 8)

struct partition_result {
	uint32_t node;
	uint32_t reserved;
	uint64_t unexpected; /* messages that no schedule expects */
};

WIRE_SIZE(partition_result, 16)

/* A flow that no collective sends. */
struct partition_flow {
	uint32_t node;
	uint32_t index;            /* of its host's */
	uint64_t begin_ps, end_ps; /* 0: open */
	uint64_t acked_bytes;
	uint32_t retransmits;
	uint32_t begun;
};

WIRE_AT(partition_flow, 8, begin_ps)
WIRE_AT(partition_flow, 24, acked_bytes)
WIRE_AT(partition_flow, 32, retransmits)
WIRE_SIZE(partition_flow, 40)
