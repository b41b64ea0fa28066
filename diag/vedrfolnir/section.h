/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VEDRFOLNIR, a diagnoser: from slow steps by waiting and provenance graphs to findings and contributors (III-B, III-D),
 * and its results of a run beside findings.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/wire/ledger.h"
#include "diag/diagnoser.h"
#include "diag/verdict.h"

#define VEDRFOLNIR_MAX_GRAPHS 4096
#define VEDRFOLNIR_WATCHED_SHARE 0.5 /* of a slow step's time: telemetry of less cannot prove the network innocent */

/* ---- waiting graphs (III-B, III-D1) ---- */

enum waiting_vertex_kind { WAITING_START, WAITING_END, WAITING_ITERATION_END };

struct waiting_vertex {
	uint64_t time_ps;
	uint32_t step; /* index into run.steps; RUN_NONE for the end of the iteration */
	uint8_t kind;  /* enum waiting_vertex_kind */
	bool pruned;   /* no step waited for it */
	bool critical;
};

enum waiting_edge_kind {
	WAITING_EXEC, /* dark: end -> start of one step; weight: execution time */
	WAITING_OWN,  /* light: start -> end of a step of its own rank; weight 0 */
	WAITING_DATA, /* light: start -> end of the step whose message it needs; weight 0 */
	WAITING_LAST, /* end of the iteration -> end of a rank's last step; weight 0 */
};

/* from waits for to. */
struct waiting_edge {
	uint64_t weight_ps;
	uint32_t from, to; /* indices into vertices of this graph */
	uint8_t kind;      /* enum waiting_edge_kind */
	bool pruned, critical;
};

/* Numbers in waiting_graph.vertices of the i-th step of the iteration, whose end is the last vertex. */
#define WGRAPH_START(i) (2 * (i))
#define WGRAPH_END(i) (2 * (i) + 1)

/* Steps of graphs that are drawn whole: about 6 MB; Graphviz lays out no more of them. */
#define WAITING_DRAWN_STEPS 20000

/* One per iteration of a job (same index as run.iterations). */
struct waiting_graph {
	struct waiting_vertex *vertices;
	uint32_t nvertices;
	struct waiting_edge *edges; /* of more than WAITING_DRAWN_STEPS steps the critical ones */
	uint32_t nedges;
	uint32_t *path; /* critical path: indices into run.steps in order of time; the last may be open */
	uint32_t npath;
	uint64_t exec_ps; /* sum of the execution times on it */
};

/* ---- provenance graphs (III-D1) ---- */

enum provenance_vertex_kind { PROVENANCE_PORT, PROVENANCE_FLOW };

struct provenance_vertex {
	uint32_t kind;             /* enum provenance_vertex_kind */
	uint32_t ref;              /* index into run.ports or run.flows */
	bool collective;           /* flow: in the schedule (CF) */
	bool victim;               /* flow: the one whose step this graph explains */
	bool paused;               /* port: paused by its peer within the graph's time */
	bool pausing;              /* port: its ingress paused its peer within the graph's time */
	double packets, depth_sum; /* port: within the graph's time */
	double pause_ps;
};

enum provenance_edge_kind {
	PROVENANCE_FLOW_PORT, /* w(f,p): packet-waits of the flow behind others at the port */
	PROVENANCE_PORT_FLOW, /* w(p,f): packet-waits that the flow contributed to the port */
	PROVENANCE_PORT_PORT, /* w(p_i,p_j): share of the traffic of paused p_i that goes to p_j */
};

struct provenance_edge {
	uint32_t kind;
	uint32_t from, to; /* indices into vertices of this graph */
	double weight;
};

/* R(f, cf) of Eq. 2: the effect of flow on this step. */
struct provenance_score {
	uint32_t flow; /* index into run.flows */
	double score;
};

/* One per slow step with telemetry; over every epoch reported that overlaps the step's time. */
struct provenance {
	uint32_t step; /* index into run.steps */
	uint64_t from_ps, to_ps;
	bool present;      /* kept epochs were empty at some port: its weights rest on queues at reports */
	bool cyclic;       /* ports wait for each other in a circle */
	double covered_ps; /* of the step's time, at the port that was reported for most of it */
	struct provenance_vertex *vertices;
	uint32_t nvertices;
	struct provenance_edge *edges;
	uint32_t nedges;
	struct provenance_score *scores; /* largest first */
	uint32_t nscores;
};

/* ---- contributors ---- */

struct contributor_share {
	uint32_t step; /* a step of the critical path: index into run.steps */
	double score;  /* R(f, cf) of Eq. 2 */
};

/* A flow outside of the collective, rated by Eq. 3. Largest first. */
struct contributor {
	uint32_t flow;
	double score;
	struct contributor_share *shares;
	uint32_t nshares;
};

/* Its results about one step. */
struct vedrfolnir_step {
	double hosts_ps; /* of its time, that findings about NICs, timers and receivers claim */
	bool critical;   /* on the critical path; a generator's flow: slow */
	bool shown;      /* its graph is kept whole: of flows, of those that lost most alone */
	uint32_t graph;  /* its provenance graph, or RUN_NONE */
};

/* Where its sender's time went: of a step of a critical path, or of a slow flow. All 0: not reported. */
struct vedrfolnir_ledger {
	uint64_t ps[LEDGER_ENTRIES];
};

/* The part of its job's time that a collective lost (of flows: that all lost), and the part that findings explain. */
struct time_budget {
	double lost_ps, explained_ps;
	double hidden_ps; /* time that it would save without the unexplained time alone */
	double little_ps; /* of explained_ps, that of hosts which were late by too little to be a finding */
	double hosts_ps;  /* time that the job would save without the lateness of all hosts */
	double found_ps;  /* time that the job would save without all that findings explain */
	double least_ps;  /* findings that explain less are without effect */
};

/* The unexplained time. */
static inline double
time_budget_unexplained_ps(const struct time_budget *budget)
{
	return budget->lost_ps > budget->explained_ps ? budget->lost_ps - budget->explained_ps : 0;
}

/* Slow steps without a result of a test, as its precondition does not hold. */
struct vedrfolnir_unjudged {
	uint32_t resends; /* packet loss: sent again by time alone, and no receiver's counts show a loss */
	uint32_t paths;   /* path delay: packets take paths of different rates or lengths */
	uint32_t epochs;  /* path delay: packets were under way for a large part of the epochs that switches report */
	uint32_t storms;  /* PFC storm: ports were paused, and no report shows the reason */
	uint32_t loops;   /* forwarding loop: a port answered a polling packet before, and that answer was not received */
	uint32_t traces;  /* forwarding loop: all that expired may be traceroutes of R-Pingmesh's agents */
};

#define VEDRFOLNIR_NAME "vedrfolnir"

struct vedrfolnir {
	struct vedrfolnir_step *steps; /* [run.nsteps] */
	struct waiting_graph *waiting; /* [run.niterations] */
	uint32_t nwaiting;
	struct vedrfolnir_ledger *ledgers; /* of the steps of all waiting graphs' paths, in their order */
	struct provenance *graphs;
	uint32_t ngraphs;
	struct contributor *contributors;
	uint32_t ncontributors;
	struct time_budget *budgets; /* [run.ncollectives] */
	struct vedrfolnir_unjudged unjudged;
};

/* Its part of a verdict; NULL: it did not run. */
static inline struct vedrfolnir *
vedrfolnir_of(const struct verdict *v)
{
	const struct section *section = verdict_section(v, VEDRFOLNIR_NAME);

	return section != NULL ? section->own : NULL;
}

/* Its results about a step of the run. */
static inline struct vedrfolnir_step *
vedrfolnir_step(const struct verdict *v, const struct run_step *step)
{
	return &vedrfolnir_of(v)->steps[step - v->run.steps];
}

/* The diagnoser. */

struct cause;

struct vedrfolnir_options {
	/*
	 * w(p_i,p_j) as the share of p_i in what all senders feed to p_j, instead of the share of p_j in what p_i
	 * sends (the default): the other reading of the paper's formula.
	 */
	bool share_by_senders;
	const struct cause *const *causes; /* [ncauses] signatures that look; NULL: all */
	uint32_t ncauses;
};

/* As in diagnoser.h. @param options  struct vedrfolnir_options  @return -E2BIG past the limit of findings, too */
int vedrfolnir_diagnose(const struct evidence *evidence, const struct run *run, const void *options,
			struct section *section, struct err *err);
void vedrfolnir_destroy(void *own);
/* --port-share: "receivers" or "senders". */
int vedrfolnir_port_share(void *options, const char *value, struct err *err);

/*
 * Slow steps in the order in which they have their graphs built: those on the path that are shown, those on it, then
 * the others; of each those that lost most time first. A limit leaves out those that cost least.
 * @param order  [nsteps] set to their indices
 * @return their number
 */
uint32_t graphs_order(const struct run_step *steps, const struct vedrfolnir_step *own, uint32_t nsteps, uint32_t *order);

/* The time budget of each collective. */

/*
 * Sums up the lost time of each collective's steps on the critical path, and the part that the section's findings
 * explain; marks those without effect, and puts them last.
 * @return 0, or -ENOMEM with err
 */
int budgets_sum_up(const struct run *run, struct section *section, struct err *err);
