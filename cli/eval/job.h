/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of a case, in a process of its own. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

/* What a job's process says by its exit status. */
enum job_status { JOB_DONE = 0, JOB_FABRIC_FAILED = 1, JOB_NO_VERDICT = 2, JOB_NOT_STARTED = 3 };

struct job_config {
	const char *scenario, *dir; /* dir is made */
	const char *policy;         /* NULL: no detection and no analyzer, for the truth alone */
	const char *const *sets;    /* [nsets] keys of the scenario that every run is given */
	size_t nsets;
	int cpu;                    /* it and its children run there; -1: anywhere */
};

/*
 * Starts it. What the programs print goes to DIR/log.txt. SIGTERM ends the run early.
 * @return pid, or negative errno with err set
 */
pid_t job_start(const struct job_config *config, struct err *err);

/* CPUs that this process may use, one job each. @param cpus  [cap] @return how many there are, up to cap */
uint32_t job_cpus(int *cpus, uint32_t cap);
