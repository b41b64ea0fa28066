/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that fill struct run: each fills its part, in this order. @return 0 or negative errno */
#pragma once

#include "diag/collect/evidence.h"
#include "diag/run/run.h"

/* Jobs, collectives and steps. */
int run_fill_steps(struct run *run, const struct evidence *ev, struct err *err);
/* Its parts: collectives by job and iteration, without the facts from steps; that of iterations; ranks. */
int run_fill_jobs(struct run *run, const struct evidence *ev, struct err *err);
void run_sum_up_iterations(struct run *run);
int run_fill_ranks(struct run *run, const struct evidence *ev, struct err *err);
/* The machine's lateness, and the part of steps that it may explain. */
int run_fill_lateness(struct run *run, const struct evidence *ev, struct err *err);
/* Overhead and completeness. */
int run_account(struct run *run, const struct evidence *ev, struct err *err);

/* calloc() of at least one element; sets err. */
void *run_alloc(size_t count, size_t size_bytes, struct err *err);
