/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/walk.h"

#include "common/hash.h"
#include "common/log.h"

/* The header beside a packet that came in now. */
static const struct int_header *
arrived_int(const struct sw *sw, const struct pkt *p)
{
	return link_int(sw->node.rx[p->in_port], p);
}

void
walk_send_int(struct sw *sw, struct switch_port *port, const struct pkt *p, struct walk_int how)
{
	const struct egress *egress = &port->egress;
	struct int_header header = how.queued ? *fifo_int(&egress->q[p->prio], p) : *arrived_int(sw, p);

	if (p->type == PKT_DATA)
		int_push(&header, sw->node.id,
			 int_pack(egress->int_rate, how.start_ps / PS_PER_NS, egress->sent_bytes + how.sent_bytes,
				  egress->q[p->prio].bytes));
	else if (p->type == PKT_UD)
		int_push(&header, sw->node.id, int_pack_hop(sw->node.id, p->in_port, (uint16_t)(port - sw->ports)));
	link_send_int(egress->tx, how.parity, p, &header, egress->free_ps);
}

void
walk_queue_int(struct sw *sw, struct switch_port *port, const struct pkt *p)
{
	struct fifo *fifo = &port->egress.q[p->prio];

	*fifo_int(fifo, fifo_last(fifo)) = *arrived_int(sw, p);
}

void
walk_note_overtaker(struct switch_port *port, uint8_t counted, const struct pkt *p)
{
	const struct egress *egress = &port->egress;
	uint32_t depth = p->prio == 0 ? 0 : egress_depth(egress, p->prio); /* that it waits behind, itself among them */

	if ((egress_ready(egress) & counted & ~egress_ahead(egress, p->prio)) == 0)
		return;
	telem_overtake(&port->telem, p, egress->data_packets - depth);
	overtakings_add(&port->truth.overtakings, p->flow, (p->flags & PKT_REVERSE) != 0, p->wire_bytes, p->time_ps);
}

bool
walk_swallows(struct sw *sw, struct switch_port *port, struct pkt *p)
{
	if (!fib_loses(&sw->fib, sw->config->flows, p, p->in_port, (uint16_t)(port - sw->ports)))
		return false;
	account_withdraw(&sw->account, p);
	switch_lose(sw, p);
	return true;
}

void
walk_pause(struct sw *sw, struct switch_port *port, const struct pause_frame *frame)
{
	uint8_t paused =
		frame->xoff ? port->egress.paused | frame->prio_mask : port->egress.paused & (uint8_t)~frame->prio_mask;
	struct node *node = &sw->node;

	node->digest = digest_u64(node->digest, frame->time_ps ^ (uint64_t)frame->prio_mask << 56 ^ frame->xoff);
	if (frame->xoff)
		telem_pause(&port->telem, frame->prio_mask & sw->account.lossless, TELEM_XOFF_RECEIVED, frame->time_ps);
	if (paused != port->egress.paused)
		switch_note_pause(sw, port, paused, frame->time_ps);
}

_Noreturn void
walk_out_of_memory(const struct sw *sw)
{
	log_fatal("out of memory for a queue of %s", sw->node.topo->nodes[sw->node.id].name);
}
