/* SPDX-License-Identifier: BSD-3-Clause */
/* What a NIC remembers of a frame, beside what judging the next one says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/array.h"
#include "common/prng.h"
#include "dpswitch/edge/kernel_host/classify.h"
#include "tests/unit/dpswitch/frame_bytes.h"
#include "tests/unit/unit.h"

#define ROUNDS 200000

static const struct flow flows[] = {
	{ .src_ip = 0x0a000001, .dst_ip = 0x0a000002, .sport = 50001, .dst_qpn = 0xabcdef },
	{ .src_ip = 0x0a000001, .dst_ip = 0x0a000002, .sport = 50002, .dst_qpn = 0xabcdef },
};

/* A frame of a kind that hosts send, with a random PSN. */
static size_t
draw(struct prng *prng, uint8_t *bytes)
{
	static const struct {
		uint8_t type, opcode;
	} kinds[] = {
		{ PKT_DATA, ROCE_RC_SEND_ONLY }, { PKT_DATA, ROCE_RC_WRITE_MIDDLE }, { PKT_DATA, ROCE_RC_WRITE_LAST_IMM },
		{ PKT_ACK, ROCE_RC_ACK },        { PKT_NAK, ROCE_RC_ACK },           { PKT_CNP, ROCE_CNP },
	};
	const struct pkt_message message = { 0 };
	size_t kind = (size_t)prng_below(prng, ARRAY_LEN(kinds));
	struct pkt p = {
		.type = kinds[kind].type,
		.opcode = kinds[kind].opcode,
		.psn = (uint32_t)prng_below(prng, 1 << 24) & ROCE_24BIT_MASK,
		.syndrome = kinds[kind].type == PKT_NAK ? 0x60 : 0,
		.prio = (uint8_t)(2 + prng_below(prng, 2)),
		.flags = prng_below(prng, 2) != 0 ? PKT_ACKREQ : 0,
		.ttl = PKT_TTL_INIT,
		.payload_bytes = kinds[kind].type == PKT_DATA ? 256 : 0,
	};
	struct frame f;

	frame_from_pkt(&f, &p, &flows[prng_below(prng, ARRAY_LEN(flows))], &message, false);
	return frame_build(&f, bytes, FRAME_MAX_BYTES);
}

/* Changes a byte or two of what is looked at, and mends the header's checksum most of the time. */
static void
damage(struct prng *prng, uint8_t *bytes)
{
	for (uint64_t n = prng_below(prng, 3); n > 0; n--)
		bytes[prng_below(prng, MEMO_BYTES)] ^= (uint8_t)(1u << prng_below(prng, 8));
	if (prng_below(prng, 4) != 0)
		fix_ip_checksum(bytes);
}

static void
expect_same(const struct pkt *known, const struct pkt *judged)
{
	assert_int_equal(known->type, judged->type);
	assert_int_equal(known->psn, judged->psn);
	assert_int_equal(known->tag, judged->tag);
	assert_int_equal(known->opcode, judged->opcode);
	assert_int_equal(known->syndrome, judged->syndrome);
	assert_int_equal(known->flags, judged->flags);
	assert_int_equal(known->ttl, judged->ttl);
	assert_int_equal(known->wire_bytes, judged->wire_bytes);
	assert_int_equal(known->payload_bytes, judged->payload_bytes);
}

/* Whatever differs: a frame that is said to be known is judged in the same way, flow and class included. */
static void
what_is_known_is_judged_alike(void **state)
{
	struct memo memo = { 0 };
	struct classified last = { 0 };
	uint64_t known = 0;
	struct prng prng;

	(void)state;
	prng_init(&prng, 1, 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint8_t bytes[FRAME_MAX_BYTES];
		size_t size = draw(&prng, bytes);
		enum frame_class class;
		struct classified c;
		struct pkt p;

		assert_int_not_equal(size, 0);
		damage(&prng, bytes);
		class = classify(bytes, size, &c);
		if (memo_knows(&memo, bytes, (uint32_t)size, 0)) {
			memo_fill(&memo, bytes, 0, 0, &p);
			known++;
			assert_int_equal(class, CLASS_ROCE);
			expect_same(&p, &c.p);
			assert_memory_equal(&c.tuple, &last.tuple, sizeof(c.tuple));
			assert_int_equal(c.mark, last.mark);
		} else if (class == CLASS_ROCE && !c.tagged) {
			memo_keep(&memo, bytes, (uint32_t)size, &c.p, 0);
			if (memo_knows(&memo, bytes, (uint32_t)size, 0))
				last = c;
		}
	}
	assert_in_range(known, ROUNDS / 1000, ROUNDS);
}

/* What has options is judged each time: nothing is where the memory looks. */
static void
options_are_not_remembered(void **state)
{
	struct memo memo = { 0 };
	uint8_t plain[FRAME_MAX_BYTES], bytes[FRAME_MAX_BYTES + 4] = { 0 };
	struct classified c;
	struct prng prng;
	uint16_t sum;
	size_t size;

	(void)state;
	prng_init(&prng, 2, 0);
	size = draw(&prng, plain);
	memcpy(bytes, plain, AT_UDP);
	memcpy(bytes + AT_UDP + 4, plain + AT_UDP, size - AT_UDP);
	bytes[AT_IP] = 0x46;
	bytes[AT_IP + 3] = (uint8_t)(bytes[AT_IP + 3] + 4);
	memset(bytes + AT_IP + 10, 0, 2);
	sum = checksum_fold(checksum_add(0, bytes + AT_IP, 24));
	bytes[AT_IP + 10] = (uint8_t)(sum >> 8);
	bytes[AT_IP + 11] = (uint8_t)sum;
	assert_int_equal(classify(bytes, size + 4, &c), CLASS_ROCE);
	memo_keep(&memo, bytes, (uint32_t)size + 4, &c.p, 0);
	assert_false(memo_knows(&memo, bytes, (uint32_t)size + 4, 0));
	assert_int_equal(memo.size_bytes, 0);
	assert_int_equal(classify(plain, size, &c), CLASS_ROCE);
	memo_keep(&memo, plain, (uint32_t)size, &c.p, 0);
	assert_true(memo_knows(&memo, plain, (uint32_t)size, 0));
}

/* A stream's next packet is known, whatever its PSN and identification; not so when flows have been given away since. */
static void
a_stream_is_known(void **state)
{
	const struct pkt_message message = { 0 };
	uint8_t bytes[FRAME_MAX_BYTES];
	struct memo memo = { 0 };

	(void)state;
	for (uint32_t psn = 0; psn < 1000; psn++) {
		struct pkt p = { .type = PKT_DATA,
				 .opcode = ROCE_RC_WRITE_MIDDLE,
				 .psn = psn * 7919 & ROCE_24BIT_MASK,
				 .prio = 3,
				 .ttl = PKT_TTL_INIT,
				 .payload_bytes = 256 };
		struct classified c;
		struct frame f;
		uint32_t size;

		frame_from_pkt(&f, &p, &flows[0], &message, false);
		size = (uint32_t)frame_build(&f, bytes, sizeof(bytes));
		assert_int_equal(classify(bytes, size, &c), CLASS_ROCE);
		assert_int_equal(memo_knows(&memo, bytes, size, 5), psn != 0);
		assert_false(memo_knows(&memo, bytes, size, 6));
		if (psn == 0)
			memo_keep(&memo, bytes, size, &c.p, 5);
		memo_fill(&memo, bytes, 0, 0, &p);
		expect_same(&p, &c.p);
	}
}

/* A data frame, tagged or not. @return its size */
static size_t
data_frame(uint8_t *bytes, uint8_t type, uint8_t opcode, bool tagged)
{
	const struct pkt_message message = { 0 };
	const struct pkt p = { .type = type, .opcode = opcode, .prio = 3, .ttl = PKT_TTL_INIT };
	struct frame f;

	frame_from_pkt(&f, &p, &flows[0], &message, tagged);
	return frame_build(&f, bytes, FRAME_MAX_BYTES);
}

static enum frame_class
class_of(const uint8_t *bytes, size_t size)
{
	struct classified c;

	return classify(bytes, size, &c);
}

/* Headers that are cut short, each at its own place. */
static void
short_frames_are_judged_by_what_is_there(void **state)
{
	uint8_t bytes[FRAME_MAX_BYTES];
	size_t size = data_frame(bytes, PKT_DATA, ROCE_RC_SEND_ONLY, false);

	(void)state;
	assert_int_equal(class_of(bytes, size), CLASS_ROCE);
	assert_int_equal(class_of(bytes, AT_IP + 19), CLASS_MALFORMED);
	bytes[AT_IP + 2] = 0;
	bytes[AT_IP + 3] = 20 + 3; /* not even ports */
	fix_ip_checksum(bytes);
	assert_int_equal(class_of(bytes, size), CLASS_UNKNOWN);
	bytes[AT_IP + 3] = 20 + 7; /* ports, but no UDP header */
	fix_ip_checksum(bytes);
	assert_int_equal(class_of(bytes, size), CLASS_UNKNOWN);
	bytes[AT_IP + 3] = 20 + 8 + 15; /* no BTH and ICRC */
	fix_ip_checksum(bytes);
	assert_int_equal(class_of(bytes, size), CLASS_UNKNOWN);
	data_frame(bytes, PKT_DATA, ROCE_RC_SEND_ONLY, true);
	assert_int_equal(class_of(bytes, AT_IP + 3), CLASS_MULTICAST); /* a tag that is not whole is of no known type */
}

/* CE is set where the sender can take it, and never in what answers: those say it in their own fields. */
static void
marks_are_set_in_what_can_bear_them(void **state)
{
	uint8_t bytes[FRAME_MAX_BYTES];
	struct pkt p = { .type = PKT_DATA, .flags = PKT_CE, .ttl = 9 };

	(void)state;
	for (int tagged = 0; tagged < 2; tagged++) {
		uint8_t *ip = bytes + AT_IP + (tagged ? 4 : 0), was;
		size_t size = data_frame(bytes, PKT_DATA, ROCE_RC_SEND_ONLY, tagged);

		patch_frame(bytes, size, &p);
		assert_int_equal(ip[1] & 3, ECN_CE);
		assert_int_equal(ip[8], 9);
		assert_int_equal(class_of(bytes, size), CLASS_ROCE); /* its checksum is right */
		size = data_frame(bytes, PKT_ACK, ROCE_RC_ACK, tagged);
		for (int nak = 0; nak < 4; nak++) {
			p.type = nak % 2 != 0 ? PKT_NAK : PKT_ACK;
			ip[1] |= nak < 2 ? 0 : ECN_ECT0; /* as some hosts send answers */
			was = ip[1];
			patch_frame(bytes, size, &p);
			assert_int_equal(ip[1], was);
		}
		p.type = PKT_DATA;
		size = data_frame(bytes, PKT_DATA, ROCE_RC_SEND_ONLY, tagged);
		ip[1] = (uint8_t)(ip[1] & ~3); /* not ECN-capable */
		patch_frame(bytes, size, &p);
		assert_int_equal(ip[1] & 3, ECN_NOT_ECT);
	}
}

UNIT_TEST(memo)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_known_is_judged_alike),
		cmocka_unit_test(a_stream_is_known),
		cmocka_unit_test(options_are_not_remembered),
		cmocka_unit_test(short_frames_are_judged_by_what_is_there),
		cmocka_unit_test(marks_are_set_in_what_can_bear_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
