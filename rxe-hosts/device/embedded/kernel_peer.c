/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets from external hosts, and of other parts of the fabric: RETH and payload are in their bytes. A message that is reduced
 * where it arrives needs its immediate, which comes last: its payload is gathered until then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/wire/roce.h"
#include "rxe-hosts/device/embedded/host.h"

#define FIRST_GATHERED 65536

static void
misdelivered(struct host *host, struct nic *nic, const struct pkt *p)
{
	host->misdelivered++;
	host_drop(host, nic, p, REC_DROP_NO_ROUTE);
}

static bool
is_reply(const struct pkt *p)
{
	return p->type == PKT_ACK || p->type == PKT_NAK || p->type == PKT_CNP;
}

/* Is it for one of this host's QPs? Its addresses are; packets of a QP that is no more may still come. */
static bool
is_ours(const struct host *host, const struct pkt *p, const struct body *body)
{
	const struct flow *flow = &host->config.flows->flows[p->flow];
	bool reverse = p->flags & PKT_REVERSE;

	return is_reply(p) == reverse && (is_reply(p) || p->type == PKT_DATA || p->type == PKT_UD) &&
	       body->dst_qpn == (reverse ? flow->src_qpn : flow->dst_qpn);
}

/* @return room for so many bytes; ends the program when out of memory */
static uint8_t *
room_for(struct recv_qp *qp, uint64_t bytes)
{
	uint64_t cap = qp->gathered_cap != 0 ? qp->gathered_cap : FIRST_GATHERED;

	if (bytes <= qp->gathered_cap)
		return qp->gathered;
	while (cap < bytes)
		cap *= 2;
	qp->gathered = realloc(qp->gathered, cap);
	if (qp->gathered == NULL)
		log_fatal("out of memory for a message of %llu B", (unsigned long long)bytes);
	qp->gathered_cap = cap;
	return qp->gathered;
}

/* Has the receiver memory for what a flow brings? What is not a collective's it throws away, however much it is. */
static bool
is_placed(const struct host *host, const struct pkt *p)
{
	return host->params.real_payload && host->config.flows->flows[p->flow].kind == FLOW_COLLECTIVE;
}

/* A segment of an outside host's message: keeps its payload until the immediate has come, and hands the whole to the client. */
static void
gather(struct host *host, struct recv_qp *qp, const struct pkt *p, const struct body *body, uint32_t what)
{
	const struct rc_recv *rc = &qp->rc;

	memcpy(room_for(qp, rc->done_bytes) + rc->done_bytes - p->payload_bytes, body->payload, p->payload_bytes);
	if (what & RC_COMPLETE)
		host->client.accept(host->client.ctx, p->flow, rc->imm, rc->place, qp->gathered, (uint32_t)rc->done_bytes);
}

/*
 * A segment has been accepted. One of an embedded host of another part has its immediate with it, and goes where it belongs at once:
 * of a message that is sprayed others may have come by a way within this part, without bytes.
 */
static void
keep(struct host *host, struct recv_qp *qp, const struct pkt *p, const struct body *body, uint32_t what)
{
	host->node.count.progress += p->payload_bytes;
	if (!is_placed(host, p) || host->client.accept == NULL)
		return;
	if (!body->labelled) {
		gather(host, qp, p, body, what);
		return;
	}
	qp->payload = NULL; /* whose it is is asked anew of the next without bytes */
	host->client.accept(host->client.ctx, p->flow, p->arg, qp->rc.place + qp->rc.done_bytes - p->payload_bytes,
			    body->payload, p->payload_bytes);
}

static void
data_in(struct host *host, struct nic *nic, const struct pkt *p, const struct body *body)
{
	struct recv_qp *qp = &host->recv[host_slot(host, p->flow)->recv];
	struct rc_reth reth = { .place = body->va, .room_bytes = 1ULL << 31 }; /* IBTA 9.7.7: the longest message */
	uint32_t what;

	if (is_placed(host, p))
		reth.room_bytes = body->va < host->region_bytes ? host->region_bytes - body->va : 0;
	what = rc_recv_checked(&qp->rc, &host->params, p, &reth, host->now_ps);
	if ((what & RC_ACCEPTED) && body->labelled)
		qp->rc.imm = p->arg;
	if (what & RC_ACCEPTED)
		keep(host, qp, p, body, what);
	host_received(host, nic, &qp->rc, p, what);
}

void
host_arrive_bytes(struct host *host, struct nic *nic, const struct pkt *p)
{
	struct pkt plain = *p;
	struct body body;

	if (!host->node.bodies->ops->read(host->node.bodies, p->arg, &body) || !is_ours(host, p, &body)) {
		misdelivered(host, nic, p);
		return;
	}
	if (body.corrupt) {
		host_drop(host, nic, p, REC_DROP_CORRUPT);
		return;
	}
	host->node.count.consumed_packets++;
	host->node.count.consumed_bytes += p->wire_bytes;
	plain.flags = (uint8_t)((p->flags & ~PKT_BYTES) | (body.labelled ? 0 : PKT_RETRANSMIT));
	plain.arg = body.imm;
	if (p->type == PKT_DATA && host->params.any_order)
		host_arrive_any_order(host, nic, &plain, &body);
	else if (p->type == PKT_DATA)
		data_in(host, nic, &plain, &body);
	else
		host_take_in(host, nic, &plain);
	body_release(host->node.bodies, p);
}
