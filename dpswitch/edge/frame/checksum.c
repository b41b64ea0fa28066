/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/frame/checksum.h"

#include <assert.h>
#include <endian.h>
#include <isa-l/crc.h>
#include <string.h>

#include "common/wire/roce.h"

#define LRH_BYTES 8

/*
 * The masked head of the bytes that the ICRC covers: ones for a link header, which RoCE lacks, and headers whose
 * mutable fields are ones. The rest of the packet is covered as it is.
 */
struct masked_ipv4 {
	uint8_t lrh[LRH_BYTES];
	struct wire_ipv4 ip;
	struct wire_udp udp;
	struct wire_bth bth;
} __attribute__((packed));

struct masked_ipv6 {
	uint8_t lrh[LRH_BYTES];
	struct wire_ipv6 ip;
	struct wire_udp udp;
	struct wire_bth bth;
} __attribute__((packed));

_Static_assert(sizeof(struct masked_ipv4) - LRH_BYTES == ICRC_MASKED_BYTES, "the masked part");

static uint32_t
finish(const void *head, size_t head_bytes, const uint8_t *ip, size_t covered_bytes)
{
	size_t masked_bytes = head_bytes - LRH_BYTES;

	return crc32_gzip_refl(crc32_gzip_refl(0, head, head_bytes), ip + masked_bytes, covered_bytes - masked_bytes);
}

static uint32_t
compute_ipv6(const uint8_t *ip, size_t covered_bytes)
{
	struct masked_ipv6 head;

	assert(covered_bytes >= sizeof(head) - LRH_BYTES);
	memset(head.lrh, 0xff, sizeof(head.lrh));
	memcpy(&head.ip, ip, sizeof(head) - LRH_BYTES);
	head.ip.version_class_label |= htobe32(0x0fffffff); /* traffic class and flow label */
	head.ip.hop_limit = 0xff;
	head.udp.checksum = 0xffff;
	head.bth.congestion = 0xff;
	return finish(&head, sizeof(head), ip, covered_bytes);
}

uint32_t
icrc_compute(const uint8_t *ip, size_t covered_bytes)
{
	struct masked_ipv4 head;

	if (ip[0] >> 4 == 6)
		return compute_ipv6(ip, covered_bytes);
	assert(covered_bytes >= ICRC_MASKED_BYTES);
	memset(head.lrh, 0xff, sizeof(head.lrh));
	memcpy(&head.ip, ip, ICRC_MASKED_BYTES);
	head.ip.tos = 0xff;
	head.ip.ttl = 0xff;
	head.ip.checksum = 0xffff;
	head.udp.checksum = 0xffff;
	head.bth.congestion = 0xff;
	return finish(&head, sizeof(head), ip, covered_bytes);
}
