/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/roce/ud.h"

#include <errno.h>

#include "common/wire/roce.h"
#include "rxe-hosts/roce/params.h"

int
ud_send_make(struct ud_send *s, const struct roce_params *params, uint32_t flow, uint8_t prio, uint32_t payload_bytes,
	     uint32_t imm, struct pkt *p)
{
	if (payload_bytes == 0 || payload_bytes > params->mtu_bytes)
		return -EINVAL;
	*p = (struct pkt){
		.flow = flow,
		.psn = s->psn,
		.arg = imm,
		.wire_bytes = roce_ud_bytes(params, payload_bytes),
		.payload_bytes = (uint16_t)payload_bytes,
		.opcode = ROCE_UD_SEND_ONLY_IMM,
		.type = PKT_UD,
		.prio = prio,
		.ttl = PKT_TTL_INIT,
	};
	s->psn = (s->psn + 1) & PSN_MASK;
	s->sent++;
	return 0;
}

bool
ud_recv_take(struct ud_recv *r, struct recv_ring *receives, const struct pkt *p, struct recv_slot *slot)
{
	if (receives->head == receives->tail || receives->slots[receives->head % RECV_SLOTS].bytes < p->payload_bytes) {
		r->unposted++;
		return false;
	}
	recv_ring_pop(receives, slot);
	r->received++;
	return true;
}
