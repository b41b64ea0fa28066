/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowPulse's prediction by simulation (5.2): our own engine runs what an operator knows before the measured run, from the
 * first packet to the last and with chance of its own; what comes in by each port is what is to come. Nothing that the run
 * itself does is in it: the same scenario gives the same prediction, whatever is unknown.
 */
#pragma once

#include "emulation/service.h"
#include "scenario/scenario.h"

/* Iterations of a job that each run has at most. */
#define PREDICTION_ITERATIONS 4

/* The mean of a run's iterations. */
struct prediction_row {
	uint32_t run; /* from 0 */
	struct volumes_predicted predicted;
};

struct prediction {
	struct prediction_row *rows; /* [nrows] run by run */
	uint32_t nrows, cap;
	uint32_t runs, iterations; /* as many in each, of the switch that could tell most of them apart */
	uint64_t virtual_ps;       /* of all runs together */
	uint64_t wall_ns;
};

/* @return whether a scenario's monitors want it: prediction = "simulated" without a file */
bool prediction_is_asked(const struct scenario *scenario);

/*
 * Runs it, in this thread: so many runs as flowpulse.simulations says. EAL need not run.
 * @param services  of each run, as in struct emulation_options
 * @return NULL with err and errno set: -EINTR somebody interrupted it, -ENODATA no switch could tell an iteration, or as
 *         emulation_create()
 */
struct prediction *predict_by_simulation(const struct scenario *scenario, const struct run_service *const *services,
					 struct err *err);
/* Also of NULL. */
void prediction_destroy(struct prediction *prediction);
