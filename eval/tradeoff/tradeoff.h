/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The accuracy that a telemetry budget buys: every case under every policy, budget and epoch, each run as the real
 * program runs it (fabric, exporter under its budget, analyzer over the stream that arrived), and the score of its
 * verdict.
 *
 * Cases are scenarios with seeds, whose truth is the time that runs without each cause regain (twin/rerun/rerun.h);
 * random scenarios of the counterfactual evaluation, likewise; and families of the paper's evaluation, whose truth the
 * fabric knows (eval/judge.h). DIR has a folder a case, and in it one a run, with result.json once it is done: that run
 * is not made again.
 */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "eval/bootstrap.h"
#include "eval/case.h"
#include "scenario/systems.h"
#include "twin/rerun/rerun.h"
#include "twin/rerun/shard.h"

#define TRADEOFF_MAX_INPUTS 16
#define TRADEOFF_MAX_POLICIES 16
#define TRADEOFF_MAX_BUDGETS 16
#define TRADEOFF_MAX_EPOCHS 8
#define TRADEOFF_MAX_SEEDS 1000
#define TRADEOFF_WORD 64
#define TRADEOFF_CAUSES "counterfactual" /* the input of random scenarios */

/* A scenario's file, a family, or TRADEOFF_CAUSES. */
struct tradeoff_input {
	char name[TRADEOFF_WORD];
	char path[PATH_MAX];         /* "": no scenario's file */
	const struct family *family; /* NULL: no family */
};

/* The source of findings: a detection policy, another system, or a plugin diagnoser. */
struct tradeoff_policy {
	char name[TRADEOFF_WORD];
	const char *detection; /* detection.policy, with keys beside it as --policy has them; NULL: the scenario's */
	const struct system_row *system; /* NULL: a detection policy or a program */
	char program[PATH_MAX];          /* of a plugin diagnoser; "": none */
};

/* A value of exporter.budget or telemetry.epoch. */
struct tradeoff_value {
	char text[TRADEOFF_WORD]; /* as --set takes it; "": the scenario's own */
	uint64_t value;           /* of the first input: bytes a second, 0 without a limit; ps */
};

/*
 * The measures of a run: name; title and unit for people, and how many of the value's own units make one of these; the
 * statistic over cases; whether more is better.
 */
#define TRADEOFF_MEASURES(ROW)                                                                                             \
	ROW(TRADEOFF_ACCURACY, "accuracy", "right verdicts", "%", 0.01, BOOTSTRAP_MEAN, true)                              \
	ROW(TRADEOFF_RECALL, "recall", "costly causes named", "%", 0.01, BOOTSTRAP_MEAN, true)                             \
	ROW(TRADEOFF_SHARE_ERROR, "share_error", "error of a cause's share", "%", 0.01, BOOTSTRAP_MEAN, false)             \
	ROW(TRADEOFF_DETECTION, "detection_ns", "time to detection", "ms", 1e6, BOOTSTRAP_MEDIAN, false)                   \
	ROW(TRADEOFF_VERDICT, "verdict_ns", "time to verdict", "ms", 1e6, BOOTSTRAP_MEDIAN, false)                         \
	ROW(TRADEOFF_SOCKET, "socket_bytes_s", "bytes a second to the analyzer", "kB/s", 1e3, BOOTSTRAP_MEAN, false)       \
	ROW(TRADEOFF_LINKS, "link_bytes_s", "bytes a second of polls and probes on links", "kB/s", 1e3, BOOTSTRAP_MEAN,    \
	    false)                                                                                                         \
	ROW(TRADEOFF_HELD_BACK, "held_back", "records that the budget held back", "", 1, BOOTSTRAP_MEAN, false)            \
	ROW(TRADEOFF_DROPPED, "dropped", "records dropped", "", 1, BOOTSTRAP_MEAN, false)                                  \
	ROW(TRADEOFF_COMPLETENESS, "completeness", "part of the telemetry that arrived", "%", 0.01, BOOTSTRAP_MEAN, true)

#define TRADEOFF_ENUM(id, ...) id,
enum tradeoff_measure { TRADEOFF_MEASURES(TRADEOFF_ENUM) TRADEOFF_NMEASURES };

struct tradeoff_measure_row {
	const char *name, *title, *unit;
	double one;
	enum bootstrap_of of;
	bool more_is_better;
};

extern const struct tradeoff_measure_row tradeoff_measures[TRADEOFF_NMEASURES];

/* The result of one run. */
struct tradeoff_result {
	bool there;
	char outcome[8], why[256];         /* "tp", "fp", "fn"; why it is no "tp" */
	double values[TRADEOFF_NMEASURES]; /* NaN: it has none */
};

struct tradeoff_case {
	const struct tradeoff_input *input;
	uint64_t seed; /* of a family: its case's number */
	char dir[512], scenario[544];
	uint64_t number;           /* among those of scenarios, or of families */
	struct rerun_case *rerun;  /* NULL: of a family */
	struct suspects own;       /* of a family's */
	struct suspects *suspects; /* possible causes */
	double start_ns;           /* when the first of them begins, not before the job */
};

struct tradeoff {
	struct tradeoff_input inputs[TRADEOFF_MAX_INPUTS];
	struct tradeoff_policy policies[TRADEOFF_MAX_POLICIES];
	struct tradeoff_value budgets[TRADEOFF_MAX_BUDGETS], epochs[TRADEOFF_MAX_EPOCHS];
	uint32_t ninputs, npolicies, nbudgets, nepochs;
	uint64_t seeds[TRADEOFF_MAX_SEEDS];
	uint32_t nseeds;
	const char *sets[CASE_MAX_SETS]; /* keys of every scenario */
	size_t nsets;
	double scale; /* of families */
	bool times;   /* to detection and verdict are looked for */
	uint32_t jobs;
	const struct shard *shard; /* of the cases of scenarios, and of families */
	const char *dir;
	/* Set by tradeoff_run(): */
	struct tradeoff_case *cases; /* [ncases] by input and seed */
	size_t ncases;
	struct rerun_case *reruns; /* [nreruns] */
	size_t nreruns;
	struct rerun_store *store;
	struct tradeoff_result *results; /* [ncases * tradeoff_points()] by case and point */
	uint32_t broken;                 /* runs */
};

/* A combination. */
struct tradeoff_point {
	uint32_t policy, epoch, budget;
};

/* @return combinations, by policy, epoch and budget */
uint32_t tradeoff_points(const struct tradeoff *study);
struct tradeoff_point tradeoff_point(const struct tradeoff *study, uint32_t number);

/*
 * Takes words as the command line has them.
 * @return 0, or -EINVAL with err: there is no such input, policy or value, or one too many
 */
int tradeoff_add_input(struct tradeoff *study, const char *word, struct err *err);
int tradeoff_add_policy(struct tradeoff *study, const char *word, struct err *err);
int tradeoff_add_budget(struct tradeoff *study, const char *word, struct err *err);
int tradeoff_add_epoch(struct tradeoff *study, const char *word, struct err *err);

/*
 * Makes the cases, checks that all can run, makes the runs that are not done, and reads their results. Budgets and epochs
 * are then in ascending order, no limit last. Progress is shown on stderr if that is a terminal.
 * @return how many runs broke; -EINTR: interrupted, finished runs stay; -EINVAL with err: something cannot run; other
 *         negative errno with err. tradeoff_fini() in any case
 */
int tradeoff_run(struct tradeoff *study, struct err *err);
void tradeoff_fini(struct tradeoff *study);

/* @return the diagnoser of its findings, and the folder of its verdict in that of a run */
const char *tradeoff_diagnoser(const struct tradeoff_policy *policy);

/* The folder of a run of a case. @param buf  [PATH_MAX] @return buf */
char *tradeoff_run_dir(const struct tradeoff *study, const struct tradeoff_case *c, struct tradeoff_point point, char *buf);

/*
 * Scores a run that has ended, and leaves result.json in its folder.
 * @return 0; -ENODATA with err: a file is missing; other negative errno with err
 */
int tradeoff_score(const struct tradeoff *study, const struct tradeoff_case *c, struct tradeoff_point point,
		   struct err *err);
/* @param result  read from result.json; there is false without it */
void tradeoff_read(const char *dir, struct tradeoff_result *result);

/* ---- sums ---- */

struct tradeoff_sum {
	uint32_t cases;
	struct bootstrap measures[TRADEOFF_NMEASURES];
};

/*
 * Sums up a combination.
 * @param input  NULL: all
 * @return 0 or -ENOMEM
 */
int tradeoff_sum(const struct tradeoff *study, const struct tradeoff_input *input, uint32_t point,
		 struct tradeoff_sum *sum);

/* A larger budget with a worse value than a smaller one of the same policy and epoch: the worst of them. */
struct tradeoff_reversal {
	bool found;
	uint32_t less, more;   /* points */
	struct bootstrap loss; /* mean over the cases that have both */
	bool chance;           /* the interval of the loss has 0 in it */
};

/* @return 0 or -ENOMEM */
int tradeoff_reversal(const struct tradeoff *study, uint32_t policy, uint32_t epoch, enum tradeoff_measure measure,
		      struct tradeoff_reversal *reversal);

/* A table for people, and what of it is not monotone. @return 0 or -ENOMEM with err */
int tradeoff_print(const struct tradeoff *study, FILE *to, struct err *err);
/* @return all of it; NULL: out of memory */
json_t *tradeoff_json(const struct tradeoff *study);
/* DIR/runs.csv, DIR/points.csv and figures. @return 0 or negative errno with err */
int tradeoff_write(const struct tradeoff *study, struct err *err);

/* A measure against bytes a second, one curve a policy and epoch, as SVG. @return 0 or -ENOMEM */
int tradeoff_figure(const struct tradeoff *study, enum tradeoff_measure measure, FILE *to);
