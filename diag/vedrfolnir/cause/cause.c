/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/cause.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/err.h"
#include "common/pkt.h"
#include "common/wire/collective.h"
#include "diag/collect/evidence.h"
#include "diag/finding.h"
#include "diag/run/lateness.h"
#include "diag/run/run.h"
#include "diag/vedrfolnir/cause/delays.h"
#include "diag/vedrfolnir/cause/merge.h"
#include "diag/vedrfolnir/cause/paced.h"
#include "diag/vedrfolnir/provenance/provenance.h"
#include "diag/vedrfolnir/provenance/window.h"
#include "diag/vedrfolnir/section.h"

/*
 * When the collective's flows ran, by their hosts' reports: rows of coarse epochs show them where other steps passed.
 */

/* A step that ran. */
struct activity_run {
	uint32_t flow;
	uint64_t start_ps, end_ps;
	uint64_t reach_ps; /* the latest end of it and those before it of its flow */
	uint64_t bytes;    /* sent */
};

struct activity {
	uint32_t *first;           /* [flows + 1] into runs */
	struct activity_run *runs; /* by flow and start */
	bool *unknown;             /* [flows] outside of the collective, or with an unreported step */
};

static int
by_flow_and_start(const void *a, const void *b)
{
	const struct activity_run *x = a, *y = b;

	if (x->flow != y->flow)
		return x->flow < y->flow ? -1 : 1;
	return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

/* Ranks are in the order of their addresses nearly always, and so are their flows. */
static bool
is_in_order(const struct activity_run *runs, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (by_flow_and_start(&runs[i - 1], &runs[i]) > 0)
			return false;
	return true;
}

static uint32_t
collect(struct activity *activity, const struct evidence *ev, const struct run_step *steps, uint32_t nsteps)
{
	uint32_t count = 0;

	for (uint32_t f = 0; f < ev->nflows; f++)
		activity->unknown[f] = !ev->flows[f].collective;
	for (uint32_t s = 0; s < nsteps; s++) {
		if (run_is_local(&steps[s]))
			continue;
		activity->unknown[steps[s].flow] |= !steps[s].reported;
		if (steps[s].reported && steps[s].started)
			activity->runs[count++] =
				(struct activity_run){ .flow = steps[s].flow,
						       .start_ps = steps[s].start_ps,
						       .end_ps = steps[s].end_ps,
						       .bytes = steps[s].open ? steps[s].acked_bytes : steps[s].bytes };
	}
	return count;
}

/* @return 0 or -ENOMEM */
static int
activity_init(struct activity *activity, const struct evidence *ev, const struct run_step *steps, uint32_t nsteps)
{
	uint32_t count, flow = 0;

	activity->first = calloc((size_t)ev->nflows + 1, sizeof(*activity->first));
	activity->runs = calloc((size_t)nsteps + 1, sizeof(*activity->runs));
	activity->unknown = calloc((size_t)ev->nflows + 1, sizeof(*activity->unknown));
	if (activity->first == NULL || activity->runs == NULL || activity->unknown == NULL)
		return -ENOMEM;
	count = collect(activity, ev, steps, nsteps);
	if (!is_in_order(activity->runs, count))
		qsort(activity->runs, count, sizeof(*activity->runs), by_flow_and_start);
	for (uint32_t i = 0; i < count; i++) {
		struct activity_run *run = &activity->runs[i];

		while (flow < run->flow)
			activity->first[++flow] = i;
		run->reach_ps =
			i > activity->first[flow] && run[-1].reach_ps > run->end_ps ? run[-1].reach_ps : run->end_ps;
	}
	while (flow < ev->nflows)
		activity->first[++flow] = count;
	return 0;
}

static void
activity_fini(struct activity *activity)
{
	free(activity->first);
	free(activity->runs);
	free(activity->unknown);
}

/* The first run of a flow that may not have ended at a time: none before it lasted until then. */
static uint32_t
first_until(const struct activity *activity, uint32_t flow, uint64_t time_ps)
{
	uint32_t first = activity->first[flow], end = activity->first[flow + 1];

	while (first < end) {
		uint32_t mid = first + (end - first) / 2;

		if (activity->runs[mid].reach_ps < time_ps)
			first = mid + 1;
		else
			end = mid;
	}
	return first;
}

/* The part of a run that lies in a time. */
static struct window
clip(const struct activity_run *run, uint64_t from_ps, uint64_t to_ps)
{
	struct window part = { run->start_ps > from_ps ? run->start_ps : from_ps,
			       run->end_ps < to_ps ? run->end_ps : to_ps };

	part.to_ps = part.to_ps > part.from_ps ? part.to_ps : part.from_ps;
	return part;
}

/* The part of a time in which a flow had a step running. @return ps; INFINITY: unknown */
static double
activity_ran_ps(const struct activity *activity, uint32_t flow, uint64_t from_ps, uint64_t to_ps)
{
	double sum_ps = 0;

	if (activity->unknown[flow])
		return INFINITY;
	for (uint32_t i = first_until(activity, flow, from_ps);
	     i < activity->first[flow + 1] && activity->runs[i].start_ps < to_ps; i++) {
		struct window part = clip(&activity->runs[i], from_ps, to_ps);

		sum_ps += (double)(part.to_ps - part.from_ps);
	}
	return sum_ps;
}

/* The part of a time in which two flows had a step running at once. @return ps; INFINITY: unknown of either */
static double
activity_both_ran_ps(const struct activity *activity, uint32_t one, uint32_t other, uint64_t from_ps, uint64_t to_ps)
{
	double sum_ps = 0;

	if (activity->unknown[one])
		return activity_ran_ps(activity, other, from_ps, to_ps);
	if (activity->unknown[other])
		return activity_ran_ps(activity, one, from_ps, to_ps);
	for (uint32_t i = first_until(activity, one, from_ps);
	     i < activity->first[one + 1] && activity->runs[i].start_ps < to_ps; i++) {
		struct window part = clip(&activity->runs[i], from_ps, to_ps);

		sum_ps += activity_ran_ps(activity, other, part.from_ps, part.to_ps);
	}
	return sum_ps;
}

/* Measurements of steps and ports for signatures. */

double
cause_sent_bytes(const struct cause_set *set, uint32_t flow, uint64_t from_ps, uint64_t to_ps)
{
	const struct activity *activity = set->activity;
	double bytes = 0;

	for (uint32_t i = first_until(activity, flow, from_ps);
	     i < activity->first[flow + 1] && activity->runs[i].start_ps < to_ps; i++) {
		const struct activity_run *run = &activity->runs[i];
		struct window part = clip(run, from_ps, to_ps);

		if (run->end_ps > run->start_ps)
			bytes += (double)run->bytes * (double)(part.to_ps - part.from_ps) /
				 (double)(run->end_ps - run->start_ps);
	}
	return bytes;
}

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
	const struct run_starved starved = run_starved_of(in->run, s);
	const struct finding *out = &finding->out;
	bool host = (out->type->traits & FINDING_OF_HOST) != 0 && (out->type->traits & FINDING_OF_SENDER) == 0;
	bool timed = (out->type->traits & FINDING_BY_DEFAULT) != 0 ||
		     ((out->type->traits & FINDING_OF_LOSS) != 0 && out->root_port == EV_NONE);

	if (host)
		return run_machine_share(finding->claimed_ps, (double)starved.starved_ps, starved.starved_unmeasured);
	if (!timed)
		return 0;
	return run_machine_share(fmin(finding->claimed_ps, cause_excess_ps(in, step)), (double)starved.machine_ps,
				 starved.machine_unmeasured);
}

uint64_t
cause_host_ps(const struct cause_input *in, uint32_t step)
{
	return in->steps[step].late_ps + in->steps[step].long_ps;
}

double
cause_ledger_ps(const struct cause_input *in, uint32_t step, enum ledger_entry entry)
{
	const struct run_step *s = &in->steps[step];
	double ps = (double)evidence_ledger_ps(in->ev, step, entry);

	return s->slow && ps >= CAUSE_SLOWS_ALONE * (double)s->expect_ps ? ps : 0;
}

struct cause_finding *
cause_of_sender(struct cause_set *set, uint32_t step, double ps, uint32_t root_port, const char *root)
{
	const struct run_step *s = &set->in->steps[step];
	struct cause_finding *finding = ps > 0 && !run_is_local(s) ? cause_add(set, root_port, root, EV_NONE, step) : NULL;

	if (finding == NULL)
		return NULL;
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, EV_NONE, ps);
	if (cause_score(finding, cause_lost_frames(set->in, step, ps)))
		finding->out.evidence = (struct finding_evidence){
			.nclauses = 1,
			.step = step,
			.port = root_port,
			.node = s->host,
			.flow = s->flow,
			.ps = ps,
			.of_ps = (double)run_waited_ps(s),
		};
	return finding;
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
	/* A NIC serves its flows in turn: no queue grows, and still each waits for the others. */
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
	return cause_shares_nic(set, step, graph->flows[other->flow], port->port);
}

bool
cause_shares_nic(const struct cause_set *set, uint32_t step, uint32_t flow, uint32_t port)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	const struct rec_collective *collective = EV_AT(ev->collectives, struct rec_collective, s->collective);
	const struct ev_flow *victim = &ev->flows[s->flow], *of = &ev->flows[flow];

	return collective->op != COLL_FLOWS && of->of != EV_NONE && of->of == victim->of &&
	       of->src_port == victim->src_port && of->src_port != EV_NONE &&
	       ev->ports[port].rate_bps >= ev->ports[of->src_port].rate_bps;
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

#define CAUSE_POINT(name) &cause_##name,
const struct cause *const causes[] = { CAUSES(CAUSE_POINT) };
const uint32_t ncauses = ARRAY_LEN(causes);

static int find_some(const struct cause_input *in, struct finding **findings, uint32_t *count, struct err *err);
static void look_at_step(struct cause_set *all, uint32_t step);
static int cmp_finding(const void *pa, const void *pb);

static bool
is_looked_at(const struct cause_input *in, uint32_t step)
{
	return in->steps[step].slow || cause_host_ps(in, step) != 0;
}

/* Is there a step to look at? Of an innocent run there is none. */
static bool
has_any(const struct cause_input *in)
{
	for (uint32_t s = 0; s < in->nsteps; s++)
		if (is_looked_at(in, s))
			return true;
	return false;
}

static int
find_none(struct finding **findings, uint32_t *count, struct err *err)
{
	*count = 0;
	*findings = calloc(1, sizeof(**findings));
	return *findings != NULL ? 0 : err_set(err, -ENOMEM, "out of memory for findings");
}

int
cause_find(const struct cause_input *in, struct finding **findings, uint32_t *count, struct err *err)
{
	return has_any(in) ? find_some(in, findings, count, err) : find_none(findings, count, err);
}

static int
find_some(const struct cause_input *in, struct finding **findings, uint32_t *count, struct err *err)
{
	struct activity activity = { 0 };
	struct delays delays = { 0 };
	struct cause_set all = { .in = in, .activity = &activity, .delays = &delays };
	struct finding *out = NULL;
	struct traced *traced = traced_create(in->ev);
	int rc = 0;

	all.traced = traced;
	all.buckets = malloc(CAUSE_BUCKETS * sizeof(*all.buckets));
	all.paced = paced_create(in);
	all.no_memory = all.paced == NULL || traced == NULL ||
			activity_init(&activity, in->ev, in->steps, in->nsteps) != 0 || delays_init(&delays, in) != 0 ||
			all.buckets == NULL;
	for (uint32_t b = 0; b < CAUSE_BUCKETS && all.buckets != NULL; b++)
		all.buckets[b] = EV_NONE;
	for (uint32_t s = 0; s < in->nsteps && !all.no_memory; s++) {
		if (is_looked_at(in, s))
			look_at_step(&all, s);
		else if (!run_is_local(&in->steps[s]))
			paced_forget(all.paced, in->steps[s].flow);
	}
	merge_roots(&all);
	for (uint32_t i = 0; i < all.count; i++)
		merge_sort_flows(&all.findings[i]);
	if (all.count > 1)
		qsort(all.findings, all.count, sizeof(*all.findings), cmp_finding);
	out = calloc((size_t)all.count + 1, sizeof(*out));
	*count = out != NULL ? all.count : 0;
	for (uint32_t i = 0; i < *count; i++) {
		confidence_conclude(&all.findings[i]);
		out[i] = all.findings[i].out;
		memset(&all.findings[i].out, 0, sizeof(all.findings[i].out));
	}
	if (all.no_memory || out == NULL)
		rc = err_set(err, -ENOMEM, "out of memory for findings");
	else if (all.full)
		rc = err_set(err, -E2BIG, "more than %d findings", CAUSE_MAX_FINDINGS);
	merge_free(&all);
	activity_fini(&activity);
	delays_fini(&delays);
	paced_destroy(all.paced);
	traced_destroy(traced);
	*findings = out;
	return rc;
}

/* Does a cause look at such a step? A local step is no evidence about the network. */
static bool
is_about(const struct cause *cause, const struct run_step *step)
{
	return !run_is_local(step) || (cause->type.traits & FINDING_OF_HOST) != 0;
}

/* Each signature by itself, then what they share: too small findings are dropped, the rest joins the others. */
static void
look_at_step(struct cause_set *all, uint32_t step)
{
	struct cause_set set = {
		.in = all->in, .activity = all->activity, .delays = all->delays, .paced = all->paced, .traced = all->traced
	};
	bool local = run_is_local(&all->in->steps[step]);

	for (set.looking = 0; set.looking < all->in->ncauses; set.looking++) {
		if (is_about(all->in->causes[set.looking], &all->in->steps[step]))
			all->in->causes[set.looking]->look(&set, step);
	}
	if (!local) {
		paced_carry_in(&set, step);
		paced_by_ports(&set, step);
	}
	merge_settle(&set, step);
	if (!local) {
		paced_carry_out(&set, step);
		for (set.looking = 0; set.looking < all->in->ncauses; set.looking++)
			if (all->in->causes[set.looking]->beside != NULL)
				all->in->causes[set.looking]->beside(&set, step);
	}
	for (uint32_t i = 0; i < set.count; i++)
		merge_into(all, &set.findings[i], step);
	all->full |= set.full;
	all->no_memory |= set.no_memory;
	merge_free(&set);
}

/* A loop precedes the deadlock that it makes; else the order of causes. */
static int64_t
tie_rank(const struct cause_finding *finding)
{
	return (finding->out.type->traits & FINDING_OF_LOOP) != 0 ? -1 : (int64_t)finding->order;
}

static int
cmp_finding(const void *pa, const void *pb)
{
	const struct cause_finding *one = pa, *other = pb;
	const struct finding *a = &one->out, *b = &other->out;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	if (a->type != b->type)
		return tie_rank(one) < tie_rank(other) ? -1 : 1;
	if (a->collective != b->collective)
		return a->collective < b->collective ? -1 : 1;
	if (strcmp(a->root, b->root) != 0)
		return strcmp(a->root, b->root);
	if (a->nflows != 0 && b->nflows != 0 && a->flows[0] != b->flows[0])
		return a->flows[0] < b->flows[0] ? -1 : 1;
	return 0;
}

/* ---- findings under construction ---- */

uint32_t
merge_put(struct cause_set *set, uint32_t **items, uint32_t *count, uint32_t item)
{
	uint32_t *grown;

	for (uint32_t i = 0; i < *count; i++) {
		if ((*items)[i] == item)
			return i;
	}
	grown = realloc(*items, (*count + 1) * sizeof(*grown));
	if (grown == NULL) {
		set->no_memory = true;
		return EV_NONE;
	}
	*items = grown;
	grown[*count] = item;
	return (*count)++;
}

static bool
is_same(const struct cause_finding *finding, const struct finding *want, uint32_t key)
{
	return finding->out.type == want->type && finding->out.key == key && finding->out.root_port == want->root_port &&
	       finding->out.collective == want->collective && strcmp(finding->out.root, want->root) == 0;
}

uint32_t *
merge_bucket(const struct cause_set *set, const struct finding *want, uint32_t key)
{
	uint64_t hash = (uint64_t)want->root_port << 32 | key;

	hash = (hash ^ (uint64_t)want->collective << 40) * 0x9e3779b97f4a7c15ULL;
	return &set->buckets[hash >> 32 & (CAUSE_BUCKETS - 1)];
}

struct cause_finding *
merge_find(struct cause_set *set, const struct finding *want, uint32_t key)
{
	if (set->buckets != NULL) {
		uint32_t i = *merge_bucket(set, want, key);

		while (i != EV_NONE && !is_same(&set->findings[i], want, key))
			i = set->findings[i].next;
		return i != EV_NONE ? &set->findings[i] : NULL;
	}
	for (uint32_t i = 0; i < set->count; i++) {
		if (is_same(&set->findings[i], want, key))
			return &set->findings[i];
	}
	return NULL;
}

struct cause_finding *
merge_make(struct cause_set *set, const struct finding *want, uint32_t key, uint32_t order)
{
	struct cause_finding *finding;

	if (set->count == CAUSE_MAX_FINDINGS) {
		set->full = true;
		return NULL;
	}
	if (set->count == set->cap) {
		uint32_t cap = set->cap == 0 ? 16 : set->cap * 2;
		struct cause_finding *grown = realloc(set->findings, cap * sizeof(*grown));

		if (grown == NULL) {
			set->no_memory = true;
			return NULL;
		}
		set->findings = grown;
		set->cap = cap;
	}
	finding = &set->findings[set->count++];
	*finding = (struct cause_finding){ .out.key = key, .order = order, .part = EV_NONE, .best_step = EV_NONE };
	finding->out.type = want->type;
	finding->out.root_port = want->root_port;
	finding->out.origin_port = EV_NONE;
	finding->out.collective = want->collective;
	memcpy(finding->out.root, want->root, sizeof(finding->out.root));
	if (set->buckets != NULL) {
		uint32_t *bucket = merge_bucket(set, want, key);

		finding->next = *bucket;
		*bucket = set->count - 1;
	}
	return finding;
}

struct cause_finding *
cause_add(struct cause_set *set, uint32_t root_port, const char *root, uint32_t key, uint32_t step)
{
	struct finding want = { .type = &set->in->causes[set->looking]->type,
				.root_port = root_port,
				.collective = set->in->steps[step].collective };
	struct cause_finding *finding;

	if (root_port != EV_NONE)
		evidence_port_name(set->in->ev, root_port, want.root);
	else
		snprintf(want.root, sizeof(want.root), "%s", root);
	finding = merge_find(set, &want, key);
	if (finding == NULL)
		finding = merge_make(set, &want, key, set->looking);
	if (finding == NULL || merge_put(set, &finding->out.steps, &finding->out.nsteps, step) == EV_NONE)
		return NULL;
	if (!run_is_local(&set->in->steps[step]) &&
	    merge_put(set, &finding->out.victims, &finding->out.nvictims, set->in->steps[step].flow) == EV_NONE)
		return NULL;
	return finding;
}

void
cause_port(struct cause_set *set, struct cause_finding *finding, uint32_t port)
{
	merge_put(set, &finding->out.ports, &finding->out.nports, port);
}

/* Room for one culprit more. */
static bool
grow_by_flow(double **by_flow, uint32_t count)
{
	double *grown = realloc(*by_flow, ((size_t)count + 1) * sizeof(*grown));

	if (grown == NULL)
		return false;
	*by_flow = grown;
	grown[count] = 0;
	return true;
}

void
cause_flow(struct cause_set *set, struct cause_finding *finding, uint32_t flow, double score)
{
	uint32_t before = finding->out.nflows;
	uint32_t at = merge_put(set, &finding->out.flows, &finding->out.nflows, flow);

	if (at == EV_NONE)
		return;
	if (finding->out.nflows > before &&
	    (!grow_by_flow(&finding->flow_score, at) || !grow_by_flow(&finding->carried, at) ||
	     !grow_by_flow(&finding->out.flow_ps, at))) {
		set->no_memory = true;
		finding->out.nflows = before;
		return;
	}
	finding->flow_score[at] += score;
}

void
cause_time(struct cause_finding *finding, uint64_t start_ps, uint64_t end_ps)
{
	if (finding->out.end_ps == 0 || start_ps < finding->out.start_ps)
		finding->out.start_ps = start_ps;
	if (end_ps > finding->out.end_ps)
		finding->out.end_ps = end_ps;
}

bool
cause_score(struct cause_finding *finding, double score)
{
	bool best = finding->out.evidence.nclauses == 0 || score > finding->best;

	finding->out.score += score;
	if (best)
		finding->best = score;
	return best;
}

void
cause_explains(struct cause_finding *finding, uint32_t part, double ps)
{
	if (finding->part != part) {
		finding->part = part;
		finding->part_ps = 0;
	}
	finding->part_ps += ps;
	if (finding->part_ps > finding->claimed_ps)
		finding->claimed_ps = finding->part_ps;
}

struct cause_finding *
cause_on_path(struct cause_set *set, uint32_t step, bool back)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	const struct ev_flow *of = &ev->flows[s->flow];
	double excess_ps = cause_excess_ps(set->in, step);
	struct cause_finding *finding;
	char flow[96];

	finding = cause_add(set, EV_NONE, evidence_flow_name(ev, s->flow, flow), s->flow, step);
	if (finding == NULL)
		return NULL;
	for (uint32_t h = 0; h < (back ? of->nback : of->nhops); h++)
		cause_port(set, finding, ev->hops[of->first_hop + (back ? of->nhops : 0) + h]);
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, EV_NONE, excess_ps);
	return cause_score(finding, cause_lost_frames(set->in, step, excess_ps)) ? finding : NULL;
}

void
cause_name_flows(const struct cause_finding *finding, struct finding_evidence *evidence)
{
	uint32_t worst = 0;

	for (uint32_t i = 1; i < finding->out.nflows; i++)
		worst = finding->flow_score[i] > finding->flow_score[worst] ? i : worst;
	evidence->flows = finding->out.nflows;
	evidence->flow = finding->out.nflows != 0 ? finding->out.flows[worst] : EV_NONE;
}
