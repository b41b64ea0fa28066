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

#include "common/err.h"
#include "twin/rerun/shard.h"
#include "twin/rerun/suspect.h"

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
 * One of the orders by which shares of more causes are sampled (Castro et al., Polynomial Calculation of the Shapley
 * Value Based on Sampling, 2009). Orders 2k and 2k + 1 are the reverse of each other, which takes most of the variance.
 * @param order  [count] filled in
 */
void shapley_order(uint64_t seed, uint32_t index, uint32_t count, uint32_t *order);

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
	size_t trials;            /* the last of them, remedies that are tried: each alone, and no part of all together */
	uint32_t job;             /* whose time counts */
	uint32_t orders; /* of more than SHAPLEY_MAX suspects, by which shares are sampled; even, 0: they are not */
	uint32_t draws;  /* of packets' chance, each with all sets; 0: one, as the scenario has it */
	bool diagnose;   /* the run with all suspects: DIR/RERUN_BASE keeps its verdict */
	/* Of rerun_case_init(): */
	const char *policy;  /* of detection, as the scenario has it */
	uint64_t rtt_ns;     /* largest base RTT of the job's flows */
	uint64_t *starts_ns; /* [njobs] */
	uint32_t njobs;
	uint64_t *sets_out; /* [nsets_out] masks of the suspects that are left out, each once; the first is 0 */
	uint64_t nsets_out;
};

#define RERUN_BASE "run-0"

/*
 * Completes a case whose members down to diagnose are set. It takes runs without all sets of up to SHAPLEY_MAX suspects;
 * of more, without each alone, without none and all, and the sets of its orders; and one with each trial.
 * @return 0, or -EINVAL with err set: too many suspects, a clock that cannot be repeated, no such job; -ENOMEM
 */
int rerun_case_init(struct rerun_case *c, struct err *err);
/* Frees its suspects too. */
void rerun_case_fini(struct rerun_case *c);

struct reruns {
	struct rerun_store *store;
	const struct rerun_case *cases; /* [ncases] */
	size_t ncases;
	uint32_t jobs;             /* side by side */
	const struct shard *shard; /* NULL: all are made */
	bool shares_cases;         /* a case's runs are all of one shard; else shards have a part of each case's */
};

/*
 * Makes the runs that the store does not have. Progress is shown on stderr if that is a terminal.
 * @return how many runs broke, -EINTR: interrupted, the store has the finished runs; other negative errno with err
 *         set
 */
int reruns_run(const struct reruns *reruns, struct err *err);

/* The cost of one suspect, a mean over draws of chance. */
struct rerun_cost {
	double without_ns;  /* the job's time without it alone */
	bool complete;      /* it was done then; else without_ns is when the run ended */
	double regained_ns; /* by leaving it out alone */
	double shapley_ns;  /* its share of the cost of all together, where that is known */
	/* Standard errors of these two: over draws, and of a share that was sampled. The draws of a pair are the same. */
	double regained_error_ns, error_ns;
	double draws_error_ns; /* the part of error_ns that more draws make smaller */
	/* Words that a 95 % interval leaves room for: some have neither. */
	bool has_effect, has_none;
};

struct rerun_truth {
	double base_ns, all_ns; /* the job's time with all suspects, and with none, on average over draws */
	double base_error_ns;   /* its standard error */
	double all_error_ns;    /* of what leaving out all regains */
	double limit; /* standard errors that lie within a 95 % interval of a mean over so few draws, to each side */
	bool base_complete, all_complete;
	bool has_shapley;
	struct rerun_cost costs[SUSPECT_MAX]; /* by suspect */
};

/* @return how many suspects come before the trials */
size_t rerun_causes(const struct rerun_case *c);

/*
 * How many standard errors a 95 % interval of a mean over draws reaches to each side (Student, The Probable Error of a
 * Mean, 1908): 12.7 of two draws, 2.4 of eight. Of one draw, that of a share that was sampled by orders.
 */
double rerun_limit(const struct rerun_case *c, uint32_t draws);

/* Is so much time an effect, in a run that took base_ns? */
bool rerun_is_effect(const struct rerun_case *c, double base_ns, double time_ns);

/* To shares of their sum. @param of  [count] @return the sum */
double rerun_normalize(double *of, size_t count);

/*
 * Shares of Shapley's costs that are an effect. What may be nothing is known best by its mean.
 * @param shares  [c->suspects.count] filled in
 * @return the sum of these costs
 */
double rerun_shares(const struct rerun_case *c, const struct rerun_truth *truth, double *shares);

/*
 * By how much shares that are right differ on average from those of costs with such standard errors: by what is expected of
 * normal errors, first order.
 * @param shares     [count] their sum is 1
 * @param errors_ns  [count] of the costs, whose sum is sum_ns
 */
double rerun_shares_error(const double *shares, const double *errors_ns, size_t count, double sum_ns);

/* @return 0, or -ENODATA with err set: the store does not have all of its runs */
int rerun_truth(struct rerun_store *store, const struct rerun_case *c, struct rerun_truth *truth, struct err *err);

/* The finished runs, in one SQLite file: stored runs are not made again. */
struct rerun_store;

/* A case run again without some of its suspects: when a job was done. */
struct rerun_result {
	const char *family;
	uint32_t index;
	uint64_t without; /* a mask of suspects */
	uint32_t draw;    /* of packets' chance */
	uint32_t job;
	uint64_t time_ns; /* since the job's start; until the end of the run where it was not done */
	bool complete;
};

/*
 * Opens or makes a store.
 * @param of  of what the results are, as one text: " odd, seed 3"
 * @return NULL with err and errno set: EIO: the disk is full or broken; EINVAL: it has results of something else
 */
struct rerun_store *rerun_store_open(const char *path, const char *of, struct err *err);
void rerun_store_close(struct rerun_store *store);

/* @return 0, or -EIO with err set */
int rerun_store_add(struct rerun_store *store, const struct rerun_result *result, struct err *err);
/* @param result  all up to job is set, the rest is filled in @return whether there is one */
bool rerun_store_find(struct rerun_store *store, struct rerun_result *result);
