/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of its ports of equal cost a switch chooses for a flow: a hash of header fields. The UDP source port
 * distinguishes flows of one pair of addresses. A function is a row of ROUTE_HASHES and a function in hash.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/flow.h"

/* Value, name in scenarios, what it is. */
#define ROUTE_HASHES(ROW)                                                                                                  \
	ROW(ROUTE_HASH_CRC32C, "crc32c",                                                                                   \
	    "CRC-32C, then mixed with the switch's seed: choices of switches are independent")                             \
	ROW(ROUTE_HASH_CRC16, "crc16",                                                                                     \
	    "CRC-16-CCITT that starts from the seed, as in switches: linear, so that choices of "                          \
	    "switches in a row are correlated even with different seeds")                                                  \
	ROW(ROUTE_HASH_XOR, "xor", "XOR of the seed and the fields' 16-bit words, lowest bits first")

#define ROUTE_HASH_VALUE(id, name, doc) id,
enum route_hash_function { ROUTE_HASHES(ROUTE_HASH_VALUE) ROUTE_HASH_FUNCTIONS };

/* Header fields that are hashed besides the protocol: the 5-tuple and IPv6's flow label. Value, name in scenarios. */
#define ROUTE_FIELDS(ROW)                                                                                                  \
	ROW(ROUTE_SRC, 0, "src")                                                                                           \
	ROW(ROUTE_DST, 1, "dst") ROW(ROUTE_SPORT, 2, "sport") ROW(ROUTE_DPORT, 3, "dport") ROW(ROUTE_LABEL, 4, "flow-label")

#define ROUTE_FIELD_VALUE(id, bit, name) id = 1 << bit,
enum route_field { ROUTE_FIELDS(ROUTE_FIELD_VALUE) };

/* How all switches of a network hash; all zero is the default. */
struct route_hashing {
	uint8_t function;     /* enum route_hash_function */
	uint8_t left_out;     /* enum route_field bits: not hashed */
	bool ipv6;            /* hosts speak it: addresses and label are those of common/ipv6.h */
	bool vxlan;           /* hosts encapsulate: the outer headers are hashed, see route_vxlan() */
	uint8_t entropy_bits; /* of those, in the outer source port: ROUTE_VXLAN_BITS at most */
	bool alike; /* all switches have the same seed: those in a row choose alike, and use only some of their ports */
};

#define ROUTE_FIELDS_BYTES 41 /* at most: of IPv6 */
#define ROUTE_VXLAN_PORT 4789 /* RFC 7348, section 5 */
#define ROUTE_VXLAN_BITS 14   /* of the dynamic ports, from 49152 on, that its section 5 recommends */

/* Addresses and ports of one direction's headers; host byte order. */
struct route_tuple {
	uint32_t src_ip, dst_ip;
	uint16_t sport, dport;
};

static inline struct route_tuple
route_tuple_of(const struct flow *flow, bool reverse)
{
	if (reverse)
		return (struct route_tuple){ flow->dst_ip, flow->src_ip, flow->dport, flow->sport };
	return (struct route_tuple){ flow->src_ip, flow->dst_ip, flow->sport, flow->dport };
}

/*
 * The outer headers of a packet that its host sends into a VXLAN, to the host of its destination: addresses of the
 * hosts, and a source port that is a hash of the inner headers, "to enable a level of entropy for ECMP" (RFC 7348,
 * section 5).
 * @param bits  of that hash: 2^bits source ports. With none, all flows between two hosts have the same outer headers.
 */
struct route_tuple route_vxlan(const struct route_tuple *inner, uint8_t bits);

/*
 * A 5-tuple as it stands in the headers (addresses, protocol UDP, ports, of IPv6 the flow label; network byte order), which
 * all switches on a path hash, each with its own seed.
 */
struct route_fields {
	uint8_t bytes[ROUTE_FIELDS_BYTES];
	uint8_t protocol_at, count; /* of bytes */
	uint8_t function;           /* enum route_hash_function */
	uint32_t crc;               /* of bytes, where the function is ROUTE_HASH_CRC32C */
};

struct route_fields route_fields(const struct route_hashing *hashing, const struct route_tuple *tuple);
uint32_t route_fields_hash(const struct route_fields *fields, uint32_t switch_seed);
/* @return the hash of a tuple at one switch */
uint32_t route_hash(const struct route_hashing *hashing, const struct route_tuple *tuple, uint32_t switch_seed);
/* The seed of one switch, from the run's. */
uint32_t route_switch_seed(const struct route_hashing *hashing, uint64_t seed, uint32_t node);
/* Hash to index without division: the hash as a fraction of 2^32. */
static inline uint32_t
route_hash_index(uint32_t hash, uint32_t members)
{
	return (uint32_t)((uint64_t)hash * members >> 32);
}
/* The ECMP choice of one switch: index into the next-hop set. @param seed  the run's */
uint32_t route_select(const struct route_hashing *hashing, uint64_t seed, uint32_t node, const struct route_tuple *tuple,
		      uint32_t members);

/* CRC-32C (Castagnoli), as in iSCSI (RFC 3720, appendix B.4): the hash of the ECMP choice. */

/* @return the CRC of size_bytes at data, initial value and final inversion included */
uint32_t crc32c(const void *data, size_t size_bytes);
