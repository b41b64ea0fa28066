/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/hash.h"

#include <stddef.h>

#include "common/crc32c.h"
#include "common/ipv6.h"
#include "common/prng.h"

#define PROTOCOL_UDP 17
#define FIRST_DYNAMIC_PORT 49152 /* RFC 6335, section 6 */
#define CRC16_POLYNOMIAL 0x1021  /* ITU-T V.41 */

/* What is hashed: addresses, protocol, ports, label. */
struct hashed {
	uint8_t bytes[2 * IPV6_ADDR_BYTES + 9];
	size_t protocol_at, count;
};

static uint32_t
hash_crc32c(const struct hashed *of, uint32_t seed)
{
	return (uint32_t)prng_mix((uint64_t)seed << 32 | crc32c(of->bytes, of->count));
}

static uint32_t
hash_crc16(const struct hashed *of, uint32_t seed)
{
	uint16_t crc = (uint16_t)seed;

	for (size_t i = 0; i < of->count; i++) {
		crc ^= (uint16_t)(of->bytes[i] << 8);
		for (int bit = 0; bit < 8; bit++)
			crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ CRC16_POLYNOMIAL : crc << 1);
	}
	return (uint32_t)crc << 16;
}

/* The lowest bits differ most among ports and addresses: they move to the top, which chooses. */
static uint32_t
hash_xor(const struct hashed *of, uint32_t seed)
{
	uint16_t fold = (uint16_t)(seed ^ of->bytes[of->protocol_at]);
	uint32_t hash = 0;

	for (size_t i = 0; i < of->count; i += i + 2 == of->protocol_at ? 3 : 2)
		fold ^= (uint16_t)(of->bytes[i] << 8 | of->bytes[i + 1]);
	for (int bit = 0; bit < 16; bit++)
		hash |= (uint32_t)(fold >> bit & 1) << (31 - bit);
	return hash;
}

static uint32_t (*const functions[ROUTE_HASH_FUNCTIONS])(const struct hashed *of, uint32_t seed) = {
	[ROUTE_HASH_CRC32C] = hash_crc32c,
	[ROUTE_HASH_CRC16] = hash_crc16,
	[ROUTE_HASH_XOR] = hash_xor,
};

static void
put(struct hashed *to, uint32_t value, size_t bytes)
{
	while (bytes-- != 0)
		to->bytes[to->count++] = (uint8_t)(value >> 8 * bytes);
}

static void
put_address(struct hashed *to, uint32_t ip, bool ipv6)
{
	if (!ipv6) {
		put(to, ip, sizeof(ip));
		return;
	}
	ipv6_of(&to->bytes[to->count], ip);
	to->count += IPV6_ADDR_BYTES;
}

/* A 5-tuple as it stands in the headers. @param left_out  enum route_field bits: 0 in their place */
static struct hashed
fields_of(const struct route_tuple *tuple, bool ipv6, uint8_t left_out)
{
	struct hashed of = { .count = 0 };

	put_address(&of, left_out & ROUTE_SRC ? 0 : tuple->src_ip, ipv6);
	put_address(&of, left_out & ROUTE_DST ? 0 : tuple->dst_ip, ipv6);
	of.protocol_at = of.count;
	put(&of, PROTOCOL_UDP, 1);
	put(&of, left_out & ROUTE_SPORT ? 0 : tuple->sport, sizeof(tuple->sport));
	put(&of, left_out & ROUTE_DPORT ? 0 : tuple->dport, sizeof(tuple->dport));
	if (ipv6)
		put(&of, left_out & ROUTE_LABEL ? 0 : ipv6_flow_label(tuple->src_ip, tuple->dst_ip, tuple->sport),
		    sizeof(uint32_t));
	return of;
}

struct route_tuple
route_vxlan(const struct route_tuple *inner, uint8_t bits)
{
	const struct hashed of = fields_of(inner, false, 0);
	uint64_t hash = prng_mix(crc32c(of.bytes, of.count)) >> 32;

	return (struct route_tuple){ inner->src_ip, inner->dst_ip, (uint16_t)(FIRST_DYNAMIC_PORT + (hash << bits >> 32)),
				     ROUTE_VXLAN_PORT };
}

uint32_t
route_hash(const struct route_hashing *hashing, const struct route_tuple *tuple, uint32_t switch_seed)
{
	const struct route_tuple outer = hashing->vxlan ? route_vxlan(tuple, hashing->entropy_bits) : *tuple;
	const struct hashed of = fields_of(&outer, hashing->ipv6 && !hashing->vxlan, hashing->left_out);

	return functions[hashing->function](&of, switch_seed);
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
