/* SPDX-License-Identifier: BSD-3-Clause */
/* Priority-based Flow Control frame: a MAC Control frame (IEEE 802.3 clause 31, 802.1Q clause 36, once 802.1Qbb). */
#pragma once

#include <stdint.h>

#include "common/wire/eth.h"
#include "common/wire/layout.h"

#define PFC_OPCODE 0x0101
#define PFC_CLASSES 8
#define PFC_QUANTUM_BITS 512 /* a pause quantum is the time of so many bits */
#define PFC_QUANTA_MAX 0xffff

/* 60 bytes; the MAC appends the FCS: 64 on the link, 84 with preamble and gap. */
struct wire_pfc {
	struct wire_eth eth; /* to PFC_DST, type ETH_TYPE_MAC_CONTROL */
	wire_be16 opcode;
	wire_be16 class_enable;        /* bit i: quanta[i] is meant; upper byte zero */
	wire_be16 quanta[PFC_CLASSES]; /* 0: resume */
	uint8_t pad[26];               /* zero */
} __attribute__((packed));

WIRE_AT(wire_pfc, 0, eth)
WIRE_AT(wire_pfc, 14, opcode)
WIRE_AT(wire_pfc, 16, class_enable)
WIRE_AT(wire_pfc, 18, quanta)
WIRE_AT(wire_pfc, 34, pad)
WIRE_SIZE(wire_pfc, 60)

#define PFC_DST                                                                                                            \
	{                                                                                                                  \
		0x01, 0x80, 0xc2, 0x00, 0x00, 0x01                                                                         \
	} /* never forwarded */
