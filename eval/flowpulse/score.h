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

/* Its links that drop, as faults of a grid's rows. @param faults  [FP_MAX_FAULTS] */
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
