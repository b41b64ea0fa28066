/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chakra's execution traces (Sridharan et al., arXiv:2305.14516; MLCommons), one file a rank: nodes that wait for
 * others of their rank. Metadata takes no time; a computation takes its duration, those of a processor one after
 * another (a rank has two: those of is_cpu_op, and the other); a send is a message, which a receive of the same source,
 * destination and tag takes; a collective is expanded.
 */
#include "collectives/import/chakra.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/program.h"
#include "common/array.h"
#include "common/log.h"
#include "common/minmax.h"

/*
 * Collectives of a trace: the k-th of a group in every member's file is the same one. Its messages are those of the
 * algorithm that the scenario names, each step after its own and after the node's dependencies; the node is over when the
 * rank has sent all that it has to and got all that it gets.
 */

#define COLLECTIVE_TAG (1ull << 63) /* tags of nodes have 32 bits */

static const struct {
	const char *name;
	bool has_op;
	enum coll_op op;
} collectives[] = {
#define ROW(value, name_, has_op_, op_) [value] = { name_, has_op_, op_ },
	CHAKRA_COLLECTIVES(ROW)
#undef ROW
};

/* A rank's part in a collective. */
struct part {
	size_t group;
	uint32_t rank;
	size_t nth; /* of the group in the rank's file, from 0 */
	const struct chakra_node *node;
};

static bool
moves(const struct chakra_node *node)
{
	return node->type == CHAKRA_COLL && node->last_op != node->first_op;
}

/* All ranks have no name, or "0" where no group has that. */
static int
find_group(const struct chakra *chakra, uint32_t rank, const struct chakra_node *node, size_t *index)
{
	const struct chakra_group *group = chakra_find_group(chakra, node->group);
	bool member = false;

	if (group == NULL && strcmp(node->group, "0") == 0)
		group = &chakra->groups[0];
	if (group == NULL)
		return chakra_fail(
			chakra, rank, node,
			"is a collective of group \"%s\", whose ranks are neither in the trace nor in \"groups\"",
			node->group);
	for (uint32_t i = 0; i < group->nranks; i++)
		member |= group->ranks[i] == rank;
	if (!member)
		return chakra_fail(chakra, rank, node, "is a collective of group \"%s\", of which rank %" PRIu32 " is none",
				   node->group, rank);
	*index = (size_t)(group - chakra->groups);
	return 0;
}

static int
check_part(const struct chakra *chakra, uint32_t rank, const struct chakra_node *node)
{
	if (node->comm_type >= ARRAY_LEN(collectives))
		return chakra_fail(chakra, rank, node, "is a collective without a comm_type of 0 to %zu",
				   ARRAY_LEN(collectives) - 1);
	if (!collectives[node->comm_type].has_op)
		return chakra_fail(chakra, rank, node, "is a %s, which there is no algorithm for",
				   collectives[node->comm_type].name);
	if (node->comm_type != CHAKRA_BARRIER && (node->comm_size == 0 || node->comm_size == CHAKRA_ABSENT))
		return chakra_fail(chakra, rank, node, "is a collective without comm_size");
	return 0;
}

static int
compare_ranks_first(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	int order = ORDER(x->group, y->group);

	if (order == 0)
		order = ORDER(x->rank, y->rank);
	return order != 0 ? order : ORDER(x->nth, y->nth);
}

static int
compare_nth_first(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	int order = ORDER(x->group, y->group);

	if (order == 0)
		order = ORDER(x->nth, y->nth);
	return order != 0 ? order : ORDER(x->rank, y->rank);
}

/* All parts, those of one collective in a row. @return malloc'd; NULL with *rc set */
static struct part *
collect_parts(const struct chakra *chakra, size_t *count, int *rc)
{
	struct part *parts;
	size_t room = 1, nth = 0;

	for (uint32_t rank = 0; rank < chakra->ranks; rank++)
		for (size_t i = 0; i < chakra->traces[rank].nnodes; i++)
			room += moves(&chakra->traces[rank].nodes[i]);
	parts = malloc(room * sizeof(*parts));
	*rc = parts != NULL ? 0 : -ENOMEM;
	*count = 0;
	for (uint32_t rank = 0; rank < chakra->ranks; rank++) {
		for (size_t i = 0; i < chakra->traces[rank].nnodes && *rc == 0; i++) {
			const struct chakra_node *node = &chakra->traces[rank].nodes[i];

			if (!moves(node))
				continue;
			parts[*count] = (struct part){ .rank = rank, .nth = i, .node = node };
			*rc = check_part(chakra, rank, node);
			if (*rc == 0)
				*rc = find_group(chakra, rank, node, &parts[(*count)++].group);
		}
	}
	if (*rc != 0) {
		free(parts);
		return NULL;
	}
	qsort(parts, *count, sizeof(*parts), compare_ranks_first);
	for (size_t i = 0; i < *count; i++) {
		bool goes_on = i > 0 && parts[i].group == parts[i - 1].group && parts[i].rank == parts[i - 1].rank;

		nth = goes_on ? nth + 1 : 0;
		parts[i].nth = nth;
	}
	qsort(parts, *count, sizeof(*parts), compare_nth_first);
	return parts;
}

static bool
has_part(const struct part *parts, size_t count, uint32_t rank)
{
	bool there = false;

	for (size_t p = 0; p < count; p++)
		there |= parts[p].rank == rank;
	return there;
}

/* Are the parts of all members there, and of one kind? @param count  parts that there are */
static int
check_collective(const struct chakra *chakra, const struct part *parts, size_t count)
{
	const struct chakra_group *group = &chakra->groups[parts->group];
	const struct chakra_node *first = parts->node;

	for (size_t i = 1; i < count; i++) {
		const struct chakra_node *node = parts[i].node;

		if (node->comm_type != first->comm_type || node->comm_size != first->comm_size || node->root != first->root)
			return chakra_fail(chakra, parts[i].rank, node,
					   "is another collective than %s: node %" PRIu64
					   ", which is as far in the order of their group: %s of %" PRIu64
					   " B from rank %" PRIu64 " against %s of %" PRIu64 " B from rank %" PRIu64,
					   chakra->paths[parts->rank], first->id, collectives[node->comm_type].name,
					   node->comm_size, node->root, collectives[first->comm_type].name,
					   first->comm_size, first->root);
	}
	for (uint32_t i = 0; i < group->nranks; i++)
		if (!has_part(parts, count, group->ranks[i]))
			return chakra_fail(chakra, parts->rank, first,
					   "is collective %zu of its group, of which rank %" PRIu32
					   " has fewer: it would never end",
					   parts->nth + 1, group->ranks[i]);
	return 0;
}

/* A collective that is being written out. */
struct expansion {
	struct chakra *chakra;
	const struct chakra_group *group;
	const struct part **of; /* [group ranks] */
	const struct coll_schedule *schedule;
	uint32_t *step_op, *receive_op; /* [all steps] */
};

static int
add_step(struct expansion *x, uint32_t member, uint32_t step)
{
	struct chakra *chakra = x->chakra;
	const struct coll_step at = coll_step_get(x->schedule, member, step);
	size_t index = coll_step_index(x->schedule, member, step);
	const struct part *part = x->of[member];
	struct program_op op = {
		.kind = at.peer == member ? PROGRAM_LOCAL : PROGRAM_SEND,
		.rank = part->rank,
		.peer = x->of[at.peer]->rank,
		.tag = COLLECTIVE_TAG | chakra->nmessages,
		.lane = COLLECTIVE_TAG | (uint64_t)(x->group - chakra->groups) << 32 | at.channel,
		.count_elems = at.count_elems,
		.compute_ps = at.compute_ps,
		.place = { part->rank, part->node->offset, part->node->id },
	};

	x->step_op[index] = program_add(&chakra->program, &op, chakra->err);
	x->receive_op[index] = PROGRAM_NONE;
	if (x->step_op[index] == PROGRAM_NONE)
		return -errno;
	if (op.kind == PROGRAM_LOCAL)
		return 0;
	chakra->nmessages++;
	if (at.count_elems > chakra->largest_bytes)
		chakra->largest_bytes = at.count_elems;
	part = x->of[at.peer];
	op.kind = PROGRAM_RECV;
	op.peer = op.rank;
	op.rank = part->rank;
	op.place = (struct program_place){ part->rank, part->node->offset, part->node->id };
	x->receive_op[index] = program_add(&chakra->program, &op, chakra->err);
	return x->receive_op[index] != PROGRAM_NONE ? 0 : -errno;
}

/* The step's own dependencies, the node's, and that the node waits for it. */
static int
link_step(struct expansion *x, uint32_t member, uint32_t step)
{
	struct chakra *chakra = x->chakra;
	const struct coll_step at = coll_step_get(x->schedule, member, step);
	size_t index = coll_step_index(x->schedule, member, step);
	uint32_t op = x->step_op[index];
	int rc = program_wait(&chakra->program, op, x->of[member]->node->first_op, false, chakra->err);

	for (uint32_t i = 0; i < at.ndeps && rc == 0; i++) {
		struct coll_dep dep = coll_step_dep(x->schedule, member, step, &at, i);
		size_t on = coll_step_index(x->schedule, dep.rank, dep.step);

		rc = program_wait(&chakra->program, op, dep.rank == member ? x->step_op[on] : x->receive_op[on], false,
				  chakra->err);
	}
	if (rc == 0)
		rc = program_wait(&chakra->program, x->of[member]->node->last_op, op, false, chakra->err);
	if (rc == 0 && x->receive_op[index] != PROGRAM_NONE)
		rc = program_wait(&chakra->program, x->of[at.peer]->node->last_op, x->receive_op[index], false,
				  chakra->err);
	return rc;
}

static int
write_out(struct expansion *x)
{
	size_t steps = coll_all_steps(x->schedule);
	int rc = 0;

	x->step_op = malloc((steps + 1) * sizeof(*x->step_op));
	x->receive_op = malloc((steps + 1) * sizeof(*x->receive_op));
	if (x->step_op == NULL || x->receive_op == NULL)
		rc = -ENOMEM;
	for (uint32_t member = 0; member < x->group->nranks && rc == 0; member++)
		for (uint32_t step = 1; step <= coll_steps(x->schedule, member) && rc == 0; step++)
			rc = add_step(x, member, step);
	for (uint32_t member = 0; member < x->group->nranks && rc == 0; member++)
		for (uint32_t step = 1; step <= coll_steps(x->schedule, member) && rc == 0; step++)
			rc = link_step(x, member, step);
	free(x->step_op);
	free(x->receive_op);
	return rc;
}

/* Makes the schedule of a node's collective. @param root  as a member of the group */
static struct coll_schedule *
make_schedule(const struct chakra *chakra, const struct chakra_group *group, const struct chakra_node *node, uint32_t root,
	      struct err *err)
{
	struct coll_params params = {
		.op = collectives[node->comm_type].op,
		.algorithm = chakra->options->algorithm,
		.ranks = group->nranks,
		.count_elems = node->comm_type == CHAKRA_BARRIER ? group->nranks : node->comm_size,
		.root = root,
	};

	if (params.op != COLL_BROADCAST && params.op != COLL_REDUCE)
		params.root = 0;
	/* If the algorithm lacks the operation, it was not meant for it: use the first that has it. */
	for (size_t a = 0; !coll_algorithm_has(params.algorithm, params.op); a++) {
		assert(a < ENUM_COUNT(COLL_ALGORITHMS));
		params.algorithm = (enum coll_algorithm)a;
	}
	/* The size of an AllGather is what a rank contributes (astra-sim's Ring.cc); ours is the whole vector. */
	if (params.op == COLL_ALLGATHER)
		params.count_elems *= group->nranks;
	if (params.count_elems < group->nranks)
		params.count_elems = group->nranks;
	return coll_schedule_create(&params, err);
}

/*
 * A trace of one collective is that collective, of all its ranks or of groups that do not overlap: size as nccl-tests
 * has it is what a rank contributes, of an AllGather what it ends with. Further ones, messages or computations have no
 * common size.
 */
static void
count_size(struct chakra *chakra, const struct part *parts, const struct coll_schedule *schedule, uint32_t root)
{
	const struct chakra_group *group = &chakra->groups[parts->group];
	const struct coll_size size = {
		.op = schedule->op,
		.ranks = group->nranks,
		.root = root,
		.bytes = parts->node->comm_type == CHAKRA_BARRIER
				 ? 0
				 : parts->node->comm_size * (schedule->op == COLL_ALLGATHER ? group->nranks : 1u),
	};
	const struct coll_size *first = &chakra->size;

	if (chakra->nsized == 0)
		chakra->size = size;
	else if (first->op != size.op || first->ranks != size.ranks || first->root != size.root ||
		 first->bytes != size.bytes)
		chakra->size.bytes = 0;
	chakra->nsized += group->nranks;
	if (parts->nth != 0 || chakra->nsized > chakra->ranks)
		chakra->size.bytes = 0;
}

static int
expand_collective(struct chakra *chakra, const struct part *parts, size_t count)
{
	const struct chakra_group *group = &chakra->groups[parts->group];
	struct expansion x = { .chakra = chakra, .group = group };
	struct coll_schedule *schedule = NULL;
	struct err cause = { 0 };
	uint32_t root = group->nranks;
	int rc = check_collective(chakra, parts, count);

	if (rc != 0 || group->nranks < 2)
		return rc;
	x.of = calloc(group->nranks, sizeof(*x.of));
	if (x.of == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < group->nranks; i++) {
		for (size_t p = 0; p < count; p++)
			if (parts[p].rank == group->ranks[i])
				x.of[i] = &parts[p];
		root = group->ranks[i] == parts->node->root ? i : root;
	}
	if (root == group->nranks)
		root = 0; /* rank 0 is what nodes without a root have */
	schedule = make_schedule(chakra, group, parts->node, root, &cause);
	x.schedule = schedule;
	if (schedule != NULL) {
		count_size(chakra, parts, schedule, root);
		rc = write_out(&x);
	} else {
		rc = -errno;
		if (rc != -ENOMEM) /* with which the whole import ends, whatever node it is at */
			rc = chakra_fail(chakra, parts->rank, parts->node, "is a %s: %s",
					 collectives[parts->node->comm_type].name, cause.text);
	}
	coll_schedule_destroy(schedule);
	free(x.of);
	return rc;
}

/* Adds messages and computations of all collectives; their nodes have operations. @return 0; -EINVAL, -E2BIG, -ENOMEM */
static int
chakra_expand_collectives(struct chakra *chakra)
{
	struct part *parts;
	size_t count, next;
	int rc;

	parts = collect_parts(chakra, &count, &rc);
	for (size_t i = 0; i < count && rc == 0; i = next) {
		next = i + 1;
		while (next < count && parts[next].group == parts[i].group && parts[next].nth == parts[i].nth)
			next++;
		rc = expand_collective(chakra, &parts[i], next - i);
	}
	if (parts != NULL)
		free(parts);
	return rc;
}

/* The program of all nodes. */

/* Nodes by id, to find the targets of dependencies. */
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
				   "has an amount of computation (num_ops), but no duration: give duration_micros");
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
	/* A CPU node that only starts a collective moves no data. */
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
	if (node->first_op == PROGRAM_NONE)
		return -errno;
	if (node->type != CHAKRA_COLL || starts)
		return 0;
	node->last_op = program_add(&chakra->program, &op, chakra->err);
	if (node->last_op == PROGRAM_NONE)
		return -errno;
	return program_wait(&chakra->program, node->last_op, node->first_op, false, chakra->err);
}

static int
compare_known(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->id != y->id ? ORDER(x->id, y->id) : ORDER(x->index, y->index);
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
					    ", which %s: control dependencies of such a file are the call hierarchy, and "
					    "are not waited for",
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

	if (all.ranks == NULL || chakra_add_group(chakra, &all) != 0) {
		free(all.ranks);
		return -ENOMEM;
	}
	for (uint32_t rank = 0; rank < chakra->ranks; rank++)
		all.ranks[rank] = rank;
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

/* The trace has no contents of messages: all are read from one place of a rank's memory, and put to one behind it. */
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
	free(chakra.slots);
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
