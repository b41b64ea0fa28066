/* SPDX-License-Identifier: BSD-3-Clause */
/* What hashes choose: known answers, fields that are left out, and what switches in a row have of each other's choices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/ipv6.h"
#include "common/prng.h"
#include "tests/unit/unit.h"
#include "topo/hash.h"

#define SWITCHES 3

/* The check value of the CRC catalogue, and RFC 3720 B.4: 32 bytes of zeros. */
static void
test_crc32c(void **state)
{
	uint8_t zeros[32] = { 0 };

	assert_int_equal(crc32c("123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(zeros, sizeof(zeros)), 0x8a9136aa);
}

static struct route_tuple
tuple_of(uint32_t i)
{
	return (struct route_tuple){ 0x0a000001 + i / 64, 0x0a000101, (uint16_t)(10000 + i % 64), 4791 };
}

/* The 13 bytes of 10.0.0.1 > 10.0.1.1, UDP 10000 > 4791, by hand; the check of CRC-16-CCITT from 0xffff is public. */
static void
test_known_answers(void **state)
{
	static const uint8_t bytes[13] = { 10, 0, 0, 1, 10, 0, 1, 1, 17, 10000 >> 8, 10000 & 0xff, 4791 >> 8, 4791 & 0xff };
	const struct route_tuple tuple = tuple_of(0);
	struct route_hashing hashing = { .function = ROUTE_HASH_CRC32C };
	uint16_t crc = 7, fold = 7 ^ 17 ^ 0x0a00 ^ 0x0001 ^ 0x0a00 ^ 0x0101 ^ 10000 ^ 4791, mirrored = 0;

	assert_int_equal(route_hash(&hashing, &tuple, 7), (uint32_t)prng_mix(7ULL << 32 | crc32c(bytes, 13)));
	for (int i = 0; i < 13 * 8; i++) { /* bit by bit, long division */
		int top = crc >> 15 ^ (bytes[i / 8] >> (7 - i % 8) & 1);

		crc = (uint16_t)(crc << 1 ^ (top ? 0x1021 : 0));
	}
	hashing.function = ROUTE_HASH_CRC16;
	assert_int_equal(route_hash(&hashing, &tuple, 7), (uint32_t)crc << 16);
	for (int i = 0; i < 16; i++)
		mirrored = (uint16_t)(mirrored << 1 | (fold >> i & 1));
	hashing.function = ROUTE_HASH_XOR;
	assert_int_equal(route_hash(&hashing, &tuple, 7), (uint32_t)mirrored << 16);
}

/*
 * The 41 bytes of the same over IPv6, by hand: addresses of RFC 4193, the protocol, the ports, the label, whose lower
 * bits make 10000 & 0x3fff of it.
 */
static void
test_ipv6(void **state)
{
	uint8_t bytes[41] = { 0xfd, 0x72, 0x6f, 0x63, 0x65, 0x6c, 0x61, 0x62, 0,    0,    0,    0, 10,
			      0,    0,    1,    0xfd, 0x72, 0x6f, 0x63, 0x65, 0x6c, 0x61, 0x62, 0, 0,
			      0,    0,    10,   0,    1,    1,    17,   0x27, 0x10, 0x12, 0xb7 };
	const struct route_tuple tuple = tuple_of(0);
	struct route_hashing hashing = { .function = ROUTE_HASH_XOR, .ipv6 = true };
	uint32_t label = ipv6_flow_label(tuple.src_ip, tuple.dst_ip, tuple.sport);
	uint16_t fold = 7 ^ 17 ^ 0x0a00 ^ 0x0001 ^ 0x0a00 ^ 0x0101 ^ 10000 ^ 4791, mirrored = 0;

	assert_in_range(label, 1, (1 << 20) - 1);
	assert_int_equal((label & 0x3fff) ^ label >> 14, 10000);
	for (int i = 0; i < 4; i++)
		bytes[37 + i] = (uint8_t)(label >> (24 - 8 * i));
	fold ^= (uint16_t)(label >> 16) ^ (uint16_t)label;
	for (int i = 0; i < 16; i++)
		mirrored = (uint16_t)(mirrored << 1 | (fold >> i & 1));
	assert_int_equal(route_hash(&hashing, &tuple, 7), (uint32_t)mirrored << 16);
	hashing.function = ROUTE_HASH_CRC32C;
	assert_int_equal(route_hash(&hashing, &tuple, 7), (uint32_t)prng_mix(7ULL << 32 | crc32c(bytes, 41)));
	hashing.left_out = ROUTE_LABEL;
	memset(bytes + 37, 0, 4);
	assert_int_equal(route_hash(&hashing, &tuple, 7), (uint32_t)prng_mix(7ULL << 32 | crc32c(bytes, 41)));
}

/* Labels of flows that differ in one field are spread evenly, and so are those of their ACKs. */
static void
test_labels(void **state)
{
	uint32_t upper[64] = { 0 };

	for (uint32_t i = 0; i < 6400; i++) {
		const struct route_tuple t = tuple_of(i);

		upper[ipv6_flow_label(t.src_ip, t.dst_ip, t.sport) >> 14]++;
		assert_int_not_equal(ipv6_flow_label(t.src_ip, t.dst_ip, t.sport),
				     ipv6_flow_label(t.src_ip, t.dst_ip, t.sport ^ 1));
	}
	for (int i = 0; i < 64; i++)
		assert_in_range(upper[i], 50, 150); /* five deviations */
}

/* A flow that is planned with another destination port has the label of its frames, which go to RoCEv2's. */
static void
test_label_of_frames(void **state)
{
	const struct route_hashing hashing = { .ipv6 = true,
					       .left_out = ROUTE_SRC | ROUTE_DST | ROUTE_SPORT | ROUTE_DPORT };
	struct route_tuple tuple = tuple_of(0), other = tuple;

	other.dport = 10000;
	assert_int_equal(route_hash(&hashing, &tuple, 7), route_hash(&hashing, &other, 7));
	other.sport ^= 1;
	assert_int_not_equal(route_hash(&hashing, &tuple, 7), route_hash(&hashing, &other, 7));
}

/* Each field changes the choice, unless it is left out. */
static void
test_fields(void **state)
{
	const struct route_tuple tuple = tuple_of(0);
	struct route_tuple others[] = { tuple, tuple, tuple, tuple };

	others[0].src_ip ^= 1;
	others[1].dst_ip ^= 1;
	others[2].sport ^= 1;
	others[3].dport ^= 1;
	for (uint8_t f = 0; f < ROUTE_HASH_FUNCTIONS; f++)
		for (uint8_t out = 0; out < 16; out++)
			for (int field = 0; field < 4; field++) {
				const struct route_hashing hashing = { .function = f, .left_out = out };
				bool same = route_hash(&hashing, &tuple, 5) == route_hash(&hashing, &others[field], 5);

				assert_int_equal(same, out >> field & 1);
			}
}

/* @param used  of all ports of the last switch: those that some flow takes which came by port 0 of every one before */
static uint32_t
used_behind(const struct route_hashing *hashing)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < 4096; i++) {
		const struct route_tuple tuple = tuple_of(i);
		uint32_t s = 0, port = 0;

		for (; s < SWITCHES && port == 0; s++)
			port = route_select(hashing, 1, s, &tuple, 4);
		if (s == SWITCHES)
			used |= 1u << port;
	}
	return used;
}

/* With one seed for all, whatever a switch sent by its first port leaves the next by its first port again: polarisation. */
static void
test_polarisation(void **state)
{
	for (uint8_t f = 0; f < ROUTE_HASH_FUNCTIONS; f++) {
		const struct route_hashing alike = { .function = f, .alike = true };

		assert_int_equal(used_behind(&alike), 1);
	}
	assert_int_equal(used_behind(&(struct route_hashing){ 0 }), 0xf);
}

/* Every function uses every port for flows that differ in their source port alone. */
static void
test_spread(void **state)
{
	for (uint8_t f = 0; f < ROUTE_HASH_FUNCTIONS; f++) {
		const struct route_hashing hashing = { .function = f };
		uint32_t count[8] = { 0 };

		for (uint32_t sport = 0; sport < 4096; sport++) {
			const struct route_tuple tuple = { 1, 2, (uint16_t)(10000 + sport), 4791 };

			count[route_select(&hashing, 1, 0, &tuple, 8)]++;
		}
		for (int i = 0; i < 8; i++)
			assert_in_range(count[i], 512 - 100, 512 + 100); /* 512 +- 21 by chance */
	}
}

/* Outer headers alone decide; there are as many of them between two hosts as the bits allow, and all are used alike. */
static void
test_vxlan(void **state)
{
	for (uint8_t bits = 0; bits <= ROUTE_VXLAN_BITS; bits++) {
		uint32_t count[1 << 14] = { 0 }, used = 0, most = 0, flows = 40u << bits;

		for (uint32_t i = 0; i < flows; i++) {
			const struct route_tuple inner = { 1, 2, (uint16_t)i, (uint16_t)(i >> 16) };
			const struct route_tuple outer = route_vxlan(&inner, bits);
			const struct route_hashing seen = { .vxlan = true, .entropy_bits = bits }, plain = { 0 };

			assert_int_equal(outer.src_ip, 1);
			assert_int_equal(outer.dst_ip, 2);
			assert_int_equal(outer.dport, 4789);
			assert_in_range(outer.sport, 49152, 49152 + (1u << bits) - 1);
			if (i < 1000)
				assert_int_equal(route_hash(&seen, &inner, 9), route_hash(&plain, &outer, 9));
			count[outer.sport - 49152]++;
		}
		for (uint32_t i = 0; i < 1u << bits; i++) {
			used += count[i] != 0;
			most = count[i] > most ? count[i] : most;
		}
		assert_int_equal(used, 1u << bits);
		assert_true(most <= 40 + 45); /* 40 +- 6.3 by chance: of 16,384 the most is at 4 times that */
	}
}

UNIT_TEST(hash)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_answers),   cmocka_unit_test(test_ipv6),   cmocka_unit_test(test_labels),
		cmocka_unit_test(test_label_of_frames), cmocka_unit_test(test_fields), cmocka_unit_test(test_polarisation),
		cmocka_unit_test(test_crc32c),          cmocka_unit_test(test_spread), cmocka_unit_test(test_vxlan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
