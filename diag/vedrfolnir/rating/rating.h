/* SPDX-License-Identifier: BSD-3-Clause */
/* Contributor rating (III-D3): the effect of each flow on a step, and on the whole collective. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "diag/run/run.h"
#include "diag/vedrfolnir/provenance/provenance.h"

/*
 * Eq. 1, from downstream to upstream:
 * R(f, p_up) = w(p_up, f) + sum over e(p_up, p_down) of R(f, p_down) * w(p_up, p_down).
 * Ports that wait for each other in a circle count as one: each has the sum of the circle's w(p, f), and of what
 * leaves the circle.
 * @param r  filled: R(f, p) at [p * graph->nflows + f]
 */
void rating_ports(const struct prov_graph *graph, double *r);

/*
 * Eq. 2: R(f, cf) = sum over the ports p_k that cf waits at of [(w(cf,f) - w(p_k,f)) * I(f, p_k) + R(f, p_k)], where
 * w(cf,f) is the wait of cf for f at p_k itself, and I(f, p_k) is 1 if f was at p_k at the same time as cf.
 * @param r       of Eq. 1
 * @param scores  filled, in packet-waits, [graph->nflows]; 0 for the victim itself
 */
void rating_flows(const struct prov_graph *graph, const double *r, double *scores);

/*
 * The weight of one critical step in Eq. 3: (exec - expect) / sum over k of (exec_k - expect_k), with each difference
 * clamped at 0; 0 if nothing was slow.
 */
double rating_step_weight(uint64_t exec_ps, uint64_t expect_ps, double excess_sum_ps);

/* exec - expect, clamped at 0: the terms of the sum in Eq. 3. */
double rating_excess_ps(uint64_t exec_ps, uint64_t expect_ps);

/*
 * The time budget of a step: its lost time, divided among the claims to it, so that nothing is counted twice and
 * unclaimed time stays unexplained. Pure.
 */

#define BUDGET_NO_FLOW UINT32_MAX

/* A claim to the step's lost time. */
struct budget_claim {
	uint32_t flow;        /* its claims at several ports are about the same packets; BUDGET_NO_FLOW: about no flow */
	uint32_t owner, part; /* the caller's: they identify claims */
	bool rest;            /* cannot be measured: gets a part of the time that the others leave */
	double most_ps;       /* it cannot have cost more */
	double waited_ps;     /* how long the step waited for it: weighs claims that together exceed the lost time */
	double share_ps;      /* result */
};

/*
 * Claims of one flow are one: at most the largest of them, weighed by the step's wait for it in all. All get their
 * claims if these are not more than the lost time; else each in proportion of the waits, and none more than its claim.
 * The rest goes to those that cannot be measured, in proportion of their claims.
 * @param claims  [count] sorted by the call; the results are set. Their sum is at most lost_ps
 */
void budget_split(struct budget_claim *claims, uint32_t count, double lost_ps);

/*
 * The cost of causes to a job: its waiting graph replayed without them. A step that takes less lets the steps that wait
 * for it begin earlier. Where another path through the graph takes as long, this cause alone did not lose the time. So
 * each cause has its Shapley value: the time that it adds to the job, on average over all orders in which the causes
 * could be added.
 */

/* A cause and its part of one step's time. */
struct replay_claim {
	uint32_t step;        /* index into run.steps */
	uint32_t player;      /* which cause: any number that is its own; the call numbers them anew */
	uint32_t owner, part; /* the caller's */
	bool host;            /* a host's lateness: hosts wait for each other, and may cost only together */
	bool found;           /* a finding's, not unexplained time */
	bool shifts;          /* without it the job's bytes may pass other ports, or be sent at other times of these */
	double ps;            /* of its lost time (run_lost_ps()); of all causes together at most that */
	double share_ps;      /* result */
	double regained_ps;   /* result: this claim's part of the time saved without its player alone */
};

/* The time that the job would regain without several causes at once. */
struct replay_together {
	double hosts_ps; /* without the lateness of all hosts */
	double found_ps; /* without all that findings explain */
};

/*
 * The claims of one job; unclaimed time of a step stays in every replay. Of a generator's flows, which no step waits
 * for, each claim counts in full. Sampled, where there are many orders: the same claims always give the same result.
 * @param job       index into run.jobs: every claim is of one of its steps
 * @param claims    [count] sorted by the call; results are set. The sum of share_ps is the job's time less its time
 *                  without all of them
 * @param together  set
 * @return 0, or -ENOMEM with err
 */
int replay_share(const struct run *run, uint32_t job, struct replay_claim *claims, uint32_t count,
		 struct replay_together *together, struct err *err);
