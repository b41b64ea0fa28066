/* SPDX-License-Identifier: BSD-3-Clause */
/* What an operator tells FlowPulse's monitors in switches: the demand of measured collectives, or what a run before saw. */
#pragma once

#include "dpswitch/pipeline/volumes_cfg.h"
#include "emulation/foretell.h"
#include "emulation/scenario/scenario.h"

struct volumes_owned {
	struct volumes_setup setup; /* of those below */
	struct tiers tiers;
	struct volumes_demand *demand;
	struct volumes_told *told;
	double *kept;
};

/*
 * @param foretold  what runs made before saw, where that is asked for; NULL: they were not made, and monitors learn it of nobody
 * @return 0; -ENOMEM, -EINVAL (a file that cannot be read, or says what cannot be) with err set
 */
int volumes_setup(struct volumes_owned *volumes, const struct scenario *scenario, const struct foretold *foretold,
		  struct err *err);
/* Also of one that is zero. */
void volumes_unset(struct volumes_owned *volumes);
