/* SPDX-License-Identifier: BSD-3-Clause */
/* One process of the tracer: its threads, and their results, in memory of its own. */
#pragma once

#include "operator/tracer/tracer.h"

struct tracer_process {
	const struct tracer_config *config;
	uint32_t first, count; /* of config->sources, its own */
	struct traced **lists; /* [count] of each source */
	uint32_t *nflows;      /* [count] */
	char **silent;         /* [nnodes] why a device is not queried any more; NULL: it is */
	struct tracer_work work;
};

/* Traces all flows of its sources. What it found goes with the program. @return 0 or -ENOMEM */
int tracer_process_run(struct tracer_process *process);
