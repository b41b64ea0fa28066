/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages one after another, and the proof. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/stages.h"

#define NAMED 2 /* steps that a message of the proof is about, at most */

/* "rank 3 step 5": the proof names steps so. @return what is behind it, or NULL: there is no more */
static const char *
next_step(const char *text, uint32_t *rank, uint32_t *step)
{
	for (text = strstr(text, "rank "); text != NULL; text = strstr(text + 1, "rank "))
		if (sscanf(text, "rank %" SCNu32 " step %" SCNu32, rank, step) == 2)
			return text + 1;
	return NULL;
}

int
prove(const struct program *program, const struct coll_schedule *schedule, const struct origins *origins, struct err *err)
{
	char places[NAMED * (PROGRAM_PLACE + 64)] = "", place[PROGRAM_PLACE];
	struct err cause = { 0 };
	const char *text = cause.text;
	int rc = coll_schedule_check(schedule, &cause);
	uint32_t rank, step;
	size_t used = 0;

	if (rc == 0)
		return 0;
	for (int i = 0; i < NAMED && (text = next_step(text, &rank, &step)) != NULL; i++) {
		uint32_t op = PROGRAM_NONE;

		if (rank < schedule->ranks && step >= 1 && step <= coll_steps(schedule, rank))
			op = origins->ops[origins->first[rank] + step - 1];
		if (op != PROGRAM_NONE && used < sizeof(places))
			used += (size_t)snprintf(places + used, sizeof(places) - used,
						 "; rank %" PRIu32 " step %" PRIu32 " is %s", rank, step,
						 program->describe(program, &program->ops[op].place, place));
	}
	rc = rc == -EINVAL ? -EPROTO : rc;
	if (schedule->op == COLL_CUSTOM)
		return err_set(err, rc, "%s: %s%s", program->files[0], cause.text, places);
	return err_set(err, rc, "%s does no %s: %s%s", program->files[0], coll_op_name(schedule->op), cause.text, places);
}

struct coll_schedule *
program_schedule(const struct program *program, const struct coll_params *params, const struct coll_layout *layout,
		 struct err *err)
{
	uint32_t *order = malloc((program->nops + 1) * sizeof(*order));
	struct coll_schedule *schedule = NULL;
	struct origins origins = { 0 };
	struct links links = { 0 };
	int rc = order != NULL ? links_init(&links, program, err) : err_set(err, -ENOMEM, "out of memory for operations");

	if (rc == 0)
		rc = order_operations(program, &links, order, err);
	if (rc == 0)
		schedule = expand(program, &links, order, params, layout, &origins, err);
	else
		errno = -rc;
	if (schedule != NULL && program->memory && (rc = prove(program, schedule, &origins, err)) != 0) {
		coll_schedule_destroy(schedule);
		schedule = NULL;
		errno = -rc;
	}
	free(origins.first);
	free(origins.ops);
	links_fini(&links);
	free(order);
	return schedule;
}
