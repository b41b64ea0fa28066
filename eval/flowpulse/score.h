/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests that run in a leaf, on recorded counts: their findings, and their false alarms. */
#pragma once

#include "eval/flowpulse/grid.h"
#include "telemetry/volumes/detect.h"

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
