/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inband network telemetry as HPCC has it (Li et al., SIGCOMM 2019, Fig. 7): switches write into a data packet what
 * they know of the egress as it leaves, and its ACK brings that back. 42 B on the wire: 4 bits of count and 12 of path,
 * then five hops of 8 B. Such a header travels beside its packet's descriptor, in arrays of their own that only runs
 * with it have.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define INT_MAX_HOPS 5
#define INT_WIRE_BYTES 42
#define INT_RATES 16            /* 4 bits name a link's rate */
#define INT_TX_UNIT_BYTES 128   /* of 20 bits */
#define INT_QUEUE_UNIT_BYTES 80 /* of 16 bits */

/*
 * A hop's 64 bits, from the highest: rate 4, time in ns 24, bytes sent 20, queue 16; of probes as int_pack_hop() has
 * them.
 */
struct int_header {
	uint64_t hops[INT_MAX_HOPS];
	uint16_t path; /* the switches' ids, folded to 12 bits and combined: nearly always unique to a path */
	uint8_t count;
};

/*
 * Probes that trace their path (R-Pingmesh 7.4) have the same header with other hops, as an instruction bitmap of
 * INT-MD asks for (P4.org INT v2.1, 5.7: node id, level 1 interface ids): switch 32, ingress port 16, egress port 16.
 */
static inline uint64_t
int_pack_hop(uint32_t node, uint16_t in, uint16_t out)
{
	return (uint64_t)node << 32 | (uint64_t)in << 16 | out;
}

static inline uint32_t
int_hop_node(uint64_t bits)
{
	return (uint32_t)(bits >> 32);
}

static inline uint16_t
int_hop_in_port(uint64_t bits)
{
	return (uint16_t)(bits >> 16);
}

/* Unpacked telemetry of one hop, for readers. time_ns and tx_units wrap. */
struct int_hop {
	uint32_t rate; /* index into struct int_rates */
	uint32_t time_ns;
	uint32_t tx_units;
	uint32_t queue_bytes;
};

/* Which rates the hops of a run name. */
struct int_rates {
	uint64_t bps[INT_RATES];
	uint32_t count;
};

static inline uint64_t
int_pack(uint32_t rate, uint64_t time_ns, uint64_t tx_bytes, uint64_t queue_bytes)
{
	uint64_t queue = queue_bytes / INT_QUEUE_UNIT_BYTES;

	return (uint64_t)rate << 60 | (time_ns & 0xffffff) << 36 | (tx_bytes / INT_TX_UNIT_BYTES & 0xfffff) << 16 |
	       (queue < 0xffff ? queue : 0xffff);
}

static inline struct int_hop
int_unpack(uint64_t bits)
{
	return (struct int_hop){
		.rate = (uint32_t)(bits >> 60),
		.time_ns = (uint32_t)(bits >> 36) & 0xffffff,
		.tx_units = (uint32_t)(bits >> 16) & 0xfffff,
		.queue_bytes = (uint32_t)(bits & 0xffff) * INT_QUEUE_UNIT_BYTES,
	};
}

/* A switch adds its hop. One more than there is room for leaves the header as it is, but for the path. */
static inline void
int_push(struct int_header *header, uint32_t node, uint64_t hop)
{
	header->path ^= (uint16_t)((node ^ node >> 12 ^ node >> 24) & 0xfff);
	if (header->count < INT_MAX_HOPS)
		header->hops[header->count++] = hop;
}

/* @return the index of a rate; -1: it is not there */
static inline int
int_rate_index(const struct int_rates *rates, uint64_t bps)
{
	for (uint32_t i = 0; i < rates->count; i++)
		if (rates->bps[i] == bps)
			return (int)i;
	return -1;
}
