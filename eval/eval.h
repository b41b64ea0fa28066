/* SPDX-License-Identifier: BSD-3-Clause */
/* An evaluation: its options, shared by the code that runs it and the code that reports it. */
#pragma once

#include <string.h>

#include "eval/family.h"
#include "eval/job.h"
#include "eval/store.h"
#include "eval/variant.h"

#define EVAL_MAX_FAMILIES 16
#define EVAL_MAX_JOBS POOL_MAX_JOBS
#define EVAL_MAX_EXCLUDED 0.05 /* of the cases made */

struct eval {
	const struct family *families[EVAL_MAX_FAMILIES];
	uint32_t nfamilies;
	const char *policies[VARIANT_MAX]; /* variants, see variant.h */
	uint32_t npolicies;
	uint32_t cases; /* of each family; 0: the family's own number */
	struct case_source source;
	uint32_t jobs;
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
