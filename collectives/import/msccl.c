/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MSCCL's algorithms (Cowan et al., "MSCCLang", ASPLOS 2023, and its runtime's XML): thread blocks whose steps follow
 * each other, each with at most one peer to send to and one to receive from.
 *
 * A receive is its message's arrival: the message is put where the step puts it, or added there. Where the step means
 * more, local operations follow. That is right as long as a message that arrives early does no harm, which the proof of
 * a known operation shows. Else (staged) messages are put at places of their own first, as in the runtime's FIFOs, and
 * local operations take them from there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/import.h"
#include "collectives/import/msccl_xml.h"
#include "collectives/import/program.h"
#include "common/array.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/units.h"

/* Keys that identify one thread block of a GPU: its id, its channel and send peer, its channel and receive peer. */
enum msccl_once { MSCCL_ID, MSCCL_SEND, MSCCL_RECV, MSCCL_ONCE };

struct msccl_key {
	uint64_t key;
	uint32_t block; /* of the algorithm's */
};

struct msccl {
	const struct import_options *options;
	const struct msccl_algo *algo;
	size_t file_bytes;
	struct program program;
	uint64_t chunk_elems, vector_elems;
	uint64_t base_elems[MSCCL_BUFFERS];  /* of rank 0 */
	uint64_t shift_elems[MSCCL_BUFFERS]; /* further for each rank */
	bool in_place;                       /* input and output are one vector */
	bool staged;
	uint64_t *slot_elems;               /* [ngpus] the next place of its own */
	uint32_t *first_op, *last_op;       /* [nsteps] */
	struct msccl_key *keys[MSCCL_ONCE]; /* [nkeys] of one GPU's blocks, sorted; of a key the first of the file first */
	size_t nkeys[MSCCL_ONCE];
	const char *files[1];
	struct err *err;
};

static char *
describe(const struct program *program, const struct program_place *place, char *buf)
{
	snprintf(buf, PROGRAM_PLACE, "%.160s:%" PRIu64 ": gpu %" PRIu64 " tb %" PRIu64 " step %" PRIu64, program->files[0],
		 place->at, place->name >> 48, place->name >> 32 & UINT16_MAX, place->name & UINT32_MAX);
	return buf;
}

/* err: "file:line: ...". @return -EINVAL */
static int __attribute__((format(printf, 3, 4))) msccl_fail(const struct msccl *m, int line, const char *fmt, ...)
{
	char message[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return err_set(m->err, -EINVAL, "%s:%d: %s", m->files[0], line, message);
}

/* Thread blocks of a GPU, by what it has once alone. */

/* @return false: the block has no such key */
static bool
key_of(const struct msccl_block *block, enum msccl_once once, uint64_t *key)
{
	int64_t peer = once == MSCCL_SEND ? block->send : block->recv;

	*key = once == MSCCL_ID ? (uint64_t)block->id : (uint64_t)block->chan << 32 | (uint64_t)(uint32_t)peer;
	return once == MSCCL_ID || peer >= 0;
}

static int
compare_keys(const void *a, const void *b)
{
	const struct msccl_key *x = a, *y = b;

	return x->key != y->key ? ORDER(x->key, y->key) : ORDER(x->block, y->block);
}

/* Sorts the thread blocks of a GPU, in place of the one before. @return 0 or -ENOMEM */
static int
msccl_blocks_index(struct msccl *m, const struct msccl_gpu *gpu)
{
	for (int once = 0; once < MSCCL_ONCE; once++) {
		struct msccl_key *keys = realloc(m->keys[once], (gpu->nblocks + 1) * sizeof(*keys));

		if (keys == NULL)
			return -ENOMEM;
		m->keys[once] = keys;
		m->nkeys[once] = 0;
		for (size_t b = gpu->first_block; b < gpu->first_block + gpu->nblocks; b++)
			if (key_of(&m->algo->blocks[b], once, &keys[m->nkeys[once]].key))
				keys[m->nkeys[once]++].block = (uint32_t)b;
		qsort(keys, m->nkeys[once], sizeof(*keys), compare_keys);
	}
	return 0;
}

static void
msccl_blocks_fini(struct msccl *m)
{
	for (int once = 0; once < MSCCL_ONCE; once++) {
		free(m->keys[once]);
		m->keys[once] = NULL;
	}
}

/* @return the first block of the file with a key, NULL: there is none */
static const struct msccl_block *
find(const struct msccl *m, enum msccl_once once, uint64_t key)
{
	const struct msccl_key *keys = m->keys[once];
	size_t lo = 0, hi = m->nkeys[once];

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (keys[mid].key < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->nkeys[once] && keys[lo].key == key ? &m->algo->blocks[keys[lo].block] : NULL;
}

/* @return the block with an id of the GPU that was indexed last; NULL: there is none */
static const struct msccl_block *
msccl_blocks_find(const struct msccl *m, int64_t id)
{
	return find(m, MSCCL_ID, (uint64_t)id);
}

/* Another block of the file before has what a GPU has once. */
static int
refuse_second(const struct msccl *m, const struct msccl_block *block, const struct msccl_block *other, enum msccl_once once)
{
	switch (once) {
	case MSCCL_ID:
		return msccl_fail(m, block->line, "tb %" PRId64 " is already in line %d", block->id, other->line);
	case MSCCL_SEND:
		return msccl_fail(m, block->line,
				  "tb %" PRId64 " sends to gpu %" PRId64 " on channel %" PRId64 " as tb %" PRId64
				  " in line %d does",
				  block->id, block->send, block->chan, other->id, other->line);
	default:
		return msccl_fail(m, block->line,
				  "tb %" PRId64 " receives from gpu %" PRId64 " on channel %" PRId64 " as tb %" PRId64
				  " in line %d does: their messages cannot be distinguished",
				  block->id, block->recv, block->chan, other->id, other->line);
	}
}

/* A sender's messages on a channel have one order, and the receiver's take them in one: one thread block each. */
static int
msccl_blocks_check(const struct msccl *m, const struct msccl_gpu *gpu, const struct msccl_block *block)
{
	uint64_t key;

	if (block->send >= m->algo->ngpus || block->recv >= m->algo->ngpus)
		return msccl_fail(m, block->line, "tb %" PRId64 ": peer %" PRId64 "; there are %" PRId64 " gpus", block->id,
				  block->send >= m->algo->ngpus ? block->send : block->recv, m->algo->ngpus);
	if (block->send == gpu->id || block->recv == gpu->id)
		return msccl_fail(m, block->line, "tb %" PRId64 " of gpu %" PRId64 " has its own gpu for a peer", block->id,
				  gpu->id);
	for (int once = 0; once < MSCCL_ONCE; once++) {
		const struct msccl_block *other = key_of(block, once, &key) ? find(m, once, key) : block;

		if (other != block)
			return refuse_second(m, block, other, once);
	}
	return 0;
}

/* Operations of a step. */

/* Finds the elements of a step's source or destination. @return 0 or -EINVAL with err set */
static int
find_chunk(const struct msccl *m, const struct msccl_gpu *gpu, const struct msccl_step *step, bool source, uint64_t *elems)
{
	int64_t buffer = source ? step->srcbuf : step->dstbuf, off = source ? step->srcoff : step->dstoff;
	int64_t room = gpu->chunks[buffer];

	/* If input and output are one vector, chunks of either name may be used. */
	if (m->in_place && buffer != MSCCL_SCRATCH && m->shift_elems[MSCCL_INPUT] == m->shift_elems[MSCCL_OUTPUT])
		room = gpu->chunks[MSCCL_INPUT] > gpu->chunks[MSCCL_OUTPUT] ? gpu->chunks[MSCCL_INPUT]
									    : gpu->chunks[MSCCL_OUTPUT];
	if (off < 0 || off + step->cnt > room)
		return msccl_fail(m, step->line, "%s: %" PRId64 " chunks from %" PRId64 " of a buffer that has %" PRId64,
				  source ? "srcoff" : "dstoff", step->cnt, off, room);
	*elems = m->base_elems[buffer] + m->shift_elems[buffer] * (uint64_t)gpu->id + (uint64_t)off * m->chunk_elems;
	return 0;
}

/* The operations of one step, one after another. */
struct sequence {
	struct msccl *m;
	struct program_op op; /* what all of them share */
	uint32_t last;        /* operation before; PROGRAM_NONE */
	uint32_t first;
	int rc;
};

static void
append(struct sequence *seq, const struct program_op *op)
{
	struct program *program = &seq->m->program;
	uint32_t index;

	if (seq->rc != 0)
		return;
	index = program_add(program, op, seq->m->err);
	if (index == PROGRAM_NONE)
		seq->rc = -errno;
	else if (seq->last != PROGRAM_NONE)
		seq->rc = program_wait(program, index, seq->last, false, seq->m->err);
	seq->first = seq->first == PROGRAM_NONE ? index : seq->first;
	seq->last = index;
}

/* @param time  whether it takes a rank's time */
static void
append_local(struct sequence *seq, uint64_t src_elems, uint64_t dst_elems, bool reduce, bool time)
{
	const struct import_options *options = seq->m->options;
	struct program_op op = seq->op;

	op.kind = PROGRAM_LOCAL;
	op.src_elems = src_elems;
	op.dst_elems = dst_elems;
	op.reduce = reduce;
	if (time && options->local_bps != 0)
		op.compute_ps = units_serialize_ps(op.count_elems * options->elem_bytes, options->local_bps, 0);
	append(seq, &op);
}

/* Time alone: what an arriving message was added in. */
static void
append_adding(struct sequence *seq)
{
	struct program_op op = seq->op;

	if (seq->m->options->local_bps == 0)
		return;
	op.kind = PROGRAM_LOCAL;
	op.compute_ps = units_serialize_ps(op.count_elems * seq->m->options->elem_bytes, seq->m->options->local_bps, 0);
	op.count_elems = 0;
	append(seq, &op);
}

/*
 * A receive: its message is put at "to" (source and destination are the step's). @return where the result is, for a send
 * that follows
 */
static uint64_t
append_receive(struct sequence *seq, const struct msccl_step *step, uint64_t src_elems, uint64_t dst_elems)
{
	struct msccl *m = seq->m;
	const struct msccl_type_row *type = &msccl_types[step->type];
	bool keeps = step->type != MSCCL_RRS; /* the result stays here */
	bool in_place = type->reduces && (!keeps || src_elems == dst_elems);
	struct program_op op = seq->op;
	uint64_t slot_elems;

	op.kind = PROGRAM_RECV;
	if (!m->staged) {
		op.dst_elems = in_place ? src_elems : dst_elems;
		op.reduce = in_place;
		append(seq, &op);
		if (type->reduces && !in_place)
			append_local(seq, src_elems, dst_elems, true, true);
		else if (type->reduces)
			append_adding(seq);
		return op.dst_elems;
	}
	slot_elems = m->slot_elems[op.rank];
	m->slot_elems[op.rank] += op.count_elems;
	op.dst_elems = slot_elems;
	append(seq, &op);
	if (type->reduces && in_place && keeps) {
		append_local(seq, slot_elems, dst_elems, true, true);
		return dst_elems;
	}
	if (type->reduces)
		append_local(seq, src_elems, slot_elems, true, true);
	if (keeps)
		append_local(seq, slot_elems, dst_elems, false, false);
	return slot_elems;
}

/* Checks the elements that a step moves, as far as it can be carried out. */
static int
check_size(const struct msccl *m, const struct msccl_step *step)
{
	unsigned __int128 bytes = (unsigned __int128)step->cnt * m->chunk_elems * m->options->elem_bytes;
	uint64_t local_bps = m->options->local_bps;

	if (step->cnt < 1)
		return msccl_fail(m, step->line, "cnt: found \"%" PRId64 "\"; 1 at least would be right", step->cnt);
	if (bytes > COLL_MAX_MESSAGE_BYTES)
		return msccl_fail(m, step->line, "%" PRId64 " chunks have %" PRIu64 " B; 2 GiB at most would be right",
				  step->cnt, (uint64_t)bytes);
	if (local_bps != 0 && bytes * 8 * PS_PER_S / local_bps >= PROGRAM_MAX_PS)
		return msccl_fail(m, step->line,
				  "%" PRIu64 " B take too long at a local rate of %" PRIu64
				  " bit/s: a higher one would be right",
				  (uint64_t)bytes, local_bps);
	return 0;
}

static int
check_step(const struct msccl *m, const struct msccl_block *block, const struct msccl_step *step, size_t index)
{
	const struct msccl_type_row *type = &msccl_types[step->type];

	if ((size_t)step->s != index - block->first_step)
		return msccl_fail(m, step->line, "step s=\"%" PRId64 "\" of tb %" PRId64 "; %zu is next", step->s,
				  block->id, index - block->first_step);
	if (type->sends && block->send < 0)
		return msccl_fail(m, step->line, "\"%s\" sends, but tb %" PRId64 " has no peer to send to", type->name,
				  block->id);
	if (type->receives && block->recv < 0)
		return msccl_fail(m, step->line, "\"%s\" receives, but tb %" PRId64 " has no peer to receive from",
				  type->name, block->id);
	if ((step->depid < 0) != (step->deps < 0))
		return msccl_fail(m, step->line, "depid and deps: only one of them has a dependency");
	return step->type != MSCCL_NOP ? check_size(m, step) : 0;
}

/*
 * Adds the operations of a step of a thread block, behind those of the step before.
 * @param index  of the algorithm's steps
 * @return 0; -EINVAL, -E2BIG or -ENOMEM with err set
 */
static int
msccl_add_step(struct msccl *m, const struct msccl_gpu *gpu, const struct msccl_block *block, size_t index)
{
	const struct msccl_step *step = &m->algo->steps[index];
	const struct msccl_type_row *type = &msccl_types[step->type];
	struct sequence seq = { .m = m, .last = PROGRAM_NONE, .first = PROGRAM_NONE };
	uint64_t src_elems = 0, dst_elems = 0;
	struct program_op op;
	int rc = check_step(m, block, step, index);

	if (rc == 0 && (type->local || type->reduces || (type->sends && !type->receives)))
		rc = find_chunk(m, gpu, step, true, &src_elems);
	if (rc == 0 && (type->local || (type->receives && step->type != MSCCL_RRS)))
		rc = find_chunk(m, gpu, step, false, &dst_elems);
	if (rc != 0)
		return rc;
	seq.op = (struct program_op){
		.rank = (uint32_t)gpu->id,
		.tag = (uint64_t)block->chan,
		.lane = (uint64_t)block->id,
		.count_elems = step->type != MSCCL_NOP ? (uint64_t)step->cnt * m->chunk_elems : 0,
		.place = { 0, (uint64_t)step->line,
			   (uint64_t)gpu->id << 48 | (uint64_t)block->id << 32 | (uint64_t)step->s },
	};
	if (index > block->first_step)
		seq.last = m->last_op[index - 1];
	if (type->local)
		append_local(&seq, src_elems, dst_elems, type->reduces, true);
	op = seq.op;
	if (type->receives) {
		seq.op.peer = (uint32_t)block->recv;
		src_elems = append_receive(&seq, step, src_elems, dst_elems);
	}
	op.kind = type->sends ? PROGRAM_SEND : PROGRAM_JOIN;
	op.peer = (uint32_t)block->send;
	op.lane = (uint64_t)block->chan;
	op.src_elems = src_elems;
	if (type->sends || step->type == MSCCL_NOP)
		append(&seq, &op);
	m->first_op[index] = seq.first;
	m->last_op[index] = seq.last;
	return seq.rc;
}

/* The algorithm as a whole. */

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
				return msccl_fail(m, gpu->line, "gpu %" PRId64 " is already in line %d", gpu->id,
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

/*
 * The operation by its name; one that has none here, or needs more parameters than the file has, is only carried out.
 */
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

/*
 * The file does not name the root: for a Broadcast it is the rank that receives nothing, for a Reduce the one that
 * sends nothing.
 */
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
 * Lays out the buffers of a rank's memory. In place, input and output are one vector, of which an AllGather's input and
 * a ReduceScatter's output are the rank's block. Otherwise, and if the operation is not known, there are two vectors.
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
				  ", whose hasdep=\"0\" in line %d states that no step waits for it",
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

	if (bytes < (uint64_t)algo->min_bytes)
		log_warning("%s:%d: %s is meant for %" PRId64 " B at least; here it moves %" PRIu64 " B", m->files[0],
			    algo->line, algo->name, algo->min_bytes, bytes);
	else if (algo->max_bytes != 0 && bytes > (uint64_t)algo->max_bytes)
		log_warning("%s:%d: %s is meant for %" PRId64 " B at most; here it moves %" PRIu64 " B", m->files[0],
			    algo->line, algo->name, algo->max_bytes, bytes);
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
