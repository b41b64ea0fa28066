/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of rocelab eval flowpulse, each in the file of its kind, and their shared declarations. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/volume.h"
#include "eval/flowpulse/grid.h"
#include "eval/flowpulse/study.h"

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
