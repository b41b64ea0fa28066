/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RoCEv2 as far as rocelab speaks it: InfiniBand transport headers (IBTA volume 1, chapter 9) in a UDP datagram
 * (Annex A17), and the sizes of frames made of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/eth.h"
#include "common/wire/layout.h"

/* BTH opcodes: transport in the upper three bits, operation in the lower five. */
enum roce_opcode {
	ROCE_RC_SEND_FIRST = 0x00,
	ROCE_RC_SEND_MIDDLE = 0x01,
	ROCE_RC_SEND_LAST = 0x02,
	ROCE_RC_SEND_LAST_IMM = 0x03,
	ROCE_RC_SEND_ONLY = 0x04,
	ROCE_RC_SEND_ONLY_IMM = 0x05,
	ROCE_RC_WRITE_FIRST = 0x06,
	ROCE_RC_WRITE_MIDDLE = 0x07,
	ROCE_RC_WRITE_LAST = 0x08,
	ROCE_RC_WRITE_LAST_IMM = 0x09,
	ROCE_RC_WRITE_ONLY = 0x0a,
	ROCE_RC_WRITE_ONLY_IMM = 0x0b,
	ROCE_RC_ACK = 0x11,
	ROCE_UD_SEND_ONLY = 0x64,
	ROCE_UD_SEND_ONLY_IMM = 0x65,
	ROCE_CNP = 0x81, /* Annex A17.9.3 */
};

/* Base Transport Header, 9.2. */
struct wire_bth {
	uint8_t opcode;
	uint8_t flags; /* BTH_SE, BTH_MIG, pad count, transport version 0 */
	wire_be16 pkey;
	uint8_t congestion; /* BTH_FECN, BTH_BECN, six reserved bits; not covered by the ICRC */
	uint8_t dst_qpn[3];
	uint8_t ackreq; /* BTH_ACKREQ, seven reserved bits */
	uint8_t psn[3];
} __attribute__((packed));

WIRE_AT(wire_bth, 0, opcode)
WIRE_AT(wire_bth, 1, flags)
WIRE_AT(wire_bth, 2, pkey)
WIRE_AT(wire_bth, 4, congestion)
WIRE_AT(wire_bth, 5, dst_qpn)
WIRE_AT(wire_bth, 8, ackreq)
WIRE_AT(wire_bth, 9, psn)
WIRE_SIZE(wire_bth, 12)

#define BTH_SE 0x80
#define BTH_MIG 0x40
#define BTH_PAD_SHIFT 4
#define BTH_PAD_MASK 0x30
#define BTH_VERSION_MASK 0x0f
#define BTH_FECN 0x80
#define BTH_BECN 0x40
#define BTH_ACKREQ 0x80
#define BTH_PKEY_DEFAULT 0xffff
#define ROCE_24BIT_MASK 0xffffffU /* PSN, QPN, MSN */

/* RDMA Extended Transport Header, 9.3.3. */
struct wire_reth {
	wire_be64 va;
	wire_be32 rkey;
	wire_be32 dma_bytes;
} __attribute__((packed));

WIRE_AT(wire_reth, 0, va)
WIRE_AT(wire_reth, 8, rkey)
WIRE_AT(wire_reth, 12, dma_bytes)
WIRE_SIZE(wire_reth, 16)

/* ACK Extended Transport Header, 9.3.5. */
struct wire_aeth {
	uint8_t syndrome;
	uint8_t msn[3];
} __attribute__((packed));

WIRE_AT(wire_aeth, 0, syndrome)
WIRE_AT(wire_aeth, 1, msn)
WIRE_SIZE(wire_aeth, 4)

#define AETH_ACK 0x1f           /* ACK without credit limit */
#define AETH_ACK_SELECTIVE 0x40 /* of the kind that table 45 reserves; the low bits: see docs/wire-formats.md */
#define AETH_ACK_BEFORE 5       /* packets before that one that it reports: bit i of the syndrome is PSN - 5 + i */
#define AETH_NAK_SEQUENCE 0x60  /* NAK, PSN sequence error */
#define AETH_RNR_NAK 0x2c       /* RNR NAK with a timer of 0.64 ms (IBTA table 45): real requesters wait that long */
#define AETH_KIND_MASK 0x60     /* 0x00 ACK, 0x20 RNR NAK, 0x40 reserved, 0x60 NAK */

/* Datagram Extended Transport Header, 9.3.2. */
struct wire_deth {
	wire_be32 qkey;
	uint8_t reserved;
	uint8_t src_qpn[3];
} __attribute__((packed));

WIRE_AT(wire_deth, 0, qkey)
WIRE_AT(wire_deth, 4, reserved)
WIRE_AT(wire_deth, 5, src_qpn)
WIRE_SIZE(wire_deth, 8)

/* Immediate Data Extended Transport Header, 9.3.6. */
struct wire_immdt {
	wire_be32 imm;
} __attribute__((packed));

WIRE_AT(wire_immdt, 0, imm)
WIRE_SIZE(wire_immdt, 4)

/* A retransmission timer: 4.096 us times a power of two (IBTA 9.7.6.1.3). */
#define ROCE_TIMER_UNIT_PS UINT64_C(4096000)
#define ROCE_TIMER_ROUND_TRIPS 4 /* without queues, that a timer should leave time for */

/* The shortest timer that is no shorter than this. */
static inline uint64_t
roce_timer_ps(uint64_t least_ps)
{
	uint64_t ps = ROCE_TIMER_UNIT_PS;

	while (ps < least_ps)
		ps *= 2;
	return ps;
}

#define ROCE_MIN_MTU 256      /* path MTUs are the powers of two from here .. */
#define ROCE_MAX_PAYLOAD 4096 /* .. to here */
#define CNP_RESERVED_BYTES 16 /* zero */
#define ICRC_BYTES 4          /* little-endian, behind payload and pad */

/* Headers behind the BTH, as a set. */
enum roce_header { ROCE_RETH = 1 << 0, ROCE_AETH = 1 << 1, ROCE_DETH = 1 << 2, ROCE_IMM = 1 << 3 };

/* @return set of enum roce_header, or -1 for an opcode that rocelab does not speak */
static inline int
roce_headers(uint8_t opcode)
{
	switch (opcode) {
	case ROCE_RC_SEND_FIRST:
	case ROCE_RC_SEND_MIDDLE:
	case ROCE_RC_SEND_LAST:
	case ROCE_RC_SEND_ONLY:
	case ROCE_RC_WRITE_MIDDLE:
	case ROCE_RC_WRITE_LAST:
	case ROCE_CNP:
		return 0;
	case ROCE_RC_SEND_LAST_IMM:
	case ROCE_RC_SEND_ONLY_IMM:
	case ROCE_RC_WRITE_LAST_IMM:
		return ROCE_IMM;
	case ROCE_RC_WRITE_FIRST:
	case ROCE_RC_WRITE_ONLY:
		return ROCE_RETH;
	case ROCE_RC_WRITE_ONLY_IMM:
		return ROCE_RETH | ROCE_IMM;
	case ROCE_RC_ACK:
		return ROCE_AETH;
	case ROCE_UD_SEND_ONLY:
		return ROCE_DETH;
	case ROCE_UD_SEND_ONLY_IMM:
		return ROCE_DETH | ROCE_IMM;
	default:
		return -1;
	}
}

/* The opcode of a data segment by its place in its message. WRITE or SEND; only the last segment carries imm. */
static inline uint8_t
roce_data_opcode(bool write, bool first, bool last, bool with_imm)
{
	uint8_t base = write ? ROCE_RC_WRITE_FIRST : ROCE_RC_SEND_FIRST;

	if (!last)
		return (uint8_t)(base + (first ? 0 : 1));
	return (uint8_t)(base + (first ? 4 : 2) + (with_imm ? 1 : 0));
}

/*
 * @return whether the opcode is a request of a reliable connection: neither a READ response nor an ACK. IBTA volume 1,
 *         table 38.
 */
static inline bool
roce_is_rc_request(uint8_t opcode)
{
	return opcode < 0x20 && (opcode < 0x0d || opcode > 0x12);
}

/* SEND or RDMA WRITE of a reliable connection. */
static inline bool
roce_is_rc_data(uint8_t opcode)
{
	return opcode <= ROCE_RC_WRITE_ONLY_IMM;
}

/* @param opcode  of an RC data segment @return true: RDMA WRITE; false: SEND */
static inline bool
roce_is_write(uint8_t opcode)
{
	return opcode >= ROCE_RC_WRITE_FIRST;
}

/* @param opcode  of an RC data segment @return whether it is the first or only one of its message */
static inline bool
roce_is_first(uint8_t opcode)
{
	uint8_t place = roce_is_write(opcode) ? (uint8_t)(opcode - ROCE_RC_WRITE_FIRST) : opcode;

	return place == ROCE_RC_SEND_FIRST || place >= ROCE_RC_SEND_ONLY;
}

/*
 * May a packet with this opcode have that much payload? FIRST and MIDDLE carry a full path MTU, all others up to the
 * largest; ACK and CNP none (the CNP's reserved bytes do not count).
 */
static inline bool
roce_payload_ok(uint8_t opcode, uint32_t payload_bytes)
{
	switch (opcode) {
	case ROCE_RC_ACK:
	case ROCE_CNP:
		return payload_bytes == 0;
	case ROCE_RC_SEND_FIRST:
	case ROCE_RC_SEND_MIDDLE:
	case ROCE_RC_WRITE_FIRST:
	case ROCE_RC_WRITE_MIDDLE:
		return payload_bytes >= ROCE_MIN_MTU && payload_bytes <= ROCE_MAX_PAYLOAD &&
		       (payload_bytes & (payload_bytes - 1)) == 0;
	default:
		return payload_bytes <= ROCE_MAX_PAYLOAD;
	}
}

/* Size of a frame without preamble, FCS and gap, 802.1Q tag not included. payload is padded to a multiple of 4. */
static inline uint32_t
roce_frame_bytes(uint8_t opcode, uint32_t payload_bytes)
{
	int headers = roce_headers(opcode);
	uint32_t bytes = sizeof(struct wire_eth) + sizeof(struct wire_ipv4) + sizeof(struct wire_udp) +
			 sizeof(struct wire_bth) + ((payload_bytes + 3) & ~3U) + ICRC_BYTES;

	if (headers < 0)
		return bytes;
	return bytes + (headers & ROCE_RETH ? sizeof(struct wire_reth) : 0) +
	       (headers & ROCE_AETH ? sizeof(struct wire_aeth) : 0) + (headers & ROCE_DETH ? sizeof(struct wire_deth) : 0) +
	       (headers & ROCE_IMM ? sizeof(struct wire_immdt) : 0) + (opcode == ROCE_CNP ? CNP_RESERVED_BYTES : 0);
}

/* Link time of the same, in bytes: an ACK takes 8 + 14 + 20 + 8 + 12 + 4 + 4 + 4 + 12 = 86. */
static inline uint32_t
roce_wire_bytes(uint8_t opcode, uint32_t payload_bytes)
{
	return eth_wire_bytes(roce_frame_bytes(opcode, payload_bytes));
}
