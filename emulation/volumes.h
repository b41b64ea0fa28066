/* SPDX-License-Identifier: BSD-3-Clause */
/* What an operator tells FlowPulse's monitors in switches: the demand of measured collectives, or what a run before saw. */
#pragma once

#include "dpswitch/pipeline/volumes_cfg.h"
#include "emulation/scenario/scenario.h"

struct volumes_owned {
	struct volumes_setup setup; /* of the three below */
	struct tiers tiers;
	struct volumes_demand *demand;
	struct volumes_told *told;
};

/* @return 0; -ENOMEM, -EINVAL (a file that cannot be read, or says what cannot be) with err set */
int volumes_setup(struct volumes_owned *volumes, const struct scenario *scenario, struct err *err);
/* Also of one that is zero. */
void volumes_unset(struct volumes_owned *volumes);
