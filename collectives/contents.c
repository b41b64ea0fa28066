/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/contents.h"

struct coll_params
coll_schedule_params(const struct coll_schedule *schedule)
{
	return (struct coll_params){
		.op = schedule->op,
		.algorithm = schedule->algorithm,
		.ranks = schedule->group_ranks,
		.count_elems = schedule->count_elems,
		.root = schedule->root,
		.counts = schedule->counts,
		.pairs = schedule->pairs,
		.npairs = schedule->npairs,
	};
}

uint32_t
coll_contents_count(const struct coll_schedule *schedule, uint32_t rank, enum coll_side side)
{
	struct coll_params params = coll_schedule_params(schedule);
	uint32_t member = coll_member(schedule, rank);

	return member != COLL_NONE ? coll_op_ops(schedule->op)->pieces(&params, member, side) : 0;
}

struct coll_piece
coll_contents(const struct coll_schedule *schedule, uint32_t rank, enum coll_side side, uint32_t index)
{
	struct coll_params params = coll_schedule_params(schedule);
	bool apart = schedule->in_elems != schedule->out_elems;
	struct coll_piece piece =
		coll_op_ops(schedule->op)->piece(&params, coll_member(schedule, rank), side, apart, index);

	piece.at_elems += side == COLL_IN ? schedule->in_elems : schedule->out_elems;
	return piece;
}
