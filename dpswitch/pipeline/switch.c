/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch as a node: its life, and the order of its stages. */
#include "dpswitch/pipeline/switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "dpswitch/pipeline/switch_setup.h"

static void
roll_epoch(struct sw *sw, const struct window *window)
{
	uint64_t epoch_ps = sw->config->telemetry.epoch_ps;

	for (uint16_t i = 0; i < sw->node.nports; i++)
		if (!telem_roll(&sw->ports[i].telem, window->start_ps, &sw->node.digest))
			sw->node.count.row_errors++;
	sw->epoch_end_ps = (window->start_ps / epoch_ps + 1) * epoch_ps;
	if (sw->telemetry.every_epoch && window->start_ps >= epoch_ps)
		switch_report_all(sw, window->start_ps);
}

static void
switch_run(struct node *node, const struct window *window)
{
	struct sw *sw = switch_of(node);
	const struct pause_frame *pauses[TOPO_MAX_PORTS];
	struct pkt *pkts[TOPO_MAX_PORTS];
	uint32_t npkts[TOPO_MAX_PORTS], npauses[TOPO_MAX_PORTS];
	bool work = sw->recheck || sw->storms != 0;

	if (window->start_ps >= sw->epoch_end_ps)
		roll_epoch(sw, window);
	for (uint16_t i = 0; i < node->nports; i++) {
		work |= sw->ports[i].backlog != 0;
		npkts[i] = npauses[i] = 0;
		if (link_is_idle(node->rx[i], window->parity))
			continue;
		link_receive(node->rx[i], window->parity);
		npkts[i] = link_arrivals(node->rx[i], window->end_ps, &pkts[i]);
		npauses[i] = link_pauses(node->rx[i], window->end_ps, &pauses[i]);
		work |= npkts[i] != 0 || npauses[i] != 0;
	}
	if (!work)
		return;
	for (uint16_t i = 0; i < node->nports; i++) {
		sw->ports[i].window_free_ps = sw->ports[i].free_ps;
		if (npkts[i] != 0)
			switch_route(sw, i, pkts[i], npkts[i]);
	}
	for (uint16_t i = 0; i < node->nports; i++)
		if (sw->ports[i].narrivals != 0 || sw->ports[i].backlog != 0 || npauses[i] != 0)
			switch_transmit(sw, i, pauses[i], npauses[i], window);
	switch_account(sw, window);
	if (__builtin_expect(sw->storms != 0, 0))
		switch_storm(sw, window);
	if (__builtin_expect(sw->reports_due, 0))
		switch_report(sw, window);
	sw->nborn = 0;
	for (uint16_t i = 0; i < node->nports; i++)
		link_consume(node->rx[i], npkts[i], npauses[i]);
}

static uint64_t
switch_next_ps(const struct node *node)
{
	const struct sw *sw = (const struct sw *)node;
	uint64_t next_ps = sw->recheck ? 0 : TIME_NEVER;

	for (uint16_t i = 0; i < node->nports; i++) {
		const struct switch_port *port = &sw->ports[i];

		if ((port->backlog & ~(uint32_t)port->paused) != 0)
			next_ps = port->free_ps < next_ps ? port->free_ps : next_ps;
		if (port->storm.prio_mask != 0 && port->storm.next_ps < next_ps)
			next_ps = port->storm.next_ps;
	}
	return next_ps;
}

static void
switch_holds(const struct node *node, uint64_t *packets, uint64_t *bytes)
{
	const struct sw *sw = (const struct sw *)node;

	for (uint16_t i = 0; i < node->nports; i++) {
		for (uint8_t prio = 0; prio < SWITCH_CLASSES; prio++) {
			*packets += fifo_count(&sw->ports[i].q[prio]);
			*bytes += sw->ports[i].q[prio].bytes;
		}
	}
}

static void
switch_attached(struct node *node)
{
	for (uint16_t i = 0; i < node->nports; i++)
		switch_of(node)->ports[i].tx = node->tx[i];
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

static void switch_destroy(struct node *node);

static const struct port_truth *
switch_truth(const struct node *node, uint16_t port)
{
	return &((const struct sw *)node)->ports[port].truth;
}

static const struct node_ops switch_ops = {
	.attached = switch_attached,
	.run = switch_run,
	.next_ps = switch_next_ps,
	.held = switch_holds,
	.truth = switch_truth,
	.dropped = switch_dropped,
	.storm = storm,
	.pausing = pausing,
	.link_changed = link_changed,
	.destroy = switch_destroy,
};

/* Frames that can arrive in one window, and frames that can leave. */
static uint32_t
frames_per_window(const struct sw *sw)
{
	uint32_t frames = 0;

	for (uint16_t i = 0; i < sw->node.nports; i++) {
		const struct topo_port *cable = topo_port_of(sw->config->topo, sw->node.id, i);
		uint64_t ps =
			units_serialize_ps(sw->config->min_frame_bytes, cable->rate_bps, sw->config->sertables->quantum_ps);

		frames += (uint32_t)(sw->config->window_ps / (ps != 0 ? ps : 1)) + 2;
	}
	return frames;
}

static int
switch_allocate(struct sw *sw)
{
	uint32_t nports = sw->node.nports, nodes = sw->config->topo->nnodes;
	uint32_t frames = frames_per_window(sw);
	size_t classes = (size_t)nports * (sw->nclasses != 0 ? sw->nclasses : 1);

	sw->keys_cap = 2 * frames;
	sw->ports = calloc(nports, sizeof(*sw->ports));
	sw->route = malloc((size_t)flow_table_slots(sw->config->flows) * 2 + 1);
	sw->override = malloc(nodes);
	sw->blackhole = calloc(nodes, sizeof(*sw->blackhole));
	sw->fault_uses = calloc(nodes, sizeof(*sw->fault_uses));
	sw->ingress = calloc(classes, sizeof(*sw->ingress));
	sw->arrived_bytes = calloc(classes, sizeof(*sw->arrived_bytes));
	sw->left_bytes = calloc(classes, sizeof(*sw->left_bytes));
	sw->born = malloc(SWITCH_MAX_BORN * sizeof(*sw->born));
	sw->keys = malloc(sw->keys_cap * sizeof(*sw->keys));
	sw->keys_spare = malloc(sw->keys_cap * sizeof(*sw->keys_spare));
	sw->key_runs = calloc(2 * nports, sizeof(*sw->key_runs));
	sw->held = calloc(nports, sizeof(*sw->held));
	if (sw->ports == NULL || sw->route == NULL || sw->override == NULL || sw->blackhole == NULL ||
	    sw->fault_uses == NULL || sw->ingress == NULL || sw->arrived_bytes == NULL || sw->left_bytes == NULL ||
	    sw->born == NULL || sw->keys == NULL || sw->keys_spare == NULL || sw->key_runs == NULL || sw->held == NULL)
		return -ENOMEM;
	memset(sw->route, SWITCH_EGRESS_NONE, (size_t)flow_table_slots(sw->config->flows) * 2);
	memset(sw->override, SWITCH_EGRESS_NONE, nodes);
	for (uint32_t i = 0; i < nports; i++) {
		sw->ports[i].arrivals = malloc((frames + SWITCH_MAX_BORN) * sizeof(*sw->ports[i].arrivals));
		sw->ports[i].runs = malloc(nports * sizeof(*sw->ports[i].runs));
		if (sw->ports[i].arrivals == NULL || sw->ports[i].runs == NULL)
			return -ENOMEM;
	}
	return 0;
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
	telem_reporter_init(&sw->reporter, id, config->flows, &sw->node.records, &sw->node.count.reports);
	sw->telemetry = config->telemetry;
	sw->telemetry.nports = sw->node.nports;
	ret = switch_setup_classes(sw, err);
	if (ret == 0)
		ret = switch_allocate(sw);
	if (ret == 0)
		ret = switch_setup(sw, err);
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

		for (uint32_t c = 0; c < SWITCH_CLASSES; c++)
			fifo_fini(&port->q[c]);
		telem_fini(&port->telem);
		port_truth_fini(&port->truth);
		port_flows_fini(&port->flows);
		free(port->arrivals);
		free(port->runs);
	}
	recbuf_fini(&sw->node.records);
	telem_reporter_fini(&sw->reporter);
	free(sw->ports);
	free(sw->route);
	free(sw->override);
	free(sw->blackhole);
	free(sw->fault_uses);
	free(sw->ingress);
	free(sw->arrived_bytes);
	free(sw->left_bytes);
	free(sw->born);
	free(sw->keys);
	free(sw->keys_spare);
	free(sw->key_runs);
	free(sw->held);
	free(sw);
}
