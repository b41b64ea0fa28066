/* SPDX-License-Identifier: BSD-3-Clause */
/* The device interface of an embedded host. */
#include <assert.h>
#include <errno.h>

#include "common/units.h"
#include "rxe-hosts/device/embedded/host.h"

static struct send_qp *
sending_qp(const struct host *host, uint32_t flow)
{
	const struct flow_slot *slot = host_slot(host, flow);

	assert(slot->src_node == host->node.id);
	return &host->send[slot->send];
}

static void
set_client(struct device *dev, const struct device_client *client)
{
	host_of_device(dev)->client = *client;
}

static void
register_region(struct device *dev, void *base, uint64_t bytes)
{
	struct host *host = host_of_device(dev);

	host->region = base;
	host->region_bytes = bytes;
	for (uint32_t i = 0; i < host->nsend; i++)
		host->send[i].rc.region = host->params.real_payload ? base : NULL;
}

static int
post_send(struct device *dev, uint32_t flow, const struct send_wr *wr)
{
	struct host *host = host_of_device(dev);
	struct send_qp *qp = sending_qp(host, flow);
	struct rc_work work = {
		.wr_id = wr->wr_id,
		.bytes = wr->bytes,
		.local_offset = wr->local_offset,
		.remote_offset = wr->remote_offset,
		.imm = wr->imm,
		.tag = wr->tag,
		.send = wr->send,
	};
	int rc;

	if (qp->rc.region != NULL &&
	    (wr->local_offset > host->region_bytes || wr->bytes > host->region_bytes - wr->local_offset))
		return -EINVAL;
	rc = rc_send_post(&qp->rc, &host->params, &work);
	if (rc != 0)
		return rc;
	host->open++;
	qp_look(host, qp, false);
	return 0;
}

static int
post_receive(struct device *dev, uint32_t flow, uint64_t local_offset, uint64_t bytes)
{
	struct host *host = host_of_device(dev);
	const struct flow_slot *slot = host_slot(host, flow);

	assert(slot->dst_node == host->node.id);
	return recv_ring_push(&host->recv[slot->recv].rc.receives, local_offset, bytes) ? 0 : -ENOSPC;
}

static void
reset_qp(struct device *dev, uint32_t flow)
{
	struct host *host = host_of_device(dev);
	struct send_qp *qp = sending_qp(host, flow);

	assert(!rc_send_outstanding(&qp->rc) && !rc_send_ready(&qp->rc));
	rc_send_reset(&qp->rc, &host->params);
}

static void
query_qp(const struct device *dev, uint32_t flow, struct qp_state *state)
{
	const struct host *host = host_of_device(dev);
	const struct rc_send *rc = &sending_qp(host, flow)->rc;

	*state = (struct qp_state){
		.outstanding_bytes = rc_send_outstanding_bytes(rc, &host->params),
		.acked_bytes = rc_send_acked_bytes(rc, &host->params),
		.oldest_unacked_ps = rc->sent_ps[rc->una & rc->sent_mask],
		.last_rtt_ps = rc->last_rtt_ps,
		.throttled = host->params.cc.ops->quiet && rc->cc.rate_bps < rc->line_bps,
		.retransmits = rc->head != rc->tail ? rc->posts[rc->head % MSG_SLOTS].retransmits : 0,
		.times = rc_send_times(rc),
	};
}

/* A flow's QPs are those of the flow table. */
static int64_t
ud_qpn(struct device *dev)
{
	return 0;
}

static void
set_timer(struct device *dev, uint64_t when_ps)
{
	struct host *host = host_of_device(dev);

	host->client_timer_ps = when_ps > host->now_ps ? when_ps : host->now_ps;
	host_set_timers(host);
}

static uint64_t
now(const struct device *dev)
{
	return host_of_device(dev)->now_ps;
}

static struct recbuf *
records(struct device *dev)
{
	return &host_of_device(dev)->node.records;
}

const struct device_ops embedded_device_ops = {
	.set_client = set_client,
	.register_region = register_region,
	.post_send = post_send,
	.post_receive = post_receive,
	.reset_qp = reset_qp,
	.query_qp = query_qp,
	.post_datagram = host_post_datagram,
	.ud_qpn = ud_qpn,
	.ud_open = host_ud_open,
	.ud_receive = host_ud_receive,
	.report_nic = host_report_nic,
	.set_timer = set_timer,
	.now = now,
	.records = records,
};

void
embedded_expect_work(struct node *node, bool expected)
{
	struct host *host = host_of(node);

	host->work_expected = expected;
	if (node->status != NODE_QP_ERROR)
		node->status = host->open != 0 || expected ? NODE_RUNNING : NODE_PASSIVE;
}

void
embedded_storm(struct node *node, uint16_t nic_index, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps)
{
	struct host *host = host_of(node);
	struct nic *nic = &host->nics[nic_index];
	uint8_t bit = (uint8_t)(1u << prio);

	assert(!on || interval_ps != 0);
	if (((nic->storm_mask & bit) != 0) == on)
		return;
	if (on) {
		if (nic->storm_mask == 0 || interval_ps < nic->storm_interval_ps)
			nic->storm_interval_ps = interval_ps;
		nic->pausing_since_ps[prio] = now_ps;
		nic->storm_mask |= bit;
		nic->storm_ended &= (uint8_t)~bit;
	} else {
		nic->storm_mask &= (uint8_t)~bit;
		nic->storm_ended |= bit;
	}
	nic->storm_ps = now_ps;
	if (nic->storm_ps < host->storm_ps) {
		host->storm_ps = nic->storm_ps;
		host_set_timers(host);
	}
}

uint8_t
embedded_pausing(const struct node *node, uint16_t nic)
{
	return ((const struct host *)node)->nics[nic].storm_mask;
}

void
embedded_link_changed(struct node *node, uint16_t nic, uint8_t held, uint64_t now_ps)
{
	struct host *host = host_of(node);

	host->now_ps = now_ps;
	nic_hold(host, &host->nics[nic], held);
	if (host->bonded)
		host_rebond(host);
}

uint64_t
embedded_dropped(const struct node *node, uint16_t nic, enum rec_drop reason)
{
	return ((const struct host *)node)->nics[nic].telem.drops->of[reason].packets;
}

struct embedded_flow
embedded_flow_of(struct node *node, uint32_t flow)
{
	struct host *host = host_of(node);
	const struct send_qp *qp = &host->send[host_slot(host, flow)->send];

	return (struct embedded_flow){ .messages = qp->rc.tail, .nic = qp->nic };
}

void
embedded_sum(const struct node *node, struct embedded_counters *sum)
{
	const struct host *host = (const struct host *)node;

	*sum = (struct embedded_counters){
		.cnps_sent = host->cnps_sent,
		.acks_withheld = host->acks_withheld,
		.pauses_received = host->pauses_received,
		.misdelivered = host->misdelivered,
		.datagrams_strange = host->ud_strange,
		.datagrams_expired = host->ud_expired,
	};
	for (uint16_t i = 0; i < host->node.nports; i++)
		sum->datagrams_unposted += host_ud_unposted(host, i);
	for (uint32_t i = 0; i < host->nsend; i++) {
		const struct rc_send *rc = &host->send[i].rc;

		sum->retransmits += rc->retransmits;
		sum->timeouts += rc->timeouts;
		sum->naks_received += rc->naks;
		sum->rnr_received += rc->rnr_naks;
	}
	for (uint32_t i = 0; i < host->nrecv; i++) {
		const struct rc_recv *rc = &host->recv[i].rc;

		sum->naks_sent += rc->naks;
		sum->duplicates += rc->duplicates;
		sum->out_of_sequence += rc->out_of_sequence;
		sum->stale += rc->stale;
		sum->early += host->recv[i].sel != NULL ? host->recv[i].sel->early : 0;
		sum->datagrams_unposted += host->recv[i].ud.unposted;
	}
}
