/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ethernet II, 802.1Q, IPv4 (RFC 791), IPv6 (RFC 8200) and UDP (RFC 768) headers as they stand in a frame, and what a
 * frame costs.
 */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"

/* Network byte order: convert with <endian.h>. */
typedef uint16_t wire_be16;
typedef uint32_t wire_be32;
typedef uint64_t wire_be64;

#define ETH_ADDR_BYTES 6
#define ETH_TYPE_IPV4 0x0800
#define ETH_TYPE_ARP 0x0806
#define ETH_TYPE_IPV6 0x86dd
#define ETH_TYPE_VLAN 0x8100
#define ETH_TYPE_MAC_CONTROL 0x8808
#define ETH_MIN_BYTES 60 /* shortest frame without FCS; the MAC pads up to it */
#define ETH_FCS_BYTES 4
#define ETH_PREAMBLE_BYTES 8 /* with the start delimiter */
#define ETH_GAP_BYTES 12     /* inter-frame gap */

struct wire_eth {
	uint8_t dst[ETH_ADDR_BYTES], src[ETH_ADDR_BYTES];
	wire_be16 type;
} __attribute__((packed));

WIRE_AT(wire_eth, 0, dst)
WIRE_AT(wire_eth, 6, src)
WIRE_AT(wire_eth, 12, type)
WIRE_SIZE(wire_eth, 14)

/* 802.1Q: follows the source address, in place of the type. */
struct wire_vlan {
	wire_be16 tci; /* PCP 3 bits, DEI 1, VID 12 */
	wire_be16 type;
} __attribute__((packed));

WIRE_AT(wire_vlan, 0, tci)
WIRE_AT(wire_vlan, 2, type)
WIRE_SIZE(wire_vlan, 4)

#define VLAN_PCP_SHIFT 13

struct wire_ipv4 {
	uint8_t version_ihl;
	uint8_t tos; /* DSCP 6 bits, ECN 2 */
	wire_be16 total_bytes;
	wire_be16 id;
	wire_be16 fragment;
	uint8_t ttl;
	uint8_t protocol;
	wire_be16 checksum;
	wire_be32 src, dst;
} __attribute__((packed));

WIRE_AT(wire_ipv4, 0, version_ihl)
WIRE_AT(wire_ipv4, 1, tos)
WIRE_AT(wire_ipv4, 2, total_bytes)
WIRE_AT(wire_ipv4, 4, id)
WIRE_AT(wire_ipv4, 6, fragment)
WIRE_AT(wire_ipv4, 8, ttl)
WIRE_AT(wire_ipv4, 9, protocol)
WIRE_AT(wire_ipv4, 10, checksum)
WIRE_AT(wire_ipv4, 12, src)
WIRE_AT(wire_ipv4, 16, dst)
WIRE_SIZE(wire_ipv4, 20)

#define IPV4_VERSION_IHL 0x45 /* version 4, no options */
#define IPV4_DF 0x4000
#define IPV4_PROTOCOL_ICMP 1
#define IPV4_PROTOCOL_TCP 6
#define IPV4_PROTOCOL_UDP 17

struct wire_ipv6 {
	wire_be32 version_class_label; /* 4 bits, traffic class 8 (DSCP, ECN), flow label 20 */
	wire_be16 payload_bytes;
	uint8_t next_header, hop_limit;
	uint8_t src[16], dst[16];
} __attribute__((packed));

WIRE_AT(wire_ipv6, 0, version_class_label)
WIRE_AT(wire_ipv6, 4, payload_bytes)
WIRE_AT(wire_ipv6, 6, next_header)
WIRE_AT(wire_ipv6, 7, hop_limit)
WIRE_AT(wire_ipv6, 8, src)
WIRE_AT(wire_ipv6, 24, dst)
WIRE_SIZE(wire_ipv6, 40)

enum ip_ecn { ECN_NOT_ECT = 0, ECN_ECT1 = 1, ECN_ECT0 = 2, ECN_CE = 3 };

struct wire_udp {
	wire_be16 sport, dport;
	wire_be16 total_bytes; /* with this header */
	wire_be16 checksum;
} __attribute__((packed));

WIRE_AT(wire_udp, 0, sport)
WIRE_AT(wire_udp, 2, dport)
WIRE_AT(wire_udp, 4, total_bytes)
WIRE_AT(wire_udp, 6, checksum)
WIRE_SIZE(wire_udp, 8)

/*
 * ICMP time exceeded; the expired packet follows, from its IPv4 header on (RFC 792; as much of it as fits: RFC 1812,
 * 4.3.2.3).
 */
struct wire_icmp_expired {
	uint8_t type, code; /* ICMP_TIME_EXCEEDED, 0: in transit */
	wire_be16 checksum; /* of all of the message */
	wire_be32 unused;
} __attribute__((packed));

WIRE_AT(wire_icmp_expired, 0, type)
WIRE_AT(wire_icmp_expired, 2, checksum)
WIRE_AT(wire_icmp_expired, 4, unused)
WIRE_SIZE(wire_icmp_expired, 8)

#define ICMP_TIME_EXCEEDED 11
#define EXPIRED_LEAST_BYTES 28 /* quoted at least: the IPv4 header, and 8 bytes of its payload */

/* Bytes of link time that a frame (without FCS) takes: padding, FCS, preamble and gap included. */
static inline uint32_t
eth_wire_bytes(uint32_t frame_bytes)
{
	uint32_t padded = frame_bytes < ETH_MIN_BYTES ? ETH_MIN_BYTES : frame_bytes;

	return ETH_PREAMBLE_BYTES + padded + ETH_FCS_BYTES + ETH_GAP_BYTES;
}

/* ARP for IPv4 over Ethernet (RFC 826), behind the Ethernet header. */

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

/* Priority-based Flow Control frame: a MAC Control frame (IEEE 802.3 clause 31, 802.1Q clause 36, once 802.1Qbb). */

#define PFC_OPCODE 0x0101
#define PFC_CLASSES 8
#define PFC_QUANTUM_BITS 512 /* a pause quantum is the time of this number of bits */
#define PFC_QUANTA_MAX 0xffff

/* 60 bytes; the MAC appends the FCS: 64 on the link, 84 with preamble and gap. */
struct wire_pfc {
	struct wire_eth eth; /* to PFC_DST, type ETH_TYPE_MAC_CONTROL */
	wire_be16 opcode;
	wire_be16 class_enable;        /* bit i: quanta[i] is meant; upper byte zero */
	wire_be16 quanta[PFC_CLASSES]; /* 0: resume */
	uint8_t pad[26];               /* zero */
} __attribute__((packed));

WIRE_AT(wire_pfc, 0, eth)
WIRE_AT(wire_pfc, 14, opcode)
WIRE_AT(wire_pfc, 16, class_enable)
WIRE_AT(wire_pfc, 18, quanta)
WIRE_AT(wire_pfc, 34, pad)
WIRE_SIZE(wire_pfc, 60)

#define PFC_DST                                                                                                            \
	{                                                                                                                  \
		0x01, 0x80, 0xc2, 0x00, 0x00, 0x01                                                                         \
	} /* never forwarded */
