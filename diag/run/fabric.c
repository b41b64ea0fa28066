/* SPDX-License-Identifier: BSD-3-Clause */
/* The run's tables of what the network is and how its ports fared. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/wire/ending.h"
#include "diag/run/fill.h"

/* The end record's word, but for whoever reported of a moment later. */
static uint64_t
end_of(const struct evidence *ev)
{
	uint64_t end_ps = ev->ended && ev->end.end_ps > ev->last_ps ? ev->end.end_ps : ev->last_ps;

	for (uint32_t i = 0; i < ev->step_recs.count; i++) {
		const struct rec_step *step = EV_AT(ev->step_recs, struct rec_step, i);
		uint64_t last_ps = step->end_ps > step->start_ps ? step->end_ps : step->start_ps;

		end_ps = last_ps > end_ps ? last_ps : end_ps;
	}
	return end_ps;
}

static void
fill_config(struct run *run, const struct evidence *ev)
{
	snprintf(run->name, sizeof(run->name), "%.*s", REC_NAME_LEN, ev->run.name);
	run->config = ev->run;
	run->truncated = !ev->ended;
	run->end_reason = ev->ended ? ev->end.reason : REC_END_INTERRUPT;
	run->recording_errno = ev->ended ? ev->end.recording_errno : 0;
	run->end_node = ev->ended && ev->end.at_node < ev->nnodes ? ev->end.at_node : RUN_NONE;
	run->clock_error_ps = ev->ended ? ev->end.clock_error_ps : 0;
	run->end_ps = end_of(ev);
}

/* The classes of an epoch side by side. @param latest_ps  of the reports read so far */
static void
add_epoch(struct run_port *port, const struct evidence *ev, const struct ev_epoch *epoch, uint64_t *latest_ps)
{
	uint64_t pause_ps = 0;

	for (uint32_t i = epoch->first_row; i < epoch->first_row + epoch->nrows; i++) {
		const struct rec_port_row *row = EV_AT(ev->port_rows, struct rec_port_row, i);

		port->reported = true;
		port->packets += row->packets;
		port->bytes += row->bytes;
		port->depth_sum += row->depth_sum;
		port->pauses_received += row->pauses_received;
		port->pauses_sent += row->pauses_sent;
		port->depth_max = row->depth_max > port->depth_max ? row->depth_max : port->depth_max;
		pause_ps = row->pause_ps > pause_ps ? row->pause_ps : pause_ps;
		if (row->hdr.time_ps < *latest_ps)
			continue;
		port->paused = row->paused || (row->hdr.time_ps == *latest_ps && port->paused);
		port->pausing = row->pausing || (row->hdr.time_ps == *latest_ps && port->pausing);
		*latest_ps = row->hdr.time_ps;
	}
	port->pause_ps += pause_ps;
}

static void
add_activity(struct run_port *port, const struct evidence *ev, const struct ev_port *from)
{
	uint64_t latest_ps = 0;

	for (uint32_t e = from->first_epoch; e < from->first_epoch + from->nepochs; e++)
		add_epoch(port, ev, &ev->epochs[e], &latest_ps);
}

static void
fill_ports(struct run *run, const struct evidence *ev)
{
	for (uint32_t n = 0; n < ev->nnodes; n++) {
		memcpy(run->nodes[n].name, ev->nodes[n].name, sizeof(run->nodes[n].name));
		run->nodes[n].host = ev->nodes[n].host;
		run->nodes[n].first_port = ev->nodes[n].first_port;
		run->nodes[n].nports = ev->nodes[n].nports;
	}
	for (uint32_t p = 0; p < ev->nports; p++) {
		const struct ev_port *from = &ev->ports[p];
		struct run_port *port = &run->ports[p];

		evidence_port_name(ev, p, port->name);
		port->node = from->node;
		port->index = from->index;
		port->peer_node = from->peer_node;
		port->peer_port = from->peer;
		port->ip = from->ip;
		port->rate_bps = from->rate_bps;
		add_activity(port, ev, from);
	}
}

static void
fill_flows(struct run *run, const struct evidence *ev)
{
	for (uint32_t f = 0; f < ev->nflows; f++) {
		struct run_flow *flow = &run->flows[f];

		evidence_flow_name(ev, f, flow->name);
		flow->tuple = ev->flows[f].tuple;
		flow->src = ev->flows[f].src;
		flow->dst = ev->flows[f].dst;
		flow->collective = ev->flows[f].collective;
	}
	for (uint32_t i = 0; i < ev->routes.count; i++) {
		const struct rec_route *rec = EV_AT(ev->routes, struct rec_route, i);

		run->hops[i] = (struct run_hop){
			.flow = evidence_flow(ev, &rec->flow),
			.port = evidence_port(ev, rec->hdr.node, rec->port),
			.hop = rec->hop,
			.reverse = rec->reverse != 0,
		};
	}
}

static void
fill_known(struct run *run, const struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->known_faults.count; i++) {
		const struct rec_known_fault *rec = EV_AT(ev->known_faults, struct rec_known_fault, i);
		struct run_known *known = &run->known[run->nknown++];

		snprintf(known->kind, sizeof(known->kind), "%.*s", REC_NAME_LEN, rec->kind);
		known->port = rec->port != REC_NO_PORT ? evidence_port(ev, rec->hdr.node, rec->port) : RUN_NONE;
		known->node = rec->hdr.node;
		known->rate = rec->rate_ppb / 1e9;
		known->extra_ps = rec->extra_ps;
	}
}

/* A cable that is cut is so in both directions. */
static bool
is_cut(const struct run *run, const struct run_known *known, uint32_t port)
{
	return known->port != RUN_NONE && strcmp(known->kind, "link-down") == 0 &&
	       run->ports[port].peer_port == known->port;
}

uint32_t
run_known_at(const struct run *run, uint32_t port, uint32_t node)
{
	for (uint32_t i = 0; i < run->nknown; i++) {
		const struct run_known *known = &run->known[i];

		if (port != RUN_NONE && (known->port == port || is_cut(run, known, port)))
			return i;
		if (known->port == RUN_NONE && known->node == node)
			return i;
	}
	return RUN_NONE;
}

static void
count_drops(struct run *run, const struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->drops.count; i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);

		run->ports[evidence_port(ev, row->hdr.node, row->port)].drops += row->packets;
	}
}

int
run_fill_fabric(struct run *run, const struct evidence *ev, struct err *err)
{
	fill_config(run, ev);
	run->nodes = run_alloc(ev->nnodes, sizeof(*run->nodes), err);
	run->ports = run_alloc(ev->nports, sizeof(*run->ports), err);
	run->flows = run_alloc(ev->nflows, sizeof(*run->flows), err);
	run->hops = run_alloc(ev->routes.count, sizeof(*run->hops), err);
	run->known = run_alloc(ev->known_faults.count, sizeof(*run->known), err);
	if (run->nodes == NULL || run->ports == NULL || run->flows == NULL || run->hops == NULL || run->known == NULL)
		return -ENOMEM;
	run->nnodes = ev->nnodes;
	run->nports = ev->nports;
	run->nflows = ev->nflows;
	run->nhops = ev->routes.count;
	fill_ports(run, ev);
	fill_flows(run, ev);
	fill_known(run, ev);
	count_drops(run, ev);
	return 0;
}
