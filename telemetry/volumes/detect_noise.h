/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A leaf learns the noise of its ports from themselves, for spraying whose noise nobody can tell beforehand (adaptive). What it
 * learns must not hold the fault that it is to find: the noise that a port is tested by is that of the other ports. Of these,
 * too, those that are furthest from the middle are left out, up to an eighth of all (of few, one), for faults at several ports,
 * from the first iteration on. Counts are whole numbers, many of them the same where noise is small: those are spread over the
 * width of one first, which undoes their rounding. Ports that are known to lose packets vary by that, besides:
 * detect_noise_lossy(); others are learned from instead, as long as there are DETECT_MIN_PORTS.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "telemetry/volumes/detect.h"

#define DETECT_MAX_PORTS 256
#define DETECT_MIN_PORTS 4   /* of fewer, the others of a port tell next to nothing */
#define DETECT_MAX_HALVED 32 /* ports: of more, those left out otherwise are enough */
#define DETECT_MEMORY 256    /* iterations: older ones fade away */

/* Of so many other ports: a matter of the configuration. */
struct detect_trim {
	uint32_t others, kept;
	double mean; /* of the sum of the kept squares, of independent counts of variance 1 */
	double dof;  /* degrees of freedom that an iteration is worth */
};

/* The ports that one sender's packets arrive at. */
struct detect_ports {
	uint32_t count;            /* DETECT_MIN_PORTS to DETECT_MAX_PORTS */
	const float *lost;         /* [count] share of what is sent by a port that is known to be lost; NULL: none */
	struct detect_trim *trims; /* [DETECT_MAX_PORTS + 1 or count + 1] derived as they are needed; zero at first */
	bool half; /* learn of the half of the others that are nearest to their middle: of up to DETECT_MAX_HALVED */
};

struct detect_learned {
	float *squares;   /* [ports] sum over iterations of what was kept of the others; zero at first */
	float iterations; /* up to DETECT_MEMORY */
};

/*
 * Derives the moments of order statistics of normal noise, by integration.
 * @param others  DETECT_MIN_PORTS - 1 to DETECT_MAX_PORTS
 * @param half    as of struct detect_ports
 */
void detect_trim_init(struct detect_trim *trim, uint32_t others, bool half);

/* Adds an iteration. @param missing  [count] packets of one sender */
void detect_learn(struct detect_learned *learned, const struct detect_ports *ports, const double *missing);

/*
 * What is learned so far, of one iteration at least: the noise of a further iteration of a port is to be judged by it.
 * All packets arrive somewhere: what one port has more others have less, so that counts of n ports differ from each other by
 * n / (n - 1) of a count's variance.
 */
struct detect_noise detect_noise_learned(const struct detect_learned *learned, const struct detect_ports *ports,
					 uint32_t port);

/* What losses that are known add to the noise of a sender's ports. */
struct detect_losses {
	double packets; /* that the sender's ports are predicted to see, all together */
	double variance; /* sum over ports of the packets predicted there that are not the first to be sent: packets * lost */
};

/*
 * The noise of a port's count where ports are known to lose packets (docs/flowpulse-limits.md): (1 - lost)^2 of the variance of what is
 * sent, the drops' own, and that of what other ports drop more or less, which is sent again by all.
 * @param packets  that the port is predicted to see
 * @param lost     share of what is sent by it that is known to be lost
 */
struct detect_noise detect_noise_lossy(const struct detect_noise *noise, const struct detect_losses *losses, double packets,
				       double lost);
