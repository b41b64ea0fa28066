/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A UD SEND ONLY WITH IMMEDIATE as bytes, from the IPv4 header to the ICRC, for a raw socket. The kernel gives address
 * handles the hop limit of its route and ignores the requested one (ib_resolve_unicast_gid_dmac()): no QP can send
 * packets of a traceroute. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rxe-hosts/device/device.h"

#define RAW_UD_BYTES (20 + 8 + 12 + 8 + 4 + DEVICE_UD_BYTES + 4) /* at most */

/* Fields of a raw UD SEND; host byte order. */
struct raw_ud {
	uint32_t src_ip, dst_ip;
	uint16_t sport, ip_id;
	uint8_t tos, ttl;
	uint32_t src_qpn, dst_qpn, qkey;
	uint32_t psn, imm;
	const void *contents;
	uint16_t bytes; /* of them: DEVICE_UD_BYTES at most */
};

/* @return bytes written; the header's checksum is right */
size_t raw_ud_build(uint8_t out[RAW_UD_BYTES], const struct raw_ud *ud);

/* ICMP time exceeded, as a raw socket shows it: from the outer IPv4 header on. Pure. */

/* The sender of the report, and the packet to RoCEv2's port that it concerns. Host byte order. */
struct icmp_expired {
	uint32_t from_ip;
	uint32_t src_ip, dst_ip;
	uint16_t sport;
	uint16_t ip_id;
};

/* @return false: it is something else, or of another packet, or not whole */
bool icmp_expired_read(struct icmp_expired *expired, const uint8_t *bytes, size_t size);
