/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/import/program.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/minmax.h"

void
program_init(struct program *program, size_t file_bytes, uint32_t ranks, uint32_t elem_bytes, const char *const *files,
	     char *(*describe)(const struct program *, const struct program_place *, char *))
{
	*program = (struct program){
		.file_bytes = file_bytes,
		.max_ops = PROGRAM_MAX_OPS,
		.max_waits = PROGRAM_MAX_WAITS,
		.max_sets = PROGRAM_MAX_WAITS,
		.max_copies = UINT64_MAX,
		.ranks = ranks,
		.elem_bytes = elem_bytes,
		.files = files,
		.describe = describe,
	};
	if (file_bytes == 0)
		return;
	program->max_ops = (uint32_t)min_u64(PROGRAM_LEAST + file_bytes / PROGRAM_BYTES_AN_OP, PROGRAM_MAX_OPS);
	program->max_waits = (uint32_t)min_u64(PROGRAM_LEAST + file_bytes / PROGRAM_BYTES_A_WAIT, PROGRAM_MAX_WAITS);
	program->max_sets = (uint32_t)min_u64(PROGRAM_LEAST_SETS + file_bytes / PROGRAM_BYTES_A_SET, PROGRAM_MAX_WAITS);
	program->max_copies = PROGRAM_COPIES_A_BYTE * ((uint64_t)PROGRAM_LEAST_SETS + file_bytes);
}

/* "PLACE: more than 65546 operations in a file of 120 B". @return -E2BIG */
static int
too_many(const struct program *program, const struct program_place *place, uint32_t limit, const char *what,
	 struct err *err)
{
	char at[PROGRAM_PLACE];

	program->describe(program, place, at);
	if (program->file_bytes == 0)
		return err_set(err, -E2BIG, "%s: more than %u %s", at, limit, what);
	return err_set(err, -E2BIG, "%s: more than %u %s in a file of %zu B", at, limit, what, program->file_bytes);
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
	if (program->nops == program->max_ops) {
		errno = -too_many(program, &op->place, program->max_ops, "operations", err);
		return PROGRAM_NONE;
	}
	if (!import_room(&program->ops, &program->op_room, program->nops, sizeof(*program->ops))) {
		errno = -err_set(err, -ENOMEM, "%s: out of memory", program->files[op->place.file]);
		return PROGRAM_NONE;
	}
	program->ops[program->nops] = *op;
	return (uint32_t)program->nops++;
}

int
program_wait(struct program *program, uint32_t op, uint32_t on, bool start, struct err *err)
{
	assert(op < program->nops && on < program->nops && program->ops[op].rank == program->ops[on].rank);
	if (program->nwaits == program->max_waits)
		return too_many(program, &program->ops[op].place, program->max_waits, "dependencies", err);
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

int
program_too_many_steps(const struct program *program, uint32_t op, uint32_t limit, struct err *err)
{
	return too_many(program, &program->ops[op].place, limit, "steps that operations wait for", err);
}
