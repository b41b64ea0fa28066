/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict's tables of what the network is and how its ports fared. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "diag/verdict_internal.h"

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
fill_run(struct verdict *v, const struct evidence *ev)
{
	const struct rec_run *run = &ev->run;

	snprintf(v->run.name, sizeof(v->run.name), "%.*s", REC_NAME_LEN, run->name);
	v->run.policy = run->policy;
	v->run.detections = run->detections;
	v->run.rtt_percent = run->rtt_percent;
	v->run.epochs_kept = run->epochs_kept;
	v->run.epoch_ps = run->epoch_ps;
	v->run.budget_bps = run->budget_bps;
	v->run.jitter_ps = run->jitter_ps;
	v->run.frame_bytes = run->frame_bytes;
	v->run.payload_bytes = run->payload_bytes;
	v->run.ack_bytes = run->ack_bytes;
	v->run.exact_contention = run->exact_contention != 0;
	v->truncated = !ev->ended;
	v->end_reason = ev->ended ? ev->end.reason : REC_END_INTERRUPT;
	v->recording_errno = ev->ended ? ev->end.recording_errno : 0;
	v->end_node = ev->ended && ev->end.at_node < ev->nnodes ? ev->end.at_node : VERDICT_NONE;
	v->end_ps = end_of(ev);
}

static void
add_activity(struct verdict_port *port, const struct evidence *ev, const struct ev_port *from)
{
	const struct rec_port_row *latest = NULL;

	for (uint32_t e = from->first_epoch; e < from->first_epoch + from->nepochs; e++) {
		const struct rec_port_row *row = ev->epochs[e].row;

		if (row == NULL)
			continue;
		port->reported = true;
		port->packets += row->packets;
		port->bytes += row->bytes;
		port->depth_sum += row->depth_sum;
		port->paused_packets += row->paused_packets;
		port->pause_ps += row->pause_ps;
		port->pauses_received += row->pauses_received;
		port->pauses_sent += row->pauses_sent;
		if (row->depth_max > port->depth_max)
			port->depth_max = row->depth_max;
		if (latest == NULL || row->hdr.time_ps >= latest->hdr.time_ps)
			latest = row;
	}
	if (latest == NULL)
		return;
	port->paused = latest->paused != 0;
	port->pausing = latest->pausing != 0;
	port->queue_packets = latest->queue_packets;
	port->queue_bytes = latest->queue_bytes;
}

static void
fill_ports(struct verdict *v, const struct evidence *ev)
{
	for (uint32_t n = 0; n < ev->nnodes; n++) {
		memcpy(v->nodes[n].name, ev->nodes[n].name, sizeof(v->nodes[n].name));
		v->nodes[n].host = ev->nodes[n].host;
		v->nodes[n].first_port = ev->nodes[n].first_port;
		v->nodes[n].nports = ev->nodes[n].nports;
	}
	for (uint32_t p = 0; p < ev->nports; p++) {
		const struct ev_port *from = &ev->ports[p];
		struct verdict_port *port = &v->ports[p];

		evidence_port_name(ev, p, port->name);
		port->node = from->node;
		port->index = from->index;
		port->peer_node = from->peer_node;
		port->peer_port = from->peer;
		port->ip = from->ip;
		port->rate_bps = from->rate_bps;
		port->delay_ps = from->delay_ps;
		add_activity(port, ev, from);
	}
}

static void
fill_flows(struct verdict *v, const struct evidence *ev)
{
	for (uint32_t f = 0; f < ev->nflows; f++) {
		struct verdict_flow *flow = &v->flows[f];

		evidence_flow_name(ev, f, flow->name);
		flow->tuple = ev->flows[f].tuple;
		flow->src = ev->flows[f].src;
		flow->dst = ev->flows[f].dst;
		flow->collective = ev->flows[f].collective;
	}
	for (uint32_t i = 0; i < ev->routes.count; i++) {
		const struct rec_route *rec = EV_AT(ev->routes, struct rec_route, i);

		v->hops[i] = (struct verdict_hop){
			.flow = evidence_flow(ev, &rec->flow),
			.port = evidence_port(ev, rec->hdr.node, rec->port),
			.hop = rec->hop,
			.reverse = rec->reverse != 0,
		};
	}
}

static void
fill_drops(struct verdict *v, const struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->drops.count; i++) {
		const struct rec_drop_row *row = EV_AT(ev->drops, struct rec_drop_row, i);
		uint32_t port = evidence_port(ev, row->hdr.node, row->port);

		v->drops[i] = (struct verdict_drop){
			.port = port,
			.reason = row->reason,
			.flow = evidence_flow(ev, &row->last),
			.packets = row->packets,
			.bytes = row->bytes,
			.first_ps = row->first_ps,
			.last_ps = row->last_ps,
		};
		v->ports[port].drops += row->packets;
	}
}

int
verdict_fill_fabric(struct verdict *v, const struct evidence *ev, struct err *err)
{
	fill_run(v, ev);
	v->nodes = verdict_alloc(ev->nnodes, sizeof(*v->nodes), err);
	v->ports = verdict_alloc(ev->nports, sizeof(*v->ports), err);
	v->flows = verdict_alloc(ev->nflows, sizeof(*v->flows), err);
	v->hops = verdict_alloc(ev->routes.count, sizeof(*v->hops), err);
	v->drops = verdict_alloc(ev->drops.count, sizeof(*v->drops), err);
	if (v->nodes == NULL || v->ports == NULL || v->flows == NULL || v->hops == NULL || v->drops == NULL)
		return -ENOMEM;
	v->nnodes = ev->nnodes;
	v->nports = ev->nports;
	v->nflows = ev->nflows;
	v->nhops = ev->routes.count;
	v->ndrops = ev->drops.count;
	fill_ports(v, ev);
	fill_flows(v, ev);
	fill_drops(v, ev);
	return 0;
}
