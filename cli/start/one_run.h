/* SPDX-License-Identifier: BSD-3-Clause */
/* A run in a folder that is locked: its sockets and hosts, the fabric and the analyzer, and what they leave. */
#pragma once

#include "cli/start/launch.h"
#include "common/run_dir.h"
#include "scenario/scenario.h"

struct one_run {
	const struct scenario_options *options;
	const struct child_args *pass; /* the same, and more, as dpswitch takes it */
	uint32_t partitions;           /* programs that share the fabric; 0: one runs all of it */
	bool print;                    /* for people */
};

/*
 * @param scenario  loaded as options say; taken over
 * @return 0 with *status set; or with err set and nothing run EXIT_USAGE: what it asks for cannot be had; EXIT_FAILED
 */
int one_run(const struct one_run *run, struct scenario *scenario, const struct run_dir *dir, struct launch_status *status,
	    struct err *err);

/*
 * What came of it, told to people where it is not well.
 * @return exit code (common/exit_code.h), EXIT_DONE also where nobody read what the analyzer printed
 */
int one_run_check(const struct launch_status *status, const char *dir);
