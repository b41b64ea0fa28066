/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/import/program.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectives/import/room.h"

void
program_init(struct program *program, uint32_t ranks, uint32_t elem_bytes, const char *const *files,
	     char *(*describe)(const struct program *, const struct program_place *, char *))
{
	*program = (struct program){ .ranks = ranks, .elem_bytes = elem_bytes, .files = files, .describe = describe };
}

void
program_fini(struct program *program)
{
	free(program->ops);
	free(program->waits);
	program->ops = NULL;
	program->waits = NULL;
}

uint32_t
program_add(struct program *program, const struct program_op *op, struct err *err)
{
	assert(op->rank < program->ranks && op->count_elems <= PROGRAM_MAX_COUNT && op->compute_ps <= PROGRAM_MAX_PS);
	if (program->nops == PROGRAM_MAX_OPS) {
		err_set(err, -E2BIG, "%s: more than %u operations", program->files[op->place.file], PROGRAM_MAX_OPS);
		return PROGRAM_NONE;
	}
	if (!import_room(&program->ops, &program->op_room, program->nops, sizeof(*program->ops))) {
		err_set(err, -ENOMEM, "%s: out of memory", program->files[op->place.file]);
		return PROGRAM_NONE;
	}
	program->ops[program->nops] = *op;
	return (uint32_t)program->nops++;
}

int
program_wait(struct program *program, uint32_t op, uint32_t on, bool start, struct err *err)
{
	assert(op < program->nops && on < program->nops && program->ops[op].rank == program->ops[on].rank);
	if (program->nwaits == PROGRAM_MAX_WAITS)
		return err_set(err, -E2BIG, "%s: more than %u dependencies", program->files[program->ops[op].place.file],
			       PROGRAM_MAX_WAITS);
	if (!import_room(&program->waits, &program->wait_room, program->nwaits, sizeof(*program->waits)))
		return err_set(err, -ENOMEM, "out of memory for dependencies");
	program->waits[program->nwaits++] = (struct program_wait){ .op = op, .on = on, .start = start };
	return 0;
}

int
program_fail(const struct program *program, uint32_t op, struct err *err, const char *fmt, ...)
{
	char place[PROGRAM_PLACE], message[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return err_set(err, -EINVAL, "%s %s", program->describe(program, &program->ops[op].place, place), message);
}
