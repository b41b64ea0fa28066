/* SPDX-License-Identifier: BSD-3-Clause */
#include <endian.h>
#include <string.h>

#include "dpswitch/edge/frame/checksum.h"
#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/frame/icrc.h"

/* What is left to read. Nothing reads but through take(). */
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
	if (r->left_bytes != f->control->bytes || !take(r, contents, f->control->bytes))
		return FRAME_CONTROL_FORMAT;
	return f->control->read(contents, &f->control_fields) ? FRAME_OK : FRAME_CONTROL_FORMAT;
}
