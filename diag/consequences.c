/* SPDX-License-Identifier: BSD-3-Clause */
/* Causes have consequences: a link that is down leaves fewer paths, full queues drop, and what is dropped is sent again. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/err.h"
#include "diag/verdict.h"

/* Where a consequence is, as seen from its cause. */
enum relation {
	AT_PORT,  /* at its port, or with that among the ports involved */
	AT_ENDS,  /* at a port of either end's node */
	AT_PATHS, /* at a port that flows pass because they have fewer paths */
	AT_NODE,  /* at a port of its node */
};

#define MAX_KINDS 6

/* By types of findings. */
static const struct rule {
	const char *cause;
	enum relation at;
	const char *of[MAX_KINDS];
} rules[] = {
	{ "link-down", AT_PATHS, { "flow-contention", "incast", "load-imbalance", "pfc-backpressure" } },
	{ "link-down", AT_ENDS, { "blackhole" } },
	{ "link-rate", AT_PORT, { "flow-contention", "incast", "load-imbalance", "pfc-backpressure" } },
	{ "no-pfc", AT_PORT, { "tail-drop", "packet-loss", "reordering", "blackhole" } },
	{ "tail-drop", AT_PORT, { "packet-loss", "reordering", "blackhole" } },
	{ "pfc-watchdog", AT_NODE, { "packet-loss", "tail-drop", "blackhole" } },
	{ "pfc-storm", AT_PORT, { "pfc-backpressure", "pfc-watchdog", "pfc-deadlock" } },
	{ "forwarding-loop", AT_NODE, { "pfc-deadlock", "packet-loss", "tail-drop" } },
};

static bool
is_kind(const struct rule *rule, const struct finding *finding)
{
	for (uint32_t i = 0; i < MAX_KINDS && rule->of[i] != NULL; i++)
		if (strcmp(rule->of[i], finding->type->key) == 0)
			return true;
	return false;
}

static bool
has_port(const struct finding *finding, uint32_t port)
{
	for (uint32_t i = 0; i < finding->nports; i++)
		if (finding->ports[i] == port)
			return true;
	return finding->root_port == port;
}

/* By what part of its packets a flow passes a port, if each switch spreads them over its shortest paths alike (ECMP). */
struct spread {
	uint32_t *hops, *queue; /* [nnodes] to its destination; RUN_NONE: no path; and nodes in their order */
	double *part;           /* [nnodes] */
	uint32_t *slot;         /* [nflows] of its parts, plus 1; 0: not known yet */
	double *now, *then;     /* [MOST_KNOWN][nports] without the link and with it, as many hops from its destination */
	uint32_t known;
	bool was_up; /* when paths were configured: they are those with the link */
};

#define MOST_KNOWN 64 /* flows of a finding that are looked at: those of its first claims */
/* Is a port one of the two ends of a link? */
static bool
is_end_of(const struct run *run, uint32_t port, const struct run_port *link)
{
	const struct run_port *of = &run->ports[port];

	return link != NULL && (of == link || (of->node == link->peer_node && of->peer_node == link->node &&
					       (link->peer_port == RUN_NONE || link->peer_port == port)));
}

/* Hosts forward nothing. @param without  a link that is not there, or NULL  @return the number of nodes with a path */
static uint32_t
count_hops(const struct run *run, uint32_t dst, const struct run_port *without, struct spread *s)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t n = 0; n < run->nnodes; n++)
		s->hops[n] = RUN_NONE;
	s->hops[dst] = 0;
	s->queue[tail++] = dst;
	while (head < tail) {
		uint32_t node = s->queue[head++];
		const struct run_node *at = &run->nodes[node];

		for (uint32_t p = at->first_port; p < at->first_port + at->nports; p++) {
			uint32_t next = run->ports[p].peer_node;

			if (next == RUN_NONE || s->hops[next] != RUN_NONE || (at->host && node != dst) ||
			    is_end_of(run, p, without))
				continue;
			s->hops[next] = s->hops[node] + 1;
			s->queue[tail++] = next;
		}
	}
	return tail;
}

/* Is a port of a node the beginning of a shortest path? */
static bool
leads_on(const struct run *run, const struct spread *s, uint32_t port, const struct run_port *without)
{
	const struct run_port *of = &run->ports[port];

	return of->peer_node != RUN_NONE && s->hops[of->peer_node] != RUN_NONE &&
	       s->hops[of->peer_node] + 1 == s->hops[of->node] && !is_end_of(run, port, without);
}

/* Of a flow's packets, the part that leaves by each port that is as many hops from its destination as one is. */
static void
parts_by(const struct run *run, uint32_t flow, uint32_t port, const struct run_port *without, struct spread *s, double *by)
{
	uint32_t src = run->flows[flow].src, dst = run->flows[flow].dst, count;

	if (src == RUN_NONE || dst == RUN_NONE)
		return;
	count = count_hops(run, dst, without, s);
	for (uint32_t n = 0; n < run->nnodes; n++)
		s->part[n] = n == src;
	while (count-- > 0) { /* the farthest first: what it gets is known then */
		uint32_t node = s->queue[count], paths = 0;
		const struct run_node *at = &run->nodes[node];

		for (uint32_t p = at->first_port; p < at->first_port + at->nports; p++)
			paths += leads_on(run, s, p, without);
		for (uint32_t p = at->first_port; p < at->first_port + at->nports && s->part[node] > 0; p++) {
			if (!leads_on(run, s, p, without))
				continue;
			s->part[run->ports[p].peer_node] += s->part[node] / paths;
			by[p] = s->hops[node] == s->hops[run->ports[port].node] ? s->part[node] / paths : 0;
		}
	}
}

/* The same of a flow whose path is known: all of its packets take that. @param by  of parts_by(), which counted the hops */
static void
part_of_path(const struct run *run, const struct run_flow *flow, uint32_t port, const struct spread *s, double *by)
{
	for (uint32_t p = 0; p < run->nports && flow->nhops != 0; p++)
		by[p] = 0;
	for (uint32_t h = flow->first_hop; h < flow->first_hop + flow->nhops; h++) {
		uint32_t on = run->hops[h].port;

		if (on != RUN_NONE && s->hops[run->ports[on].node] == s->hops[run->ports[port].node])
			by[on] = 1;
	}
}

/* @return where a flow's parts begin in now and then */
static size_t
parts_of(const struct run *run, const struct run_port *link, uint32_t port, uint32_t flow, struct spread *s)
{
	size_t at;

	if (s->slot[flow] == 0) {
		at = (size_t)s->known * run->nports;
		s->slot[flow] = ++s->known;
		parts_by(run, flow, port, link, s, &s->now[at]);
		parts_by(run, flow, port, NULL, s, &s->then[at]);
		if (s->was_up)
			part_of_path(run, &run->flows[flow], port, s, &s->then[at]);
	}
	return (size_t)(s->slot[flow] - 1) * run->nports;
}

#define MOST_LIKELY 0.5 /* what would be at most that likely without its cause is taken for its consequence */

/* How likely a flow would pass the finding's port if the link were there, against now; 1 of one that does not pass. */
static double
passes_anyway(const struct run *run, const struct run_port *link, uint32_t port, uint32_t flow, struct spread *s)
{
	size_t at;

	if (flow == RUN_NONE)
		return 1;
	at = parts_of(run, link, port, flow, s) + port;
	return s->now[at] > 0 ? s->then[at] / s->now[at] : 1;
}

/* How likely flows would share a queue, this one or another as far on their way, if the link were there, against now. */
static double
share_anyway(const struct run *run, const struct run_port *link, uint32_t port, uint32_t flow, uint32_t other,
	     struct spread *s)
{
	size_t a = parts_of(run, link, port, flow, s), b = parts_of(run, link, port, other, s);
	double now = 0, then = 0;

	for (uint32_t p = 0; p < run->nports; p++) {
		now += s->now[a + p] * s->now[b + p];
		then += s->then[a + p] * s->then[b + p];
	}
	return now > 0 ? fmin(1, then / now) : 1;
}

/*
 * Both flows have to pass the port to share its queue.
 * @param kept  set to the part of the time that the claim would have all the same
 * @return how likely they would both pass it, against now
 */
static double
claim_anyway(const struct run *run, const struct run_port *link, uint32_t port, const struct finding_claim *claim,
	     struct spread *s, double *kept)
{
	uint32_t victim = run->steps[claim->step].flow;
	double anyway = passes_anyway(run, link, port, victim, s);

	*kept = fmin(1, anyway);
	if (claim->flow == victim || claim->flow == RUN_NONE || victim == RUN_NONE)
		return anyway;
	*kept = share_anyway(run, link, port, victim, claim->flow, s);
	return anyway * passes_anyway(run, link, port, claim->flow, s);
}

/*
 * Would the flows of most of a finding's time not have shared its port's queue if the link were there? By the time of each
 * pair of a step and a culprit; of a finding that claims none, by its flows.
 * @param anyway  set to the part of the finding's time that they would all the same
 */
static bool
lacks_link_of(const struct run *run, const struct run_port *link, const struct finding *finding, struct spread *s,
	      double *anyway)
{
	double missed = 0, all = 0, kept = 0, part;

	for (uint32_t i = 0; i < finding->nclaims && s->known + 2 <= MOST_KNOWN; i++) {
		const struct finding_claim *claim = &finding->claims[i];

		missed += claim_anyway(run, link, finding->root_port, claim, s, &part) <= MOST_LIKELY ? claim->ps : 0;
		all += claim->ps;
		kept += part * claim->ps;
	}
	*anyway = all > 0 ? kept / all : 1;
	for (uint32_t f = 0; f < finding->nflows && finding->nclaims == 0 && s->known < MOST_KNOWN; f++, all++)
		missed += passes_anyway(run, link, finding->root_port, finding->flows[f], s) <= MOST_LIKELY;
	for (uint32_t v = 0; v < finding->nvictims && finding->nclaims == 0 && s->known < MOST_KNOWN; v++, all++)
		missed += passes_anyway(run, link, finding->root_port, finding->victims[v], s) <= MOST_LIKELY;
	return all > 0 && missed >= all / 2;
}

/* Does a configured path, of data or of ACKs, cross a link? Then it was there when these were made. */
static bool
was_up(const struct run *run, const struct run_port *link)
{
	for (uint32_t h = 0; h < run->nhops; h++)
		if (run->hops[h].port != RUN_NONE && is_end_of(run, run->hops[h].port, link))
			return true;
	return false;
}

/* The same; without memory it is not known, and no. */
static bool
lacks_link(const struct run *run, const struct run_port *link, const struct finding *finding, double *anyway)
{
	size_t nodes = (size_t)run->nnodes + 1, parts = (size_t)MOST_KNOWN * run->nports + 1;
	struct spread s = { .hops = calloc(nodes, sizeof(*s.hops)),
			    .queue = calloc(nodes, sizeof(*s.queue)),
			    .part = calloc(nodes, sizeof(*s.part)),
			    .slot = calloc((size_t)run->nflows + 1, sizeof(*s.slot)),
			    .now = calloc(parts, sizeof(*s.now)),
			    .then = calloc(parts, sizeof(*s.then)),
			    .was_up = was_up(run, link) };
	bool lacks = link->peer_node != RUN_NONE && run->nnodes != 0 && s.hops != NULL && s.queue != NULL &&
		     s.part != NULL && s.slot != NULL && s.now != NULL && s.then != NULL &&
		     lacks_link_of(run, link, finding, &s, anyway);

	free(s.hops);
	free(s.queue);
	free(s.part);
	free(s.slot);
	free(s.now);
	free(s.then);
	return lacks;
}

static bool
is_there(const struct run *run, const struct rule *rule, const struct finding *cause, const struct finding *finding)
{
	const struct run_port *port = &run->ports[cause->root_port];
	double anyway;
	uint32_t node;

	if (rule->at == AT_PORT)
		return has_port(finding, cause->root_port) ||
		       (port->peer_port != RUN_NONE && has_port(finding, port->peer_port));
	if (finding->root_port == RUN_NONE)
		return has_port(finding, cause->root_port);
	if (rule->at == AT_PATHS)
		return finding->lacks != 0 ? is_end_of(run, finding->lacks - 1, port)
					   : lacks_link(run, port, finding, &anyway);
	node = run->ports[finding->root_port].node;
	return node == port->node || (rule->at == AT_ENDS && node == port->peer_node);
}

static bool
follows(const struct run *run, const struct finding *cause, const struct finding *finding)
{
	if (cause->root_port == RUN_NONE || finding->end_ps < cause->start_ps)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (strcmp(rules[i].cause, cause->type->key) == 0 && is_kind(&rules[i], finding) &&
		    is_there(run, &rules[i], cause, finding))
			return true;
	return false;
}

uint32_t
verdict_cause_of(const struct verdict *v, uint32_t finding)
{
	for (uint32_t i = 0; i < v->nfindings; i++)
		if (i != finding && follows(&v->run, &v->findings[i], &v->findings[finding]))
			return i;
	return RUN_NONE;
}

/* What a queue claims of steps that it would not with the link goes to that. @return 0 or -ENOMEM */
static int
give_claims(const struct run *run, struct finding *link, struct finding *finding, double share)
{
	struct finding_claim *grown =
		realloc(link->claims, ((size_t)link->nclaims + finding->nclaims + 1) * sizeof(*link->claims));
	double given_ps = 0;

	if (grown == NULL)
		return -ENOMEM;
	link->claims = grown;
	for (uint32_t i = 0; i < finding->nclaims; i++) {
		struct finding_claim *claim = &finding->claims[i];
		double ps = run->steps[claim->step].end_ps > link->start_ps ? share * claim->ps : 0;

		given_ps += ps;
		claim->ps -= ps;
		if (ps > 0)
			link->claims[link->nclaims++] = (struct finding_claim){ claim->step, RUN_NONE, ps };
	}
	link->explained_ps += given_ps;
	finding->explained_ps -= given_ps;
	return 0;
}

int
findings_give_links(const struct run *run, struct finding *findings, uint32_t count, struct err *err)
{
	const struct rule *rule = &rules[0];
	double anyway;
	int ret = 0;

	for (uint32_t l = 0; l < count; l++) {
		struct finding *link = &findings[l];

		for (uint32_t i = 0; i < count && ret == 0; i++) {
			struct finding *finding = &findings[i];

			if (strcmp(link->type->key, rule->cause) != 0 || link->root_port == RUN_NONE ||
			    finding->collective != link->collective || finding->root_port == RUN_NONE ||
			    finding->lacks != 0 || finding->end_ps < link->start_ps || !is_kind(rule, finding) ||
			    !lacks_link(run, &run->ports[link->root_port], finding, &anyway))
				continue;
			ret = give_claims(run, link, finding, 1 - anyway);
			finding->lacks = link->root_port + 1;
		}
	}
	return ret == 0 ? 0 : err_set(err, -ENOMEM, "out of memory for findings");
}
