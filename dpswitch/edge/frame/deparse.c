/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <endian.h>
#include <string.h>

#include "common/ipv6.h"
#include "dpswitch/edge/frame/checksum.h"
#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/frame/icrc.h"

static uint8_t *
put(uint8_t *at, const void *data, size_t bytes)
{
	memcpy(at, data, bytes);
	return at + bytes;
}

static void
put24(uint8_t bytes[3], uint32_t value)
{
	bytes[0] = (uint8_t)(value >> 16);
	bytes[1] = (uint8_t)(value >> 8);
	bytes[2] = (uint8_t)value;
}

static size_t
ip_header_bytes(const struct frame *f)
{
	return f->ipv6 ? sizeof(struct wire_ipv6) : sizeof(struct wire_ipv4);
}

/* @return size without 802.1Q tag, 0 if there is no such frame */
static size_t
frame_bytes(const struct frame *f)
{
	size_t more_bytes = ip_header_bytes(f) - sizeof(struct wire_ipv4);

	switch (f->kind) {
	case FRAME_ROCE:
		if (roce_headers(f->opcode) < 0 || !roce_payload_ok(f->opcode, f->payload_bytes))
			return 0;
		return roce_frame_bytes(f->opcode, f->payload_bytes) + more_bytes;
	case FRAME_EXPIRED: /* of IPv4; with all of what expired, but its Ethernet header; or the least that RFC 792 asks for */
		return sizeof(struct wire_ipv4) + sizeof(struct wire_icmp_expired) +
		       (f->quotes_least ? sizeof(struct wire_eth) + EXPIRED_LEAST_BYTES
					: roce_frame_bytes(f->opcode, f->payload_bytes));
	case FRAME_CONTROL:
		return sizeof(struct wire_eth) + ip_header_bytes(f) + sizeof(struct wire_udp) + f->control->bytes;
	}
	return 0;
}

uint32_t
frame_wire_bytes(const struct frame *f)
{
	size_t size_bytes = frame_bytes(f);

	return size_bytes == 0 ? 0 : eth_wire_bytes((uint32_t)size_bytes + (f->tagged ? sizeof(struct wire_vlan) : 0));
}

static uint8_t *
put_eth(uint8_t *at, const struct frame *f)
{
	uint16_t type = f->ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IPV4;
	struct wire_vlan vlan = { htobe16(f->tci), htobe16(type) };
	struct wire_eth eth = { .type = htobe16(f->tagged ? ETH_TYPE_VLAN : type) };

	memcpy(eth.dst, f->dst_mac, sizeof(eth.dst));
	memcpy(eth.src, f->src_mac, sizeof(eth.src));
	at = put(at, &eth, sizeof(eth));
	return f->tagged ? put(at, &vlan, sizeof(vlan)) : at;
}

static uint8_t *
put_ipv4(uint8_t *at, const struct frame *f, size_t total_bytes)
{
	struct wire_ipv4 ip = {
		.version_ihl = IPV4_VERSION_IHL,
		.tos = (uint8_t)(f->dscp << 2 | (f->ecn & 3)),
		.total_bytes = htobe16((uint16_t)total_bytes),
		.id = htobe16(f->ip_id),
		.fragment = htobe16(f->dont_fragment ? IPV4_DF : 0),
		.ttl = f->ttl,
		.protocol = f->kind == FRAME_EXPIRED ? IPV4_PROTOCOL_ICMP : IPV4_PROTOCOL_UDP,
		.src = htobe32(f->src_ip),
		.dst = htobe32(f->dst_ip),
	};

	ip.checksum = htobe16(checksum_fold(checksum_add(0, &ip, sizeof(ip))));
	return put(at, &ip, sizeof(ip));
}

/* What IPv4 has in its identification has no place here. Polling packets have the label of the data that they follow. */
static uint8_t *
put_ipv6(uint8_t *at, const struct frame *f, size_t payload_bytes)
{
	uint32_t class = (uint32_t)f->dscp << 2 | (f->ecn & 3);
	struct wire_ipv6 ip = {
		.version_class_label =
			htobe32(6u << 28 | class << IPV6_LABEL_BITS | ipv6_flow_label(f->src_ip, f->dst_ip, f->sport)),
		.payload_bytes = htobe16((uint16_t)payload_bytes),
		.next_header = IPV4_PROTOCOL_UDP,
		.hop_limit = f->ttl,
	};

	ipv6_of(ip.src, f->src_ip);
	ipv6_of(ip.dst, f->dst_ip);
	return put(at, &ip, sizeof(ip));
}

static uint8_t *
put_udp(uint8_t *at, const struct frame *f, uint16_t dport, size_t total_bytes)
{
	struct wire_udp udp = { htobe16(f->sport), htobe16(dport), htobe16((uint16_t)total_bytes), 0 };

	return put(at, &udp, sizeof(udp));
}

static uint8_t *
put_bth(uint8_t *at, const struct frame *f)
{
	uint32_t pad_bytes = -f->payload_bytes & 3;
	struct wire_bth bth = {
		.opcode = f->opcode,
		.flags = (uint8_t)((f->solicited ? BTH_SE : 0) | (f->migrated ? BTH_MIG : 0) | pad_bytes << BTH_PAD_SHIFT),
		.pkey = htobe16(f->pkey),
		.congestion = (uint8_t)((f->fecn ? BTH_FECN : 0) | (f->becn ? BTH_BECN : 0)),
		.ackreq = f->ackreq ? BTH_ACKREQ : 0,
	};

	put24(bth.dst_qpn, f->dst_qpn);
	put24(bth.psn, f->psn);
	return put(at, &bth, sizeof(bth));
}

static uint8_t *
put_extended(uint8_t *at, const struct frame *f)
{
	struct wire_deth deth = { .qkey = htobe32(f->qkey) };
	struct wire_reth reth = { htobe64(f->va), htobe32(f->rkey), htobe32(f->dma_bytes) };
	struct wire_aeth aeth = { .syndrome = f->syndrome };
	struct wire_immdt immdt = { htobe32(f->imm) };
	int headers = roce_headers(f->opcode);

	put24(deth.src_qpn, f->src_qpn);
	put24(aeth.msn, f->msn);
	if (headers & ROCE_DETH)
		at = put(at, &deth, sizeof(deth));
	if (headers & ROCE_RETH)
		at = put(at, &reth, sizeof(reth));
	if (headers & ROCE_AETH)
		at = put(at, &aeth, sizeof(aeth));
	if (headers & ROCE_IMM)
		at = put(at, &immdt, sizeof(immdt));
	return at;
}

static uint8_t *
put_payload(uint8_t *at, const struct frame *f)
{
	static const uint8_t zero[CNP_RESERVED_BYTES];

	if (f->opcode == ROCE_CNP)
		return put(at, zero, CNP_RESERVED_BYTES);
	if (f->payload != NULL) {
		at = put(at, f->payload, f->payload_bytes);
	} else {
		for (uint32_t i = 0; i < f->payload_bytes; i++)
			*at++ = frame_pattern(f->psn, i);
	}
	return put(at, zero, -f->payload_bytes & 3);
}

static uint8_t *
put_roce(uint8_t *at, const struct frame *f, const uint8_t *ip)
{
	uint32_t icrc;

	at = put_bth(at, f);
	at = put_extended(at, f);
	at = put_payload(at, f);
	icrc = icrc_compute(ip, (size_t)(at - ip));
	icrc = htole32(f->corrupt ? ~icrc : icrc);
	return put(at, &icrc, sizeof(icrc));
}

static uint8_t *
put_control(uint8_t *at, const struct frame *f)
{
	uint8_t contents[CONTROL_MAX_BYTES];

	f->control->write(contents, &f->control_fields);
	return put(at, contents, f->control->bytes);
}

/* Fills in the checksum of a control packet; 0 would mean that there is none. */
static void
seal_control(const struct frame *f, const uint8_t *ip, uint8_t *udp, size_t udp_bytes)
{
	uint32_t addresses = f->ipv6 ? checksum_add(0, ip + offsetof(struct wire_ipv6, src), 2 * IPV6_ADDR_BYTES)
				     : checksum_add(0, ip + offsetof(struct wire_ipv4, src), 2 * sizeof(uint32_t));
	uint16_t sum = checksum_udp(addresses, udp, udp_bytes);

	if (f->corrupt)
		sum ^= 0x5555;
	sum = htobe16(sum == 0 ? 0xffff : sum);
	memcpy(udp + offsetof(struct wire_udp, checksum), &sum, sizeof(sum));
}

/* The message and what it quotes, which had used up its last hop. */
static uint8_t *
put_expired(uint8_t *at, const struct frame *f)
{
	struct wire_icmp_expired icmp = { .type = ICMP_TIME_EXCEEDED };
	uint8_t quoted[sizeof(struct wire_eth) + sizeof(struct wire_vlan) + 1500], *begin = at;
	struct frame inner = *f;
	size_t size_bytes;

	inner.kind = FRAME_ROCE;
	inner.tagged = false;
	inner.ttl = 1;
	inner.src_ip = f->control_fields.src_ip;
	inner.dst_ip = f->control_fields.dst_ip;
	size_bytes = frame_build(&inner, quoted, sizeof(quoted));
	assert(size_bytes > sizeof(struct wire_eth));
	size_bytes = f->quotes_least ? EXPIRED_LEAST_BYTES : size_bytes - sizeof(struct wire_eth);
	at = put(at, &icmp, sizeof(icmp));
	at = put(at, quoted + sizeof(struct wire_eth), size_bytes);
	icmp.checksum = htobe16(checksum_fold(checksum_add(0, begin, (size_t)(at - begin))));
	put(begin, &icmp, sizeof(icmp));
	return at;
}

size_t
frame_build(const struct frame *f, uint8_t *bytes, size_t cap_bytes)
{
	size_t size_bytes = frame_bytes(f), ip_bytes, udp_bytes;
	uint8_t *ip, *udp, *end;

	if (size_bytes == 0 || size_bytes + (f->tagged ? sizeof(struct wire_vlan) : 0) > cap_bytes)
		return 0;
	ip_bytes = size_bytes - sizeof(struct wire_eth);
	udp_bytes = ip_bytes - ip_header_bytes(f);
	ip = put_eth(bytes, f);
	udp = f->ipv6 ? put_ipv6(ip, f, udp_bytes) : put_ipv4(ip, f, ip_bytes);
	if (f->kind == FRAME_EXPIRED)
		return (size_t)(put_expired(udp, f) - bytes);
	end = put_udp(udp, f, f->kind == FRAME_ROCE ? ROCEV2_UDP_PORT : f->control->udp_port, udp_bytes);
	if (f->kind == FRAME_ROCE) {
		end = put_roce(end, f, ip);
	} else {
		end = put_control(end, f);
		seal_control(f, ip, udp, udp_bytes);
	}
	assert((size_t)(end - ip) == ip_bytes);
	return (size_t)(end - bytes);
}
