/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The management channel between the fabric and a host that has its own kernel: a byte stream beside the network (a
 * serial line of a guest, a unix or TCP socket elsewhere), so that measurements are not disturbed. Little-endian;
 * a message is one struct manage_hdr and its body. The fabric serves, the host's program `rxe-host` connects.
 *
 *   host                        fabric
 *   HELLO                  ->            the program runs and its device is up
 *   TIME (many)           <->            the host learns the fabric's clock, as in NTP (RFC 5905, section 8)
 *                          <-  CONNECT   every host has sent HELLO: connect the QPs
 *   QP (several)           ->            its ends of flows to embedded hosts, which have no connection manager
 *   CONNECTED              ->            all QPs of this host are up, base round-trip times are measured
 *                          <-  START     time zero of the run, on the fabric's clock
 *   RECORDS, PROGRESS      ->            while it runs
 *   FLOWS                  ->            while it runs: its connections, as its kernel reports them
 *   PINGMESH              <->            while it runs: a request of R-Pingmesh's agent, and its controller's reply
 *                          <-  STOP      the run has ended at this time: close what is open
 *   STEP, ITERATION, COUNTER, RESULT ->  the outcome; RESULT is the last message
 *   QP_ERROR               ->            while it runs: a flow's QP has spent its retries. The host goes on until STOP.
 *   FAILED                 ->            at any time: what went wrong, for people. The channel closes behind it.
 * common/manage_stream.h reads and writes these messages.
 */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"

#define MANAGE_MAGIC 0x474d4352U /* "RCMG" */
#define MANAGE_VERSION 6
#define MANAGE_MAX_BODY 65536
#define MANAGE_TEXT 240
#define MANAGE_COUNTERS 64 /* of a host, at most */

enum manage_type {
	MANAGE_HELLO = 1,
	MANAGE_TIME = 2,
	MANAGE_CONNECT = 3, /* no body */
	MANAGE_CONNECTED = 4,
	MANAGE_START = 5,
	MANAGE_RECORDS = 6, /* body: records (common/wire/record.h), whole ones, times of the run */
	MANAGE_PROGRESS = 7,
	MANAGE_STOP = 8,
	MANAGE_STEP = 9,
	MANAGE_ITERATION = 10,
	MANAGE_RESULT = 11,
	MANAGE_FAILED = 12,
	MANAGE_QP_ERROR = 13,
	MANAGE_QP = 14,
	MANAGE_FLOWS =
		16, /* body: struct swm_flow (common/wire/switch_manage.h), whole ones: all that the host sends now */
	MANAGE_PINGMESH = 15, /* body: a message of common/wire/pingmesh_manage.h, header and all */
	MANAGE_COUNTER = 17,
};

struct manage_hdr {
	uint32_t magic;
	uint16_t type; /* enum manage_type */
	uint16_t reserved;
	uint32_t size; /* of the body, bytes; MANAGE_MAX_BODY at most */
};

WIRE_AT(manage_hdr, 0, magic)
WIRE_AT(manage_hdr, 4, type)
WIRE_AT(manage_hdr, 6, reserved)
WIRE_AT(manage_hdr, 8, size)
WIRE_SIZE(manage_hdr, 12)

struct manage_hello {
	uint32_t version; /* MANAGE_VERSION */
	uint32_t node;    /* topology node id */
	uint64_t digest;  /* plan_digest() of what the host understood: both must have read the same scenario */
	char device[32];  /* RDMA device */
};

WIRE_AT(manage_hello, 0, version)
WIRE_AT(manage_hello, 4, node)
WIRE_AT(manage_hello, 8, digest)
WIRE_AT(manage_hello, 16, device)
WIRE_SIZE(manage_hello, 48)

/* Sent by the host with fabric_ns 0, answered at once with fabric_ns filled in. */
struct manage_time {
	uint64_t host_ns;   /* the host's clock when it sent, echoed */
	uint64_t fabric_ns; /* the fabric's CLOCK_MONOTONIC when it answered */
};

WIRE_AT(manage_time, 0, host_ns)
WIRE_AT(manage_time, 8, fabric_ns)
WIRE_SIZE(manage_time, 16)

/* One end of a reliable connection whose other end is an embedded host's. */
struct manage_qp {
	uint32_t flow; /* index into the run's flow table */
	uint32_t qpn;
	uint32_t rkey, reserved;
	uint64_t addr, bytes; /* where messages of the flow go; 0: this host sends it */
};

WIRE_AT(manage_qp, 0, flow)
WIRE_AT(manage_qp, 4, qpn)
WIRE_AT(manage_qp, 8, rkey)
WIRE_AT(manage_qp, 12, reserved)
WIRE_AT(manage_qp, 16, addr)
WIRE_AT(manage_qp, 24, bytes)
WIRE_SIZE(manage_qp, 32)

struct manage_connected {
	uint32_t qps;
	uint32_t reserved;
	uint64_t clock_error_ns;        /* half of the smallest round trip of TIME */
	uint64_t base_rtt_ns, noise_ns; /* of its flows' idle paths, the largest; 0: not measured */
};

WIRE_AT(manage_connected, 0, qps)
WIRE_AT(manage_connected, 4, reserved)
WIRE_AT(manage_connected, 8, clock_error_ns)
WIRE_AT(manage_connected, 16, base_rtt_ns)
WIRE_AT(manage_connected, 24, noise_ns)
WIRE_SIZE(manage_connected, 32)

struct manage_start {
	uint64_t zero_ns; /* time 0 of the run on the fabric's clock, ahead of now */
};

WIRE_AT(manage_start, 0, zero_ns)
WIRE_SIZE(manage_start, 8)

struct manage_progress {
	uint64_t acked_bytes; /* sent by this host and acknowledged so far, all flows: the stall detector watches it */
	uint32_t working;     /* 1: a rank has steps to do */
	uint32_t background;  /* 1: a background flow has messages to send */
	uint32_t sending;     /* 1: a step or a background message is in flight */
	uint32_t reserved;
	uint64_t next_ps; /* when the next of either begins that only waits for its time; UINT64_MAX: none does */
};

WIRE_AT(manage_progress, 0, acked_bytes)
WIRE_AT(manage_progress, 8, working)
WIRE_AT(manage_progress, 12, background)
WIRE_AT(manage_progress, 16, sending)
WIRE_AT(manage_progress, 20, reserved)
WIRE_AT(manage_progress, 24, next_ps)
WIRE_SIZE(manage_progress, 32)

struct manage_stop {
	uint64_t end_ps;
};

WIRE_AT(manage_stop, 0, end_ps)
WIRE_SIZE(manage_stop, 8)

/* struct step_result (rxe-hosts/monitor/monitor.h). Collectives; a background flow has collective REC_NONE. */
struct manage_step {
	uint32_t collective, iteration, rank, step;
	uint32_t flow;                                        /* index into the run's flow table */
	uint32_t waited_collective, waited_rank, waited_step; /* as in struct rec_step */
	uint32_t retransmits, open;                           /* open: enum rec_step_state */
	uint64_t bytes, acked_bytes, start_ps, end_ps;
};

WIRE_AT(manage_step, 0, collective)
WIRE_AT(manage_step, 4, iteration)
WIRE_AT(manage_step, 8, rank)
WIRE_AT(manage_step, 12, step)
WIRE_AT(manage_step, 16, flow)
WIRE_AT(manage_step, 20, waited_collective)
WIRE_AT(manage_step, 24, waited_rank)
WIRE_AT(manage_step, 28, waited_step)
WIRE_AT(manage_step, 32, retransmits)
WIRE_AT(manage_step, 36, open)
WIRE_AT(manage_step, 40, bytes)
WIRE_AT(manage_step, 48, acked_bytes)
WIRE_AT(manage_step, 56, start_ps)
WIRE_AT(manage_step, 64, end_ps)
WIRE_SIZE(manage_step, 72)

struct manage_iteration {
	uint32_t collective, rank, iteration, started;
	uint64_t start_ps, end_ps; /* end_ps 0: not complete */
	uint64_t wrong;            /* elements */
};

WIRE_AT(manage_iteration, 0, collective)
WIRE_AT(manage_iteration, 4, rank)
WIRE_AT(manage_iteration, 8, iteration)
WIRE_AT(manage_iteration, 12, started)
WIRE_AT(manage_iteration, 16, start_ps)
WIRE_AT(manage_iteration, 24, end_ps)
WIRE_AT(manage_iteration, 32, wrong)
WIRE_SIZE(manage_iteration, 40)

/* A counter of the host's RDMA device (hw_counters, rdma-statistic(8)), since the host's program opened it. */
struct manage_counter {
	char name[40]; /* a to z, 0 to 9 and _, NUL-terminated */
	uint64_t value;
};

WIRE_AT(manage_counter, 0, name)
WIRE_AT(manage_counter, 40, value)
WIRE_SIZE(manage_counter, 48)

struct manage_result {
	/* Causes of retransmissions by the device's own counters. rdma_rxe: timeouts include NAKs, and false alarms. */
	uint64_t naks, timeouts;
	uint64_t notification_packets, polling_packets, probe_packets;
	uint64_t notification_bytes, polling_bytes, probe_bytes;
	uint64_t cpu_ns; /* of the program, all threads */
	uint64_t peak_rss_bytes;
	uint64_t unexpected;   /* completions that no rank expected */
	uint64_t manage_bytes; /* sent over this channel, this message not included */
	uint32_t failed;       /* 1: a QP went into error */
	uint32_t lost_records; /* for want of room: the channel was not read */
};

WIRE_AT(manage_result, 0, naks)
WIRE_AT(manage_result, 8, timeouts)
WIRE_AT(manage_result, 16, notification_packets)
WIRE_AT(manage_result, 24, polling_packets)
WIRE_AT(manage_result, 32, probe_packets)
WIRE_AT(manage_result, 40, notification_bytes)
WIRE_AT(manage_result, 48, polling_bytes)
WIRE_AT(manage_result, 56, probe_bytes)
WIRE_AT(manage_result, 64, cpu_ns)
WIRE_AT(manage_result, 72, peak_rss_bytes)
WIRE_AT(manage_result, 80, unexpected)
WIRE_AT(manage_result, 88, manage_bytes)
WIRE_AT(manage_result, 96, failed)
WIRE_AT(manage_result, 100, lost_records)
WIRE_SIZE(manage_result, 104)

/* FAILED, QP_ERROR */
struct manage_failed {
	char text[MANAGE_TEXT]; /* NUL-terminated */
};

WIRE_AT(manage_failed, 0, text)
WIRE_SIZE(manage_failed, 240)
