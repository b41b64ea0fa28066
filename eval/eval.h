/* SPDX-License-Identifier: BSD-3-Clause */
/* An evaluation: its options, shared by the code that runs it and the code that reports it. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "eval/case.h"
#include "eval/store.h"
#include "twin/rerun/job.h"
#include "twin/rerun/shard.h"

/* Questions of an evaluation that several variants answer, run side by side. */

#define VARIANT_MAX 64 /* of one evaluation */

/* The variants that one question is answered by. */
struct ablation {
	const char *name, *doc;
	/* Writes their names. @return how many */
	uint32_t (*list)(char names[VARIANT_MAX][VARIANT_NAME]);
};

extern const struct ablation ablations[]; /* a NULL name ends it */

/* @return NULL: there is none of this name */
const struct ablation *ablation_find(const char *name);

#define EVAL_MAX_FAMILIES 16
#define EVAL_MAX_JOBS POOL_MAX_JOBS
#define EVAL_MAX_EXCLUDED 0.05 /* of the cases made */

struct eval {
	const struct family *families[EVAL_MAX_FAMILIES];
	uint32_t nfamilies;
	const char *policies[VARIANT_MAX]; /* variants, see twin/rerun/job.h */
	uint32_t npolicies;
	uint32_t cases; /* of each family; 0: the family's own number */
	struct case_source source;
	uint32_t jobs;
	const struct shard *shard; /* of the cases, numbered through all families; NULL: all are made */
	const char *dir;
	struct store *store;
};

static inline uint32_t
eval_cases(const struct eval *eval, const struct family *family)
{
	return eval->cases != 0 ? eval->cases : family->cases;
}

/* DIR/FAMILY/NNN, or a folder of it. @return buf */
char *eval_case_dir(const struct eval *eval, const struct family *family, uint32_t index, const char *folder, char *buf,
		    size_t cap);

#define EVAL_TRUTH "truth" /* folder of the run for the truth */

/*
 * Full polling reads switches out of band: its packets are those of a run without detection, and so its run is the one for
 * the truth as well.
 */
#define EVAL_OUT_OF_BAND "full-polling"

/* The folder that has the fabric's run under a policy: one of its own, the policy's name, or EVAL_TRUTH. */
static inline const char *
eval_fabric_folder(const char *policy)
{
	return strcmp(policy, EVAL_OUT_OF_BAND) == 0 ? EVAL_TRUTH : policy;
}

/*
 * Makes the cases of an evaluation and runs them, several side by side, each on a CPU of its own while there are enough:
 * first without anything that detection sends, for the truth; a case that is wrong by construction is replaced; then once
 * a policy. The run for the truth is that of the policy that sends nothing, if it is among them: its diagnosis follows.
 */

/*
 * Does the runs that are not in the store yet. Shows progress on stderr if that is a terminal. Broken runs are
 * reported there too, and not stored.
 * @return how many broke, 0 if all is done; -EINTR: interrupted, the store has the finished runs; other negative
 *         errno with err set
 */
int runner_run(const struct eval *eval, struct err *err);

/* The results of an evaluation, family by family and policy by policy. */

/* Mean, median and 95th percentile of an amount over runs. */
struct summary_amount {
	double mean, median, p95;
};

/* A family, or several together, under one policy. */
struct summary {
	struct score score;
	uint32_t runs;
	struct summary_amount telemetry_bytes, collected_bytes, bandwidth_bytes, polls;
	double hops, cpu_s, wall_s; /* sums */
};

/*
 * Output formats: a table with the failed cases and how to replay them; one JSON object; rows in DIR/runs.csv and
 * DIR/runs.json, of all that the store has. @return 0 or negative errno with err set
 */
int summary_print_table(const struct eval *eval, FILE *to, struct err *err);
int summary_print_json(const struct eval *eval, FILE *to, struct err *err);
int summary_write_rows(const struct eval *eval, struct err *err);

/*
 * Too many cases wrong by construction?
 * @return share of the cases made that were excluded
 */
double summary_excluded(const struct eval *eval, uint32_t *excluded, uint32_t *made);
