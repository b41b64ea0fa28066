/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes one frame of every kind that rocelab speaks to a pcapng file; "damaged": the same, each spoilt in one byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/units.h"
#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/frame/pcapng.h"

static const struct flow flow = { .src_ip = 0x0a000001,
				  .dst_ip = 0x0a000002,
				  .sport = 50001,
				  .dport = 4791,
				  .src_qpn = 0x11,
				  .dst_qpn = 0x22,
				  .prio = 3 };

static const struct pkt_message memory = { .va = 0x0102030405060708, .rkey = 0x1234, .dma_bytes = 519 };
static const struct pkt_message short_memory = { .dma_bytes = 7 };
static const struct pkt_message none = { 0 };
static const struct pkt_message datagram = { .qkey = 0x11111111 };

/* A data segment, an answer, a datagram. */
#define DATA(op, number, bytes, ...)                                                                                       \
	{                                                                                                                  \
		.type = PKT_DATA, .opcode = ROCE_RC_##op, .psn = number, .payload_bytes = bytes, __VA_ARGS__               \
	}
#define ANSWER(kind, number, aeth)                                                                                         \
	{                                                                                                                  \
		.type = kind, .opcode = ROCE_RC_ACK, .psn = number, .syndrome = aeth, .arg = 9, .flags = PKT_REVERSE       \
	}
#define DATAGRAM(op, number, imm)                                                                                          \
	{                                                                                                                  \
		.type = PKT_UD, .opcode = ROCE_UD_##op, .psn = number, .arg = imm, .payload_bytes = 12, .flags = PKT_LAST  \
	}

static const struct {
	struct pkt pkt;
	const struct pkt_message *message;
} kinds[] = {
	{ DATA(SEND_FIRST, 1, 256), &none },
	{ DATA(SEND_MIDDLE, 2, 256), &none },
	{ DATA(SEND_LAST, 3, 7, .flags = PKT_LAST), &none },
	{ DATA(SEND_LAST_IMM, 4, 7, .arg = 5, .flags = PKT_LAST | PKT_ACKREQ), &none },
	{ DATA(SEND_ONLY, 5, 8, .flags = PKT_LAST), &none },
	{ DATA(SEND_ONLY_IMM, 6, 5, .arg = 5, .flags = PKT_LAST | PKT_ACKREQ), &none },
	{ DATA(WRITE_FIRST, 7, 256), &memory },
	{ DATA(WRITE_MIDDLE, 8, 256, .flags = PKT_CE), &memory },
	{ DATA(WRITE_LAST, 9, 7, .flags = PKT_LAST), &memory },
	{ DATA(WRITE_LAST_IMM, 10, 7, .arg = 0xa1b2c3d4, .flags = PKT_LAST | PKT_ACKREQ), &memory },
	{ DATA(WRITE_ONLY, 11, 7, .flags = PKT_LAST), &short_memory },
	{ DATA(WRITE_ONLY_IMM, 0xffffff, 1, .arg = 0xa1b2c3d4, .flags = PKT_LAST | PKT_ACKREQ), &memory },
	{ ANSWER(PKT_ACK, 12, AETH_ACK), &none },
	{ ANSWER(PKT_NAK, 13, AETH_NAK_SEQUENCE), &none },
	{ { .type = PKT_CNP, .opcode = ROCE_CNP, .flags = PKT_REVERSE }, &none },
	{ DATAGRAM(SEND_ONLY, 14, 0), &datagram },
	{ DATAGRAM(SEND_ONLY_IMM, 15, 6), &datagram },
	{ { .type = PKT_POLL, .id = 0xdeadbeef, .arg = POLL_BOTH }, NULL },
	{ { .type = PKT_NOTIFY, .id = 3, .arg = 2 }, NULL },
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
