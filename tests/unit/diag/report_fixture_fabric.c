/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/diag/report_fixture_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"

void *
fixture_alloc(size_t count, size_t size_bytes)
{
	void *memory = calloc(count > 0 ? count : 1, size_bytes);

	if (memory == NULL)
		abort();
	return memory;
}

uint32_t
fixture_port(const struct verdict *v, const char *name)
{
	for (uint32_t i = 0; i < v->nports; i++) {
		if (strcmp(v->ports[i].name, name) == 0)
			return i;
	}
	fprintf(stderr, "fixture: no port %s\n", name);
	abort();
}

void
fixture_fabric(struct verdict *v, uint32_t nnodes, uint32_t nswitches, const uint32_t (*links)[2], uint32_t nlinks)
{
	uint32_t *next = fixture_alloc(nnodes, sizeof(*next));

	v->nnodes = nnodes;
	v->nodes = fixture_alloc(nnodes, sizeof(*v->nodes));
	v->nports = 2 * nlinks;
	v->ports = fixture_alloc(v->nports, sizeof(*v->ports));
	for (uint32_t i = 0; i < nlinks; i++) {
		v->nodes[links[i][0]].nports++;
		v->nodes[links[i][1]].nports++;
	}
	for (uint32_t i = 0; i < nnodes; i++) {
		snprintf(v->nodes[i].name, sizeof(v->nodes[i].name), "%u", i);
		v->nodes[i].host = i >= nswitches;
		v->nodes[i].first_port = i == 0 ? 0 : v->nodes[i - 1].first_port + v->nodes[i - 1].nports;
	}
	for (uint32_t i = 0; i < nlinks; i++) {
		uint32_t port[2];

		for (int end = 0; end < 2; end++)
			port[end] = v->nodes[links[i][end]].first_port + next[links[i][end]]++;
		for (int end = 0; end < 2; end++) {
			struct verdict_port *p = &v->ports[port[end]];

			p->node = links[i][end];
			p->index = (uint16_t)(port[end] - v->nodes[p->node].first_port);
			snprintf(p->name, sizeof(p->name), "%u:%u", p->node, p->index + 1);
			p->peer_node = links[i][1 - end];
			p->peer_port = port[1 - end];
			p->rate_bps = 100000000000ULL;
			p->delay_ps = 2 * PS_PER_US;
			p->ip = v->nodes[p->node].host ? 0x0a000001 + p->node : 0;
		}
	}
	free(next);
}

void
fixture_flow(struct verdict *v, uint32_t flow, uint32_t src, uint32_t dst, uint16_t udp_port, bool collective)
{
	struct verdict_flow *f = &v->flows[flow];

	f->tuple = (struct rec_tuple){ 0x0a000001 + src, 0x0a000001 + dst, udp_port, udp_port, 0 };
	f->src = src;
	f->dst = dst;
	f->collective = collective;
	snprintf(f->name, sizeof(f->name), "%u->%u/%u>%u", src, dst, udp_port, udp_port);
}

void
fixture_hops(struct verdict *v, uint32_t flow, const char *path)
{
	char name[16];
	uint16_t hop = 0;

	for (int used; sscanf(path, "%15s%n", name, &used) == 1; path += used) {
		v->hops = realloc(v->hops, (v->nhops + 1) * sizeof(*v->hops));
		v->hops[v->nhops++] = (struct verdict_hop){ flow, fixture_port(v, name), hop++, false };
	}
}

uint32_t
fixture_step(const struct verdict *v, uint32_t rank, uint32_t step)
{
	return rank * v->collectives[0].steps_per_rank + step - 1;
}

void
fixture_steps(struct verdict *v, const uint32_t *flow_of_rank, const uint64_t *duration_ps, uint64_t start_ps,
	      uint64_t expect_ps)
{
	struct verdict_collective *c = &v->collectives[0];

	v->nsteps = c->nsteps = c->ranks * c->steps_per_rank;
	v->steps = fixture_alloc(v->nsteps, sizeof(*v->steps));
	for (uint32_t s = 1; s <= c->steps_per_rank; s++) {
		for (uint32_t r = 0; r < c->ranks; r++) {
			uint32_t at = fixture_step(v, r, s);
			uint32_t own = s > 1 ? at - 1 : VERDICT_NONE;
			uint32_t data = s > 1 ? fixture_step(v, (r + c->ranks - 1) % c->ranks, s - 1) : VERDICT_NONE;
			struct verdict_step *step = &v->steps[at];

			*step = (struct verdict_step){ .flow = flow_of_rank[r],
						       .rank = r,
						       .step = s,
						       .host = v->flows[flow_of_rank[r]].src,
						       .bytes = c->step_bytes,
						       .acked_bytes = c->step_bytes,
						       .reported = true,
						       .started = true,
						       .start_ps = start_ps,
						       .ideal_ps = expect_ps - expect_ps / 35,
						       .expect_ps = expect_ps,
						       .base_rtt_ps = 25 * PS_PER_US,
						       .previous = own,
						       .depends = data,
						       .waited_for = own,
						       .graph = VERDICT_NONE,
						       .completeness = 1 };
			if (s > 1) {
				if (v->steps[data].end_ps > v->steps[own].end_ps)
					step->waited_for = data;
				step->start_ps = v->steps[step->waited_for].end_ps;
			}
			step->end_ps = step->start_ps + duration_ps[at];
			step->slow = duration_ps[at] > expect_ps + expect_ps * VERDICT_SLOW_PERCENT / 100;
			c->end_ps = step->end_ps > c->end_ps ? step->end_ps : c->end_ps;
		}
	}
	c->start_ps = start_ps;
	c->complete = true;
	v->end_ps = c->end_ps;
}

void
fixture_wait(struct verdict *v)
{
	struct err err = { 0 };

	free(v->waiting);
	v->waiting = fixture_alloc(v->ncollectives, sizeof(*v->waiting));
	if (wgraph_build(v->steps, 0, v->nsteps, &v->waiting[0], &err) != 0)
		abort();
	for (uint32_t i = 0; i < v->waiting[0].npath; i++)
		v->steps[v->waiting[0].path[i]].critical = true;
}
