/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counterfactuals: a scenario is run again without some of its suspects, and the time that a job regains is their
 * cost. Nothing of it reaches a diagnoser.
 *
 * Fill in cases, run what the store does not have yet, then ask for the truth of each.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "eval/store.h"
#include "eval/suspect.h"

/* A suspect is without effect whose absence regains less than this part of the run's time, and less than a base RTT. */
#define RERUN_MIN_SHARE 0.005

struct rerun_case {
	const char *family; /* with index, by which the store has it */
	uint32_t index;
	const char *scenario;    /* its file; every run is of it, with sets */
	const char *const *sets; /* [nsets] "seed=2", given to every run */
	size_t nsets;
	const char *dir; /* exists; runs have folders in it while they last */
	const struct scenario
		*loaded; /* of that file and these sets, for its jobs and limits; only until rerun_case_init() returns */
	struct suspects suspects; /* at most SUSPECT_MAX */
	uint32_t job;             /* whose time counts */
	bool diagnose;            /* the run with all suspects: DIR/RERUN_BASE keeps its verdict */
	/* Of rerun_case_init(): */
	const char *policy;  /* of detection, as the scenario has it */
	uint64_t rtt_ns;     /* largest base RTT of the job's flows */
	uint64_t *starts_ns; /* [njobs] */
	uint32_t njobs;
};

#define RERUN_BASE "run-0"

/*
 * Completes a case whose members down to diagnose are set.
 * @return 0, or -EINVAL with err set: too many suspects, a clock that cannot be repeated, no such job; -ENOMEM
 */
int rerun_case_init(struct rerun_case *c, struct err *err);
/* Frees its suspects too. */
void rerun_case_fini(struct rerun_case *c);

struct reruns {
	struct store *store;
	const struct rerun_case *cases; /* [ncases] */
	size_t ncases;
	uint32_t jobs; /* side by side */
};

/* Runs that a case takes: all sets of up to SHAPLEY_MAX suspects; of more, each alone, none, and all. */
uint64_t rerun_sets(const struct rerun_case *c);
/* @return the mask of its index-th set; the first is 0: none is left out */
uint64_t rerun_set(const struct rerun_case *c, uint64_t index);

/*
 * Makes the runs that the store does not have. Progress is shown on stderr if that is a terminal.
 * @return how many runs broke, -EINTR: interrupted, the store has the finished runs; other negative errno with err
 *         set
 */
int reruns_run(const struct reruns *reruns, struct err *err);

/* The cost of one suspect. */
struct rerun_cost {
	double without_ns;  /* the job's time without it alone */
	bool complete;      /* it was done then; else without_ns is when the run ended */
	double regained_ns; /* by leaving it out alone */
	double shapley_ns;  /* its share of the cost of all together, where that is known */
	bool has_effect;
};

struct rerun_truth {
	double base_ns, all_ns; /* the job's time with all suspects, and with none */
	bool base_complete, all_complete;
	bool has_shapley;
	struct rerun_cost costs[SUSPECT_MAX]; /* by suspect */
};

/* Is so much time an effect, in a run that took base_ns? */
bool rerun_is_effect(const struct rerun_case *c, double base_ns, double time_ns);

/* @return 0, or -ENODATA with err set: the store does not have all of its runs */
int rerun_truth(struct store *store, const struct rerun_case *c, struct rerun_truth *truth, struct err *err);

/*
 * The shares of the time that several causes cost together (Shapley, A Value for n-Person Games, 1953). Sets of
 * causes are masks, bit i for cause i; the worth of a set is the time regained without it.
 */

#define SHAPLEY_MAX 6 /* causes: all 64 sets are run */

/*
 * The mean, over all orders in which causes go, of the time that each regains in its turn. The shares sum to the
 * worth of all together.
 * @param worth   [1 << count] of every set, worth[0] is 0
 * @param count   causes, 1 to SHAPLEY_MAX
 * @param shares  [count] filled in, in the unit of worth
 */
void shapley(const double *worth, uint32_t count, double *shares);
/*
 * Do two ratings order causes alike? Kendall's tau-b (The Treatment of Ties in Ranking Problems, 1945): 1 the same order,
 * -1 the reverse, 0 no relation, or one of them has no order at all.
 * @param a, b  [count]
 */
double kendall_tau(const double *a, const double *b, uint32_t count);
