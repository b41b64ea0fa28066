/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run of the evaluation, and its scenario: a ring AllGather over all hosts of a leaf-spine fabric, which with R
 * ranks has R - 1 steps (the paper's 31 stages are those of 32 ranks), its data tagged and sprayed, counts reported
 * by every leaf. With one host a leaf each leaf receives of one other: no other leaf sees one leaf's flow, and faults
 * at several leaves are independent experiments. With a second ring in another order each leaf receives of two.
 */
#pragma once

#include "eval/flowpulse/grid.h"

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
