/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fields of a frame, in host byte order. Parsing and deparsing are each other's inverse: a frame that parses and is
 * built again has the same bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/control.h"
#include "common/flow.h"
#include "common/pkt.h"
#include "common/wire/eth.h"
#include "common/wire/roce.h"
#include "dpswitch/fabric/body.h"

/* Longest frame that is built: tagged, IPv6, WRITE ONLY with immediate, a full path MTU. */
#define FRAME_MAX_BYTES 4198

/*
 * FRAME_EXPIRED: ICMP time exceeded with a RoCE frame in it, whose addresses are in control_fields; built alone, parsed
 * as FRAME_NOT_UDP.
 */
enum frame_kind { FRAME_ROCE, FRAME_CONTROL, FRAME_EXPIRED };

/* Why bytes are no frame of ours. Each is a named drop reason. */
enum frame_error {
	FRAME_OK,
	FRAME_SHORT,     /* ends within a header, or before the length that a header states */
	FRAME_LONG,      /* bytes behind the IP packet that are not Ethernet padding */
	FRAME_NOT_IPV4,  /* another EtherType */
	FRAME_IP_HEADER, /* not version 4, or with options */
	FRAME_IP_CHECKSUM,
	FRAME_FRAGMENT,
	FRAME_NOT_UDP,
	FRAME_UDP_LENGTH, /* disagrees with the IP length */
	FRAME_UDP_PORT,   /* none of ours */
	FRAME_BTH_VERSION,
	FRAME_OPCODE,         /* valid InfiniBand perhaps, but not spoken here */
	FRAME_ROCE_LENGTH,    /* payload too long, missing, or where the opcode has none; pad count against it */
	FRAME_CONTROL_FORMAT, /* control packet: magic, version, length or a reserved field */
	FRAME_ERRORS
};

struct frame {
	/* Ethernet */
	uint8_t dst_mac[ETH_ADDR_BYTES], src_mac[ETH_ADDR_BYTES];
	bool tagged;  /* has an 802.1Q tag */
	uint16_t tci; /* of the tag */
	/* IPv4 or IPv6, UDP */
	bool ipv6; /* addresses and flow label by common/ipv6.h; built alone, parsed as FRAME_NOT_IPV4 */
	uint8_t dscp, ecn, ttl;
	uint16_t ip_id;
	bool dont_fragment;
	uint32_t src_ip, dst_ip;
	uint16_t sport;
	enum frame_kind kind; /* the destination port */
	bool corrupt;         /* ICRC (RoCE) or UDP checksum (control) does not match; when building: is to be wrong */
	/* RoCE: BTH and what the opcode carries, see roce_headers() */
	uint8_t opcode;
	bool solicited, migrated, fecn, becn, ackreq;
	uint16_t pkey;
	uint32_t dst_qpn, psn;
	uint64_t va;
	uint32_t rkey, dma_bytes;
	uint8_t syndrome;
	uint32_t msn;
	uint32_t qkey, src_qpn;
	uint32_t imm;
	bool quotes_least;      /* FRAME_EXPIRED: IP header and 8 bytes (RFC 792); else all that expired */
	const uint8_t *payload; /* parsing: within the input; building: NULL for the synthetic pattern */
	uint32_t payload_bytes;
	/* control packets */
	const struct control_kind *control;
	struct control control_fields;
};

/*
 * Reads a frame without its FCS. Strict on lengths, versions and pad counts; never reads behind size_bytes.
 * @param f  filled up to the first error
 * @return FRAME_OK also for a frame whose ICRC or checksum is wrong: f->corrupt is set then
 */
enum frame_error frame_parse(const uint8_t *bytes, size_t size_bytes, struct frame *f);

/*
 * Writes a frame, ready for the wire but for FCS and padding to 60 bytes, which a MAC adds.
 * @return its size; 0 if it does not fit cap_bytes, or rocelab does not speak its opcode, or not with so
 *         much payload
 */
size_t frame_build(const struct frame *f, uint8_t *bytes, size_t cap_bytes);

/* Link time of the frame in bytes, preamble, padding, FCS and gap included; 0 if frame_build() would refuse it. */
uint32_t frame_wire_bytes(const struct frame *f);

/* Byte i of a synthetic payload: derived from the PSN, so that a retransmission carries the same bytes. */
static inline uint8_t
frame_pattern(uint32_t psn, uint32_t i)
{
	return (uint8_t)(psn + i);
}

/*
 * Says in header fields what a descriptor means. DSCP and the 802.1Q tag's PCP carry the priority (DSCP = 8 * prio:
 * class selectors); the DSCP of measured data is its tag instead (common/tag.h). ECN the CE flag, BECN the echo of an
 * ACK; MAC addresses are made of the IPs, the IP id of the PSN.
 * @param flow    the descriptor's own; of a polling packet, the victim
 * @param tagged  with an 802.1Q tag (VID 0: priority tag)
 */
void frame_from_pkt(struct frame *f, const struct pkt *p, const struct flow *flow, const struct pkt_message *message,
		    bool tagged);

/*
 * The inverse: everything but flow, message, time_ps and the switch's own members, which are set to 0; so is the
 * priority of measured data, unless an 802.1Q tag has it. The flow is the caller's to find by addresses, source port
 * and, for RoCE, QPN.
 * @return 0; -ENOTSUP for an AETH that is neither ACK nor NAK
 */
int frame_to_pkt(const struct frame *f, struct pkt *p);

/* PFC frames as bytes; inside the fabric they are struct pause_frame. */

struct pfc_fields {
	uint8_t src_mac[ETH_ADDR_BYTES];
	uint8_t class_enable;         /* bit i: quanta[i] is meant */
	uint16_t quanta[PFC_CLASSES]; /* PFC_QUANTUM_BITS bit times; 0: resume */
};

/* Writes a frame without FCS. Quanta of classes that are not enabled are written as 0. */
void pfc_frame_build(const struct pfc_fields *fields, uint8_t bytes[ETH_MIN_BYTES]);

/*
 * @param size_bytes  without FCS; longer than 60 bytes is not a PFC frame
 * @return 0; -ENOENT if it is not MAC Control with the PFC opcode; -EBADMSG if it is, but too short or too long, not
 *         to the MAC Control address, or with a bit set in the upper half of the class enable vector
 */
int pfc_frame_parse(const uint8_t *bytes, size_t size_bytes, struct pfc_fields *fields);
