/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MSCCL's algorithms (Cowan et al., "MSCCLang", ASPLOS 2023, and its runtime's XML): thread blocks whose steps follow each
 * other, each with at most one peer to send to and one to receive from.
 *
 * A receive is its message's arrival: the message is put where the step puts it, or added there. Where the step means
 * more, local operations follow. That is right as long as a message that comes early does no harm, which the proof of a
 * known operation tells. Else (staged) messages go to places of their own first, as in the runtime's FIFOs, and local
 * operations take them from there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/msccl.h"
#include "common/array.h"
#include "common/log.h"

static char *
describe(const struct program *program, const struct program_place *place, char *buf)
{
	snprintf(buf, PROGRAM_PLACE, "%.160s:%" PRIu64 ": gpu %" PRIu64 " tb %" PRIu64 " step %" PRIu64, program->files[0],
		 place->at, place->name >> 48, place->name >> 32 & UINT16_MAX, place->name & UINT32_MAX);
	return buf;
}

int
msccl_fail(const struct msccl *m, int line, const char *fmt, ...)
{
	char message[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return err_set(m->err, -EINVAL, "%s:%d: %s", m->files[0], line, message);
}

static int
check_gpus(const struct msccl *m)
{
	const struct msccl_algo *algo = m->algo;

	if (algo->ngpus_read != (size_t)algo->ngpus)
		return msccl_fail(m, algo->line, "%zu <gpu>, but ngpus=\"%" PRId64 "\"", algo->ngpus_read, algo->ngpus);
	for (size_t g = 0; g < algo->ngpus_read; g++) {
		const struct msccl_gpu *gpu = &algo->gpus[g];

		if (gpu->id >= algo->ngpus)
			return msccl_fail(m, gpu->line, "gpu %" PRId64 ": ids go to %" PRId64, gpu->id, algo->ngpus - 1);
		for (size_t other = 0; other < g; other++)
			if (algo->gpus[other].id == gpu->id)
				return msccl_fail(m, gpu->line, "gpu %" PRId64 " stands in line %d already", gpu->id,
						  algo->gpus[other].line);
		for (size_t b = MSCCL_INPUT; b <= MSCCL_OUTPUT; b++)
			if (gpu->chunks[b] > algo->nchunksperloop)
				return msccl_fail(m, gpu->line,
						  "%" PRId64 " chunks in a buffer; nchunksperloop=\"%" PRId64
						  "\" is all that the vector has",
						  gpu->chunks[b], algo->nchunksperloop);
	}
	return 0;
}

/* The operation by its name; what has none here, or wants to be told more than the file says, is only carried out. */
static enum coll_op
find_op(const char *coll)
{
	static const struct {
		const char *name;
		enum coll_op op;
	} ops[] = {
		{ "allgather", COLL_ALLGATHER }, { "reducescatter", COLL_REDUCESCATTER },
		{ "allreduce", COLL_ALLREDUCE }, { "reduce_scatter", COLL_REDUCESCATTER },
		{ "alltoall", COLL_ALLTOALL },   { "broadcast", COLL_BROADCAST },
		{ "reduce", COLL_REDUCE },
	};

	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (strcmp(ops[i].name, coll) == 0)
			return ops[i].op;
	return COLL_CUSTOM;
}

/* The file does not say who the root is: of a Broadcast who receives nothing, of a Reduce who sends nothing. */
static uint32_t
find_root(const struct msccl *m, enum coll_op op)
{
	const struct msccl_algo *algo = m->algo;

	for (size_t g = 0; g < algo->ngpus_read && (op == COLL_BROADCAST || op == COLL_REDUCE); g++) {
		const struct msccl_gpu *gpu = &algo->gpus[g];
		bool none = true;

		for (size_t b = 0; b < gpu->nblocks; b++) {
			const struct msccl_block *block = &algo->blocks[gpu->first_block + b];

			for (size_t s = 0; s < block->nsteps; s++) {
				const struct msccl_type_row *type = &msccl_types[algo->steps[block->first_step + s].type];

				none &= op == COLL_BROADCAST ? !type->receives : !type->sends;
			}
		}
		if (none)
			return (uint32_t)gpu->id;
	}
	return 0;
}

/*
 * Where buffers are in a rank's memory. In place, input and output are one vector, of which an AllGather's input and a
 * ReduceScatter's output are the rank's block; else, and where the operation is not known, there are two.
 */
static int
lay_out(struct msccl *m)
{
	const struct msccl_algo *algo = m->algo;
	uint64_t elems = m->options->count_elems, chunks = (uint64_t)algo->nchunksperloop, scratch = 0;
	uint64_t unit = chunks * m->options->elem_bytes, block = elems / (uint64_t)algo->ngpus;
	enum coll_op op = find_op(algo->coll);

	if (elems > PROGRAM_MAX_COUNT)
		return msccl_fail(m, algo->line, "a vector of %" PRIu64 " elements; %llu at most would be right", elems,
				  PROGRAM_MAX_COUNT);
	if (elems == 0 || elems % chunks != 0)
		return msccl_fail(m, algo->line,
				  "%" PRIu64 " B are no whole number of elements in each of nchunksperloop=\"%" PRId64
				  "\" chunks; %" PRIu64 " B would be",
				  elems * m->options->elem_bytes, algo->nchunksperloop,
				  (elems * m->options->elem_bytes / unit + 1) * unit);
	m->chunk_elems = elems / chunks;
	m->vector_elems = elems;
	m->in_place = algo->inplace && op != COLL_CUSTOM;
	m->base_elems[MSCCL_OUTPUT] = m->in_place ? 0 : elems;
	m->base_elems[MSCCL_SCRATCH] = m->in_place ? elems : 2 * elems;
	if (m->in_place && op == COLL_ALLGATHER)
		m->shift_elems[MSCCL_INPUT] = block;
	else if (m->in_place && op == COLL_REDUCESCATTER)
		m->shift_elems[MSCCL_OUTPUT] = block;
	for (size_t g = 0; g < algo->ngpus_read; g++) {
		for (size_t b = MSCCL_INPUT; b <= MSCCL_OUTPUT; b++)
			if (m->shift_elems[b] != 0 && (uint64_t)algo->gpus[g].chunks[b] * m->chunk_elems > block)
				return msccl_fail(m, algo->gpus[g].line,
						  "gpu %" PRId64 ": %" PRId64
						  " %s chunks are more than its block of the %s",
						  algo->gpus[g].id, algo->gpus[g].chunks[b],
						  b == MSCCL_INPUT ? "input" : "output", algo->coll);
		if ((uint64_t)algo->gpus[g].chunks[MSCCL_SCRATCH] > scratch)
			scratch = (uint64_t)algo->gpus[g].chunks[MSCCL_SCRATCH];
	}
	for (size_t g = 0; g < algo->ngpus_read; g++)
		m->slot_elems[g] = m->base_elems[MSCCL_SCRATCH] + scratch * m->chunk_elems;
	return 0;
}

static int
add_blocks(struct msccl *m)
{
	const struct msccl_algo *algo = m->algo;
	int rc = 0;

	for (size_t g = 0; g < algo->ngpus_read && rc == 0; g++) {
		const struct msccl_gpu *gpu = &algo->gpus[g];

		rc = msccl_blocks_index(m, gpu);
		for (size_t b = 0; b < gpu->nblocks && rc == 0; b++) {
			const struct msccl_block *block = &algo->blocks[gpu->first_block + b];

			rc = msccl_blocks_check(m, gpu, block);
			for (size_t s = 0; s < block->nsteps && rc == 0; s++)
				rc = msccl_add_step(m, gpu, block, block->first_step + s);
		}
	}
	return rc;
}

/* Across thread blocks: by id, and the step's number there. */
static int
add_dependency(struct msccl *m, const struct msccl_gpu *gpu, size_t index)
{
	const struct msccl_step *step = &m->algo->steps[index], *on;
	const struct msccl_block *block;

	if (step->depid < 0)
		return 0;
	block = msccl_blocks_find(m, step->depid);
	if (block == NULL)
		return msccl_fail(m, step->line, "waits for tb %" PRId64 ", which gpu %" PRId64 " has not", step->depid,
				  gpu->id);
	if ((size_t)step->deps >= block->nsteps)
		return msccl_fail(m, step->line, "waits for step %" PRId64 " of tb %" PRId64 ", which has %zu steps",
				  step->deps, step->depid, block->nsteps);
	on = &m->algo->steps[block->first_step + (size_t)step->deps];
	if (!on->hasdep)
		return msccl_fail(m, step->line,
				  "waits for step %" PRId64 " of tb %" PRId64
				  ", whose hasdep=\"0\" in line %d says that nothing waits for it",
				  step->deps, step->depid, on->line);
	return program_wait(&m->program, m->first_op[index], m->last_op[on - m->algo->steps], false, m->err);
}

static int
add_dependencies(struct msccl *m)
{
	const struct msccl_algo *algo = m->algo;
	int rc = 0;

	for (size_t g = 0; g < algo->ngpus_read; g++) {
		const struct msccl_gpu *gpu = &algo->gpus[g];

		rc = rc == 0 ? msccl_blocks_index(m, gpu) : rc;
		for (size_t b = 0; b < gpu->nblocks; b++) {
			const struct msccl_block *block = &algo->blocks[gpu->first_block + b];

			for (size_t s = 0; s < block->nsteps && rc == 0; s++)
				rc = add_dependency(m, gpu, block->first_step + s);
		}
	}
	return rc;
}

static void
warn_of_size(const struct msccl *m)
{
	const struct msccl_algo *algo = m->algo;
	uint64_t bytes = m->options->count_elems * m->options->elem_bytes;

	if (bytes < (uint64_t)algo->min_bytes || (algo->max_bytes != 0 && bytes > (uint64_t)algo->max_bytes))
		log_warning("%s:%d: %s is meant for %" PRId64 " to %" PRId64 " B; here it moves %" PRIu64 " B", m->files[0],
			    algo->line, algo->name, algo->min_bytes, algo->max_bytes, bytes);
}

static int
fill(struct msccl *m)
{
	int rc = check_gpus(m);

	if (rc == 0)
		rc = lay_out(m);
	if (rc == 0)
		rc = add_blocks(m);
	if (rc == 0)
		rc = add_dependencies(m);
	return rc;
}

static struct coll_schedule *
make(struct msccl *m)
{
	const struct msccl_algo *algo = m->algo;
	const struct coll_params params = {
		.op = find_op(algo->coll),
		.algorithm = COLL_FILE,
		.ranks = (uint32_t)algo->ngpus,
		.count_elems = m->options->count_elems,
		.root = find_root(m, find_op(algo->coll)),
	};
	struct coll_layout layout = { 0 };
	struct coll_schedule *schedule = NULL;
	int rc = -ENOMEM;

	m->slot_elems = calloc(algo->ngpus_read + 1, sizeof(*m->slot_elems));
	m->first_op = calloc(algo->nsteps + 1, sizeof(*m->first_op));
	m->last_op = calloc(algo->nsteps + 1, sizeof(*m->last_op));
	program_init(&m->program, m->file_bytes, (uint32_t)algo->ngpus, m->options->elem_bytes, m->files, describe);
	m->program.memory = true;
	if (m->slot_elems != NULL && m->first_op != NULL && m->last_op != NULL)
		rc = fill(m);
	for (size_t g = 0; g < algo->ngpus_read && rc == 0; g++)
		layout.memory_elems = m->slot_elems[g] > layout.memory_elems ? m->slot_elems[g] : layout.memory_elems;
	if (rc == 0) {
		layout.out_elems = m->base_elems[MSCCL_OUTPUT];
		layout.scratch_elems = m->base_elems[MSCCL_SCRATCH];
		schedule = program_schedule(&m->program, &params, &layout, m->err);
		if (schedule != NULL)
			schedule->of_file =
				(struct coll_size){ params.op, params.ranks, 0, m->vector_elems * m->options->elem_bytes };
	} else {
		err_set(m->err, rc, "%s: out of memory", m->files[0]);
		errno = -rc;
	}
	rc = errno;
	program_fini(&m->program);
	msccl_blocks_fini(m);
	free(m->slot_elems);
	free(m->first_op);
	free(m->last_op);
	errno = rc;
	return schedule;
}

static struct coll_schedule *
read_msccl(const struct import_options *options, bool staged, struct err *err)
{
	struct msccl_algo algo;
	struct msccl m = { .options = options, .algo = &algo, .staged = staged, .files = { options->path }, .err = err };
	struct coll_schedule *schedule = NULL;
	size_t length;
	char *text = import_read(options->path, &length, err);
	int rc;

	if (text == NULL)
		return NULL;
	m.file_bytes = length;
	rc = msccl_parse(text, length, options->path, &algo, err);
	free(text);
	if (rc == 0) {
		if (!staged)
			warn_of_size(&m);
		schedule = make(&m);
	}
	rc = rc != 0 ? -rc : errno;
	msccl_fini(&algo);
	errno = rc;
	return schedule;
}

const struct import_format import_msccl = {
	.kind = "msccl",
	.doc = "an MSCCL algorithm (XML)",
	.sized = true,
	.stages = true,
	.read = read_msccl,
};
