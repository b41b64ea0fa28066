/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the workload*.c files: a workload while it is read. */
#pragma once

#include "workload/workload.h"

struct reading {
	struct workload *workload;
	const struct cfg *cfg;
	const struct topo *topo;
	bool *taken; /* [topo->nnodes] hosts that jobs use */
	struct err *err;
};

/* A job's collectives, as bound. */
struct phases {
	const struct collective_config *configs;
	size_t count;
};

/* Ranks, dims, jitter and stragglers of a job. @return 0, -ENOMEM or -EINVAL with err set */
int workload_read_job(struct reading *reading, const struct work_job_config *config, struct work_job *job);

/*
 * Appends a collective; what its grid and stages say is the caller's to set in the result.
 * @param suffix  of its name, "" or ".m0.s1"; without a name it is OPERATION-NUMBER
 * @return NULL with err set: no memory, or a name that is no name or taken in its job
 */
struct work_item *workload_add(struct reading *reading, uint32_t job, const struct collective_config *config,
			       const char *suffix);
/* The latest collective comes after this one as well. @return 0 or -ENOMEM */
int workload_add_after(struct reading *reading, uint32_t work);
/* A name of letters, digits, '_', '.' and '-'. @return 0 or -EINVAL with err set */
int workload_check_name(const struct cfg_where *where, const char *name, struct err *err);
/*
 * Appends a job's collectives that have the phase, in order, each after those that it names, else after the one before it.
 * @param phase   enum collective_phase
 * @param inputs  [ninputs] what those without others come after
 * @param suffix  of their names, "" or ".m0.s1"
 * @return 0, -ENOMEM or -EINVAL with err set
 */
int workload_add_phase(struct reading *reading, uint32_t job, const struct phases *phases, int phase, uint32_t stage,
		       const uint32_t *inputs, size_t ninputs, const char *suffix);

/* Appends the collectives of a job with a pipeline, micro-batch by micro-batch. @return as above */
int workload_add_pipeline(struct reading *reading, uint32_t job, const struct phases *phases,
			  const struct pipeline_config *pipeline);
