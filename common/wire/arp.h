/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP for IPv4 over Ethernet (RFC 826), behind the Ethernet header. */
#pragma once

#include "common/wire/eth.h"
#include "common/wire/layout.h"

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

WIRE_AT(wire_arp, 0, hardware)
WIRE_AT(wire_arp, 2, protocol)
WIRE_AT(wire_arp, 4, hardware_bytes)
WIRE_AT(wire_arp, 5, protocol_bytes)
WIRE_AT(wire_arp, 6, operation)
WIRE_AT(wire_arp, 8, sender_mac)
WIRE_AT(wire_arp, 14, sender_ip)
WIRE_AT(wire_arp, 18, target_mac)
WIRE_AT(wire_arp, 24, target_ip)
WIRE_SIZE(wire_arp, 28)
