/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts that speak IPv6 (host.ip_version): their addresses are made of those of IPv4, by which everything else names
 * them, and what they send has a flow label. ACKs have one of their own.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "common/flow.h"
#include "common/prng.h"

#define IPV6_ADDR_BYTES 16
#define IPV6_LABEL_BITS 20
#define IPV6_PORT_BITS 14 /* of the label, that go into the UDP source port as they are */

/* a.b.c.d is fd72:6f63:656c:6162::a.b.c.d, a unique local address (RFC 4193). */
static inline void
ipv6_of(uint8_t address[IPV6_ADDR_BYTES], uint32_t ip)
{
	static const uint8_t network[IPV6_ADDR_BYTES] = { 0xfd, 'r', 'o', 'c', 'e', 'l', 'a', 'b' };

	memcpy(address, network, sizeof(network));
	for (int i = 0; i < 4; i++)
		address[12 + i] = (uint8_t)(ip >> (24 - 8 * i));
}

/*
 * The flow label of a flow, whose destination port is RoCEv2's in all its frames: a hash of the rest, the same for all
 * packets of a flow (RFC 6437, section 3), in the six upper bits; the lower ones are such that a RoCEv2 device that is
 * given this label has this source port, of those that devices have (IBTA annex A17.9.2; verbs_label_sport()). Never 0,
 * which is no label.
 */
static inline uint32_t
ipv6_flow_label(uint32_t src_ip, uint32_t dst_ip, uint16_t sport)
{
	uint32_t port = sport, mask = (1u << IPV6_PORT_BITS) - 1;
	uint64_t tuple = prng_mix((uint64_t)src_ip << 32 | dst_ip) ^ port;
	uint32_t upper = (uint32_t)(prng_mix(tuple) >> (64 - (IPV6_LABEL_BITS - IPV6_PORT_BITS)));
	uint32_t label = upper << IPV6_PORT_BITS | ((port ^ upper) & mask);

	return label != 0 ? label : 1u << IPV6_PORT_BITS | 1;
}
