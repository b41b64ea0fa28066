/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operator's input to FlowPulse's monitors in switches: the demand of measured collectives, or the volumes of an
 * earlier run.
 */
#pragma once

#include "dpswitch/pipeline/switch_cfg.h"
#include "emulation/service.h"
#include "scenario/scenario.h"

/*
 * FlowPulse's prediction by simulation (5.2). Before the measured run this engine simulates what an operator knows,
 * from the first packet to the last, with random numbers of its own. The bytes that arrive by each port are the
 * prediction. It uses nothing of the run itself: the same scenario gives the same prediction, whatever the operator
 * does not know.
 */

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
	uint32_t runs, iterations; /* the number in each, of the switch that could distinguish most of them */
	uint64_t virtual_ps;       /* of all runs together */
	uint64_t wall_ns;
};

/* @return whether a scenario's monitors need it: prediction = "simulated" without a file */
bool prediction_is_asked(const struct scenario *scenario);

/*
 * Runs it, in this thread: flowpulse.simulations runs. EAL need not run.
 * @param services  of each run, as in struct emulation_options
 * @return NULL with err and errno set: -EINTR interrupted, -ENODATA no switch could identify an iteration, or as
 *         emulation_create()
 */
struct prediction *predict_by_simulation(const struct scenario *scenario, const struct run_service *const *services,
					 struct err *err);
/* Also of NULL. */
void prediction_destroy(struct prediction *prediction);

struct volumes_owned {
	struct volumes_setup setup; /* of those below */
	struct tiers tiers;
	struct volumes_demand *demand;
	struct volumes_predicted *predicted;
	double *kept;
	const struct emulation *emulation;
	const struct prediction
		*prediction; /* volumes of earlier runs; NULL: there were none, and monitors have no such volumes */
};

/* Its state is a struct volumes_owned. */
extern const struct run_service service_flowpulse;

/* NULL: the scenario has no FlowPulse. */
const struct volumes_owned *volumes_of(const struct emulation *emulation);
