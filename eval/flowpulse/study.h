/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab eval flowpulse: experiments, and the runs that they share. An experiment requests the runs that it needs.
 * Missing runs are made, and the experiment is called again, until all are there: so a request can also depend on the
 * results of runs.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/wire/volume.h"
#include "eval/flowpulse/grid.h"
#include "telemetry/volumes/detect.h"
#include "twin/rerun/shard.h"

/* The tests that run in a leaf, on recorded counts: their findings, and their false alarms. */

/* A test, and how it is set. */
struct fp_method {
	const struct fp_method_ops *ops;
	double threshold; /* of the threshold: relative */
	double rate;      /* of the others: false alarms per port and iteration */
	uint32_t block;   /* pooled: iterations after which it begins anew, as if they were all; 0: never */
	double after;     /* trials are the iterations after so large a part of a run: in those before, noise is learned */
};

struct fp_method_ops {
	const char *name, *doc;
	/*
	 * Judges one row of a grid, iteration by iteration.
	 * @param limits  of the method's rate
	 * @param found   [iterations * paths] set to the number of iterations that an alarm was found in; 0 before
	 */
	void (*judge)(const struct fp_method *method, const struct detect_cusum_limits *limits, const struct fp_grid *grid,
		      uint32_t row, uint8_t *found);
	bool is_pooled;
};

extern const struct fp_method_ops fp_threshold; /* the paper's */
extern const struct fp_method_ops fp_random;    /* one iteration against the noise of random spraying */
extern const struct fp_method_ops fp_learned;   /* one iteration against noise that the leaf learned in those before */
extern const struct fp_method_ops fp_pooled_random, fp_pooled_learned; /* of all iterations so far */

/* A link that drops, where it is seen. */
struct fp_fault {
	uint32_t row, path;
	double drop;
};

struct fp_outcomes {
	uint64_t trials, found;                /* iterations of rows with a fault, and with an alarm at the faulty port */
	uint64_t wrong;                        /* other ports of these with an alarm */
	uint64_t ports, false_ports;           /* (port, iteration) of rows without fault */
	uint64_t clean;                        /* iterations of rows without fault */
	uint64_t iterations, false_iterations; /* of the whole fabric: with an alarm of a row without fault */
	uint64_t blocks, found_blocks;         /* of method->block iterations of rows with a fault */
	double delay;                          /* iterations until found, summed over found_blocks */
	double delay_ps;                       /* the same in time, from the first of its iterations on */
};

/*
 * Adds up how a test does on a run.
 * @param faults  [nfaults] one a row at most
 * @param drop    of which faults count, the others' rows are left out; negative: all
 * @return 0 or -ENOMEM
 */
int fp_outcomes_add(struct fp_outcomes *outcomes, const struct fp_method *method, const struct fp_grid *grid,
		    const struct fp_fault *faults, uint32_t nfaults, double drop);

/*
 * The variance of a fault-free port's count in a block of iterations, packets^2, over all of a run without faults,
 * and packets a port in one on average. @param block  > 0
 */
void fp_noise(const struct fp_grid *grid, uint32_t block, double *variance, double *packets);

/*
 * A run of the evaluation, and its scenario: a ring AllGather over all hosts of a leaf-spine fabric, which with R
 * ranks has R - 1 steps (the paper's 31 stages are those of 32 ranks), its data tagged and sprayed, counts reported
 * by every leaf. With one host a leaf each leaf receives of one other: no other leaf sees one leaf's flow, and faults
 * at several leaves are independent experiments. With a second ring in another order each leaf receives of two.
 */

#define FP_MAX_FAULTS 64
#define FP_NAME 128
#define FP_MTU_BYTES 1024
#define FP_STRIDE 3 /* of the second ring: a leaf also receives of the leaf this number before it */

struct fp_link {
	uint32_t row;      /* the receiving leaf whose flow it concerns; the sender's is the one before */
	uint32_t path;     /* spine */
	bool is_up;        /* from the sender's leaf to the spine; else from the spine to the receiver's */
	bool is_fib;       /* the spine drops the packets from the sender's host to the receiver's; no link loses any */
	bool is_known;     /* to operators: with a drop rate it loses that share, else it is down and not routed */
	double drop;       /* rate */
	double iterations; /* its length, about; 0: to the end */
};

struct fp_spec {
	const char *purpose; /* first part of its name */
	struct fp_fabric fabric;
	const char *spraying;   /* load_balancing.kind */
	const char *prediction; /* flowpulse.prediction */
	uint32_t rings;         /* 1 or 2 */
	uint32_t stride;        /* of the first ring: a host sends to the one this number behind it; 0: to the next */
	double packets;         /* of a row that each path is to carry in an iteration; rounded to whole packets a step */
	uint32_t iterations;
	uint64_t seed;
	struct fp_link links[FP_MAX_FAULTS];
	uint32_t nlinks;
	const char *export; /* flowpulse.export; NULL: counts */
	double load;        /* of every NIC's rate that its host sends others besides, unmeasured; 0: nothing */
	bool own_class;     /* measured data has a class of its own, before all other */
};

/* "clean-32x16-adaptive-10000-100-1": the same for the same run. */
void fp_spec_name(const struct fp_spec *spec, char name[FP_NAME]);

/* "32x16-adaptive-10000", of the name: the first columns of rows. */
void fp_spec_point(const struct fp_spec *spec, char point[FP_NAME]);

/* @return packets a path and iteration, as they will be */
double fp_spec_packets(const struct fp_spec *spec);

/* The links of a spec that drop, as faults of a grid's rows. @param faults  [FP_MAX_FAULTS] */
struct fp_fault;
uint32_t fp_spec_faults(const struct fp_spec *spec, struct fp_fault *faults);

/* Sets grid->lost to the losses of its known links. */
void fp_spec_note_losses(const struct fp_spec *spec, struct fp_grid *grid);

/*
 * Adds a fault to every second row, at random paths and in random directions, of these drop rates in turn.
 * @param drops  [ndrops]
 */
void fp_spec_add_faults(struct fp_spec *spec, const double *drops, uint32_t ndrops);

/* Writes the scenario to DIR/case.cfg. @return 0, or negative errno with err set */
int fp_spec_write(const struct fp_spec *spec, const char *dir, struct err *err);

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
	const struct shard *shard; /* of the points: the runs of one may depend on others of it */
	const char *points;        /* of the results of fp_spec_point(), as a shell matches names; NULL: all */
	char (*others)[FP_NAME];   /* [nothers] requested points that do not match, each once */
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

/* The experiments of rocelab eval flowpulse, each in the file of its kind, and their shared declarations. */

/* The paper's fabric, with adaptive spraying; and one for random spraying, which needs a hundred times the packets. */
extern const struct fp_point fp_papers_point, fp_random_point;

/* @return the test of one iteration that a leaf has for this spraying: by its noise, or by the noise that it learned */
const struct fp_method_ops *fp_own_test(const struct fp_point *point);
/* exp_places.c */
int fp_exp_places(struct fp_study *study, json_t *rows, struct err *err);
int fp_exp_flows(struct fp_study *study, json_t *rows, struct err *err);
int fp_exp_fib(struct fp_study *study, json_t *rows, struct err *err);
/* exp_limits.c */
int fp_exp_alarms(struct fp_study *study, json_t *rows, struct err *err);
int fp_exp_limit(struct fp_study *study, json_t *rows, struct err *err);
int fp_exp_pooled(struct fp_study *study, json_t *rows, struct err *err);

/*
 * The smallest drop rate of a link that any test of a leaf's counts could find, at a rate of false alarms and with a
 * power, by Neyman and Pearson's lemma. docs/flowpulse-limits.md, "Limits and statistics", derives the formulas.
 *
 * Packets that are dropped are repeated and choose among all paths again: of N that arrive over s paths, the port
 * behind the fault sees N (1 - p) / (s - p), every other N / (s - p).
 */

/* A test's view of a sender: one iteration, or several with the sums of packets and variance. */
struct limit_fabric {
	uint32_t paths; /* that packets are sprayed over, >= 2 */
	double packets; /* predicted of each port */
	bool is_random; /* counts are multinomial */
	/* else: of a port's count without a fault, packets^2, as measured in the fabric; 0: it never varies */
	double variance;
};

/* @param drop  rate, 0 to 1 @return which part of its packets the port behind the fault misses on average */
double limit_missing(const struct limit_fabric *fabric, double drop);

/*
 * The power of the best test of a known port: one that rejects where the port's count is small.
 * @param rate  of false alarms of this port, 0 to 1: kept exactly, at random where a count lies on the limit
 * @param drop  rate, 0 to 1
 */
double limit_power(const struct limit_fabric *fabric, double rate, double drop);

/* @return the smallest drop rate with which limit_power() is power; 1: none has it */
double limit_drop(const struct limit_fabric *fabric, double rate, double power);

/*
 * The power of the best test of all ports of which each is as likely to be the faulty one: of the mean of their
 * likelihood ratios. Drawn from the faulty distribution, weighted by its inverse for the rate, so that small rates
 * take no more samples. The same arguments give the same result.
 * @param fabric   with variance, unless it is random
 * @param rate     of false alarms of each port: all together have paths times the rate
 * @param samples  counts of all ports each
 */
double limit_power_any(const struct limit_fabric *fabric, double rate, double drop, uint32_t samples);

/* The verdicts of monitors with another detector on recorded counts: the switches' own code on the same numbers. */

struct fp_outcome {
	struct fp_alarm *alarms; /* [count], by leaf */
	size_t count, cap;
};

/*
 * Judges all iterations of all leaves anew, with their predictions and the default thresholds of scenarios.
 * @param said  set; free(said->alarms)
 * @return 0 or -ENOMEM
 */
int fp_replay(const struct fp_grid *grid, enum rec_detector detector, struct fp_outcome *outcome);
