/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What HPCC's ns-3 simulator runs (High-Precision-Congestion-Control, simulation/mix), as a scenario: config.txt, and the
 * topology and flows that it names. config.txt and flow.txt are read as its third.cc reads them.
 */
#pragma once

#include <stdio.h>

#include "common/err.h"

#define HPCC_MAX_FLOWS 60000

struct hpcc_files {
	const char *config;          /* NULL: none, the simulator's defaults */
	const char *topology, *flow; /* NULL: those that config names */
};

/*
 * Writes the scenario. What the simulator does and we do not, or the other way round, is warned of with file and line.
 * @return 0; -EINVAL with err set (file:line, the value, what would be right): keys that nobody knows or that ask for
 *         what there is not here, flows between nodes that are none; -EIO, -ENOMEM
 */
int hpcc_import(const struct hpcc_files *files, FILE *to, struct err *err);
