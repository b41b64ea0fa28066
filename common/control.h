/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control packets: small UDP datagrams between hosts, beside RoCE and ahead of it. Each kind is a row of control.c's
 * table; the code that acts on one has a table of handlers by enum pkt_type. Adding a kind: its layout in common/wire,
 * its type in common/pkt.h, its row, its handlers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/pkt.h"

/* Fields of a control packet; of its descriptor, psn and arg. */
struct control {
	uint32_t id, arg;
	uint32_t src_ip, dst_ip; /* host byte order: the flow that it names; see names_flow */
	uint16_t sport, dport;
};

#define CONTROL_MAX_BYTES 24

struct control_kind {
	uint8_t type;      /* enum pkt_type */
	bool names_flow;   /* a RoCE flow that it concerns, inside; else it concerns the flow of its own addresses */
	uint16_t udp_port; /* destination */
	uint16_t bytes;    /* of the datagram's contents, at most CONTROL_MAX_BYTES */
	/* @param contents  [bytes] */
	void (*write)(uint8_t *contents, const struct control *control);
	/* @return false: another magic or version, or a field that is out of range */
	bool (*read)(const uint8_t *contents, struct control *control);
};

/* @return NULL: no control packet has that type, or goes to that port */
const struct control_kind *control_of_type(uint8_t type);
const struct control_kind *control_of_port(uint16_t udp_port);

/* Link time of such a packet in bytes, preamble, padding, FCS and gap included. */
uint32_t control_wire_bytes(const struct control_kind *kind);
