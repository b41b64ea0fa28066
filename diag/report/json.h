/* SPDX-License-Identifier: BSD-3-Clause */
/* verdict.json: the verdict for machines. */
#pragma once

#include <stdio.h>

#include <jansson.h>

#include "diag/verdict.h"

/* What verdict.json says, as a value. @return NULL: no memory */
json_t *json_document(const struct verdict *v);

/* How late the machine was: "lateness", of a run in real time. @return NULL: no memory */
json_t *json_lateness(const struct verdict *v);

/*
 * Writes the verdict as JSON, keys in a fixed order: the same verdict gives the same bytes. Times are whole ns.
 * (job, collective, iteration, rank, step) names a step, as in steps.csv; "waited_for" the step of the same iteration that
 * a start waited for, null: none; end_ns of an unfinished collective is null, that of an open step the end of the run.
 * @return 0, -ENOMEM, or -EIO
 */
int json_write(const struct verdict *v, FILE *to);
