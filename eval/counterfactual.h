/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do verdicts blame the causes that cost time? Random cases of several causes each; the truth is the time that
 * running without each regains (rerun.h), the claim is the verdict's (suspect.h).
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "common/err.h"
#include "common/prng.h"
#include "twin/rerun/rerun.h"
#include "twin/rerun/shard.h"
#include "twin/rerun/suspect.h"

#define COUNTERFACTUAL_MAX_SEEDS 1000

struct counterfactual {
	uint64_t seeds[COUNTERFACTUAL_MAX_SEEDS];
	uint32_t nseeds;
	uint32_t cases; /* of each seed */
	uint32_t jobs;
	const struct shard *shard; /* of the cases */
	bool estimates_alone;      /* no twins are made */
	uint32_t draws;            /* of packets' chance, over which the truth is a mean */
	const char *truth; /* an earlier counterfactual_print_json() of these cases, of which it is; NULL: of reruns */
	const char *dir;   /* DIR/SEED/NNN */
	/* Of counterfactual_make(): */
	json_t *truths; /* of that file */
	struct rerun_store *store;
	struct counterfactual_case *made; /* [nmade] by seed and index */
	struct rerun_case *reruns;        /* [nmade] */
	size_t nmade;
};

struct counterfactual_case {
	uint64_t seed;
	uint32_t index;
	const char *fabric;
	char family[32], dir[512], scenario[528];
};

/*
 * Writes the cases, and existing ones again: they are the same.
 * @return 0, or negative errno with err set; counterfactual_fini() either way
 */
int counterfactual_make(struct counterfactual *study, struct err *err);
void counterfactual_fini(struct counterfactual *study);

/*
 * Makes the twin of each case's run, and the verdict by it, in CASE/by-twin, where it is not there yet. Of a run without
 * a twin that verdict has estimates.
 * @return 0; -EINTR; other negative errno with err set
 */
int counterfactual_twins(const struct counterfactual *study, struct err *err);

/* Which verdict is held against the truth. */
enum counterfactual_by { BY_ESTIMATE, BY_TWIN, COUNTERFACTUAL_BY };

/*
 * One case: how well its claims fit its truth. Shapley shares and times regained alone that are no effect count as 0,
 * in all but innocents. Of which of two costs more, tau has those pairs alone in which that is the same throughout the
 * 95 % interval over draws; two costs or claims that differ by no effect are a tie.
 */
struct counterfactual_score {
	bool has_cost;           /* some suspect has effect alone; else only innocents are meant */
	bool first, first_alone; /* the largest claim is the largest cost, by Shapley and alone, or as good as */
	double tau, tau_alone;   /* Kendall's, of claims and costs; NAN: no order of the costs is known */
	double error;            /* mean over suspects of |claimed share - Shapley share| */
	double by_chance;        /* that of claims which are right, as the truth is a mean over few draws */
	uint32_t suspects;
	uint32_t innocents, named_innocents; /* without effect alone; and yet among root causes */
	uint32_t blameless, named_blameless; /* of these: without a Shapley share that would be an effect, either */
};

void counterfactual_score(const struct rerun_case *c, const struct rerun_truth *truth, const struct claims *claims,
			  struct counterfactual_score *score);

/*
 * Do two ratings order causes alike? Kendall's tau-b (The Treatment of Ties in Ranking Problems, 1945), of pairs of causes.
 */
struct kendall {
	double alike;      /* pairs ordered alike, less those ordered the other way round */
	double in_a, in_b; /* pairs that the one and the other rating orders */
};

/* Adds a pair. @param in_a, in_b  its order: positive or negative 1; 0: a tie */
void kendall_add(struct kendall *pairs, int in_a, int in_b);
/* @return 1: the same order, -1: the reverse, 0: no relation, or one of them has no order at all */
double kendall_tau(const struct kendall *pairs);

/*
 * Prints the results of all finished cases, by fabric: a table with the cases whose first blame is wrong and how to
 * look at them, or JSON.
 * @return 0 or negative errno with err set: a verdict or a run is missing
 */
int counterfactual_print(const struct counterfactual *study, FILE *to, struct err *err);

/* What verdicts have to reach, over all cases. */
#define COUNTERFACTUAL_GATE_FIRST 0.90
#define COUNTERFACTUAL_GATE_TAU 0.80
#define COUNTERFACTUAL_GATE_ERROR 0.05
#define COUNTERFACTUAL_GATE_NAMED 0.10 /* of the suspects without effect, by either measure */

/*
 * Holds the verdicts by the twin, or the estimates where there are no twins, against the gates.
 * @param to  a line each that is missed
 * @return how many are missed, or negative errno with err set
 */
int counterfactual_gate(const struct counterfactual *study, FILE *to, struct err *err);
int counterfactual_print_json(const struct counterfactual *study, FILE *to, struct err *err);

/*
 * Random cases for the counterfactual evaluation: a collective on a random fabric, and three or four causes that may
 * slow it, at random places. Nothing is selected: the collective may collide with itself, causes may do nothing. A
 * fabric and a kind of cause are a row each in counterfactual.c.
 */

#define DISTURB_MIN 3
#define DISTURB_MAX 4

/*
 * Writes DIR/case.cfg: a scenario that runs by itself, the same of the same seed and index.
 * @return 0, or negative errno with err set
 */
int disturb_write(uint64_t seed, uint32_t index, const char *dir, struct err *err);
