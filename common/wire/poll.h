/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polling packet (paper III-C3, after Hawkeye): a UDP datagram from the victim's source to its destination. A switch
 * routes it by the victim tuple inside, so that it takes the victim's path; one that is sent back takes that of its ACKs.
 */
#pragma once

#include <stdint.h>

#include "common/wire/eth.h"
#include "common/wire/layout.h"

#define POLL_UDP_PORT 47910
#define POLL_MAGIC 0x524c504cU /* "RLPL" */
#define POLL_VERSION 1

struct wire_poll {
	wire_be32 magic;
	uint8_t version;
	uint8_t flags;    /* enum poll_flag: 1 victim path, 2 PFC spreading path, 3 both; 4, 8, 16 besides */
	uint8_t protocol; /* of the victim: UDP */
	uint8_t reserved; /* zero */
	wire_be32 event;  /* id of the detection; a port answers it once */
	wire_be32 src_ip, dst_ip;
	wire_be16 sport, dport;
} __attribute__((packed));

WIRE_AT(wire_poll, 0, magic)
WIRE_AT(wire_poll, 4, version)
WIRE_AT(wire_poll, 5, flags)
WIRE_AT(wire_poll, 6, protocol)
WIRE_AT(wire_poll, 7, reserved)
WIRE_AT(wire_poll, 8, event)
WIRE_AT(wire_poll, 12, src_ip)
WIRE_AT(wire_poll, 16, dst_ip)
WIRE_AT(wire_poll, 20, sport)
WIRE_AT(wire_poll, 22, dport)
WIRE_SIZE(wire_poll, 24)

#define POLL_FRAME_BYTES                                                                                                   \
	(sizeof(struct wire_eth) + sizeof(struct wire_ipv4) + sizeof(struct wire_udp) + sizeof(struct wire_poll))

/*
 * Notification packet (paper III-C2, Fig. 6): a rank that finished a step hands its unused detections to the rank that
 * waits for it. A UDP datagram at the highest priority.
 */

#define NOTIFY_UDP_PORT 47911
#define NOTIFY_MAGIC 0x524c4e54U /* "RLNT" */
#define NOTIFY_VERSION 1

struct wire_notify {
	wire_be32 magic;
	uint8_t version;
	uint8_t reserved[3];  /* zero */
	wire_be32 step;       /* that the sender finished */
	wire_be32 detections; /* handed over */
} __attribute__((packed));

WIRE_AT(wire_notify, 0, magic)
WIRE_AT(wire_notify, 4, version)
WIRE_AT(wire_notify, 5, reserved)
WIRE_AT(wire_notify, 8, step)
WIRE_AT(wire_notify, 12, detections)
WIRE_SIZE(wire_notify, 16)

#define NOTIFY_FRAME_BYTES                                                                                                 \
	(sizeof(struct wire_eth) + sizeof(struct wire_ipv4) + sizeof(struct wire_udp) + sizeof(struct wire_notify))
