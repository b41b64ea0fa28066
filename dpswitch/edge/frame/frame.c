/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames as bytes, and the packets that they are. */
#include "dpswitch/edge/frame/frame.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "common/ipv6.h"
#include "common/tag.h"
#include "dpswitch/edge/frame/checksum.h"
#include "topo/topo.h"

/* The rest of the input. Only take() reads from it. */
struct reader {
	const uint8_t *at;
	size_t left_bytes;
};

/* @return false, with nothing read, if less is left */
static bool
take(struct reader *r, void *out, size_t bytes)
{
	if (r->left_bytes < bytes)
		return false;
	memcpy(out, r->at, bytes);
	r->at += bytes;
	r->left_bytes -= bytes;
	return true;
}

static enum frame_error parse_ipv4(struct reader *r, struct frame *f);
static enum frame_error parse_udp(struct reader *r, const struct wire_ipv4 *ip, struct frame *f);
static enum frame_error parse_roce(struct reader *r, const uint8_t *ip, struct frame *f);
static enum frame_error parse_control(struct reader *r, struct frame *f);

static uint32_t
get24(const uint8_t bytes[3])
{
	return (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
}

enum frame_error
frame_parse(const uint8_t *bytes, size_t size_bytes, struct frame *f)
{
	struct reader r = { bytes, size_bytes };
	struct wire_eth eth;
	struct wire_vlan vlan;
	uint16_t type;

	*f = (struct frame){ 0 };
	if (!take(&r, &eth, sizeof(eth)))
		return FRAME_SHORT;
	memcpy(f->dst_mac, eth.dst, sizeof(f->dst_mac));
	memcpy(f->src_mac, eth.src, sizeof(f->src_mac));
	type = be16toh(eth.type);
	if (type == ETH_TYPE_VLAN) {
		if (!take(&r, &vlan, sizeof(vlan)))
			return FRAME_SHORT;
		f->tagged = true;
		f->tci = be16toh(vlan.tci);
		type = be16toh(vlan.type);
	}
	return type == ETH_TYPE_IPV4 ? parse_ipv4(&r, f) : FRAME_NOT_IPV4;
}

static enum frame_error
parse_ipv4(struct reader *r, struct frame *f)
{
	const uint8_t *start = r->at;
	size_t left_bytes = r->left_bytes, total_bytes;
	size_t min_bytes = ETH_MIN_BYTES - sizeof(struct wire_eth); /* what a MAC pads a packet to, tag or not */
	struct wire_ipv4 ip;

	if (!take(r, &ip, sizeof(ip)))
		return FRAME_SHORT;
	if (ip.version_ihl != IPV4_VERSION_IHL)
		return FRAME_IP_HEADER;
	if (checksum_fold(checksum_add(0, start, sizeof(ip))) != 0)
		return FRAME_IP_CHECKSUM;
	total_bytes = be16toh(ip.total_bytes);
	if (total_bytes < sizeof(ip) || total_bytes > left_bytes)
		return FRAME_SHORT;
	if (total_bytes < left_bytes && left_bytes > min_bytes)
		return FRAME_LONG;
	if ((be16toh(ip.fragment) & ~IPV4_DF) != 0)
		return FRAME_FRAGMENT;
	if (ip.protocol != IPV4_PROTOCOL_UDP)
		return FRAME_NOT_UDP;
	f->dscp = ip.tos >> 2;
	f->ecn = ip.tos & 3;
	f->ttl = ip.ttl;
	f->ip_id = be16toh(ip.id);
	f->dont_fragment = ip.fragment != 0;
	f->src_ip = be32toh(ip.src);
	f->dst_ip = be32toh(ip.dst);
	r->left_bytes = total_bytes - sizeof(ip);
	return parse_udp(r, &ip, f);
}

static enum frame_error
parse_udp(struct reader *r, const struct wire_ipv4 *ip, struct frame *f)
{
	const uint8_t *start = r->at;
	size_t udp_bytes = r->left_bytes;
	struct wire_udp udp;

	if (!take(r, &udp, sizeof(udp)))
		return FRAME_SHORT;
	if (be16toh(udp.total_bytes) != udp_bytes)
		return FRAME_UDP_LENGTH;
	f->sport = be16toh(udp.sport);
	if (be16toh(udp.dport) == ROCEV2_UDP_PORT)
		return parse_roce(r, start - sizeof(*ip), f);
	/* Control packets have no ICRC: the UDP checksum guards them, if the sender made one. */
	f->corrupt =
		udp.checksum != 0 && checksum_udp(checksum_add(0, &ip->src, 2 * sizeof(ip->src)), start, udp_bytes) != 0;
	f->control = control_of_port(be16toh(udp.dport));
	return f->control != NULL ? parse_control(r, f) : FRAME_UDP_PORT;
}

/* Headers behind the BTH, in the order of the standard: DETH, RETH, AETH, ImmDt. */
static bool
take_extended(struct reader *r, int headers, struct frame *f)
{
	struct wire_deth deth;
	struct wire_reth reth;
	struct wire_aeth aeth;
	struct wire_immdt immdt;

	if (headers & ROCE_DETH) {
		if (!take(r, &deth, sizeof(deth)))
			return false;
		f->qkey = be32toh(deth.qkey);
		f->src_qpn = get24(deth.src_qpn);
	}
	if (headers & ROCE_RETH) {
		if (!take(r, &reth, sizeof(reth)))
			return false;
		f->va = be64toh(reth.va);
		f->rkey = be32toh(reth.rkey);
		f->dma_bytes = be32toh(reth.dma_bytes);
	}
	if (headers & ROCE_AETH) {
		if (!take(r, &aeth, sizeof(aeth)))
			return false;
		f->syndrome = aeth.syndrome;
		f->msn = get24(aeth.msn);
	}
	if (headers & ROCE_IMM) {
		if (!take(r, &immdt, sizeof(immdt)))
			return false;
		f->imm = be32toh(immdt.imm);
	}
	return true;
}

/* @param body_bytes  payload and pad, which the ICRC follows */
static enum frame_error
parse_body(struct reader *r, size_t body_bytes, uint32_t pad_bytes, struct frame *f)
{
	size_t reserved_bytes = f->opcode == ROCE_CNP ? CNP_RESERVED_BYTES : 0;

	if (body_bytes % 4 != 0 || body_bytes < pad_bytes + reserved_bytes || body_bytes > ROCE_MAX_PAYLOAD)
		return FRAME_ROCE_LENGTH;
	f->payload = r->at;
	f->payload_bytes = (uint32_t)(body_bytes - pad_bytes - reserved_bytes);
	return roce_payload_ok(f->opcode, f->payload_bytes) ? FRAME_OK : FRAME_ROCE_LENGTH;
}

static enum frame_error
parse_roce(struct reader *r, const uint8_t *ip, struct frame *f)
{
	struct wire_bth bth;
	size_t body_bytes;
	enum frame_error error;
	uint32_t icrc;
	int headers;

	f->kind = FRAME_ROCE;
	if (!take(r, &bth, sizeof(bth)))
		return FRAME_SHORT;
	if ((bth.flags & BTH_VERSION_MASK) != 0)
		return FRAME_BTH_VERSION;
	f->opcode = bth.opcode;
	headers = roce_headers(bth.opcode);
	if (headers < 0)
		return FRAME_OPCODE;
	f->solicited = bth.flags & BTH_SE;
	f->migrated = bth.flags & BTH_MIG;
	f->pkey = be16toh(bth.pkey);
	f->fecn = bth.congestion & BTH_FECN;
	f->becn = bth.congestion & BTH_BECN;
	f->dst_qpn = get24(bth.dst_qpn);
	f->ackreq = bth.ackreq & BTH_ACKREQ;
	f->psn = get24(bth.psn);
	if (!take_extended(r, headers, f) || r->left_bytes < ICRC_BYTES)
		return FRAME_SHORT;
	body_bytes = r->left_bytes - ICRC_BYTES;
	error = parse_body(r, body_bytes, (bth.flags & BTH_PAD_MASK) >> BTH_PAD_SHIFT, f);
	if (error != FRAME_OK)
		return error;
	memcpy(&icrc, r->at + body_bytes, sizeof(icrc));
	f->corrupt = le32toh(icrc) != icrc_compute(ip, (size_t)(r->at + body_bytes - ip));
	return FRAME_OK;
}

static enum frame_error
parse_control(struct reader *r, struct frame *f)
{
	uint8_t contents[CONTROL_MAX_BYTES];

	f->kind = FRAME_CONTROL;
	if (!take(r, contents, f->control->bytes) || r->left_bytes != 0)
		return FRAME_CONTROL_FORMAT;
	return f->control->read(contents, &f->control_fields) ? FRAME_OK : FRAME_CONTROL_FORMAT;
}

/* Encodes a packet as the bytes of its frame. */

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
	/* of IPv4; with all of what expired, but its Ethernet header; or the least that RFC 792 asks for */
	case FRAME_EXPIRED:
		return sizeof(struct wire_ipv4) + sizeof(struct wire_icmp_expired) +
		       (f->quotes_least ? sizeof(struct wire_eth) + EXPIRED_LEAST_BYTES
					: roce_frame_bytes(f->opcode, f->payload_bytes));
	case FRAME_CONTROL:
	default:
		return sizeof(struct wire_eth) + ip_header_bytes(f) + sizeof(struct wire_udp) + f->control->bytes;
	}
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

/*
 * Writes an IPv6 header. It has no room for IPv4's identification. The flow label of polling packets is that of the
 * data that they follow.
 */
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

/* Between the descriptor that travels inside the fabric and the header fields of a frame. */

#define DSCP_CLASS_SHIFT 3 /* class selector n is DSCP 8 * n (RFC 2474) */

static void
addresses(struct frame *f, const struct pkt *p, const struct flow *flow, bool tagged)
{
	bool reverse = p->flags & PKT_REVERSE;

	f->src_ip = reverse ? flow->dst_ip : flow->src_ip;
	f->dst_ip = reverse ? flow->src_ip : flow->dst_ip;
	f->dst_qpn = reverse ? flow->src_qpn : flow->dst_qpn;
	f->src_qpn = reverse ? flow->dst_qpn : flow->src_qpn;
	f->sport = flow->sport; /* in both directions, as the kernel's rxe has it */
	topo_mac_of_ip(f->src_mac, f->src_ip);
	topo_mac_of_ip(f->dst_mac, f->dst_ip);
	f->tagged = tagged;
	f->tci = tagged ? (uint16_t)(p->prio << VLAN_PCP_SHIFT) : 0;
	f->dscp = p->type == PKT_DATA && tag_is(p->tag) ? tag_dscp(p->tag) : (uint8_t)(p->prio << DSCP_CLASS_SHIFT);
	f->ttl = p->ttl;
	f->ip_id = (uint16_t)p->psn;
	f->dont_fragment = true;
}

static void
transport(struct frame *f, const struct pkt *p, const struct pkt_message *message)
{
	f->kind = FRAME_ROCE;
	f->pkey = BTH_PKEY_DEFAULT;
	f->psn = p->psn & ROCE_24BIT_MASK;
	f->ackreq = p->flags & PKT_ACKREQ;
	f->payload = message->payload;
	f->payload_bytes = p->payload_bytes;
	f->va = message->va;
	f->rkey = message->rkey;
	f->dma_bytes = message->dma_bytes;
	f->opcode = p->opcode;
	f->qkey = message->qkey;
	if (message->dst_qpn != 0) {
		f->dst_qpn = message->dst_qpn;
		f->src_qpn = message->src_qpn;
	}
}

/*
 * Fills in an ICMP reply from a switch's interface to the sender of the expired packet, which went in the flow's other
 * direction.
 */
static void
expired(struct frame *f, const struct pkt *p, const struct flow *flow, const struct pkt_message *message)
{
	bool forth = p->flags & PKT_REVERSE;

	transport(f, p, message);
	f->kind = FRAME_EXPIRED;
	f->quotes_least = p->syndrome != 0;
	f->src_ip = topo_nic_ip(p->arg >> EXPIRED_NODE_SHIFT, (uint16_t)(p->arg & EXPIRED_PORT_MASK));
	topo_mac_of_ip(f->src_mac, f->src_ip);
	f->control_fields.src_ip = forth ? flow->src_ip : flow->dst_ip;
	f->control_fields.dst_ip = forth ? flow->dst_ip : flow->src_ip;
}

void
frame_from_pkt(struct frame *f, const struct pkt *p, const struct flow *flow, const struct pkt_message *message,
	       bool tagged)
{
	bool ce = p->flags & PKT_CE;

	*f = (struct frame){ .corrupt = p->flags & PKT_CORRUPT };
	addresses(f, p, flow, tagged);
	switch ((enum pkt_type)p->type) {
	case PKT_DATA:
	case PKT_UD:
		transport(f, p, message);
		f->imm = roce_headers(p->opcode) & ROCE_IMM ? p->arg : 0;
		f->ecn = ce ? ECN_CE : ECN_ECT0;
		break;
	case PKT_ACK:
	case PKT_NAK:
		transport(f, p, message);
		f->syndrome = p->syndrome;
		f->msn = p->arg & ROCE_24BIT_MASK;
		f->becn = ce;
		break;
	case PKT_CNP:
		transport(f, p, message);
		f->becn = true;
		break;
	case PKT_POLL:
	case PKT_NOTIFY:
		f->kind = FRAME_CONTROL;
		f->control = control_of_type(p->type);
		f->control_fields = (struct control){
			.id = p->id,
			.arg = p->arg,
			.src_ip = flow->src_ip,
			.dst_ip = flow->dst_ip,
			.sport = flow->sport,
			.dport = ROCEV2_UDP_PORT,
		};
		break;
	case PKT_EXPIRED:
		expired(f, p, flow, message);
		break;
	case PKT_UNKNOWN: /* bytes alone: there is nothing to build */
	case PKT_TYPES:
	default:
		break;
	}
}

static int
roce_to_pkt(const struct frame *f, struct pkt *p)
{
	p->psn = f->psn;
	p->opcode = f->opcode;
	p->arg = f->imm;
	p->payload_bytes = (uint16_t)f->payload_bytes;
	p->flags |= (f->ackreq ? PKT_ACKREQ : 0) | (f->ecn == ECN_CE ? PKT_CE : 0);
	switch (f->opcode) {
	case ROCE_RC_ACK:
		if ((f->syndrome & 0x80) != 0 || (f->syndrome & AETH_KIND_MASK) == 0x40)
			return -ENOTSUP;
		p->type = (f->syndrome & AETH_KIND_MASK) == 0 ? PKT_ACK : PKT_NAK;
		p->arg = f->msn;
		p->syndrome = f->syndrome;
		p->flags |= PKT_REVERSE | (f->becn ? PKT_CE : 0);
		return 0;
	case ROCE_CNP:
		p->type = PKT_CNP;
		p->flags |= PKT_REVERSE;
		return 0;
	case ROCE_UD_SEND_ONLY:
	case ROCE_UD_SEND_ONLY_IMM:
		p->type = PKT_UD;
		p->flags |= PKT_LAST;
		return 0;
	case ROCE_RC_SEND_FIRST:
	case ROCE_RC_SEND_MIDDLE:
	case ROCE_RC_WRITE_FIRST:
	case ROCE_RC_WRITE_MIDDLE:
		p->type = PKT_DATA;
		return 0;
	default:
		p->type = PKT_DATA;
		p->flags |= PKT_LAST;
		return 0;
	}
}

int
frame_to_pkt(const struct frame *f, struct pkt *p)
{
	uint8_t tag = f->kind == FRAME_ROCE && roce_is_rc_data(f->opcode) ? tag_of_dscp(f->dscp) : 0;
	uint8_t mark = tag != 0 ? 0 : f->dscp >> DSCP_CLASS_SHIFT;

	*p = (struct pkt){
		.prio = f->tagged ? (uint8_t)(f->tci >> VLAN_PCP_SHIFT) : mark,
		.flags = f->corrupt ? PKT_CORRUPT : 0,
		.ttl = f->ttl,
		.wire_bytes = (uint16_t)frame_wire_bytes(f),
		.tag = tag,
	};
	if (f->kind == FRAME_ROCE)
		return roce_to_pkt(f, p);
	assert(f->kind == FRAME_CONTROL); /* as it was parsed: no frame parses as FRAME_EXPIRED */
	p->type = f->control->type;
	p->id = f->control_fields.id;
	p->arg = f->control_fields.arg;
	if (p->type == PKT_POLL && (p->arg & POLL_BACK))
		p->flags |= PKT_REVERSE;
	return 0;
}

/* PFC frames. */

static const uint8_t pfc_dst[ETH_ADDR_BYTES] = PFC_DST;

void
pfc_frame_build(const struct pfc_fields *fields, uint8_t bytes[ETH_MIN_BYTES])
{
	struct wire_pfc pfc = {
		.eth.type = htobe16(ETH_TYPE_MAC_CONTROL),
		.opcode = htobe16(PFC_OPCODE),
		.class_enable = htobe16(fields->class_enable),
	};

	memcpy(pfc.eth.dst, pfc_dst, sizeof(pfc.eth.dst));
	memcpy(pfc.eth.src, fields->src_mac, sizeof(pfc.eth.src));
	for (int i = 0; i < PFC_CLASSES; i++)
		pfc.quanta[i] = fields->class_enable >> i & 1 ? htobe16(fields->quanta[i]) : 0;
	memcpy(bytes, &pfc, sizeof(pfc));
}

int
pfc_frame_parse(const uint8_t *bytes, size_t size_bytes, struct pfc_fields *fields)
{
	const size_t head_bytes = offsetof(struct wire_pfc, class_enable);
	struct wire_pfc pfc;

	if (size_bytes < head_bytes)
		return -ENOENT;
	memcpy(&pfc, bytes, head_bytes);
	if (pfc.eth.type != htobe16(ETH_TYPE_MAC_CONTROL) || pfc.opcode != htobe16(PFC_OPCODE))
		return -ENOENT;
	if (size_bytes != sizeof(pfc) || memcmp(pfc.eth.dst, pfc_dst, sizeof(pfc_dst)) != 0)
		return -EBADMSG;
	memcpy(&pfc, bytes, sizeof(pfc));
	if (be16toh(pfc.class_enable) > 0xff)
		return -EBADMSG;
	memcpy(fields->src_mac, pfc.eth.src, sizeof(fields->src_mac));
	fields->class_enable = (uint8_t)be16toh(pfc.class_enable);
	for (int i = 0; i < PFC_CLASSES; i++)
		fields->quanta[i] = fields->class_enable >> i & 1 ? be16toh(pfc.quanta[i]) : 0;
	return 0;
}
