/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/section.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/minmax.h"
#include "diag/diagnoser.h"
#include "diag/run/fill.h"
#include "diag/run/run.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/cause/drops.h"
#include "diag/vedrfolnir/provenance/provenance.h"
#include "diag/vedrfolnir/rating/rating.h"
#include "diag/vedrfolnir/waiting/wgraph.h"

/* Among the vertices ports are first, then flows. */
static uint32_t
flow_vertex(const struct prov_graph *graph, uint32_t flow)
{
	return graph->nports + flow;
}

static void
fill_vertices(struct provenance *out, const struct run *run, const struct prov_graph *graph)
{
	for (uint32_t p = 0; p < graph->nports; p++) {
		const struct prov_port *port = &graph->ports[p];

		out->vertices[p] = (struct provenance_vertex){
			.kind = PROVENANCE_PORT,
			.ref = port->port,
			.paused = port->paused,
			.pausing = port->latest != NULL && (port->latest->pausing || port->latest->pauses_sent != 0),
			.packets = port->packets,
			.depth_sum = port->depth_sum,
			.pause_ps = port->pause_ps,
		};
		out->present |= port->present;
	}
	for (uint32_t f = 0; f < graph->nflows; f++)
		out->vertices[flow_vertex(graph, f)] = (struct provenance_vertex){
			.kind = PROVENANCE_FLOW,
			.ref = graph->flows[f],
			.collective = run->flows[graph->flows[f]].collective,
			.victim = f == graph->victim,
		};
	out->nvertices = graph->nports + graph->nflows;
}

static void
add_edge(struct provenance *out, uint32_t kind, uint32_t from, uint32_t to, double weight)
{
	out->edges[out->nedges++] = (struct provenance_edge){ kind, from, to, weight };
}

static void
fill_edges(struct provenance *out, const struct prov_graph *graph)
{
	for (uint32_t p = 0; p < graph->nports; p++) {
		const struct prov_port *port = &graph->ports[p];

		for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
			const struct prov_at *at = &graph->ats[a];
			uint32_t flow = flow_vertex(graph, at->flow);

			if (at->edge)
				add_edge(out, PROVENANCE_FLOW_PORT, flow, p, at->wait);
			if (at->contrib > 0)
				add_edge(out, PROVENANCE_PORT_FLOW, p, flow, at->contrib);
		}
		for (uint32_t l = port->first_link; l < port->first_link + port->nlinks; l++)
			add_edge(out, PROVENANCE_PORT_PORT, p, graph->links[l].to, graph->links[l].weight);
	}
}

static int
cmp_score(const void *pa, const void *pb)
{
	const struct provenance_score *a = pa, *b = pb;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	return ORDER(a->flow, b->flow);
}

static int
fill_scores(struct provenance *out, const struct prov_graph *graph, struct err *err)
{
	double *r = run_alloc((size_t)graph->nports * graph->nflows, sizeof(*r), err);
	double *scores = run_alloc(graph->nflows, sizeof(*scores), err);

	if (r != NULL && scores != NULL) {
		rating_ports(graph, r);
		rating_flows(graph, r, scores);
		for (uint32_t f = 0; f < graph->nflows; f++) {
			if (scores[f] > 0)
				out->scores[out->nscores++] = (struct provenance_score){ graph->flows[f], scores[f] };
		}
		qsort(out->scores, out->nscores, sizeof(*out->scores), cmp_score);
	}
	free(scores);
	free(r);
	return r != NULL && scores != NULL ? 0 : -ENOMEM;
}

/*
 * Copies a step's provenance graph into the verdict and rates its flows (Eq. 1 and 2).
 * @return 0 or -ENOMEM with err; allocated memory is freed with the verdict
 */
static int
graphs_fill(struct provenance *out, const struct run *run, const struct prov_graph *graph, uint32_t step, struct err *err)
{
	out->step = step;
	out->from_ps = graph->from_ps;
	out->to_ps = graph->to_ps;
	out->cyclic = graph->cyclic;
	for (uint32_t p = 0; p < graph->nreached; p++)
		out->covered_ps =
			graph->ports[p].covered_ps > out->covered_ps ? graph->ports[p].covered_ps : out->covered_ps;
	out->vertices = run_alloc((size_t)graph->nports + graph->nflows, sizeof(*out->vertices), err);
	out->edges = run_alloc(2 * (size_t)graph->nats + graph->nlinks, sizeof(*out->edges), err);
	out->scores = run_alloc(graph->nflows, sizeof(*out->scores), err);
	if (out->vertices == NULL || out->edges == NULL || out->scores == NULL)
		return -ENOMEM;
	fill_vertices(out, run, graph);
	fill_edges(out, graph);
	return fill_scores(out, graph, err);
}

/* Leaves of a graph its step, times and flags alone. */
static void
graphs_empty(struct provenance *graph)
{
	free(graph->vertices);
	free(graph->edges);
	free(graph->scores);
	graph->vertices = NULL;
	graph->edges = NULL;
	graph->scores = NULL;
	graph->nvertices = graph->nedges = graph->nscores = 0;
}

/* The input of the order of steps. */
struct ranking {
	const struct run_step *steps;
	const struct vedrfolnir_step *own;
};

static int
turn_of(const struct vedrfolnir_step *step)
{
	if (step->critical)
		return step->shown ? 0 : 1;
	return 2;
}

/* Of an open one too: the time that it lost up to the run's end. */
static uint64_t
lost_ps(const struct run_step *step)
{
	uint64_t exec_ps = step->end_ps - step->start_ps;

	return exec_ps > step->expect_ps ? exec_ps - step->expect_ps : 0;
}

static int
cmp_turn(const void *pa, const void *pb, void *arg)
{
	const struct ranking *ranking = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int turn_a = turn_of(&ranking->own[a]), turn_b = turn_of(&ranking->own[b]);
	uint64_t lost_a = lost_ps(&ranking->steps[a]), lost_b = lost_ps(&ranking->steps[b]);

	if (turn_a != turn_b)
		return turn_a - turn_b;
	if (lost_a != lost_b)
		return lost_a > lost_b ? -1 : 1;
	return ORDER(a, b);
}

uint32_t
graphs_order(const struct run_step *steps, const struct vedrfolnir_step *own, uint32_t nsteps, uint32_t *order)
{
	struct ranking ranking = { steps, own };
	uint32_t count = 0;

	for (uint32_t i = 0; i < nsteps; i++)
		if (steps[i].slow)
			order[count++] = i;
	qsort_r(order, count, sizeof(*order), cmp_turn, &ranking);
	return count;
}

/* A link's time was taken by an unknown flow. */
static bool
is_unnamed(const struct finding *finding)
{
	return (finding->type->traits & FINDING_OF_LINK) != 0 && finding->nflows == 0;
}

/* Is there a finding about the network, or about a host? */
static bool
has_finding(const struct section *section, bool host)
{
	for (uint32_t i = 0; i < section->nfindings; i++) {
		if (((section->findings[i].type->traits & FINDING_OF_HOST) != 0) == host &&
		    !is_unnamed(&section->findings[i]))
			return true;
	}
	return false;
}

static bool
has_unnamed(const struct section *section)
{
	for (uint32_t i = 0; i < section->nfindings; i++) {
		if (is_unnamed(&section->findings[i]))
			return true;
	}
	return false;
}

/* Telemetry without a reason is evidence for the network only where it shows the time. */
static bool
was_watched(const struct run *run, const struct vedrfolnir *own, uint32_t i)
{
	const struct run_step *step = &run->steps[i];
	uint32_t graph = own->steps[i].graph;

	return graph != RUN_NONE &&
	       own->graphs[graph].covered_ps >= VEDRFOLNIR_WATCHED_SHARE * (double)(step->end_ps - step->start_ps);
}

/*
 * ACKs are in no telemetry, and no expected time has those of other jobs. A link full of data has a stream of ACKs in
 * the other direction; this number of them may share a step's path.
 */
#define ACK_STREAMS 2

static double
ack_share(const struct run *run)
{
	return run->config.frame_bytes != 0 ? ACK_STREAMS * (double)run->config.ack_bytes / run->config.frame_bytes : 0;
}

#define OPEN_TOLERANCE 0.01 /* of an open step's lost time: findings about its hosts claim all but that */

/* An open step whose hosts alone held it up, by findings: the network is not known to have held it up. */
static bool
is_excused(const struct run *run, const struct vedrfolnir *own, uint32_t i)
{
	double lost_ps = run_excess_ps(&run->steps[i]);

	return run->steps[i].slow && run->steps[i].open && own->steps[i].hosts_ps > 0 &&
	       lost_ps - own->steps[i].hosts_ps <= OPEN_TOLERANCE * lost_ps;
}

/* Slow beyond the time that findings about its hosts claim? */
static bool
is_slowed(const struct run *run, const struct vedrfolnir *own, uint32_t i)
{
	const struct run_step *step = &run->steps[i];
	double limit_ps = (double)run_slow_after_ps(run, step);

	return step->slow && !is_excused(run, own, i) &&
	       (step->open || own->steps[i].hosts_ps <= 0 ||
		(double)(step->end_ps - step->start_ps) - own->steps[i].hosts_ps > limit_ps);
}

/* Too slow for others' ACKs to be all of the reason? */
static bool
needs_reason(const struct run *run, const struct vedrfolnir *own, uint32_t i)
{
	const struct run_step *step = &run->steps[i];

	return is_slowed(run, own, i) && (step->open || (double)(step->end_ps - step->start_ps) - own->steps[i].hosts_ps >
								(1 + ack_share(run)) * (double)step->expect_ps);
}

/* The time of each step that findings about its hosts claim, but for delays of its start. */
static void
sum_hosts(const struct section *section)
{
	struct vedrfolnir *own = section->own;

	for (uint32_t i = 0; i < section->nfindings; i++) {
		const struct finding *finding = &section->findings[i];

		for (uint32_t c = 0; c < finding->nclaims && (finding->type->traits & FINDING_OF_SENDER) != 0; c++)
			own->steps[finding->claims[c].step].hosts_ps += finding->claims[c].ps;
	}
}

/*
 * The time that a collective's path may lose without a slow step: each a little less than makes it slow, and the usual
 * variation of computations.
 */
static double
tolerance_ps(const struct run *run, const struct vedrfolnir *own, const struct run_collective *collective)
{
	double tolerance_ps = 0;

	for (uint32_t i = collective->first_step; i < collective->first_step + collective->nsteps; i++) {
		if (own->steps[i].critical)
			tolerance_ps += (double)run->steps[i].expect_ps * RUN_SLOW_PERCENT / 100 +
					2 * (double)run->config.jitter_ps + (double)run_spread_ps(&run->steps[i]);
	}
	return tolerance_ps;
}

/*
 * The lost time of all collectives, and its unexplained part. A job may lose the tolerance of its steps in each
 * iteration, and one base RTT: less is without effect.
 * @return whether any job has more
 */
static bool
sum_up(const struct run *run, const struct vedrfolnir *own, struct claim *claim, double rtt_ps)
{
	double unexplained_ps = 0, most_ps = rtt_ps;
	bool too_much = false;

	for (uint32_t i = 0; i < run->ncollectives; i++) {
		claim->lost_ps += own->budgets[i].lost_ps;
		unexplained_ps += time_budget_unexplained_ps(&own->budgets[i]);
		most_ps += tolerance_ps(run, own, &run->collectives[i]);
		if (i + 1 < run->ncollectives && run_job_of(run, i) == run_job_of(run, i + 1))
			continue;
		claim->unexplained_ps += unexplained_ps;
		too_much |= unexplained_ps > most_ps;
		unexplained_ps = 0;
		most_ps = rtt_ps;
	}
	return too_much;
}

/* Of the steps of a collective, or of all that began: those that were reported. */
static double
reported_share(const struct run *run, uint32_t first, uint32_t count)
{
	uint32_t reported = 0;

	for (uint32_t i = first; i < first + count; i++)
		reported += run->steps[i].reported || run->steps[i].waits;
	return count != 0 ? (double)reported / count : 1;
}

/* Is it about hosts that were late by little alone, which sums up to nothing? */
static bool
is_nothing(const struct run *run, const struct finding *finding)
{
	bool little = finding->costless && (finding->type->traits & FINDING_OF_HOST) != 0;

	for (uint32_t i = 0; i < finding->nsteps && little; i++)
		little = run->steps[finding->steps[i]].late_little && run->steps[finding->steps[i]].long_ps == 0;
	return little;
}

/*
 * Lowers the confidence of findings by what unreported steps may hide, and drops those about hosts that sum up to nothing.
 * What delayed a reported step did so whatever the others did. Of these nothing is known: that they hide its effect is as
 * likely as not. @param section  VEDRFOLNIR's
 */
static void
conclude_findings(const struct run *run, struct section *section)
{
	struct vedrfolnir *own = section->own;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < section->nfindings; i++) {
		struct finding *finding = &section->findings[i];

		if (!is_nothing(run, finding)) {
			section->findings[kept++] = *finding;
			continue;
		}
		own->budgets[finding->collective].little_ps += finding->critical_ps;
		finding_fini(finding);
	}
	section->nfindings = kept;
	for (uint32_t i = 0; i < section->nfindings; i++) {
		const struct run_collective *c = &run->collectives[section->findings[i].collective];
		double reported = reported_share(run, c->first_step, c->nsteps);
		double likely = reported + confidence_inferred(reported, 0);

		section->findings[i].confidence *= likely;
		section->findings[i].borne_out *= likely;
	}
}

/* What the ports on an unexplained step's path report all the same. */
static void
note_signs(const struct cause_input *in, uint32_t step, struct claim *claim)
{
	const struct prov_graph *graph = in->graphs[step];

	for (uint32_t p = 0; graph != NULL && p < graph->nreached; p++) {
		claim->paused |= graph->ports[p].pause_ps > 0;
		claim->contended |= !in->ev->nodes[in->ev->ports[graph->ports[p].port].node].host &&
				    cause_has_queue(in, &graph->ports[p]);
	}
	for (uint32_t reason = 0; reason < REC_DROP_REASONS && !claim->dropped; reason++)
		claim->dropped = drops_any(in, step, reason);
}

/*
 * The claim of findings, telemetry and evidence together about the network. @param section  VEDRFOLNIR's, but for its
 * claim
 */
static struct claim
conclude(const struct cause_input *in, const struct run *run, const struct section *section)
{
	bool network = has_finding(section, false), complete = run_complete(run) && section->skipped == 0, too_much;
	double rtt_ps = (double)run_base_rtt_ps(run);
	struct claim claim = { .ack_share = ack_share(run) };
	uint32_t done = 0, excused = 0, unexplained = 0;
	double sure = 0;

	sum_hosts(section);
	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];

		claim.slow += is_slowed(run, section->own, i);
		done += step->reported && !step->open;
		excused += is_excused(run, section->own, i);
		if (!needs_reason(run, section->own, i))
			continue;
		unexplained++;
		claim.unwatched += !was_watched(run, section->own, i);
		note_signs(in, i, &claim);
	}
	too_much = sum_up(run, section->own, &claim, rtt_ps);
	claim.left = claim.unexplained_ps > rtt_ps || (double)run_unreported_ps(run) > rtt_ps;
	claim.innocent = !network && claim.slow == 0 && done + excused != 0 && complete &&
			 (run_finished(run) || excused != 0) && !too_much;
	if (network)
		claim.kind = findings_blame(section->findings, section->nfindings, claim.left, &sure);
	else if (done + excused == 0)
		claim.kind = CLAIM_NOTHING_DONE;
	else if (claim.slow == 0 && too_much)
		claim.kind = CLAIM_IN_SUM;
	else if (claim.slow == 0)
		claim.kind = has_finding(section, true) ? CLAIM_HOSTS_LATE : CLAIM_IN_TIME;
	else if (has_unnamed(section))
		claim.kind = CLAIM_UNNAMED;
	else if (!complete)
		claim.kind = CLAIM_INCOMPLETE;
	else if (claim.unwatched != 0)
		claim.kind = CLAIM_UNWATCHED;
	else
		claim.kind = unexplained == 0 ? CLAIM_ACKS : CLAIM_NO_SIGN;
	if (claim.innocent)
		claim.confidence = reported_share(run, 0, run->nsteps);
	else
		claim.confidence = claim.kind == CLAIM_FAULT ? sure : 0;
	return claim;
}

/* The state of a diagnosis. */
struct diagnosing {
	const struct evidence *ev;
	const struct run *run;
	struct vedrfolnir *own;
	struct section *section;
	struct prov_graph **graphs; /* [run->nsteps] NULL: not slow, or nothing reported */
};

static int build_waiting(struct diagnosing *d, struct err *err);
static int build_graphs(struct diagnosing *d, enum prov_share share, struct err *err);
static int rate_collectives(const struct run *run, struct vedrfolnir *own, struct err *err);

/* The window in packets. @return INFINITY: it is not reported, or there is none */
static double
most_in_flight(const struct evidence *ev)
{
	return ev->run.window_bytes != 0 && ev->run.payload_bytes != 0
		       ? ceil((double)ev->run.window_bytes / ev->run.payload_bytes)
		       : INFINITY;
}

/*
 * The packets that a flow on its link has in flight: its window, or, where that is not reported, as many as a link
 * carries in the longest round trip of a step.
 */
static double
window_packets(const struct evidence *ev, const struct run *run)
{
	double bits = 0;

	if (isfinite(most_in_flight(ev)))
		return most_in_flight(ev);
	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];
		const struct run_node *host = &run->nodes[step->host];
		double rate_bps = host->nports != 0 ? (double)run->ports[host->first_port].rate_bps : 0;

		bits = fmax(bits, (double)step->base_rtt_ps / 1e12 * rate_bps);
	}
	return fmax(1, ev->run.frame_bytes != 0 ? bits / 8 / ev->run.frame_bytes : 1);
}

/* Of hosts that announce it. Whatever else slows a sender may do so because ACKs take long. */
static bool
is_paced_by_marks(const struct evidence *ev)
{
	char text[REC_SETTING_TEXT + 1];
	const char *kind = evidence_setting(ev, "host.cc", text);

	return kind != NULL && (strcmp(kind, "dcqcn") == 0 || strcmp(kind, "none") == 0);
}

int
vedrfolnir_diagnose(const struct evidence *evidence, const struct run *run, const void *options, struct section *section,
		    struct err *err)
{
	const struct vedrfolnir_options *chosen = options;
	struct vedrfolnir *own = section->own = run_alloc(1, sizeof(*own), err);
	struct diagnosing d = { .ev = evidence, .run = run, .own = own, .section = section };
	struct cause_input in = { .causes = chosen->causes != NULL ? chosen->causes : causes,
				  .ncauses = chosen->causes != NULL ? chosen->ncauses : ncauses,
				  .ev = evidence,
				  .run = run,
				  .steps = run->steps,
				  .nsteps = run->nsteps };
	int rc;

	if (own == NULL)
		return -ENOMEM;
	in.window = window_packets(evidence, run);
	in.most_in_flight = most_in_flight(evidence);
	in.paced_by_marks = is_paced_by_marks(evidence);
	in.unjudged = &own->unjudged;
	own->steps = run_alloc(run->nsteps, sizeof(*own->steps), err);
	in.own = own->steps;
	in.graphs = d.graphs = run_alloc(run->nsteps, sizeof(*d.graphs), err);
	rc = own->steps != NULL && d.graphs != NULL ? build_waiting(&d, err) : -ENOMEM;
	if (rc == 0)
		rc = build_graphs(&d, chosen->share_by_senders ? PROV_SHARE_SENDERS : PROV_SHARE_RECEIVERS, err);
	if (rc == 0)
		rc = cause_find(&in, &section->findings, &section->nfindings, err);
	if (rc == 0)
		rc = rate_collectives(run, own, err);
	if (rc == 0)
		rc = budgets_sum_up(run, section, err);
	if (rc == 0) {
		conclude_findings(run, section);
		section->claim = conclude(&in, run, section);
	}
	for (uint32_t i = 0; d.graphs != NULL && i < run->nsteps; i++)
		prov_destroy(d.graphs[i]);
	free(d.graphs);
	return rc;
}

static void
mark(const struct run *run, struct vedrfolnir *own, const struct run_iteration *iteration, const struct waiting_graph *w)
{
	bool flows = run_is_flows(&run->collectives[iteration->first_collective]);

	for (uint32_t i = iteration->first_step; i < iteration->first_step + iteration->nsteps; i++) {
		own->steps[i].critical = flows && run->steps[i].slow;
		own->steps[i].shown = !flows;
	}
	for (uint32_t p = 0; p < w->npath; p++)
		own->steps[w->path[p]].critical = own->steps[w->path[p]].shown = true;
}

/* @return 0 or -ENOMEM with err */
static int
copy_ledgers(struct diagnosing *d, struct err *err)
{
	struct vedrfolnir *own = d->own;
	uint32_t count = 0;

	for (uint32_t g = 0; g < own->nwaiting; g++)
		count += own->waiting[g].npath;
	own->ledgers = run_alloc(count, sizeof(*own->ledgers), err);
	count = 0;
	for (uint32_t g = 0; g < own->nwaiting && own->ledgers != NULL; g++)
		for (uint32_t i = 0; i < own->waiting[g].npath; i++, count++)
			for (int entry = 0; entry < LEDGER_ENTRIES; entry++)
				own->ledgers[count].ps[entry] = evidence_ledger_ps(d->ev, own->waiting[g].path[i], entry);
	return own->ledgers != NULL ? 0 : -ENOMEM;
}

static int
build_waiting(struct diagnosing *d, struct err *err)
{
	const struct run *run = d->run;
	struct vedrfolnir *own = d->own;

	own->waiting = run_alloc(run->niterations, sizeof(*own->waiting), err);
	if (own->waiting == NULL)
		return -ENOMEM;
	own->nwaiting = run->niterations;
	for (uint32_t i = 0; i < run->nsteps; i++)
		own->steps[i].graph = RUN_NONE;
	for (uint32_t i = 0; i < run->niterations; i++) {
		const struct run_iteration *iteration = &run->iterations[i];
		struct waiting_graph *w = &own->waiting[i];
		int rc = wgraph_build(run->steps, iteration->first_step, iteration->nsteps, w, err);

		if (rc != 0)
			return rc;
		if (run_is_flows(&run->collectives[iteration->first_collective]))
			slow_flows_list(run->steps, iteration->first_step, iteration->nsteps, w);
		mark(run, own, iteration, w);
	}
	return copy_ledgers(d, err);
}

static int
build_graph(struct diagnosing *d, uint32_t i, enum prov_share share, struct prov_scratch *scratch, struct err *err)
{
	const struct run_step *step = &d->run->steps[i];
	struct vedrfolnir *own = d->own;
	int rc = prov_build(d->ev, scratch, step->flow, step->start_ps, step->end_ps, share, &d->graphs[i], err);

	if (rc != 0 || d->graphs[i]->nports == 0)
		return rc;
	own->steps[i].graph = own->ngraphs++;
	rc = graphs_fill(&own->graphs[own->steps[i].graph], d->run, d->graphs[i], i, err);
	if (rc == 0 && !own->steps[i].shown)
		graphs_empty(&own->graphs[own->steps[i].graph]);
	return rc;
}

static int
build_graphs(struct diagnosing *d, enum prov_share share, struct err *err)
{
	struct vedrfolnir *own = d->own;
	struct prov_scratch scratch;
	uint32_t *order = run_alloc(d->run->nsteps, sizeof(*order), err);
	uint32_t slow = order != NULL ? graphs_order(d->run->steps, own->steps, d->run->nsteps, order) : 0;
	int rc = prov_scratch_init(&scratch, d->ev, err);

	d->section->limit = VEDRFOLNIR_MAX_GRAPHS;
	own->graphs = run_alloc(slow < VEDRFOLNIR_MAX_GRAPHS ? slow : VEDRFOLNIR_MAX_GRAPHS, sizeof(*own->graphs), err);
	if (own->graphs == NULL || order == NULL)
		rc = -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < slow; i++) {
		if (own->ngraphs == VEDRFOLNIR_MAX_GRAPHS)
			d->section->skipped++;
		else
			rc = build_graph(d, order[i], share, &scratch, err);
	}
	prov_scratch_fini(&scratch);
	free(order);
	return rc;
}

/* A flow's effect on the collectives, while it is being summed up. */
struct contributions {
	double *score; /* [nflows] Eq. 3 */
	uint32_t *nshares;
};

static double
excess_sum_ps(const struct run *run, const struct waiting_graph *w)
{
	double sum_ps = 0;

	for (uint32_t i = 0; i < w->npath; i++) {
		const struct run_step *step = &run->steps[w->path[i]];

		if (!run_is_local(step)) /* the equation is about flows */
			sum_ps += rating_excess_ps(step->end_ps - step->start_ps, step->expect_ps);
	}
	return sum_ps;
}

/* Eq. 3 over one critical path. Flows of collectives are not rated: they are the victims. */
static void
count_path_share(const struct run *run, const struct vedrfolnir *own, const struct waiting_graph *w,
		 struct contributions *contributions)
{
	double sum_ps = excess_sum_ps(run, w);

	for (uint32_t i = 0; i < w->npath; i++) {
		const struct run_step *step = &run->steps[w->path[i]];
		double weight = rating_step_weight(step->end_ps - step->start_ps, step->expect_ps, sum_ps);
		uint32_t graph = own->steps[w->path[i]].graph;

		for (uint32_t s = 0; graph != RUN_NONE && s < own->graphs[graph].nscores; s++) {
			const struct provenance_score *score = &own->graphs[graph].scores[s];

			if (run->flows[score->flow].collective && !run_is_flows(&run->collectives[step->collective]))
				continue;
			contributions->score[score->flow] += score->score * weight;
			contributions->nshares[score->flow]++;
		}
	}
}

static int
fill_shares(const struct run *run, const struct vedrfolnir *own, struct contributor *contributor, uint32_t count,
	    struct err *err)
{
	contributor->shares = run_alloc(count, sizeof(*contributor->shares), err);
	if (contributor->shares == NULL)
		return -ENOMEM;
	for (uint32_t c = 0; c < own->nwaiting; c++) {
		for (uint32_t i = 0; i < own->waiting[c].npath; i++) {
			uint32_t step = own->waiting[c].path[i];
			uint32_t graph = own->steps[step].graph;

			for (uint32_t s = 0; graph != RUN_NONE && s < own->graphs[graph].nscores; s++) {
				if (own->graphs[graph].scores[s].flow == contributor->flow)
					contributor->shares[contributor->nshares++] =
						(struct contributor_share){ step, own->graphs[graph].scores[s].score };
			}
		}
	}
	return 0;
}

static int
cmp_contributor(const void *pa, const void *pb)
{
	const struct contributor *a = pa, *b = pb;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	return ORDER(a->flow, b->flow);
}

static int
list_contributors(const struct run *run, struct vedrfolnir *own, const struct contributions *contributions, struct err *err)
{
	uint32_t count = 0;

	for (uint32_t f = 0; f < run->nflows; f++)
		count += contributions->score[f] > 0;
	own->contributors = run_alloc(count, sizeof(*own->contributors), err);
	if (own->contributors == NULL)
		return -ENOMEM;
	for (uint32_t f = 0; f < run->nflows; f++) {
		struct contributor *contributor = &own->contributors[own->ncontributors];

		if (contributions->score[f] <= 0)
			continue;
		contributor->flow = f;
		contributor->score = contributions->score[f];
		own->ncontributors++;
		if (fill_shares(run, own, contributor, contributions->nshares[f], err) != 0)
			return -ENOMEM;
	}
	qsort(own->contributors, own->ncontributors, sizeof(*own->contributors), cmp_contributor);
	return 0;
}

static int
rate_collectives(const struct run *run, struct vedrfolnir *own, struct err *err)
{
	struct contributions contributions = {
		.score = run_alloc(run->nflows, sizeof(*contributions.score), err),
		.nshares = run_alloc(run->nflows, sizeof(*contributions.nshares), err),
	};
	int rc = -ENOMEM;

	if (contributions.score != NULL && contributions.nshares != NULL) {
		for (uint32_t c = 0; c < own->nwaiting; c++)
			count_path_share(run, own, &own->waiting[c], &contributions);
		rc = list_contributors(run, own, &contributions, err);
	}
	free(contributions.score);
	free(contributions.nshares);
	return rc;
}

void
vedrfolnir_destroy(void *section_own)
{
	struct vedrfolnir *own = section_own;

	for (uint32_t i = 0; i < own->nwaiting; i++) {
		free(own->waiting[i].vertices);
		free(own->waiting[i].edges);
		free(own->waiting[i].path);
	}
	for (uint32_t i = 0; i < own->ngraphs; i++)
		graphs_empty(&own->graphs[i]);
	for (uint32_t i = 0; i < own->ncontributors; i++)
		free(own->contributors[i].shares);
	free(own->waiting);
	free(own->ledgers);
	free(own->steps);
	free(own->graphs);
	free(own->contributors);
	free(own->budgets);
	free(own);
}

int
vedrfolnir_port_share(void *options, const char *value, struct err *err)
{
	struct vedrfolnir_options *chosen = options;

	if (strcmp(value, "receivers") != 0 && strcmp(value, "senders") != 0)
		return err_set(err, -EINVAL, "use receivers or senders");
	chosen->share_by_senders = strcmp(value, "senders") == 0;
	return 0;
}
