/* SPDX-License-Identifier: BSD-3-Clause */
/* What signatures ask of steps and ports. */
#include <math.h>

#include "common/pkt.h"
#include "common/wire/collective.h"
#include "diag/run/lateness.h"
#include "diag/vedrfolnir/cause/cause.h"

bool
cause_at_once(const struct cause_set *set, uint32_t flow, uint32_t step)
{
	const struct run_step *victim = &set->in->steps[step];

	return activity_ran_ps(set->activity, flow, victim->start_ps, victim->end_ps) >=
	       CAUSE_MIN_SHARE * (double)(victim->end_ps - victim->start_ps);
}

bool
cause_both_at_once(const struct cause_set *set, uint32_t flow, uint32_t other, uint32_t step)
{
	const struct run_step *victim = &set->in->steps[step];

	return activity_both_ran_ps(set->activity, flow, other, victim->start_ps, victim->end_ps) >=
	       CAUSE_MIN_SHARE * (double)(victim->end_ps - victim->start_ps);
}

double
cause_machine_share(const struct cause_input *in, uint32_t step, const struct cause_finding *finding)
{
	const struct run_step *s = &in->steps[step];
	const struct finding *out = &finding->out;
	bool host = (out->type->traits & FINDING_OF_HOST) != 0;
	bool timed = (out->type->traits & FINDING_BY_DEFAULT) != 0 ||
		     ((out->type->traits & FINDING_OF_LOSS) != 0 && out->root_port == EV_NONE);

	if (host)
		return run_machine_share(finding->claimed_ps, (double)s->starved_ps, s->starved_unmeasured);
	if (!timed)
		return 0;
	return run_machine_share(fmin(finding->claimed_ps, cause_excess_ps(in, step)), (double)s->machine_ps,
				 s->machine_unmeasured);
}

uint64_t
cause_host_ps(const struct cause_input *in, uint32_t step)
{
	return in->steps[step].late_ps + in->steps[step].long_ps;
}

double
cause_excess_ps(const struct cause_input *in, uint32_t step)
{
	return run_excess_ps(&in->steps[step]);
}

double
cause_stretch_ps(const struct cause_input *in, uint32_t step, const struct prov_port *port, double ps)
{
	double exec_ps = (double)(in->steps[step].end_ps - in->steps[step].start_ps);
	double seen_ps = port->covered_ps > port->pause_ps ? port->covered_ps : port->pause_ps;

	return seen_ps > 0 && seen_ps < exec_ps ? ps * exec_ps / seen_ps : ps;
}

double
cause_frames_ps(const struct cause_input *in, uint32_t step, const struct prov_port *port, double frames)
{
	const struct run_step *s = &in->steps[step];
	const struct rec_run *run = &in->ev->run;
	const struct prov_at *cf = prov_at_find(in->graphs[step], port, in->graphs[step]->victim);
	double packets = (double)(s->open ? s->acked_bytes : s->bytes) / (run->payload_bytes != 0 ? run->payload_bytes : 1);
	double ps = frames * run->frame_bytes * 8e12 / (double)in->ev->ports[port->port].rate_bps;

	return cf != NULL && cf->packets > 0 && packets > cf->packets ? ps * packets / cf->packets : ps;
}

double
cause_lost_frames(const struct cause_input *in, uint32_t step, double lost_ps)
{
	const struct ev_node *host = &in->ev->nodes[in->steps[step].host];
	double rate_bps = host->nports != 0 ? (double)in->ev->ports[host->first_port].rate_bps : 0;
	double frame_bits = in->ev->run.frame_bytes * 8.0;

	return frame_bits > 0 && lost_ps > 0 ? lost_ps / 1e12 * rate_bps / frame_bits : 0;
}

bool
cause_has_queue(const struct cause_input *in, const struct prov_port *port)
{
	/* A NIC serves its flows in turn: no queue grows, and yet each waits for the others. */
	if (in->ev->nodes[in->ev->ports[port->port].node].host)
		return true;
	return port->depth_max >= CAUSE_MIN_DEPTH ||
	       (port->latest != NULL && port->latest->queue_packets >= CAUSE_MIN_DEPTH);
}

bool
cause_shared_queue(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_at *cf,
		   const struct prov_at *other)
{
	return other->flow != graph->victim && other->cf_wait >= CAUSE_MIN_WAIT * cf->packets &&
	       other->depth_sum >= CAUSE_MIN_WAIT * other->packets && other->together &&
	       cause_at_once(set, graph->flows[other->flow], step);
}

bool
cause_is_planned(const struct cause_set *set, uint32_t step, const struct prov_graph *graph, const struct prov_port *port,
		 const struct prov_at *other)
{
	const struct evidence *ev = set->in->ev;
	const struct rec_collective *of = EV_AT(ev->collectives, struct rec_collective, set->in->steps[step].collective);
	const struct ev_flow *victim = &ev->flows[graph->flows[graph->victim]],
			     *flow = &ev->flows[graph->flows[other->flow]];

	return of->op != COLL_FLOWS && flow->of != EV_NONE && flow->of == victim->of &&
	       flow->src_port == victim->src_port && flow->src_port != EV_NONE &&
	       ev->ports[port->port].rate_bps >= ev->ports[flow->src_port].rate_bps;
}

bool
cause_poll_follows(const struct evidence *ev, uint32_t i)
{
	const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, i);
	const struct rec_poll *before = i > 0 ? EV_AT(ev->polls, struct rec_poll, i - 1) : NULL;

	/* A switch records one arrival in a row: the victim's egress first, then those that it traces pauses to. */
	return (poll->flags & POLL_VICTIM) && !(poll->flags & POLL_BACK) &&
	       (before == NULL || before->hdr.event != poll->hdr.event || before->hdr.node != poll->hdr.node ||
		before->hdr.time_ps != poll->hdr.time_ps || before->hdr.seq == poll->hdr.seq);
}

/* Share of a switch's port's rate that was used while the step was there; of a NIC's: 0. */
static double
load(const struct cause_input *in, const struct prov_port *port)
{
	const struct ev_port *of = &in->ev->ports[port->port];
	double could = (double)of->rate_bps * (double)port->covered_ps / 1e12;

	if (in->ev->nodes[of->node].host || could <= 0)
		return 0;
	return port->packets * in->ev->run.frame_bytes * 8 / could;
}

bool
cause_is_full(const struct cause_input *in, uint32_t step, const struct prov_graph *graph, const struct prov_port *port)
{
	double most = load(in, port);

	if (!in->steps[step].held_back || most < CAUSE_FULL_LOAD)
		return false;
	for (uint32_t p = 0; p < graph->nreached; p++) {
		const struct prov_at *cf = prov_at_find(graph, &graph->ports[p], graph->victim);

		if (cf != NULL && cf->packets > 0 && load(in, &graph->ports[p]) > most)
			return false;
	}
	return true;
}
