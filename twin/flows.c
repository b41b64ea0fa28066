/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "common/units.h"

/* FLOW_SEEN records by flow: lists by index. */
struct twin_seen {
	uint32_t *first; /* [nflows] EV_NONE: none */
	uint32_t *next;  /* [flows_seen.count] */
};

#define MAX_SPANS 65536 /* of a flow: later ones are left aside */

/* A time of which a port reported how many packets of the flow it sent; 0: none. */
struct span {
	uint64_t from_ps, to_ps;
	double packets;
};

/* A time without a boundary of a span in it. */
struct piece {
	uint64_t from_ps, to_ps;
	double packets;
	bool covered; /* some port reported it */
};

struct timeline {
	struct span *spans;
	size_t nspans;
	struct piece *pieces;
	size_t npieces;
};

static int
by_start(const void *pa, const void *pb)
{
	const struct span *a = pa, *b = pb;

	return a->from_ps != b->from_ps ? (a->from_ps < b->from_ps ? -1 : 1)
					: (a->to_ps > b->to_ps) - (a->to_ps < b->to_ps);
}

static int
by_time(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return ORDER(a, b);
}

/* What the ports that saw the flow reported, whether it was there or not. */
static void
list_spans(const struct evidence *ev, uint32_t flow, struct timeline *line)
{
	const struct ev_flow *of = &ev->flows[flow];

	for (uint32_t s = of->first_seen; s < of->first_seen + of->nseen; s++) {
		const struct ev_port *port = &ev->ports[ev->seen[s]];

		for (uint32_t e = port->first_epoch; e < port->first_epoch + port->nepochs; e++) {
			const struct ev_epoch *epoch = &ev->epochs[e];
			const struct rec_flow_row *row = evidence_flow_row(ev, epoch, flow);

			if (epoch->to_ps > epoch->from_ps && line->nspans < MAX_SPANS)
				line->spans[line->nspans++] = (struct span){ epoch->from_ps, epoch->to_ps,
									     row != NULL ? (double)row->packets : 0 };
		}
	}
	qsort(line->spans, line->nspans, sizeof(*line->spans), by_start);
}

/* Of all that cover a piece, the port that sent fastest has it: others held the flow back, or reported less of it. */
static void
fill_piece(const struct timeline *line, size_t *first, struct piece *piece)
{
	double length_ps = (double)(piece->to_ps - piece->from_ps);

	while (*first < line->nspans && line->spans[*first].to_ps <= piece->from_ps)
		++*first;
	for (size_t i = *first; i < line->nspans && line->spans[i].from_ps < piece->to_ps; i++) {
		const struct span *span = &line->spans[i];
		double packets = span->packets * length_ps / (double)(span->to_ps - span->from_ps);

		if (span->from_ps > piece->from_ps || span->to_ps < piece->to_ps)
			continue;
		piece->covered = true;
		piece->packets = packets > piece->packets ? packets : piece->packets;
	}
}

/* @return 0 or -ENOMEM */
static int
cut(struct timeline *line)
{
	uint64_t *times = calloc(2 * line->nspans + 1, sizeof(*times));
	size_t count = 0, first = 0;

	line->pieces = calloc(2 * line->nspans + 1, sizeof(*line->pieces));
	for (size_t i = 0; i < line->nspans && times != NULL; i++) {
		times[count++] = line->spans[i].from_ps;
		times[count++] = line->spans[i].to_ps;
	}
	if (times != NULL)
		qsort(times, count, sizeof(*times), by_time);
	for (size_t i = 0; i + 1 < count && line->pieces != NULL; i++) {
		struct piece *piece = &line->pieces[line->npieces];

		if (times[i] == times[i + 1])
			continue;
		*piece = (struct piece){ .from_ps = times[i], .to_ps = times[i + 1] };
		fill_piece(line, &first, piece);
		line->npieces++;
	}
	free(times);
	return times != NULL && line->pieces != NULL ? 0 : -ENOMEM;
}

static double
rate(const struct piece *piece)
{
	return piece->packets / (double)(piece->to_ps - piece->from_ps);
}

/* Between two times at which it was counted, at what it sent before and after. */
static void
fill_gaps(struct timeline *line, size_t first, size_t last)
{
	for (size_t i = first + 1; i < last; i++) {
		struct piece *piece = &line->pieces[i];
		size_t next = i;

		if (piece->covered)
			continue;
		while (!line->pieces[next].covered)
			next++;
		piece->packets = (rate(&line->pieces[i - 1]) + rate(&line->pieces[next])) / 2 *
				 (double)(piece->to_ps - piece->from_ps);
		piece->covered = true;
	}
}

/*
 * When it began: in the first piece that has some of it, as late as the rate of the next piece has it. Where nobody
 * looked before, that may have been earlier; half of that time is a guess.
 */
static uint64_t
begin_ps(struct timeline *line, size_t first)
{
	struct piece *piece = &line->pieces[first];
	uint64_t length_ps = piece->to_ps - piece->from_ps, from_ps = piece->from_ps;
	double full = first + 1 < line->npieces && line->pieces[first + 1].packets > 0 ? rate(&line->pieces[first + 1]) : 0;

	if (full > rate(piece))
		return piece->to_ps - (uint64_t)(piece->packets / full);
	if (first > 0 && !line->pieces[first - 1].covered) {
		uint64_t unseen_ps =
			min_u64(line->pieces[first - 1].to_ps - line->pieces[first - 1].from_ps, length_ps) / 2;

		piece->packets += rate(piece) * (double)unseen_ps;
		from_ps -= unseen_ps;
	}
	return from_ps;
}

/* Bytes and start of a flow, from its timeline. @return whether it is large enough */
static bool
measure(uint32_t payload_bytes, struct timeline *line, struct twin_flow *flow)
{
	size_t first = 0, last = line->npieces;
	double packets = 0;

	while (first < line->npieces && line->pieces[first].packets <= 0)
		first++;
	while (last > first && line->pieces[last - 1].packets <= 0)
		last--;
	if (first == last)
		return false;
	fill_gaps(line, first, last);
	flow->start_ps = begin_ps(line, first);
	for (size_t i = first; i < last; i++)
		packets += line->pieces[i].packets;
	flow->bytes = (uint64_t)(packets * payload_bytes);
	return flow->bytes >= TWIN_MIN_BYTES;
}

/* ---- paths ---- */

struct search {
	const struct evidence *ev;
	const struct twin_seen *seen;
	uint32_t *distance;  /* [nnodes] links to the switch of the destination */
	uint32_t flow, last; /* last: the port that leads to the destination's NIC */
	uint32_t path[TWIN_MAX_HOPS], best[TWIN_MAX_HOPS];
	uint32_t hops, best_hops, score, best_score;
};

/* Of all nodes, over switches. @return 0 or -ENOMEM */
static int
find_distances(struct search *search, uint32_t to)
{
	const struct evidence *ev = search->ev;
	uint32_t *queue = calloc((size_t)ev->nnodes + 1, sizeof(*queue)), head = 0, tail = 0;

	search->distance = malloc(((size_t)ev->nnodes + 1) * sizeof(*search->distance));
	for (uint32_t n = 0; n < ev->nnodes && search->distance != NULL; n++)
		search->distance[n] = EV_NONE;
	if (queue != NULL && search->distance != NULL) {
		search->distance[to] = 0;
		queue[tail++] = to;
	}
	while (head < tail) {
		const struct ev_node *node = &ev->nodes[queue[head]];
		uint32_t next = search->distance[queue[head++]] + 1;

		if (node->host)
			continue;
		for (uint32_t p = node->first_port; p < node->first_port + node->nports; p++) {
			uint32_t peer = ev->ports[p].peer_node;

			if (peer == EV_NONE || search->distance[peer] != EV_NONE)
				continue;
			search->distance[peer] = next;
			queue[tail++] = peer;
		}
	}
	free(queue);
	return queue != NULL && search->distance != NULL ? 0 : -ENOMEM;
}

static bool
has_seen(const struct search *search, uint32_t port)
{
	const struct evidence *ev = search->ev;
	const struct ev_flow *of = &ev->flows[search->flow];

	for (uint32_t i = search->seen->first[search->flow]; i != EV_NONE; i = search->seen->next[i]) {
		const struct rec_flow_seen *rec = EV_AT(ev->flows_seen, struct rec_flow_seen, i);

		if (ev->nodes[rec->hdr.node].first_port + rec->port == port)
			return true;
	}
	for (uint32_t s = of->first_seen; s < of->first_seen + of->nseen; s++)
		if (ev->seen[s] == port)
			return true;
	return false;
}

/* Every shortest path from a switch on. Each hop is one of at most the ports of a node, and there are few hops. */
static void
walk(struct search *search, uint32_t node)
{
	const struct evidence *ev = search->ev;

	if (search->distance[node] == 0) {
		uint32_t score = search->score + has_seen(search, search->last);

		if (search->best_hops != 0 && score <= search->best_score)
			return;
		memcpy(search->best, search->path, sizeof(search->best));
		search->best[search->hops] = search->last;
		search->best_hops = search->hops + 1;
		search->best_score = score;
		return;
	}
	if (search->hops + 1 == TWIN_MAX_HOPS)
		return;
	for (uint32_t p = ev->nodes[node].first_port; p < ev->nodes[node].first_port + ev->nodes[node].nports; p++) {
		uint32_t peer = ev->ports[p].peer_node, seen;

		if (peer == EV_NONE || search->distance[peer] + 1 != search->distance[node])
			continue;
		seen = has_seen(search, p);
		search->path[search->hops++] = p;
		search->score += seen;
		walk(search, peer);
		search->score -= seen;
		search->hops--;
	}
}

static void
find_path(const struct evidence *ev, const struct twin_seen *seen, struct twin_flow *flow)
{
	const struct ev_flow *of = &ev->flows[flow->flow];
	uint32_t first = of->src_port != EV_NONE ? ev->ports[of->src_port].peer_node : EV_NONE;
	uint32_t last = of->dst_port != EV_NONE ? ev->ports[of->dst_port].peer : EV_NONE;
	struct search search = { .ev = ev, .seen = seen, .flow = flow->flow, .last = last };

	flow->hops = 0;
	if (first == EV_NONE || last == EV_NONE)
		return;
	if (find_distances(&search, ev->ports[last].node) == 0 && search.distance[first] < TWIN_MAX_HOPS)
		walk(&search, first);
	if (search.best_score != 0) {
		memcpy(flow->path, search.best, sizeof(flow->path));
		flow->hops = search.best_hops;
	}
	free(search.distance);
}

/* ---- all of them ---- */

static int
by_bytes(const void *pa, const void *pb)
{
	const struct twin_flow *a = pa, *b = pb;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->flow < b->flow ? -1 : 1;
}

/* Bytes of a flow that switches counted from its first packet on. The port with most packets has lost none. */
static bool
take_counted(const struct evidence *ev, const struct twin_seen *seen, uint32_t index, struct twin_flow *flow)
{
	uint64_t packets = 0;

	for (uint32_t i = seen->first[index]; i != EV_NONE; i = seen->next[i])
		packets = max_u64(packets, EV_AT(ev->flows_seen, struct rec_flow_seen, i)->packets);
	*flow = (struct twin_flow){ .flow = index, .counted = packets != 0, .bytes = packets * ev->run.payload_bytes };
	return flow->counted;
}

uint64_t
twin_pipeline_ps(const struct evidence *ev)
{
	char text[REC_SETTING_TEXT + 1];
	const char *value = evidence_setting(ev, "timing.pipeline", text);
	uint64_t time_ps;

	return value != NULL && units_parse_time(value, &time_ps) == 0 ? time_ps : 0;
}

/* @return number of hops before a port of the flow's path, flow->hops: it is none of them */
static uint32_t
hops_before(const struct twin_flow *flow, uint32_t port)
{
	uint32_t h = 0;

	while (h < flow->hops && flow->path[h] != port)
		h++;
	return h;
}

/* From the NIC that sends to the egress of a hop, on an idle path: links, switches, and the packet whole at each. */
static uint64_t
transit_ps(const struct evidence *ev, const struct twin_flow *flow, uint32_t hop, uint64_t switch_ps)
{
	uint32_t from = ev->flows[flow->flow].src_port;
	uint64_t sum_ps = 0;

	for (uint32_t h = 0; h <= hop; h++) {
		const struct ev_port *port = &ev->ports[from];

		sum_ps += port->delay_ps + switch_ps;
		if (port->rate_bps != 0)
			sum_ps += (uint64_t)(ev->run.payload_bytes * 8e12 / (double)port->rate_bps);
		from = flow->path[h];
	}
	return sum_ps;
}

/* When a counted flow began: the first switch on its path that counted it saw its first packet so much later. */
static void
find_start(const struct evidence *ev, const struct twin_seen *seen, struct twin_flow *flow, uint64_t switch_ps)
{
	uint64_t first_ps = UINT64_MAX, before_ps = ev->ports[ev->flows[flow->flow].src_port].delay_ps;

	flow->counted_at = flow->hops;
	for (uint32_t i = seen->first[flow->flow]; i != EV_NONE; i = seen->next[i]) {
		const struct rec_flow_seen *rec = EV_AT(ev->flows_seen, struct rec_flow_seen, i);

		if (rec->first_ps >= first_ps)
			continue;
		first_ps = rec->first_ps;
		flow->counted_at = hops_before(flow, ev->nodes[rec->hdr.node].first_port + rec->port);
	}
	if (flow->counted_at < flow->hops)
		before_ps = transit_ps(ev, flow, flow->counted_at, switch_ps);
	flow->start_ps = first_ps - min_u64(first_ps, before_ps);
}

/* @return 0 or -ENOMEM */
static int
infer(const struct evidence *ev, uint32_t index, struct twin_flow *flow, bool *found)
{
	struct timeline line = { 0 };
	size_t most = 0;
	int ret;

	for (uint32_t s = ev->flows[index].first_seen; s < ev->flows[index].first_seen + ev->flows[index].nseen; s++)
		most += ev->ports[ev->seen[s]].nepochs;
	*flow = (struct twin_flow){ .flow = index };
	*found = false;
	line.spans = calloc(most + 1, sizeof(*line.spans));
	if (line.spans == NULL)
		return -ENOMEM;
	list_spans(ev, index, &line);
	ret = cut(&line);
	if (ret == 0)
		*found = measure(ev->run.payload_bytes, &line, flow);
	free(line.spans);
	free(line.pieces);
	return ret;
}

/* @return 0 or -ENOMEM */
static int
index_seen(const struct evidence *ev, struct twin_seen *seen)
{
	seen->first = malloc(((size_t)ev->nflows + 1) * sizeof(*seen->first));
	seen->next = malloc((ev->flows_seen.count + 1) * sizeof(*seen->next));
	if (seen->first == NULL || seen->next == NULL)
		return -ENOMEM;
	for (uint32_t f = 0; f < ev->nflows; f++)
		seen->first[f] = EV_NONE;
	for (uint32_t i = 0; i < ev->flows_seen.count; i++) {
		const struct rec_flow_seen *rec = EV_AT(ev->flows_seen, struct rec_flow_seen, i);
		uint32_t flow = evidence_flow(ev, &rec->flow);

		seen->next[i] = seen->first[flow];
		seen->first[flow] = i;
	}
	return 0;
}

/* @return 0 or -ENOMEM */
static int
infer_all(struct twin_model *model, const struct twin_seen *seen)
{
	const struct evidence *ev = model->ev;
	uint64_t switch_ps = twin_pipeline_ps(ev);

	for (uint32_t f = 0; f < ev->nflows; f++) {
		struct twin_flow *flow = &model->flows[model->nflows];
		bool found;

		if (ev->flows[f].collective || ev->flows[f].probed || ev->flows[f].src_port == EV_NONE ||
		    ev->flows[f].dst_port == EV_NONE)
			continue;
		found = take_counted(ev, seen, f, flow);
		if (!found && infer(ev, f, flow, &found) < 0)
			return -ENOMEM;
		if (!found || flow->bytes < TWIN_MIN_BYTES)
			continue;
		find_path(ev, seen, flow);
		if (flow->counted)
			find_start(ev, seen, flow, switch_ps);
		model->nflows++;
	}
	return 0;
}

int
twin_flows_infer(struct twin_model *model, struct err *err)
{
	const struct evidence *ev = model->ev;
	struct twin_seen seen = { NULL, NULL };
	int ret = index_seen(ev, &seen);

	model->flows = calloc((size_t)ev->nflows + 1, sizeof(*model->flows));
	if (model->flows == NULL)
		ret = -ENOMEM;
	if (ret == 0)
		ret = infer_all(model, &seen);
	free(seen.first);
	free(seen.next);
	if (ret < 0)
		return err_set(err, ret, "out of memory for %u flows", ev->nflows);
	qsort(model->flows, model->nflows, sizeof(*model->flows), by_bytes);
	model->nflows = min_u32(model->nflows, TWIN_MAX_FLOWS);
	return 0;
}
