/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What causes cost a job: its waiting graph replayed without them. A step that takes less lets those begin earlier that wait
 * for it, and what another way through the graph takes as long was not lost by this one alone. So each cause has its Shapley
 * value: what its presence adds to the job's time, on average over all orders in which the causes could have come.
 */
#pragma once

#include <stdint.h>

#include "common/err.h"
#include "diag/run/run.h"

/* A cause and what it made of one step's time. */
struct replay_claim {
	uint32_t step;        /* index into run.steps */
	uint32_t player;      /* which cause: any number that is its own; the call numbers them anew */
	uint32_t owner, part; /* the caller's */
	bool host;            /* a host's lateness: hosts wait for each other, and may cost only together */
	bool found;           /* a finding's, not what nobody explains */
	double ps;            /* of its lost time (run_lost_ps()); of all causes together at most that */
	double share_ps;      /* result */
	double regained_ps; /* result: without its player alone the job would take so much less, of which this claim's part */
};

/* What the job would regain without several causes at once. */
struct replay_together {
	double hosts_ps; /* without the lateness of all hosts */
	double found_ps; /* without all that findings explain */
};

/*
 * The claims of one job; what is not claimed of a step stays in every replay. Of a generator's flows, which nobody waits
 * for, each claim counts in full. Sampled, where orders are many: with the same claims always alike.
 * @param job       index into run.jobs: every claim is of one of its steps
 * @param claims    [count] sorted by the call; results are set. The sum of share_ps is the job's time as it was less the
 *                  time without all of them
 * @param together  set
 * @return 0, or -ENOMEM with err
 */
int replay_share(const struct run *run, uint32_t job, struct replay_claim *claims, uint32_t count,
		 struct replay_together *together, struct err *err);
