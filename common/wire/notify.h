/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notification packet (paper III-C2, Fig. 6): a rank that finished a step hands its unused detections to the rank that
 * waits for it. A UDP datagram at the highest priority.
 */
#pragma once

#include <stdint.h>

#include "common/wire/eth.h"
#include "common/wire/layout.h"

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
