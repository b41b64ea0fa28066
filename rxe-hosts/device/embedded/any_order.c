/* SPDX-License-Identifier: BSD-3-Clause */
/* Data that may come in any order: placed where its RETH says. */
#include "common/wire/roce.h"
#include "rxe-hosts/device/embedded/host.h"

/* Puts the payload of an accepted packet in its place. @param body  that it came with; NULL: its sender has it */
static __attribute__((noinline)) void
place(const struct host *host, const struct pkt *p, const struct body *body)
{
	const struct rc_post *post = body == NULL ? host_message_of(host->config.shared, p) : NULL;
	uint64_t offset;

	if (body != NULL && host->client.accept != NULL)
		host->client.accept(host->client.ctx, p->flow, p->arg, body->va, body->payload, p->payload_bytes);
	if (post == NULL || post->payload == NULL || host->client.accept == NULL)
		return;
	offset = (uint64_t)((p->psn - post->first) & PSN_MASK) * host->params.mtu_bytes;
	host->client.accept(host->client.ctx, p->flow, p->arg, post->remote_offset + offset, post->payload + offset,
			    p->payload_bytes);
}

static inline void
acknowledge(struct host *host, struct nic *nic, struct recv_qp *qp, const struct pkt *p)
{
	struct nic *by = host_answering(host, nic, p);
	struct rc_recv *rc = &qp->rc;
	struct pkt *out = queue_slot(&by->control);

	/* Without room the packet is not acknowledged by itself: the next ACK covers it, or it comes again. */
	if (__builtin_expect(out == NULL, 0)) {
		host->acks_withheld++;
		return;
	}
	*out = (struct pkt){
		.flow = p->flow,
		.psn = p->psn,
		.arg = rc->expected,
		.wire_bytes = host->params.ack_bytes,
		.opcode = ROCE_RC_ACK,
		.syndrome = sel_recv_syndrome(rc, qp->sel, p->psn),
		.type = PKT_ACK,
		.flags = rc->ce ? PKT_REVERSE | PKT_CE : PKT_REVERSE,
		.ttl = PKT_TTL_INIT,
	};
	if (__builtin_expect((p->flags & PKT_INT) != 0, 0)) {
		out->flags |= PKT_INT;
		by->control.ints[by->control.tail] = *host_int(host, nic);
	}
	nic_control_send(host, by);
	rc_recv_replied(rc);
}

void
host_arrive_any_order(struct host *host, struct nic *nic, const struct pkt *p, const struct body *body)
{
	struct recv_qp *qp = &host->recv[host_slot(host, p->flow)->recv];
	uint32_t what = sel_recv_data(&qp->rc, qp->sel, &host->params, p, host->now_ps);

	if (what & RC_ACCEPTED) {
		host->node.count.progress += p->payload_bytes;
		if (__builtin_expect(host->params.real_payload, 0))
			place(host, p, body);
	}
	if (__builtin_expect((what & RC_REORDERED) != 0, 0))
		host->node.count.order_errors++;
	if (__builtin_expect((what & RC_CNP) != 0, 0))
		host_send_cnp(host, nic, p);
	if (what & RC_ACK)
		acknowledge(host, nic, qp, p);
	while (__builtin_expect((what & RC_COMPLETE) != 0, 0) && sel_recv_pop(&qp->rc, qp->sel, &host->params))
		host_completed(host, &qp->rc, p);
}
