/* SPDX-License-Identifier: BSD-3-Clause */
/* The internet checksum (RFC 1071) of IPv4 headers, and of UDP datagrams in IPv4 and IPv6. */
#pragma once

#include <endian.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/eth.h"

/* Adds bytes to a running sum; only the last call may have an odd size. Start with 0. */
static inline uint32_t
checksum_add(uint32_t sum, const void *data, size_t size_bytes)
{
	const uint8_t *p = data;
	size_t i;

	for (i = 0; i + 1 < size_bytes; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	return i < size_bytes ? sum + ((uint32_t)p[i] << 8) : sum;
}

/* @return the one's complement, host byte order; 0 over a header that includes a right checksum */
static inline uint16_t
checksum_fold(uint32_t sum)
{
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)~sum;
}

/* Over pseudo header and datagram (its checksum field included as it stands). @param addresses  checksum_add() of both */
static inline uint16_t
checksum_udp(uint32_t addresses, const void *udp, size_t udp_bytes)
{
	return checksum_fold(checksum_add(addresses + IPV4_PROTOCOL_UDP + (uint32_t)udp_bytes, udp, udp_bytes));
}

/* The invariant CRC of RoCEv2 (IBTA volume 1, 7.8.1 and Annex A17.3.3) over IPv4 and IPv6. */

/* IPv4, UDP and BTH: the part in which fields are masked. */
#define ICRC_MASKED_BYTES 40

/*
 * CRC-32 over 8 bytes of ones (the LRH that RoCE has not), then the packet with all fields that may change on the path
 * replaced by ones: TOS, TTL and checksum of the IP header, or traffic class, flow label and hop limit, the UDP
 * checksum, byte 4 of the BTH.
 * @param ip             first byte of an IPv4 header without options, or of an IPv6 header
 * @param covered_bytes  from there to the end of payload and pad: at least ICRC_MASKED_BYTES, of IPv6 20 more
 * @return to be stored behind them, least significant byte first
 */
uint32_t icrc_compute(const uint8_t *ip, size_t covered_bytes);
