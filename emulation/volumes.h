/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operator's input to FlowPulse's monitors in switches: the demand of measured collectives, or the volumes of an
 * earlier run.
 */
#pragma once

#include "dpswitch/pipeline/switch_cfg.h"
#include "emulation/predict_by_simulation.h"
#include "emulation/service.h"
#include "scenario/scenario.h"

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
