/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a NIC remembers of the frame that came last: one that differs from it in nothing that a descriptor depends on, but
 * for its PSN, AckReq, and a checksum that is right for its identification, is not judged anew, nor is its flow looked up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/pkt.h"
#include "common/wire/roce.h"
#include "dpswitch/edge/frame/checksum.h"

#define MEMO_WORDS 7
#define MEMO_BYTES (MEMO_WORDS * 8) /* Ethernet, IPv4 without options, UDP, BTH, and the AETH's syndrome */
/* In a frame: */
#define MEMO_VERSION 14
#define MEMO_ID 18
#define MEMO_CHECKSUM 24
#define MEMO_ACKREQ 50
#define MEMO_SYNDROME 54

struct memo {
	uint64_t words[MEMO_WORDS];
	uint64_t last_mask;  /* of the last word: an answer's syndrome counts, data's payload does not */
	uint32_t size_bytes; /* of the frame; 0: nothing is remembered */
	uint32_t generation; /* of the flows */
	uint16_t sum;        /* identification and checksum, added */
	struct pkt p;        /* with its flow and class */
};

static inline uint16_t
memo_sum(const uint8_t *bytes)
{
	uint16_t id, checksum;

	memcpy(&id, bytes + MEMO_ID, sizeof(id));
	memcpy(&checksum, bytes + MEMO_CHECKSUM, sizeof(checksum));
	return checksum_fold((uint32_t)id + checksum);
}

/* Bits of each word that must be equal: not identification, checksums, destination QPN, PSN, and what follows. */
static inline uint64_t
memo_mask(const struct memo *memo, uint32_t word)
{
	static const uint8_t equal[MEMO_WORDS][8] = {
		{ 255, 255, 255, 255, 255, 255, 255, 255 }, /* addresses of Ethernet */
		{ 255, 255, 255, 255, 255, 255, 255, 255 }, /* type, version, class */
		{ 255, 255, 0, 0, 255, 255, 255, 255 },     /* length, identification, fragment, TTL, protocol */
		{ 0, 0, 255, 255, 255, 255, 255, 255 },     /* checksum, addresses */
		{ 255, 255, 255, 255, 255, 255, 255, 255 }, /* address, ports, length */
		{ 0, 0, 255, 255, 255, 255, 255, 0 },       /* checksum, opcode, flags, partition, BECN, QPN */
	};
	uint64_t mask;

	if (word == MEMO_WORDS - 1)
		return memo->last_mask;
	memcpy(&mask, equal[word], sizeof(mask));
	return mask;
}

/* @param p  of a RoCEv2 frame without an 802.1Q tag whose header is right, as its flow and class have it */
static inline void
memo_keep(struct memo *memo, const uint8_t *bytes, uint32_t size_bytes, const struct pkt *p, uint32_t generation)
{
	uint8_t last[8] = { 0 };

	if (size_bytes < MEMO_BYTES || bytes[MEMO_VERSION] != 0x45 || p->type == PKT_UNKNOWN)
		return; /* it has options, or is nothing that is spoken here */
	last[MEMO_SYNDROME % 8] = p->opcode == ROCE_RC_ACK ? 255 : 0;
	memcpy(&memo->last_mask, last, sizeof(last));
	memcpy(memo->words, bytes, sizeof(memo->words));
	memo->size_bytes = size_bytes;
	memo->generation = generation;
	memo->sum = memo_sum(bytes);
	memo->p = *p;
}

/* @return false: the frame is to be judged; else memo_fill() says what it is */
static inline bool
memo_knows(const struct memo *memo, const uint8_t *bytes, uint32_t size_bytes, uint32_t generation)
{
	uint64_t differs = 0;

	if (size_bytes != memo->size_bytes || generation != memo->generation)
		return false;
#pragma GCC unroll 7
	for (uint32_t i = 0; i < MEMO_WORDS; i++) {
		uint64_t word;

		memcpy(&word, bytes + 8 * i, sizeof(word));
		differs |= (word ^ memo->words[i]) & memo_mask(memo, i);
	}
	return differs == 0 && memo_sum(bytes) == memo->sum;
}

/*
 * The descriptor of a frame that is known. Written where it is to be, and not copied from there soon: what has just been written in
 * parts is waited for when it is read as a whole.
 * @param flags   enum pkt_flag, besides
 * @param handle  its bytes
 */
static inline void
memo_fill(const struct memo *memo, const uint8_t *bytes, uint8_t flags, uint32_t handle, struct pkt *p)
{
	uint32_t psn;

	memcpy(&psn, bytes + MEMO_ACKREQ, sizeof(psn));
	*p = memo->p;
	p->psn = __builtin_bswap32(psn) & ROCE_24BIT_MASK;
	p->tag = memo->p.tag; /* one word with the PSN */
	p->arg = handle;
	p->flags = (uint8_t)((memo->p.flags & ~PKT_ACKREQ) | (bytes[MEMO_ACKREQ] & BTH_ACKREQ ? PKT_ACKREQ : 0) | flags);
}
