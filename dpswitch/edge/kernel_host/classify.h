/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the switch needs to know of a frame that comes in from outside, read once and without looking at its payload:
 * the flow it belongs to, its class, what a descriptor says. Anything a host may send is judged here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/pkt.h"

/* A 5-tuple as it stands in a frame; without ports (not UDP, not TCP, fragments) they are 0. */
struct tuple {
	uint32_t src_ip, dst_ip;
	uint16_t sport, dport;
	uint32_t protocol;
};

enum frame_class {
	CLASS_ROCE,    /* UDP port 4791: p is filled in, but for flow and handle */
	CLASS_UNKNOWN, /* other IPv4: p likewise */
	CLASS_CONTROL, /* UDP port of control packets: to be parsed in full */
	CLASS_ARP,
	CLASS_PFC,       /* MAC Control: to be parsed in full */
	CLASS_MULTICAST, /* what no IPv4 unicast is */
	CLASS_MALFORMED,
};

struct classified {
	struct tuple tuple;
	struct pkt p;
	bool tagged;  /* 802.1Q */
	uint8_t mark; /* PCP if tagged, else the upper three bits of the DSCP, 0 if that is measured data's (common/tag.h) */
};

/* @param c  filled in for CLASS_ROCE and CLASS_UNKNOWN; p.prio is the caller's to decide */
enum frame_class classify(const uint8_t *bytes, size_t size_bytes, struct classified *c);

/*
 * Writes into a frame's bytes what changed on the way: TTL, CE where the sender is ECN capable, the IP checksum
 * (incrementally, RFC 1624). A corrupt packet's last four bytes are inverted: the ICRC of RoCE.
 */
void patch_frame(uint8_t *bytes, size_t size_bytes, const struct pkt *p);
