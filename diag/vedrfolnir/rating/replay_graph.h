/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job's waiting graph (III-B) as what it takes to replay it: who waits for whom, and how long each took from then on. Over
 * all of its iterations: a rank begins a collective when it is done with those before.
 */
#pragma once

#include <stdint.h>

#include "common/err.h"
#include "diag/run/run.h"

/* A started step, or what a rank had to do in a collective, which is done with the last that it waits for. */
struct replay_node {
	double end_ps;  /* as it was */
	double took_ps; /* of it, after the last that it waited for; from time 0 if it waited for none */
	uint32_t first_on, non;
	uint32_t last; /* of the latest replay: for which it waited to the last; RUN_NONE: for none */
	double replayed_ps;
	double less_ps; /* set by the caller: it takes so much less */
};

/* Nodes are in an order in which each comes after all that it waits for: a replay goes through memory as it lies. */
struct replay_graph {
	struct replay_node *nodes; /* [nnodes] */
	uint32_t nnodes, first_step;
	uint32_t *on; /* [non] node by node: what they wait for */
	uint32_t non;
	uint32_t *at; /* nodes of the job's steps, from first_step: RUN_NONE for one that takes no part */
};

/*
 * @param job  index into run.jobs
 * @return 0, or -ENOMEM with err; replay_graph_fini() in any case
 */
int replay_graph_init(struct replay_graph *graph, const struct run *run, uint32_t job, struct err *err);
void replay_graph_fini(struct replay_graph *graph);

/* When the job ends if each node takes less_ps less. @param last  set to the node that ends last, RUN_NONE: there is none */
double replay_graph_end_ps(struct replay_graph *graph, uint32_t *last);
