/* SPDX-License-Identifier: BSD-3-Clause */
/* What a scenario says of jobs, as bound from its tables; ranks are not placed yet. */
#pragma once

#include "common/cfg/cfg.h"

/* One group of "jobs". */
struct work_job_config {
	struct cfg_where where;
	const char *name;
	struct cfg_strings ranks; /* empty: a placement's, or every host at its first NIC */
	uint64_t start_ps, gap_ps, compute_ps;
	int64_t iterations;
	bool enabled;
	bool measured; /* all its collectives are */
};

enum pipeline_schedule { PIPELINE_1F1B, PIPELINE_GPIPE };

/* The group "pipeline" of a job. */
struct pipeline_config {
	struct cfg_where where;
	const char *dim; /* of the job's dims: its places are the stages */
	int64_t micro_batches;
	int order;      /* enum pipeline_schedule */
	uint64_t bytes; /* of activations, and of gradients, of a micro-batch between two ranks */
};

extern const struct cfg_table job_table, pipeline_table;
