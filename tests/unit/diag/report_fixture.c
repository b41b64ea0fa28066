/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/diag/report_fixture_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/units.h"
#include "common/wire/collective.h"
#include "common/wire/detection.h"
#include "common/wire/record.h"

#define RANKS 8
#define STEPS 7
#define MS(x) ((uint64_t)((x)*1e9))

static const uint32_t pod_links[][2] = {
	{ 12, 0 }, { 13, 0 }, { 14, 1 }, { 15, 1 }, { 16, 2 }, { 17, 2 }, { 18, 3 }, { 19, 3 },
	{ 0, 4 },  { 0, 5 },  { 1, 4 },  { 1, 5 },  { 2, 6 },  { 2, 7 },  { 3, 6 },  { 3, 7 },
	{ 4, 8 },  { 4, 9 },  { 5, 10 }, { 5, 11 }, { 6, 8 },  { 6, 9 },  { 7, 10 }, { 7, 11 },
};

static const uint32_t ring[RANKS] = { F12_13, F13_14, F14_15, F15_16, F16_17, F17_18, F18_19, F19_12 };

static const uint64_t measured_ns[RANKS][STEPS] = {
	{ 30746334, 30746466, 30746414, 30746040, 30746130, 30746396, 30746494 },
	{ 31273609, 53995388, 44487136, 30754934, 30754822, 30754164, 30754620 },
	{ 30746717, 30745799, 30469861, 30746321, 30746346, 30745901, 30745955 },
	{ 38430556, 30762906, 30763066, 30761795, 30762679, 30763100, 30763151 },
	{ 30458864, 30746163, 30746120, 30453629, 30746056, 30746246, 30746235 },
	{ 46973092, 70133830, 30754820, 30754829, 30754889, 30755001, 30754915 },
	{ 31198799, 49462636, 30746349, 30746267, 30746346, 30746362, 30746358 },
	{ 30763781, 30764138, 30792709, 30763606, 30763804, 30763321, 30762916 },
};

static struct verdict *
make_ring(bool disturbed)
{
	struct verdict *v = fixture_verdict();
	uint64_t duration_ps[RANKS * STEPS];

	fixture_fabric(v, 20, 12, pod_links, ARRAY_LEN(pod_links));
	v->run.nflows = FIXTURE_FLOWS;
	v->run.flows = fixture_alloc(v->run.nflows, sizeof(*v->run.flows));
	for (uint32_t r = 0; r < RANKS; r++)
		fixture_flow(v, ring[r], 12 + r, 12 + (r + 1) % RANKS, 10000, true);
	fixture_flow(v, F13_19, 13, 19, 10001, false);
	fixture_flow(v, F15_18, 15, 18, 10001, false);
	fixture_hops(v, F12_13, "12:1 0:2");
	fixture_hops(v, F13_14, "13:1 0:4 5:2 1:1");
	fixture_hops(v, F14_15, "14:1 1:2");
	fixture_hops(v, F15_16, "15:1 1:3 4:3 8:2 6:1 2:1");
	fixture_hops(v, F16_17, "16:1 2:2");
	fixture_hops(v, F17_18, "17:1 2:3 6:2 3:1");
	fixture_hops(v, F18_19, "18:1 3:2");
	fixture_hops(v, F19_12, "19:1 3:4 7:3 10:1 5:1 0:1");
	v->run.ncollectives = 1;
	v->run.collectives = fixture_alloc(1, sizeof(*v->run.collectives));
	v->run.collectives[0] = (struct run_collective){ .name = "grads",
							 .algorithm = COLL_RING,
							 .op = COLL_ALLGATHER,
							 .ranks = RANKS,
							 .group_ranks = RANKS,
							 .rank_steps = STEPS,
							 .bytes = 2880000000,
							 .step_bytes = 360000000,
							 .ideal_ps = MS(209.159),
							 .expect_ps = MS(215.299) };
	for (uint32_t r = 0; r < RANKS; r++) {
		for (uint32_t s = 0; s < STEPS; s++)
			duration_ps[r * STEPS + s] =
				disturbed ? measured_ns[r][s] * PS_PER_NS : MS(30.7563) + r * PS_PER_US;
	}
	fixture_steps(v, ring, duration_ps, MS(2000), MS(30.757));
	fixture_wait(v);
	snprintf(v->run.name, sizeof(v->run.name), "ns3-allgather-100g");
	v->run.config.policy = REC_POLICY_VEDRFOLNIR;
	v->run.config.detections = 3;
	v->run.config.rtt_percent = 120;
	v->run.config.epochs_kept = 2;
	v->run.config.epoch_ps = PS_PER_MS;
	v->run.end_node = RUN_NONE;
	v->run.overhead = (struct run_overhead){ .records = 312, .report_bytes = 28416, .completeness = 1 };
	return v;
}

struct verdict *
fixture_clean(void)
{
	struct verdict *v = make_ring(false);

	v->sections[0].claim = (struct claim){ .kind = CLAIM_IN_TIME, .innocent = true };
	return v;
}

static void
carry(struct verdict *v, const char *name, uint64_t bytes, uint32_t depth_max, double pause_ms)
{
	struct run_port *port = &v->run.ports[fixture_port(v, name)];

	port->reported = true;
	port->bytes = bytes;
	port->packets = bytes / 1348;
	port->depth_max = depth_max;
	port->depth_sum = port->packets * depth_max / 2;
	port->pause_ps = MS(pause_ms);
	port->pauses_received = pause_ms > 0 ? 4180 : 0;
	port->paused = pause_ms > 0;
}

static void
add_telemetry(struct verdict *v)
{
	carry(v, "17:1", 86000000, 3, 0);
	carry(v, "2:3", 71200000, 302, 31.86);
	carry(v, "6:2", 173000000, 596, 0);
	carry(v, "3:1", 74000000, 4, 0);
	carry(v, "3:2", 110000000, 96, 0);
	carry(v, "18:1", 61000000, 2, 0);
	carry(v, "9:2", 98000000, 220, 6.2);
	carry(v, "4:4", 98000000, 18, 0.8);
	carry(v, "0:3", 98000000, 3, 0);
	carry(v, "13:1", 144000000, 24, 0);
	carry(v, "15:1", 131000000, 22, 0);
	v->run.ports[fixture_port(v, "6:3")].pauses_sent = 4180;
	v->run.ports[fixture_port(v, "6:1")].pauses_sent = 4180;
	v->run.ports[fixture_port(v, "6:1")].pausing = true;
	v->run.ports[fixture_port(v, "6:1")].reported = true;
	v->run.overhead.row_bytes = 96840;
	v->run.overhead.records = 1187;
	v->run.overhead.polling_packets = 61;
	v->run.overhead.polling_bytes = 5368;
	v->run.overhead.notification_packets = 21;
	v->run.overhead.notification_bytes = 1848;
	v->run.overhead.report_bytes = 125256;
}

struct edge_spec {
	uint32_t kind;
	const char *port;  /* the port, or the paused one */
	const char *other; /* PROVENANCE_PORT_PORT: the one it waits for */
	uint32_t flow;
	double weight;
};

static uint32_t
vertex(struct provenance *g, const struct verdict *v, uint32_t kind, uint32_t ref)
{
	for (uint32_t i = 0; i < g->nvertices; i++) {
		if (g->vertices[i].kind == kind && g->vertices[i].ref == ref)
			return i;
	}
	g->vertices[g->nvertices] = (struct provenance_vertex){ .kind = kind, .ref = ref };
	if (kind == PROVENANCE_FLOW) {
		g->vertices[g->nvertices].collective = v->run.flows[ref].collective;
		g->vertices[g->nvertices].victim = ref == v->run.steps[g->step].flow;
	} else {
		g->vertices[g->nvertices].paused = v->run.ports[ref].paused;
		g->vertices[g->nvertices].pause_ps = (double)v->run.ports[ref].pause_ps / 2;
		g->vertices[g->nvertices].packets = (double)v->run.ports[ref].packets / 2;
		g->vertices[g->nvertices].depth_sum = (double)v->run.ports[ref].depth_sum / 2;
	}
	return g->nvertices++;
}

static void
add_graph(struct verdict *v, uint32_t rank, uint32_t step, const struct edge_spec *specs, uint32_t nspecs,
	  const struct provenance_score *scores, uint32_t nscores)
{
	uint32_t index = fixture_step(v, rank, step);
	struct provenance *g = &vedrfolnir_of(v)->graphs[vedrfolnir_of(v)->ngraphs];

	vedrfolnir_of(v)->steps[index].graph = vedrfolnir_of(v)->ngraphs++;
	g->step = index;
	g->from_ps = v->run.steps[index].start_ps;
	g->to_ps = v->run.steps[index].end_ps;
	g->vertices = fixture_alloc(2 * nspecs, sizeof(*g->vertices));
	g->edges = fixture_alloc(nspecs, sizeof(*g->edges));
	g->nedges = nspecs;
	for (uint32_t i = 0; i < nspecs; i++) {
		uint32_t port = vertex(g, v, PROVENANCE_PORT, fixture_port(v, specs[i].port));
		uint32_t other = specs[i].kind == PROVENANCE_PORT_PORT
					 ? vertex(g, v, PROVENANCE_PORT, fixture_port(v, specs[i].other))
					 : vertex(g, v, PROVENANCE_FLOW, specs[i].flow);
		bool from_flow = specs[i].kind == PROVENANCE_FLOW_PORT;

		g->edges[i] = (struct provenance_edge){ specs[i].kind, from_flow ? other : port, from_flow ? port : other,
							specs[i].weight };
	}
	g->scores = fixture_alloc(nscores, sizeof(*g->scores));
	memcpy(g->scores, scores, nscores * sizeof(*scores));
	g->nscores = nscores;
}

#define GRAPH(v, rank, step, specs, scores) add_graph(v, rank, step, specs, ARRAY_LEN(specs), scores, ARRAY_LEN(scores))

static void
add_graphs(struct verdict *v)
{
	static const struct edge_spec paused_1[] = {
		{ PROVENANCE_FLOW_PORT, "2:3", NULL, F17_18, 4.1e5 }, { PROVENANCE_PORT_FLOW, "2:3", NULL, F17_18, 9.0e5 },
		{ PROVENANCE_PORT_PORT, "2:3", "6:2", 0, 1.0 },       { PROVENANCE_FLOW_PORT, "6:2", NULL, F17_18, 2.3e7 },
		{ PROVENANCE_FLOW_PORT, "6:2", NULL, F13_19, 1.9e7 }, { PROVENANCE_FLOW_PORT, "6:2", NULL, F15_18, 2.2e6 },
		{ PROVENANCE_PORT_FLOW, "6:2", NULL, F13_19, 2.1e7 }, { PROVENANCE_PORT_FLOW, "6:2", NULL, F15_18, 3.0e6 },
		{ PROVENANCE_PORT_FLOW, "6:2", NULL, F17_18, 1.7e7 },
	};
	static const struct edge_spec paused_2[] = {
		{ PROVENANCE_FLOW_PORT, "2:3", NULL, F17_18, 8.4e5 }, { PROVENANCE_PORT_PORT, "2:3", "6:2", 0, 0.97 },
		{ PROVENANCE_PORT_PORT, "2:3", "6:1", 0, 0.03 },      { PROVENANCE_FLOW_PORT, "6:2", NULL, F17_18, 5.1e7 },
		{ PROVENANCE_PORT_FLOW, "6:2", NULL, F13_19, 6.3e7 }, { PROVENANCE_FLOW_PORT, "6:2", NULL, F13_19, 4.7e7 },
		{ PROVENANCE_PORT_FLOW, "6:2", NULL, F17_18, 4.0e7 }, { PROVENANCE_FLOW_PORT, "9:2", NULL, F13_19, 3.1e6 },
	};
	static const struct edge_spec nic[] = {
		{ PROVENANCE_FLOW_PORT, "13:1", NULL, F13_14, 3.2e5 },
		{ PROVENANCE_FLOW_PORT, "13:1", NULL, F13_19, 3.1e5 },
		{ PROVENANCE_PORT_FLOW, "13:1", NULL, F13_19, 3.3e5 },
		{ PROVENANCE_PORT_FLOW, "13:1", NULL, F13_14, 3.0e5 },
	};
	static const struct provenance_score scores_1[] = { { F13_19, 2.4e7 }, { F15_18, 3.2e6 } };
	static const struct provenance_score scores_2[] = { { F13_19, 7.2e7 } };
	static const struct provenance_score scores_nic[] = { { F13_19, 3.2e5 } };

	vedrfolnir_of(v)->graphs = fixture_alloc(3, sizeof(*vedrfolnir_of(v)->graphs));
	GRAPH(v, 5, 1, paused_1, scores_1);
	GRAPH(v, 5, 2, paused_2, scores_2);
	GRAPH(v, 1, 2, nic, scores_nic);
}

static uint32_t *
list(uint32_t *count, uint32_t n, const uint32_t *items)
{
	uint32_t *copy = fixture_alloc(n, sizeof(*copy));

	memcpy(copy, items, n * sizeof(*copy));
	*count = n;
	return copy;
}

/* @param paused  a second port, NULL: none  @param seen  in which step after the first; port and flow are set here */
static void
add_finding(struct verdict *v, const struct finding_type *type, const char *root, const char *paused, uint32_t culprit,
	    uint32_t rank, uint32_t step, uint32_t nsteps, double score, struct finding_evidence seen)
{
	struct finding *f = &v->findings[v->nfindings++];
	uint32_t first = fixture_step(v, rank, step);
	uint32_t ports[2] = { paused != NULL ? fixture_port(v, paused) : 0, fixture_port(v, root) };
	uint32_t steps[2] = { first, first + 1 };

	f->type = type;
	f->confidence = f->borne_out = 1;
	snprintf(f->root, sizeof(f->root), "%s", root);
	f->root_port = ports[1];
	f->ports = paused != NULL ? list(&f->nports, 2, ports) : list(&f->nports, 1, &ports[1]);
	f->flows = list(&f->nflows, 1, &culprit);
	f->flow_ps = fixture_alloc(1, sizeof(*f->flow_ps));
	f->parts = fixture_alloc(1, sizeof(*f->parts));
	f->parts[0].flow_ps = fixture_alloc(1, sizeof(*f->flow_ps));
	f->nparts = 1;
	f->victims = list(&f->nvictims, 1, &v->run.steps[first].flow);
	f->steps = list(&f->nsteps, nsteps, steps);
	f->start_ps = culprit == F15_18 ? MS(2005) : MS(2030);
	f->end_ps = culprit == F15_18 ? MS(2020.4) : MS(2116.6);
	f->score = score;
	f->evidence = seen;
	f->evidence.nclauses = 1;
	f->evidence.step += first;
	f->evidence.port = ports[1];
	f->evidence.other_port = ports[0];
	f->evidence.flow = culprit;
	f->evidence.flows = 1;
}

#define WAITED(...) ((struct finding_evidence){ __VA_ARGS__ })

static void
add_findings(struct verdict *v)
{
	static const double cost_ms[] = { 34.5, 12.25, 4, 0.75 };

	v->findings = fixture_alloc(6, sizeof(*v->findings));
	add_finding(v, FINDING_FLOW_CONTENTION, "6:2", NULL, F13_19, 5, 1, 2, 7.41e7,
		    WAITED(.step = 1, .packets = 83411, .waits = 51034112));
	add_finding(v, FINDING_PFC_BACKPRESSURE, "6:2", "2:3", F13_19, 5, 1, 2, 6.9e7,
		    WAITED(.step = 1, .ps = 31.860e9, .of_ps = 58e9, .percent = 97, .depth_packets = 596));
	add_finding(v, FINDING_FLOW_CONTENTION, "6:2", NULL, F15_18, 5, 1, 1, 3.2e6,
		    WAITED(.packets = 40120, .waits = 2213004));
	add_finding(v, FINDING_FLOW_CONTENTION, "13:1", NULL, F13_19, 1, 2, 2, 3.2e5,
		    WAITED(.packets = 61022, .waits = 320114));
	add_finding(v, FINDING_FLOW_CONTENTION, "3:2", NULL, F13_19, 6, 2, 1, 2.1e5,
		    WAITED(.packets = 58873, .waits = 210566));
	add_finding(v, FINDING_FLOW_CONTENTION, "15:1", NULL, F15_18, 3, 1, 1, 4.4e4,
		    WAITED(.packets = 30166, .waits = 44011));
	for (uint32_t i = 0; i < ARRAY_LEN(cost_ms); i++) {
		struct finding *f = &v->findings[i];

		f->explained_ps = f->critical_ps = f->flow_ps[0] = cost_ms[i] * 1e9;
		f->parts[0].critical_ps = f->parts[0].flow_ps[0] = f->critical_ps;
	}
	fixture_budget(v);
}

static void
add_contributors(struct verdict *v)
{
	vedrfolnir_of(v)->contributors = fixture_alloc(2, sizeof(*vedrfolnir_of(v)->contributors));
	vedrfolnir_of(v)->ncontributors = 2;
	vedrfolnir_of(v)->contributors[0] = (struct contributor){
		.flow = F13_19, .score = 5.8e7, .nshares = 2, .shares = fixture_alloc(2, sizeof(struct contributor_share))
	};
	vedrfolnir_of(v)->contributors[0].shares[0] = (struct contributor_share){ fixture_step(v, 5, 1), 2.4e7 };
	vedrfolnir_of(v)->contributors[0].shares[1] = (struct contributor_share){ fixture_step(v, 5, 2), 7.2e7 };
	vedrfolnir_of(v)->contributors[1] = (struct contributor){
		.flow = F15_18, .score = 9.3e5, .nshares = 1, .shares = fixture_alloc(1, sizeof(struct contributor_share))
	};
	vedrfolnir_of(v)->contributors[1].shares[0] = (struct contributor_share){ fixture_step(v, 5, 1), 3.2e6 };
}

static void
add_events(struct verdict *v)
{
	static const uint32_t detected[][2] = { { 5, 1 }, { 5, 2 }, { 3, 1 }, { 1, 2 }, { 1, 3 }, { 6, 2 } };
	static const char *const path[] = { "17:1", "2:3", "6:2", "3:1" };

	v->run.detections = fixture_alloc(18, sizeof(*v->run.detections));
	v->run.polls = fixture_alloc(72, sizeof(*v->run.polls));
	for (uint32_t d = 0; d < 18; d++) {
		uint32_t index = fixture_step(v, detected[d / 3][0], detected[d / 3][1]);
		struct run_step *step = &v->run.steps[index];
		uint64_t time_ps = step->start_ps + MS(5.1) + d % 3 * MS(10.25);

		step->detections++;
		v->run.detections[v->run.ndetections++] =
			(struct run_detection){ d + 1,   index,           step->host,     REC_TRIGGER_RTT,
						time_ps, 188 * PS_PER_US, 30 * PS_PER_US, 2 - d % 3 };
		for (uint32_t h = 0; d < 6 && h < 4; h++) {
			uint32_t out = fixture_port(v, path[h]);

			v->run.polls[v->run.npolls++] = (struct run_poll){ d + 1,      v->run.ports[out].node,
									   step->flow, time_ps + h * 3 * PS_PER_US,
									   out,        h == 1 };
		}
	}
	v->run.notifications = fixture_alloc(RANKS, sizeof(*v->run.notifications));
	for (uint32_t r = 0; r < RANKS; r++) {
		const struct run_step *step = &v->run.steps[fixture_step(v, r, 3)];

		v->run.notifications[v->run.nnotifications++] = (struct run_notification){ step->end_ps, step->host, 3 };
	}
}

struct verdict *
fixture_case(void)
{
	struct verdict *v = make_ring(true);

	add_telemetry(v);
	add_graphs(v);
	add_findings(v);
	add_contributors(v);
	add_events(v);
	v->sections[0].claim = (struct claim){ .kind = CLAIM_FAULT, .slow = 6, .confidence = 1 };
	return v;
}
