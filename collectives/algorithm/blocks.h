/* SPDX-License-Identifier: BSD-3-Clause */
/* What AllToAll and AllToAllv have in common: where the block for each rank is, and where it comes to. */
#pragma once

#include <stdlib.h>

#include "collectives/builder.h"
#include "collectives/op/op.h"

/*
 * The blocks of all pairs.
 * @return [ranks * ranks] chunk from each rank to each, sender major, some of them perhaps empty; the caller's to free;
 *         NULL without memory, which fails the builder
 */
struct coll_chunk *blocks_create(struct coll_builder *builder, const struct coll_params *params,
				 const struct coll_layout *layout);

/* Every rank's block for itself: a local step, where it has elements. */
void blocks_keep(struct coll_builder *builder, const struct coll_params *params, const struct coll_chunk *blocks);
