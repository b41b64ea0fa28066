/* SPDX-License-Identifier: BSD-3-Clause */
/* The packet descriptor: what a frame is while it travels inside the fabric. */
#pragma once

#include <stdint.h>

/*
 * Descriptors are passed by value, with all of BTH, AETH and immediate that receivers act on: a receiver needs nothing
 * of its sender's. The data for memory alone, RETH and payload, stays where the payload is (dpswitch/fabric/body.h).
 * A frame is parsed into a descriptor where it enters and its bytes are produced again only where it leaves
 * (dpswitch/edge). PAUSE frames are not descriptors: they travel in a lane of their own
 * (dpswitch/fabric/link.h) because they concern the MAC of the receiving port and nothing behind it.
 */
enum pkt_type {
	PKT_DATA, /* RC data segment of a message */
	PKT_ACK,  /* RC acknowledge, psn = last PSN received in order, or, by AETH_ACK_SELECTIVE, of the packet it is for */
	PKT_NAK,  /* RC NAK or RNR NAK by its syndrome, psn = expected PSN */
	PKT_CNP,  /* congestion notification packet, RoCEv2 Annex A17.9.3 */
	PKT_UD,   /* UD SEND ONLY */
	PKT_POLL, /* control packet (common/control.h), polling: flow = victim, id = event, arg = enum poll_flag */
	PKT_NOTIFY, /* control packet, notification: id = step, arg = detections handed over */
	/* ICMP time exceeded (RFC 792) for a UD SEND, to its sender: psn = its, arg = enum expired_shift's parts */
	PKT_EXPIRED,
	PKT_UNKNOWN, /* from a kernel host, and of no kind above: bytes alone */
	PKT_TYPES
};

enum pkt_flag {
	PKT_CE = 1 << 0,      /* ECN: congestion experienced (data), congestion seen (ACK that echoes it) */
	PKT_CORRUPT = 1 << 1, /* the ICRC would not match, nor, behind the cable that did it, the FCS: dropped when found */
	PKT_ACKREQ = 1 << 2,  /* BTH AckReq */
	PKT_LAST = 1 << 3,    /* last (or only) segment of its message */
	PKT_REVERSE = 1 << 4, /* travels from the flow's destination to its source (ACK, NAK, CNP) */
	PKT_INT = 1 << 5,     /* has a header of telemetry beside it (common/int_header.h): data, ACKs, probes */
	PKT_RETRANSMIT = 1 << 6, /* sent before; a label for the order check, headers do not show it */
	PKT_BYTES = 1 << 7,      /* from a kernel host: arg is a handle of its bytes (dpswitch/fabric/body.h) */
};

enum poll_flag {
	POLL_VICTIM = 1,
	POLL_PFC = 2,
	POLL_BOTH = 3,
	POLL_QUIET = 4, /* besides: one of a flood of packets, whose path is not recorded */
	POLL_ACKS = 8,  /* besides: the host where the victim's path ends sends one back, on the path of the ACKs */
	POLL_BACK = 16, /* besides: this is the one that was sent back */
	POLL_FLAGS = 31,
};

#define PKT_TTL_INIT 64

/* Layout of arg in an expired packet: the switch's node above, the ingress port below. */
enum expired_shift { EXPIRED_NODE_SHIFT = 16, EXPIRED_PORT_MASK = 0xffff };

struct pkt {
	uint64_t time_ps; /* when the last bit arrives at the receiver of the link it is on */
	uint32_t flow;    /* index into struct flow_table */
	union {
		struct {
			uint32_t psn : 24;
			uint32_t tag : 8; /* data: common/tag.h; else 0 */
		};
		uint32_t id; /* control packets, in place of both: see enum pkt_type */
	};
	uint32_t arg;        /* data, UD: immediate, in every segment of its message; ACK, NAK: MSN of the AETH;
	                        PKT_BYTES: handle of its bytes; control packets: see enum pkt_type */
	uint16_t wire_bytes; /* bytes the frame occupies on the wire */
	uint16_t payload_bytes;
	uint8_t opcode; /* RoCE: of the BTH, enum roce_opcode */
	union {
		uint8_t syndrome; /* ACK, NAK: of the AETH; PKT_EXPIRED: 1, if it quotes the least that RFC 792 asks for */
		/* data without bytes: which of its sender's messages, modulo 2^8 (struct message_source) */
		uint8_t message;
	};
	uint8_t type;  /* enum pkt_type */
	uint8_t prio;  /* 802.1p class, 0..7; 0 is served strictly first and is never paused */
	uint8_t flags; /* enum pkt_flag */
	uint8_t ttl;
	uint8_t in_port;  /* switch-internal: ingress port while queued */
	uint8_t out_port; /* switch-internal: egress port once routed */
};

_Static_assert(sizeof(struct pkt) == 32, "two descriptors a cache line");
