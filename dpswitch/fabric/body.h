/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of packets, for code that sees descriptors alone. Bytes that arrived from a kernel host stay in their mbuf
 * while their descriptor travels: PKT_BYTES, arg = handle. Code that ends such a packet anywhere but at the edge gives
 * them back with body_release(), on any lcore. Bytes that leave for a kernel host are provided by the host whose
 * message it is. Free of <rte_*>.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/pkt.h"

/* The fields of a frame from a kernel host; RoCE only. Fields that its opcode has not are 0. */
struct body {
	uint8_t opcode;   /* BTH, enum roce_opcode */
	uint8_t syndrome; /* AETH */
	bool corrupt;     /* its ICRC does not match */
	bool labelled;    /* the descriptor has PKT_RETRANSMIT if it was sent before; a frame alone does not show it */
	uint32_t dst_qpn, src_qpn; /* BTH, DETH */
	uint32_t imm;
	uint64_t va; /* RETH */
	uint32_t rkey, dma_bytes;
	const uint8_t *payload; /* until the body is released */
	uint32_t payload_bytes;
};

struct bodies;

struct body_ops {
	void (*release)(struct bodies *bodies, const struct pkt *p);
	/* @return false if the frame does not parse as RoCE */
	bool (*read)(const struct bodies *bodies, uint32_t handle, struct body *body);
};

/* First member of each implementation. */
struct bodies {
	const struct body_ops *ops;
};

/* The packet ends here: its bytes, if it has any, go back. @param bodies  may be NULL where no packet has bytes */
static inline void
body_release(struct bodies *bodies, const struct pkt *p)
{
	if (__builtin_expect((p->flags & PKT_BYTES) != 0, 0))
		bodies->ops->release(bodies, p);
}

/* Fields that a descriptor has no room for: the source and the destination of its payload. */
struct pkt_message {
	uint64_t va; /* RETH: where the message goes */
	uint32_t rkey;
	uint32_t dma_bytes;        /* RETH: bytes of the message */
	uint32_t qkey;             /* UD */
	uint32_t dst_qpn, src_qpn; /* UD; 0: as the flow has it */
	const uint8_t *payload;    /* of this segment; NULL: synthetic */
};

/* Reported by the hosts that made packets without bytes. */
struct message_source {
	void *ctx;
	/* @return false if it is unknown: the packet cannot leave */
	bool (*describe)(void *ctx, const struct pkt *p, struct pkt_message *message);
};
