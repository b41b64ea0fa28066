/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMP time exceeded, as a raw socket shows it: from the outer IPv4 header on. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who says so, and of which packet to RoCEv2's port. Host byte order. */
struct icmp_expired {
	uint32_t from_ip;
	uint32_t src_ip, dst_ip;
	uint16_t sport;
	uint16_t ip_id;
};

/* @return false: it is something else, or of another packet, or not whole */
bool icmp_expired_read(struct icmp_expired *expired, const uint8_t *bytes, size_t size);
