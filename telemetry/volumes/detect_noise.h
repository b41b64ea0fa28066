/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A leaf learns the noise of its ports from themselves, for spraying whose noise nobody can tell beforehand (adaptive). What it
 * learns must not hold the fault that it is to find: of each iteration it takes deviations from their median, as what a fault
 * drops is sprayed again and raises all ports alike, and of their squares the least seven eighths, which faults at up to an
 * eighth of the ports (of few, at two), from the first iteration on, do not reach. Counts are whole numbers, many of them the same where noise
 * is small: those are spread over the width of one first, which undoes their rounding. 16 bytes a sender.
 */
#pragma once

#include <stdint.h>

#include "telemetry/volumes/detect.h"

#define DETECT_MAX_PORTS 256
#define DETECT_MIN_PORTS 4 /* of fewer nothing can be left out */
#define DETECT_MEMORY 256  /* iterations: older ones fade away */

/* Of so many ports: a matter of the configuration. */
struct detect_trim {
	uint32_t ports, kept;
	double mean; /* of the sum of the kept squares, where the variance is 1 */
	double dof;  /* degrees of freedom that an iteration is worth */
};

struct detect_learned {
	double squares;    /* sum over iterations of what was kept */
	double iterations; /* up to DETECT_MEMORY */
};

/*
 * Derives the moments of order statistics of normal noise, by integration.
 * @param ports  DETECT_MIN_PORTS to DETECT_MAX_PORTS that one sender's packets arrive at
 */
void detect_trim_init(struct detect_trim *trim, uint32_t ports);

/* Adds an iteration. @param missing  [trim->ports] packets of one sender; is changed, and put in order */
void detect_learn(struct detect_learned *learned, const struct detect_trim *trim, double *missing);

/* What is learned so far, of one iteration at least: the noise of a further iteration is to be judged by it. */
struct detect_noise detect_noise_learned(const struct detect_learned *learned, const struct detect_trim *trim);

/*
 * Adds an iteration that is to be judged. @param missing  as of detect_learn()
 * @return what was learned before it; of the very first, the noise of itself
 */
struct detect_noise detect_noise_before(struct detect_learned *learned, const struct detect_trim *trim, double *missing);
