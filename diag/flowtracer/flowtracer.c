/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowtracer/section.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/fim.h"
#include "common/minmax.h"
#include "common/wire/record.h"
#include "diag/collect/evidence.h"
#include "diag/diagnoser.h"
#include "diag/run/fill.h"

/* A record of a hop, and its flow. */
struct path_report {
	uint32_t flow, round, hop;
	const struct rec_traced_hop *rec;
};

static int
cmp_path_report(const void *pa, const void *pb)
{
	const struct path_report *a = pa, *b = pb;

	if (a->flow != b->flow)
		return a->flow < b->flow ? -1 : 1;
	if (a->round != b->round)
		return a->round < b->round ? -1 : 1;
	return ORDER(a->hop, b->hop);
}

static int
cmp_path(const void *pa, const void *pb)
{
	const struct flowtracer_path *a = pa, *b = pb;

	if (a->flow != b->flow)
		return a->flow < b->flow ? -1 : 1;
	return ORDER(a->round, b->round);
}

static int
sum_rounds(struct flowtracer *own, const struct evidence *ev, struct err *err)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ev->trace_rounds.count; i++)
		count = max_u32(count, EV_AT(ev->trace_rounds, struct rec_trace_round, i)->round + 1);
	/* Rounds of one stream follow each other: there are no more than records. */
	count = min_u32(count, ev->trace_rounds.count);
	own->rounds = run_alloc(count, sizeof(*own->rounds), err);
	if (own->rounds == NULL)
		return -ENOMEM;
	own->nrounds = count;
	for (uint32_t i = 0; i < count; i++)
		own->rounds[i] = (struct flowtracer_round){ .start_ps = UINT64_MAX, .complete = true };
	for (uint32_t i = 0; i < ev->trace_rounds.count; i++) {
		const struct rec_trace_round *rec = EV_AT(ev->trace_rounds, struct rec_trace_round, i);
		struct flowtracer_round *round = &own->rounds[rec->round < count ? rec->round : count - 1];

		round->hosts++;
		round->flows += rec->flows;
		round->traced += rec->traced;
		round->questions += rec->questions;
		round->connections += rec->connections;
		round->start_ps = min_u64(round->start_ps, rec->start_ps);
		/* A host's clock may be ahead of its report. */
		round->end_ps = max_u64(round->end_ps, max_u64(rec->start_ps, rec->hdr.time_ps));
		round->bytes += rec->sent_bytes + rec->received_bytes;
		round->complete &= rec->complete != 0;
	}
	for (uint32_t i = 0; i < count; i++)
		if (own->rounds[i].hosts == 0) /* the budget kept its records back */
			own->rounds[i] = (struct flowtracer_round){ .complete = false };
	return 0;
}

/* The last round of those in which most flows were traced. */
static int
choose_round(struct flowtracer *own, struct err *err)
{
	uint32_t most = 0, *traced = run_alloc(own->nrounds + 1u, sizeof(*traced), err);

	own->shown = RUN_NONE;
	if (traced == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < own->npaths; i++)
		traced[min_u32(own->paths[i].round, own->nrounds)]++;
	for (uint32_t r = 0; r <= own->nrounds; r++) {
		if (traced[r] == 0 || traced[r] < most)
			continue;
		most = traced[r];
		own->shown = r;
	}
	free(traced);
	return 0;
}

static uint32_t
port_of(const struct run *run, uint32_t node, uint16_t port)
{
	return port < run->nodes[node].nports ? run->nodes[node].first_port + port : RUN_NONE;
}

/* Does a reply go on with the set of another? */
static bool
is_part_of(const struct rec_traced_hop *rec, const struct rec_traced_hop *other)
{
	return rec->hop == other->hop && rec->hdr.node == other->hdr.node && rec->first != other->first;
}

/* Ports from the first one of a reply on. */
static void
add_ports(struct fim_ports *ports, const struct rec_traced_hop *rec)
{
	for (uint32_t bit = 0; bit < 128 && rec->first + bit < FIM_MAX_PORTS; bit++) {
		uint32_t port = rec->first + bit;

		ports->of[port / 64] |= ((bit < 64 ? rec->set_low : rec->set_high) >> bit % 64 & 1) << port % 64;
	}
}

static void
put_hops(struct flowtracer *own, const struct run *run, struct flowtracer_path *path, const struct rec_traced *traced,
	 const struct path_report **reports, const struct path_report *end)
{
	const struct rec_traced_hop *before = NULL;

	path->first = own->nhops;
	own->hops[own->nhops++] = (struct flowtracer_hop){ .node = traced->hdr.node,
							   .port = port_of(run, traced->hdr.node, traced->nic),
							   .set = { { { traced->set_low, traced->set_high } } } };
	while (*reports < end && (*reports)->flow == path->flow && (*reports)->round < path->round)
		(*reports)++;
	for (; *reports < end && (*reports)->flow == path->flow && (*reports)->round == path->round; (*reports)++) {
		const struct rec_traced_hop *rec = (*reports)->rec;

		if (before == NULL || !is_part_of(rec, before))
			own->hops[own->nhops++] =
				(struct flowtracer_hop){ .node = rec->hdr.node,
							 .port = port_of(run, rec->hdr.node, rec->out_port) };
		add_ports(&own->hops[own->nhops - 1].set.ports, rec);
		before = rec;
	}
	path->nhops = own->nhops - path->first;
}

/* Records of flows arrive in the order of time: sorted by flow and round first, each takes the hops reported for it. */
static int
join(struct flowtracer *own, const struct evidence *ev, const struct run *run, struct path_report *reports, struct err *err)
{
	uint32_t nhops = ev->traced_hops.count;
	const struct path_report *next = reports;
	struct rec_traced **by = run_alloc(ev->traced.count, sizeof(struct rec_traced *), err);

	if (by == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < ev->traced.count; i++) {
		const struct rec_traced *rec = EV_AT(ev->traced, struct rec_traced, i);

		own->paths[i] = (struct flowtracer_path){ .flow = evidence_flow(ev, &rec->tuple),
							  .round = rec->round,
							  .first = i,
							  .result = rec->result,
							  .reported_ps = rec->reported_ps,
							  .messages = rec->messages };
		by[i] = (struct rec_traced *)ev->traced.data + i;
	}
	qsort(own->paths, ev->traced.count, sizeof(*own->paths), cmp_path);
	qsort(reports, nhops, sizeof(*reports), cmp_path_report);
	own->npaths = ev->traced.count;
	for (uint32_t i = 0; i < own->npaths; i++) {
		while (next < reports + nhops && next->flow < own->paths[i].flow)
			next++;
		put_hops(own, run, &own->paths[i], by[own->paths[i].first], &next, reports + nhops);
	}
	free(by);
	return 0;
}

/* Sets own->paths, hops, rounds and shown. @return 0 or -ENOMEM with err */
static int
flowtracer_paths(struct flowtracer *own, const struct evidence *ev, const struct run *run, struct err *err)
{
	uint32_t nhops = ev->traced_hops.count;
	struct path_report *reports = run_alloc(nhops, sizeof(*reports), err);
	int rc = reports != NULL ? sum_rounds(own, ev, err) : -ENOMEM;

	own->paths = run_alloc(ev->traced.count, sizeof(*own->paths), err);
	own->hops = run_alloc((size_t)nhops + ev->traced.count, sizeof(*own->hops), err);
	if (own->paths == NULL || own->hops == NULL)
		rc = -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < nhops; i++) {
		const struct rec_traced_hop *rec = EV_AT(ev->traced_hops, struct rec_traced_hop, i);

		reports[i] = (struct path_report){
			.flow = evidence_flow(ev, &rec->tuple), .round = rec->round, .hop = rec->hop, .rec = rec
		};
	}
	if (rc == 0)
		rc = join(own, ev, run, reports, err);
	if (rc == 0)
		rc = choose_round(own, err);
	free(reports);
	return rc;
}

const struct flowtracer_path *
flowtracer_path_of(const struct flowtracer *own, uint32_t flow, uint64_t time_ps)
{
	uint32_t lo = 0, hi = own->npaths;
	const struct flowtracer_path *path;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (own->paths[mid].flow < flow)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == own->npaths || own->paths[lo].flow != flow)
		return NULL;
	path = &own->paths[lo];
	while (lo + 1 < own->npaths && own->paths[lo + 1].flow == flow && own->paths[lo + 1].reported_ps <= time_ps)
		path = &own->paths[++lo];
	return path;
}

/* The number of flows on each link, in layers, and its distance from an even spread: III-C of the paper. */

static bool
is_shown(const struct flowtracer *own, const struct flowtracer_path *path)
{
	return path->round == own->shown;
}

static int
fill(struct fim_fabric *fabric, const struct run *run)
{
	if (fim_fabric_init(fabric, run->nnodes, run->nports) != 0)
		return -ENOMEM;
	for (uint32_t n = 0; n < run->nnodes; n++)
		fabric->nodes[n] = (struct fim_node){ run->nodes[n].first_port, run->nodes[n].nports, run->nodes[n].host };
	for (uint32_t p = 0; p < run->nports; p++)
		fabric->ports[p] = (struct fim_port){ .node = run->ports[p].node,
						      .peer = run->ports[p].peer_node,
						      .peer_port = run->ports[p].peer_port,
						      .rate_bps = run->ports[p].rate_bps };
	return fim_fabric_layers(fabric);
}

/* The ports of a host that answer to an address; all, if none does. */
static struct fim_ports
ports_of(const struct run *run, uint32_t node, uint32_t ip)
{
	struct fim_ports ports = { { 0 } }, all = { { 0 } };

	for (uint32_t i = 0; i < run->nodes[node].nports && i < FIM_MAX_PORTS; i++) {
		all.of[i / 64] |= UINT64_C(1) << i % 64;
		if (run->ports[run->nodes[node].first_port + i].ip == ip)
			ports.of[i / 64] |= UINT64_C(1) << i % 64;
	}
	return (ports.of[0] | ports.of[1]) != 0 ? ports : all;
}

/* The choices of flows of a path; where a switch reported ports of equal cost, they count, and not its cables. */
static bool
list_path(const struct flowtracer *own, const struct run *run, const struct flowtracer_path *path, struct fim_flow *flow,
	  struct fim_set *sets, uint32_t *nsets)
{
	const struct flowtracer_hop *hops = &own->hops[path->first];
	const struct run_flow *of = &run->flows[path->flow];
	uint32_t known = 0;

	for (uint32_t h = 0; h < path->nhops; h++)
		known += hops[h].port != RUN_NONE;
	if (known == 0 || of->dst == RUN_NONE || hops[0].port == RUN_NONE)
		return false;
	*flow = (struct fim_flow){ .src = hops[0].node,
				   .dst = of->dst,
				   .from = hops[0].set.ports,
				   .to = ports_of(run, of->dst, of->tuple.dst_ip),
				   .hops = path->result == REC_TRACE_EGRESS ? FIM_MAX_HOPS : known };
	for (uint32_t h = 1; h < path->nhops; h++)
		if (flowtracer_count(&hops[h].set) != 0)
			sets[(*nsets)++] = (struct fim_set){ hops[h].node, of->dst, hops[h].set.ports };
	return true;
}

static int
offer(struct flowtracer *own, const struct run *run, struct fim_fabric *fabric, struct err *err)
{
	struct fim_flow *flows = run_alloc(own->npaths, sizeof(*flows), err);
	struct fim_set *sets = run_alloc(own->nhops, sizeof(*sets), err);
	uint32_t count = 0, nsets = 0;
	int rc = flows != NULL && sets != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; rc == 0 && i < own->npaths; i++) {
		const struct flowtracer_path *path = &own->paths[i];

		if (!is_shown(own, path))
			continue;
		own->sprayed += path->result == REC_TRACE_SPRAYED;
		count += list_path(own, run, path, &flows[count], sets, &nsets);
		for (uint32_t h = path->first; h < path->first + path->nhops; h++)
			if (own->hops[h].port != RUN_NONE)
				fabric->links[own->hops[h].port].flows++;
	}
	if (rc == 0)
		rc = fim_fabric_offer(fabric, flows, count, sets, nsets);
	free(flows);
	free(sets);
	return rc;
}

/* Layers that flows cross, and links of theirs. */
static void
measure(struct flowtracer *own, const struct run *run, struct fim_fabric *fabric)
{
	const struct fim switches = fim_fabric_metric(fabric, FIM_SWITCHES), all = fim_fabric_metric(fabric, FIM_ALL);
	uint32_t layer_of[FIM_MAX_GROUPS];

	own->fim = switches.percent;
	own->expected = fim_fabric_expected(fabric, FIM_SWITCHES);
	own->fim_all = all.percent;
	own->expected_all = fim_fabric_expected(fabric, FIM_ALL);
	own->most_tier = fabric->most_tier;
	for (uint16_t g = 0; g < fabric->nlayers; g++) {
		const struct fim one = fim_fabric_metric(fabric, g);

		layer_of[g] = own->nlayers;
		if (one.links == 0)
			continue;
		own->layers[own->nlayers++] = (struct flowtracer_layer){ .tiers = fabric->layers[g],
									 .links = one.links,
									 .least = one.least,
									 .most = one.most,
									 .ideal = one.ideal,
									 .fim = one.percent,
									 .expected = fim_fabric_expected(fabric, g) };
	}
	for (uint32_t p = 0; p < run->nports; p++) {
		const struct fim_link *link = &fabric->links[p];

		if (link->ideal <= 0)
			continue;
		own->links[own->nlinks++] = (struct flowtracer_link){ p, layer_of[link->group], link->flows, link->ideal };
		own->layers[layer_of[link->group]].flows += link->flows;
	}
}

/* Of the round that is shown: sets layers, links, and the metric over all. @return 0 or -ENOMEM with err */
static int
flowtracer_links(struct flowtracer *own, const struct run *run, struct err *err)
{
	struct fim_fabric fabric;
	int rc = fill(&fabric, run);

	own->links = run_alloc(run->nports, sizeof(*own->links), err);
	own->layers = run_alloc(FIM_MAX_GROUPS, sizeof(*own->layers), err);
	if (own->links == NULL || own->layers == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = offer(own, run, &fabric, err);
	if (rc == 0)
		measure(own, run, &fabric);
	else
		err_set(err, rc, "out of memory for links");
	fim_fabric_fini(&fabric);
	return rc;
}

/* Throughput between hosts, as their steps report it: Fig. 3(a) of the paper. */

/* Steps of flows that were traced. @return their number */
static uint32_t
list(const struct flowtracer *own, const struct run *run, struct pair_message *messages)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];
		const struct run_flow *flow = step->flow != RUN_NONE ? &run->flows[step->flow] : NULL;

		if (flow == NULL || !step->started || flow->src == RUN_NONE || flow->dst == RUN_NONE ||
		    flowtracer_path_of(own, step->flow, 0) == NULL)
			continue;
		messages[count++] =
			(struct pair_message){ flow->src,      flow->dst,    step->flow,
					       step->start_ps, step->end_ps, step->open ? step->acked_bytes : step->bytes };
	}
	return count;
}

/* Sets own->pairs, of flows whose paths were traced. @return 0 or -ENOMEM with err */
static int
flowtracer_pairs(struct flowtracer *own, const struct run *run, struct err *err)
{
	struct pair_message *messages = run_alloc(run->nsteps, sizeof(*messages), err);
	uint32_t count = messages != NULL ? list(own, run, messages) : 0;

	own->pairs = run_alloc(count, sizeof(*own->pairs), err);
	if (messages != NULL && own->pairs != NULL)
		own->npairs = pair_rates(messages, count, own->pairs);
	free(messages);
	return messages != NULL && own->pairs != NULL ? 0 : -ENOMEM;
}

enum { CLAUSE_ALONE, CLAUSE_TOGETHER };
static const char *const clauses[] = {
	[CLAUSE_ALONE] =
		"{count} flows left by {port} at once while {depth} left by {other}, of equal cost; if they had shared "
		"evenly, jobs would have taken about {ms} ms less of {of ms} ms. Among its flows are {flows}",
	[CLAUSE_TOGETHER] = "{count} flows left by {port} at once while {depth} left by {other}, of equal cost, and others "
			    "shared further links; with an even spread, jobs would have taken about {ms} ms less of {of "
			    "ms} ms. Among its flows are {flows}",
};

static const struct finding_type path_imbalance = {
	.key = "path-imbalance",
	.title = "path imbalance",
	.preposition = "at ",
	.badge = "queue",
	.traits = FINDING_UNTIMED,
	.clauses = clauses,
	.nclauses = ARRAY_LEN(clauses),
};

/* All iterations of all jobs, one behind the other. */
static double
jobs_ps(const struct run *run)
{
	double sum_ps = 0;

	for (uint32_t i = 0; i < run->niterations; i++) {
		const struct run_iteration *iteration = &run->iterations[i];
		uint64_t end_ps = iteration->complete ? iteration->end_ps : run->end_ps;

		sum_ps += end_ps > iteration->start_ps ? (double)(end_ps - iteration->start_ps) : 0;
	}
	return sum_ps;
}

static uint32_t *
copy(const uint32_t *list, uint32_t count, struct err *err)
{
	uint32_t *all = run_alloc(count, sizeof(*all), err);

	if (all != NULL && count != 0)
		memcpy(all, list, count * sizeof(*all));
	return all;
}

/* Of the bytes of all steps, those of flows whose path is known. */
static double
known_share(const struct flowtracer *own, const struct run *run)
{
	double known = 0, all = 0;

	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];

		if (run_is_local(step) || !step->started)
			continue;
		all += (double)step->bytes;
		known += flowtracer_path_of(own, step->flow, step->start_ps) != NULL ? (double)step->bytes : 0;
	}
	return all > 0 ? known / all : 0;
}

/*
 * The traced share of what there was to trace: an untraced flow allows no sure finding. Hosts name all flows that they
 * have; samples name only the sampled flows. Then only hosts' reports of steps show what is missing.
 */
static double
traced_share(const struct flowtracer *own, const struct run *run)
{
	const struct flowtracer_round *round;
	double share;

	if (own->shown >= own->nrounds || own->rounds[own->shown].flows == 0)
		return 0;
	round = &own->rounds[own->shown];
	share = (double)round->traced / (double)round->flows;
	return own->config.first_hop == REC_TRACE_SFLOW ? share * known_share(own, run) : share;
}

static int
make_finding(const struct flowtracer *own, const struct run *run, const struct flowtracer_collision *c, uint32_t clause,
	     struct finding *finding, struct err *err)
{
	*finding = (struct finding){
		.type = &path_imbalance,
		.root_port = c->port,
		.origin_port = RUN_NONE,
		.collective = run->steps[c->step].collective,
		.start_ps = c->start_ps,
		.end_ps = c->end_ps,
		.score = c->cost_ps,
		.costless = true,
		.confidence = traced_share(own, run) * run->overhead.completeness,
		.evidence = { .clauses = { clause },
			      .nclauses = 1,
			      .port = c->port,
			      .other_port = c->other,
			      .count = c->most,
			      .depth_packets = c->least,
			      .flow = c->nflows != 0 ? c->flows[0] : RUN_NONE,
			      .flows = c->nflows,
			      .ps = clause == CLAUSE_ALONE ? c->cost_ps : own->cost_ps,
			      .of_ps = jobs_ps(run) },
	};
	finding->borne_out = finding->confidence;
	snprintf(finding->root, sizeof(finding->root), "%s", run->ports[c->port].name);
	finding->ports = copy((uint32_t[]){ c->port, c->other }, 2, err);
	finding->flows = copy(c->flows, c->nflows, err);
	finding->flow_ps = run_alloc(c->nflows, sizeof(*finding->flow_ps), err);
	finding->steps = copy(c->steps, c->nsteps, err);
	if (finding->ports == NULL || finding->flows == NULL || finding->flow_ps == NULL || finding->steps == NULL)
		return -ENOMEM;
	finding->nports = 2;
	finding->nflows = c->nflows;
	finding->nsteps = c->nsteps;
	return 0;
}

/* First those that cost jobs time by themselves, then by the time that steps lost. */
static int
cmp_collision(const void *pa, const void *pb, void *least_ps)
{
	const struct flowtracer_collision *a = pa, *b = pb;
	double least = *(const double *)least_ps;
	double x = a->cost_ps >= least ? a->cost_ps : 0, y = b->cost_ps >= least ? b->cost_ps : 0;

	if (x != y)
		return x > y ? -1 : 1;
	if (a->steps_ps != b->steps_ps)
		return a->steps_ps > b->steps_ps ? -1 : 1;
	return ORDER(a->port, b->port);
}

/*
 * A link is named that costs jobs time by itself. Where many do, each regains nothing while the others are left: then
 * the one on which steps lost most represents all.
 */
static int
find(const struct flowtracer *own, const struct run *run, struct section *section, struct err *err)
{
	double least_ps = fmax(1, FINDING_LEAST_SHARE * jobs_ps(run));
	bool together = own->cost_ps >= least_ps;
	int rc = 0;

	qsort_r(own->collisions, own->ncollisions, sizeof(*own->collisions), cmp_collision, &least_ps);
	section->findings = run_alloc(own->ncollisions, sizeof(*section->findings), err);
	if (section->findings == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < own->ncollisions && rc == 0; i++) {
		bool alone = own->collisions[i].cost_ps >= least_ps;

		if (!alone && (i != 0 || !together))
			break;
		rc = make_finding(own, run, &own->collisions[i], alone ? CLAUSE_ALONE : CLAUSE_TOGETHER,
				  &section->findings[section->nfindings++], err);
	}
	return rc;
}

int
flowtracer_diagnose(const struct evidence *ev, const struct run *run, const void *options, struct section *section,
		    struct err *err)
{
	struct flowtracer *own = section->own = run_alloc(1, sizeof(*own), err);
	int rc;

	(void)options;
	if (own == NULL)
		return -ENOMEM;
	section->claim = (struct claim){ .kind = CLAIM_UNTIMED };
	if (ev->tracers.count != 0)
		own->config = *EV_AT(ev->tracers, struct rec_tracer, 0);
	rc = flowtracer_paths(own, ev, run, err);
	if (rc == 0)
		rc = flowtracer_links(own, run, err);
	if (rc == 0)
		rc = flowtracer_pairs(own, run, err);
	if (rc == 0)
		rc = flowtracer_collisions(own, run, err);
	if (rc == 0)
		rc = find(own, run, section, err);
	return rc;
}

void
flowtracer_destroy(void *section)
{
	struct flowtracer *own = section;

	for (uint32_t i = 0; i < own->ncollisions; i++) {
		free(own->collisions[i].flows);
		free(own->collisions[i].steps);
		free(own->collisions[i].lost_ps);
		free(own->collisions[i].all_ps);
	}
	free(own->rounds);
	free(own->paths);
	free(own->hops);
	free(own->layers);
	free(own->links);
	free(own->pairs);
	free(own->collisions);
	free(own);
}
