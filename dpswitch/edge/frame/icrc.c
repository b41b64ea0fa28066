/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/frame/icrc.h"

#include <assert.h>
#include <isa-l/crc.h>
#include <string.h>

#include "common/wire/roce.h"

#define LRH_BYTES 8

_Static_assert(sizeof(struct wire_ipv4) + sizeof(struct wire_udp) + sizeof(struct wire_bth) == ICRC_MASKED_BYTES,
	       "the masked part");

uint32_t
icrc_compute(const uint8_t *ip, size_t covered_bytes)
{
	struct {
		uint8_t lrh[LRH_BYTES];
		struct wire_ipv4 ip;
		struct wire_udp udp;
		struct wire_bth bth;
	} __attribute__((packed)) head;

	assert(covered_bytes >= ICRC_MASKED_BYTES);
	memset(head.lrh, 0xff, sizeof(head.lrh));
	memcpy(&head.ip, ip, ICRC_MASKED_BYTES);
	head.ip.tos = 0xff;
	head.ip.ttl = 0xff;
	head.ip.checksum = 0xffff;
	head.udp.checksum = 0xffff;
	head.bth.congestion = 0xff;
	return crc32_gzip_refl(crc32_gzip_refl(0, (const uint8_t *)&head, sizeof(head)), ip + ICRC_MASKED_BYTES,
			       covered_bytes - ICRC_MASKED_BYTES);
}
