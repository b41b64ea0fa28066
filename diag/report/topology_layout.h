/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the nodes of a fabric stand in a drawing: hosts at the bottom, each tier of switches above what it serves. */
#pragma once

#include <stdbool.h>

#include "diag/verdict.h"

struct layout_node {
	uint32_t layer; /* hops to the nearest host; 0: a host */
	uint32_t place; /* from the left, within its layer */
	bool shown;
};

struct layout {
	struct layout_node *nodes; /* [nnodes] of the verdict */
	uint32_t *width;           /* [nlayers] nodes shown in each layer */
	uint32_t nlayers;
	uint32_t hidden; /* nodes left out */
};

/*
 * Layers by distance from the hosts; within a layer, nodes stand above the mean place of what they serve, so that a
 * pod stays together and few links cross.
 * @param limit  beyond so many nodes only those with telemetry or on a configured path are shown, most that many
 * @return 0 or -ENOMEM
 */
int layout_init(struct layout *layout, const struct verdict *v, uint32_t limit);
void layout_fini(struct layout *layout);
