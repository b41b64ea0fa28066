/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic of a comparison by pairs of runs: each pair gives a ratio, this program's rate by the other's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A median ratio below this is slower, unless noise explains it. */
#define PAIRS_BAR 0.95

/*
 * @param values  [count], not empty; sorted by this call. @return their median: the mean of the middle two of an even count
 */
double pairs_median(double *values, size_t count);

/*
 * The noise of a median of `count` ratios: two standard errors. It is estimated from as many pairs of a program with
 * itself, whose true ratio is 1: the median distance of their logarithms from 0 is robust against single disturbed runs.
 * The factors of a normal distribution are 1.4826 from that to the standard deviation, and sqrt(pi/2) from a mean's error
 * to a median's.
 * @param own  ratios of the program with itself, [count], positive, at least one
 * @return a share: 0.02 for 2 % up or down
 */
double pairs_noise(const double *own, size_t count);

/* Whether a median ratio is below the bar by more than the noise, a share of the ratio. */
bool pairs_slower(double ratio, double noise);
