/* SPDX-License-Identifier: BSD-3-Clause */
/* When the collective's flows ran, as their hosts reported: rows of coarse epochs show them where other steps passed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "diag/run/run.h"

struct evidence;

/* A step that ran. */
struct activity_run {
	uint32_t flow;
	uint64_t start_ps, end_ps;
	uint64_t reach_ps; /* the latest end of it and those before it of its flow */
};

struct activity {
	uint32_t *first;           /* [flows + 1] into runs */
	struct activity_run *runs; /* by flow and start */
	bool *unknown;             /* [flows] outside of the collective, or with a step that nobody reported */
};

/* @return 0 or -ENOMEM */
int activity_init(struct activity *activity, const struct evidence *ev, const struct run_step *steps, uint32_t nsteps);
void activity_fini(struct activity *activity);

/* For how much of a time a flow had a step running. @return ps; INFINITY: nobody knows */
double activity_ran_ps(const struct activity *activity, uint32_t flow, uint64_t from_ps, uint64_t to_ps);
/* For how much of a time two flows had a step running at once. @return ps; INFINITY: nobody knows of either */
double activity_both_ran_ps(const struct activity *activity, uint32_t one, uint32_t other, uint64_t from_ps,
			    uint64_t to_ps);
