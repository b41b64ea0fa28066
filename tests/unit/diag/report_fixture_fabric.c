/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/diag/report_fixture_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "diag/registry.h"
#include "diag/vedrfolnir/section.h"

void *
fixture_alloc(size_t count, size_t size_bytes)
{
	void *memory = calloc(count > 0 ? count : 1, size_bytes);

	if (memory == NULL)
		abort();
	return memory;
}

struct verdict *
fixture_verdict(void)
{
	struct verdict *v = fixture_alloc(1, sizeof(*v));

	v->nsections = 1;
	v->sections = fixture_alloc(1, sizeof(*v->sections));
	v->sections[0].by = &diagnosers[0];
	v->sections[0].own = fixture_alloc(1, sizeof(struct vedrfolnir));
	return v;
}

uint32_t
fixture_port(const struct verdict *v, const char *name)
{
	for (uint32_t i = 0; i < v->run.nports; i++) {
		if (strcmp(v->run.ports[i].name, name) == 0)
			return i;
	}
	fprintf(stderr, "fixture: no port %s\n", name);
	abort();
}

void
fixture_fabric(struct verdict *v, uint32_t nnodes, uint32_t nswitches, const uint32_t (*links)[2], uint32_t nlinks)
{
	uint32_t *next = fixture_alloc(nnodes, sizeof(*next));

	v->run.nnodes = nnodes;
	v->run.nodes = fixture_alloc(nnodes, sizeof(*v->run.nodes));
	v->run.nports = 2 * nlinks;
	v->run.ports = fixture_alloc(v->run.nports, sizeof(*v->run.ports));
	for (uint32_t i = 0; i < nlinks; i++) {
		v->run.nodes[links[i][0]].nports++;
		v->run.nodes[links[i][1]].nports++;
	}
	for (uint32_t i = 0; i < nnodes; i++) {
		snprintf(v->run.nodes[i].name, sizeof(v->run.nodes[i].name), "%u", i);
		v->run.nodes[i].host = i >= nswitches;
		v->run.nodes[i].first_port = i == 0 ? 0 : v->run.nodes[i - 1].first_port + v->run.nodes[i - 1].nports;
	}
	for (uint32_t i = 0; i < nlinks; i++) {
		uint32_t port[2];

		for (int end = 0; end < 2; end++)
			port[end] = v->run.nodes[links[i][end]].first_port + next[links[i][end]]++;
		for (int end = 0; end < 2; end++) {
			struct run_port *p = &v->run.ports[port[end]];

			p->node = links[i][end];
			p->index = (uint16_t)(port[end] - v->run.nodes[p->node].first_port);
			snprintf(p->name, sizeof(p->name), "%u:%u", p->node, p->index + 1);
			p->peer_node = links[i][1 - end];
			p->peer_port = port[1 - end];
			p->rate_bps = 100000000000ULL;
			p->ip = v->run.nodes[p->node].host ? 0x0a000001 + p->node : 0;
		}
	}
	free(next);
}

void
fixture_flow(struct verdict *v, uint32_t flow, uint32_t src, uint32_t dst, uint16_t udp_port, bool collective)
{
	struct run_flow *f = &v->run.flows[flow];

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
		v->run.hops = realloc(v->run.hops, (v->run.nhops + 1) * sizeof(*v->run.hops));
		v->run.hops[v->run.nhops++] = (struct run_hop){ flow, fixture_port(v, name), hop++, false };
	}
}

uint32_t
fixture_step(const struct verdict *v, uint32_t rank, uint32_t step)
{
	return rank * v->run.collectives[0].rank_steps + step - 1;
}

void
fixture_steps(struct verdict *v, const uint32_t *flow_of_rank, const uint64_t *duration_ps, uint64_t start_ps,
	      uint64_t expect_ps)
{
	struct run_collective *c = &v->run.collectives[0];

	v->run.nsteps = c->nsteps = c->ranks * c->rank_steps;
	v->run.steps = fixture_alloc(v->run.nsteps, sizeof(*v->run.steps));
	v->run.depends = fixture_alloc(2 * (size_t)v->run.nsteps, sizeof(*v->run.depends));
	for (uint32_t s = 1; s <= c->rank_steps; s++) {
		for (uint32_t r = 0; r < c->ranks; r++) {
			uint32_t at = fixture_step(v, r, s);
			uint32_t own = s > 1 ? at - 1 : RUN_NONE;
			uint32_t data = s > 1 ? fixture_step(v, (r + c->ranks - 1) % c->ranks, s - 1) : RUN_NONE;
			struct run_step *step = &v->run.steps[at];

			*step = (struct run_step){ .flow = flow_of_rank[r],
						   .rank = r,
						   .step = s,
						   .host = v->run.flows[flow_of_rank[r]].src,
						   .bytes = c->step_bytes,
						   .acked_bytes = c->step_bytes,
						   .reported = true,
						   .started = true,
						   .start_ps = start_ps,
						   .ideal_ps = expect_ps - expect_ps / 35,
						   .expect_ps = expect_ps,
						   .base_rtt_ps = 25 * PS_PER_US,
						   .peer = (r + 1) % c->ranks,
						   .first_dep = v->run.ndepends,
						   .waited_for = own,
						   .completeness = 1 };
			if (s > 1) {
				step->ndeps = 2;
				v->run.depends[v->run.ndepends++] = own;
				v->run.depends[v->run.ndepends++] = data;
				if (v->run.steps[data].end_ps > v->run.steps[own].end_ps)
					step->waited_for = data;
				step->start_ps = v->run.steps[step->waited_for].end_ps;
			}
			step->end_ps = step->start_ps + duration_ps[at];
			step->slow = duration_ps[at] > expect_ps + expect_ps * RUN_SLOW_PERCENT / 100;
			c->end_ps = step->end_ps > c->end_ps ? step->end_ps : c->end_ps;
		}
	}
	c->start_ps = start_ps;
	c->complete = c->begun = true;
	v->run.end_ps = c->end_ps;
	fixture_job(v);
}

void
fixture_job(struct verdict *v)
{
	const struct run_collective *c = &v->run.collectives[0];

	free(v->run.jobs);
	free(v->run.iterations);
	v->run.njobs = v->run.niterations = 1;
	v->run.jobs = fixture_alloc(1, sizeof(*v->run.jobs));
	v->run.iterations = fixture_alloc(1, sizeof(*v->run.iterations));
	v->run.jobs[0] = (struct run_job){ .name = "train", .niterations = 1 };
	v->run.iterations[0] = (struct run_iteration){ .ncollectives = 1,
						       .nsteps = c->nsteps,
						       .start_ps = c->start_ps,
						       .end_ps = c->end_ps,
						       .complete = c->complete,
						       .begun = true };
}

void
fixture_wait(struct verdict *v)
{
	struct vedrfolnir *own = vedrfolnir_of(v);
	struct err err = { 0 };

	free(own->waiting);
	free(own->steps);
	own->steps = fixture_alloc(v->run.nsteps, sizeof(*own->steps));
	for (uint32_t i = 0; i < v->run.nsteps; i++)
		own->steps[i].graph = RUN_NONE;
	own->nwaiting = v->run.niterations;
	own->waiting = fixture_alloc(own->nwaiting, sizeof(*own->waiting));
	if (wgraph_build(v->run.steps, 0, v->run.nsteps, &own->waiting[0], &err) != 0)
		abort();
	free(own->ledgers);
	own->ledgers = fixture_alloc(own->waiting[0].npath, sizeof(*own->ledgers));
	for (uint32_t i = 0; i < own->waiting[0].npath; i++)
		own->steps[own->waiting[0].path[i]].critical = true;
	fixture_budget(v);
}

void
fixture_budget(struct verdict *v)
{
	struct section section = v->sections[0];
	struct err err = { 0 };

	free(vedrfolnir_of(v)->budgets);
	section.findings = v->findings;
	section.nfindings = v->nfindings;
	if (budgets_sum_up(&v->run, &section, &err) != 0)
		abort();
}
