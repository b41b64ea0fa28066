/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowtracer/paths.h"

#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "diag/run/fill.h"

/* A record of a hop, and whose it is. */
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
	return a->hop < b->hop ? -1 : a->hop > b->hop;
}

static int
cmp_path(const void *pa, const void *pb)
{
	const struct flowtracer_path *a = pa, *b = pb;

	if (a->flow != b->flow)
		return a->flow < b->flow ? -1 : 1;
	return a->round < b->round ? -1 : a->round > b->round;
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
		round->end_ps = max_u64(round->end_ps, rec->hdr.time_ps);
		round->bytes += rec->sent_bytes + rec->received_bytes;
		round->complete &= rec->complete != 0;
	}
	return 0;
}

/* The last round of those in which most flows were traced. */
static void
choose_round(struct flowtracer *own)
{
	uint32_t most = 0, *traced = calloc(own->nrounds + 1u, sizeof(*traced));

	own->shown = RUN_NONE;
	for (uint32_t i = 0; i < own->npaths && traced != NULL; i++)
		traced[min_u32(own->paths[i].round, own->nrounds)]++;
	for (uint32_t r = 0; r <= own->nrounds && traced != NULL; r++) {
		if (traced[r] == 0 || traced[r] < most)
			continue;
		most = traced[r];
		own->shown = r;
	}
	free(traced);
}

static uint32_t
port_of(const struct run *run, uint32_t node, uint16_t port)
{
	return port < run->nodes[node].nports ? run->nodes[node].first_port + port : RUN_NONE;
}

static void
put_hops(struct flowtracer *own, const struct run *run, struct flowtracer_path *path, const struct rec_traced *traced,
	 const struct path_report **reports, const struct path_report *end)
{
	path->first = own->nhops;
	own->hops[own->nhops++] = (struct flowtracer_hop){ .node = traced->hdr.node,
							   .port = port_of(run, traced->hdr.node, traced->nic),
							   .set = { { traced->set_low, traced->set_high } } };
	while (*reports < end && (*reports)->flow == path->flow && (*reports)->round < path->round)
		(*reports)++;
	for (; *reports < end && (*reports)->flow == path->flow && (*reports)->round == path->round; (*reports)++) {
		const struct rec_traced_hop *rec = (*reports)->rec;

		own->hops[own->nhops++] = (struct flowtracer_hop){ .node = rec->hdr.node,
								   .port = port_of(run, rec->hdr.node, rec->out_port),
								   .set = { { rec->set_low, rec->set_high } } };
	}
	path->nhops = own->nhops - path->first;
}

/* Records of flows come in the order of time: sorted by flow and round first, each takes the hops that are told of it. */
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
							  .told_ps = rec->told_ps,
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

int
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
		choose_round(own);
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
	while (lo + 1 < own->npaths && own->paths[lo + 1].flow == flow && own->paths[lo + 1].told_ps <= time_ps)
		path = &own->paths[++lo];
	return path;
}
