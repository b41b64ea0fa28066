/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose a frame from the host is. Flows that nobody planned take a spare slot, which every switch of the fabric has to hear of:
 * the only lcore does that at once; of several none may within a window, and such a frame, with those behind it, waits until
 * edge_settle() has done it for all.
 */
#include <rte_mbuf.h>

#include "common/tag.h"
#include "dpswitch/edge/kernel_host/state.h"
#include "dpswitch/pipeline/switch.h"

static bool
is_reply(const struct pkt *p)
{
	return p->type == PKT_ACK || p->type == PKT_NAK || p->type == PKT_CNP;
}

/* Answers belong to the flow that runs the other way, with the same UDP source port. @return LOOKUP_NONE: nobody planned it */
static uint32_t
find(const struct edge *edge, struct classified *c)
{
	struct tuple mirrored = c->tuple;
	uint32_t flow = LOOKUP_NONE;

	mirrored.src_ip = c->tuple.dst_ip;
	mirrored.dst_ip = c->tuple.src_ip;
	if (is_reply(&c->p))
		flow = lookup_find(&edge->lookup, &mirrored);
	if (flow != LOOKUP_NONE) {
		c->p.flags |= PKT_REVERSE;
		return flow;
	}
	return lookup_find(&edge->lookup, &c->tuple);
}

static uint32_t
add(struct edge *edge, const struct classified *c, uint64_t now_ps)
{
	bool recycled = false;
	uint32_t flow = lookup_add(&edge->lookup, &c->tuple, c->p.prio, now_ps, edge->bodies.in_flight, &recycled);

	for (uint32_t i = 0; recycled && flow != LOOKUP_NONE && i < edge->config.topo->nnodes; i++)
		if (edge->config.switches[i] != NULL)
			switch_forget_flow(edge->config.switches[i], flow);
	return flow;
}

static uint8_t
class_of(const struct edge_config *config, const struct classified *c, bool roce)
{
	if (roce && is_reply(&c->p))
		return 0; /* as an embedded host sends them; an RDMA device marks them like the data that they answer */
	if (roce)
		return c->mark != 0 ? c->mark : tag_is(c->p.tag) ? config->measured_prio : config->data_prio;
	return c->mark == 0 || (config->lossless >> c->mark & 1) ? config->lossy_prio : c->mark;
}

enum kernel_host_place
kernel_host_place(struct kernel_host *host, const struct kernel_host_nic *nic, struct classified *c, bool roce,
		  enum edge_drop *why)
{
	struct edge *edge = host->edge;
	uint32_t node;
	uint16_t at;

	*why = EDGE_DROP_SOURCE;
	if (c->tuple.src_ip != nic->ip)
		return KERNEL_HOST_REFUSED;
	c->p.prio = class_of(&edge->config, c, roce);
	c->p.flow = find(edge, c);
	if (c->p.flow != LOOKUP_NONE)
		return KERNEL_HOST_PLACED;
	*why = EDGE_DROP_DESTINATION;
	if (!topo_find_nic(edge->config.topo, c->tuple.dst_ip, &node, &at) || node == host->node.id)
		return KERNEL_HOST_REFUSED;
	*why = EDGE_DROP_NO_SLOT;
	if (edge->config.shared)
		return nic->nsettled != 0 ? KERNEL_HOST_REFUSED : KERNEL_HOST_WAITS;
	c->p.flow = add(edge, c, nic->free_ps);
	return c->p.flow != LOOKUP_NONE ? KERNEL_HOST_PLACED : KERNEL_HOST_REFUSED;
}

bool
edge_place(struct edge *edge, struct classified *c, bool roce, uint64_t now_ps)
{
	c->p.prio = class_of(&edge->config, c, roce);
	c->p.flow = find(edge, c);
	if (c->p.flow == LOOKUP_NONE)
		c->p.flow = add(edge, c, now_ps);
	return c->p.flow != LOOKUP_NONE;
}

/* Frames that wait get their flows, where slots are free. */
static void
settle(struct kernel_host *host, struct kernel_host_nic *nic)
{
	for (uint32_t i = 0; i < nic->nwaiting; i++) {
		const struct rte_mbuf *mbuf = nic->waiting[i];
		struct classified c;
		enum frame_class class;
		enum kernel_host_place place;
		enum edge_drop why;

		if (mbuf->nb_segs != 1 || eth_wire_bytes(rte_pktmbuf_pkt_len(mbuf)) > host->config.mtu_bytes)
			continue;
		class = classify(rte_pktmbuf_mtod(mbuf, const uint8_t *), rte_pktmbuf_data_len(mbuf), &c);
		if (class != CLASS_ROCE && class != CLASS_UNKNOWN)
			continue;
		place = kernel_host_place(host, nic, &c, class == CLASS_ROCE, &why);
		if (place == KERNEL_HOST_PLACED)
			lookup_touch(&host->edge->lookup, c.p.flow, nic->free_ps); /* nobody behind it takes its slot */
		else if (place == KERNEL_HOST_WAITS)
			add(host->edge, &c, nic->free_ps);
	}
	nic->nsettled = nic->nwaiting;
}

void
edge_settle(struct edge *edge)
{
	for (struct kernel_host *host = edge->hosts; host != NULL; host = host->next)
		for (uint16_t i = 0; i < host->node.nports; i++)
			if (host->nics[i].nwaiting != host->nics[i].nsettled)
				settle(host, &host->nics[i]);
}
