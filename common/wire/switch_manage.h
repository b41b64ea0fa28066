/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The management socket that every switch and every host has beside the network: queries of operators' tools to one
 * device (FlowTracer, III). Little-endian; a message is one struct swm_hdr and its body. Replies are in the order of
 * requests.
 *
 *   tool                        device
 *                          <-  HELLO        greeting: the device that answers here. The first message of a connection
 *   EGRESS                 ->               a switch: the egress of these headers, from these ingresses
 *                          <-  EGRESSES     one answer each, in the same order, of one or more rows
 *   COUNTERS               ->               a switch: of its ports
 *                          <-  PORTS
 *   FLOWS                  ->               a host: its flows that match, from one on
 *                          <-  FLOW_LIST    those that fit, and the number of all
 *   SAMPLES                ->               a switch: its samples of a port
 *                          <-  SAMPLE_LIST
 *                          <-  REFUSED      instead of any of them: why
 */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"

#define SWM_MAGIC 0x4d575352U /* "RSWM" */
#define SWM_VERSION 3
#define SWM_MAX_QUERIES 4000u  /* of one request */
#define SWM_EGRESS_ROWS 2      /* of one answer to a query */
#define SWM_MAX_FLOWS 2000u    /* of one reply */
#define SWM_MAX_REQUEST 65536u /* bytes of a request's body */
#define SWM_MAX_REPLY 196608u  /* bytes of a reply's body */
#define SWM_TEXT 240
#define SWM_NAME 32

enum swm_type {
	SWM_HELLO = 1,
	SWM_EGRESS = 2,
	SWM_COUNTERS = 3, /* no body */
	SWM_FLOWS = 4,
	SWM_EGRESSES = 5,
	SWM_PORTS = 6,
	SWM_FLOW_LIST = 7,
	SWM_REFUSED = 8,
	SWM_SAMPLES = 9,
	SWM_SAMPLE_LIST = 10,
};

struct swm_hdr {
	uint32_t magic;
	uint16_t version; /* SWM_VERSION */
	uint16_t type;    /* enum swm_type */
	uint32_t size;    /* of the body, bytes */
	uint32_t tag;     /* of a request, the asker's; a reply has its request's; 0 in HELLO */
};

WIRE_AT(swm_hdr, 0, magic)
WIRE_AT(swm_hdr, 4, version)
WIRE_AT(swm_hdr, 6, type)
WIRE_AT(swm_hdr, 8, size)
WIRE_AT(swm_hdr, 12, tag)
WIRE_SIZE(swm_hdr, 16)

enum swm_device { SWM_SWITCH = 1, SWM_HOST = 2 };

struct swm_hello {
	uint32_t node;   /* topology node id */
	uint16_t device; /* enum swm_device */
	uint16_t ports;
	char name[SWM_NAME]; /* NUL-terminated */
};

WIRE_AT(swm_hello, 0, node)
WIRE_AT(swm_hello, 4, device)
WIRE_AT(swm_hello, 6, ports)
WIRE_AT(swm_hello, 8, name)
WIRE_SIZE(swm_hello, 40)

/* Before the rows of EGRESS, EGRESSES, PORTS. */
struct swm_list {
	uint32_t count;
	uint32_t reserved; /* zero */
};

WIRE_AT(swm_list, 0, count)
WIRE_AT(swm_list, 4, reserved)
WIRE_SIZE(swm_list, 8)

/* A row of EGRESS: headers, and their ingress. */
struct swm_query {
	uint32_t src_ip, dst_ip; /* host byte order */
	uint16_t sport, dport;
	uint8_t protocol; /* of IP; switches hash UDP, TCP and others alike */
	uint8_t reserved; /* zero */
	uint16_t in_port; /* from 0 */
};

WIRE_AT(swm_query, 0, src_ip)
WIRE_AT(swm_query, 4, dst_ip)
WIRE_AT(swm_query, 8, sport)
WIRE_AT(swm_query, 10, dport)
WIRE_AT(swm_query, 12, protocol)
WIRE_AT(swm_query, 13, reserved)
WIRE_AT(swm_query, 14, in_port)
WIRE_SIZE(swm_query, 16)

/* A switch's answer about headers. */
#define SWM_RESULTS(ROW)                                                                                                   \
	ROW(SWM_FORWARDED, 0, "forwarded")   /* out of port, one of members */                                             \
	ROW(SWM_SPRAYED, 1, "sprayed")       /* every packet out of a port of its own, of members */                       \
	ROW(SWM_DROPPED, 2, "dropped")       /* for reason */                                                              \
	ROW(SWM_NO_ADDRESS, 3, "no-address") /* the destination is none that this network has */                           \
	ROW(SWM_NO_INGRESS, 4, "no-ingress") /* the switch has no such port */

enum swm_result { SWM_RESULTS(ENUM_VALUE) SWM_RESULT_COUNT };

#define SWM_NO_PORT UINT16_MAX

/*
 * A row of EGRESSES: an answer. One whose ports of equal cost are 128 or more apart goes on in the next row, which is alike
 * but for them.
 */
struct swm_egress {
	uint64_t members[2]; /* ports of equal cost: bit p % 64 of word p / 64: port first + p */
	uint16_t port;       /* from 0; forwarded: the egress; dropped: the port that is at fault, or SWM_NO_PORT */
	uint8_t result;      /* enum swm_result */
	uint8_t reason;      /* reason of the drop: enum rec_drop */
	uint8_t pinned;      /* 1: an entry of the flow's own decides, rather than the hash */
	uint8_t first;       /* 0 where all members are below 128; else the least of the row */
	uint8_t more;        /* 1: the answer goes on in the next row */
	uint8_t reserved;    /* zero */
};

WIRE_AT(swm_egress, 0, members)
WIRE_AT(swm_egress, 16, port)
WIRE_AT(swm_egress, 18, result)
WIRE_AT(swm_egress, 19, reason)
WIRE_AT(swm_egress, 20, pinned)
WIRE_AT(swm_egress, 21, first)
WIRE_AT(swm_egress, 22, more)
WIRE_AT(swm_egress, 23, reserved)
WIRE_SIZE(swm_egress, 24)

/* Counters of a port since its switch is up: field of struct swm_port, and SAI's name in SONiC's COUNTERS_DB. */
#define SWM_COUNTERS_LIST(ROW)                                                                                             \
	ROW(in_pkts, "SAI_PORT_STAT_IF_IN_UCAST_PKTS")                                                                     \
	ROW(out_pkts, "SAI_PORT_STAT_IF_OUT_UCAST_PKTS")                                                                   \
	ROW(in_octets, "SAI_PORT_STAT_IF_IN_OCTETS")                                                                       \
	ROW(out_octets, "SAI_PORT_STAT_IF_OUT_OCTETS")                                                                     \
	ROW(in_errors, "SAI_PORT_STAT_IF_IN_ERRORS")                                                                       \
	ROW(in_discards, "SAI_PORT_STAT_IF_IN_DISCARDS")                                                                   \
	ROW(out_discards, "SAI_PORT_STAT_IF_OUT_DISCARDS")                                                                 \
	ROW(queue_octets, "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES")

#define SWM_COUNTER_FIELD(field, name) uint64_t field;

/* A row of PORTS. */
struct swm_port {
	uint64_t speed_bps;
	uint16_t port;    /* from 0 */
	uint8_t is_up;    /* oper_status */
	uint8_t rx_pause; /* bit p: the peer has priority p wait here now */
	uint8_t tx_pause; /* bit p: this port has its peer's priority p wait now */
	uint8_t reserved[3];
	SWM_COUNTERS_LIST(SWM_COUNTER_FIELD)
};

WIRE_AT(swm_port, 0, speed_bps)
WIRE_AT(swm_port, 8, port)
WIRE_AT(swm_port, 10, is_up)
WIRE_AT(swm_port, 11, rx_pause)
WIRE_AT(swm_port, 12, tx_pause)
WIRE_AT(swm_port, 13, reserved)
WIRE_AT(swm_port, 16, in_pkts)
WIRE_AT(swm_port, 24, out_pkts)
WIRE_AT(swm_port, 32, in_octets)
WIRE_AT(swm_port, 40, out_octets)
WIRE_AT(swm_port, 48, in_errors)
WIRE_AT(swm_port, 56, in_discards)
WIRE_AT(swm_port, 64, out_discards)
WIRE_AT(swm_port, 72, queue_octets)
WIRE_SIZE(swm_port, 80)

#define SWM_ANY UINT32_MAX

/* FLOWS: those that match all of it. */
struct swm_filter {
	uint32_t dst_ip;  /* 0: any */
	uint32_t job;     /* index of the scenario's jobs; SWM_ANY */
	uint16_t dport;   /* 0: any */
	uint8_t protocol; /* 0: any */
	uint8_t reserved; /* zero */
	uint32_t from;    /* of the flows that match, how many to skip */
};

WIRE_AT(swm_filter, 0, dst_ip)
WIRE_AT(swm_filter, 4, job)
WIRE_AT(swm_filter, 8, dport)
WIRE_AT(swm_filter, 10, protocol)
WIRE_AT(swm_filter, 11, reserved)
WIRE_AT(swm_filter, 12, from)
WIRE_SIZE(swm_filter, 16)

/* FLOW_LIST, with count struct swm_flow behind it. */
struct swm_flows {
	uint32_t count;
	uint32_t from, total; /* of the flows that match: the first one's number, and all */
	uint32_t reserved;    /* zero */
};

WIRE_AT(swm_flows, 0, count)
WIRE_AT(swm_flows, 4, from)
WIRE_AT(swm_flows, 8, total)
WIRE_AT(swm_flows, 12, reserved)
WIRE_SIZE(swm_flows, 16)

#define SWM_RDMA 1u /* in swm_flow.flags: the NIC's, past the kernel */

/* A flow that a host sends. */
struct swm_flow {
	uint32_t src_ip, dst_ip;
	uint16_t sport, dport;
	uint8_t protocol;
	uint8_t flags;
	uint16_t nic;      /* the port that it leaves the host by, from 0: what its LAG or routing table chose */
	uint64_t messages; /* given to its queue pair so far; 0: none, or not counted */
	uint32_t job;      /* SWM_ANY: of none that is known */
	uint32_t qpn;      /* RDMA: the sender's; else 0 */
};

WIRE_AT(swm_flow, 0, src_ip)
WIRE_AT(swm_flow, 4, dst_ip)
WIRE_AT(swm_flow, 8, sport)
WIRE_AT(swm_flow, 10, dport)
WIRE_AT(swm_flow, 12, protocol)
WIRE_AT(swm_flow, 13, flags)
WIRE_AT(swm_flow, 14, nic)
WIRE_AT(swm_flow, 16, messages)
WIRE_AT(swm_flow, 24, job)
WIRE_AT(swm_flow, 28, qpn)
WIRE_SIZE(swm_flow, 32)

#define SWM_MAX_SAMPLES 1024u /* that a switch keeps of a port, the latest */

/* SAMPLES: of the arrivals at a port. */
struct swm_sampled {
	uint16_t port;        /* from 0 */
	uint16_t reserved[3]; /* zero */
};

WIRE_AT(swm_sampled, 0, port)
WIRE_AT(swm_sampled, 2, reserved)
WIRE_SIZE(swm_sampled, 8)

/* SAMPLE_LIST, with count struct swm_sample behind it, the oldest first; the names are those of sFlow's flow_sample. */
struct swm_samples {
	uint32_t count;
	uint32_t sampling_rate; /* one packet in this number, on average */
	uint64_t sample_pool;   /* packets that arrived at the port and could have been sampled, since the switch is up */
	uint64_t taken;         /* samples of these; those before the latest SWM_MAX_SAMPLES are kept no longer */
};

WIRE_AT(swm_samples, 0, count)
WIRE_AT(swm_samples, 4, sampling_rate)
WIRE_AT(swm_samples, 8, sample_pool)
WIRE_AT(swm_samples, 16, taken)
WIRE_SIZE(swm_samples, 24)

/* Header fields of a sampled packet, decoded from its first bytes. */
struct swm_sample {
	uint32_t src_ip, dst_ip;
	uint16_t sport, dport;
	uint8_t protocol;
	uint8_t opcode;    /* of the BTH, of RoCEv2; else 0 */
	uint8_t is_rocev2; /* 1: it has a BTH */
	uint8_t reserved;  /* zero */
};

WIRE_AT(swm_sample, 0, src_ip)
WIRE_AT(swm_sample, 4, dst_ip)
WIRE_AT(swm_sample, 8, sport)
WIRE_AT(swm_sample, 10, dport)
WIRE_AT(swm_sample, 12, protocol)
WIRE_AT(swm_sample, 13, opcode)
WIRE_AT(swm_sample, 14, is_rocev2)
WIRE_AT(swm_sample, 15, reserved)
WIRE_SIZE(swm_sample, 16)

struct swm_refused {
	char text[SWM_TEXT]; /* NUL-terminated */
};

WIRE_AT(swm_refused, 0, text)
WIRE_SIZE(swm_refused, 240)
