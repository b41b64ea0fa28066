/* SPDX-License-Identifier: BSD-3-Clause */
/* --blame of `rocelab run` and `rocelab diagnose`: costs of a verdict by runs of its twin. */
#pragma once

#include <argp.h>
#include <stdbool.h>

#include "common/err.h"

enum blame_by { BLAME_BY_ESTIMATE, BLAME_BY_TWIN, BLAME_BY_AUTO };

#define BLAME_OPTION                                                                                                       \
	{                                                                                                                  \
		"blame", 'b', "estimate|twin|auto", 0,                                                                     \
			"Source of each finding's cost: an estimate from waits, or runs of a twin inferred from the "      \
			"records, without "                                                                                \
			"each cause (docs/twin.md); auto: the twin where that takes no longer than about the run times "   \
			"its causes, a "                                                                                   \
			"minute at most (default: estimate)",                                                              \
			0                                                                                                  \
	}

/* Parses the option's word; ends the program if it is unknown. */
enum blame_by blame_by_parse(const char *word, const struct argp_state *state);

struct blame_by_twin {
	const char *records; /* folder of records.bin */
	const char *plugins; /* folder of plugins.json */
	const char *out;     /* of verdict.json; it, the reports and the twin's files are written there */
	enum blame_by by;    /* not BLAME_BY_ESTIMATE */
	bool print;          /* the report for people */
};

/*
 * Makes the twin and has the analyzer write the reports with its costs. Where no twin is made, a warning says why, and the
 * estimates stay.
 * @return exit code; negative errno with err set
 */
int blame_by_twin(const struct blame_by_twin *of, struct err *err);
