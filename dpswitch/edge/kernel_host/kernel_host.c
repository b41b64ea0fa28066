/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel host as a node: its life, and the order of its work in a window. */
#include <assert.h>
#include <errno.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/minmax.h"
#include "common/tag.h"
#include "common/units.h"
#include "common/wire/partition.h"
#include "common/wire/record_rows.h"
#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/kernel_host/state.h"
#include "dpswitch/pipeline/switch.h"

static void kernel_host_roll(struct kernel_host *host, uint64_t now_ps);
static int body_table_init(struct body_table *table, const struct flow_table *flows);
static void body_table_fini(struct body_table *table);

/* Arrivals of the window go to the port; pauses and what the host sends happen in order of time. */
static void
run_nic(struct kernel_host *host, struct kernel_host_nic *nic, const struct window *window)
{
	struct link *rx = host->node.rx[nic->index];
	const struct pause_frame *pauses = NULL;
	uint32_t npkts = 0, npauses = 0;
	uint64_t now_ps = window->start_ps;
	struct pkt *pkts = NULL;

	port_tend(nic->port);
	nic->up = port_up(nic->port);
	nic->from_host.now_ps = nic->from_host.limit_ps =
		window->start_ps; /* frames that are sent back wait for their turn */
	if (!link_is_idle(rx, window->parity)) {
		link_receive(rx, window->parity);
		npkts = link_arrivals(rx, window->end_ps, &pkts);
		npauses = link_pauses(rx, window->end_ps, &pauses);
	}
	kernel_host_arrived(host, nic, pkts, npkts);
	kernel_host_offer(host, nic, window->start_ps);
	kernel_host_pause_timers(host, nic, window);
	for (uint32_t i = 0; i < npauses; i++) {
		kernel_host_send(host, nic, now_ps, pauses[i].time_ps);
		now_ps = pauses[i].time_ps;
		kernel_host_pause(host, nic, &pauses[i]);
	}
	kernel_host_send(host, nic, now_ps, window->end_ps);
	if (nic->to_host.nown != 0)
		kernel_host_offer(host, nic, window->end_ps);
	link_consume(rx, npkts, npauses);
}

static void
run(struct node *node, const struct window *window)
{
	struct kernel_host *host = kernel_host_of(node);

	host->window = *window;
	if (host->has_telemetry && window->start_ps >= host->epoch_end_ps)
		kernel_host_roll(host, window->start_ps);
	for (uint16_t i = 0; i < node->nports; i++)
		run_nic(host, &host->nics[i], window);
	if (node->status != NODE_NO_BUFFER)
		node->status = host->work_expected ? NODE_RUNNING : NODE_PASSIVE;
}

/* @return whether a staged frame may leave: no pause holds its class */
static bool
may_send(const struct kernel_host_nic *nic)
{
	for (uint8_t c = 0; nic->from_host.staged != 0 && c < KERNEL_HOST_CLASSES; c++)
		if (!fifo_empty(&nic->from_host.stage[c]) && !(nic->pause.paused >> c & 1))
			return true;
	return false;
}

/* @return whether a frame waits to be received, and there is room for it */
static bool
is_expecting(const struct kernel_host_nic *nic)
{
	return nic->from_host.staged < KERNEL_HOST_STAGE && (nic->from_host.nwaiting != 0 || port_pending(nic->port));
}

static uint64_t
next_ps(const struct node *node)
{
	const struct kernel_host *host = (const struct kernel_host *)node;
	uint64_t first_ps = TIME_NEVER;

	for (uint16_t i = 0; i < node->nports; i++) {
		const struct kernel_host_nic *nic = &host->nics[i];

		if (nic->to_host.nown != 0 || !fifo_empty(&nic->to_host.hold) || is_expecting(nic))
			return host->window.end_ps;
		if (may_send(nic))
			first_ps = min_u64(first_ps, nic->from_host.free_ps);
		first_ps = min_u64(first_ps, kernel_host_pause_next_ps(nic));
	}
	return first_ps;
}

static void
held(const struct node *node, uint64_t *packets, uint64_t *bytes)
{
	const struct kernel_host *host = (const struct kernel_host *)node;

	for (uint16_t i = 0; i < node->nports; i++) {
		*packets += fifo_count(&host->nics[i].to_host.hold);
		*bytes += host->nics[i].to_host.hold.bytes;
	}
}

static void
attached(struct node *node)
{
	struct kernel_host *host = kernel_host_of(node);

	for (uint16_t i = 0; i < node->nports; i++) {
		struct kernel_host_nic *nic = &host->nics[i];
		struct link *tx = node->tx[i];
		uint64_t hold_bytes = host->config.hold_bytes != 0 ? host->config.hold_bytes : KERNEL_HOST_HOLD_BYTES;
		/*
		 * Bytes that still arrive after a PAUSE: both directions of the cable, both ends' windows, frames
		 * begun.
		 */
		uint64_t late_ps = 2 * tx->delay_ps + 2 * host->config.window_ps;

		nic->tx = tx;
		nic->to_host.xoff_bytes = hold_bytes;
		nic->to_host.xon_bytes = hold_bytes / 2;
		nic->to_host.limit_bytes = hold_bytes + 3 * (uint64_t)host->config.mtu_bytes +
					   (uint64_t)((double)late_ps * (double)tx->rate_bps / 8 / PS_PER_S);
	}
}

static uint64_t
dropped(const struct node *node, uint16_t nic, enum rec_drop reason)
{
	return ((const struct kernel_host *)node)->nics[nic].telem.drops->of[reason].packets;
}

static void
expect_work(struct node *node, bool expected)
{
	kernel_host_of(node)->work_expected = expected;
	if (node->status != NODE_NO_BUFFER)
		node->status = expected ? NODE_RUNNING : NODE_PASSIVE;
}

static void
drop_queue(struct bodies *bodies, struct fifo *queue)
{
	while (!fifo_empty(queue))
		body_release(bodies, fifo_pop(queue));
	fifo_fini(queue);
}

static void
destroy(struct node *node)
{
	struct kernel_host *host = kernel_host_of(node);

	for (uint32_t i = 0; host->nics != NULL && i < node->nports; i++) {
		struct kernel_host_nic *nic = &host->nics[i];

		rte_pktmbuf_free_bulk(nic->to_host.ready, nic->to_host.nready);
		rte_pktmbuf_free_bulk(nic->to_host.own, nic->to_host.nown);
		rte_pktmbuf_free_bulk(nic->from_host.waiting, nic->from_host.nwaiting);
		drop_queue(node->bodies, &nic->to_host.hold);
		for (uint32_t c = 0; c < KERNEL_HOST_CLASSES; c++)
			drop_queue(node->bodies, &nic->from_host.stage[c]);
		telem_fini(&nic->telem);
		port_flows_fini(&nic->flows);
	}
	recbuf_fini(&node->records);
	telem_reporter_fini(&host->reporter);
	free(host->nics);
	free(host);
}

static const struct node_ops ops = {
	.attached = attached,
	.run = run,
	.next_ps = next_ps,
	.held = held,
	.dropped = dropped,
	.storm = kernel_host_storm,
	.pausing = kernel_host_pausing,
	.link_changed = kernel_host_link_changed,
	.expect_work = expect_work,
	.destroy = destroy,
};

static int
setup_nics(struct kernel_host *host, struct err *err)
{
	for (uint16_t i = 0; i < host->node.nports; i++) {
		const struct topo_port *cable = topo_port_of(host->node.topo, host->node.id, i);
		const struct sertable *table = sertables_get(host->config.sertables, cable->rate_bps);
		struct kernel_host_nic *nic = &host->nics[i];

		if (table == NULL)
			return err_set(err, -errno, "NIC %u of %s: a rate of %llu bit/s is too low (at least %llu)", i + 1u,
				       host->node.topo->nodes[host->node.id].name, (unsigned long long)cable->rate_bps,
				       SERTABLE_MIN_RATE_BPS);
		nic->port = host->config.nics[i].port;
		nic->pfc = host->config.nics[i].pfc;
		nic->ser_ps = table->ps;
		nic->index = i;
		nic->ip = topo_nic_ip(host->node.id, i);
		nic->pause.refresh_ps = nic->pause.pausing_since_ps = TIME_NEVER;
		port_flows_init(&nic->flows, host->node.flows);
		if (telem_init(&nic->telem, &host->telemetry, &nic->flows, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

struct node *
kernel_host_create(const struct kernel_host_config *config, struct err *err)
{
	struct kernel_host *host = calloc(1, sizeof(*host));
	int ret = -ENOMEM;

	if (host == NULL)
		goto fail;
	host->config = *config;
	host->edge = config->edge;
	host->node = (struct node){
		.ops = &ops,
		.id = config->node,
		.nports = config->topo->nodes[config->node].nports,
		.topo = config->topo,
		.flows = config->edge->config.flows,
		.status = NODE_PASSIVE,
		.digest = DIGEST_INIT,
	};
	recbuf_init(&host->node.records, config->node);
	telem_reporter_init(&host->reporter, config->node, host->node.flows, &host->node.records,
			    &host->node.count.reports);
	host->telemetry = telem_config_of_host(config->telemetry, host->node.nports);
	host->has_telemetry = config->telemetry != NULL;
	host->nics = calloc(host->node.nports, sizeof(*host->nics));
	if (host->nics != NULL)
		ret = setup_nics(host, err);
	if (ret == 0) {
		host->next = config->edge->hosts;
		config->edge->hosts = host;
		return &host->node;
	}
fail:
	err_set(err, ret, "out of memory for host %s", config->topo->nodes[config->node].name);
	node_destroy(host != NULL ? &host->node : NULL);
	errno = -ret;
	return NULL;
}

bool
kernel_host_pending(const struct node *node)
{
	const struct kernel_host *host = (const struct kernel_host *)node;

	for (uint16_t i = 0; i < node->nports; i++) {
		const struct kernel_host_nic *nic = &host->nics[i];

		if (nic->to_host.nown != 0 || !fifo_empty(&nic->to_host.hold) || may_send(nic) || is_expecting(nic))
			return true;
	}
	return false;
}

void
kernel_host_sum(const struct node *node, struct kernel_host_counters *sum)
{
	const struct kernel_host *host = (const struct kernel_host *)node;

	*sum = (struct kernel_host_counters){ 0 };
	for (uint16_t i = 0; i < node->nports; i++) {
		const struct kernel_host_nic *nic = &host->nics[i];
		const uint64_t *from = (const uint64_t *)&nic->count;
		uint64_t *to = (uint64_t *)sum;

		for (size_t k = 0; k < sizeof(*sum) / sizeof(*to); k++)
			to[k] += from[k];
		sum->held_bytes += nic->to_host.hold.bytes;
		if (nic->pause.paused != 0)
			sum->paused_ps += host->window.end_ps - nic->pause.paused_since_ps;
	}
}

/*
 * Telemetry of the NIC of a kernel host, fed as a switch feeds that of an egress port. The queue depth of a packet is
 * the bytes staged ahead of it; the host's own ring cannot be seen.
 */

void
kernel_host_rows_count(struct kernel_host_nic *nic)
{
	telem_add(&nic->telem, &nic->from_host.rows);
	nic->from_host.rows.packets = 0;
}

void
kernel_host_row_first(struct kernel_host_nic *nic, const struct pkt *p)
{
	uint32_t depth = nic->from_host.staged - fifo_count(&nic->from_host.stage[0]);
	struct telem_batch *rows = &nic->from_host.rows;

	if (p->prio == 0)
		return;
	if (rows->packets != 0 && nic->from_host.rows_flow != p->flow)
		kernel_host_rows_count(nic);
	if (rows->packets == 0) {
		*rows = (struct telem_batch){ .slot = port_flows_slot(&nic->flows, p->flow), .in_port = REC_NO_PORT };
		nic->from_host.rows_flow = p->flow;
	}
	rows->packets++;
	rows->paused_packets += nic->pause.paused >> p->prio & 1;
	rows->depth_max = rows->depth_max > depth ? rows->depth_max : depth;
	rows->bytes += p->wire_bytes;
	rows->depth_sum += depth;
}

static void
kernel_host_roll(struct kernel_host *host, uint64_t now_ps)
{
	for (uint16_t i = 0; i < host->node.nports; i++)
		if (!telem_roll(&host->nics[i].telem, now_ps, &host->node.digest))
			host->node.count.row_errors++;
	host->epoch_end_ps = (now_ps / host->telemetry.epoch_ps + 1) * host->telemetry.epoch_ps;
}

/* Adds to, or takes from, the rows of the flows that wait. */
static void
count_queued(struct kernel_host_nic *nic, uint32_t step)
{
	for (uint8_t c = 1; c < KERNEL_HOST_CLASSES; c++)
		for (uint32_t i = 0; i < fifo_count(&nic->from_host.stage[c]); i++) {
			uint32_t slot = port_flows_slot(&nic->flows, fifo_at(&nic->from_host.stage[c], i)->flow);

			nic->flows.queued[slot] += step;
		}
}

/* @param present  [TELEM_MAX_CLASSES] filled */
static void
fill_present(const struct kernel_host *host, const struct kernel_host_nic *nic, struct telem_present *present)
{
	memset(present, 0, TELEM_MAX_CLASSES * sizeof(*present));
	for (uint8_t c = 1; c < KERNEL_HOST_CLASSES; c++) {
		struct telem_present *class = &present[telem_class(&host->telemetry, c)];

		class->queue_packets += fifo_count(&nic->from_host.stage[c]);
		class->queue_bytes += nic->from_host.stage[c].bytes;
		if (!(kernel_host_pauses(host, nic) >> c & 1) || nic->pause.pausing_since_ps == TIME_NEVER)
			continue;
		class->ingress_bytes = nic->to_host.hold.bytes;
		class->ingress_xoff_bytes = nic->to_host.xoff_bytes;
		class->pausing = true;
		class->pausing_since_ps = nic->pause.pausing_since_ps;
	}
}

/* A polling packet leaves this host for its victim's path: the NIC reports itself first. */
static void
poll_leaves(struct kernel_host *host, struct kernel_host_nic *nic, struct pkt *p, uint64_t now_ps)
{
	struct telem_present present[TELEM_MAX_CLASSES];
	const struct telem_poll at = { &nic->telem, &host->reporter, present, now_ps, nic->index };

	fill_present(host, nic, present);
	count_queued(nic, 1);
	p->arg = telem_poll_leaves(&at, p, nic->pause.paused >> host->node.flows->flows[p->flow].prio & 1);
	count_queued(nic, UINT32_MAX);
}

static void
poll_arrived(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *p)
{
	struct telem_present present[TELEM_MAX_CLASSES];
	const struct telem_poll at = { &nic->telem, &host->reporter, present, p->time_ps, nic->index };
	enum telem_extent extent;
	struct pkt back;

	if (telem_poll_asks(&nic->telem, p, &extent)) {
		fill_present(host, nic, present);
		count_queued(nic, 1);
		telem_poll_reply(&at, p, extent);
		count_queued(nic, UINT32_MAX);
	}
	if (host->node.flows->flows[p->flow].dst_node != host->node.id || !telem_poll_turns(&nic->telem, p, &back))
		return;
	back.time_ps = p->time_ps; /* it leaves no earlier */
	poll_leaves(host, nic, &back, p->time_ps);
	node_count_control(&host->node.count, &back);
	kernel_host_stage(host, nic, &back);
}

const struct kernel_host_control kernel_host_control[PKT_TYPES] = {
	[PKT_POLL] = { poll_leaves, poll_arrived },
};

/* State that the kernel hosts of a fabric share. */

const char *
edge_drop_name(enum edge_drop reason)
{
	static const char *const names[EDGE_DROP_REASONS] = {
		[EDGE_DROP_MALFORMED] = "malformed",
		[EDGE_DROP_MULTICAST] = "multicast",
		[EDGE_DROP_ARP] = "arp",
		[EDGE_DROP_SOURCE] = "source",
		[EDGE_DROP_DESTINATION] = "destination",
		[EDGE_DROP_NO_SLOT] = "no_slot",
		[EDGE_DROP_CONTROL] = "control",
		[EDGE_DROP_PFC] = "pfc",
		[EDGE_DROP_TOO_LONG] = "too_long",
		[EDGE_DROP_REPLY] = "reply",
	};

	assert(reason < EDGE_DROP_REASONS);
	return names[reason];
}

/* @return NULL with err set and rte_errno */
static struct rte_mempool *
make_pool(const char *name, uint32_t frames, uint32_t room_bytes, struct err *err)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		name, frames, 0, 0, (uint16_t)(RTE_PKTMBUF_HEADROOM + room_bytes), (int)rte_socket_id());

	if (pool == NULL)
		err_set(err, -rte_errno, "no memory for %u frames of %u B (%s): give DPDK more (-m)", frames, room_bytes,
			rte_strerror(rte_errno));
	return pool;
}

struct edge *
edge_create(const struct edge_config *config, struct err *err)
{
	struct edge *edge = calloc(1, sizeof(*edge));
	uint32_t room_bytes = config->room_bytes != 0 ? config->room_bytes : PORT_FRAME_ROOM;
	int ret = -ENOMEM;

	if (edge == NULL)
		goto fail;
	edge->config = *config;
	if (config->adopted != 0) {
		edge->adopted = make_pool("adopted", config->adopted, room_bytes,
					  err); /* before handles are made of where pools lie */
		ret = edge->adopted != NULL ? ret : -rte_errno;
		if (edge->adopted == NULL)
			goto fail;
	}
	if (config->flows->spares == 0) {
		ret = err_set(err, -EINVAL, "external hosts need spare flow slots for unplanned traffic");
		goto fail;
	}
	ret = body_table_init(&edge->bodies, config->flows);
	if (ret == -ERANGE)
		err_set(err, ret,
			"the ports' frames lie too far apart in memory: let DPDK have one page size only (--eal "
			"\"--single-file-segments -m ...\")");
	if (ret == 0)
		ret = lookup_init(&edge->lookup, config->topo, config->flows, config->idle_ps);
	if (ret < 0)
		goto fail;
	edge->pool = make_pool("edge", EDGE_BUILT, room_bytes, err);
	if (edge->pool != NULL)
		return edge;
	ret = -rte_errno;
fail:
	err_set(err, ret, "out of memory for the edge");
	edge_destroy(edge);
	errno = -ret;
	return NULL;
}

void
edge_destroy(struct edge *edge)
{
	if (edge == NULL)
		return;
	body_table_fini(&edge->bodies);
	lookup_fini(&edge->lookup);
	rte_mempool_free(edge->pool);
	rte_mempool_free(edge->adopted);
	free(edge);
}

struct bodies *
edge_bodies(struct edge *edge)
{
	return &edge->bodies.base;
}

/* A frame for a packet that never had bytes. */
static size_t
build(const struct edge *edge, const struct pkt *p, uint8_t *bytes, size_t cap_bytes)
{
	const struct message_source *source = &edge->config.source;
	struct pkt_message message = { 0 };
	struct frame f;

	if (control_of_type(p->type) == NULL && p->type != PKT_CNP &&
	    (source->describe == NULL || !source->describe(source->ctx, p, &message)))
		return 0;
	frame_from_pkt(&f, p, &edge->config.flows->flows[p->flow], &message, false);
	return frame_build(&f, bytes, cap_bytes);
}

size_t
edge_frame(const struct edge *edge, const struct pkt *p, uint8_t *bytes, size_t cap_bytes)
{
	const struct rte_mbuf *mbuf;
	size_t size_bytes;

	if (!(p->flags & PKT_BYTES))
		return build(edge, p, bytes, cap_bytes);
	mbuf = body_mbuf(&edge->bodies, p->arg);
	size_bytes = rte_pktmbuf_data_len(mbuf);
	if (size_bytes > cap_bytes)
		return 0;
	memcpy(bytes, rte_pktmbuf_mtod(mbuf, const uint8_t *), size_bytes);
	patch_frame(bytes, size_bytes, p);
	return size_bytes;
}

void
edge_sum(const struct edge *edge, struct edge_counters *sum)
{
	*sum = (struct edge_counters){
		.unplanned_flows = edge->lookup.taken,
		.unplanned_recycled = edge->lookup.recycled,
	};
}

/*
 * Flow of a frame from the host. Unplanned flows take a spare slot, which every switch of the fabric has to learn. A
 * single lcore does that at once. Of several lcores none may within a window, and such a frame, with those behind it,
 * waits until edge_settle() has done it for all.
 */

static bool
is_reply(const struct pkt *p)
{
	return p->type == PKT_ACK || p->type == PKT_NAK || p->type == PKT_CNP;
}

/*
 * Answers belong to the flow in the reverse direction, with the same UDP source port. @return LOOKUP_NONE: it is not
 * planned
 */
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
		return nic->from_host.nsettled != 0 ? KERNEL_HOST_REFUSED : KERNEL_HOST_WAITS;
	c->p.flow = add(edge, c, nic->from_host.free_ps);
	return c->p.flow != LOOKUP_NONE ? KERNEL_HOST_PLACED : KERNEL_HOST_REFUSED;
}

/*
 * kernel_host_place() for a frame that another partition has let in. Between windows. @return whether it has p.flow,
 * p.prio
 */
static bool
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
	for (uint32_t i = 0; i < nic->from_host.nwaiting; i++) {
		const struct rte_mbuf *mbuf = nic->from_host.waiting[i];
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
			lookup_touch(&host->edge->lookup, c.p.flow,
				     nic->from_host.free_ps); /* no later frame takes its slot */
		else if (place == KERNEL_HOST_WAITS)
			add(host->edge, &c, nic->from_host.free_ps);
	}
	nic->from_host.nsettled = nic->from_host.nwaiting;
}

void
edge_settle(struct edge *edge)
{
	for (struct kernel_host *host = edge->hosts; host != NULL; host = host->next)
		for (uint16_t i = 0; i < host->node.nports; i++)
			if (host->nics[i].from_host.nwaiting != host->nics[i].from_host.nsettled)
				settle(host, &host->nics[i]);
}

/*
 * Packets that cross from one partition of a fabric to another: frames with their bytes, which are judged again on
 * arrival, and control packets with the tuple of their flow.
 */

/* Changes of a descriptor since the frame arrived. */
#define IN_FLIGHT (PKT_CE | PKT_CORRUPT)

static bool
is_control(const struct pkt *p)
{
	return p->type == PKT_POLL || p->type == PKT_NOTIFY || p->type == PKT_EXPIRED;
}

static size_t
tuple_bytes(const struct flow *flow, uint8_t *bytes, size_t cap_bytes)
{
	const struct partition_tuple tuple = {
		.src_ip = flow->src_ip,
		.dst_ip = flow->dst_ip,
		.sport = flow->sport,
		.dport = flow->dport,
		.protocol = flow->protocol == 0 ? IPV4_PROTOCOL_UDP : flow->protocol,
	};

	if (sizeof(tuple) > cap_bytes)
		return 0;
	memcpy(bytes, &tuple, sizeof(tuple));
	return sizeof(tuple);
}

size_t
edge_bytes(const struct edge *edge, const struct pkt *p, uint8_t *bytes, size_t cap_bytes)
{
	const struct rte_mbuf *mbuf;
	size_t size_bytes;

	if (!(p->flags & PKT_BYTES))
		return is_control(p) ? tuple_bytes(&edge->config.flows->flows[p->flow], bytes, cap_bytes) : 0;
	mbuf = body_mbuf(&edge->bodies, p->arg);
	size_bytes = rte_pktmbuf_data_len(mbuf);
	if (size_bytes > cap_bytes)
		return 0;
	memcpy(bytes, rte_pktmbuf_mtod(mbuf, const uint8_t *), size_bytes);
	return size_bytes;
}

/* Both ends are hosts of the topology, and not the same. */
static bool
has_ends(const struct edge *edge, const struct tuple *tuple)
{
	uint32_t from, to;
	uint16_t at;

	return topo_find_nic(edge->config.topo, tuple->src_ip, &from, &at) &&
	       topo_find_nic(edge->config.topo, tuple->dst_ip, &to, &at) && from != to;
}

static int
keep(struct edge *edge, struct pkt *p, const uint8_t *bytes, size_t size_bytes)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(edge->adopted);

	if (mbuf == NULL)
		return -ENOBUFS;
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)size_bytes), bytes, size_bytes);
	lookup_touch(&edge->lookup, p->flow, p->time_ps);
	p->arg = body_put(&edge->bodies, mbuf, p->flow);
	p->flags |= PKT_BYTES;
	return 0;
}

static int
adopt_control(struct edge *edge, struct pkt *p, const uint8_t *bytes, size_t size_bytes, struct err *err)
{
	struct classified c = { .p = { .type = PKT_UD } };
	struct partition_tuple tuple;

	if (size_bytes != sizeof(tuple))
		return err_set(err, -EPROTO, "%zu B that are no tuple of a flow", size_bytes);
	memcpy(&tuple, bytes, sizeof(tuple));
	c.tuple = (struct tuple){ tuple.src_ip, tuple.dst_ip, tuple.sport, tuple.dport, tuple.protocol };
	if (!has_ends(edge, &c.tuple))
		return err_set(err, -EPROTO, "the tuple of a flow that is not between two hosts");
	if (!edge_place(edge, &c, true, p->time_ps))
		return -ENOSPC;
	p->flow = c.p.flow;
	lookup_touch(&edge->lookup, p->flow, p->time_ps);
	return 0;
}

int
edge_adopt(struct edge *edge, struct pkt *p, const uint8_t *bytes, size_t size_bytes, struct err *err)
{
	uint32_t room_bytes = rte_pktmbuf_data_room_size(edge->adopted) - RTE_PKTMBUF_HEADROOM;
	struct pkt original = *p;
	struct classified c;
	enum frame_class class;

	if (is_control(p))
		return adopt_control(edge, p, bytes, size_bytes, err);
	if (size_bytes > room_bytes)
		return err_set(err, -EPROTO, "%zu B of a frame; right would be %u at most", size_bytes, room_bytes);
	class = classify(bytes, size_bytes, &c);
	if ((class != CLASS_ROCE && class != CLASS_UNKNOWN) || !has_ends(edge, &c.tuple))
		return err_set(err, -EPROTO, "%zu B that are no frame between two hosts", size_bytes);
	if (!edge_place(edge, &c, class == CLASS_ROCE, original.time_ps))
		return -ENOSPC;
	*p = c.p;
	p->time_ps = original.time_ps;
	p->ttl = original.ttl;
	p->wire_bytes = (uint16_t)max_u64(c.p.wire_bytes, original.wire_bytes);
	p->flags |= original.flags & IN_FLIGHT;
	return keep(edge, p, bytes, size_bytes);
}

/* The bytes of frames that are inside the fabric. */

static void
release(struct bodies *bodies, const struct pkt *p)
{
	rte_pktmbuf_free(body_take((struct body_table *)bodies, p));
}

static bool
read_body(const struct bodies *bodies, uint32_t handle, struct body *body)
{
	const struct rte_mbuf *mbuf = body_mbuf((const struct body_table *)bodies, handle);
	struct frame f;

	if (frame_parse(rte_pktmbuf_mtod(mbuf, const uint8_t *), rte_pktmbuf_data_len(mbuf), &f) != FRAME_OK ||
	    f.kind != FRAME_ROCE)
		return false;
	*body = (struct body){
		.opcode = f.opcode,
		.syndrome = f.syndrome,
		.corrupt = f.corrupt,
		.dst_qpn = f.dst_qpn,
		.src_qpn = f.src_qpn,
		.imm = f.imm,
		.va = f.va,
		.rkey = f.rkey,
		.dma_bytes = f.dma_bytes,
		.payload = f.payload,
		.payload_bytes = f.payload_bytes,
	};
	return true;
}

static const struct body_ops body_ops = { release, read_body };

/* The address range of all pools' memory. */
struct span {
	uintptr_t first, end;
};

static void
add_chunk(struct rte_mempool *pool, void *ctx, struct rte_mempool_memhdr *chunk, unsigned index)
{
	struct span *span = ctx;
	uintptr_t first = (uintptr_t)chunk->addr, end = first + chunk->len;

	(void)pool;
	(void)index;
	span->first = first < span->first ? first : span->first;
	span->end = end > span->end ? end : span->end;
}

static void
add_pool(struct rte_mempool *pool, void *ctx)
{
	rte_mempool_mem_iter(pool, add_chunk, ctx);
}

/* The pools of all ports are there. @return 0, -ENOMEM, or -ERANGE: they lie too far apart for a handle */
static int
body_table_init(struct body_table *table, const struct flow_table *flows)
{
	struct span span = { UINTPTR_MAX, 0 };

	rte_mempool_walk(add_pool, &span);
	*table = (struct body_table){
		.base.ops = &body_ops,
		.origin = span.first & ~(((uintptr_t)1 << BODY_ALIGN_SHIFT) - 1),
		.flows = flows,
		.in_flight = calloc(flows->spares, sizeof(*table->in_flight)),
	};
	if (table->in_flight == NULL)
		return -ENOMEM;
	return span.end == 0 || (span.end - table->origin) >> BODY_ALIGN_SHIFT <= UINT32_MAX ? 0 : -ERANGE;
}

static void
body_table_fini(struct body_table *table)
{
	free(table->in_flight);
	*table = (struct body_table){ 0 };
}
