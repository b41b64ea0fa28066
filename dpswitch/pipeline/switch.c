/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch as a node: its life, and the order of its stages. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "dpswitch/pipeline/settings.h"
#include "dpswitch/pipeline/switch.h"

void
switch_drop(struct sw *sw, uint16_t port, const struct pkt *p, enum rec_drop reason, uint64_t now_ps)
{
	struct port_counts *counts = &sw->ports[port].counts;

	telem_drop(&sw->ports[port].telem, p, reason, now_ps);
	counts->dropped[p->prio].packets++;
	counts->dropped[p->prio].bytes += p->wire_bytes;
	counts->touched |= (uint8_t)(1u << p->prio);
	sw->node.count.dropped_packets++;
	sw->node.count.dropped_bytes += p->wire_bytes;
	body_release(sw->node.bodies, p);
}

void
switch_lose(struct sw *sw, const struct pkt *p)
{
	sw->node.count.lost_packets++;
	sw->node.count.dropped_packets++;
	sw->node.count.dropped_bytes += p->wire_bytes;
	body_release(sw->node.bodies, p);
}

static void
roll_epoch(struct sw *sw, const struct window *window)
{
	uint64_t epoch_ps = sw->config->telemetry.epoch_ps;

	for (uint16_t i = 0; i < sw->node.nports; i++)
		if (!telem_roll(&sw->ports[i].telem, window->start_ps, &sw->node.digest))
			sw->node.count.row_errors++;
	sw->epoch_end_ps = (window->start_ps / epoch_ps + 1) * epoch_ps;
	if (sw->telemetry.late_looks)
		switch_late_looks(sw, window->start_ps, false);
	if (sw->telemetry.every_epoch && window->start_ps >= epoch_ps)
		switch_report_all(sw, window->start_ps);
}

/* Egresses that are not of the group, one by one. */
static void
transmit_alone(struct sw *sw, const struct pause_frame *const *pauses, const uint32_t *npauses, const struct window *window)
{
	bool direct = flow_map_is_direct(&sw->ports[0].flows.slots);
	void (*transmit)(struct sw *, uint16_t, const struct pause_frame *, uint32_t, const struct window *) =
		direct ? switch_transmit_direct : switch_transmit_hashed;
	uint16_t busy[TOPO_MAX_PORTS];
	uint32_t count = 0, work;

	for (uint16_t i = 0; i < sw->node.nports; i++) {
		const struct switch_port *port = &sw->ports[i];

		/* Written without a branch: no processor predicts which port has work next. */
		busy[count] = i;
		work = port->arrivals.nruns | port->egress.backlog | npauses[i];
		count += (work != 0) & !group_has(&sw->group, i);
	}
	for (uint32_t i = 0; i < count; i++)
		fetch_port(&sw->ports[busy[i]], 0);
	for (uint32_t i = 0; i < count; i++) {
		/* Prefetches in two steps: the first for the port after the next, the second for the next. */
		if (i + 2 < count)
			fetch_port(&sw->ports[busy[i + 2]], 1);
		if (i + 1 < count)
			fetch_port(&sw->ports[busy[i + 1]], 2);
		transmit(sw, busy[i], pauses[busy[i]], npauses[busy[i]], window);
	}
}

/* Data of a flow has the class that this switch gives it, whatever the switch before did. Class 0 is control, and stays. */
static void
classify(const struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (pkts[i].prio != 0 && (pkts[i].flags & PKT_REVERSE) == 0)
			pkts[i].prio = switch_class_of(sw, in_port, &sw->config->flows->flows[pkts[i].flow]);
}

/* Arrivals of a window. */
struct intake {
	uint32_t count;
	uint16_t ports[TOPO_MAX_PORTS]; /* [count] at which something arrives, ascending */
	/* Indexed by port; a pointer is set if the count is not 0. */
	struct pkt *pkts[TOPO_MAX_PORTS];
	const struct pause_frame *pauses[TOPO_MAX_PORTS];
	uint32_t npkts[TOPO_MAX_PORTS], npauses[TOPO_MAX_PORTS];
};

/* @return whether a queue holds packets. @param in  set */
static inline bool
take_in(const struct sw *sw, const struct window *window, struct intake *in)
{
	const struct node *node = &sw->node;
	uint32_t backlog = 0;

	in->count = 0;
	for (uint16_t i = 0; i < node->nports; i++) {
		backlog |= sw->ports[i].egress.backlog;
		in->npkts[i] = in->npauses[i] = 0;
		if (link_is_idle(node->rx[i], window->parity))
			continue;
		link_receive(node->rx[i], window->parity);
		in->npkts[i] = link_arrivals(node->rx[i], window->end_ps, &in->pkts[i]);
		in->npauses[i] = link_pauses(node->rx[i], window->end_ps, &in->pauses[i]);
		in->ports[in->count] = i;
		in->count += (in->npkts[i] | in->npauses[i]) != 0;
	}
	return backlog != 0;
}

static inline void
route_arrivals(struct sw *sw, const struct intake *in)
{
	const struct node *node = &sw->node;
	struct pkt *const *pkts = in->pkts;
	const uint32_t *npkts = in->npkts;

	for (uint32_t at = 0; at < in->count; at++) {
		uint16_t i = in->ports[at];

		if (__builtin_expect(npkts[i] == 0, 0))
			continue;
		sw->arriving = npkts[i];
		if (__builtin_expect(sw->class_of != NULL, 0))
			classify(sw, i, pkts[i], npkts[i]);
		if (__builtin_expect(sw->volumes != NULL, 0))
			switch_volumes_count(sw, i, pkts[i], npkts[i]);
		if (__builtin_expect(sw->samples != NULL, 0))
			switch_samples_count(sw->samples, i, sw->config->flows, pkts[i], npkts[i]);
		if (__builtin_expect(node->rx[i]->damaged, 0))
			switch_route_damaged(sw, i, pkts[i], npkts[i]);
		else
			switch_route(sw, i, pkts[i], npkts[i]);
	}
}

/*
 * Makes room for the window's keys: a charge for each arrival, and a release for each packet that arrives, was made
 * here or waits. @param npkts  as of route_arrivals()
 */
static void
reserve_keys(struct sw *sw, const uint32_t npkts[])
{
	uint32_t keys = sw->polling.nborn;

	if (sw->account.quiet)
		return;
	for (uint16_t i = 0; i < sw->node.nports; i++)
		keys += 2 * npkts[i] + sw->ports[i].egress.data_packets + fifo_count(&sw->ports[i].egress.q[0]);
	account_reserve(&sw->account, keys);
}

static void
switch_run(struct node *node, const struct window *window)
{
	struct sw *sw = switch_of(node);
	struct intake in;
	uint64_t bytes = node->count.rx_bytes + node->count.born_bytes; /* so far */
	bool work;

	if (window->start_ps >= sw->epoch_end_ps)
		roll_epoch(sw, window);
	if (__builtin_expect(sw->watchdog != NULL, 0) && watchdog_next_ps(sw->watchdog) <= window->start_ps)
		watchdog_run(sw, window->start_ps);
	work = sw->account.recheck || sw->storms != 0 || sw->polling.due;
	work |= take_in(sw, window, &in);
	if (!work && in.count == 0) {
		if (__builtin_expect(sw->volumes != NULL, 0))
			switch_volumes_window(sw, window->end_ps);
		return;
	}
	route_arrivals(sw, &in);
	account_open(&sw->account, node->count.rx_bytes + node->count.born_bytes - bytes);
	if (__builtin_expect(sw->account.pools != NULL, 0))
		pools_open(sw);
	if (__builtin_expect(!sw->account.quiet || sw->account.recheck || sw->storms != 0, 0)) {
		switch_pauses_open(sw);
		reserve_keys(sw, in.npkts);
	}
	transmit_alone(sw, in.pauses, in.npauses, window);
	if (__builtin_expect(sw->group.count != 0, 0))
		switch_transmit_group(sw, in.pauses, in.npauses, window);
	switch_account(sw, window);
	if (__builtin_expect(sw->storms != 0, 0))
		switch_storm(sw, window);
	if (__builtin_expect(sw->volumes != NULL, 0))
		switch_volumes_window(sw, window->end_ps);
	if (__builtin_expect(sw->polling.due, 0))
		switch_report(sw, window);
	sw->polling.nborn = 0;
	for (uint32_t at = 0; at < in.count; at++)
		link_consume(node->rx[in.ports[at]], in.npkts[in.ports[at]], in.npauses[in.ports[at]]);
}

static uint64_t
switch_next_ps(const struct node *node)
{
	const struct sw *sw = (const struct sw *)node;
	uint64_t next_ps = sw->account.recheck ? 0 : sw->volumes != NULL ? switch_volumes_next_ps(sw->volumes) : TIME_NEVER;

	if (sw->watchdog != NULL)
		next_ps = min_u64(next_ps, watchdog_next_ps(sw->watchdog));
	for (uint16_t i = 0; i < node->nports; i++) {
		const struct switch_port *port = &sw->ports[i];

		if (egress_ready(&port->egress) != 0 && port->egress.free_ps < next_ps)
			next_ps = port->egress.free_ps;
		if (port->storm.classes != 0 && port->storm.next_ps < next_ps)
			next_ps = port->storm.next_ps;
	}
	return next_ps;
}

static void
switch_holds(const struct node *node, uint64_t *packets, uint64_t *bytes)
{
	const struct sw *sw = (const struct sw *)node;

	for (uint16_t i = 0; i < node->nports; i++)
		egress_held(&sw->ports[i].egress, packets, bytes);
}

static void
switch_attached(struct node *node)
{
	for (uint16_t i = 0; i < node->nports; i++)
		switch_of(node)->ports[i].egress.tx = node->tx[i];
}

static uint64_t
switch_dropped(const struct node *node, uint16_t port, enum rec_drop reason)
{
	return ((const struct sw *)node)->ports[port].telem.drops->of[reason].packets;
}

static void
storm(struct node *node, uint16_t port, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps)
{
	switch_set_storm(switch_of(node), port, prio, on, now_ps, interval_ps);
}

static uint8_t
pausing(const struct node *node, uint16_t port)
{
	return switch_pausing((const struct sw *)node, port);
}

static void
link_changed(struct node *node, uint16_t port, uint8_t held, uint64_t now_ps)
{
	switch_link_changed(switch_of(node), port, held, now_ps);
}

static void
set_rate(struct node *node, uint16_t port, uint64_t rate_bps, uint64_t now_ps)
{
	struct rec_link_rate rec = { .port = port, .rate_bps = rate_bps };
	const struct sertable *table = sertables_get(switch_of(node)->config->sertables, rate_bps);

	if (table == NULL)
		log_fatal("out of memory for a rate of a port of %s", node->topo->nodes[node->id].name);
	switch_of(node)->ports[port].egress.ser_ps = table->ps;
	recbuf_put(&node->records, &rec, REC_LINK_RATE, sizeof(rec), now_ps);
}

static void
routes_changed(struct node *node)
{
	switch_forget_routes(switch_of(node));
	if (switch_of(node)->volumes != NULL)
		switch_volumes_rerouted(switch_of(node));
}

static void switch_destroy(struct node *node);

static const struct port_truth *
switch_truth(const struct node *node, uint16_t port)
{
	return &((const struct sw *)node)->ports[port].truth;
}

static void
last_reports(struct node *node, uint64_t now_ps)
{
	struct sw *sw = (struct sw *)node;

	if (sw->telemetry.late_looks)
		switch_late_looks(sw, now_ps, true);
}

static const struct node_ops switch_ops = {
	.attached = switch_attached,
	.run = switch_run,
	.next_ps = switch_next_ps,
	.last_reports = last_reports,
	.held = switch_holds,
	.truth = switch_truth,
	.dropped = switch_dropped,
	.storm = storm,
	.pausing = pausing,
	.link_changed = link_changed,
	.set_rate = set_rate,
	.routes_changed = routes_changed,
	.destroy = switch_destroy,
};

/* Classes that a port's peer can pause. */
static uint8_t
obeyed_classes(const struct sw *sw, uint16_t port)
{
	const struct topo *topo = sw->config->topo;
	const struct switch_settings *settings =
		switch_settings_at(sw->config->setup, topo, topo->nodes[sw->node.id].first_port + port);

	return settings->pfc.enabled && settings->pfc.asymmetric ? SWITCH_DATA_CLASSES : account_configured(sw, port);
}

static int
init_port(struct sw *sw, uint16_t index, struct err *err)
{
	struct switch_port *port = &sw->ports[index];
	struct egress_rules *rules = &sw->rules[index];
	int ret = egress_init(&port->egress, sw->config, sw->node.id, index, err);

	if (ret < 0)
		return ret;
	egress_rules_init(rules,
			  switch_settings_at(sw->config->setup, sw->config->topo,
					     sw->config->topo->nodes[sw->node.id].first_port + index),
			  sw->account.lossless, obeyed_classes(sw, index));
	for (uint32_t c = 0; c < SWITCH_CLASSES; c++)
		sw->limit_bytes[c] = min_u64(sw->limit_bytes[c], rules->limit_bytes[c]);
	switch_picks(sw, index);
	sw->guards += rules->max_wire_bytes < sw->config->mtu_bytes;
	port_truth_init(&port->truth, &port->flows);
	port_flows_init(&port->flows, sw->config->flows);
	if (arrivals_init(&port->arrivals, sw->node.nports) < 0 ||
	    telem_init(&port->telem, &sw->telemetry, &port->flows, index) < 0)
		return -ENOMEM;
	return 0;
}

static int
init_classes(struct sw *sw)
{
	const struct topo_node *node = &sw->config->topo->nodes[sw->node.id];

	sw->class_of = calloc(node->nports, sizeof(*sw->class_of));
	for (uint16_t i = 0; sw->class_of != NULL && i < node->nports; i++)
		memcpy(sw->class_of[i],
		       switch_settings_at(sw->config->setup, sw->config->topo, node->first_port + i)->class_of,
		       sizeof(sw->class_of[i]));
	return sw->class_of != NULL ? 0 : -ENOMEM;
}

/* Every stage's state of the switch. */
static int
init_stages(struct sw *sw, struct err *err)
{
	int ret = account_init(&sw->account, sw->config, sw->node.id, err);

	if (ret == 0 && sw->config->setup->maps_classes)
		ret = init_classes(sw);
	sw->telemetry.lossless = sw->account.lossless;
	sw->telemetry.class_of = (const uint8_t(*)[SWITCH_CLASSES])sw->class_of;
	memset(sw->limit_bytes, 0xff, sizeof(sw->limit_bytes));
	switch_routes_init(&sw->routes, sw->config->flows);
	if (ret == 0)
		ret = spray_init(&sw->spray, sw->config, sw->node.id);
	if (ret == 0 && spray_is_on(&sw->spray) && sw->spray.balance.params->ops->in_order)
		ret = group_init(&sw->group, sw);
	fib_init(&sw->fib, sw->config->seed, sw->node.id);
	if (ret == 0)
		ret = polling_init(&sw->polling, &sw->node);
	sw->rules = calloc(sw->node.nports, sizeof(*sw->rules));
	if (sw->rules == NULL)
		return -ENOMEM;
	sw->ports = aligned_alloc(_Alignof(struct switch_port), sw->node.nports * sizeof(*sw->ports));
	if (sw->ports == NULL)
		return -ENOMEM;
	memset(sw->ports, 0, sw->node.nports * sizeof(*sw->ports)); /* at once: what they hold is freed with the switch */
	for (uint16_t i = 0; ret == 0 && i < sw->node.nports; i++)
		ret = init_port(sw, i, err);
	if (ret == 0)
		ret = account_size(sw, err);
	return ret == 0 ? watchdog_create(sw, &sw->watchdog) : ret;
}

struct sw *
switch_create(const struct switch_config *config, uint32_t id, struct err *err)
{
	struct sw *sw = calloc(1, sizeof(*sw));
	int ret = -ENOMEM;

	if (sw == NULL)
		goto fail;
	sw->config = config;
	sw->node = (struct node){
		.ops = &switch_ops,
		.id = id,
		.nports = config->topo->nodes[id].nports,
		.topo = config->topo,
		.flows = config->flows,
		.status = NODE_PASSIVE,
	};
	recbuf_init(&sw->node.records, id);
	sw->telemetry = config->telemetry;
	sw->telemetry.nports = sw->node.nports;
	ret = init_stages(sw, err);
	if (ret == 0)
		ret = switch_volumes_create(config, &sw->node, &sw->volumes, err);
	if (ret == 0)
		ret = switch_samples_create(config, &sw->node, &sw->samples);
	if (ret == 0)
		return sw;
fail:
	err_set(err, ret, "out of memory for switch %s", config->topo->nodes[id].name);
	node_destroy(sw != NULL ? &sw->node : NULL);
	errno = -ret;
	return NULL;
}

static void
switch_destroy(struct node *node)
{
	struct sw *sw = switch_of(node);

	for (uint32_t i = 0; sw->ports != NULL && i < sw->node.nports; i++) {
		struct switch_port *port = &sw->ports[i];

		egress_fini(&port->egress, node->bodies);
		arrivals_fini(&port->arrivals);
		telem_fini(&port->telem);
		port_truth_fini(&port->truth);
		port_flows_fini(&port->flows);
	}
	account_fini(&sw->account);
	switch_routes_fini(&sw->routes);
	spray_fini(&sw->spray);
	group_fini(&sw->group);
	switch_volumes_destroy(sw->volumes);
	switch_samples_destroy(sw->samples);
	watchdog_destroy(sw->watchdog);
	fib_fini(&sw->fib);
	polling_fini(&sw->polling);
	recbuf_fini(&sw->node.records);
	free(sw->class_of);
	free(sw->rules);
	free(sw->ports);
	free(sw);
}
