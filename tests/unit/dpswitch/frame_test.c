/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors to bytes and back, sizes, and frames that must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/tag.h"
#include "common/wire/poll.h"
#include "dpswitch/edge/kernel_host/classify.h"
#include "tests/unit/dpswitch/frame_bytes.h"
#include "tests/unit/unit.h"

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

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(roce_frame_bytes(cases[i].opcode, cases[i].payload), cases[i].frame);
		assert_int_equal(roce_wire_bytes(cases[i].opcode, cases[i].payload), cases[i].wire);
	}
	assert_int_equal(roce_frame_bytes(0x0c, 5), 66); /* an opcode without headers of ours: BTH and ICRC */
	assert_false(roce_payload_ok(ROCE_RC_WRITE_FIRST, 128));
	assert_true(roce_payload_ok(ROCE_RC_WRITE_FIRST, 4096));
	assert_false(roce_payload_ok(ROCE_RC_WRITE_FIRST, 8192));
	assert_int_equal(eth_wire_bytes(POLL_FRAME_BYTES), 90);
	assert_int_equal(eth_wire_bytes(NOTIFY_FRAME_BYTES), 84);
}

static const struct flow test_flow = {
	.src_ip = 0x0a000001, .dst_ip = 0x0a000002, .sport = 50001, .dport = 100, .src_qpn = 0x123456, .dst_qpn = 0xabcdef
};

/* Descriptor -> bytes -> descriptor. */
static struct frame
through_bytes(const struct pkt *p, const struct pkt_message *message, bool tagged, uint8_t *buf, size_t *size)
{
	struct frame f, g;
	struct pkt back;

	frame_from_pkt(&f, p, &test_flow, message, tagged);
	*size = frame_build(&f, buf, FRAME_MAX_BYTES);
	assert_int_not_equal(*size, 0);
	assert_int_equal(frame_parse(buf, *size, &g), FRAME_OK);
	assert_int_equal(frame_to_pkt(&g, &back), 0);
	assert_int_equal(back.type, p->type);
	assert_int_equal(back.id, p->id); /* PSN and tag, or a control packet's */
	assert_int_equal(back.prio, p->prio);
	assert_int_equal(back.flags, p->flags);
	assert_int_equal(back.ttl, p->ttl);
	assert_int_equal(back.payload_bytes, p->payload_bytes);
	if (!tagged)
		assert_int_equal(back.wire_bytes, p->wire_bytes);
	else /* in a padded frame the tag takes the place of padding */
		assert_int_equal(back.wire_bytes, p->type == PKT_NOTIFY ? 86 : p->wire_bytes + 4);
	assert_int_equal(back.arg, p->arg);
	assert_int_equal(back.opcode, p->opcode);
	assert_int_equal(back.syndrome, p->syndrome);
	return g;
}

static const struct {
	struct pkt pkt;
	struct pkt_message message;
} descriptors[] = {
	{ .pkt = { .type = PKT_DATA, .opcode = ROCE_RC_WRITE_FIRST, .psn = 1, .payload_bytes = 1024, .wire_bytes = 1122 },
	  .message = { .va = 0x1234 } },
	{ .pkt = { .type = PKT_DATA,
		   .opcode = ROCE_RC_WRITE_MIDDLE,
		   .psn = 2,
		   .payload_bytes = 1024,
		   .wire_bytes = 1106,
		   .flags = PKT_CE } },
	{ .pkt = { .type = PKT_DATA,
		   .opcode = ROCE_RC_WRITE_LAST_IMM,
		   .psn = 3,
		   .arg = 77,
		   .payload_bytes = 7,
		   .wire_bytes = 94,
		   .flags = PKT_LAST | PKT_ACKREQ } },
	{ .pkt = { .type = PKT_DATA,
		   .opcode = ROCE_RC_WRITE_ONLY,
		   .psn = 4,
		   .payload_bytes = 8,
		   .wire_bytes = 106,
		   .flags = PKT_LAST } },
	{ .pkt = { .type = PKT_DATA,
		   .opcode = ROCE_RC_SEND_FIRST,
		   .psn = 0xffffff,
		   .payload_bytes = 256,
		   .wire_bytes = 338 } },
	{ .pkt = { .type = PKT_DATA,
		   .opcode = ROCE_RC_SEND_ONLY_IMM,
		   .psn = 5,
		   .arg = 5,
		   .payload_bytes = 9,
		   .wire_bytes = 98,
		   .flags = PKT_LAST } },
	{ .pkt = { .type = PKT_DATA,
		   .opcode = ROCE_RC_SEND_LAST,
		   .psn = 6,
		   .payload_bytes = 9,
		   .wire_bytes = 94,
		   .flags = PKT_LAST | PKT_CORRUPT } },
	{ .pkt = { .type = PKT_ACK,
		   .opcode = ROCE_RC_ACK,
		   .syndrome = AETH_ACK,
		   .psn = 7,
		   .arg = 9,
		   .wire_bytes = 86,
		   .flags = PKT_REVERSE } },
	{ .pkt = { .type = PKT_ACK,
		   .opcode = ROCE_RC_ACK,
		   .syndrome = AETH_ACK,
		   .psn = 7,
		   .arg = 0xffffff,
		   .wire_bytes = 86,
		   .flags = PKT_REVERSE | PKT_CE } },
	{ .pkt = { .type = PKT_NAK,
		   .opcode = ROCE_RC_ACK,
		   .syndrome = AETH_NAK_SEQUENCE,
		   .psn = 8,
		   .arg = 9,
		   .wire_bytes = 86,
		   .flags = PKT_REVERSE } },
	{ .pkt = { .type = PKT_CNP, .opcode = ROCE_CNP, .wire_bytes = 98, .flags = PKT_REVERSE } },
	{ .pkt = { .type = PKT_UD,
		   .opcode = ROCE_UD_SEND_ONLY_IMM,
		   .psn = 9,
		   .arg = 3,
		   .payload_bytes = 12,
		   .wire_bytes = 106,
		   .flags = PKT_LAST },
	  .message = { .qkey = 0x11111111 } },
	{ .pkt = { .type = PKT_POLL, .id = 0xdeadbeef, .arg = POLL_BOTH, .wire_bytes = 90 } },
	{ .pkt = { .type = PKT_NOTIFY, .id = 3, .arg = 2, .wire_bytes = 84 } },
	{ .pkt = { .type = PKT_POLL, .id = 2, .arg = POLL_VICTIM | POLL_QUIET, .wire_bytes = 90 } },
	{ .pkt = { .type = PKT_POLL, .id = 1, .arg = POLL_PFC, .wire_bytes = 90, .flags = PKT_CORRUPT } },
};

static void
descriptors_return(void **state)
{
	uint8_t buf[FRAME_MAX_BYTES];
	size_t size;

	for (size_t i = 0; i < 2 * ARRAY_LEN(descriptors); i++) {
		struct pkt p = descriptors[i / 2].pkt;
		struct frame f;

		p.prio = (uint8_t)(i % 8);
		p.ttl = 61;
		f = through_bytes(&p, &descriptors[i / 2].message, i % 2, buf, &size);
		assert_int_equal(f.va, descriptors[i / 2].message.va);
		assert_int_equal(f.qkey, descriptors[i / 2].message.qkey);
		assert_int_equal(f.src_ip, p.flags & PKT_REVERSE ? 0x0a000002 : 0x0a000001);
	}
}

/* The DSCP has no room for both: an 802.1Q tag carries the class, or the receiver knows that of measured data. */
static void
a_tag_takes_the_place_of_the_class(void **state)
{
	uint8_t buf[FRAME_MAX_BYTES];
	struct pkt p = descriptors[0].pkt;
	struct classified c;
	struct frame f;
	size_t size;

	for (uint32_t iteration = 0; iteration < 2 * TAG_ITERATIONS; iteration++) {
		bool vlan = iteration % 2;

		p.tag = tag_make(iteration);
		p.prio = vlan ? 5 : 0;
		f = through_bytes(&p, &descriptors[0].message, vlan, buf, &size);
		assert_int_equal(f.dscp, iteration % 16 * 4 + 3);
		assert_int_equal(f.ecn, ECN_ECT0);
		assert_int_equal(classify(buf, size, &c), CLASS_ROCE);
		assert_int_equal(c.p.tag, p.tag);
		assert_int_equal(c.p.psn, p.psn);
		assert_int_equal(c.mark, p.prio);
	}
	p = (struct pkt){
		.type = PKT_ACK, .opcode = ROCE_RC_ACK, .psn = 7, .wire_bytes = 86, .flags = PKT_REVERSE, .prio = 1
	};
	through_bytes(&p, &(struct pkt_message){ 0 }, false, buf, &size);
	assert_int_equal(classify(buf, size, &c), CLASS_ROCE);
	assert_int_equal(c.p.tag, 0);
	assert_int_equal(c.mark, 1);
}

static void
victims_and_connections_are_named(void **state)
{
	uint8_t buf[FRAME_MAX_BYTES];
	struct pkt ack = {
		.type = PKT_ACK, .opcode = ROCE_RC_ACK, .psn = 7, .arg = 0xfffffe, .wire_bytes = 86, .flags = PKT_REVERSE
	};
	struct pkt poll = { .type = PKT_POLL, .id = 1, .arg = POLL_VICTIM, .wire_bytes = 90 };
	struct pkt data = { .type = PKT_DATA,
			    .opcode = ROCE_RC_WRITE_ONLY,
			    .psn = 300,
			    .payload_bytes = 6,
			    .wire_bytes = 106,
			    .flags = PKT_LAST };
	struct pkt_message message = { .va = 0x123456789abcdef0, .rkey = 0x55aa55aa, .dma_bytes = 6 };
	struct frame f;
	size_t size;

	f = through_bytes(&ack, &(struct pkt_message){ 0 }, false, buf, &size);
	assert_int_equal(f.dst_qpn, 0x123456); /* back to the sender's QP */
	assert_int_equal(f.msn, 0xfffffe);
	assert_int_equal(f.ecn, ECN_NOT_ECT);
	f = through_bytes(&poll, NULL, false, buf, &size);
	assert_int_equal(f.control_fields.src_ip, 0x0a000001);
	assert_int_equal(f.control_fields.dst_ip, 0x0a000002);
	assert_int_equal(f.control_fields.sport, 50001);
	assert_int_equal(f.control_fields.dport, ROCEV2_UDP_PORT);
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

/* Every bit of the BTH that has no field in a packet is kept by a frame. */
static void
flags_of_the_bth_return(void **state)
{
	(void)state;
	for (int bits = 0; bits < 16; bits++) {
		struct frame f, g;
		uint8_t buf[FRAME_MAX_BYTES];
		size_t size;

		frame_from_pkt(&f, &descriptors[0].pkt, &test_flow, &descriptors[0].message, false);
		f.solicited = bits & 1;
		f.migrated = bits >> 1 & 1;
		f.fecn = bits >> 2 & 1;
		f.becn = bits >> 3 & 1;
		size = frame_build(&f, buf, sizeof(buf));
		assert_int_equal(frame_parse(buf, size, &g), FRAME_OK);
		assert_int_equal(g.solicited, f.solicited);
		assert_int_equal(g.migrated, f.migrated);
		assert_int_equal(g.fecn, f.fecn);
		assert_int_equal(g.becn, f.becn);
	}
}

/* RFC 8200, 8.1: UDP's checksum is over both addresses too, and one of zero is sent as all ones. */
static void
control_packets_are_sealed(void **state)
{
	(void)state;
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		struct pkt p = { .type = PKT_POLL, .arg = POLL_VICTIM, .ttl = 64 };
		size_t ip_bytes = ipv6 ? 40 : 20, address_at = AT_IP + (ipv6 ? 8 : 12), at = AT_IP + ip_bytes;
		uint16_t checksum = 0;

		for (int turn = 0; turn < 2; turn++) {
			uint8_t buf[FRAME_MAX_BYTES];
			struct frame f;
			size_t size;

			p.id = checksum; /* which makes the second one's zero */
			frame_from_pkt(&f, &p, &test_flow, NULL, false);
			f.ipv6 = ipv6;
			size = frame_build(&f, buf, sizeof(buf));
			assert_int_equal(size, POLL_FRAME_BYTES + ip_bytes - 20);
			assert_int_equal(checksum_udp(checksum_add(0, buf + address_at, AT_IP + ip_bytes - address_at),
						      buf + at, size - at),
					 0);
			checksum = (uint16_t)(buf[at + 6] << 8 | buf[at + 7]);
			assert_true(turn == 0 ? checksum != 0 && checksum != 0xffff : checksum == 0xffff);
		}
	}
}

/* Offsets and values changed in sound frames, with the IP checksum put right where asked. */
static const struct {
	enum pkt_type type;
	size_t at;
	uint8_t value;
	bool fix;
	enum frame_error error;
} malformed[] = {
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
	{ PKT_UD, AT_BTH, 0x0c, false, FRAME_OPCODE }, /* READ request */
	{ PKT_UD, AT_BTH, 0x24, false, FRAME_OPCODE }, /* UC SEND ONLY */
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
	{ PKT_POLL, AT_BTH + 5, 8, false, FRAME_CONTROL_FORMAT },
	{ PKT_POLL, AT_BTH + 6, 6, false, FRAME_CONTROL_FORMAT }, /* protocol */
	{ PKT_POLL, AT_BTH + 7, 1, false, FRAME_CONTROL_FORMAT },
	{ PKT_POLL, AT_UDP + 3, (uint8_t)NOTIFY_UDP_PORT, false, FRAME_CONTROL_FORMAT },
	{ PKT_NOTIFY, AT_UDP + 3, (uint8_t)POLL_UDP_PORT, false, FRAME_CONTROL_FORMAT },
	{ PKT_NOTIFY, AT_BTH + 3, 0, false, FRAME_CONTROL_FORMAT },
	{ PKT_NOTIFY, AT_BTH + 4, 0, false, FRAME_CONTROL_FORMAT },
	{ PKT_NOTIFY, AT_BTH + 6, 1, false, FRAME_CONTROL_FORMAT },
};

static void
malformed_frames_are_named(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(malformed); i++) {
		static const uint8_t opcodes[PKT_TYPES] = {
			[PKT_ACK] = ROCE_RC_ACK, [PKT_CNP] = ROCE_CNP, [PKT_UD] = ROCE_UD_SEND_ONLY
		};
		struct pkt p = { .type = malformed[i].type, .opcode = opcodes[malformed[i].type], .arg = POLL_VICTIM };
		uint8_t buf[FRAME_MAX_BYTES];
		struct bytes frame;
		struct frame f;

		p.payload_bytes = malformed[i].type == PKT_UD ? 12 : 0;
		frame_from_pkt(&f, &p, &test_flow, &(struct pkt_message){ 0 }, false);
		frame = copy_of(buf, frame_build(&f, buf, sizeof(buf)));
		assert_int_equal(frame_parse(frame.data, frame.size, &f), FRAME_OK);
		frame.data[malformed[i].at] = malformed[i].value;
		if (malformed[i].fix)
			fix_ip_checksum(frame.data);
		if (frame_parse(frame.data, frame.size, &f) != malformed[i].error)
			fail_msg("case %zu: error %d", i, frame_parse(frame.data, frame.size, &f));
		free(frame.data);
	}
}

/* A consistent frame whose payload and pad are no whole number of words. */
static void
odd_lengths_are_refused(void **state)
{
	struct pkt p = { .type = PKT_UD, .opcode = ROCE_UD_SEND_ONLY, .payload_bytes = 12 };
	uint8_t buf[FRAME_MAX_BYTES];
	struct frame f;
	size_t size;

	frame_from_pkt(&f, &p, &test_flow, &(struct pkt_message){ 0 }, false);
	size = frame_build(&f, buf, sizeof(buf));
	for (uint8_t less = 1; less < 4; less++) {
		buf[AT_IP + 3]--;
		buf[AT_UDP + 5]--;
		fix_ip_checksum(buf);
		assert_int_equal(frame_parse(buf, size - less, &f), FRAME_ROCE_LENGTH);
	}
}

/* Consistent lengths of IP and UDP that end within any header: no byte behind is read, and nothing damaged is sound. */
static void
frames_may_end_within_any_header(void **state)
{
	uint32_t named = 0;

	for (size_t i = 0; i < ARRAY_LEN(descriptors); i++) {
		struct frame f;
		uint8_t buf[FRAME_MAX_BYTES];
		size_t size;

		frame_from_pkt(&f, &descriptors[i].pkt, &test_flow, &descriptors[i].message, false);
		size = frame_build(&f, buf, sizeof(buf));
		for (size_t end = 0; end < size; end++) {
			struct bytes cut = copy_of(buf, end);
			size_t total = end > AT_IP ? end - AT_IP : 0, datagram = end > AT_UDP ? end - AT_UDP : 0;

			if (end >= AT_UDP) {
				cut.data[AT_IP + 2] = (uint8_t)(total >> 8);
				cut.data[AT_IP + 3] = (uint8_t)total;
				fix_ip_checksum(cut.data);
			}
			if (end >= AT_BTH) {
				cut.data[AT_UDP + 4] = (uint8_t)(datagram >> 8);
				cut.data[AT_UDP + 5] = (uint8_t)datagram;
			}
			if (frame_parse(cut.data, end, &f) == FRAME_OK)
				assert_true(f.kind == FRAME_ROCE && f.corrupt);
			else
				named++;
			free(cut.data);
		}
	}
	assert_true(named > 1000);
	for (size_t end = AT_IP; end < AT_IP + 4; end++) { /* a tag without its end */
		uint8_t tagged[AT_IP + 4] = { [12] = 0x81 };
		struct bytes cut = copy_of(tagged, end);
		struct frame f;

		assert_int_equal(frame_parse(cut.data, end, &f), FRAME_SHORT);
		free(cut.data);
	}
}

static void
ethernet_padding_is_no_payload(void **state)
{
	struct pkt p = { .type = PKT_NOTIFY, .id = 3, .arg = 2 };
	uint8_t buf[FRAME_MAX_BYTES] = { 0 };
	struct frame f;

	frame_from_pkt(&f, &p, &test_flow, NULL, false);
	assert_int_equal(frame_build(&f, buf, sizeof(buf)), 58);
	assert_int_equal(frame_parse(buf, 60, &f), FRAME_OK);
	assert_int_equal(f.control_fields.arg, 2);
	assert_int_equal(frame_parse(buf, 61, &f), FRAME_LONG);
}

static void
what_cannot_be_encoded_is_not_built(void **state)
{
	uint8_t buf[FRAME_MAX_BYTES];
	const struct pkt unknown = { .type = PKT_UNKNOWN };
	struct frame f;

	frame_from_pkt(&f, &unknown, &test_flow, NULL, false);
	assert_int_equal(frame_build(&f, buf, sizeof(buf)), 0);
	f = (struct frame){ .opcode = 0x0c };
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
	f.ipv6 = true;
	assert_int_equal(frame_build(&f, buf, sizeof(buf) - 1), 0);
	assert_int_equal(frame_build(&f, buf, sizeof(buf)), FRAME_MAX_BYTES);
}

/* IBTA table 45: bit 7 of a syndrome, and the kind 2 of bits 5 and 6, are reserved. */
static void
reserved_syndromes_are_no_packets(void **state)
{
	static const struct {
		uint8_t syndrome;
		int rc;
		uint8_t type;
	} cases[] = { { 0x00, 0, PKT_ACK },  { AETH_ACK, 0, PKT_ACK }, { AETH_RNR_NAK, 0, PKT_NAK },
		      { 0x60, 0, PKT_NAK },  { 0x40, -ENOTSUP, 0 },    { 0x5f, -ENOTSUP, 0 },
		      { 0x80, -ENOTSUP, 0 }, { 0x9f, -ENOTSUP, 0 },    { 0xff, -ENOTSUP, 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct frame f = { .kind = FRAME_ROCE, .opcode = ROCE_RC_ACK, .syndrome = cases[i].syndrome, .msn = 7 };
		struct pkt p;

		assert_int_equal(frame_to_pkt(&f, &p), cases[i].rc);
		if (cases[i].rc != 0)
			continue;
		assert_int_equal(p.type, cases[i].type);
		assert_int_equal(p.syndrome, cases[i].syndrome);
		assert_int_equal(p.arg, 7);
		assert_true(p.flags & PKT_REVERSE);
	}
}

/* A polling packet that traces the path of the ACKs goes against its flow; one that traces the data's goes with it. */
static void
polls_have_their_direction(void **state)
{
	static const uint8_t flags[] = { POLL_VICTIM, POLL_VICTIM | POLL_BACK };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		struct frame f = { .kind = FRAME_CONTROL,
				   .control = control_of_type(PKT_POLL),
				   .control_fields = { .id = 3, .arg = flags[i] } };
		struct pkt p;

		assert_int_equal(frame_to_pkt(&f, &p), 0);
		assert_int_equal(p.type, PKT_POLL);
		assert_int_equal(p.id, 3);
		assert_int_equal((p.flags & PKT_REVERSE) != 0, i == 1);
	}
}

UNIT_TEST(frame)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_on_the_link),
		cmocka_unit_test(descriptors_return),
		cmocka_unit_test(a_tag_takes_the_place_of_the_class),
		cmocka_unit_test(victims_and_connections_are_named),
		cmocka_unit_test(flags_of_the_bth_return),
		cmocka_unit_test(control_packets_are_sealed),
		cmocka_unit_test(malformed_frames_are_named),
		cmocka_unit_test(odd_lengths_are_refused),
		cmocka_unit_test(frames_may_end_within_any_header),
		cmocka_unit_test(ethernet_padding_is_no_payload),
		cmocka_unit_test(what_cannot_be_encoded_is_not_built),
		cmocka_unit_test(reserved_syndromes_are_no_packets),
		cmocka_unit_test(polls_have_their_direction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
