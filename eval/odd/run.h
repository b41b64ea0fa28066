/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval odd: makes the cases of some groups and seeds, does the missing runs, and grades. */
#pragma once

#include <stdio.h>

#include "eval/odd/grade.h"
#include "eval/odd/odd.h"

#define ODD_MAX_SEEDS 64

struct odd_options {
	const struct odd_group *groups[ODD_MAX_GROUPS];
	uint32_t ngroups;
	uint64_t seeds[ODD_MAX_SEEDS];
	uint32_t nseeds;
	uint32_t cases; /* of a group and seed */
	double scale;
	uint32_t jobs;   /* runs side by side */
	const char *dir; /* exists; DIR/SEED has a seed's store, DIR/SEED/GROUP/NNN a case */
};

struct odd_row {
	const struct odd_group *group;
	uint64_t seed;
	uint32_t index;
	struct odd_marks marks;
	double base_ns, all_ns;
	json_t *costs; /* array of { name, regained_ns, shapley_ns }, by suspect */
};

struct odd_results {
	struct odd_row *rows; /* [count] */
	uint32_t count;
	uint32_t broken; /* cases of which a run broke: not among the rows */
};

/*
 * @param results  set in any case; odd_results_fini() frees their contents
 * @return 0; -EINTR: interrupted, finished runs stay; other negative errno with err
 */
int odd_run(const struct odd_options *options, struct odd_results *results, struct err *err);
void odd_results_fini(struct odd_results *results);

/* A table by group, one by stated confidence, and cases that are not right. */
void odd_print(const struct odd_options *options, const struct odd_results *results, FILE *to);
/* DIR/odd.json: a row a case. @return 0 or negative errno with err */
int odd_write(const struct odd_options *options, const struct odd_results *results, struct err *err);
