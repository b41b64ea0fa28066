/* SPDX-License-Identifier: BSD-3-Clause */
/* Records that describe the fabric: header records, all of them. */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"
#include "common/wire/record_hdr.h"

struct rec_node {
	struct rec_hdr hdr; /* hdr.node: the node described */
	char name[REC_NAME_LEN];
	uint32_t kind; /* 0 switch, 1 host */
	uint32_t nports;
};

#define REC_NODE_FIELDS(F, T)                                                                                              \
	F(T, 24, name, NAME)                                                                                               \
	F(T, 56, kind, FLAG)                                                                                               \
	F(T, 60, nports, RANGE(0, RECORD_MAX_PORTS_A_NODE))
#define REC_NODE_KEY(K, T) K(T, hdr.node)

REC_NODE_FIELDS(WIRE_AT, rec_node)
WIRE_SIZE(rec_node, 64)

struct rec_port {
	struct rec_hdr hdr;       /* hdr.node: owner */
	uint16_t port, peer_port; /* indices from 0 */
	uint32_t peer;
	uint32_t ip; /* of a host's NIC, else 0 */
	uint32_t reserved;
	uint64_t rate_bps;
	uint64_t delay_ps;
};

#define REC_PORT_FIELDS(F, T)                                                                                              \
	F(T, 24, port, PORT)                                                                                               \
	F(T, 26, peer_port, ANY)                                                                                           \
	F(T, 28, peer, NODE_OR_NONE)                                                                                       \
	F(T, 32, ip, ANY)                                                                                                  \
	F(T, 36, reserved, ZERO)                                                                                           \
	F(T, 40, rate_bps, RANGE(1, RECORD_MAX_COUNT))                                                                     \
	F(T, 48, delay_ps, TIME)
#define REC_PORT_KEY(K, T) K(T, hdr.node) K(T, port)

REC_PORT_FIELDS(WIRE_AT, rec_port)
WIRE_SIZE(rec_port, 56)

/* Configured path of a collective flow: one record a hop, the sender's NIC first. */
struct rec_route {
	struct rec_hdr hdr; /* hdr.node: node of this hop */
	struct rec_tuple flow;
	uint16_t hop, port; /* egress port index of hdr.node */
	uint16_t reverse;   /* 1: path of the ACKs */
	uint16_t ecmp;      /* the set that the hash chose port from, REC_NO_ECMP: there was no choice, or a pin made it */
};

#define REC_ROUTE_FIELDS(F, T)                                                                                             \
	F(T, 24, flow, TUPLE)                                                                                              \
	F(T, 40, hop, RANGE(0, RECORD_MAX_HOPS))                                                                           \
	F(T, 42, port, PORT)                                                                                               \
	F(T, 44, reverse, FLAG)                                                                                            \
	F(T, 46, ecmp, ANY)
#define REC_ROUTE_KEY(K, T) K(T, flow) K(T, reverse) K(T, hop)

REC_ROUTE_FIELDS(WIRE_AT, rec_route)
WIRE_SIZE(rec_route, 48)

#define REC_NO_ECMP 0

/*
 * Egress ports of equal cost from which a switch chooses by hash. hdr.node: the switch. A set of ports that are 128 or more
 * apart goes on in the next record: the same set, with a first port behind those of the record before.
 */
struct rec_ecmp {
	struct rec_hdr hdr;
	uint32_t set; /* from 1, over all switches */
	/* 1: every packet has a port of its own, and ROUTE.port is one of them; 0: a hash chose it for the flow */
	uint16_t sprayed;
	uint16_t first;    /* 0 where all members are below 128; else the least of the record */
	uint64_t ports[2]; /* bit p % 64 of word p / 64: port index first + p is a member */
};

#define REC_ECMP_FIELDS(F, T)                                                                                              \
	F(T, 24, set, RANGE(1, UINT16_MAX))                                                                                \
	F(T, 28, sprayed, FLAG)                                                                                            \
	F(T, 30, first, PORT)                                                                                              \
	F(T, 32, ports[0], ANY)                                                                                            \
	F(T, 40, ports[1], ANY)
#define REC_ECMP_KEY(K, T) K(T, set) K(T, first)

REC_ECMP_FIELDS(WIRE_AT, rec_ecmp)
WIRE_SIZE(rec_ecmp, 48)

/*
 * A fault that operators know of before the run, and did not take out of the network but of its routes. hdr.node: where
 * it is.
 */
struct rec_known_fault {
	struct rec_hdr hdr;
	char kind[REC_NAME_LEN]; /* as scenarios name it: "link-down", "loss" */
	uint16_t port;           /* whose outgoing direction has it, link-down: both; REC_NO_PORT: the node itself */
	uint16_t reserved;
	uint32_t rate_ppb;                         /* share of the passing packets that is lost or damaged, in 10^-9 */
	uint64_t extra_ps;                         /* longer it takes at most */
	uint64_t start_ps, duration_ps, period_ps; /* as planned; duration 0: to the end, period 0: once */
};

#define REC_KNOWN_FAULT_FIELDS(F, T)                                                                                       \
	F(T, 24, kind, NAME)                                                                                               \
	F(T, 56, port, PORT_OR_NONE)                                                                                       \
	F(T, 58, reserved, ZERO)                                                                                           \
	F(T, 60, rate_ppb, RANGE(0, 1000000000))                                                                           \
	F(T, 64, extra_ps, TIME)                                                                                           \
	F(T, 72, start_ps, TIME)                                                                                           \
	F(T, 80, duration_ps, TIME)                                                                                        \
	F(T, 88, period_ps, TIME)
#define REC_KNOWN_FAULT_KEY(K, T)

REC_KNOWN_FAULT_FIELDS(WIRE_AT, rec_known_fault)
WIRE_SIZE(rec_known_fault, 96)

#define REC_SETTING_TEXT 96

/*
 * A key of the configuration of switches and NICs, "PATH=VALUE" as --set takes it: "switch.pfc.alpha=0.125". One that is
 * longer goes on in the next record.
 */
struct rec_setting {
	struct rec_hdr hdr;
	char text[REC_SETTING_TEXT];
	uint32_t continued; /* 1: the next record has more of it */
	uint32_t reserved;
};

#define REC_SETTING_FIELDS(F, T)                                                                                           \
	F(T, 24, text, TEXT)                                                                                               \
	F(T, 120, continued, FLAG)                                                                                         \
	F(T, 124, reserved, ZERO)
#define REC_SETTING_KEY(K, T)

REC_SETTING_FIELDS(WIRE_AT, rec_setting)
WIRE_SIZE(rec_setting, 128)
