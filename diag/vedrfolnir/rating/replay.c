/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/rating/rating.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/err.h"
#include "common/minmax.h"
#include "common/prng.h"
#include "diag/run/fill.h"
#include "diag/run/run.h"

/*
 * A job's waiting graph (III-B) in the form of its replay: which node waits for which, and its time from then on. Over
 * all of its iterations: a rank begins a collective when it is done with those before. Of a run that failed, what was left
 * takes as long as expected: its end alone would not show that a step held the job up, while others still ran.
 */

/*
 * A step that started or may have, as its host did not report it, of a failed run any; or a rank's part in a collective,
 * which ends with the last that it waits for.
 */
struct replay_node {
	double took_ps;     /* after the last that it waited for; from time 0 if it waited for none */
	double replayed_ps; /* its end in the latest replay; before the first, as it was */
	uint32_t first_on;  /* those that it waits for are up to the next one's first */
	uint32_t last;      /* of the latest replay: for which it waited to the last; RUN_NONE: for none */
	double less_ps;     /* set by the caller: the reduction of its time */
};

/* Each node is behind all nodes that it waits for: a replay goes through memory in order. */
struct replay_graph {
	struct replay_node *nodes;           /* [nnodes + 1] */
	uint32_t nnodes, first_step, nsteps; /* of run.steps: the job's */
	uint32_t *on;                        /* [non] node by node: the nodes that they wait for */
	uint32_t non;
	uint32_t *at; /* nodes of the job's steps, from first_step: RUN_NONE for one that takes no part */
};

struct edge {
	uint32_t node, on;
};

/* Numbers of nodes are, until they are in order, the job's steps from the first and ranks behind them. */
struct build {
	const struct run *run;
	struct replay_graph *graph;
	uint32_t count;  /* of these numbers */
	uint32_t *order; /* [norder] those that take part, each after all that it waits for */
	uint32_t norder;
	uint32_t first_collective, end_collective; /* the job's, in run.collectives */
	uint32_t nsteps, first_rank;               /* of the job; first_rank: in run.ranks */
	struct edge *edges;
	uint32_t nedges, cap;
	bool no_memory;
};

static void
add_edge(struct build *b, uint32_t node, uint32_t on)
{
	if (b->no_memory)
		return;
	if (b->nedges == b->cap) {
		uint32_t cap = b->cap != 0 ? 2 * b->cap : 64;
		struct edge *more = realloc(b->edges, cap * sizeof(*more));

		b->no_memory = more == NULL;
		if (more == NULL)
			return;
		b->edges = more;
		b->cap = cap;
	}
	b->edges[b->nedges++] = (struct edge){ node, on };
}

/* The node of a rank's part in a collective, RUN_NONE: there is none. */
static uint32_t
rank_node(const struct build *b, const struct run_collective *collective, uint32_t rank)
{
	if (b->count == b->nsteps || rank >= collective->nranks)
		return RUN_NONE;
	return b->nsteps + collective->first_rank + rank - b->first_rank;
}

/* A node waits for a rank's earlier part. */
static void
wait_for_rank(struct build *b, uint32_t node, const struct run_collective *collective, uint32_t rank)
{
	struct predecessors predecessors = run_predecessors(b->run, collective);

	for (uint32_t i = 0; i < predecessors.count; i++) {
		uint32_t on = rank_node(b, &b->run->collectives[run_before(&predecessors, i)], rank);

		if (on != RUN_NONE)
			add_edge(b, node, on);
	}
}

/* A step without a report was done all the same, in a run that finished: what is behind it waited for it. */
static bool
takes_part(const struct build *b, uint32_t node)
{
	const struct run_step *step = &b->run->steps[b->graph->first_step + node];

	return step->started || run_failed(b->run) || (run_finished(b->run) && !step->reported && !step->waits);
}

static void
add_step(struct build *b, uint32_t node)
{
	const struct run_step *step = &b->run->steps[b->graph->first_step + node];
	const struct run_collective *collective = &b->run->collectives[step->collective];
	uint32_t own = rank_node(b, collective, step->rank), peer = rank_node(b, collective, step->peer);

	if (!takes_part(b, node))
		return;
	for (uint32_t d = step->first_dep; d < step->first_dep + step->ndeps; d++)
		if (takes_part(b, b->run->depends[d] - b->graph->first_step))
			add_edge(b, node, b->run->depends[d] - b->graph->first_step);
	if (!run_follows_own(b->run, step))
		wait_for_rank(b, node, collective, step->rank);
	if (own != RUN_NONE)
		add_edge(b, own, node);
	if (peer != RUN_NONE && peer != own)
		add_edge(b, peer, node);
}

static void
add_edges(struct build *b)
{
	for (uint32_t i = 0; i < b->nsteps; i++)
		add_step(b, i);
	for (uint32_t c = b->first_collective; c < b->end_collective && b->count != b->nsteps; c++) {
		const struct run_collective *collective = &b->run->collectives[c];

		for (uint32_t r = 0; r < collective->nranks; r++)
			if (!b->run->ranks[collective->first_rank + r].part)
				wait_for_rank(b, rank_node(b, collective, r), collective, r);
	}
}

/* The successors of each node, by counting: first[n] to first[n + 1]. */
static void
turn(const struct build *b, uint32_t *first, uint32_t *next)
{
	for (uint32_t e = 0; e < b->nedges; e++)
		first[b->edges[e].on + 1]++;
	for (uint32_t n = 0; n < b->count; n++)
		first[n + 1] += first[n];
	for (uint32_t e = b->nedges; e-- > 0;)
		next[--first[b->edges[e].on + 1]] = b->edges[e].node;
	for (uint32_t n = 0; n < b->count; n++)
		first[n] = first[n + 1];
	first[b->count] = b->nedges;
}

/*
 * Kahn's: nodes that wait for themselves in a circle, since data may be wrong, are left out, and nodes that wait for
 * those.
 */
static int
sort_nodes(struct build *b)
{
	uint32_t *first = calloc((size_t)b->count + 1, sizeof(*first));
	uint32_t *next = malloc(((size_t)b->nedges + 1) * sizeof(*next));
	uint32_t *missing = calloc((size_t)b->count + 1, sizeof(*missing));
	int ret = -ENOMEM;

	if (first != NULL && next != NULL && missing != NULL) {
		turn(b, first, next);
		for (uint32_t e = 0; e < b->nedges; e++)
			missing[b->edges[e].node]++;
		for (uint32_t n = 0; n < b->count; n++)
			if (missing[n] == 0 && (n >= b->nsteps || takes_part(b, n)))
				b->order[b->norder++] = n;
		for (uint32_t i = 0; i < b->norder; i++)
			for (uint32_t s = first[b->order[i]]; s < first[b->order[i] + 1]; s++)
				if (--missing[next[s]] == 0)
					b->order[b->norder++] = next[s];
		ret = 0;
	}
	free(first);
	free(next);
	free(missing);
	return ret;
}

/* Nodes and those that they wait for, in order. @return 0 or -ENOMEM */
static int
lay_out(struct build *b)
{
	struct replay_graph *g = b->graph;
	uint32_t at = 0;

	g->nodes = calloc((size_t)b->norder + 1, sizeof(*g->nodes));
	g->on = malloc(((size_t)b->nedges + 1) * sizeof(*g->on));
	if (g->nodes == NULL || g->on == NULL)
		return -ENOMEM;
	g->nnodes = b->norder;
	for (uint32_t i = 0; i < b->norder; i++)
		g->at[b->order[i]] = i;
	for (uint32_t e = 0; e < b->nedges; e++)
		if (g->at[b->edges[e].node] != RUN_NONE)
			g->nodes[g->at[b->edges[e].node]].first_on++;
	for (uint32_t i = 0; i <= g->nnodes; i++) {
		at += g->nodes[i].first_on;
		g->nodes[i].first_on = at; /* its end, until they are there */
	}
	g->non = at;
	for (uint32_t e = b->nedges; e-- > 0;) {
		uint32_t to = g->at[b->edges[e].node];

		if (to != RUN_NONE)
			g->on[--g->nodes[to].first_on] = g->at[b->edges[e].on];
	}
	return 0;
}

static double
latest_ps(const struct replay_graph *g, const struct replay_node *node)
{
	double latest_ps = 0;

	for (uint32_t i = node->first_on; i < node[1].first_on; i++)
		latest_ps = fmax(latest_ps, g->nodes[g->on[i]].replayed_ps);
	return latest_ps;
}

/*
 * When a step ended. One without a report, and of a run that failed one that did not end, takes as long as expected from
 * then on.
 */
static double
step_end_ps(const struct run *run, const struct run_step *step, double ready_ps)
{
	double left = step->bytes != 0 ? 1 - (double)step->acked_bytes / (double)step->bytes : 0;

	if (!step->started)
		return ready_ps + (double)step->expect_ps;
	return (double)step->end_ps + (step->open && run_failed(run) ? fmax(0, left) * (double)step->expect_ps : 0);
}

/* How long each took. */
static void
time_nodes(const struct build *b)
{
	struct replay_graph *g = b->graph;

	for (uint32_t i = 0; i < g->nnodes; i++) {
		uint32_t n = b->order[i];
		struct replay_node *node = &g->nodes[i];
		double ready_ps = latest_ps(g, node);
		const struct run_rank *rank = n >= b->nsteps ? &b->run->ranks[b->first_rank + n - b->nsteps] : NULL;

		if (rank == NULL)
			node->replayed_ps = step_end_ps(b->run, &b->run->steps[g->first_step + n], ready_ps);
		else
			node->replayed_ps = rank->part || rank->done_ps == RUN_UNKNOWN ? ready_ps : (double)rank->done_ps;
		node->took_ps = node->replayed_ps - ready_ps;
	}
}

/*
 * @param job  index into run.jobs
 * @return 0, or -ENOMEM with err; replay_graph_fini() in any case
 */
static int
replay_graph_init(struct replay_graph *graph, const struct run *run, uint32_t job, struct err *err)
{
	const struct run_iteration *first = &run->iterations[run->jobs[job].first_iteration];
	const struct run_iteration *last = first + run->jobs[job].niterations - 1;
	struct build b = { .run = run,
			   .graph = graph,
			   .first_collective = first->first_collective,
			   .end_collective = last->first_collective + last->ncollectives };
	const struct run_collective *end = &run->collectives[b.end_collective - 1];
	int ret = -ENOMEM;

	b.nsteps = last->first_step + last->nsteps - first->first_step;
	*graph = (struct replay_graph){ .first_step = first->first_step, .nsteps = b.nsteps };
	b.first_rank = run->collectives[b.first_collective].first_rank;
	b.count = b.nsteps;
	if (b.end_collective - b.first_collective > 1) /* else there is no predecessor */
		b.count += end->first_rank + end->nranks - b.first_rank;
	b.order = malloc(((size_t)b.count + 1) * sizeof(*b.order));
	graph->at = malloc(((size_t)b.count + 1) * sizeof(*graph->at));
	if (b.order != NULL && graph->at != NULL) {
		memset(graph->at, 0xff, ((size_t)b.count + 1) * sizeof(*graph->at)); /* RUN_NONE */
		add_edges(&b);
		if (!b.no_memory && sort_nodes(&b) == 0 && lay_out(&b) == 0)
			ret = 0;
	}
	if (ret == 0)
		time_nodes(&b);
	else
		err_set(err, ret, "out of memory for the waiting graph of %u steps", b.nsteps);
	free(b.edges);
	free(b.order);
	return ret;
}

static void
replay_graph_fini(struct replay_graph *graph)
{
	free(graph->nodes);
	free(graph->on);
	free(graph->at);
}

/*
 * The job's end if each node takes less_ps less. @param last  set to the node that ends last, RUN_NONE: there is none
 */
static double
replay_graph_end_ps(struct replay_graph *graph, uint32_t *last)
{
	double end_ps = 0;

	*last = RUN_NONE;
	for (uint32_t i = 0; i < graph->nnodes; i++) {
		struct replay_node *node = &graph->nodes[i];
		double ready_ps = 0;

		node->last = RUN_NONE;
		for (uint32_t e = node->first_on; e < node[1].first_on; e++) {
			const struct replay_node *on = &graph->nodes[graph->on[e]];

			if (node->last != RUN_NONE && on->replayed_ps <= ready_ps)
				continue;
			ready_ps = on->replayed_ps;
			node->last = graph->on[e];
		}
		node->replayed_ps = ready_ps + node->took_ps - node->less_ps;
		if (*last != RUN_NONE && node->replayed_ps <= end_ps)
			continue;
		end_ps = node->replayed_ps;
		*last = i;
	}
	return end_ps;
}

#define EXACT_PLAYERS 8    /* up to this number, every set is replayed */
#define MAX_PLAYERS 64     /* of more, those that claim least are one */
#define MIN_PLAYERS 8      /* though they be; */
#define MIN_ORDERS 2u      /* that are sampled: one and its reverse; */
#define REPLAYS 1024.      /* at most of all orders together, and fewer where these went through more than */
#define MAX_WORK 50000000. /* nodes and their edges */

struct replay {
	const struct run *run;
	struct replay_graph graph;
	struct replay_claim *claims;
	uint32_t count;
	uint32_t *slot_of;               /* [nplayers] players that claim least share one */
	uint32_t first[MAX_PLAYERS + 1]; /* claims of each slot, in by_slot */
	uint32_t *by_slot;               /* [count] */
	uint32_t nslots, replays;        /* replays: their approximate limit */
	bool shifts[MAX_PLAYERS];        /* [nslots] one of its claims does (struct replay_claim) */
	uint32_t shifted;                /* number of these slots that are left out */
	double ports_ps;                 /* no end of the job is earlier, if none of them is left out; 0: not known */
	bool *on_path;                   /* [nnodes] false but while a slot's share is given out */
};

struct total {
	uint32_t player;
	double ps;
};

static int
cmp_claim(const void *pa, const void *pb)
{
	const struct replay_claim *a = pa, *b = pb;

	if (a->player != b->player)
		return a->player < b->player ? -1 : 1;
	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return ORDER(a->part, b->part);
}

static int
cmp_total(const void *pa, const void *pb)
{
	const struct total *a = pa, *b = pb;

	if (a->ps != b->ps)
		return a->ps > b->ps ? -1 : 1;
	return ORDER(a->player, b->player);
}

/* Of a generator's flow. */
static bool
is_alone(const struct replay *r, const struct replay_claim *claim)
{
	return run_is_flows(&r->run->collectives[r->run->steps[claim->step].collective]);
}

static bool
is_replayed(const struct replay *r, const struct replay_claim *claim)
{
	return !is_alone(r, claim) && r->graph.at[claim->step - r->graph.first_step] != RUN_NONE;
}

/* Players with claims get slots, the largest their own. @param totals  [nplayers] zeroed */
static void
give_slots(struct replay *r, struct total *totals, uint32_t nplayers)
{
	uint32_t most = max_u32(MIN_PLAYERS, min_u32(MAX_PLAYERS, r->replays / MIN_ORDERS));

	for (uint32_t p = 0; p < nplayers; p++)
		totals[p].player = p;
	for (uint32_t i = 0; i < r->count; i++)
		totals[r->claims[i].player].ps += is_replayed(r, &r->claims[i]) ? r->claims[i].ps : 0;
	if (nplayers > 1)
		qsort(totals, nplayers, sizeof(*totals), cmp_total);
	for (uint32_t i = 0; i < nplayers; i++) {
		r->slot_of[totals[i].player] = min_u32(i, most - 1);
		if (totals[i].ps > 0)
			r->nslots = r->slot_of[totals[i].player] + 1;
	}
}

/* Claims by slot, without those that no step waits for. */
static void
sort_by_slot(struct replay *r)
{
	uint32_t next[MAX_PLAYERS + 1] = { 0 };

	for (uint32_t i = 0; i < r->count; i++)
		next[r->slot_of[r->claims[i].player] + 1] += is_replayed(r, &r->claims[i]);
	for (uint32_t slot = 0; slot < MAX_PLAYERS; slot++)
		next[slot + 1] += next[slot];
	memcpy(r->first, next, sizeof(r->first));
	for (uint32_t i = 0; i < r->count; i++) {
		uint32_t slot = r->slot_of[r->claims[i].player];

		if (!is_replayed(r, &r->claims[i]))
			continue;
		r->by_slot[next[slot]++] = i;
		r->shifts[slot] |= r->claims[i].shifts;
	}
}

static uint32_t
node_of(const struct replay *r, const struct replay_claim *claim)
{
	return r->graph.at[claim->step - r->graph.first_step];
}

/* How long a port takes to send a step's frames, each once. */
static double
wire_ps(const struct run *run, const struct run_step *step, const struct run_port *port)
{
	double frames = run->config.payload_bytes != 0 ? (double)run->config.frame_bytes / run->config.payload_bytes : 1;

	return port->rate_bps != 0 ? 8e12 * frames * (double)step->bytes / (double)port->rate_bps : 0;
}

/*
 * From the job's first step on, the port with most to send by configured paths takes this long for the job's bytes. That is
 * no later than the end that the job had: paths may have changed. @return 0 or -ENOMEM with err
 */
static int
bound_by_ports(struct replay *r, struct err *err)
{
	const struct run *run = r->run;
	double *busy_ps = run_alloc(run->nports, sizeof(*busy_ps), err), most_ps = 0, begin_ps = INFINITY;
	uint32_t last;

	for (uint32_t i = 0; i < r->graph.nsteps && busy_ps != NULL; i++) {
		const struct run_step *step = &run->steps[r->graph.first_step + i];
		const struct run_flow *flow = run_is_local(step) || step->open ? NULL : &run->flows[step->flow];

		if (step->started)
			begin_ps = fmin(begin_ps, fmax(0, (double)step->start_ps - (double)step->late_ps));
		for (uint32_t h = 0; flow != NULL && h < flow->nhops; h++) {
			uint32_t port = run->hops[flow->first_hop + h].port;

			if (port == RUN_NONE)
				continue;
			busy_ps[port] += wire_ps(run, step, &run->ports[port]);
			most_ps = fmax(most_ps, busy_ps[port]);
		}
	}
	if (isfinite(begin_ps))
		r->ports_ps = fmin(begin_ps + most_ps, replay_graph_end_ps(&r->graph, &last));
	free(busy_ps);
	return busy_ps != NULL ? 0 : -ENOMEM;
}

/*
 * The job's end in this replay. Whatever is left out of it, each port has to send the job's bytes: where the job's flows
 * keep a port busy all the time, what one of them waits for elsewhere is time in which the others send.
 * @param last  set to the node that ends last, RUN_NONE: there is none
 */
static double
job_end_ps(struct replay *r, uint32_t *last)
{
	double end_ps = replay_graph_end_ps(&r->graph, last);

	return r->shifted == 0 ? fmax(end_ps, r->ports_ps) : end_ps;
}

/* A slot's claims return to the replay (sign -1), or leave it (1). */
static void
move(struct replay *r, uint32_t slot, double sign)
{
	if (r->shifts[slot])
		r->shifted += sign > 0 ? 1 : -1;
	for (uint32_t i = r->first[slot]; i < r->first[slot + 1]; i++) {
		const struct replay_claim *claim = &r->claims[r->by_slot[i]];

		r->graph.nodes[node_of(r, claim)].less_ps += sign * claim->ps;
	}
}

/* A slot's addition to the job's time is due to those of its claims that are on the longest path now. */
static void
give(struct replay *r, uint32_t slot, uint32_t last, double share_ps, double regained_ps)
{
	double sum_ps = 0;

	for (uint32_t n = last; n != RUN_NONE; n = r->graph.nodes[n].last)
		r->on_path[n] = true;
	for (uint32_t i = r->first[slot]; i < r->first[slot + 1]; i++) {
		const struct replay_claim *claim = &r->claims[r->by_slot[i]];

		sum_ps += r->on_path[node_of(r, claim)] ? claim->ps : 0;
	}
	for (uint32_t i = r->first[slot]; sum_ps > 0 && i < r->first[slot + 1]; i++) {
		struct replay_claim *claim = &r->claims[r->by_slot[i]];

		if (!r->on_path[node_of(r, claim)])
			continue;
		claim->share_ps += share_ps * claim->ps / sum_ps;
		claim->regained_ps += regained_ps * claim->ps / sum_ps;
	}
	for (uint32_t n = last; n != RUN_NONE; n = r->graph.nodes[n].last)
		r->on_path[n] = false;
}

static double
factorial(uint32_t n)
{
	return n < 2 ? 1 : n * factorial(n - 1);
}

/* Every set of slots. @param end_ps  [2 ^ nslots] */
static void
share_exactly(struct replay *r, double *end_ps)
{
	uint32_t last;

	for (uint32_t set = 0; set < 1u << r->nslots; set++) {
		uint32_t others = (uint32_t)__builtin_popcount(set) - 1;

		for (uint32_t slot = 0; slot < r->nslots && set != 0; slot++)
			if (((set ^ (set - 1)) >> slot & 1) != 0) /* has changed since the set before */
				move(r, slot, (set >> slot & 1) != 0 ? -1 : 1);
		end_ps[set] = job_end_ps(r, &last);
		for (uint32_t slot = 0; slot < r->nslots; slot++)
			if ((set >> slot & 1) != 0)
				give(r, slot, last,
				     (end_ps[set] - end_ps[set ^ 1u << slot]) * factorial(others) *
					     factorial(r->nslots - 1 - others) / factorial(r->nslots),
				     0);
	}
}

static void
shuffle(struct prng *prng, uint32_t *order, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t j = (uint32_t)prng_below(prng, i), swapped = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swapped;
	}
}

/* A number of orders, each followed by its reverse; in the end all are back. */
static void
share_by_orders(struct replay *r)
{
	uint32_t orders = max_u32(MIN_ORDERS, r->replays / r->nslots), order[MAX_PLAYERS], last;
	double ps, without_ps;
	struct prng prng;

	prng_init(&prng, 0, 0);
	for (uint32_t slot = 0; slot < r->nslots; slot++)
		order[slot] = slot;
	without_ps = job_end_ps(r, &last);
	for (uint32_t o = 0; o < orders; o++) {
		double before_ps = without_ps;

		if (o % 2 == 0)
			shuffle(&prng, order, r->nslots);
		for (uint32_t i = 0; i < r->nslots; i++) {
			uint32_t slot = order[o % 2 == 0 ? i : r->nslots - 1 - i];

			move(r, slot, -1);
			ps = job_end_ps(r, &last);
			give(r, slot, last, (ps - before_ps) / orders, 0);
			before_ps = ps;
		}
		for (uint32_t slot = 0; slot < r->nslots && o + 1 < orders; slot++)
			move(r, slot, 1);
	}
}

/*
 * Leaves out the time that findings explain, or of it the lateness of hosts alone. @return the time that the job
 * regains
 */
static double
without_ps(struct replay *r, bool hosts, double all_ps)
{
	double regained_ps = 0;
	uint32_t last;

	for (int sign = 1; sign >= -1; sign -= 2) {
		for (uint32_t i = 0; i < r->first[r->nslots]; i++) {
			const struct replay_claim *claim = &r->claims[r->by_slot[i]];

			r->graph.nodes[node_of(r, claim)].less_ps +=
				(hosts ? claim->host : claim->found) ? sign * claim->ps : 0;
		}
		if (sign > 0)
			regained_ps = all_ps - replay_graph_end_ps(&r->graph, &last);
	}
	return fmax(0, regained_ps);
}

/*
 * The time that the job regains without each alone, if it is as it was; of a slot of many players, without all of
 * these.
 */
static void
regain(struct replay *r, double *end_ps, struct replay_together *together)
{
	double all_ps;
	uint32_t last;

	for (uint32_t slot = 0; slot < r->nslots; slot++) {
		move(r, slot, 1);
		end_ps[slot] = job_end_ps(r, &last);
		move(r, slot, -1);
	}
	all_ps = replay_graph_end_ps(&r->graph, &last);
	together->hosts_ps = without_ps(r, true, all_ps);
	together->found_ps = without_ps(r, false, all_ps);
	all_ps = replay_graph_end_ps(&r->graph, &last);
	for (uint32_t slot = 0; slot < r->nslots; slot++)
		give(r, slot, last, 0, all_ps - end_ps[slot]);
}

/* All claims are left out at first, and back at last. @return 0 or -ENOMEM */
static int
share(struct replay *r, uint32_t nplayers, struct replay_together *together, struct err *err)
{
	struct total *totals = run_alloc(nplayers, sizeof(*totals), err);
	double *end_ps = run_alloc((size_t)1 << EXACT_PLAYERS, sizeof(*end_ps), err);
	int rc = -ENOMEM;

	r->slot_of = run_alloc(nplayers, sizeof(*r->slot_of), err);
	r->by_slot = run_alloc(r->count, sizeof(*r->by_slot), err);
	r->on_path = run_alloc(r->graph.nnodes, sizeof(*r->on_path), err);
	if (totals != NULL && end_ps != NULL && r->slot_of != NULL && r->by_slot != NULL && r->on_path != NULL) {
		r->replays = (uint32_t)fmin(REPLAYS, MAX_WORK / ((double)r->graph.nnodes + r->graph.non + 1));
		give_slots(r, totals, nplayers);
		sort_by_slot(r);
		for (uint32_t slot = 0; slot < r->nslots; slot++)
			move(r, slot, 1);
		if (r->nslots <= EXACT_PLAYERS && 1u << r->nslots <= max_u32(r->replays, MIN_ORDERS * r->nslots))
			share_exactly(r, end_ps);
		else
			share_by_orders(r);
		regain(r, end_ps, together);
		rc = 0;
	}
	free(totals);
	free(end_ps);
	return rc;
}

/* Players from 0 without gaps, in their order. @param claims  sorted @return their number */
static uint32_t
number_players(struct replay_claim *claims, uint32_t count)
{
	uint32_t nplayers = 0, before = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t player = claims[i].player;

		nplayers += i == 0 || player != before;
		before = player;
		claims[i].player = nplayers - 1;
	}
	return nplayers;
}

int
replay_share(const struct run *run, uint32_t job, struct replay_claim *claims, uint32_t count,
	     struct replay_together *together, struct err *err)
{
	uint32_t nplayers;
	struct replay r = { .run = run, .claims = claims, .count = count };
	int ret = replay_graph_init(&r.graph, run, job, err);

	if (ret == 0)
		ret = bound_by_ports(&r, err);
	if (count > 1)
		qsort(claims, count, sizeof(*claims), cmp_claim);
	nplayers = number_players(claims, count);
	for (uint32_t i = 0; i < count; i++)
		claims[i].share_ps = claims[i].regained_ps = is_alone(&r, &claims[i]) ? claims[i].ps : 0;
	if (ret == 0)
		ret = share(&r, nplayers, together, err);
	for (uint32_t i = 0; i < count; i++)
		claims[i].share_ps = rint(claims[i].share_ps); /* sums of parts are not exact */
	for (uint32_t i = 0; ret == 0 && i < count; i++)
		claims[i].regained_ps = rint(claims[i].regained_ps);
	replay_graph_fini(&r.graph);
	free(r.slot_of);
	free(r.by_slot);
	free(r.on_path);
	return ret;
}
