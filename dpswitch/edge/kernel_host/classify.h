/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The switch's knowledge of a frame that enters from a kernel host, read once and without looking at its payload: the
 * flow it belongs to, its class, the fields of its descriptor. All frames that a host may send are judged here.
 */
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/flow.h"
#include "common/pkt.h"
#include "common/wire/roce.h"
#include "dpswitch/edge/frame/checksum.h"
#include "topo/topo.h"

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
	bool tagged; /* 802.1Q */
	/* PCP if tagged, else the upper three bits of the DSCP, 0 if that is measured data's (common/tag.h) */
	uint8_t mark;
};

/* @param c  filled in for CLASS_ROCE and CLASS_UNKNOWN; p.prio is the caller's to decide */
enum frame_class classify(const uint8_t *bytes, size_t size_bytes, struct classified *c);

/*
 * Writes into a frame's bytes what changed on the path: TTL, CE where the sender is ECN capable, the IP checksum
 * (incrementally, RFC 1624). A corrupt packet's last four bytes are inverted: the ICRC of RoCE.
 */
void patch_frame(uint8_t *bytes, size_t size_bytes, const struct pkt *p);

/*
 * Maps the 5-tuple of a frame to its flow: planned, or one of the spare slots for unplanned flows of hosts. A slot is
 * given to another flow when its own has been idle and no packet of it is left; the one that was idle for longest
 * first. Within a window, all lcores only read; flows are added between windows, or by the only lcore.
 */

#define LOOKUP_NONE UINT32_MAX

struct lookup {
	const struct topo *topo;
	struct flow_table *flows;
	struct tuple *tuples; /* [flow slots] as in frames */
	uint32_t *next;       /* [flow slots] in the same bucket */
	uint32_t *buckets;    /* [mask + 1] */
	uint32_t mask;
	_Atomic uint64_t *used_ps; /* [spares] when a packet was last seen; any lcore, relaxed */
	uint64_t idle_ps;
	uint32_t taken, recycled; /* spare slots in use; given away again */
};

/* @return a number that changes with the flows of slots: lookups cached under another number are void */
static inline uint32_t
lookup_generation(const struct lookup *lookup)
{
	return lookup->taken + lookup->recycled;
}

/* @return 0 or -ENOMEM */
int lookup_init(struct lookup *lookup, const struct topo *topo, struct flow_table *flows, uint64_t idle_ps);
void lookup_fini(struct lookup *lookup);

/* @return the flow with this tuple, LOOKUP_NONE: none */
uint32_t lookup_find(const struct lookup *lookup, const struct tuple *tuple);

/*
 * Takes a spare slot for a new flow between two hosts of the topology.
 * @param in_flight  [spares] packets of each slot's flow that are still somewhere
 * @param recycled   set if the slot had another flow before: caches of the flow must forget it
 * @return its id; LOOKUP_NONE: an address belongs to no host, or no slot is free or idle
 */
uint32_t lookup_add(struct lookup *lookup, const struct tuple *tuple, uint8_t prio, uint64_t now_ps,
		    const _Atomic uint32_t *in_flight, bool *recycled);

/* A packet of the flow was seen. */
static inline void
lookup_touch(struct lookup *lookup, uint32_t flow, uint64_t now_ps)
{
	if (flow >= lookup->flows->count)
		atomic_store_explicit(&lookup->used_ps[flow - lookup->flows->count], now_ps, memory_order_relaxed);
}

/*
 * A NIC remembers the last frame: one that differs from it in nothing that a descriptor depends on, but for its PSN,
 * AckReq, and a checksum that is right for its identification, is not judged again, nor is its flow looked up.
 */

#define MEMO_WORDS 7
#define MEMO_BYTES (MEMO_WORDS * 8) /* Ethernet, IPv4 without options, UDP, BTH, and the AETH's syndrome */
/* Offsets in a frame: */
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

	assert(size_bytes >= MEMO_BYTES); /* a RoCEv2 frame has a BTH and an ICRC */
	if (bytes[MEMO_VERSION] != 0x45 || p->type == PKT_UNKNOWN)
		return; /* it has options, or is nothing that is spoken here */
	last[MEMO_SYNDROME % 8] = p->opcode == ROCE_RC_ACK ? 255 : 0;
	memcpy(&memo->last_mask, last, sizeof(last));
	memcpy(memo->words, bytes, sizeof(memo->words));
	memo->size_bytes = size_bytes;
	memo->generation = generation;
	memo->sum = memo_sum(bytes);
	memo->p = *p;
}

/* @return false: the frame is to be judged; else memo_fill() fills its fields */
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
 * The descriptor of a frame that is known. Written where it is to be, and not copied from there soon: what has just
 * been written in parts is waited for when it is read as a whole.
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
