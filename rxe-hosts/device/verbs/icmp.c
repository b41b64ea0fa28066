/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/device/verbs/icmp.h"

#include <endian.h>
#include <string.h>

#include "common/flow.h"
#include "common/wire/eth.h"

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
