/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The load of links at each time, from the paths of flows and the times of their steps, and the time that a step lost
 * on a link with more load than others of equal cost.
 *
 * An active flow brings its NIC's rate, divided by the active flows of the same NIC. A link's load L is the sum of its
 * flows over its rate. M is the load of the links of equal cost together: the load that an even share would give. Where
 * L is above both 1 and M, a step on it is slower than it need be: of its time, 1 - max(1, M) / L is lost. Of the links
 * on its path the one with the largest loss counts. A host with several NICs of equal cost is the first of them: L is
 * the load if flows shared its NICs evenly. Queues, pauses and congestion control are not in it: it is what sharing
 * alone explains.
 */
#include "diag/flowtracer/section.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "diag/diagnoser.h"
#include "diag/run/fill.h"

/* When flows start and end to be active. */

/* A flow is active from here on, or no more. */
struct spell_event {
	uint64_t time_ps;
	uint32_t flow;
	uint32_t judged; /* its step, RUN_NONE: not judged */
	bool ends;
};

static int
cmp_event(const void *pa, const void *pb)
{
	const struct spell_event *a = pa, *b = pb;

	if (a->time_ps != b->time_ps)
		return a->time_ps < b->time_ps ? -1 : 1;
	if (a->ends != b->ends)
		return a->ends ? -1 : 1;
	if (a->flow != b->flow)
		return a->flow < b->flow ? -1 : 1;
	return ORDER(a->judged, b->judged);
}

/* @return number of events, 0 or 2 */
static uint32_t
put(struct spell_event *events, uint32_t flow, uint64_t from_ps, uint64_t to_ps, uint32_t judged)
{
	if (to_ps <= from_ps)
		return 0;
	events[0] = (struct spell_event){ from_ps, flow, judged, false };
	events[1] = (struct spell_event){ to_ps, flow, judged, true };
	return 2;
}

/*
 * Of flows with a path, by time. Flows that are of no step are active all the time, if they sent anything.
 * @param judged   [count] in the order of steps
 * @param nevents  set
 * @return NULL: no memory, with err
 */
static struct spell_event *
flowtracer_events(const struct flowtracer *own, const struct run *run, const struct flowtracer_judged *judged,
		  uint32_t count, uint32_t *nevents, struct err *err)
{
	struct spell_event *events = run_alloc(2 * ((size_t)run->nsteps + own->npaths), sizeof(*events), err);
	bool *stepped = run_alloc(run->nflows, sizeof(*stepped), err);
	uint32_t next = 0, n = 0;

	for (uint32_t i = 0; events != NULL && stepped != NULL && i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];
		bool is_judged;

		while (next < count && judged[next].step < i)
			next++;
		is_judged = next < count && judged[next].step == i;
		if (step->flow == RUN_NONE || !step->started || flowtracer_path_of(own, step->flow, 0) == NULL)
			continue;
		stepped[step->flow] = true;
		n += put(&events[n], step->flow, step->start_ps, step->end_ps, is_judged ? next : RUN_NONE);
	}
	for (uint32_t i = 0; events != NULL && stepped != NULL && i < own->npaths; i++) {
		const struct flowtracer_path *path = &own->paths[i];
		bool last = i + 1 == own->npaths || own->paths[i + 1].flow != path->flow;

		if (last && !stepped[path->flow] && path->messages != 0)
			n += put(&events[n], path->flow, 0, run->end_ps, RUN_NONE);
	}
	if (stepped == NULL) {
		free(events);
		return NULL;
	}
	if (n != 0)
		qsort(events, n, sizeof(*events), cmp_event);
	free(stepped);
	*nevents = n;
	return events;
}

#define MOST_HOPS 16     /* of a path, from its source on, that are judged */
#define AT_NIC MOST_HOPS /* in place of a hop: the time that a flow lost while others of its NIC were held */
#define PLACES (AT_NIC + 1u)

/* An active flow, among those of its NIC. */
struct active_flow {
	const struct flowtracer_path *path; /* NULL: it is not */
	uint32_t steps;                     /* number of its steps */
	uint32_t next, before;              /* of the same NIC; RUN_NONE: none */
};

/* When a hop's link had most to carry for its rate. */
struct worst {
	double load;
	uint32_t port, other, most, least; /* as in struct flowtracer_judged */
};

/* Of the flows that leave by a NIC now, the one that loses most of its time. */
struct held {
	double share;
	struct worst worst;
};

struct sweep {
	const struct flowtracer *own;
	const struct run *run;
	struct flowtracer_judged *judged;
	struct spell_event *events;
	uint32_t nevents;
	struct active_flow *flows;     /* [run->nflows] */
	uint32_t *first, *of_nic, *on; /* [run->nports] of a NIC: first flow, number; of a link: number */
	double *load_bps;              /* [run->nports] behind the first hop */
	double (*cost_ps)[PLACES];     /* [judged] by hop, and at the NIC */
	double *even_bits;             /* [judged] that it could have sent meanwhile, with even shares everywhere */
	struct worst (*worst)[PLACES]; /* [judged] the same */
	struct held *held;             /* [run->nports] of NICs; zero between intervals */
	double *own_share;             /* [judged] that a step loses on its own links now */
	uint32_t *now;                 /* judged that are active */
	uint32_t nnow;
};

/* Of all flows that leave by a NIC: their load on the links behind it. @param sign  1: starts, -1: ends */
static void
add_load(struct sweep *s, uint32_t nic, double sign)
{
	double each_bps = s->of_nic[nic] != 0 ? (double)s->run->ports[nic].rate_bps / s->of_nic[nic] : 0;

	for (uint32_t f = s->first[nic]; f != RUN_NONE; f = s->flows[f].next) {
		const struct flowtracer_path *path = s->flows[f].path;

		for (uint32_t h = path->first + 1; h < path->first + path->nhops; h++)
			if (s->own->hops[h].port != RUN_NONE)
				s->load_bps[s->own->hops[h].port] += sign * each_bps;
	}
}

static void
count_on(struct sweep *s, const struct flowtracer_path *path, uint32_t by)
{
	for (uint32_t h = path->first; h < path->first + path->nhops; h++)
		if (s->own->hops[h].port != RUN_NONE)
			s->on[s->own->hops[h].port] += by;
}

static void
begin_flow(struct sweep *s, uint32_t flow, uint64_t now_ps)
{
	struct active_flow *f = &s->flows[flow];
	uint32_t nic;

	if (f->steps++ != 0)
		return;
	f->path = flowtracer_path_of(s->own, flow, now_ps);
	nic = s->own->hops[f->path->first].port;
	if (nic == RUN_NONE) {
		f->path = NULL;
		return;
	}
	add_load(s, nic, -1);
	f->before = RUN_NONE;
	f->next = s->first[nic];
	if (f->next != RUN_NONE)
		s->flows[f->next].before = flow;
	s->first[nic] = flow;
	s->of_nic[nic]++;
	add_load(s, nic, 1);
	count_on(s, f->path, 1);
}

static void
end_flow(struct sweep *s, uint32_t flow)
{
	struct active_flow *f = &s->flows[flow];
	uint32_t nic;

	if (--f->steps != 0 || f->path == NULL)
		return;
	nic = s->own->hops[f->path->first].port;
	add_load(s, nic, -1);
	if (f->next != RUN_NONE)
		s->flows[f->next].before = f->before;
	if (f->before != RUN_NONE)
		s->flows[f->before].next = f->next;
	else
		s->first[nic] = f->next;
	s->of_nic[nic]--;
	add_load(s, nic, 1);
	count_on(s, f->path, UINT32_MAX); /* one less */
	f->path = NULL;
}

/* A link's load over its rate, and that of all of its set over theirs; the least loaded of the others. */
struct loads {
	double link, set;
	double even_bps; /* of one flow, if all flows of the set shared it evenly */
	uint32_t other;
};

/* At a host's NICs: the load of each flow if they shared the NICs evenly. */
static double
carried_bps(const struct sweep *s, bool first, double each_bps, uint32_t port)
{
	return first ? each_bps * s->of_nic[port] : s->load_bps[port];
}

static struct loads
loads_of(const struct sweep *s, const struct flowtracer_hop *hop, bool first)
{
	const struct run_node *node = &s->run->nodes[hop->node];
	double rate_bps = 0, bps = 0, least = INFINITY, flows = 0, each_bps;
	struct loads loads = { .other = RUN_NONE };

	for (uint32_t p = 0; p < node->nports; p++) {
		if (!flowtracer_has(&hop->set, p))
			continue;
		rate_bps += (double)s->run->ports[node->first_port + p].rate_bps;
		flows += first ? s->of_nic[node->first_port + p] : s->on[node->first_port + p];
	}
	each_bps = flows > 0 ? rate_bps / flows : 0;
	for (uint32_t p = 0; p < node->nports; p++) {
		uint32_t port = node->first_port + p;
		double carried;

		if (!flowtracer_has(&hop->set, p))
			continue;
		carried = carried_bps(s, first, each_bps, port);
		bps += carried;
		if (port == hop->port || carried / (double)s->run->ports[port].rate_bps >= least)
			continue;
		least = carried / (double)s->run->ports[port].rate_bps;
		loads.other = port;
	}
	loads.link = carried_bps(s, first, each_bps, hop->port) / (double)s->run->ports[hop->port].rate_bps;
	loads.set = rate_bps > 0 ? bps / rate_bps : 0;
	loads.even_bps = each_bps;
	return loads;
}

static const struct flowtracer_path *
path_now(const struct sweep *s, uint32_t judged)
{
	return s->flows[s->run->steps[s->judged[judged].step].flow].path;
}

/* A step loses a share of this time at a hop. */
static void
lose(struct sweep *s, uint32_t judged, uint32_t h, double share, double ps, const struct worst *worst)
{
	struct held *held = &s->held[s->own->hops[path_now(s, judged)->first].port];

	s->cost_ps[judged][h] += ps * share;
	if (worst->load > s->worst[judged][h].load)
		s->worst[judged][h] = *worst;
	s->own_share[judged] = fmax(s->own_share[judged], share);
	if (share > held->share)
		*held = (struct held){ share, *worst };
}

static void
judge(struct sweep *s, uint32_t judged, double ps)
{
	const struct flowtracer_path *path = path_now(s, judged);
	double even_bps = INFINITY;

	s->own_share[judged] = 0;

	for (uint32_t h = 0; path != NULL && h < path->nhops && h < MOST_HOPS; h++) {
		const struct flowtracer_hop *hop = &s->own->hops[path->first + h];
		struct loads loads;

		if (hop->port == RUN_NONE || flowtracer_count(&hop->set) == 0)
			continue;
		loads = loads_of(s, hop, h == 0);
		even_bps = fmin(even_bps, loads.even_bps);
		if (loads.other == RUN_NONE || loads.link <= fmax(1, loads.set))
			continue;
		lose(s, judged, h, 1 - fmax(1, loads.set) / loads.link, ps,
		     &(struct worst){ loads.link, hop->port, loads.other, s->on[hop->port], s->on[loads.other] });
	}
	if (isfinite(even_bps))
		s->even_bits[judged] += even_bps * ps / 1e12;
}

/*
 * A NIC sends its flows in turn, and a pause holds all of a class: while one of them loses time on a link, the others
 * of the NIC lose as much of theirs. conclude() bounds that by the excess of their time.
 */
static void
judge_nic(struct sweep *s, uint32_t judged, double ps)
{
	const struct flowtracer_path *path = path_now(s, judged);
	const struct held *held = path != NULL ? &s->held[s->own->hops[path->first].port] : NULL;

	if (held == NULL || held->share <= s->own_share[judged])
		return;
	s->cost_ps[judged][AT_NIC] += ps * (held->share - s->own_share[judged]);
	if (held->worst.load > s->worst[judged][AT_NIC].load)
		s->worst[judged][AT_NIC] = held->worst;
}

/* All active steps, for this time. */
static void
judge_interval(struct sweep *s, double ps)
{
	for (uint32_t k = 0; k < s->nnow; k++)
		judge(s, s->now[k], ps);
	for (uint32_t k = 0; k < s->nnow; k++)
		judge_nic(s, s->now[k], ps);
	for (uint32_t k = 0; k < s->nnow; k++) {
		const struct flowtracer_path *path = path_now(s, s->now[k]);

		if (path != NULL)
			s->held[s->own->hops[path->first].port].share = 0;
	}
}

static void
go_through(struct sweep *s)
{
	for (uint32_t i = 0; i < s->nevents; i++) {
		const struct spell_event *event = &s->events[i];
		double ps = i != 0 ? (double)(event->time_ps - s->events[i - 1].time_ps) : 0;

		if (ps > 0)
			judge_interval(s, ps);
		if (!event->ends) {
			begin_flow(s, event->flow, event->time_ps);
			if (event->judged != RUN_NONE)
				s->now[s->nnow++] = event->judged;
			continue;
		}
		end_flow(s, event->flow);
		for (uint32_t k = 0; k < s->nnow; k++)
			if (s->now[k] == event->judged)
				s->now[k--] = s->now[--s->nnow];
	}
}

static double
wire_bits(const struct run *run, const struct run_step *step)
{
	double bits = 8 * (double)(step->open ? step->acked_bytes : step->bytes);

	return run->config.payload_bytes != 0 ? bits * run->config.frame_bytes / run->config.payload_bytes : bits;
}

/* A step cannot be faster than its NIC, and the last round trip has to pass. */
static double
most_ps(const struct run *run, const struct flowtracer_path *path, const struct flowtracer_hop *hops,
	const struct run_step *step)
{
	uint32_t nic = hops[path->first].port;
	uint64_t rate_bps = nic != RUN_NONE ? run->ports[nic].rate_bps : 0;
	double least_ps = rate_bps != 0 ? wire_bits(run, step) * 1e12 / (double)rate_bps : 0;

	return fmax(0, (double)(step->end_ps - step->start_ps) - least_ps - (double)step->base_rtt_ps);
}

/* The time that a step lost against even shares on all links. */
static double
longer_ps(const struct sweep *s, uint32_t judged)
{
	const struct run_step *step = &s->run->steps[s->judged[judged].step];
	double took_ps = (double)(step->end_ps - step->start_ps);

	return s->even_bits[judged] > 0 ? took_ps * (1 - fmin(1, wire_bits(s->run, step) / s->even_bits[judged])) : 0;
}

/*
 * The lost time of a step on all links of its path together: not more than the sum, as they delay it at the same time,
 * nor more than it would have saved with even shares everywhere.
 */
static double
all_ps(const struct sweep *s, uint32_t judged, double limit_ps)
{
	double sum_ps = 0;

	for (uint32_t h = 0; h < PLACES; h++)
		sum_ps += s->cost_ps[judged][h];
	return fmax(s->judged[judged].cost_ps, fmin(limit_ps, fmin(sum_ps, longer_ps(s, judged))));
}

static void
conclude(const struct sweep *s, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct flowtracer_judged *judged = &s->judged[i];
		const struct run_step *step = &s->run->steps[judged->step];
		const struct flowtracer_path *path = flowtracer_path_of(s->own, step->flow, step->start_ps);
		const struct worst *worst;
		uint32_t best = 0;

		s->cost_ps[i][AT_NIC] = fmin(s->cost_ps[i][AT_NIC], longer_ps(s, i));
		for (uint32_t h = 1; h < PLACES; h++)
			best = s->cost_ps[i][h] > s->cost_ps[i][best] ? h : best;
		judged->port = RUN_NONE;
		if (path == NULL || s->cost_ps[i][best] <= 0)
			continue;
		worst = &s->worst[i][best];
		judged->cost_ps = fmin(s->cost_ps[i][best], most_ps(s->run, path, s->own->hops, step));
		judged->all_ps = all_ps(s, i, most_ps(s->run, path, s->own->hops, step));
		if (judged->cost_ps <= 0) /* it was as fast as it could be, whatever was on its links */
			continue;
		judged->port = worst->port;
		judged->other = worst->other;
		judged->most = worst->most;
		judged->least = worst->least;
	}
}

int
flowtracer_load(const struct flowtracer *own, const struct run *run, struct flowtracer_judged *judged, uint32_t count,
		struct err *err)
{
	uint32_t nevents = 0;
	struct sweep s = {
		.own = own,
		.run = run,
		.judged = judged,
		.events = flowtracer_events(own, run, judged, count, &nevents, err),
		.flows = run_alloc(run->nflows, sizeof(*s.flows), err),
		.first = run_alloc(run->nports, sizeof(*s.first), err),
		.of_nic = run_alloc(run->nports, sizeof(*s.of_nic), err),
		.on = run_alloc(run->nports, sizeof(*s.on), err),
		.load_bps = run_alloc(run->nports, sizeof(*s.load_bps), err),
		.cost_ps = run_alloc(count, sizeof(*s.cost_ps), err),
		.worst = run_alloc(count, sizeof(*s.worst), err),
		.even_bits = run_alloc(count, sizeof(*s.even_bits), err),
		.held = run_alloc(run->nports, sizeof(*s.held), err),
		.own_share = run_alloc(count, sizeof(*s.own_share), err),
		.now = run_alloc(count, sizeof(*s.now), err),
	};
	bool whole = s.events != NULL && s.flows != NULL && s.first != NULL && s.of_nic != NULL && s.on != NULL &&
		     s.load_bps != NULL && s.cost_ps != NULL && s.worst != NULL && s.even_bits != NULL && s.held != NULL &&
		     s.own_share != NULL && s.now != NULL;

	if (whole) {
		memset(s.first, 0xff, run->nports * sizeof(*s.first));
		s.nevents = nevents;
		go_through(&s);
		conclude(&s, count);
	}
	free(s.events);
	free(s.flows);
	free(s.first);
	free(s.of_nic);
	free(s.on);
	free(s.load_bps);
	free(s.cost_ps);
	free(s.worst);
	free(s.even_bits);
	free(s.held);
	free(s.own_share);
	free(s.now);
	return whole ? 0 : -ENOMEM;
}
