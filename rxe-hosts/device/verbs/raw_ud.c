/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/device/verbs/raw_ud.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "common/flow.h"
#include "common/wire/eth.h"
#include "common/wire/roce.h"
#include "dpswitch/edge/frame/checksum.h"

struct headers {
	struct wire_ipv4 ip;
	struct wire_udp udp;
	struct wire_bth bth;
	struct wire_deth deth;
	struct wire_immdt imm;
} __attribute__((packed));

_Static_assert(sizeof(struct headers) + DEVICE_UD_BYTES + ICRC_BYTES == RAW_UD_BYTES, "room for the longest");

static void
put24(uint8_t to[3], uint32_t value)
{
	to[0] = (uint8_t)(value >> 16);
	to[1] = (uint8_t)(value >> 8);
	to[2] = (uint8_t)value;
}

size_t
raw_ud_build(uint8_t out[RAW_UD_BYTES], const struct raw_ud *ud)
{
	uint32_t pad = -(uint32_t)ud->bytes & 3, icrc;
	size_t covered = sizeof(struct headers) + ud->bytes + pad;
	struct headers h = {
		.ip = { .version_ihl = IPV4_VERSION_IHL,
			.tos = ud->tos,
			.total_bytes = htobe16((uint16_t)(covered + ICRC_BYTES)),
			.id = htobe16(ud->ip_id),
			.fragment = htobe16(IPV4_DF),
			.ttl = ud->ttl,
			.protocol = IPV4_PROTOCOL_UDP,
			.src = htobe32(ud->src_ip),
			.dst = htobe32(ud->dst_ip) },
		.udp = { htobe16(ud->sport), htobe16(ROCEV2_UDP_PORT),
			 htobe16((uint16_t)(covered + ICRC_BYTES - sizeof(struct wire_ipv4))), 0 },
		.bth = { .opcode = ROCE_UD_SEND_ONLY_IMM,
			 .flags = (uint8_t)(pad << BTH_PAD_SHIFT),
			 .pkey = htobe16(BTH_PKEY_DEFAULT) },
		.deth = { .qkey = htobe32(ud->qkey) },
		.imm = { htobe32(ud->imm) },
	};

	assert(ud->bytes <= DEVICE_UD_BYTES);
	put24(h.bth.dst_qpn, ud->dst_qpn);
	put24(h.bth.psn, ud->psn);
	put24(h.deth.src_qpn, ud->src_qpn);
	h.ip.checksum = htobe16(checksum_fold(checksum_add(0, &h.ip, sizeof(h.ip))));
	memset(out, 0, RAW_UD_BYTES);
	memcpy(out, &h, sizeof(h));
	memcpy(out + sizeof(h), ud->contents, ud->bytes);
	icrc = htole32(icrc_compute(out, covered));
	memcpy(out + covered, &icrc, sizeof(icrc));
	return covered + ICRC_BYTES;
}

/* ICMP replies of switches where datagrams expire. */

/* @return bytes of an IPv4 header; 0: there is none whole */
static size_t
ip_header(struct wire_ipv4 *ip, const uint8_t *bytes, size_t size)
{
	size_t header_bytes;

	if (size < sizeof(*ip))
		return 0;
	memcpy(ip, bytes, sizeof(*ip));
	header_bytes = (ip->version_ihl & 0xf) * 4u;
	return ip->version_ihl >> 4 == 4 && header_bytes >= sizeof(*ip) && header_bytes <= size ? header_bytes : 0;
}

bool
icmp_expired_read(struct icmp_expired *expired, const uint8_t *bytes, size_t size)
{
	struct wire_icmp_expired icmp;
	struct wire_ipv4 outer, quoted;
	struct wire_udp udp;
	size_t at = ip_header(&outer, bytes, size), inner;

	if (at == 0 || outer.protocol != IPV4_PROTOCOL_ICMP || size - at < sizeof(icmp))
		return false;
	memcpy(&icmp, bytes + at, sizeof(icmp));
	at += sizeof(icmp);
	inner = ip_header(&quoted, bytes + at, size - at);
	if (icmp.type != ICMP_TIME_EXCEEDED || icmp.code != 0 || inner == 0 || quoted.protocol != IPV4_PROTOCOL_UDP ||
	    size - at - inner < sizeof(udp))
		return false;
	memcpy(&udp, bytes + at + inner, sizeof(udp));
	*expired = (struct icmp_expired){
		.from_ip = be32toh(outer.src),
		.src_ip = be32toh(quoted.src),
		.dst_ip = be32toh(quoted.dst),
		.sport = be16toh(udp.sport),
		.ip_id = be16toh(quoted.id),
	};
	return be16toh(udp.dport) == ROCEV2_UDP_PORT;
}
