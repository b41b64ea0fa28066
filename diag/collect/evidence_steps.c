/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins schedule and step records, and links every step to what it depends on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag/collect/evidence_internal.h"

/* A step as a record of its host names it; dst_ip of its flow, before that: by it a step is found that sends there. */
struct step_key {
	uint32_t collective, host, step, dst_ip, flow;
	uint32_t index;
};

static int
cmp_key(const void *pa, const void *pb)
{
	const struct step_key *a = pa, *b = pb;

	if (a->collective != b->collective)
		return a->collective < b->collective ? -1 : 1;
	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->dst_ip != b->dst_ip)
		return a->dst_ip < b->dst_ip ? -1 : 1;
	if (a->flow != b->flow)
		return a->flow < b->flow ? -1 : 1;
	return 0;
}

/* @return index into collectives or EV_NONE */
static uint32_t
find_collective(const struct evidence *ev, uint32_t id, uint32_t iteration)
{
	uint32_t lo = 0, hi = ev->collectives.count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct rec_collective *rec = EV_AT(ev->collectives, struct rec_collective, mid);

		if (rec->id == id && rec->iteration == iteration)
			return mid;
		if (rec->id < id || (rec->id == id && rec->iteration < iteration))
			lo = mid + 1;
		else
			hi = mid;
	}
	return EV_NONE;
}

/* First key not below (collective, host, step, dst_ip, flow 0). */
static uint32_t
lower_bound(const struct step_key *keys, uint32_t count, const struct step_key *want)
{
	uint32_t lo = 0, hi = count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (cmp_key(&keys[mid], want) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * The step of a host that sends data to the NIC with address dst_ip; any of that number if none does (a host may run
 * one rank a NIC, and records name hosts).
 */
static uint32_t
find_step(const struct evidence *ev, const struct step_key *keys, uint32_t collective, uint32_t host, uint32_t step,
	  uint32_t dst_ip)
{
	struct step_key want = { .collective = collective, .host = host, .step = step, .dst_ip = dst_ip };

	for (int any = 0; any < 2; any++) {
		uint32_t at = lower_bound(keys, ev->nsteps, &want);

		if (at < ev->nsteps && keys[at].collective == collective && keys[at].host == host &&
		    keys[at].step == step && (any || keys[at].dst_ip == dst_ip))
			return keys[at].index;
		want.dst_ip = 0;
	}
	return EV_NONE;
}

static void
take_schedule(struct evidence *ev, struct step_key *keys)
{
	for (uint32_t i = 0; i < ev->schedule.count; i++) {
		const struct rec_schedule *rec = EV_AT(ev->schedule, struct rec_schedule, i);
		struct ev_step *step = &ev->steps[i];

		step->sched = rec;
		step->collective = find_collective(ev, rec->collective, rec->iteration);
		step->flow = evidence_flow(ev, &rec->flow);
		step->host = rec->hdr.node;
		step->previous = step->depends = step->waited_for = EV_NONE;
		keys[i] = (struct step_key){ step->collective, step->host, rec->step, rec->flow.dst_ip, step->flow, i };
	}
	qsort(keys, ev->nsteps, sizeof(*keys), cmp_key);
}

static void
take_reports(struct evidence *ev, const struct step_key *keys)
{
	for (uint32_t i = 0; i < ev->step_recs.count; i++) {
		const struct rec_step *rec = EV_AT(ev->step_recs, struct rec_step, i);
		const struct step_key want = {
			.collective = find_collective(ev, rec->collective, rec->iteration),
			.host = rec->hdr.node,
			.step = rec->step,
			.dst_ip = rec->flow.dst_ip,
			.flow = evidence_flow(ev, &rec->flow),
		};
		const struct step_key *key = bsearch(&want, keys, ev->nsteps, sizeof(*keys), cmp_key);

		if (key == NULL) {
			ev->unscheduled_steps++;
			continue;
		}
		ev->steps[key->index].report = rec;
	}
}

static void
link_steps(struct evidence *ev, const struct step_key *keys)
{
	for (uint32_t i = 0; i < ev->nsteps; i++) {
		struct ev_step *step = &ev->steps[i];
		const struct rec_schedule *sched = step->sched;
		uint32_t my_ip = sched->flow.src_ip;

		/* Steps are sorted by (collective, rank, step): the previous one of a rank stands before it. */
		if (i > 0 && ev->steps[i - 1].collective == step->collective && ev->steps[i - 1].sched->rank == sched->rank)
			step->previous = i - 1;
		if (sched->depends_on != REC_NONE)
			step->depends =
				find_step(ev, keys, step->collective, sched->depends_on, sched->depends_step, my_ip);
		if (step->report == NULL)
			continue;
		if (step->report->waited_for == REC_NONE)
			step->waited_for = step->previous;
		else if (step->report->waited_for == sched->depends_on)
			step->waited_for = step->depends;
		else /* not what was scheduled: the host's own word counts */
			step->waited_for =
				find_step(ev, keys, step->collective, step->report->waited_for, sched->step - 1, my_ip);
	}
}

int
evidence_join_steps(struct evidence *ev, struct err *err)
{
	struct step_key *keys;

	ev->nsteps = ev->schedule.count;
	ev->steps = evidence_alloc(ev->nsteps, sizeof(*ev->steps), err);
	keys = evidence_alloc(ev->nsteps, sizeof(*keys), err);
	if (ev->steps == NULL || keys == NULL) {
		free(keys);
		return -ENOMEM;
	}
	take_schedule(ev, keys);
	take_reports(ev, keys);
	link_steps(ev, keys);
	free(keys);
	return 0;
}
