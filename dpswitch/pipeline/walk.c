/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/walk.h"

#include "common/hash.h"
#include "common/log.h"

void
walk_send_int(const struct egress_walk *walk, const struct pkt *p, uint64_t start_ps, bool queued)
{
	const struct egress *egress = &walk->port->egress;
	struct int_header header = *header_of(walk, p, queued);

	if (p->type == PKT_DATA)
		int_push(&header, walk->sw->node.id,
			 int_pack(egress->int_rate, start_ps / PS_PER_NS, egress->sent_bytes + walk->sent_bytes,
				  egress->q[p->prio].bytes));
	link_send_int(egress->tx, walk->parity, p, &header, egress->free_ps);
}

void
walk_note_overtaker(const struct egress_walk *walk, const struct pkt *p)
{
	const struct egress *egress = &walk->port->egress;
	uint32_t depth = p->prio == 0 ? 0 : egress_depth(egress, p->prio); /* that it waits behind, itself among them */

	if ((egress_ready(egress) & walk->counted & ~egress_ahead(egress, p->prio)) == 0)
		return;
	telem_overtake(&walk->port->telem, p, egress->data_packets - depth);
	overtakings_add(&walk->port->truth.overtakings, p->flow, (p->flags & PKT_REVERSE) != 0, p->wire_bytes, p->time_ps);
}

bool
walk_swallows(const struct egress_walk *walk, struct pkt *p)
{
	struct sw *sw = walk->sw;

	if (!fib_loses(&sw->fib, sw->config->flows, p, p->in_port, (uint16_t)(walk->port - sw->ports)))
		return false;
	account_withdraw(&sw->account, p);
	switch_lose(sw, p);
	return true;
}

void
walk_pause(struct egress_walk *walk, const struct pause_frame *frame)
{
	struct switch_port *port = walk->port;
	uint8_t paused =
		frame->xoff ? port->egress.paused | frame->prio_mask : port->egress.paused & (uint8_t)~frame->prio_mask;
	struct node *node = &walk->sw->node;

	node->digest = digest_u64(node->digest, frame->time_ps ^ (uint64_t)frame->prio_mask << 56 ^ frame->xoff);
	if (frame->xoff)
		telem_pause(&port->telem, frame->prio_mask & walk->sw->account.lossless, TELEM_XOFF_RECEIVED,
			    frame->time_ps);
	if (paused != port->egress.paused)
		switch_halt(walk->sw, port, paused, frame->time_ps);
}

_Noreturn void
walk_out_of_memory(const struct egress_walk *walk)
{
	log_fatal("out of memory for a queue of %s", walk->sw->node.topo->nodes[walk->sw->node.id].name);
}
