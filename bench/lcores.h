/* SPDX-License-Identifier: BSD-3-Clause */
/* What a second lcore is worth: two pairs of ports on one lcore, on two, and two programs with a pair each. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "common/err.h"

/* Of the best run of each: frames a second of the machine's time, and which share of the CPUs' time the lcores had. */
struct bench_lcores {
	bool measured; /* false: this process may use one CPU alone */
	double one_pps, two_pps, apart_pps;
	double one_share, two_share, apart_share;
};

/*
 * Takes the three in turn.
 * @param forwarder  path of dpswitch-forward
 * @param dir        for scratch files
 * @return 0, or negative with err set
 */
int bench_lcores_measure(const char *forwarder, const char *dir, int repeats, struct bench_lcores *result, struct err *err);
/* In words, and whether this machine was too busy for the figures to mean anything. */
void bench_lcores_print(const struct bench_lcores *result);
json_t *bench_lcores_json(const struct bench_lcores *result);
