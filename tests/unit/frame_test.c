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

#include "common/prng.h"
#include "common/wire/notify.h"
#include "common/wire/poll.h"
#include "dpswitch/edge/checksum.h"
#include "dpswitch/edge/frame.h"
#include "dpswitch/edge/icrc.h"

#define RXE_FRAMES 78
#define AT_IP 14   /* offsets in an untagged frame */
#define AT_UDP 34
#define AT_BTH 42
#define AT_EXT 54

struct bytes {
	uint8_t *data;
	size_t size;
};

struct capture {
	struct bytes frames[RXE_FRAMES];
	size_t count;
};

/* Every frame gets a block of its own, so that a sanitizer sees each byte read behind it. */
static struct bytes
copy_of(const uint8_t *data, size_t size)
{
	struct bytes copy = { malloc(size), size };

	memcpy(copy.data, data, size);
	return copy;
}

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

#define MASKS (sizeof(masks) / sizeof(masks[0]))

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
fix_ip_checksum(uint8_t *frame)
{
	uint16_t sum;

	memset(frame + AT_IP + 10, 0, 2);
	sum = checksum_fold(checksum_add(0, frame + AT_IP, 20));
	frame[AT_IP + 10] = (uint8_t)(sum >> 8);
	frame[AT_IP + 11] = (uint8_t)sum;
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
kernel_frames_come_back_byte_for_byte(void **state)
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
		icrc = bitwise_icrc(packet, size, MASKS);
		assert_int_equal(icrc_compute(packet, size), icrc);
		at = prng_below(&prng, size);
		packet[at] ^= 0x10;
		assert_int_equal(icrc_compute(packet, size), bitwise_icrc(packet, size, MASKS));
		if (bitwise_icrc(packet, size, MASKS) == icrc) /* only where a mask lies */
			assert_true(at == 1 || at == 8 || at == 10 || at == 11 || at == 26 || at == 27 || at == 32);
	}
}

/* Bytes on the link, by hand: 8 + 14 + 20 + 8 + 12 + headers + payload + pad + 4 + 4 + 12 */
static void
sizes_on_the_link(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t payload, frame, wire;
	} cases[] = {
		{ ROCE_RC_ACK, 0, 62, 86 },
		{ ROCE_CNP, 0, 74, 98 },
		{ ROCE_RC_SEND_ONLY, 0, 58, 84 }, /* padded to 60 */
		{ ROCE_RC_SEND_ONLY, 1, 62, 86 },
		{ ROCE_RC_WRITE_FIRST, 1024, 1098, 1122 },
		{ ROCE_RC_WRITE_MIDDLE, 1024, 1082, 1106 },
		{ ROCE_RC_WRITE_LAST_IMM, 1021, 1086, 1110 },
		{ ROCE_RC_WRITE_ONLY_IMM, 4096, 4174, 4198 },
		{ ROCE_UD_SEND_ONLY, 5, 74, 98 },
		{ ROCE_UD_SEND_ONLY_IMM, 0, 70, 94 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(roce_frame_bytes(cases[i].opcode, cases[i].payload), cases[i].frame);
		assert_int_equal(roce_wire_bytes(cases[i].opcode, cases[i].payload), cases[i].wire);
	}
	assert_int_equal(eth_wire_bytes(POLL_FRAME_BYTES), 90);
	assert_int_equal(eth_wire_bytes(NOTIFY_FRAME_BYTES), 84);
}

static const struct flow test_flow = {
	.src_ip = 0x0a000001, .dst_ip = 0x0a000002, .sport = 50001, .dport = 100, .src_qpn = 0x123456, .dst_qpn = 0xabcdef
};

/* Descriptor -> bytes -> descriptor. */
static struct frame
through_bytes(const struct pkt *p, const struct frame_message *message, bool tagged, uint8_t *buf, size_t *size)
{
	struct frame f, g;
	struct pkt back;

	frame_from_pkt(&f, p, &test_flow, message, tagged);
	*size = frame_build(&f, buf, FRAME_MAX_BYTES);
	assert_int_not_equal(*size, 0);
	assert_int_equal(frame_parse(buf, *size, &g), FRAME_OK);
	assert_int_equal(frame_to_pkt(&g, &back), 0);
	assert_int_equal(back.type, p->type);
	assert_int_equal(back.psn, p->psn);
	assert_int_equal(back.prio, p->prio);
	assert_int_equal(back.flags, p->flags);
	assert_int_equal(back.ttl, p->ttl);
	assert_int_equal(back.payload_bytes, p->payload_bytes);
	if (!tagged)
		assert_int_equal(back.wire_bytes, p->wire_bytes);
	else /* in a padded frame the tag takes the place of padding */
		assert_int_equal(back.wire_bytes, p->type == PKT_NOTIFY ? 86 : p->wire_bytes + 4);
	if (p->type != PKT_DATA && p->type != PKT_UD)
		assert_int_equal(back.arg, p->arg);
	return g;
}

static void
descriptors_come_back(void **state)
{
	static const struct {
		struct pkt pkt;
		struct frame_message message;
		uint8_t opcode; /* of RoCE frames */
	} cases[] = {
		{ { .type = PKT_DATA, .psn = 1, .payload_bytes = 1024, .wire_bytes = 1122 }, { .write = true, .first = true },
		  ROCE_RC_WRITE_FIRST },
		{ { .type = PKT_DATA, .psn = 2, .payload_bytes = 1024, .wire_bytes = 1106, .flags = PKT_CE }, { .write = true },
		  ROCE_RC_WRITE_MIDDLE },
		{ { .type = PKT_DATA, .psn = 3, .payload_bytes = 7, .wire_bytes = 94, .flags = PKT_LAST | PKT_ACKREQ },
		  { .write = true, .with_imm = true, .imm = 77 },
		  ROCE_RC_WRITE_LAST_IMM },
		{ { .type = PKT_DATA, .psn = 4, .payload_bytes = 8, .wire_bytes = 106, .flags = PKT_LAST },
		  { .write = true, .first = true },
		  ROCE_RC_WRITE_ONLY },
		{ { .type = PKT_DATA, .psn = 0xffffff, .payload_bytes = 256, .wire_bytes = 338 }, { .first = true },
		  ROCE_RC_SEND_FIRST },
		{ { .type = PKT_DATA, .psn = 5, .payload_bytes = 9, .wire_bytes = 98, .flags = PKT_LAST },
		  { .first = true, .with_imm = true, .imm = 5 },
		  ROCE_RC_SEND_ONLY_IMM },
		{ { .type = PKT_DATA, .psn = 6, .payload_bytes = 10, .wire_bytes = 94, .flags = PKT_LAST | PKT_CORRUPT },
		  { .write = false },
		  ROCE_RC_SEND_LAST },
		{ { .type = PKT_ACK, .psn = 7, .wire_bytes = 86, .flags = PKT_REVERSE }, { .msn = 9 }, ROCE_RC_ACK },
		{ { .type = PKT_ACK, .psn = 7, .wire_bytes = 86, .flags = PKT_REVERSE | PKT_CE }, { .msn = 9 }, ROCE_RC_ACK },
		{ { .type = PKT_NAK, .psn = 8, .arg = AETH_NAK_SEQUENCE, .wire_bytes = 86, .flags = PKT_REVERSE },
		  { .msn = 9 },
		  ROCE_RC_ACK },
		{ { .type = PKT_CNP, .wire_bytes = 98, .flags = PKT_REVERSE }, { .write = false }, ROCE_CNP },
		{ { .type = PKT_UD, .psn = 9, .payload_bytes = 12, .wire_bytes = 106, .flags = PKT_LAST },
		  { .with_imm = true, .imm = 3, .qkey = 0x11111111 },
		  ROCE_UD_SEND_ONLY_IMM },
		{ { .type = PKT_POLL, .psn = 0xdeadbeef, .arg = POLL_BOTH, .wire_bytes = 90 }, { .write = false }, 0 },
		{ { .type = PKT_NOTIFY, .psn = 3, .arg = 2, .wire_bytes = 84 }, { .write = false }, 0 },
		{ { .type = PKT_POLL, .psn = 1, .arg = POLL_PFC, .wire_bytes = 90, .flags = PKT_CORRUPT }, { .write = false }, 0 },
	};
	uint8_t buf[FRAME_MAX_BYTES];
	size_t size;

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct pkt p = cases[i / 2].pkt;
		struct frame f;

		p.prio = (uint8_t)(i % 8);
		p.ttl = 61;
		f = through_bytes(&p, &cases[i / 2].message, i % 2, buf, &size);
		if (f.kind == FRAME_ROCE)
			assert_int_equal(f.opcode, cases[i / 2].opcode);
		assert_int_equal(f.imm, cases[i / 2].message.imm);
		assert_int_equal(f.src_ip, p.flags & PKT_REVERSE ? 0x0a000002 : 0x0a000001);
	}
}

static void
victims_and_connections_are_named(void **state)
{
	uint8_t buf[FRAME_MAX_BYTES];
	struct pkt ack = { .type = PKT_ACK, .psn = 7, .wire_bytes = 86, .flags = PKT_REVERSE };
	struct pkt poll = { .type = PKT_POLL, .psn = 1, .arg = POLL_VICTIM, .wire_bytes = 90 };
	struct pkt data = { .type = PKT_DATA, .psn = 300, .payload_bytes = 6, .wire_bytes = 106, .flags = PKT_LAST };
	struct frame_message message = { .write = true, .first = true, .va = 0x123456789abcdef0, .rkey = 0x55aa55aa,
					 .dma_bytes = 6 };
	struct frame f;
	size_t size;

	f = through_bytes(&ack, &(struct frame_message){ .msn = 0xfffffe }, false, buf, &size);
	assert_int_equal(f.dst_qpn, 0x123456); /* back to the sender's QP */
	assert_int_equal(f.msn, 0xfffffe);
	assert_int_equal(f.ecn, ECN_NOT_ECT);
	f = through_bytes(&poll, NULL, false, buf, &size);
	assert_int_equal(f.victim_src_ip, 0x0a000001);
	assert_int_equal(f.victim_dst_ip, 0x0a000002);
	assert_int_equal(f.victim_sport, 50001);
	assert_int_equal(f.victim_dport, ROCEV2_UDP_PORT);
	f = through_bytes(&data, &message, false, buf, &size);
	assert_int_equal(f.ecn, ECN_ECT0);
	assert_int_equal(f.dst_qpn, 0xabcdef);
	assert_true(f.va == 0x123456789abcdef0);
	assert_int_equal(f.rkey, 0x55aa55aa);
	assert_int_equal(f.dma_bytes, 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(f.payload[i], (300 + i) & 0xff); /* synthetic */
	message.payload = (const uint8_t *)"abcdef";
	f = through_bytes(&data, &message, false, buf, &size);
	assert_memory_equal(f.payload, "abcdef", 6);
	assert_memory_equal(f.payload + 6, "\0", 2); /* pad */
}

/* Offsets and values changed in sound frames, with the IP checksum put right where asked. */
static void
malformed_frames_are_named(void **state)
{
	static const struct {
		enum pkt_type type;
		size_t at;
		uint8_t value;
		bool fix;
		enum frame_error error;
	} cases[] = {
		{ PKT_UD, 12, 0x86, false, FRAME_NOT_IPV4 },
		{ PKT_UD, AT_IP, 0x46, true, FRAME_IP_HEADER },
		{ PKT_UD, AT_IP, 0x65, true, FRAME_IP_HEADER },
		{ PKT_UD, AT_IP + 10, 0xff, false, FRAME_IP_CHECKSUM },
		{ PKT_UD, AT_IP + 3, 0xff, true, FRAME_SHORT },
		{ PKT_UD, AT_IP + 3, 19, true, FRAME_SHORT },
		{ PKT_UD, AT_IP + 3, 60, true, FRAME_LONG },
		{ PKT_UD, AT_IP + 6, 0x60, true, FRAME_FRAGMENT }, /* more fragments */
		{ PKT_UD, AT_IP + 7, 0x01, true, FRAME_FRAGMENT }, /* offset */
		{ PKT_UD, AT_IP + 9, 6, true, FRAME_NOT_UDP },
		{ PKT_UD, AT_UDP + 5, 8, false, FRAME_UDP_LENGTH },
		{ PKT_UD, AT_UDP + 3, 0, false, FRAME_UDP_PORT },
		{ PKT_UD, AT_BTH + 1, 0x01, false, FRAME_BTH_VERSION },
		{ PKT_UD, AT_BTH, 0x0c, false, FRAME_OPCODE },          /* READ request */
		{ PKT_UD, AT_BTH, 0x24, false, FRAME_OPCODE },          /* UC SEND ONLY */
		{ PKT_UD, AT_BTH, ROCE_RC_WRITE_MIDDLE, false, FRAME_ROCE_LENGTH },
		{ PKT_UD, AT_BTH, ROCE_RC_ACK, false, FRAME_ROCE_LENGTH },
		{ PKT_UD, AT_BTH, ROCE_CNP, false, FRAME_ROCE_LENGTH },
		{ PKT_ACK, AT_BTH + 1, 0x10, false, FRAME_ROCE_LENGTH }, /* a pad byte of nothing */
		{ PKT_ACK, AT_BTH, ROCE_RC_WRITE_FIRST, false, FRAME_SHORT },
		{ PKT_CNP, AT_BTH + 1, 0x20, false, FRAME_ROCE_LENGTH },
		{ PKT_POLL, AT_BTH, 0, false, FRAME_CONTROL_FORMAT },     /* magic */
		{ PKT_POLL, AT_BTH + 4, 2, false, FRAME_CONTROL_FORMAT }, /* version */
		{ PKT_POLL, AT_BTH + 5, 0, false, FRAME_CONTROL_FORMAT }, /* flags */
		{ PKT_POLL, AT_BTH + 5, 4, false, FRAME_CONTROL_FORMAT },
		{ PKT_POLL, AT_BTH + 6, 6, false, FRAME_CONTROL_FORMAT }, /* protocol */
		{ PKT_POLL, AT_BTH + 7, 1, false, FRAME_CONTROL_FORMAT },
		{ PKT_POLL, AT_UDP + 3, (uint8_t)NOTIFY_UDP_PORT, false, FRAME_CONTROL_FORMAT },
		{ PKT_NOTIFY, AT_BTH + 3, 0, false, FRAME_CONTROL_FORMAT },
		{ PKT_NOTIFY, AT_BTH + 4, 0, false, FRAME_CONTROL_FORMAT },
		{ PKT_NOTIFY, AT_BTH + 6, 1, false, FRAME_CONTROL_FORMAT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pkt p = { .type = cases[i].type, .arg = POLL_VICTIM, .payload_bytes = cases[i].type == PKT_UD ? 12 : 0 };
		uint8_t buf[FRAME_MAX_BYTES];
		struct bytes frame;
		struct frame f;

		frame_from_pkt(&f, &p, &test_flow, &(struct frame_message){ 0 }, false);
		frame = copy_of(buf, frame_build(&f, buf, sizeof(buf)));
		assert_int_equal(frame_parse(frame.data, frame.size, &f), FRAME_OK);
		frame.data[cases[i].at] = cases[i].value;
		if (cases[i].fix)
			fix_ip_checksum(frame.data);
		if (frame_parse(frame.data, frame.size, &f) != cases[i].error)
			fail_msg("case %zu: %s", i, frame_error_text(frame_parse(frame.data, frame.size, &f)));
		free(frame.data);
	}
}

static void
ethernet_padding_is_no_payload(void **state)
{
	struct pkt p = { .type = PKT_NOTIFY, .psn = 3, .arg = 2 };
	uint8_t buf[FRAME_MAX_BYTES] = { 0 };
	struct frame f;

	frame_from_pkt(&f, &p, &test_flow, NULL, false);
	assert_int_equal(frame_build(&f, buf, sizeof(buf)), 58);
	assert_int_equal(frame_parse(buf, 60, &f), FRAME_OK);
	assert_int_equal(f.detections, 2);
	assert_int_equal(frame_parse(buf, 61, &f), FRAME_LONG);
}

static void
what_cannot_be_said_is_not_built(void **state)
{
	uint8_t buf[FRAME_MAX_BYTES];
	struct frame f = { .opcode = 0x0c };

	assert_int_equal(frame_build(&f, buf, sizeof(buf)), 0);
	assert_int_equal(frame_wire_bytes(&f), 0);
	f.opcode = ROCE_RC_WRITE_MIDDLE;
	f.payload_bytes = 1000; /* no path MTU */
	assert_int_equal(frame_build(&f, buf, sizeof(buf)), 0);
	f.opcode = ROCE_RC_WRITE_ONLY_IMM;
	f.payload_bytes = 4097;
	assert_int_equal(frame_build(&f, buf, sizeof(buf)), 0);
	f.payload_bytes = 4096;
	f.tagged = true;
	assert_int_equal(frame_build(&f, buf, sizeof(buf) - 1), 0);
	assert_int_equal(frame_build(&f, buf, sizeof(buf)), FRAME_MAX_BYTES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_icrcs_are_ours),
		cmocka_unit_test(kernel_frames_come_back_byte_for_byte),
		cmocka_unit_test(kernel_fields_are_read),
		cmocka_unit_test(every_flipped_bit_is_noticed),
		cmocka_unit_test(a_switch_may_forward),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(random_icrcs_agree),
		cmocka_unit_test(sizes_on_the_link),
		cmocka_unit_test(descriptors_come_back),
		cmocka_unit_test(victims_and_connections_are_named),
		cmocka_unit_test(malformed_frames_are_named),
		cmocka_unit_test(ethernet_padding_is_no_payload),
		cmocka_unit_test(what_cannot_be_said_is_not_built),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
