/* SPDX-License-Identifier: BSD-3-Clause */
/* Distributions of flow sizes that the field evaluates with, as published; a row each. */
#pragma once

#include <stdint.h>

#include "common/cfg/cfg.h"
#include "common/err.h"
#include "common/prng.h"

/*
 * How long flows are: a cumulative distribution by points, linear between them, as simulators of the field read it. All
 * of it is arithmetic on integers: the same flows on every machine.
 */

#define CDF_ONE 1000000000000ull   /* 100 %: shares count in 1e-10 % */
#define CDF_MAX_BYTES (1ull << 31) /* the longest RC message, IBTA 9.7.7 */
#define CDF_MEAN_ONE 65536u        /* means count in 1/65536 B */

/* No flow in this share of all is longer. */
struct cdf_point {
	uint64_t bytes, share;
};

struct size_cdf {
	const struct cdf_point *points; /* the first has share 0, the last CDF_ONE; neither bytes nor shares ever fall */
	uint32_t count;
	struct cdf_point *owned; /* memory of points that are read from a file */
};

/*
 * Reads "BYTES PERCENT" lines, the format of the HPCC repository's traffic generator; blank lines and what follows a #
 * are passed over.
 * @param path  to open  @param name  for messages
 * @return 0, -EINVAL or -ENOMEM with err naming file, line, value and the remedy
 */
int size_cdf_read(struct size_cdf *cdf, const char *path, const char *name, struct err *err);
/* All flows alike. points: of 2, the caller's. */
void size_cdf_fixed(struct size_cdf *cdf, struct cdf_point points[2], uint64_t bytes);
void size_cdf_fini(struct size_cdf *cdf);

/* @return the mean, in 1/CDF_MEAN_ONE B */
uint64_t size_cdf_mean(const struct size_cdf *cdf);
/* @return bytes of one flow, at least 1: the inverse of the distribution at a uniform share */
uint64_t size_cdf_draw(const struct size_cdf *cdf, struct prng *prng);

/* For a CFG_ENUM: 0 is none, a distribution's value is its row from 1. */
extern const struct cfg_choice traffic_sizes[];

/* @param choice  a value of traffic_sizes, not 0 */
struct size_cdf traffic_sizes_cdf(int choice);
