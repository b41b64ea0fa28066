/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of packets, for those who only see descriptors. Bytes that came in from outside stay in their mbuf while their
 * descriptor travels: PKT_BYTES, arg = handle. Whoever ends such a packet anywhere but at the edge gives them back with
 * body_release(), on any lcore. Bytes that leave for the outside come from the host whose message it is.
 * Free of <rte_*>.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/pkt.h"

/* What a frame from outside says; RoCE only. Fields that its opcode has not are 0. */
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

/* First member of whoever implements it. */
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

/* What a descriptor has no room for: where its payload comes from and goes to. */
struct pkt_message {
	uint64_t va; /* RETH: where the message goes */
	uint32_t rkey;
	uint32_t dma_bytes;        /* RETH: bytes of the message */
	uint32_t qkey;             /* UD */
	uint32_t dst_qpn, src_qpn; /* UD; 0: as the flow has it */
	const uint8_t *payload;    /* of this segment; NULL: synthetic */
};

/* The hosts that made packets without bytes say it. */
struct message_source {
	void *ctx;
	/* @return false if nobody can say: the packet cannot leave */
	bool (*describe)(void *ctx, const struct pkt *p, struct pkt_message *message);
};
