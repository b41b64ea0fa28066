/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds struct run: detections, polls and notifications in order of time, and all parts put together. */
#include "diag/run/run.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/large_pages.h"
#include "common/minmax.h"
#include "common/wire/collective.h"
#include "common/wire/detection.h"
#include "common/wire/ending.h"
#include "common/wire/layout.h"
#include "common/wire/record_run.h"
#include "diag/run/fill.h"

/* The run's tables of the network and the results of its ports. */

/* The end record's time, unless a report is of a later moment. */
static uint64_t
end_of(const struct evidence *ev)
{
	uint64_t end_ps = ev->ended && ev->end.end_ps > ev->last_ps ? ev->end.end_ps : ev->last_ps;

	return max_u64(end_ps, ev->steps_end_ps);
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
	port->pause_ps = sum_u64(port->pause_ps, pause_ps);
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
		flow->first_hop = ev->flows[f].first_hop;
		flow->nhops = evidence_is_sprayed(ev, f) ? 0 : ev->flows[f].nhops;
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

/* A cable is down in both directions. */
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

/* Configuration, nodes, ports with activity, flows, hops. */
static int
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

uint32_t
run_find_step(const struct run *run, const struct run_collective *collective, uint32_t rank, uint32_t number)
{
	uint32_t lo = collective->first_step, hi = collective->first_step + collective->nsteps;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct run_step *step = &run->steps[mid];

		if (step->rank == rank && step->step == number)
			return mid;
		if (step->rank < rank || (step->rank == rank && step->step < number))
			lo = mid + 1;
		else
			hi = mid;
	}
	return RUN_NONE;
}

static uint32_t
step_of(const struct run *run, const struct evidence *ev, const struct rec_trigger *rec)
{
	uint32_t collective = evidence_collective(ev, rec->collective, rec->iteration);

	return collective != EV_NONE ? run_find_step(run, &run->collectives[collective], rec->rank, rec->step) : RUN_NONE;
}

static void
fill_detections(struct run *run, const struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->triggers.count; i++) {
		const struct rec_trigger *rec = EV_AT(ev->triggers, struct rec_trigger, i);
		uint32_t step = step_of(run, ev, rec);

		run->detections[i] = (struct run_detection){
			.event = rec->hdr.event,
			.step = step,
			.host = rec->hdr.node,
			.cause = rec->cause,
			.time_ps = rec->hdr.time_ps,
			.rtt_ps = rec->rtt_ps,
			.threshold_ps = rec->threshold_ps,
			.remaining = rec->remaining,
		};
		if (step == RUN_NONE)
			continue;
		run->steps[step].detections++;
		run->steps[step].held_back |= rec->cause == REC_TRIGGER_THROTTLE;
	}
}

static void
fill_polls(struct run *run, const struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->polls.count; i++) {
		const struct rec_poll *rec = EV_AT(ev->polls, struct rec_poll, i);

		run->polls[i] = (struct run_poll){
			.event = rec->hdr.event,
			.node = rec->hdr.node,
			.flow = evidence_flow(ev, &rec->victim),
			.time_ps = rec->hdr.time_ps,
			.out_port = evidence_port(ev, rec->hdr.node, rec->out_port),
			.out_paused = rec->out_paused != 0,
		};
	}
}

static int
fill_events(struct run *run, const struct evidence *ev, struct err *err)
{
	run->detections = run_alloc(ev->triggers.count, sizeof(*run->detections), err);
	run->polls = run_alloc(ev->polls.count, sizeof(*run->polls), err);
	run->notifications = run_alloc(ev->notifies.count, sizeof(*run->notifications), err);
	if (run->detections == NULL || run->polls == NULL || run->notifications == NULL)
		return -ENOMEM;
	run->ndetections = ev->triggers.count;
	run->npolls = ev->polls.count;
	run->nnotifications = ev->notifies.count;
	for (uint32_t i = 0; i < ev->notifies.count; i++) {
		const struct ev_notify *from = EV_AT(ev->notifies, struct ev_notify, i);

		run->notifications[i] = (struct run_notification){ from->time_ps, from->node, from->detections };
	}
	fill_detections(run, ev);
	fill_polls(run, ev);
	return 0;
}

int
run_build(struct run *run, const struct evidence *evidence, struct err *err)
{
	int rc = run_fill_fabric(run, evidence, err);

	if (rc == 0)
		rc = run_fill_steps(run, evidence, err);
	if (rc == 0)
		rc = run_fill_lateness(run, evidence, err);
	if (rc == 0)
		rc = fill_events(run, evidence, err);
	if (rc == 0)
		rc = run_account(run, evidence, err);
	return rc;
}

void
run_fini(struct run *run)
{
	free(run->nodes);
	free(run->ports);
	free(run->flows);
	free(run->hops);
	free(run->known);
	free(run->jobs);
	free(run->iterations);
	free(run->collectives);
	free(run->ranks);
	free(run->after);
	free(run->steps);
	free(run->starved);
	free(run->depends);
	free(run->detections);
	free(run->polls);
	free(run->notifications);
	free(run->late_records);
	free(run->lateness);
	free(run->overhead.kinds);
}

bool
run_complete(const struct run *run)
{
	return !run->truncated && run->overhead.left_out == 0 && run->overhead.astray == 0 && run->overhead.dropped == 0 &&
	       run->missing.steps == 0 && run->missing.unscheduled == 0;
}

bool
run_finished(const struct run *run)
{
	return !run->truncated && run->end_reason == REC_END_COMPLETE;
}

uint64_t
run_base_rtt_ps(const struct run *run)
{
	uint64_t rtt_ps = 0;

	for (uint32_t i = 0; i < run->nsteps; i++)
		rtt_ps = max_u64(rtt_ps, run->steps[i].base_rtt_ps);
	return rtt_ps;
}

uint64_t
run_unreported_ps(const struct run *run)
{
	uint64_t most_ps = 0;

	for (uint32_t i = 0; i < run->ncollectives && run_finished(run) && run->missing.steps != 0; i++) {
		const struct run_collective *c = &run->collectives[i];

		if (!c->complete && run->end_ps > c->start_ps + c->expect_ps)
			most_ps = max_u64(most_ps, run->end_ps - c->start_ps - c->expect_ps);
	}
	return most_ps;
}

void *
run_alloc(size_t count, size_t size_bytes, struct err *err)
{
	void *p = calloc(count != 0 ? count : 1, size_bytes);

	if (p == NULL)
		err_set(err, -ENOMEM, "out of memory for %zu x %zu B of the verdict", count, size_bytes);
	return large_pages_advise(p, count * size_bytes);
}

/* The run's jobs, their iterations, the collectives of these and their ranks. */

static void
name(char *to, const char *from)
{
	snprintf(to, REC_NAME_LEN + 1, "%.*s", REC_NAME_LEN, from);
}

static void
fill_collective(struct run_collective *out, const struct rec_collective *rec)
{
	out->id = rec->id;
	out->iteration = rec->iteration;
	name(out->name, rec->name);
	out->algorithm = rec->algorithm;
	out->op = rec->op;
	out->ranks = rec->ranks;
	out->group_ranks = rec->group_ranks != 0 ? rec->group_ranks : rec->ranks;
	out->rank_steps = rec->rank_steps;
	out->steps = rec->steps;
	out->bytes = rec->bytes;
	out->ideal_ps = rec->ideal_ps;
	out->expect_ps = rec->expect_ps;
}

/* Collectives are sorted by (job, iteration): a new job or iteration begins where one differs from the one before. */
static void
group(struct run *run, const struct rec_collective *rec, uint32_t index)
{
	bool new_job = run->njobs == 0 || run->jobs[run->njobs - 1].id != rec->job;

	if (new_job) {
		struct run_job *job = &run->jobs[run->njobs++];

		job->id = rec->job;
		name(job->name, rec->job_name);
		job->first_iteration = run->niterations;
	}
	if (new_job || run->iterations[run->niterations - 1].iteration != rec->iteration) {
		run->iterations[run->niterations++] = (struct run_iteration){ .job = run->njobs - 1,
									      .iteration = rec->iteration,
									      .first_collective = index };
		run->jobs[run->njobs - 1].niterations++;
	}
	run->iterations[run->niterations - 1].ncollectives++;
	run->collectives[index].in = run->niterations - 1;
}

/* FOLLOW records are sorted by (collective, after). */
static void
list_after(struct run *run, const struct evidence *ev, struct run_collective *out)
{
	uint32_t lo = 0, hi = ev->follows.count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (EV_AT(ev->follows, struct rec_follow, mid)->collective < out->id)
			lo = mid + 1;
		else
			hi = mid;
	}
	out->first_after = run->nafter;
	for (; lo < ev->follows.count && EV_AT(ev->follows, struct rec_follow, lo)->collective == out->id; lo++) {
		uint32_t after = evidence_collective(ev, EV_AT(ev->follows, struct rec_follow, lo)->after, out->iteration);

		if (after != EV_NONE)
			run->after[run->nafter++] = after;
	}
	out->nafter = run->nafter - out->first_after;
}

/* The number of FOLLOW records that apply, over all iterations; of more than RUN_MAX_AFTER, one more than that. */
static uint32_t
count_after(const struct evidence *ev)
{
	uint32_t count = 0;

	for (uint32_t p = 0, f = 0; p < ev->collectives.count && count <= RUN_MAX_AFTER;
	     p++) { /* both by the collective's id */
		while (f < ev->follows.count && EV_AT(ev->follows, struct rec_follow, f)->collective < ev->places[p].id)
			f++;
		for (uint32_t i = f; i < ev->follows.count && count <= RUN_MAX_AFTER &&
				     EV_AT(ev->follows, struct rec_follow, i)->collective == ev->places[p].id;
		     i++)
			count++;
	}
	return count;
}

int
run_fill_jobs(struct run *run, const struct evidence *ev, struct err *err)
{
	uint32_t nafter = count_after(ev);

	if (nafter > RUN_MAX_AFTER)
		return err_set(err, -E2BIG,
			       "FOLLOW: more than %u over all iterations of collectives; right would be fewer of either",
			       RUN_MAX_AFTER);
	run->ncollectives = ev->collectives.count;
	run->collectives = run_alloc(run->ncollectives, sizeof(*run->collectives), err);
	run->jobs = run_alloc(run->ncollectives, sizeof(*run->jobs), err);
	run->iterations = run_alloc(run->ncollectives, sizeof(*run->iterations), err);
	run->after = run_alloc(nafter, sizeof(*run->after), err);
	if (run->collectives == NULL || run->jobs == NULL || run->iterations == NULL || run->after == NULL)
		return -ENOMEM;
	for (uint32_t c = 0; c < run->ncollectives; c++) {
		const struct rec_collective *rec = EV_AT(ev->collectives, struct rec_collective, c);

		fill_collective(&run->collectives[c], rec);
		group(run, rec, c);
		list_after(run, ev, &run->collectives[c]);
	}
	return 0;
}

void
run_sum_up_iterations(struct run *run)
{
	for (uint32_t i = 0; i < run->niterations; i++) {
		struct run_iteration *it = &run->iterations[i];

		it->complete = true;
		it->start_ps = run->end_ps;
		it->first_step = run->collectives[it->first_collective].first_step;
		for (uint32_t c = it->first_collective; c < it->first_collective + it->ncollectives; c++) {
			const struct run_collective *coll = &run->collectives[c];

			it->complete &= coll->complete;
			if (coll->nsteps == 0)
				continue;
			if (it->nsteps == 0)
				it->first_step = coll->first_step;
			it->nsteps += coll->nsteps;
			it->begun |= coll->begun;
			it->start_ps = min_u64(it->start_ps, coll->start_ps);
			it->end_ps = max_u64(it->end_ps, coll->end_ps);
		}
		if (!it->complete)
			it->end_ps = 0;
	}
}

/* @param ack_ps  how long before its end it may have had what it waits for: 0 if it sends */
static void
take_part(struct run_rank *rank, const struct run_step *step, uint64_t ack_ps)
{
	uint64_t earliest_ps = step->end_ps - min_u64(step->end_ps, ack_ps);

	rank->part = true;
	if (!step->reported || step->open) {
		rank->done_ps = rank->earliest_ps = RUN_UNKNOWN;
		return;
	}
	rank->done_ps = max_u64(rank->done_ps, step->end_ps);
	rank->earliest_ps = max_u64(rank->earliest_ps, earliest_ps);
}

int
run_fill_ranks(struct run *run, const struct evidence *ev, struct err *err)
{
	uint64_t count = 0;

	for (uint32_t c = 0; c < run->ncollectives; c++) {
		struct run_collective *coll = &run->collectives[c];

		coll->first_rank = (uint32_t)count;
		coll->nranks = count + coll->ranks <= RUN_MAX_RANKS ? coll->ranks : 0;
		count += coll->nranks;
	}
	run->ranks = run_alloc(count, sizeof(*run->ranks), err);
	if (run->ranks == NULL)
		return -ENOMEM;
	run->nranks = (uint32_t)count;
	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];
		const struct run_collective *coll = &run->collectives[step->collective];

		if (coll->nranks == 0)
			continue;
		take_part(&run->ranks[coll->first_rank + step->rank], step, 0);
		/*
		 * Its receiver has it before its sender knows: by an idle path's round trip, and by what ACKs are late. Of
		 * millions of steps of one collective that is not looked up: nobody waits for them.
		 */
		take_part(&run->ranks[coll->first_rank + step->peer], step,
			  step->base_rtt_ps + (run->ncollectives > 1 ? evidence_ledger_ps(ev, i, LEDGER_LATE) : 0));
	}
	return 0;
}
