/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>

#include "collectives/import/msccl.h"
#include "common/units.h"

/* Of a step's source or destination. */
static int
find_chunk(const struct msccl *m, const struct msccl_gpu *gpu, const struct msccl_step *step, bool source, uint64_t *elems)
{
	int64_t buffer = source ? step->srcbuf : step->dstbuf, off = source ? step->srcoff : step->dstoff;
	int64_t room = gpu->chunks[buffer];

	/* What is one vector has the chunks of both names. */
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
		seq->rc = -E2BIG;
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

/* What a step moves, as far as somebody can carry it out. */
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
		return msccl_fail(m, step->line, "depid and deps: one of them says that there is none");
	return step->type != MSCCL_NOP ? check_size(m, step) : 0;
}

int
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
