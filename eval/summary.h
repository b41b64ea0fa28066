/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of an evaluation, family by family and policy by policy. */
#pragma once

#include "eval/eval.h"

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
