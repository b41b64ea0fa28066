/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Imports the input of HPCC's ns-3 simulator (High-Precision-Congestion-Control, simulation/mix): config.txt, and the
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
 * Writes the scenario. Features of the simulator that are missing here, or the reverse, cause a warning with file and
 * line.
 * @return 0; -EINVAL with err set (file:line, the value, a right value): keys that are unknown or that ask for a
 *         missing feature, flows between nodes that are none; -EIO, -ENOMEM
 */
int hpcc_import(const struct hpcc_files *files, FILE *to, struct err *err);
