/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of each job: the duration and lost time of its iterations, and the parts of its critical paths. */
#pragma once

#include <jansson.h>

#include "diag/report/text.h"
#include "diag/vedrfolnir/section.h"
#include "diag/verdict.h"

/* Of the critical paths' time, that of one collective of the job; its computation is counted for itself. */
struct job_part {
	uint32_t collective; /* the first of its iterations: index into run.collectives */
	uint64_t path_ps;
};

/* Over all iterations. */
struct job_facts {
	uint32_t iterations, unfinished;
	bool begun;                /* a step of it */
	uint64_t start_ps, end_ps; /* end: 0 if one did not finish */
	uint64_t path_ps;          /* of all steps on critical paths */
	uint64_t compute_ps;       /* of it, local steps' */
	uint64_t lost_ps;          /* of it, beyond the expected time; and the delay of hosts' starts */
	struct job_part *parts;    /* [nparts] by the collective's id */
	uint32_t nparts;
};

/* @param job  index into run.jobs  @param facts  set; job_facts_fini() it  @return 0 or -ENOMEM */
int job_facts(const struct verdict *v, uint32_t job, struct job_facts *facts);
void job_facts_fini(struct job_facts *facts);

/* verdict.json's "jobs". @return NULL: no memory */
json_t *jobs_json(const struct verdict *v);
/* report.txt's section; nothing of one job that does one collective alone. @return 0 or -ENOMEM */
int jobs_text(const struct text *text);
