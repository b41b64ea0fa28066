/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrival of whole frames at a host. */
#include "common/wire/roce.h"
#include "rxe-hosts/device/embedded/host.h"

static void data_in(struct host *host, struct nic *nic, const struct pkt *p);
static uint32_t payload_in(struct host *host, struct recv_qp *qp, const struct pkt *p);
static void ack_in(struct host *host, struct nic *nic, const struct pkt *p);
static void nak_in(struct host *host, struct nic *nic, const struct pkt *p);
static void cnp_in(struct host *host, struct nic *nic, const struct pkt *p);
static void reply(struct host *host, struct nic *nic, struct rc_recv *rc, const struct pkt *p, uint32_t what);
static void complete(struct host *host, struct send_qp *qp, uint32_t flow);

static void host_completed(struct host *host, const struct rc_recv *rc, const struct pkt *p);

void
host_arrive(struct host *host, struct nic *nic, const struct pkt *p)
{
	struct node_counters *count = &host->node.count;
	const struct flow_slot *slot = host_slot(host, p->flow);
	uint32_t owner = p->flags & PKT_REVERSE ? slot->src_node : slot->dst_node;

	count->rx_packets++;
	count->rx_bytes += p->wire_bytes;
	if (__builtin_expect((p->flags & PKT_CORRUPT) != 0, 0)) {
		host_drop(host, nic, p, REC_DROP_CORRUPT);
		return;
	}
	/* A poll that follows pauses ends at whichever host pauses; everything else belongs to its flow's ends. */
	if (__builtin_expect(owner != host->node.id && p->type != PKT_POLL, 0)) {
		host->misdelivered++;
		host_drop(host, nic, p, REC_DROP_NO_ROUTE);
		return;
	}
	if (__builtin_expect((p->flags & PKT_BYTES) != 0, 0)) {
		host_arrive_bytes(host, nic, p);
		return;
	}
	count->consumed_packets++;
	count->consumed_bytes += p->wire_bytes;
	if (p->type == PKT_DATA)
		data_in(host, nic, p);
	else
		host_take_in(host, nic, p);
}

/* Handlers of packets other than data, by enum pkt_type. A type without handler is not for hosts: consumed. */
static void (*const handlers[PKT_TYPES])(struct host *host, struct nic *nic, const struct pkt *p) = {
	[PKT_ACK] = ack_in,
	[PKT_NAK] = nak_in,
	[PKT_CNP] = cnp_in,
	[PKT_UD] = host_datagram_arrived,
	[PKT_POLL] = host_poll_arrived,
	[PKT_NOTIFY] = host_datagram_arrived,
	[PKT_EXPIRED] = host_expired_arrived,
};

void
host_take_in(struct host *host, struct nic *nic, const struct pkt *p)
{
	if (__builtin_expect(p->type == PKT_ACK, 1))
		ack_in(host, nic, p);
	else if (handlers[p->type] != NULL)
		handlers[p->type](host, nic, p);
}

void
host_drop(struct host *host, struct nic *nic, const struct pkt *p, enum rec_drop reason)
{
	telem_drop(&nic->telem, p, reason, host->now_ps);
	host->node.count.dropped_packets++;
	host->node.count.dropped_bytes += p->wire_bytes;
	body_release(host->node.bodies, p);
}

static void
data_in(struct host *host, struct nic *nic, const struct pkt *p)
{
	const struct flow_slot *slot = host_slot(host, p->flow);
	struct recv_qp *qp = &host->recv[slot->recv];
	uint32_t what;

	if (__builtin_expect(host->params.any_order, 0)) {
		host_arrive_any_order(host, nic, p, NULL);
		return;
	}
	if (__builtin_expect(host->params.real_payload, 0))
		what = payload_in(host, qp, p);
	else
		what = rc_recv_data(&qp->rc, &host->params, p, NULL, host->now_ps);
	if (what & RC_ACCEPTED)
		host->node.count.progress += p->payload_bytes;
	host_received(host, nic, &qp->rc, p, what);
}

/* A data packet with contents: its message's first packet has their source and destination. @return rc_recv_data()'s */
static __attribute__((noinline)) uint32_t
payload_in(struct host *host, struct recv_qp *qp, const struct pkt *p)
{
	bool begins = roce_is_first(p->opcode) && p->psn == qp->rc.expected;
	const struct rc_post *post = begins ? host_message_of(host->config.shared, p) : NULL;
	struct rc_reth reth = { .room_bytes = UINT64_MAX };
	uint64_t offset;
	uint32_t what;

	if (post != NULL)
		reth.place = post->remote_offset;
	what = rc_recv_data(&qp->rc, &host->params, p, &reth, host->now_ps);
	if (!(what & RC_ACCEPTED))
		return what;
	offset = qp->rc.done_bytes - p->payload_bytes;
	if (post == NULL && qp->payload == NULL) /* its first packet arrived with its bytes, from another partition */
		post = host_message_of(host->config.shared, p);
	if (offset == 0 || post != NULL)
		qp->payload = post != NULL ? post->payload : NULL;
	if (qp->payload != NULL && host->client.accept != NULL)
		host->client.accept(host->client.ctx, p->flow, qp->rc.imm, qp->rc.place + offset, qp->payload + offset,
				    p->payload_bytes);
	return what;
}

void
host_received(struct host *host, struct nic *nic, struct rc_recv *rc, const struct pkt *p, uint32_t what)
{
	if (what & RC_REORDERED)
		host->node.count.order_errors++;
	if (what & (RC_ACK | RC_NAK | RC_RNR | RC_CNP))
		reply(host, nic, rc, p, what);
	if (what & RC_COMPLETE)
		host_completed(host, rc, p);
}

/* Tells the client of a message that is complete. */
static void
host_completed(struct host *host, const struct rc_recv *rc, const struct pkt *p)
{
	struct wc wc = {
		.time_ps = host->now_ps,
		.bytes = rc->done_bytes,
		.flow = p->flow,
		.imm = rc->imm,
		.opcode = WC_RECEIVED,
	};

	if (host->client.completed != NULL)
		host->client.completed(host->client.ctx, &wc);
}

/* Sends a CNP for a marked data packet, unless the NIC sent one lately and spaces those of all its flows. */
static void
host_send_cnp(struct host *host, struct nic *nic, struct rc_recv *rc, const struct pkt *p)
{
	const struct cc_params *cc = &host->params.cc;
	struct nic *by = host_answering(host, nic, p);
	struct pkt cnp = {
		.flow = p->flow,
		.wire_bytes = host->params.cnp_bytes,
		.opcode = ROCE_CNP,
		.type = PKT_CNP,
		.prio = host->params.cc.cnp_prio,
		.flags = PKT_REVERSE,
		.ttl = PKT_TTL_INIT,
	};

	if (cc->cnp_of_port && host->now_ps < by->cnp_next_ps)
		return;
	by->cnp_next_ps = host->now_ps + cc->cnp_interval_ps;
	rc->cnps++;
	host->cnps_sent += nic_control(host, by, &cnp);
}

static void
reply(struct host *host, struct nic *nic, struct rc_recv *rc, const struct pkt *p, uint32_t what)
{
	struct nic *by = host_answering(host, nic, p);
	struct pkt *out;

	if (__builtin_expect(what & RC_CNP, 0))
		host_send_cnp(host, nic, rc, p);
	if (!(what & (RC_ACK | RC_NAK | RC_RNR)))
		return;
	out = queue_slot(&by->control);
	/* Without room the packet stays unacknowledged: a later ACK, or the sender's timeout, covers it. */
	if (__builtin_expect(out == NULL, 0)) {
		host->acks_withheld++;
		return;
	}
	*out = (struct pkt){
		.flow = p->flow,
		.psn = (rc->expected - 1) & PSN_MASK,
		.arg = rc->msn,
		.wire_bytes = host->params.ack_bytes,
		.opcode = ROCE_RC_ACK,
		.syndrome = AETH_ACK,
		.type = PKT_ACK,
		.flags = rc->ce ? PKT_REVERSE | PKT_CE : PKT_REVERSE,
		.ttl = PKT_TTL_INIT,
	};
	if (__builtin_expect(what & (RC_NAK | RC_RNR), 0)) {
		out->type = PKT_NAK;
		out->psn = rc->expected;
		out->syndrome = what & RC_NAK ? AETH_NAK_SEQUENCE : AETH_RNR_NAK;
	} else if (__builtin_expect((p->flags & PKT_INT) != 0, 0)) {
		out->flags |= PKT_INT;
		by->control.ints[by->control.tail] = *host_int(host, nic);
	}
	nic_control_send(host, by);
	rc_recv_replied(rc);
}

/*
 * Passes an ACK's information on the path to the congestion control. acked is the number of packets that it
 * acknowledged.
 */
static __attribute__((noinline)) void
receive(const struct host *host, const struct nic *nic, struct send_qp *qp, const struct pkt *p, uint32_t acked,
	uint64_t rtt_ps)
{
	struct cc_ack ack = {
		.now_ps = host->now_ps,
		.rtt_ps = rtt_ps,
		.acked = acked,
		.una = qp->rc.una,
		.nxt = qp->rc.nxt,
		.switches = (uint32_t)(PKT_TTL_INIT - p->ttl),
		.telemetry = p->flags & PKT_INT ? host_int(host, nic) : NULL,
	};

	rc_send_received(&qp->rc, &host->params, &ack);
}

/* @return packets acknowledged for the first time */
static inline uint32_t
acknowledge(const struct host *host, struct rc_send *rc, const struct pkt *p, uint64_t *rtt_ps)
{
	uint32_t una = rc->una;

	if (__builtin_expect(host->params.any_order, 0))
		return sel_send_ack(rc, &host->params, p, host->now_ps, rtt_ps);
	rc_send_ack(rc, &host->params, p->psn, host->now_ps, rtt_ps);
	return rc->una - una;
}

static void
ack_in(struct host *host, struct nic *nic, const struct pkt *p)
{
	struct send_qp *qp = &host->send[host_slot(host, p->flow)->send];
	uint64_t next_ps = qp->rc.next_ps;
	bool retried = qp->rc.retries != 0;
	uint32_t acked;
	uint64_t rtt_ps;

	if (__builtin_expect(qp->rc.error, 0))
		return;
	rc_send_advance(&qp->rc, &host->params, host->now_ps);
	acked = acknowledge(host, &qp->rc, p, &rtt_ps);
	if (__builtin_expect(retried, 0) && acked != 0 && rc_send_outstanding(&qp->rc))
		host_watch(host, qp);
	if (host->params.cc.ops->acked != NULL)
		receive(host, nic, qp, p, acked, rtt_ps);
	if (__builtin_expect((p->flags & PKT_CE) != 0, 0))
		rc_send_congested(&qp->rc, &host->params, host->now_ps);
	if (rtt_ps != 0 && host->client.rtt != NULL)
		host->client.rtt(host->client.ctx, p->flow, rtt_ps, host->now_ps);
	if ((int32_t)(qp->rc.una - qp->rc.ack_end) >= 0)
		complete(host, qp, p->flow);
	qp_look(host, qp, host->params.rate_at_once && (qp->rc.next_ps != next_ps || (p->flags & PKT_CE) != 0));
}

/* Tells the client of every message that the last ACK finished. */
static void
complete(struct host *host, struct send_qp *qp, uint32_t flow)
{
	struct send_times times;
	struct rc_post post;

	while (rc_send_pop(&qp->rc, &host->params, &post, &times)) {
		struct wc wc = {
			.time_ps = host->now_ps,
			.wr_id = post.wr_id,
			.bytes = post.bytes,
			.flow = flow,
			.retransmits = post.retransmits,
			.opcode = WC_SENT,
			.times = times,
		};

		host->open--;
		if (host->client.completed != NULL)
			host->client.completed(host->client.ctx, &wc);
	}
}

static void
nak_in(struct host *host, struct nic *nic, const struct pkt *p)
{
	struct send_qp *qp = &host->send[host_slot(host, p->flow)->send];
	bool alive = true;

	if (qp->rc.error)
		return;
	rc_send_advance(&qp->rc, &host->params, host->now_ps);
	if (p->syndrome == AETH_NAK_SEQUENCE)
		rc_send_nak(&qp->rc, &host->params, p->psn, host->now_ps);
	else if ((p->syndrome & AETH_KIND_MASK) == (AETH_RNR_NAK & AETH_KIND_MASK))
		alive = rc_send_rnr(&qp->rc, &host->params, p->psn, host->now_ps);
	else
		alive = false; /* from a kernel host: invalid request, access error .. (IBTA table 46) */
	if (p->flags & PKT_CE)
		rc_send_congested(&qp->rc, &host->params, host->now_ps);
	if (rc_send_outstanding(&qp->rc))
		host_watch(host, qp);
	complete(host, qp, p->flow);
	if (!alive)
		host_fail_qp(host, qp,
			     (p->syndrome & AETH_KIND_MASK) == AETH_KIND_MASK ? "receiver refused it"
									      : "receiver not ready");
	qp_look(host, qp, true);
}

static void
cnp_in(struct host *host, struct nic *nic, const struct pkt *p)
{
	struct send_qp *qp = &host->send[host_slot(host, p->flow)->send];

	rc_send_congested(&qp->rc, &host->params, host->now_ps);
	qp_look(host, qp, host->params.rate_at_once);
}

/* Data that may arrive in any order: placed by its RETH. */

/* Puts the payload of an accepted packet in its place. @param body  its bytes; NULL: the sender has them */
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
acknowledge_any_order(struct host *host, struct nic *nic, struct recv_qp *qp, const struct pkt *p)
{
	struct nic *by = host_answering(host, nic, p);
	struct rc_recv *rc = &qp->rc;
	struct pkt *out = queue_slot(&by->control);

	/* Without room the packet is not acknowledged by itself: the next ACK covers it, or it is sent again. */
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
		host_send_cnp(host, nic, &qp->rc, p);
	if (what & RC_ACK)
		acknowledge_any_order(host, nic, qp, p);
	while (__builtin_expect((what & RC_COMPLETE) != 0, 0) && sel_recv_pop(&qp->rc, qp->sel, &host->params))
		host_completed(host, &qp->rc, p);
}
