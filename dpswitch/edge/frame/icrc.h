/* SPDX-License-Identifier: BSD-3-Clause */
/* The invariant CRC of RoCEv2 (IBTA volume 1, 7.8.1 and Annex A17.3.3) over IPv4 and IPv6. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* IPv4, UDP and BTH: the part in which fields are masked. */
#define ICRC_MASKED_BYTES 40

/*
 * CRC-32 over 8 bytes of ones (the LRH that RoCE has not), then the packet with everything that may change on the way
 * replaced by ones: TOS, TTL and checksum of the IP header, or traffic class, flow label and hop limit, the UDP checksum, byte 4 of the
 * BTH.
 * @param ip             first byte of an IPv4 header without options, or of an IPv6 header
 * @param covered_bytes  from there to the end of payload and pad: at least ICRC_MASKED_BYTES, of IPv6 20 more
 * @return to be stored behind them, least significant byte first
 */
uint32_t icrc_compute(const uint8_t *ip, size_t covered_bytes);
