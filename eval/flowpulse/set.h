/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of one fabric and size, which experiments share, and rows of what tests make of them. */
#pragma once

#include "eval/flowpulse/score.h"
#include "eval/flowpulse/study.h"

#define FP_MAX_PARTS 64

/* What rows state first: fabric, spraying, packets a port. */
struct fp_point {
	struct fp_fabric fabric;
	const char *spraying;
	double packets; /* at scale 1 */
};

/* Runs of a point. */
struct fp_set {
	const struct fp_point *point;
	double packets; /* as they are */
	struct {
		const struct fp_grid *grid;
		struct fp_fault faults[FP_MAX_FAULTS];
		uint32_t nfaults;
	} parts[FP_MAX_PARTS];
	uint32_t nparts;
	bool is_ready; /* all are there */
};

/* Asks for fault-free runs of so many iterations together. @return 0, or negative errno with err set */
int fp_set_clean(struct fp_study *study, const struct fp_point *point, uint32_t iterations, struct fp_set *set,
		 struct err *err);

/* Links that operators know of before, drawn at random. */
struct fp_known {
	uint32_t links;
	double drop; /* that they lose so much; 0: they are down */
};

/*
 * Asks for runs with faults of these drop rates, enough for so many trials of each.
 * @param purpose  names them
 * @param known    NULL: none
 */
int fp_set_faulty(struct fp_study *study, const struct fp_point *point, const char *purpose, const double *drops,
		  uint32_t ndrops, uint32_t trials, const struct fp_known *known, struct fp_set *set, struct err *err);

/* How a test does on all of them. @param drop  as fp_outcomes_add() @return 0, or -ENOMEM with err set */
int fp_set_outcomes(const struct fp_set *set, const struct fp_method *method, double drop, struct fp_outcomes *outcomes,
		    struct err *err);

/* @return a row that begins with what a point is; NULL: no memory */
json_t *fp_row_begin(const struct fp_set *set);
/* Adds a share in percent, null where there is nothing that it could be of. */
void fp_row_percent(json_t *row, const char *key, uint64_t part, uint64_t of);
