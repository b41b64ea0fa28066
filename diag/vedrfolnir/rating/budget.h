/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time budget of a step: what it lost, divided among those that claim it, so that nothing is counted twice and what
 * nobody claims stays unexplained. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_NO_FLOW UINT32_MAX

/* Who says that he cost the step time. */
struct budget_claim {
	uint32_t flow;        /* its claims at several ports are about the same packets; BUDGET_NO_FLOW: about no flow */
	uint32_t owner, part; /* the caller's, tell claims apart */
	bool rest;            /* cannot be measured: gets of what the others leave */
	double most_ps;       /* it cannot have cost more */
	double waited_ps;     /* how long the step waited for it: by this claims are weighed that exceed what was lost */
	double share_ps;      /* result */
};

/*
 * Claims of one flow are one: at most the largest of them, weighed by what the step waited for it in all. All get what they
 * claim if that is not more than was lost; else each in proportion of the waits, and none more than it claims. The rest
 * goes to those that cannot be measured, in proportion of what they claim.
 * @param claims  [count] sorted by the call; the results are set. Their sum is at most lost_ps
 */
void budget_split(struct budget_claim *claims, uint32_t count, double lost_ps);
