/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels: a schedule's vectors are cut into as many parts, and each goes by a copy of the algorithm with flows of its own.
 * What an operation leaves whole is cut in contiguous parts; of what it has in blocks (AllGather, ReduceScatter, AllToAll),
 * each block. A message of several blocks becomes one a block then, one after another.
 */
#pragma once

#include "collectives/builder.h"

/* One channel's schedule, and where its memory is in that of all: filled in by coll_channels_part(). */
struct coll_part {
	struct coll_params params; /* of its own length, one channel */
	uint64_t *counts;          /* params.counts, to be freed */
};

/*
 * What one of params->channels channels has to do.
 * @return 0; -ENOMEM; -EINVAL with err set: fewer elements than channels
 */
int coll_channels_part(const struct coll_params *params, uint32_t channel, struct coll_part *part, struct err *err);

/*
 * Adds a channel's steps to those of all.
 * @param params, layout  of all
 * @param part            the channel's schedule, by the parameters of coll_channels_part()
 * @param part_layout     its layout
 * @param channel         which it is
 * @param first_channel   number of its channel 0 among all
 * @param scratch_elems   where its scratch begins in the memory of all
 * @return 0 or -ENOMEM
 */
int coll_channels_add(struct coll_builder *builder, const struct coll_params *params, const struct coll_layout *layout,
		      const struct coll_schedule *part, const struct coll_layout *part_layout, uint32_t channel,
		      uint32_t first_channel, uint64_t scratch_elems);
