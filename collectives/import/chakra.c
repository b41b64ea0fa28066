/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chakra's execution traces (Sridharan et al., arXiv:2305.14516; MLCommons), one file a rank: nodes that wait for others
 * of their rank. Metadata takes no time; a computation takes its duration, those of a processor one after another (a
 * rank has two: what is_cpu_op says, and the other); a send is a message, which a receive of the same source, destination
 * and tag takes; a collective is expanded (chakra_coll.c).
 */
#include "collectives/import/chakra.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/room.h"
#include "common/log.h"

/* By id, to find what dependencies name. */
struct known {
	uint64_t id;
	size_t index;
};

static char *
describe(const struct program *program, const struct program_place *place, char *buf)
{
	snprintf(buf, PROGRAM_PLACE, "%.160s: node %" PRIu64 " at byte %" PRIu64, program->files[place->file], place->name,
		 place->at);
	return buf;
}

/* @param attribute  the other rank, as the node names it */
static int
set_message(struct chakra *chakra, uint32_t rank, const struct chakra_node *node, struct program_op *op)
{
	bool send = node->type == CHAKRA_SEND;
	uint64_t peer = send ? node->comm_dst : node->comm_src, own = send ? node->comm_src : node->comm_dst;

	if (peer >= chakra->ranks || peer == rank)
		return chakra_fail(chakra, rank, node,
				   "is a %s with %s %" PRId64 "; another of the %" PRIu32 " ranks would be right",
				   send ? "send" : "receive", send ? "comm_dst" : "comm_src",
				   peer == CHAKRA_ABSENT ? (int64_t)-1 : (int64_t)peer, chakra->ranks);
	if (own != CHAKRA_ABSENT && own != rank)
		return chakra_fail(chakra, rank, node, "has %s %" PRIu64 " in the trace of rank %" PRIu32,
				   send ? "comm_src" : "comm_dst", own, rank);
	if (node->comm_size == 0 || node->comm_size == CHAKRA_ABSENT)
		return chakra_fail(chakra, rank, node, "is a message without comm_size");
	chakra->mixed = true;
	op->kind = send ? PROGRAM_SEND : PROGRAM_RECV;
	op->peer = (uint32_t)peer;
	op->tag = op->lane = node->comm_tag;
	op->count_elems = node->comm_size;
	if (node->comm_size > chakra->largest_bytes)
		chakra->largest_bytes = node->comm_size;
	return 0;
}

static int
set_computation(struct chakra *chakra, uint32_t rank, const struct chakra_node *node, struct program_op *op)
{
	if (node->duration_ps == 0 && node->num_ops != 0)
		return chakra_fail(chakra, rank, node,
				   "says how much it computes (num_ops), but not how long: duration_micros would be right");
	chakra->mixed |= node->duration_ps != 0;
	op->kind = node->duration_ps != 0 ? PROGRAM_LOCAL : PROGRAM_JOIN;
	op->compute_ps = node->duration_ps;
	op->lane = node->cpu;
	return 0;
}

/* A collective is two joins, between which its messages will be. */
static int
add_operations(struct chakra *chakra, uint32_t rank, struct chakra_node *node)
{
	struct program_op op = { .kind = PROGRAM_JOIN, .rank = rank, .place = { rank, node->offset, node->id } };
	/* What a processor does to start a collective moves nothing. */
	bool starts = node->type == CHAKRA_COLL && node->cpu && node->comm_size == CHAKRA_ABSENT;
	int rc = 0;

	if (node->type == CHAKRA_SEND || node->type == CHAKRA_RECV)
		rc = set_message(chakra, rank, node, &op);
	else if (node->type == CHAKRA_COMP || starts)
		rc = set_computation(chakra, rank, node, &op);
	else if (node->type == CHAKRA_MEM_LOAD || node->type == CHAKRA_MEM_STORE)
		rc = chakra_fail(chakra, rank, node, "is a remote memory's load or store, which nothing here is");
	else if (node->type != CHAKRA_METADATA && node->type != CHAKRA_COLL)
		rc = chakra_fail(chakra, rank, node, "has type %" PRIu32 "; 1 to 7 would be right", node->type);
	if (rc != 0)
		return rc;
	node->first_op = node->last_op = program_add(&chakra->program, &op, chakra->err);
	if (node->type == CHAKRA_COLL && !starts && node->first_op != PROGRAM_NONE)
		node->last_op = program_add(&chakra->program, &op, chakra->err);
	if (node->first_op == PROGRAM_NONE || node->last_op == PROGRAM_NONE)
		return -E2BIG;
	return node->last_op != node->first_op
		       ? program_wait(&chakra->program, node->last_op, node->first_op, false, chakra->err)
		       : 0;
}

static int
compare_known(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->id != y->id ? (x->id < y->id ? -1 : 1) : (x->index > y->index) - (x->index < y->index);
}

/* @return the node of that id; NULL: the file has none */
static const struct chakra_node *
find_node(const struct chakra_trace *trace, const struct known *known, uint64_t id)
{
	size_t low = 0, high = trace->nnodes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (known[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < trace->nnodes && known[low].id == id ? &trace->nodes[known[low].index] : NULL;
}

/*
 * Traces of PyTorch name as control the operator that called another: one that the file has not, or the node itself, whose
 * id it took over. Who calls is not waited for, and would be waiting itself: of such a file no control is.
 */
static bool
is_control_waited_for(struct chakra *chakra, uint32_t rank, const struct known *known)
{
	const struct chakra_trace *trace = &chakra->traces[rank];

	for (size_t n = 0; n < trace->nnodes; n++) {
		const struct chakra_node *node = &trace->nodes[n];

		for (size_t i = 0; i < node->ncontrol; i++) {
			uint64_t id = trace->deps[node->first_dep + i];

			if (find_node(trace, known, id) != NULL && id != node->id)
				continue;
			if (!chakra->has_callers)
				log_warning("%s: node %" PRIu64 " at byte %" PRIu64 " is controlled by node %" PRIu64
					    ", which %s: what such a file says of control is who called whom, and is "
					    "not waited for",
					    chakra->paths[rank], node->id, node->offset, id,
					    id == node->id ? "is itself" : "the file has not");
			chakra->has_callers = true;
			return false;
		}
	}
	return true;
}

static int
link_node(struct chakra *chakra, uint32_t rank, const struct chakra_node *node, const struct known *known, bool control)
{
	const struct chakra_trace *trace = &chakra->traces[rank];
	int rc = 0;

	for (size_t i = control ? 0 : node->ncontrol; i < node->ndeps && rc == 0; i++) {
		uint64_t id = trace->deps[node->first_dep + i];
		const struct chakra_node *on = find_node(trace, known, id);

		if (on == NULL)
			return chakra_fail(chakra, rank, node, "waits for node %" PRIu64 ", which the file has not", id);
		if (on == node)
			return chakra_fail(chakra, rank, node, "waits for itself");
		rc = program_wait(&chakra->program, node->first_op, on->last_op, false, chakra->err);
	}
	return rc;
}

static int
link_trace(struct chakra *chakra, uint32_t rank)
{
	const struct chakra_trace *trace = &chakra->traces[rank];
	struct known *known = malloc((trace->nnodes + 1) * sizeof(*known));
	int rc = known != NULL ? 0 : -ENOMEM;
	bool control;

	for (size_t i = 0; i < trace->nnodes && rc == 0; i++)
		known[i] = (struct known){ trace->nodes[i].id, i };
	if (rc == 0)
		qsort(known, trace->nnodes, sizeof(*known), compare_known);
	for (size_t i = 1; i < trace->nnodes && rc == 0; i++)
		if (known[i].id == known[i - 1].id)
			rc = chakra_fail(chakra, rank, &trace->nodes[known[i].index],
					 "has the id of the node at byte %" PRIu64,
					 trace->nodes[known[i - 1].index].offset);
	control = rc == 0 && is_control_waited_for(chakra, rank, known);
	for (size_t i = 0; i < trace->nnodes && rc == 0; i++)
		rc = link_node(chakra, rank, &trace->nodes[i], known, control);
	free(known);
	return rc;
}

/* The group of all ranks has no name. */
static int
add_everybody(struct chakra *chakra)
{
	struct chakra_group all = { .nranks = chakra->ranks, .ranks = calloc(chakra->ranks, sizeof(*all.ranks)) };

	if (all.ranks == NULL || !import_room(&chakra->groups, &chakra->group_room, 0, sizeof(*chakra->groups))) {
		free(all.ranks);
		return -ENOMEM;
	}
	for (uint32_t rank = 0; rank < chakra->ranks; rank++)
		all.ranks[rank] = rank;
	chakra->groups[chakra->ngroups++] = all;
	return 0;
}

static int
fill(struct chakra *chakra)
{
	int rc = chakra_find_files(chakra);

	if (rc != 0)
		return rc;
	chakra->traces = calloc(chakra->ranks, sizeof(*chakra->traces));
	rc = chakra->traces != NULL ? add_everybody(chakra) : -ENOMEM;
	program_init(&chakra->program, 0, chakra->ranks, chakra->options->elem_bytes, (const char *const *)chakra->paths,
		     describe);
	chakra->program.max_channels = chakra->options->max_channels;
	if (rc == 0)
		rc = chakra_read_groups(chakra);
	for (uint32_t rank = 0; rank < chakra->ranks && rc == 0; rank++)
		rc = chakra_read_trace(chakra, rank);
	for (uint32_t rank = 0; rank < chakra->ranks && rc == 0; rank++) {
		for (size_t i = 0; i < chakra->traces[rank].nnodes && rc == 0; i++)
			rc = add_operations(chakra, rank, &chakra->traces[rank].nodes[i]);
		if (rc == 0)
			rc = link_trace(chakra, rank);
	}
	if (rc == 0)
		rc = chakra_expand_collectives(chakra);
	if (rc == 0 && chakra->largest_bytes == 0)
		rc = err_set(chakra->err, -EINVAL, "%s: a trace without messages", chakra->options->path);
	return rc;
}

/* What messages hold is not said: all are read from one place of a rank's memory, and put to one behind it. */
static struct coll_schedule *
make(struct chakra *chakra)
{
	const struct coll_params params = {
		.op = COLL_CUSTOM,
		.algorithm = COLL_FILE,
		.ranks = chakra->program.ranks,
		.count_elems = chakra->largest_bytes,
	};
	const struct coll_layout layout = {
		.out_elems = chakra->largest_bytes,
		.scratch_elems = 2 * chakra->largest_bytes,
		.memory_elems = 2 * chakra->largest_bytes,
	};
	struct coll_schedule *schedule;

	for (size_t i = 0; i < chakra->program.nops; i++) {
		struct program_op *op = &chakra->program.ops[i];

		op->src_elems = 0;
		op->dst_elems = op->kind == PROGRAM_RECV || op->kind == PROGRAM_LOCAL ? chakra->largest_bytes : 0;
		op->reduce = false;
	}
	schedule = program_schedule(&chakra->program, &params, &layout, chakra->err);
	if (schedule != NULL && !chakra->mixed)
		schedule->of_file = chakra->size;
	return schedule;
}

static struct coll_schedule *
read_chakra(const struct import_options *options, bool staged, struct err *err)
{
	struct chakra chakra = { .options = options, .err = err };
	struct coll_schedule *schedule = NULL;
	int rc = fill(&chakra);

	if (rc == 0)
		schedule = make(&chakra);
	else
		err_set(err, rc, "%s: out of memory", options->path);
	rc = rc != 0 ? -rc : errno;
	for (uint32_t rank = 0; rank < chakra.ranks; rank++) {
		if (chakra.traces != NULL) {
			free(chakra.traces[rank].nodes);
			free(chakra.traces[rank].deps);
		}
		free(chakra.paths[rank]);
	}
	for (size_t i = 0; i < chakra.ngroups; i++)
		free(chakra.groups[i].ranks);
	free(chakra.groups);
	free(chakra.traces);
	free(chakra.paths);
	program_fini(&chakra.program);
	errno = rc;
	return schedule;
}

const struct import_format import_chakra = {
	.kind = "chakra",
	.doc = "Chakra execution traces: a folder of NAME.RANK.et, or PATH/NAME",
	.read = read_chakra,
};
