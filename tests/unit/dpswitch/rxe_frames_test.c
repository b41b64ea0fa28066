/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames as bytes against what the kernel's soft-RoCE sent (tests/data/roce-kernel-rxe.txt) and a bitwise ICRC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/prng.h"
#include "dpswitch/edge/frame/checksum.h"
#include "tests/unit/dpswitch/frame_bytes.h"
#include "tests/unit/unit.h"

#define RXE_FRAMES 78
struct capture {
	struct bytes frames[RXE_FRAMES];
	size_t count;
};

static int
load(void **state)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	FILE *file = fopen(TEST_DATA "/roce-kernel-rxe.pcap", "rb");
	uint8_t header[24], buf[8192];
	uint32_t record[4];

	if (file == NULL || fread(header, sizeof(header), 1, file) != 1)
		return -1;
	while (capture->count < RXE_FRAMES && fread(record, sizeof(record), 1, file) == 1) {
		size_t size = le32toh(record[2]);

		if (size > sizeof(buf) || fread(buf, size, 1, file) != 1)
			return -1;
		capture->frames[capture->count++] = copy_of(buf, size);
	}
	fclose(file);
	*state = capture;
	return capture->count == RXE_FRAMES ? 0 : -1;
}

static int
unload(void **state)
{
	struct capture *capture = *state;

	for (size_t i = 0; i < capture->count; i++)
		free(capture->frames[i].data);
	free(capture);
	return 0;
}

/* What the standard says may change on the way, by offset in the IP packet. */
static const struct {
	const char *name;
	size_t offset, bytes;
} masks[] = {
	{ "TOS", 1, 1 }, { "TTL", 8, 1 }, { "IP checksum", 10, 2 }, { "UDP checksum", 26, 2 }, { "BTH byte 4", 32, 1 },
};

#define MASKS ARRAY_LEN(masks)

/* Bit by bit, as the polynomial is written; shares nothing with the code under test. */
static uint32_t
bitwise_icrc(const uint8_t *ip, size_t size, size_t without_mask)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < 8 + size; i++) {
		uint8_t byte = i < 8 ? 0xff : ip[i - 8];

		for (size_t m = 0; m < MASKS; m++) {
			if (i >= 8 && m != without_mask && i - 8 >= masks[m].offset &&
			    i - 8 < masks[m].offset + masks[m].bytes)
				byte = 0xff;
		}
		for (int bit = 0; bit < 8; bit++) {
			uint32_t low = (crc ^ (uint32_t)(byte >> bit)) & 1;

			crc = crc >> 1 ^ (low ? 0xedb88320 : 0);
		}
	}
	return ~crc;
}

static uint32_t
trailer(const struct bytes *frame)
{
	const uint8_t *p = frame->data + frame->size - 4;

	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool
is_ipv4(const struct bytes *frame)
{
	return frame->data[12] == 0x08 && frame->data[13] == 0x00;
}

static void
kernel_icrcs_are_ours(void **state)
{
	const struct capture *capture = *state;
	size_t checked = 0;

	for (size_t i = 0; i < capture->count; i++) {
		const struct bytes *frame = &capture->frames[i];
		size_t covered = frame->size - AT_IP - 4;

		if (!is_ipv4(frame))
			continue;
		assert_int_equal(icrc_compute(frame->data + AT_IP, covered), trailer(frame));
		assert_int_equal(bitwise_icrc(frame->data + AT_IP, covered, MASKS), trailer(frame));
		for (size_t m = 0; m < MASKS; m++)
			assert_int_not_equal(bitwise_icrc(frame->data + AT_IP, covered, m), trailer(frame));
		checked++;
	}
	assert_int_equal(checked, 76);
}

static void
kernel_frames_return_byte_for_byte(void **state)
{
	const struct capture *capture = *state;
	size_t equal = 0, refused = 0, other_ip = 0;

	for (size_t i = 0; i < capture->count; i++) {
		const struct bytes *frame = &capture->frames[i];
		uint8_t again[FRAME_MAX_BYTES];
		struct frame f;
		enum frame_error error = frame_parse(frame->data, frame->size, &f);

		if (error == FRAME_NOT_IPV4) {
			assert_false(is_ipv4(frame));
			other_ip++;
			continue;
		}
		if (error == FRAME_OPCODE) {
			assert_in_range(frame->data[AT_BTH], 0x0c, 0x14); /* READ, ATOMIC and their answers */
			refused++;
			continue;
		}
		assert_int_equal(error, FRAME_OK);
		assert_false(f.corrupt);
		assert_int_equal(frame_build(&f, again, sizeof(again)), frame->size);
		assert_memory_equal(again, frame->data, frame->size);
		assert_int_equal(frame_wire_bytes(&f), (frame->size < 60 ? 60 : frame->size) + 24);
		equal++;
	}
	assert_int_equal(equal, 68);
	assert_int_equal(refused, 8);
	assert_int_equal(other_ip, 2);
}

static void
kernel_fields_are_read(void **state)
{
	const struct capture *capture = *state;
	struct frame f;

	/* The capture's first frames: an empty WRITE and its ACK. */
	assert_int_equal(frame_parse(capture->frames[0].data, capture->frames[0].size, &f), FRAME_OK);
	assert_int_equal(f.opcode, ROCE_RC_WRITE_ONLY);
	assert_int_equal(f.dst_qpn, 0x17);
	assert_int_equal(f.psn, 0xfffffa);
	assert_int_equal(f.sport, 49681);
	assert_int_equal(f.ip_id, 0x7f5e);
	assert_int_equal(f.ttl, 64);
	assert_int_equal(f.payload_bytes, 0);
	assert_int_equal(f.dma_bytes, 0);
	assert_true(f.ackreq && f.dont_fragment && f.kind == FRAME_ROCE);
	assert_int_equal(frame_parse(capture->frames[1].data, capture->frames[1].size, &f), FRAME_OK);
	assert_int_equal(f.opcode, ROCE_RC_ACK);
	assert_int_equal(f.syndrome, AETH_ACK);
	assert_int_equal(f.msn, 1);
	assert_false(f.ackreq);
}

/* Each bit outside MAC addresses and masked fields decides; those in masked fields do not. */
static void
every_flipped_bit_is_noticed(void **state)
{
	const struct capture *capture = *state;

	for (size_t i = 0; i < capture->count; i++) {
		const struct bytes *frame = &capture->frames[i];
		struct frame f;

		if (frame_parse(frame->data, frame->size, &f) != FRAME_OK)
			continue;
		for (size_t bit = 0; bit < 8 * frame->size; bit++) {
			size_t at = bit / 8;
			bool masked = at < 12 || at == AT_UDP + 6 || at == AT_UDP + 7 || at == AT_BTH + 4;
			bool accepted;

			frame->data[at] ^= 1 << bit % 8;
			accepted = frame_parse(frame->data, frame->size, &f) == FRAME_OK && !f.corrupt;
			frame->data[at] ^= 1 << bit % 8;
			if (accepted != masked)
				fail_msg("frame %zu, byte %zu, bit %zu: accepted %d", i, at, bit % 8, accepted);
		}
	}
}

/* A switch may change TTL, DSCP and ECN, if it corrects the IP checksum, and nothing else. */
static void
a_switch_may_forward(void **state)
{
	const struct capture *capture = *state;
	static const size_t may[] = { AT_IP + 1, AT_IP + 8 }, may_not[] = { AT_IP + 4, AT_IP + 12, AT_IP + 19 };

	for (size_t i = 0; i < 2; i++) {
		struct bytes frame = copy_of(capture->frames[0].data, capture->frames[0].size);
		struct frame f;

		frame.data[may[i]] ^= 0x2b;
		fix_ip_checksum(frame.data);
		assert_int_equal(frame_parse(frame.data, frame.size, &f), FRAME_OK);
		assert_false(f.corrupt);
		free(frame.data);
	}
	for (size_t i = 0; i < 3; i++) {
		struct bytes frame = copy_of(capture->frames[0].data, capture->frames[0].size);
		struct frame f;

		frame.data[may_not[i]] ^= 0x2b;
		fix_ip_checksum(frame.data);
		assert_int_equal(frame_parse(frame.data, frame.size, &f), FRAME_OK);
		assert_true(f.corrupt);
		free(frame.data);
	}
}

static void
every_truncation_is_refused(void **state)
{
	const struct capture *capture = *state;

	for (size_t i = 0; i < capture->count; i++) {
		for (size_t size = 0; size < capture->frames[i].size; size += size < 100 ? 1 : 97) {
			struct bytes cut = copy_of(capture->frames[i].data, size);
			struct frame f;

			if (is_ipv4(&capture->frames[i]))
				assert_int_equal(frame_parse(cut.data, size, &f), FRAME_SHORT);
			free(cut.data);
		}
	}
}

static void
random_icrcs_agree(void **state)
{
	uint8_t packet[300];
	struct prng prng;

	prng_init(&prng, 42, 0);
	for (int round = 0; round < 500; round++) {
		size_t size = ICRC_MASKED_BYTES + prng_below(&prng, sizeof(packet) - ICRC_MASKED_BYTES + 1), at;
		uint32_t icrc;

		for (size_t i = 0; i < size; i++)
			packet[i] = (uint8_t)prng_next(&prng);
		packet[0] = IPV4_VERSION_IHL;
		icrc = bitwise_icrc(packet, size, MASKS);
		assert_int_equal(icrc_compute(packet, size), icrc);
		at = 1 + prng_below(&prng, size - 1);
		packet[at] ^= 0x10;
		assert_int_equal(icrc_compute(packet, size), bitwise_icrc(packet, size, MASKS));
		if (bitwise_icrc(packet, size, MASKS) == icrc) /* only where a mask lies */
			assert_true(at == 1 || at == 8 || at == 10 || at == 11 || at == 26 || at == 27 || at == 32);
	}
}

UNIT_TEST(rxe_frames)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_icrcs_are_ours),  cmocka_unit_test(kernel_frames_return_byte_for_byte),
		cmocka_unit_test(kernel_fields_are_read), cmocka_unit_test(every_flipped_bit_is_noticed),
		cmocka_unit_test(a_switch_may_forward),   cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(random_icrcs_agree),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
