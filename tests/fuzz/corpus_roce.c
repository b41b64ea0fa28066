/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/corpus.h"

#include <stdint.h>
#include <string.h>

#include "common/array.h"

/* Frames as IEEE 802.1Qbb and the InfiniBand specification's RoCEv2 annex lay them out; checksums left zero. */
bool
roce_seeds(const char *folder)
{
	static const struct {
		const char *name;
		uint8_t opcode;
		uint8_t body_bytes; /* extended headers, payload, ICRC */
	} frames[] = {
		{ "write_first", 0x06, 16 + 32 + 4 },
		{ "write_middle", 0x07, 32 + 4 },
		{ "write_last_imm", 0x09, 4 + 32 + 4 },
		{ "write_only_imm", 0x0b, 20 + 32 + 4 },
		{ "send_only_imm", 0x05, 4 + 32 + 4 },
		{ "ack", 0x11, 4 + 4 },
		{ "cnp", 0x81, 16 + 4 },
		{ "ud_send_only", 0x64, 8 + 32 + 4 },
	};
	static const uint8_t ethernet[] = { 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00 };
	static const uint8_t pause[64] = { 0x01, 0x80, 0xc2, 0, 0,    0x01, 2, 0, 0, 0, 0, 1,    0x88,
					   0x08, 0x01, 0x01, 0, 0x08, 0,    0, 0, 0, 0, 0, 0xff, 0xff };

	for (size_t i = 0; i < ARRAY_LEN(frames); i++) {
		uint16_t ip_bytes = (uint16_t)(20 + 8 + 12 + frames[i].body_bytes), udp_bytes = (uint16_t)(ip_bytes - 20);
		uint8_t ip[20] = { 0x45, 0x6a, 0, 0, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2 }; /* ECT(0) */
		uint8_t udp[] = { 0xc0, 0, 0x12, 0xb7, (uint8_t)(udp_bytes >> 8), (uint8_t)udp_bytes, 0, 0 }; /* to 4791 */
		uint8_t bth[] = { frames[i].opcode, 0x40, 0xff, 0xff, 0, 0, 0, 0x11, 0x80, 0, 0, 7 }; /* AckReq, PSN 7 */
		uint8_t frame[256] = { 0 };

		ip[2] = (uint8_t)(ip_bytes >> 8);
		ip[3] = (uint8_t)ip_bytes;
		memcpy(frame, ethernet, sizeof(ethernet));
		memcpy(frame + 14, ip, sizeof(ip));
		memcpy(frame + 34, udp, sizeof(udp));
		memcpy(frame + 42, bth, sizeof(bth));
		if (!write_seed(folder, frames[i].name, frame, 14u + ip_bytes))
			return false;
	}
	return write_seed(folder, "pause", pause, sizeof(pause));
}
