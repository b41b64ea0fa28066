/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * R-Pingmesh's analyzer, a diagnoser (4.3): from results of probes between RNICs to problems of RNICs, switches, hosts
 * and CPUs, and their impact on services. It does not know their cost in time.
 */
#pragma once

#include "diag/diagnoser.h"

/* Zeroed: defaults. */
struct pingmesh_options {
	double degradation; /* --degradation=PERCENT as a share, 0: 0.1 */
	bool chosen;        /* --pingmesh-algorithm: algorithm, and not the recording's */
	uint16_t algorithm; /* enum rec_pingmesh_algorithm */
};

/* --degradation=PERCENT: as in diagnoser.h. */
int pingmesh_degradation(void *options, const char *value, struct err *err);

/* --pingmesh-algorithm=NAME: as in diagnoser.h. */
int pingmesh_algorithm(void *options, const char *value, struct err *err);

/* As in diagnoser.h. @param options  struct pingmesh_options */
int pingmesh_diagnose(const struct evidence *evidence, const struct run *run, const void *options, struct section *section,
		      struct err *err);
void pingmesh_destroy(void *own);
