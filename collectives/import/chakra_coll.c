/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of a trace: the k-th of a group in every member's file is the same one. Its messages are those of the
 * algorithm that the scenario names, each step after its own and after the node's dependencies; the node is over when the
 * rank has sent all that it has to and got all that it gets.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/chakra.h"
#include "common/array.h"

#define COLLECTIVE_TAG (1ull << 63) /* tags of nodes have 32 bits */

static const struct {
	const char *name, *op;
} collectives[] = {
#define ROW(value, name_, op_) [value] = { name_, op_ },
	CHAKRA_COLLECTIVES(ROW)
#undef ROW
};

static const char *const op_names[] = { COLL_OPS(ENUM_NAME) };

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
		return chakra_fail(chakra, rank, node,
				   "is a collective of group \"%s\", whose ranks neither the trace nor \"groups\" tells",
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
	if (collectives[node->comm_type].op == NULL)
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

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->nth < y->nth ? -1 : x->nth > y->nth;
}

static int
compare_nth_first(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->nth != y->nth)
		return x->nth < y->nth ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
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
	for (uint32_t i = 0; i < group->nranks && count < group->nranks; i++) {
		bool there = false;

		for (size_t p = 0; p < count; p++)
			there |= parts[p].rank == group->ranks[i];
		if (!there)
			return chakra_fail(chakra, parts->rank, first,
					   "is collective %zu of its group, of which rank %" PRIu32
					   " has fewer: it would never end",
					   parts->nth + 1, group->ranks[i]);
	}
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
	const struct coll_step *at = coll_step_at(x->schedule, member, step);
	size_t index = coll_step_index(x->schedule, member, step);
	const struct part *part = x->of[member];
	struct program_op op = {
		.kind = at->peer == member ? PROGRAM_LOCAL : PROGRAM_SEND,
		.rank = part->rank,
		.peer = x->of[at->peer]->rank,
		.tag = COLLECTIVE_TAG | chakra->nmessages,
		.lane = COLLECTIVE_TAG | (uint64_t)(x->group - chakra->groups) << 32 | at->channel,
		.count_elems = at->count_elems,
		.compute_ps = at->compute_ps,
		.place = { part->rank, part->node->offset, part->node->id },
	};

	x->step_op[index] = program_add(&chakra->program, &op, chakra->err);
	x->receive_op[index] = PROGRAM_NONE;
	if (x->step_op[index] == PROGRAM_NONE)
		return -E2BIG;
	if (op.kind == PROGRAM_LOCAL)
		return 0;
	chakra->nmessages++;
	if (at->count_elems > chakra->largest_bytes)
		chakra->largest_bytes = at->count_elems;
	part = x->of[at->peer];
	op.kind = PROGRAM_RECV;
	op.peer = op.rank;
	op.rank = part->rank;
	op.place = (struct program_place){ part->rank, part->node->offset, part->node->id };
	x->receive_op[index] = program_add(&chakra->program, &op, chakra->err);
	return x->receive_op[index] != PROGRAM_NONE ? 0 : -E2BIG;
}

/* The step's own dependencies, the node's, and that the node waits for it. */
static int
link_step(struct expansion *x, uint32_t member, uint32_t step)
{
	struct chakra *chakra = x->chakra;
	const struct coll_step *at = coll_step_at(x->schedule, member, step);
	size_t index = coll_step_index(x->schedule, member, step);
	uint32_t op = x->step_op[index];
	int rc = program_wait(&chakra->program, op, x->of[member]->node->first_op, false, chakra->err);

	for (uint32_t i = 0; i < at->ndeps && rc == 0; i++) {
		struct coll_dep dep = x->schedule->deps[at->first_dep + i];
		size_t on = coll_step_index(x->schedule, dep.rank, dep.step);

		rc = program_wait(&chakra->program, op, dep.rank == member ? x->step_op[on] : x->receive_op[on], false,
				  chakra->err);
	}
	if (rc == 0)
		rc = program_wait(&chakra->program, x->of[member]->node->last_op, op, false, chakra->err);
	if (rc == 0 && x->receive_op[index] != PROGRAM_NONE)
		rc = program_wait(&chakra->program, x->of[at->peer]->node->last_op, x->receive_op[index], false,
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

/* Of the operation that the node names. @param root  as a member of the group */
static struct coll_schedule *
make_schedule(const struct chakra *chakra, const struct chakra_group *group, const struct chakra_node *node, uint32_t root,
	      struct err *err)
{
	struct coll_params params = {
		.algorithm = chakra->options->algorithm,
		.ranks = group->nranks,
		.count_elems = node->comm_type == CHAKRA_BARRIER ? group->nranks : node->comm_size,
		.root = root,
	};

	bool found = false;

	for (size_t op = 0; op < ARRAY_LEN(op_names) && !found; op++) {
		found = strcmp(op_names[op], collectives[node->comm_type].op) == 0;
		params.op = (enum coll_op)op;
	}
	if (!found) {
		err_set(err, -EINVAL, "there is no operation \"%s\"", collectives[node->comm_type].op);
		return NULL;
	}
	if (params.op != COLL_BROADCAST && params.op != COLL_REDUCE)
		params.root = 0;
	/* One that has not the operation is not meant: the first that has it. */
	for (size_t a = 0; a < ENUM_COUNT(COLL_ALGORITHMS) && !coll_algorithm_has(params.algorithm, params.op); a++)
		params.algorithm = (enum coll_algorithm)a;
	/* The size of an AllGather is what a rank contributes (astra-sim's Ring.cc); ours is the whole vector. */
	if (params.op == COLL_ALLGATHER)
		params.count_elems *= group->nranks;
	if (params.count_elems < group->nranks)
		params.count_elems = group->nranks;
	return coll_schedule_create(&params, err);
}

/*
 * A trace of one collective is that collective, of all its ranks or of groups that do not overlap: size as nccl-tests has it
 * is what a rank contributes, of an AllGather what it ends with. Further ones, messages or computations have no common size.
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
		rc = chakra_fail(chakra, parts->rank, parts->node, "is a %s: %s", collectives[parts->node->comm_type].name,
				 cause.text);
	}
	coll_schedule_destroy(schedule);
	free(x.of);
	return rc;
}

int
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
