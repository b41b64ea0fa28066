/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP for IPv4 over Ethernet (RFC 826), behind the Ethernet header. */
#pragma once

#include "common/wire/eth.h"

#define ARP_HARDWARE_ETHERNET 1
#define ARP_REQUEST 1
#define ARP_REPLY 2

struct wire_arp {
	wire_be16 hardware, protocol; /* ARP_HARDWARE_ETHERNET, ETH_TYPE_IPV4 */
	uint8_t hardware_bytes, protocol_bytes;
	wire_be16 operation;
	uint8_t sender_mac[ETH_ADDR_BYTES];
	wire_be32 sender_ip;
	uint8_t target_mac[ETH_ADDR_BYTES];
	wire_be32 target_ip;
} __attribute__((packed));

_Static_assert(sizeof(struct wire_arp) == 28, "layout");
