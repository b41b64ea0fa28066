/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/shape.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

/* 2 us a link as in IV-A of the paper. */
#define FAT_TREE(k, rate) "topology = { kind = \"fat-tree\"; k = " k "; rate = \"" rate "\"; delay = \"2us\"; };\n"
/* 8 hosts share two uplinks of the rate of their own links. */
#define LEAF_SPINE                                                                                                         \
	"topology = { kind = \"leaf-spine\"; leaves = 8; spines = 2; hosts_per_leaf = 8; oversubscription = 4.0;\n"        \
	"             rate = \"100Gbps\"; delay = \"2us\"; };\n"
/*
 * As the paper's public simulator has it: beside the headroom and reserve of every port a pool of 0.7 MB, in proportion to
 * rate. What one ingress may use of it before it pauses must be less than a flow's window, or no pause spreads. Headroom
 * is what a switch takes by itself, by rate, delay and frame: 75 kB here.
 */
#define BUFFER(size) "switch = { buffer = \"" size "\"; };\n"
#define RING .op = COLL_ALLGATHER, .algorithm = COLL_RING
#define PAPERS RING, .ranks = 8, .is_papers = true

static const struct shape table[] = {
	{ .name = "paper",
	  .doc = "the paper's: fat-tree K=4, 16 hosts, 100 Gbps, Ring AllGather of 8 ranks",
	  .fabric = FAT_TREE("4", "100Gbps") BUFFER("1000KiB"),
	  .host = "",
	  PAPERS },
	{ .name = "halving-doubling",
	  .doc = "the paper's fabric, halving-doubling AllReduce of 8 ranks",
	  .fabric = FAT_TREE("4", "100Gbps") BUFFER("1000KiB"),
	  .host = "",
	  .op = COLL_ALLREDUCE,
	  .algorithm = COLL_HALVING_DOUBLING,
	  .ranks = 8 },
	{ .name = "k6",
	  .doc = "fat-tree K=6, 54 hosts",
	  .fabric = FAT_TREE("6", "100Gbps") BUFFER("1155KiB"),
	  .host = "",
	  RING,
	  .ranks = 8 },
	{ .name = "ranks16",
	  .doc = "16 ranks, on fat-tree K=6: with K=4 no host would be left for others",
	  .fabric = FAT_TREE("6", "100Gbps") BUFFER("1155KiB"),
	  .host = "",
	  RING,
	  .ranks = 16 },
	{ .name = "leaf-spine",
	  .doc = "8 leaves of 8 hosts, 2 spines, 4:1 oversubscribed",
	  .fabric = LEAF_SPINE BUFFER("1465KiB"),
	  .host = "",
	  RING,
	  .ranks = 8 },
	{ .name = "25g",
	  .doc = "links of 25 Gbps, a quarter of the buffers",
	  .fabric = FAT_TREE("4", "25Gbps") BUFFER("250KiB"),
	  .host = "",
	  PAPERS },
	{ .name = "400g",
	  .doc = "links of 400 Gbps, four times the buffers",
	  .fabric = FAT_TREE("4", "400Gbps") BUFFER("4000KiB"),
	  .host = "",
	  PAPERS },
	{ .name = "dynamic-alpha",
	  .doc = "an ingress may use a quarter of the free pool before it pauses, not an eighth",
	  .fabric = FAT_TREE("4", "100Gbps") "switch = { buffer = \"1000KiB\"; pfc = { alpha = 0.25; }; };\n",
	  .host = "",
	  PAPERS },
	{ .name = "no-dcqcn",
	  .doc = "senders do not react to ECN",
	  .fabric = FAT_TREE("4", "100Gbps") BUFFER("1000KiB"),
	  .host = " cc = \"none\";",
	  PAPERS },
	{ .name = NULL },
};

const struct shape *const shapes = table;

const struct shape *
shape_find(const char *name)
{
	for (const struct shape *shape = shapes; shape->name != NULL; shape++)
		if (strcmp(shape->name, name) == 0)
			return shape;
	return NULL;
}

static void
add_send(struct shape_sends *sends, uint32_t from, uint32_t to, uint32_t step)
{
	for (uint32_t i = 0; i < sends->count; i++)
		if (sends->at[i].from == from && sends->at[i].to == to)
			return;
	assert(sends->count < SHAPE_MAX_SENDS);
	sends->at[sends->count].from = from;
	sends->at[sends->count].to = to;
	sends->at[sends->count++].step = step;
}

int
shape_sends(const struct shape *shape, struct shape_sends *sends)
{
	struct err err = { 0 };
	struct coll_schedule *schedule = coll_schedule_create(&(struct coll_params){ .op = shape->op,
										     .algorithm = shape->algorithm,
										     .ranks = shape->ranks,
										     .count_elems = shape->ranks },
							      &err);

	*sends = (struct shape_sends){ 0 };
	if (schedule == NULL)
		return -ENOMEM;
	sends->steps = coll_max_steps(schedule);
	for (uint32_t rank = 0; rank < shape->ranks; rank++)
		for (uint32_t step = 1; step <= coll_steps(schedule, rank); step++)
			add_send(sends, rank, coll_step_at(schedule, rank, step)->peer, step);
	coll_schedule_destroy(schedule);
	return 0;
}
