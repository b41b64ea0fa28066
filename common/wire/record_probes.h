/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of R-Pingmesh's agents: each probe, the paths that they traced, the reports to the controller, and
 * heartbeats. Agents upload all of them every few seconds (R-Pingmesh 5).
 */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"
#include "common/wire/probe.h"
#include "common/wire/record_hdr.h"

/* How the analyzer places problems that it attributes to switches. Value, name. */
#define REC_PINGMESH_ALGORITHMS(ROW)                                                                                       \
	ROW(REC_PINGMESH_LIKELIHOOD, 0, "likelihood")                                                                      \
	ROW(REC_PINGMESH_PAPER, 1, "paper") /* Algorithm 1: the link that most lost probes cross */

enum rec_pingmesh_algorithm { REC_PINGMESH_ALGORITHMS(ENUM_VALUE) };

/* Header record: the protocol's times, as they hold in the run's clock. */
struct rec_pingmesh {
	struct rec_hdr hdr;
	uint32_t time_factor_ppm; /* that all of them were multiplied by: 1000000, as in the paper */
	uint16_t software_times;  /* 1: kernels on shared CPUs stamp the packets of probes */
	uint16_t algorithm;       /* enum rec_pingmesh_algorithm, by which the analyzer places losses */
	uint64_t tor_mesh_ps, inter_tor_ps, service_ps; /* between probes of an RNIC; inter_tor_ps: of a ToR's one tuple */
	uint64_t timeout_ps;
	uint64_t upload_ps;   /* between uploads of an agent */
	uint64_t period_ps;   /* of analysis */
	uint64_t pinglist_ps; /* between two pulls of the pinglists */
};

#define REC_PINGMESH_FIELDS(F, T)                                                                                          \
	F(T, 24, time_factor_ppm, RANGE(1, UINT32_MAX))                                                                    \
	F(T, 28, software_times, RANGE(0, 1))                                                                              \
	F(T, 30, algorithm, ENUM(REC_PINGMESH_ALGORITHMS))                                                                 \
	F(T, 32, tor_mesh_ps, TIME)                                                                                        \
	F(T, 40, inter_tor_ps, TIME)                                                                                       \
	F(T, 48, service_ps, TIME)                                                                                         \
	F(T, 56, timeout_ps, RANGE(1, RECORD_MAX_PS))                                                                      \
	F(T, 64, upload_ps, RANGE(1, RECORD_MAX_PS))                                                                       \
	F(T, 72, period_ps, RANGE(1, RECORD_MAX_PS))                                                                       \
	F(T, 80, pinglist_ps, RANGE(1, RECORD_MAX_PS))
#define REC_PINGMESH_KEY(K, T)

REC_PINGMESH_FIELDS(WIRE_AT, rec_pingmesh)
WIRE_SIZE(rec_pingmesh, 88)

/* How a probe ended. hdr.node: the prober; hdr.time_ps: when that was uploaded. */
struct rec_probe {
	struct rec_hdr hdr;
	uint16_t nic;  /* of the prober */
	uint16_t kind; /* enum rec_probe_kind */
	uint16_t result;
	uint16_t reserved;
	struct rec_tuple tuple; /* of the probe; its ACKs have the addresses swapped, and its source port */
	uint32_t target_qpn;
	uint32_t seq;     /* of the prober's RNIC, from 0 */
	uint64_t sent_ps; /* (1): when the application posted it */
	/*
	 * rtt_ps: of the network, (5-2)-(4-3); prober_ps: the prober's own delay, (6-1)-(5-2); responder_ps: the
	 * responder's, (4-3). 0: not known. REC_PROBE_RAIL: rtt_ps is 0, prober_ps is (2) and responder_ps is (3), each
	 * by the clock of its RNIC.
	 */
	uint64_t rtt_ps, prober_ps, responder_ps;
};

#define REC_PROBE_FIELDS(F, T)                                                                                             \
	F(T, 24, nic, PORT)                                                                                                \
	F(T, 26, kind, ENUM(REC_PROBE_KINDS))                                                                              \
	F(T, 28, result, ENUM(REC_PROBE_RESULTS))                                                                          \
	F(T, 30, reserved, ZERO)                                                                                           \
	F(T, 32, tuple, TUPLE)                                                                                             \
	F(T, 48, target_qpn, ANY)                                                                                          \
	F(T, 52, seq, ANY)                                                                                                 \
	F(T, 56, sent_ps, PAST)                                                                                            \
	F(T, 64, rtt_ps, TIME)                                                                                             \
	F(T, 72, prober_ps, TIME)                                                                                          \
	F(T, 80, responder_ps, TIME)
#define REC_PROBE_KEY(K, T)

REC_PROBE_FIELDS(WIRE_AT, rec_probe)
WIRE_SIZE(rec_probe, 88)

/*
 * A switch on the path of a tuple, or of its ACKs. Of a traceroute hdr.node is its sender, where that path begins; of
 * packets that switches wrote into (INT) it is the receiver, where it ends.
 */
struct rec_probe_hop {
	struct rec_hdr hdr;
	struct rec_tuple tuple; /* of the probe, also where the reverse path was traced */
	uint16_t hop;           /* from 1 on: the TTL that ended there; of INT the how manieth */
	uint16_t back;          /* 1: of the path of its ACKs */
	uint32_t at;            /* the switch */
	uint16_t port;          /* ingress port of the packet at the switch */
	uint16_t last;          /* 1: the next is the destination */
	uint32_t trace;         /* of the RNIC's: hops of one traceroute, or of one path, have the same */
	uint64_t sent_ps; /* when the first packet of the traceroute was posted; of INT when the last packet arrived */
	uint32_t count;   /* of INT: packets that took this path since the last upload; 0: a traceroute */
	uint32_t reserved;
};

#define REC_PROBE_HOP_FIELDS(F, T)                                                                                         \
	F(T, 24, tuple, TUPLE)                                                                                             \
	F(T, 40, hop, RANGE(1, RECORD_MAX_HOPS))                                                                           \
	F(T, 42, back, FLAG)                                                                                               \
	F(T, 44, at, SWITCH)                                                                                               \
	F(T, 48, port, RANGE(0, RECORD_MAX_PORTS_A_NODE - 1))                                                              \
	F(T, 50, last, FLAG)                                                                                               \
	F(T, 52, trace, ANY)                                                                                               \
	F(T, 56, sent_ps, PAST)                                                                                            \
	F(T, 64, count, ANY)                                                                                               \
	F(T, 68, reserved, ZERO)
#define REC_PROBE_HOP_KEY(K, T)

REC_PROBE_HOP_FIELDS(WIRE_AT, rec_probe_hop)
WIRE_SIZE(rec_probe_hop, 72)

/* An RNIC as its agent registered it with the controller: at the agent's start, and at each that follows. */
struct rec_rnic {
	struct rec_hdr hdr;
	uint16_t nic;
	uint16_t reserved;
	uint32_t ip;  /* its GID is this, mapped into IPv6 (RFC 4291, 2.5.5.2) */
	uint32_t qpn; /* by which it probes and is probed, from now on */
	uint32_t tor; /* the switch that it is connected to */
};

#define REC_RNIC_FIELDS(F, T)                                                                                              \
	F(T, 24, nic, PORT)                                                                                                \
	F(T, 26, reserved, ZERO)                                                                                           \
	F(T, 28, ip, ANY)                                                                                                  \
	F(T, 32, qpn, ANY)                                                                                                 \
	F(T, 36, tor, SWITCH)
#define REC_RNIC_KEY(K, T)

REC_RNIC_FIELDS(WIRE_AT, rec_rnic)
WIRE_SIZE(rec_rnic, 40)

/* An agent uploaded its records: it lives. Counts are of probes that ended since its last upload. */
struct rec_upload {
	struct rec_hdr hdr;
	uint32_t probes;   /* that ended */
	uint32_t timeouts; /* of them: all but REC_PROBE_OK */
	uint32_t dropped;  /* results that the agent had no room for */
	uint32_t late_us;  /* that it was late at most for a timer of its own, be it not handled yet */
};

#define REC_UPLOAD_FIELDS(F, T)                                                                                            \
	F(T, 24, probes, ANY)                                                                                              \
	F(T, 28, timeouts, ANY)                                                                                            \
	F(T, 32, dropped, ANY)                                                                                             \
	F(T, 36, late_us, ANY)
#define REC_UPLOAD_KEY(K, T)

REC_UPLOAD_FIELDS(WIRE_AT, rec_upload)
WIRE_SIZE(rec_upload, 40)

/* Service tracing saw a connection of a job open or close (4.2.2). hdr.node: where its tuple begins. */
struct rec_connection {
	struct rec_hdr hdr;
	uint16_t nic;
	uint16_t open;       /* 1: it opened; 0: it closed */
	uint32_t collective; /* that it is of; REC_NONE: of none */
	struct rec_tuple tuple;
};

#define REC_CONNECTION_FIELDS(F, T)                                                                                        \
	F(T, 24, nic, PORT)                                                                                                \
	F(T, 26, open, FLAG)                                                                                               \
	F(T, 28, collective, ANY)                                                                                          \
	F(T, 32, tuple, TUPLE)
#define REC_CONNECTION_KEY(K, T)

REC_CONNECTION_FIELDS(WIRE_AT, rec_connection)
WIRE_SIZE(rec_connection, 48)

/*
 * Probes of one tuple that arrived at an RNIC, since the last such record: for those without an ACK it shows which were
 * lost before, which after that. hdr.node: the responder. Numbers are rec_probe's seq.
 */
struct rec_responder {
	struct rec_hdr hdr;
	struct rec_tuple tuple;       /* of the probes */
	uint16_t nic;                 /* of the responder */
	uint16_t chained;             /* 1: after_seq arrived before, and none between that and first_seq */
	uint32_t first_seq, last_seq; /* the first and the last that arrived; 0: none did */
	uint32_t after_seq;           /* chained 0: 0 */
	uint32_t count;
	uint32_t qpn; /* the prober's: others' numbers are another agent's */
};

#define REC_RESPONDER_FIELDS(F, T)                                                                                         \
	F(T, 24, tuple, TUPLE)                                                                                             \
	F(T, 40, nic, PORT)                                                                                                \
	F(T, 42, chained, FLAG)                                                                                            \
	F(T, 44, first_seq, ANY)                                                                                           \
	F(T, 48, last_seq, ANY)                                                                                            \
	F(T, 52, after_seq, ANY)                                                                                           \
	F(T, 56, count, ANY)                                                                                               \
	F(T, 60, qpn, ANY)
#define REC_RESPONDER_KEY(K, T)

REC_RESPONDER_FIELDS(WIRE_AT, rec_responder)
WIRE_SIZE(rec_responder, 64)
