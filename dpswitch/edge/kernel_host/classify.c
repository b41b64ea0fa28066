/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/kernel_host/classify.h"

#include <stdbool.h>
#include <string.h>

#include "common/control.h"
#include "common/flow.h"
#include "common/tag.h"
#include "common/wire/roce.h"
#include "dpswitch/edge/frame/checksum.h"

#define IPV4_FRAGMENT_MASK 0x3fff /* more fragments, offset */
#define PORTS_BYTES 4

static uint16_t
get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

/* A header whose checksum is right sums up to all ones, whatever the order of the bytes (RFC 1071, 2 B). */
static bool
header_is_right(const uint8_t *ip, size_t header_bytes)
{
	uint64_t sum = 0;

	for (size_t at = 0; at < header_bytes; at += 4) {
		uint32_t word;

		memcpy(&word, ip + at, sizeof(word));
		sum += word;
	}
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return sum == 0xffff;
}

static uint32_t
get32(const uint8_t *at)
{
	return (uint32_t)get16(at) << 16 | get16(at + 2);
}

/* BTH and the sizes around it. A packet that is not spoken here travels all the same. */
static void
classify_roce(const uint8_t *bth, size_t left_bytes, uint8_t tos, struct classified *c)
{
	struct pkt *p = &c->p;
	uint8_t opcode = bth[0];
	int headers = roce_headers(opcode);
	uint32_t pad_bytes = (bth[1] & BTH_PAD_MASK) >> BTH_PAD_SHIFT, around_bytes;

	p->type = PKT_UNKNOWN;
	p->opcode = opcode;
	if (headers < 0)
		return;
	around_bytes = roce_frame_bytes(opcode, 0) -
		       (uint32_t)(sizeof(struct wire_eth) + sizeof(struct wire_ipv4) + sizeof(struct wire_udp)) + pad_bytes;
	if (left_bytes < around_bytes)
		return;
	p->psn = get32(bth + 8) & ROCE_24BIT_MASK;
	p->payload_bytes = (uint16_t)(left_bytes - around_bytes);
	p->flags |= (bth[8] & BTH_ACKREQ ? PKT_ACKREQ : 0) | ((tos & 3) == ECN_CE ? PKT_CE : 0);
	p->tag = roce_is_rc_data(opcode) ? tag_of_dscp(tos >> 2) : 0;
	c->mark = tag_is(p->tag) ? 0 : c->mark;
	switch (opcode) {
	case ROCE_RC_ACK:
		p->type = (bth[sizeof(struct wire_bth)] & AETH_KIND_MASK) == 0 ? PKT_ACK : PKT_NAK;
		p->syndrome = bth[sizeof(struct wire_bth)];
		p->flags |= bth[4] & BTH_BECN ? PKT_CE : 0;
		return;
	case ROCE_CNP:
		p->type = PKT_CNP;
		return;
	case ROCE_UD_SEND_ONLY:
	case ROCE_UD_SEND_ONLY_IMM:
		p->type = PKT_UD;
		p->flags |= PKT_LAST;
		return;
	case ROCE_RC_SEND_FIRST:
	case ROCE_RC_SEND_MIDDLE:
	case ROCE_RC_WRITE_FIRST:
	case ROCE_RC_WRITE_MIDDLE:
		p->type = PKT_DATA;
		return;
	default:
		p->type = PKT_DATA;
		p->flags |= PKT_LAST;
		return;
	}
}

/* @param left_bytes  from the UDP header to the end of the IP packet */
static enum frame_class
classify_udp(const uint8_t *udp, size_t left_bytes, uint8_t tos, struct classified *c)
{
	const size_t least = sizeof(struct wire_udp) + sizeof(struct wire_bth) + ICRC_BYTES;

	if (c->tuple.dport != ROCEV2_UDP_PORT)
		return control_of_port(c->tuple.dport) != NULL ? CLASS_CONTROL : CLASS_UNKNOWN;
	if (left_bytes < least)
		return CLASS_UNKNOWN;
	classify_roce(udp + sizeof(struct wire_udp), left_bytes - sizeof(struct wire_udp), tos, c);
	return CLASS_ROCE;
}

static enum frame_class
classify_ipv4(const uint8_t *ip, size_t left_bytes, struct classified *c)
{
	size_t header_bytes, total_bytes;
	uint8_t tos;

	if (left_bytes < sizeof(struct wire_ipv4) || ip[0] >> 4 != 4)
		return CLASS_MALFORMED;
	header_bytes = (ip[0] & 0xf) * 4u;
	total_bytes = get16(ip + offsetof(struct wire_ipv4, total_bytes));
	if (header_bytes < sizeof(struct wire_ipv4) || total_bytes < header_bytes || total_bytes > left_bytes ||
	    !header_is_right(ip, header_bytes))
		return CLASS_MALFORMED;
	tos = ip[offsetof(struct wire_ipv4, tos)];
	c->mark = tos >> 5;
	c->p.ttl = ip[offsetof(struct wire_ipv4, ttl)];
	c->p.type = PKT_UNKNOWN;
	c->tuple = (struct tuple){
		.src_ip = get32(ip + offsetof(struct wire_ipv4, src)),
		.dst_ip = get32(ip + offsetof(struct wire_ipv4, dst)),
		.protocol = ip[offsetof(struct wire_ipv4, protocol)],
	};
	if (c->tuple.dst_ip >> 28 >= 0xe)
		return CLASS_MULTICAST; /* 224/4, 240/4 */
	if ((get16(ip + offsetof(struct wire_ipv4, fragment)) & IPV4_FRAGMENT_MASK) != 0 ||
	    (c->tuple.protocol != IPV4_PROTOCOL_UDP && c->tuple.protocol != IPV4_PROTOCOL_TCP) ||
	    total_bytes - header_bytes < PORTS_BYTES)
		return CLASS_UNKNOWN;
	c->tuple.sport = get16(ip + header_bytes);
	c->tuple.dport = get16(ip + header_bytes + 2);
	if (c->tuple.protocol != IPV4_PROTOCOL_UDP || total_bytes - header_bytes < sizeof(struct wire_udp))
		return CLASS_UNKNOWN;
	return classify_udp(ip + header_bytes, total_bytes - header_bytes, tos, c);
}

enum frame_class
classify(const uint8_t *bytes, size_t size_bytes, struct classified *c)
{
	size_t at = sizeof(struct wire_eth);
	enum frame_class class;
	bool tagged = false;
	uint16_t type;
	uint8_t pcp = 0;

	*c = (struct classified){ 0 };
	if (size_bytes < at)
		return CLASS_MALFORMED;
	type = get16(bytes + offsetof(struct wire_eth, type));
	if (type == ETH_TYPE_VLAN && size_bytes >= at + sizeof(struct wire_vlan)) {
		tagged = true;
		pcp = bytes[at] >> 5;
		type = get16(bytes + at + offsetof(struct wire_vlan, type));
		at += sizeof(struct wire_vlan);
	}
	if (type == ETH_TYPE_MAC_CONTROL)
		return CLASS_PFC;
	if (type == ETH_TYPE_ARP)
		return CLASS_ARP;
	if (type != ETH_TYPE_IPV4 || (bytes[0] & 1) != 0)
		return CLASS_MULTICAST;
	class = classify_ipv4(bytes + at, size_bytes - at, c);
	if (tagged)
		c->mark = pcp;
	c->tagged = tagged;
	c->p.wire_bytes = (uint16_t)eth_wire_bytes((uint32_t)size_bytes);
	return class;
}

/* RFC 1624, equation 3: a 16-bit word of the header changed. */
static void
update_checksum(uint8_t *checksum, uint16_t before, uint16_t after)
{
	uint32_t sum = (uint16_t)~get16(checksum) + (uint32_t)(uint16_t)~before + after;
	uint16_t updated = checksum_fold(sum);

	checksum[0] = (uint8_t)(updated >> 8);
	checksum[1] = (uint8_t)updated;
}

void
patch_frame(uint8_t *bytes, size_t size_bytes, const struct pkt *p)
{
	bool tagged = get16(bytes + offsetof(struct wire_eth, type)) == ETH_TYPE_VLAN;
	size_t ip_at = sizeof(struct wire_eth) + (tagged ? sizeof(struct wire_vlan) : 0);
	uint8_t *ip = bytes + ip_at, *checksum = ip + offsetof(struct wire_ipv4, checksum);
	uint8_t *ttl = ip + offsetof(struct wire_ipv4, ttl), *tos = ip + offsetof(struct wire_ipv4, tos);
	size_t total_bytes;
	uint16_t before = get16(ttl);

	/* Not read again: a byte that was just written would be waited for. */
	*ttl = p->ttl;
	update_checksum(checksum, before, (uint16_t)(p->ttl << 8 | (before & 0xff)));
	if ((p->flags & PKT_CE) && (*tos & 3) != ECN_NOT_ECT && p->type != PKT_ACK && p->type != PKT_NAK) {
		before = get16(ip);
		*tos |= ECN_CE;
		update_checksum(checksum, before, get16(ip));
	}
	if (!(p->flags & PKT_CORRUPT))
		return;
	total_bytes = get16(ip + offsetof(struct wire_ipv4, total_bytes));
	if (total_bytes > size_bytes - ip_at)
		return;
	for (size_t i = total_bytes - 4; i < total_bytes; i++)
		ip[i] = (uint8_t)~ip[i];
}
