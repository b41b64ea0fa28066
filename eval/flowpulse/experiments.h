/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of rocelab eval flowpulse, each in the file of its kind, and what they share. */
#pragma once

#include "eval/flowpulse/set.h"

/* The paper's fabric, with adaptive spraying; and one for random spraying, which needs a hundred times the packets. */
extern const struct fp_point fp_papers_point, fp_random_point;

/* @return the test of one iteration that a leaf has for this spraying: by its noise, or by what it learned of it */
const struct fp_method_ops *fp_own_test(const struct fp_point *point);

/* exp_rates.c */
int fp_exp_roc(struct fp_study *study, json_t *rows, struct err *err);
int fp_exp_radix(struct fp_study *study, json_t *rows, struct err *err);
int fp_exp_size(struct fp_study *study, json_t *rows, struct err *err);
int fp_exp_known(struct fp_study *study, json_t *rows, struct err *err);
/* exp_loads.c */
int fp_exp_prediction(struct fp_study *study, json_t *rows, struct err *err);
int fp_exp_relearning(struct fp_study *study, json_t *rows, struct err *err);
/* exp_places.c */
int fp_exp_places(struct fp_study *study, json_t *rows, struct err *err);
int fp_exp_flows(struct fp_study *study, json_t *rows, struct err *err);
int fp_exp_fib(struct fp_study *study, json_t *rows, struct err *err);
/* exp_priority.c */
int fp_exp_priority(struct fp_study *study, json_t *rows, struct err *err);
/* exp_bytes.c */
int fp_exp_bytes(struct fp_study *study, json_t *rows, struct err *err);
/* exp_limits.c */
int fp_exp_alarms(struct fp_study *study, json_t *rows, struct err *err);
int fp_exp_limit(struct fp_study *study, json_t *rows, struct err *err);
int fp_exp_pooled(struct fp_study *study, json_t *rows, struct err *err);
