/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the descriptor that travels inside the fabric and the header fields of a frame. */
#include <errno.h>
#include <string.h>

#include "common/tag.h"
#include "dpswitch/edge/frame/frame.h"
#include "topo/topo.h"

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

/* From the interface of a switch, to the sender of what expired; the flow's other direction expired. */
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
	case PKT_UNKNOWN: /* bytes alone */
	case PKT_TYPES:
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
	switch (f->kind) {
	case FRAME_ROCE:
		return roce_to_pkt(f, p);
	case FRAME_EXPIRED: /* no frame parses as one */
		break;
	case FRAME_CONTROL:
		p->type = f->control->type;
		p->id = f->control_fields.id;
		p->arg = f->control_fields.arg;
		if (p->type == PKT_POLL && (p->arg & POLL_BACK))
			p->flags |= PKT_REVERSE;
		return 0;
	}
	return -ENOTSUP;
}
