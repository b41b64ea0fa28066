/* SPDX-License-Identifier: BSD-3-Clause */
/* Records that describe the fabric: header records, all of them. */
#pragma once

#include <stdint.h>

#include "common/wire/record_hdr.h"

struct rec_node {
	struct rec_hdr hdr; /* hdr.node: the node described */
	char name[REC_NAME_LEN];
	uint32_t kind; /* 0 switch, 1 host */
	uint32_t nports;
};

struct rec_port {
	struct rec_hdr hdr;       /* hdr.node: owner */
	uint16_t port, peer_port; /* indices from 0 */
	uint32_t peer;
	uint32_t ip; /* of a host's NIC, else 0 */
	uint32_t reserved;
	uint64_t rate_bps;
	uint64_t delay_ps;
};

/* Configured path of a collective flow: one record a hop, the sender's NIC first. */
struct rec_route {
	struct rec_hdr hdr; /* hdr.node: node of this hop */
	struct rec_tuple flow;
	uint16_t hop, port; /* egress port index of hdr.node */
	uint16_t reverse;   /* 1: path of the ACKs */
	uint16_t ecmp;      /* the set that the hash chose port from, REC_NO_ECMP: there was no choice, or a pin made it */
};

#define REC_NO_ECMP 0

/* Egress ports of equal cost from which a switch chooses by hash. hdr.node: the switch. */
struct rec_ecmp {
	struct rec_hdr hdr;
	uint32_t set; /* from 1, over all switches */
	uint32_t reserved;
	uint64_t ports[2]; /* bit p % 64 of word p / 64: port index p is a member */
};

_Static_assert(sizeof(struct rec_node) == 64, "layout");
_Static_assert(sizeof(struct rec_port) == 56, "layout");
_Static_assert(sizeof(struct rec_route) == 48, "layout");
_Static_assert(sizeof(struct rec_ecmp) == 48, "layout");
