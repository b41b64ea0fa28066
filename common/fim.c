/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/fim.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME 1e-9            /* probabilities that differ by less are one kind */
#define NEGLIGIBLE 1e-17     /* of the most likely number of flows: less likely numbers are left out */
#define MOST_WORK 100000000u /* products of one convolution */

void
fim_even(struct fim_link *links, size_t count)
{
	double flows[FIM_MAX_GROUPS] = { 0 }, rate_bps[FIM_MAX_GROUPS] = { 0 };

	for (size_t i = 0; i < count; i++) {
		if (links[i].rate_bps != 0)
			flows[links[i].group] += links[i].flows;
		rate_bps[links[i].group] += (double)links[i].rate_bps;
	}
	for (size_t i = 0; i < count; i++) {
		uint16_t group = links[i].group;

		links[i].ideal = links[i].rate_bps == 0 ? 0 : flows[group] * ((double)links[i].rate_bps / rate_bps[group]);
	}
}

struct fim
fim_of(const struct fim_link *links, size_t count, uint16_t group)
{
	struct fim fim = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct fim_link *link = &links[i];

		if ((group != FIM_ALL && link->group != group) || link->rate_bps == 0 || link->ideal <= 0)
			continue;
		fim.least = fim.links == 0 || link->flows < fim.least ? link->flows : fim.least;
		fim.most = link->flows > fim.most ? link->flows : fim.most;
		fim.ideal += link->ideal;
		fim.percent += fabs(link->flows - link->ideal) / link->ideal;
		fim.links++;
	}
	if (fim.links != 0) {
		fim.ideal /= fim.links;
		fim.percent *= 100.0 / fim.links;
	}
	return fim;
}

void
fim_chance_add(struct fim_chance *chance, double p, uint32_t flows)
{
	uint32_t i = 0;

	while (i < chance->count && i < FIM_CHANCES && fabs(chance->of[i].p - p) > SAME)
		i++;
	if (i == FIM_CHANCES) {
		chance->count = FIM_CHANCES + 1;
		return;
	}
	if (i == chance->count) {
		chance->of[i].p = p;
		chance->count++;
	}
	chance->of[i].flows += flows;
}

/* Probabilities of first, first + 1, ... flows. */
struct pmf {
	double *p; /* [count] */
	uint64_t first, count;
};

/* @return the probability of k + 1 of n over that of k */
static double
ratio(uint64_t n, double p, uint64_t k)
{
	return (double)(n - k) / (double)(k + 1) * (p / (1 - p));
}

/* Binomial (n, p), 0 < p < 1, from its mode to both sides as far as it matters. @return false: no memory */
static bool
binomial(uint64_t n, double p, struct pmf *pmf)
{
	uint64_t mode = (uint64_t)((double)(n + 1) * p), low, high;
	double at = 1, sum = 0;

	mode = mode > n ? n : mode;
	for (low = mode; low > 0 && at > NEGLIGIBLE; low--)
		at /= ratio(n, p, low - 1);
	for (high = mode, at = 1; high < n && at > NEGLIGIBLE; high++)
		at *= ratio(n, p, high);
	*pmf = (struct pmf){ malloc((high - low + 1) * sizeof(double)), low, high - low + 1 };
	if (pmf->p == NULL)
		return false;
	pmf->p[mode - low] = 1;
	for (uint64_t k = mode; k > low; k--)
		pmf->p[k - 1 - low] = pmf->p[k - low] / ratio(n, p, k - 1);
	for (uint64_t k = mode; k < high; k++)
		pmf->p[k + 1 - low] = pmf->p[k - low] * ratio(n, p, k);
	for (uint64_t i = 0; i < pmf->count; i++)
		sum += pmf->p[i];
	for (uint64_t i = 0; i < pmf->count; i++)
		pmf->p[i] /= sum;
	return true;
}

/* Sets a to the distribution of the sum of both. @return false: it is too large, or no memory */
static bool
convolve(struct pmf *a, const struct pmf *b)
{
	struct pmf sum = { NULL, a->first + b->first, a->count + b->count - 1 };

	if (b->count > MOST_WORK / a->count)
		return false;
	sum.p = calloc(sum.count, sizeof(double));
	if (sum.p == NULL)
		return false;
	for (uint64_t i = 0; i < a->count; i++)
		for (uint64_t k = 0; k < b->count; k++)
			sum.p[i + k] += a->p[i] * b->p[k];
	free(a->p);
	*a = sum;
	return true;
}

double
fim_expected(const struct fim_chance *chance, double ideal)
{
	struct pmf all = { malloc(sizeof(double)), 0, 1 };
	double sum = 0;
	bool exact = all.p != NULL && chance->count <= FIM_CHANCES;

	if (exact)
		all.p[0] = 1;
	for (uint32_t i = 0; exact && i < chance->count; i++) {
		struct pmf one = { 0 };

		if (chance->of[i].p > 1 - SAME) {
			all.first += chance->of[i].flows;
			continue;
		}
		exact = binomial(chance->of[i].flows, chance->of[i].p, &one) && convolve(&all, &one);
		free(one.p);
	}
	for (uint64_t i = 0; exact && i < all.count; i++)
		sum += all.p[i] * fabs((double)(all.first + i) - ideal);
	free(all.p);
	return exact ? 100 * sum / ideal : NAN;
}

/* The metric of a network. */

#define UNKNOWN UINT8_MAX
#define FAR UINT32_MAX

int
fim_fabric_init(struct fim_fabric *fabric, uint32_t nnodes, uint32_t nports)
{
	*fabric = (struct fim_fabric){
		.nnodes = nnodes,
		.nports = nports,
		.nodes = calloc(nnodes + 1u, sizeof(*fabric->nodes)),
		.ports = calloc(nports + 1u, sizeof(*fabric->ports)),
		.tier = calloc(nnodes + 1u, sizeof(*fabric->tier)),
		.links = calloc(nports + 1u, sizeof(*fabric->links)),
		.chances = calloc(nports + 1u, sizeof(*fabric->chances)),
	};
	return fabric->nodes != NULL && fabric->ports != NULL && fabric->tier != NULL && fabric->links != NULL &&
			       fabric->chances != NULL
		       ? 0
		       : -ENOMEM;
}

void
fim_fabric_fini(struct fim_fabric *fabric)
{
	free(fabric->nodes);
	free(fabric->ports);
	free(fabric->tier);
	free(fabric->links);
	free(fabric->chances);
	*fabric = (struct fim_fabric){ 0 };
}

/* ---- layers ---- */

/* Breadth first, from all hosts at once. @param queue  [nnodes] */
static void
find_tiers(struct fim_fabric *fabric, uint32_t *queue)
{
	uint32_t head = 0, tail = 0;

	memset(fabric->tier, UNKNOWN, fabric->nnodes);
	for (uint32_t i = 0; i < fabric->nnodes; i++) {
		if (!fabric->nodes[i].host)
			continue;
		fabric->tier[i] = 0;
		queue[tail++] = i;
	}
	while (head < tail) {
		const struct fim_node *node = &fabric->nodes[queue[head]];
		uint8_t next = fabric->tier[queue[head++]];

		next += next < FIM_MAX_TIERS;
		for (uint32_t p = node->first_port; p < node->first_port + node->nports; p++) {
			uint32_t peer = fabric->ports[p].peer;

			if (peer == FIM_NONE || fabric->tier[peer] != UNKNOWN)
				continue;
			fabric->tier[peer] = fabric->most_tier = next;
			queue[tail++] = peer;
		}
	}
	for (uint32_t i = 0; i < fabric->nnodes; i++)
		if (fabric->tier[i] == UNKNOWN) /* no host reaches it */
			fabric->tier[i] = 1;
}

static int
cmp_layer(const void *pa, const void *pb)
{
	const struct fim_layer *a = pa, *b = pb;
	bool a_down = a->to < a->from, b_down = b->to < b->from;

	if (a_down != b_down)
		return a_down ? 1 : -1;
	if (a->from != b->from)
		return (a->from < b->from) != a_down ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

static uint16_t
layer_of(const struct fim_fabric *fabric, uint32_t port)
{
	uint8_t from = fabric->tier[fabric->ports[port].node], to = fabric->tier[fabric->ports[port].peer];
	uint16_t i = 0;

	while (i < fabric->nlayers && (fabric->layers[i].from != from || fabric->layers[i].to != to))
		i++;
	return i;
}

/* Neighbours' tiers differ by one at most: there are fewer than 3 (FIM_MAX_TIERS + 1) pairs. */
_Static_assert(3 * (FIM_MAX_TIERS + 1) <= FIM_MAX_GROUPS, "a group for each pair of tiers");

int
fim_fabric_layers(struct fim_fabric *fabric)
{
	uint32_t *queue = calloc(fabric->nnodes + 1u, sizeof(*queue));

	if (queue == NULL)
		return -ENOMEM;
	find_tiers(fabric, queue);
	free(queue);
	for (uint32_t p = 0; p < fabric->nports; p++) {
		const struct fim_port *port = &fabric->ports[p];

		if (port->peer != FIM_NONE && layer_of(fabric, p) == fabric->nlayers)
			fabric->layers[fabric->nlayers++] =
				(struct fim_layer){ fabric->tier[port->node], fabric->tier[port->peer] };
	}
	qsort(fabric->layers, fabric->nlayers, sizeof(fabric->layers[0]), cmp_layer);
	for (uint32_t p = 0; p < fabric->nports; p++)
		if (fabric->ports[p].peer != FIM_NONE)
			fabric->links[p].group = layer_of(fabric, p);
	return 0;
}

char *
fim_layer_name(const struct fim_layer *layer, uint8_t most_tier, char *buf)
{
	static const char *const two[] = { "host", "leaf", "spine" }, *const three[] = { "host", "leaf", "aggregation",
											 "core" };

	if (most_tier <= 2 && layer->from <= 2 && layer->to <= 2)
		snprintf(buf, FIM_LAYER_NAME, "%s to %s", two[layer->from], two[layer->to]);
	else if (most_tier == 3 && layer->from <= 3 && layer->to <= 3)
		snprintf(buf, FIM_LAYER_NAME, "%s to %s", three[layer->from], three[layer->to]);
	else
		snprintf(buf, FIM_LAYER_NAME, "tier %u to tier %u", layer->from, layer->to);
	return buf;
}

/* ---- which links flows may take ---- */

/* Room for the path of one flow. */
struct spread {
	struct fim_fabric *fabric;
	const struct fim_set *sets; /* [nsets] sorted */
	uint32_t nsets;
	uint32_t *distance;     /* [nnodes] to the destination, FAR: none */
	uint32_t *here, *there; /* [nnodes] where a flow may be now, and a link later */
	double *at, *next;      /* [nnodes] how likely; 0 between flows */
};

static bool
has_port(const struct fim_ports *ports, uint32_t index)
{
	return index < FIM_MAX_PORTS && (ports->of[index / 64] >> index % 64 & 1) != 0;
}

static bool
is_up(const struct fim_port *port)
{
	return port->peer != FIM_NONE && !port->down;
}

static int
cmp_flow(const void *pa, const void *pb)
{
	const struct fim_flow *a = pa, *b = pb;
	int by_dst = memcmp(&a->to, &b->to, sizeof(a->to)), by_src = memcmp(&a->from, &b->from, sizeof(a->from));

	if (a->dst != b->dst)
		return a->dst < b->dst ? -1 : 1;
	if (by_dst == 0 && a->src != b->src)
		return a->src < b->src ? -1 : 1;
	if (by_dst != 0 || by_src != 0)
		return by_dst != 0 ? by_dst : by_src;
	return (a->hops > b->hops) - (a->hops < b->hops);
}

static int
cmp_set(const void *pa, const void *pb)
{
	const struct fim_set *a = pa, *b = pb;

	if (a->dst != b->dst)
		return a->dst < b->dst ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

/* Distances to a flow's destination, breadth first from the ports where it may arrive; hosts do not forward. */
static void
find_distances(struct spread *s, const struct fim_flow *flow)
{
	const struct fim_fabric *fabric = s->fabric;
	uint32_t head = 0, tail = 0, *queue = s->here;

	memset(s->distance, 0xff, fabric->nnodes * sizeof(*s->distance));
	s->distance[flow->dst] = 0;
	queue[tail++] = flow->dst;
	while (head < tail) {
		uint32_t at = queue[head++];
		const struct fim_node *node = &fabric->nodes[at];

		for (uint32_t i = 0; i < node->nports; i++) {
			const struct fim_port *port = &fabric->ports[node->first_port + i];

			if (port->peer == FIM_NONE || !is_up(&fabric->ports[port->peer_port]) ||
			    (at == flow->dst && !has_port(&flow->to, i)) || s->distance[port->peer] != FAR)
				continue;
			s->distance[port->peer] = s->distance[at] + 1;
			if (!fabric->nodes[port->peer].host)
				queue[tail++] = port->peer;
		}
	}
}

/* Does a port lead to one that the flow may arrive by? */
static bool
arrives(const struct fim_fabric *fabric, const struct fim_flow *flow, const struct fim_port *port)
{
	return has_port(&flow->to, port->peer_port - fabric->nodes[flow->dst].first_port);
}

/* @return number of global ports among which the node chooses for the flow */
static uint32_t
choices(const struct spread *s, const struct fim_flow *flow, uint32_t at, bool first, uint32_t *ports)
{
	const struct fim_node *node = &s->fabric->nodes[at];
	const struct fim_set key = { .node = at, .dst = flow->dst };
	const struct fim_set *set =
		s->nsets != 0 && !first ? bsearch(&key, s->sets, s->nsets, sizeof(*s->sets), cmp_set) : NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < node->nports && i < FIM_MAX_PORTS; i++) {
		uint32_t p = node->first_port + i;
		const struct fim_port *port = &s->fabric->ports[p];
		bool chosen;

		if (!is_up(port))
			continue;
		if (first || set != NULL)
			chosen = has_port(first ? &flow->from : &set->ports, i);
		else if (s->distance[at] == FAR || s->distance[port->peer] == FAR)
			chosen = false;
		else
			chosen = s->distance[port->peer] + 1 == s->distance[at] &&
				 (port->peer != flow->dst || arrives(s->fabric, flow, port));
		if (chosen)
			ports[count++] = p;
	}
	return count;
}

/* One link on. @return how many nodes the flows may be at then */
static uint32_t
step(struct spread *s, const struct fim_flow *flow, uint32_t flows, bool first, uint32_t nhere)
{
	uint32_t nthere = 0, *here = s->here, ports[FIM_MAX_PORTS];
	double *at = s->at;

	for (uint32_t i = 0; i < nhere; i++) {
		uint32_t node = here[i], count = 0;

		if (node != flow->dst && (first || !s->fabric->nodes[node].host))
			count = choices(s, flow, node, first, ports);
		for (uint32_t k = 0; k < count; k++) {
			uint32_t peer = s->fabric->ports[ports[k]].peer;
			double p = at[node] / count;

			fim_chance_add(&s->fabric->chances[ports[k]], p, flows);
			s->fabric->links[ports[k]].rate_bps = s->fabric->ports[ports[k]].rate_bps;
			if (s->next[peer] == 0)
				s->there[nthere++] = peer;
			s->next[peer] += p;
		}
		at[node] = 0;
	}
	s->here = s->there;
	s->there = here;
	s->at = s->next;
	s->next = at;
	return nthere;
}

/* @param flows  alike */
static void
spread_flows(struct spread *s, const struct fim_flow *flow, uint32_t flows)
{
	uint32_t nhere = 1;

	s->here[0] = flow->src;
	s->at[flow->src] = 1;
	for (uint32_t hop = 0; nhere != 0 && hop < flow->hops && hop < FIM_MAX_HOPS; hop++)
		nhere = step(s, flow, flows, hop == 0, nhere);
	for (uint32_t i = 0; i < nhere; i++)
		s->at[s->here[i]] = 0;
}

static bool
same_end(const struct fim_flow *a, const struct fim_flow *b)
{
	return a->dst == b->dst && memcmp(&a->to, &b->to, sizeof(a->to)) == 0;
}

static void
spread_all(struct spread *s, const struct fim_flow *flows, uint32_t count)
{
	for (uint32_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && cmp_flow(&flows[first], &flows[end]) == 0;)
			end++;
		if (first == 0 || !same_end(&flows[first - 1], &flows[first]))
			find_distances(s, &flows[first]);
		spread_flows(s, &flows[first], end - first);
	}
}

int
fim_fabric_offer(struct fim_fabric *fabric, struct fim_flow *flows, uint32_t count, struct fim_set *sets, uint32_t nsets)
{
	const size_t nodes = fabric->nnodes + 1u;
	struct spread s = { .fabric = fabric,
			    .sets = sets,
			    .nsets = nsets,
			    .distance = calloc(nodes, sizeof(*s.distance)),
			    .here = calloc(nodes, sizeof(*s.here)),
			    .there = calloc(nodes, sizeof(*s.there)),
			    .at = calloc(nodes, sizeof(*s.at)),
			    .next = calloc(nodes, sizeof(*s.next)) };
	bool room = s.distance != NULL && s.here != NULL && s.there != NULL && s.at != NULL && s.next != NULL;

	memset(fabric->chances, 0, fabric->nports * sizeof(*fabric->chances));
	for (uint32_t p = 0; p < fabric->nports; p++)
		fabric->links[p].rate_bps = 0;
	if (count != 0)
		qsort(flows, count, sizeof(*flows), cmp_flow);
	if (nsets != 0)
		qsort(sets, nsets, sizeof(*sets), cmp_set);
	if (room)
		spread_all(&s, flows, count);
	free(s.distance);
	free(s.here);
	free(s.there);
	free(s.at);
	free(s.next);
	return room ? 0 : -ENOMEM;
}

/* ---- the metric ---- */

static bool
is_in(const struct fim_fabric *fabric, uint32_t port, uint16_t group)
{
	uint16_t own = fabric->links[port].group;

	return fabric->links[port].ideal > 0 &&
	       (group == FIM_ALL || own == group || (group == FIM_SWITCHES && fabric->layers[own].from != 0));
}

struct fim
fim_fabric_metric(struct fim_fabric *fabric, uint16_t group)
{
	struct fim sum = { 0 };

	fim_even(fabric->links, fabric->nports);
	if (group != FIM_SWITCHES)
		return fim_of(fabric->links, fabric->nports, group);
	for (uint16_t g = 0; g < fabric->nlayers; g++) {
		const struct fim one = fim_of(fabric->links, fabric->nports, g);

		if (fabric->layers[g].from == 0 || one.links == 0)
			continue;
		sum.least = sum.links == 0 || one.least < sum.least ? one.least : sum.least;
		sum.most = one.most > sum.most ? one.most : sum.most;
		sum.percent += one.percent * one.links;
		sum.ideal += one.ideal * one.links;
		sum.links += one.links;
	}
	sum.percent /= sum.links != 0 ? sum.links : 1;
	sum.ideal /= sum.links != 0 ? sum.links : 1;
	return sum;
}

double
fim_fabric_expected(const struct fim_fabric *fabric, uint16_t group)
{
	double sum = 0, one = 0;
	uint32_t count = 0, last = FIM_NONE;

	for (uint32_t p = 0; p < fabric->nports; p++) {
		if (!is_in(fabric, p, group))
			continue;
		if (last == FIM_NONE || fabric->links[p].ideal != fabric->links[last].ideal ||
		    memcmp(&fabric->chances[p], &fabric->chances[last], sizeof(fabric->chances[p])) != 0)
			one = fim_expected(&fabric->chances[p], fabric->links[p].ideal);
		last = p;
		sum += one;
		count++;
	}
	return count != 0 ? sum / count : 0;
}
