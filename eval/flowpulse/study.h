/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab eval flowpulse: experiments, and the runs that they share. An experiment asks for the runs that it needs; what is not
 * there yet is run, and it is asked again, until all is there: so it can also ask for what depends on what runs gave.
 */
#pragma once

#include <stdio.h>

#include <jansson.h>

#include "eval/flowpulse/spec.h"

#define FP_MAX_RUNS 512
#define FP_MAX_EXPERIMENTS 16
#define FP_MAX_POINTS 64

struct fp_run {
	struct fp_spec spec;
	char name[FP_NAME];
	struct fp_grid *grid; /* NULL: not run yet */
	bool is_begun;
};

struct fp_study {
	const char *dir; /* DIR/NAME/case.cfg, counts.bin */
	uint64_t seed;
	uint32_t trials; /* of a point that costs little */
	double scale;    /* multiplies packets a port */
	uint32_t jobs;
	const char *points;      /* of what fp_spec_point() gives, as a shell matches names; NULL: all */
	char (*others)[FP_NAME]; /* [nothers] points that were asked for and do not match, each once */
	uint32_t nothers;
	const struct fp_experiment *experiments[FP_MAX_EXPERIMENTS];
	json_t *rows[FP_MAX_EXPERIMENTS]; /* of each experiment, when all is done */
	uint32_t nexperiments;
	struct fp_run *runs; /* [nruns] */
	uint32_t nruns, nwaiting;
};

struct fp_experiment {
	const char *name, *doc;
	/*
	 * Asks for its runs, and where all are there adds its rows: objects with the same keys in the same order.
	 * @return 0, or negative errno with err set
	 */
	int (*evaluate)(struct fp_study *study, json_t *rows, struct err *err);
};

extern const struct fp_experiment fp_experiments[]; /* a NULL name ends it */

/* @return NULL: there is none of this name */
const struct fp_experiment *fp_experiment_find(const char *name);

/*
 * The counts of a run.
 * @param grid  set to them; NULL: they are not there yet, ask again; or the run is of none of study->points, and there is no row
 * @return 0, or negative errno with err set
 */
int fp_need(struct fp_study *study, const struct fp_spec *spec, const struct fp_grid **grid, struct err *err);

/* Runs what is asked for and not there. @return how many runs broke, -EINTR: interrupted; other negative errno with err set */
int fp_runs(struct fp_study *study, struct err *err);

/* All of it: study->rows has what it came to. @return as fp_runs() */
int fp_study_run(struct fp_study *study, struct err *err);
void fp_study_fini(struct fp_study *study);

/* A table an experiment. */
void fp_print(const struct fp_study *study, FILE *to);
/* An object with a list of rows an experiment. @return NULL: no memory */
json_t *fp_json(const struct fp_study *study);
