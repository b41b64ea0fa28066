/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab eval flowpulse: experiments, and the runs that they share. An experiment requests the runs that it needs.
 * Missing runs are made, and the experiment is called again, until all are there: so a request can also depend on the
 * results of runs.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "eval/flowpulse/grid.h"
#include "eval/flowpulse/score.h"

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
	const char *points;      /* of the results of fp_spec_point(), as a shell matches names; NULL: all */
	char (*others)[FP_NAME]; /* [nothers] requested points that do not match, each once */
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
	 * Requests its runs, and where all are there adds its rows: objects with the same keys in the same order.
	 * @return 0, or negative errno with err set
	 */
	int (*evaluate)(struct fp_study *study, json_t *rows, struct err *err);
};

extern const struct fp_experiment fp_experiments[]; /* a NULL name ends it */

/* @return NULL: there is none of this name */
const struct fp_experiment *fp_experiment_find(const char *name);

/*
 * The counts of a run.
 * @param grid  set to them; NULL: they are not there yet, ask again; or the run is of none of study->points, and there
 * is no row
 * @return 0, or negative errno with err set
 */
int fp_need(struct fp_study *study, const struct fp_spec *spec, const struct fp_grid **grid, struct err *err);

/* All of it: study->rows has the results. @return as fp_runs() */
int fp_study_run(struct fp_study *study, struct err *err);
void fp_study_fini(struct fp_study *study);

/* A table an experiment. */
void fp_print(const struct fp_study *study, FILE *to);
/* An object with a list of rows an experiment. @return NULL: no memory */
json_t *fp_json(const struct fp_study *study);

/* Runs of one fabric and size, which experiments share, and rows of the tests' results on them. */

#define FP_MAX_PARTS 64

/* The first columns of rows: fabric, spraying, packets a port. */
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

/* Requests fault-free runs of a number of iterations together. @return 0, or negative errno with err set */
int fp_set_clean(struct fp_study *study, const struct fp_point *point, uint32_t iterations, struct fp_set *set,
		 struct err *err);

/* Links that operators know before, chosen at random. */
struct fp_known {
	uint32_t links;
	double drop; /* that they lose so much; 0: they are down */
};

/*
 * Requests runs with faults of these drop rates, enough for a number of trials of each.
 * @param purpose  names them
 * @param known    NULL: none
 */
int fp_set_faulty(struct fp_study *study, const struct fp_point *point, const char *purpose, const double *drops,
		  uint32_t ndrops, uint32_t trials, const struct fp_known *known, struct fp_set *set, struct err *err);

/* How a test does on all of them. @param drop  as fp_outcomes_add() @return 0, or -ENOMEM with err set */
int fp_set_outcomes(const struct fp_set *set, const struct fp_method *method, double drop, struct fp_outcomes *outcomes,
		    struct err *err);

/* @return a row that begins with the columns of a point; NULL: no memory */
json_t *fp_row_begin(const struct fp_set *set);
/* Adds a share in percent, null where there is nothing that it could be of. */
void fp_row_percent(json_t *row, const char *key, uint64_t part, uint64_t of);

/* A run's recording, to the grid of its leaves' counts. */

/*
 * @param path    of the recording
 * @param fabric  that it is of
 * @return the grid, without iterations for which monitors reported no counts; NULL with err set: it cannot be read,
 *         or has no monitors
 */
struct fp_grid *fp_counts_read(const char *path, const struct fp_fabric *fabric, struct err *err);
