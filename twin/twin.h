/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The twin of a run: a scenario that is inferred from its records alone and run again, with and without each cause that
 * the verdict names. What a job then regains is the cause's cost.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct twin_options {
	const char *records; /* records.bin */
	const char *verdict; /* verdict.json of them */
	const char *dir;     /* RUN_TWIN_CONFIG, RUN_TWIN and RUN_TWIN_RUNS go there, and runs while they last */
	uint32_t jobs;       /* side by side */
	double limit_s;      /* give it up where its runs would take longer together; 0: never */
};

/*
 * Leaves twin.cfg and twin.json, which the analyzer takes by --costs. Runs that are stored are not made again.
 * @return 0; -EINVAL with err set: no twin is made of such records; -ETIME: they would take too long; -EINTR; other
 *         negative errno with err set
 */
int twin_make(const struct twin_options *options, struct err *err);

/* The analyzer over a recording, with or without the costs of a twin. */
struct twin_reports {
	const char *records; /* folder of records.bin */
	const char *plugins; /* folder of plugins.json; NULL: none */
	const char *out;     /* of the reports, and of the twin's RUN_TWIN */
	bool with_costs, print;
};

/* @return its exit code, at most EXIT_USAGE; negative errno with err set: it did not start */
int twin_reports_write(const struct twin_reports *reports, struct err *err);
