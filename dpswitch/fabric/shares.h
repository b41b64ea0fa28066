/* SPDX-License-Identifier: BSD-3-Clause */
/* Distribution of nodes over lcores: results do not depend on it, speed does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "topo/topo.h"

struct node;

#define FABRIC_MAX_LCORES 64
/* Between two looks at what nodes have to do. */
#define SHARES_WINDOWS 1024
/* New shares are taken where the fullest has less than so many percent of what the fullest has now. */
#define SHARES_BETTER_PERCENT 95

/* A switch and the hosts whose first port leads to it are one group, by the switch's id. */
struct shares {
	const struct topo *topo;
	const bool *remote; /* [nnodes] nodes of another program; NULL: none */
	uint32_t lcores;
	uint64_t *weight;       /* [nnodes] of a group; scratch */
	uint32_t *owner;        /* [nnodes] of a group: its lcore */
	uint32_t *other;        /* the same; scratch */
	uint64_t *seen_packets; /* [nnodes] that each had received at the last look */
	uint64_t seen_windows;
};

/*
 * Divides all groups by their ports. @param remote  borrowed, as topo is
 * @return 0 or -ENOMEM; shares_fini() in either case
 */
int shares_init(struct shares *shares, const struct topo *topo, const bool *remote, uint32_t lcores);
void shares_fini(struct shares *shares);

/*
 * Looks what nodes had to do since the last look, and divides them anew where that pays. Between windows.
 * @return whether owners have changed
 */
bool shares_look(struct shares *shares, struct node *const *nodes, uint64_t windows);

/* A group of an lcore, which goes through a window as one. */
struct shares_group {
	uint32_t from, count; /* among the lcore's nodes */
	uint32_t lcore;       /* whose pool its links have: that which ran it last */
	uint64_t weight;      /* packets that it has received, and its ports */
};

/*
 * An lcore's nodes group by group, the heaviest first. @param nodes  [nnodes] @param groups  [nnodes]
 * @return the number of groups
 */
uint32_t shares_groups(const struct shares *shares, uint32_t lcore, uint32_t *nodes, struct shares_group *groups);

/*
 * The heaviest group first, each to the lightest lcore; equal ones by their number.
 * @param weight  [count] of groups; 0 afterwards
 * @param owner   [count] set for groups with some weight
 * @return the weight of the fullest lcore
 */
uint64_t shares_assign(uint64_t *weight, uint32_t count, uint32_t lcores, uint32_t *owner);
