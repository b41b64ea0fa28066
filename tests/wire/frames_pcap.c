/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes one frame of every kind that rocelab speaks to a pcapng file; "damaged": the same, each spoilt in one byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/units.h"
#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/frame/pcapng.h"
#include "dpswitch/edge/frame/pfc_frame.h"

static const struct flow flow = { .src_ip = 0x0a000001,
				  .dst_ip = 0x0a000002,
				  .sport = 50001,
				  .dport = 4791,
				  .src_qpn = 0x11,
				  .dst_qpn = 0x22,
				  .prio = 3 };

static const struct pkt_message write = {
	.write = true, .with_imm = true, .imm = 0xa1b2c3d4, .va = 0x0102030405060708, .rkey = 0x1234, .dma_bytes = 519
};
static const struct pkt_message write_first = { .write = true,
						.first = true,
						.with_imm = true,
						.imm = 0xa1b2c3d4,
						.va = 0x0102030405060708,
						.rkey = 0x1234,
						.dma_bytes = 519 };
static const struct pkt_message write_plain = { .write = true };
static const struct pkt_message write_plain_first = { .write = true, .first = true, .dma_bytes = 7 };
static const struct pkt_message send = { .with_imm = true, .imm = 5 };
static const struct pkt_message send_first = { .first = true, .with_imm = true, .imm = 5 };
static const struct pkt_message send_plain = { .write = false };
static const struct pkt_message send_plain_first = { .first = true };
static const struct pkt_message answer = { .msn = 9 };
static const struct pkt_message datagram = { .qkey = 0x11111111 };
static const struct pkt_message datagram_imm = { .qkey = 0x11111111, .with_imm = true, .imm = 6 };

static const struct {
	struct pkt pkt;
	const struct pkt_message *message;
} kinds[] = {
	{ { .type = PKT_DATA, .psn = 1, .payload_bytes = 256 }, &send_plain_first },
	{ { .type = PKT_DATA, .psn = 2, .payload_bytes = 256 }, &send },
	{ { .type = PKT_DATA, .psn = 3, .payload_bytes = 7, .flags = PKT_LAST }, &send_plain },
	{ { .type = PKT_DATA, .psn = 4, .payload_bytes = 7, .flags = PKT_LAST | PKT_ACKREQ }, &send },
	{ { .type = PKT_DATA, .psn = 5, .payload_bytes = 8, .flags = PKT_LAST }, &send_plain_first },
	{ { .type = PKT_DATA, .psn = 6, .payload_bytes = 5, .flags = PKT_LAST | PKT_ACKREQ }, &send_first },
	{ { .type = PKT_DATA, .psn = 7, .payload_bytes = 256 }, &write_first },
	{ { .type = PKT_DATA, .psn = 8, .payload_bytes = 256, .flags = PKT_CE }, &write },
	{ { .type = PKT_DATA, .psn = 9, .payload_bytes = 7, .flags = PKT_LAST }, &write_plain },
	{ { .type = PKT_DATA, .psn = 10, .payload_bytes = 7, .flags = PKT_LAST | PKT_ACKREQ }, &write },
	{ { .type = PKT_DATA, .psn = 11, .payload_bytes = 7, .flags = PKT_LAST }, &write_plain_first },
	{ { .type = PKT_DATA, .psn = 0xffffff, .payload_bytes = 1, .flags = PKT_LAST | PKT_ACKREQ }, &write_first },
	{ { .type = PKT_ACK, .psn = 12, .flags = PKT_REVERSE }, &answer },
	{ { .type = PKT_NAK, .psn = 13, .arg = AETH_NAK_SEQUENCE, .flags = PKT_REVERSE }, &answer },
	{ { .type = PKT_CNP, .flags = PKT_REVERSE }, &answer },
	{ { .type = PKT_UD, .psn = 14, .payload_bytes = 12, .flags = PKT_LAST }, &datagram },
	{ { .type = PKT_UD, .psn = 15, .payload_bytes = 12, .flags = PKT_LAST }, &datagram_imm },
	{ { .type = PKT_POLL, .psn = 0xdeadbeef, .arg = POLL_BOTH }, NULL },
	{ { .type = PKT_NOTIFY, .psn = 3, .arg = 2 }, NULL },
};

/* A byte that makes it something else: the low one of the destination port, or of the MAC Control opcode. */
#define DAMAGE_UDP 37
#define DAMAGE_VLAN 4
#define DAMAGE_PFC 15

int
main(int argc, char **argv)
{
	const struct pfc_fields pfc = { .class_enable = 0x88, .quanta = { 0, 0, 0, 0xffff, 0, 0, 0, 0 } };
	bool damaged = argc == 3 && strcmp(argv[2], "damaged") == 0;
	uint8_t bytes[FRAME_MAX_BYTES];
	struct pcapng *pcapng = argc >= 2 ? pcapng_create(argv[1], "frames_pcap", "every kind of frame") : NULL;
	uint64_t time_ps = 0;
	int rc = 0;

	if (pcapng == NULL) {
		perror("usage: frames_pcap FILE [damaged]");
		return 2;
	}
	pcapng_interface(pcapng, "frames", "", 0, 0);
	for (size_t i = 0; i < 2 * ARRAY_LEN(kinds); i++) { /* all untagged, then all tagged */
		struct pkt p = kinds[i % ARRAY_LEN(kinds)].pkt;
		bool tagged = i >= ARRAY_LEN(kinds);
		struct frame f;
		size_t size;

		p.prio = 3;
		p.ttl = PKT_TTL_INIT;
		frame_from_pkt(&f, &p, &flow, kinds[i % ARRAY_LEN(kinds)].message, tagged);
		size = frame_build(&f, bytes, sizeof(bytes));
		if (damaged)
			bytes[DAMAGE_UDP + (tagged ? DAMAGE_VLAN : 0)] ^= 0x40;
		rc |= size == 0;
		pcapng_frame(pcapng, 0, PCAPNG_OUTBOUND, time_ps += PS_PER_US, bytes, (uint32_t)size, (uint32_t)size);
	}
	pfc_frame_build(&pfc, bytes);
	if (damaged)
		bytes[DAMAGE_PFC] ^= 0x40;
	pcapng_frame(pcapng, 0, PCAPNG_OUTBOUND, time_ps += PS_PER_US, bytes, ETH_MIN_BYTES, ETH_MIN_BYTES);
	rc |= pcapng_destroy(pcapng);
	return rc == 0 ? 0 : 1;
}
