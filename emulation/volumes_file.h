/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A prediction from a file: the flowpulse.csv of an earlier run with export = "counts", or a prediction.csv. It is refused where
 * it cannot be a prediction of this scenario: without rows, cut, of other switches or ports, or of another demand.
 */
#pragma once

#include <stdio.h>

#include "dpswitch/pipeline/volumes_cfg.h"

struct volumes_file {
	const char *path; /* for errors */
	const struct topo *topo;
	const struct tiers *tiers;
	/* [ndemand] what the scenario's measured collectives send in an iteration: port is the receiving leaf (a node) here. */
	const struct volumes_predicted *demand;
	uint32_t ndemand;
	double tolerance; /* share by which a sender's volume may differ from the demand */
};

/*
 * @param from  at its start
 * @param told  set to an array to be freed, also on errors; a row of the file each  @param count  of it
 * @return 0; -EINVAL with err (file, line, value, remedy); -ENOMEM
 */
int volumes_file_read(const struct volumes_file *file, FILE *from, struct volumes_predicted **predicted, uint32_t *count,
		      struct err *err);
