/* SPDX-License-Identifier: BSD-3-Clause */
/* From a program to a schedule: who receives whose message (match.c), in which order (order.c), as which steps (expand.c). */
#pragma once

#include "collectives/import/program.h"

/* What an operation waits for. */
struct link {
	uint32_t on : 31;
	uint32_t start : 1;
};

struct links {
	uint32_t *partner; /* [nops] of a message: the other end's operation; else PROGRAM_NONE */
	uint32_t *channel; /* [nops] of sends and local operations: lanes, numbered from 0 for each peer */
	uint32_t *first;   /* [nops + 1] into waits */
	struct link *waits;
};

/* @return 0; -EINVAL or -ENOMEM with err set */
int links_init(struct links *links, const struct program *program, struct err *err);
void links_fini(struct links *links);

/*
 * An order in which all operations can start: by the time at which they would in a network without contention.
 * @param order  [nops] filled
 * @return 0; -EINVAL: some wait for each other; -ENOMEM; err set
 */
int order_operations(const struct program *program, const struct links *links, uint32_t *order, struct err *err);

/* Which operations a schedule's steps are. */
struct origins {
	uint32_t *first; /* [ranks] into ops */
	uint32_t *ops;   /* of each rank's steps; PROGRAM_NONE: of none */
};

/* The schedule of operations in their order. @param origins  filled; both the caller's to free
 * @return NULL with err and errno set */
struct coll_schedule *expand(const struct program *program, const struct links *links, const uint32_t *order,
			     const struct coll_params *params, const struct coll_layout *layout, struct origins *origins,
			     struct err *err);

/*
 * Proves that the schedule does what its operation promises. @return 0; -EPROTO: it does not, -ENOMEM; with err set, the
 * steps that it names by their places too
 */
int prove(const struct program *program, const struct coll_schedule *schedule, const struct origins *origins,
	  struct err *err);
