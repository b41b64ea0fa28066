/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/hash.h"

#include <stddef.h>

#include "common/crc32c.h"
#include "common/prng.h"

#define PROTOCOL_UDP 17
#define TUPLE_BYTES 13
#define FIRST_DYNAMIC_PORT 49152 /* RFC 6335, section 6 */
#define CRC16_POLYNOMIAL 0x1021  /* ITU-T V.41 */

static uint32_t
hash_crc32c(const uint8_t tuple[TUPLE_BYTES], uint32_t seed)
{
	return (uint32_t)prng_mix((uint64_t)seed << 32 | crc32c(tuple, TUPLE_BYTES));
}

static uint32_t
hash_crc16(const uint8_t tuple[TUPLE_BYTES], uint32_t seed)
{
	uint16_t crc = (uint16_t)seed;

	for (size_t i = 0; i < TUPLE_BYTES; i++) {
		crc ^= (uint16_t)(tuple[i] << 8);
		for (int bit = 0; bit < 8; bit++)
			crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ CRC16_POLYNOMIAL : crc << 1);
	}
	return (uint32_t)crc << 16;
}

/* The lowest bits differ most among ports and addresses: they come to the top, which chooses. */
static uint32_t
hash_xor(const uint8_t tuple[TUPLE_BYTES], uint32_t seed)
{
	uint16_t fold = (uint16_t)(seed ^ tuple[8]);
	uint32_t hash = 0;

	for (size_t i = 0; i < TUPLE_BYTES; i += i == 6 ? 3 : 2)
		fold ^= (uint16_t)(tuple[i] << 8 | tuple[i + 1]);
	for (int bit = 0; bit < 16; bit++)
		hash |= (uint32_t)(fold >> bit & 1) << (31 - bit);
	return hash;
}

static uint32_t (*const functions[ROUTE_HASH_FUNCTIONS])(const uint8_t tuple[TUPLE_BYTES], uint32_t seed) = {
	[ROUTE_HASH_CRC32C] = hash_crc32c,
	[ROUTE_HASH_CRC16] = hash_crc16,
	[ROUTE_HASH_XOR] = hash_xor,
};

/* A 5-tuple as it stands in the headers. */
static void
put_tuple(uint8_t bytes[TUPLE_BYTES], uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport)
{
	for (int i = 0; i < 4; i++) {
		bytes[i] = (uint8_t)(src >> (24 - 8 * i));
		bytes[4 + i] = (uint8_t)(dst >> (24 - 8 * i));
	}
	bytes[8] = PROTOCOL_UDP;
	bytes[9] = (uint8_t)(sport >> 8);
	bytes[10] = (uint8_t)sport;
	bytes[11] = (uint8_t)(dport >> 8);
	bytes[12] = (uint8_t)dport;
}

struct route_tuple
route_vxlan(const struct route_tuple *inner, uint8_t bits)
{
	uint8_t bytes[TUPLE_BYTES];
	uint64_t hash;

	put_tuple(bytes, inner->src_ip, inner->dst_ip, inner->sport, inner->dport);
	hash = prng_mix(crc32c(bytes, TUPLE_BYTES)) >> 32;
	return (struct route_tuple){ inner->src_ip, inner->dst_ip, (uint16_t)(FIRST_DYNAMIC_PORT + (hash << bits >> 32)),
				     ROUTE_VXLAN_PORT };
}

uint32_t
route_hash(const struct route_hashing *hashing, const struct route_tuple *tuple, uint32_t switch_seed)
{
	const struct route_tuple outer = hashing->vxlan ? route_vxlan(tuple, hashing->entropy_bits) : *tuple;
	uint8_t left_out = hashing->left_out;
	uint8_t bytes[TUPLE_BYTES];

	put_tuple(bytes, left_out & ROUTE_SRC ? 0 : outer.src_ip, left_out & ROUTE_DST ? 0 : outer.dst_ip,
		  left_out & ROUTE_SPORT ? 0 : outer.sport, left_out & ROUTE_DPORT ? 0 : outer.dport);
	return functions[hashing->function](bytes, switch_seed);
}

uint32_t
route_switch_seed(const struct route_hashing *hashing, uint64_t seed, uint32_t node)
{
	return (uint32_t)prng_mix(seed + 0x9e3779b97f4a7c15ULL * (hashing->alike ? 0 : node + 1ULL));
}

uint32_t
route_select(const struct route_hashing *hashing, uint64_t seed, uint32_t node, const struct route_tuple *tuple,
	     uint32_t members)
{
	return route_hash_index(route_hash(hashing, tuple, route_switch_seed(hashing, seed, node)), members);
}
