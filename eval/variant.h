/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The policy of a case's run: a detection policy, by itself or with keys of the scenario beside it, as in
 * "vedrfolnir+detections=1+exporter.budget=1KB". A key without a dot is one of the group "detection".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define VARIANT_NAME 96
#define VARIANT_MAX_SETS 8
#define VARIANT_MAX 64 /* of one evaluation */

struct variant_sets {
	char text[VARIANT_MAX_SETS][VARIANT_NAME]; /* "detection.policy=vedrfolnir", ... as --set takes them */
	uint32_t count;
};

/* @return 0, or -EINVAL with err set: no "key=value", too long, too many */
int variant_sets(const char *name, struct variant_sets *sets, struct err *err);

/* The variants that one question is answered by. */
struct ablation {
	const char *name, *doc;
	/* Writes their names. @return how many */
	uint32_t (*list)(char names[VARIANT_MAX][VARIANT_NAME]);
};

extern const struct ablation ablations[]; /* a NULL name ends it */

/* @return NULL: there is none of this name */
const struct ablation *ablation_find(const char *name);
