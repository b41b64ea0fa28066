/* SPDX-License-Identifier: BSD-3-Clause */
/* One cause at one place is one finding, however many iterations and jobs it hits. */
#pragma once

#include "common/err.h"
#include "diag/finding.h"
#include "diag/run/run.h"

/*
 * Joins findings of the same type, root and key: those of a job's iterations and collectives, and those of several jobs
 * unless flows of jobs are the culprits, who then are others for each. Then those of strangers at one place that are each
 * without effect, whatever their keys: a crowd of small flows may cost what none of them does. Sets the parts of all, and orders them: those with
 * effect first, of these what costs most, then by score; of equals as they were. What without effect in each part comes to a
 * base RTT in sum has one.
 * @param findings  [*count] those that joined others are freed
 * @return 0, or -ENOMEM with err: what is left is to be freed as before
 */
int findings_join(const struct run *run, struct finding *findings, uint32_t *count, struct err *err);
