/* SPDX-License-Identifier: BSD-3-Clause */
/* What the bytes of a frame say that its descriptor leaves to its message: for who writes frames out. */
#include <string.h>

#include "common/pkt.h"
#include "rxe-hosts/device/embedded/host.h"
#include "rxe-hosts/roce/psn.h"

/* The messages of the host that a flow starts from; NULL: it is no embedded one. */
static const struct msg_slab *
slab_of(const struct embedded_shared *shared, uint32_t flow)
{
	uint32_t node = shared->slots[flow].src_node;

	return node < shared->directory.nodes ? shared->directory.slabs[node] : NULL;
}

/*
 * Messages of a flow that lie whole before a PSN. They fill the slots in turn: those of the newest generation come first.
 * @param told  what the answer itself says: it does where the messages come from outside
 */
static uint32_t
messages_before(const struct embedded_shared *shared, uint32_t flow, uint32_t mtu_bytes, uint32_t psn, uint32_t told)
{
	const struct msg_slab *slab = slab_of(shared, flow);
	const struct msg *msgs;
	uint32_t newest = 0, number;

	if (slab == NULL)
		return told;
	msgs = slab->msgs + shared->slots[flow].send * MSG_SLOTS;
	while (newest + 1 < MSG_SLOTS && msgs[newest + 1].bytes != 0 && msgs[newest + 1].gen == msgs[0].gen)
		newest++;
	number = (uint32_t)msgs[0].gen * MSG_SLOTS + newest;
	for (uint32_t back = 0; back < MSG_SLOTS && back <= number; back++) {
		const struct msg *msg = &msgs[(number - back) % MSG_SLOTS];
		uint64_t packets = (msg->bytes + mtu_bytes - 1) / mtu_bytes;
		int32_t from_first = psn_diff(psn, msg->first_psn);

		if (msg->bytes != 0 && from_first >= 0)
			return number - back + ((uint64_t)from_first >= packets);
	}
	return 0;
}

/* The slots of a message are another's by now: a late duplicate. Or nobody here knows. Its size tells what it carries. */
static void
describe_forgotten(const struct roce_params *params, const struct pkt *p, struct embedded_message *m)
{
	bool last = p->flags & PKT_LAST;

	m->write = true;
	m->with_imm = last;
	m->first = p->wire_bytes == roce_data_bytes(params, p->payload_bytes, true, last);
}

static void
describe_data(const struct embedded_shared *shared, const struct roce_params *params, const struct pkt *p,
	      struct embedded_message *m)
{
	const struct msg_slab *slab = slab_of(shared, p->flow);
	const struct msg *msg = slab != NULL ? msg_find(slab, p->arg, p->gen, 0) : NULL;
	uint64_t offset;

	if (msg == NULL) {
		describe_forgotten(params, p, m);
		return;
	}
	offset = (uint64_t)((p->psn - msg->first_psn) & PSN_MASK) * params->mtu_bytes;
	*m = (struct embedded_message){
		.write = msg->opcode == MSG_WRITE_IMM,
		.first = p->psn == msg->first_psn,
		.with_imm = true,
		.imm = msg->imm,
		.remote_offset = msg->remote_offset,
		.bytes = msg->bytes,
		.payload = msg->base != NULL ? msg->base + msg->local_offset + offset : NULL,
	};
}

void
embedded_describe(const struct embedded_shared *shared, const struct roce_params *params, const struct pkt *p,
		  struct embedded_message *m)
{
	memset(m, 0, sizeof(*m));
	switch (p->type) {
	case PKT_DATA:
		describe_data(shared, params, p, m);
		break;
	case PKT_ACK:
		m->msn = messages_before(shared, p->flow, params->mtu_bytes, (p->psn + 1) & PSN_MASK, p->arg);
		break;
	case PKT_NAK:
		m->msn = messages_before(shared, p->flow, params->mtu_bytes, p->psn, p->arg >> 8);
		break;
	case PKT_UD:
		m->with_imm = true;
		m->imm = p->arg;
		break;
	default:
		break;
	}
}
