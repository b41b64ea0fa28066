/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of a model as it is, and how far their steps are from those that hosts reported. */
#pragma once

#include <jansson.h>

#include "twin/model.h"
#include "twin/rerun/rerun.h"

#define TWIN_DRAWS 8        /* of chance, where it decides something */
#define TWIN_MAX_ERROR 0.05 /* of the job in a base run: beyond it the twin is given up */
#define TWIN_MAX_STEPS 0.10 /* likewise of its steps, whose errors cancel out */

/*
 * Of one job. Times of the twin are means over its draws of chance, of which the measured run is one more: by chance it
 * differs from the mean as the draws do, each from the mean of the others.
 */
struct twin_error {
	double measured_ns, twin_ns; /* from its start to its last step's end */
	double steps_ns;             /* sum over steps of the difference of their times */
	double all_steps_ns;         /* sum over steps of the measured times */
	double draws_ns[TWIN_DRAWS]; /* by how much each draw differs likewise; 0: of one draw */
	double draws_steps_ns[TWIN_DRAWS];
	uint32_t draws;
	bool complete; /* in all draws of the twin */
};

/* @return the error of the job's time, as a share of the measured one; 1: the twin's job did not complete */
double twin_error_job(const struct twin_error *error);
/* @return the mean error of its steps' times, likewise */
double twin_error_steps(const struct twin_error *error);
/* @return the part of these that chance alone makes, on average */
double twin_error_chance(const struct twin_error *error);
double twin_error_chance_steps(const struct twin_error *error);
/*
 * @param draws_ns  [draws] by how much each differs from the mean of the others
 * @return by how much one more draw differs at most, at 97.5 % (prediction interval of Student's t); of two draws or one,
 *         which are equally far from each other, their mean
 */
double twin_error_bound_ns(const double *draws_ns, uint32_t draws);
/*
 * Is a base run as near to the measured one as a right twin would be: within TWIN_MAX_ERROR and TWIN_MAX_STEPS, or not
 * farther than one more draw of chance?
 */
bool twin_error_is_near(const struct twin_error *error);

/* A model to run. */
struct twin_trial {
	const struct twin_model *model;
	struct twin_error *errors; /* [model->njobs] filled in */
	bool ran;                  /* filled in */
	float *took_ns;            /* [model->draws][steps of the run] while it runs; negative: not done */
	double *ends_ns;           /* [model->draws][model->njobs] likewise */
	uint32_t done;             /* draws that ran */
};

/*
 * Runs all draws of all, each in a folder of its own, which is removed.
 * @param work  its run_ns is set
 * @return 0; -EINTR: interrupted; other negative errno with err set: none of them ran
 */
int twin_trials_run(struct twin_trial *trials, size_t count, struct twin_work *work, struct err *err);

/* @return 0, or -ETIME with err set: so many runs more would end after the deadline */
int twin_work_check(const struct twin_work *work, uint64_t runs, struct err *err);

/* The base runs: how far the twin is from what hosts reported, and its correction where it is too far. */

#define TWIN_ROUNDS 4 /* of corrections */

/*
 * Runs the model, and corrects sizes and starts of foreign flows while that brings its steps nearer to the measured ones
 * than chance alone would leave them, at most TWIN_ROUNDS times.
 * @param model   its draws are set, to one where all draws of its chance are alike
 * @param errors  [model->njobs] of the model as it is left
 * @return 0, or negative errno with err set
 */
int twin_fit(struct twin_model *model, struct twin_work *work, struct twin_error *errors, struct err *err);

/* What each cause cost a job, by runs of the twin without it. */

#define TWIN_MAX_SUSPECTS 10 /* of a job: those to which the verdict gives most */
#define TWIN_ORDERS 8        /* by which shares of more than SHAPLEY_MAX suspects are sampled */
#define TWIN_MAX_JOBS 4      /* whose causes are run without: those that lost most */
#define TWIN_MAX_DRAWS 32    /* of chance, of costs */
#define TWIN_MAX_CHANCE 0.02 /* of shares: an error by chance that needs no more draws */

/*
 * How many draws of chance the costs of a job's suspects need. Without a cause chance may decide though with all it does
 * not, so two draws of every set show whether it does anywhere; then there are TWIN_DRAWS, and twice as many while chance
 * makes an error of more than TWIN_MAX_CHANCE in the shares, on average.
 * @param truth  over c->draws
 * @return c->draws: no more
 */
uint32_t twin_cost_draws(const struct rerun_case *c, const struct rerun_truth *truth);

/*
 * Runs the twin without the suspects of one job, and says what each cost.
 * @param dir    has the twin's scenario; results of finished runs are kept there
 * @param error  of the base run
 * @return the job's entry of twin.json; NULL with err and errno set: EINTR, it was interrupted; ETIME, it would be after
 *         the deadline
 */
json_t *twin_cost_job(const struct twin_model *model, uint32_t job, const char *dir, const struct twin_work *work,
		      const struct twin_error *error, struct err *err);
