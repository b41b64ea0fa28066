/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts a Chakra execution trace to a program: chakra_node.c reads files, nodes and process groups, chakra.c makes
 * the program of them.
 */
#pragma once

#include "collectives/import/import.h"
#include "collectives/import/program.h"

#define CHAKRA_MAX_GROUPS 65536
#define CHAKRA_MAX_NAME 64 /* bytes of a group's */

/* Value in the schema, name, whether there is an operation that does it, and which. */
#define CHAKRA_COLLECTIVES(ROW)                                                                                            \
	ROW(0, "ALL_REDUCE", true, COLL_ALLREDUCE)                                                                         \
	ROW(1, "REDUCE", true, COLL_REDUCE)                                                                                \
	ROW(2, "ALL_GATHER", true, COLL_ALLGATHER)                                                                         \
	ROW(3, "GATHER", false, 0)                                                                                         \
	ROW(4, "SCATTER", false, 0)                                                                                        \
	ROW(5, "BROADCAST", true, COLL_BROADCAST)                                                                          \
	ROW(6, "ALL_TO_ALL", true, COLL_ALLTOALL)                                                                          \
	ROW(7, "REDUCE_SCATTER", true, COLL_REDUCESCATTER)                                                                 \
	ROW(8, "REDUCE_SCATTER_BLOCK", true, COLL_REDUCESCATTER)                                                           \
	ROW(9, "BARRIER", true, COLL_ALLREDUCE)

enum chakra_type {
	CHAKRA_METADATA = 1,
	CHAKRA_MEM_LOAD = 2,
	CHAKRA_MEM_STORE = 3,
	CHAKRA_COMP = 4,
	CHAKRA_SEND = 5,
	CHAKRA_RECV = 6,
	CHAKRA_COLL = 7,
};

/* One node. Attributes that it does not have: ABSENT, or an empty name. */
struct chakra_node {
	uint64_t id, offset; /* of its message in the file */
	uint32_t type;
	bool cpu;
	uint64_t duration_ps;
	uint64_t comm_type, comm_size, comm_src, comm_dst, comm_tag, num_ops, root;
	char group[CHAKRA_MAX_NAME];
	size_t first_dep, ndeps;    /* ids, in the trace's deps */
	size_t ncontrol;            /* the first of them are of control, the others of data */
	uint32_t first_op, last_op; /* operations of it */
};

#define CHAKRA_ABSENT UINT64_MAX
#define CHAKRA_BARRIER 9

/* The trace of one rank. */
struct chakra_trace {
	struct chakra_node *nodes; /* in the order of the file */
	size_t nnodes, node_room;
	uint64_t *deps;
	size_t ndeps, dep_room;
};

struct chakra_group {
	char name[CHAKRA_MAX_NAME]; /* empty: all ranks */
	uint32_t *ranks;
	uint32_t nranks;
};

struct chakra {
	const struct import_options *options;
	struct program program;
	char **paths; /* [ranks] */
	uint32_t ranks;
	struct chakra_trace *traces; /* [ranks] */
	struct chakra_group *groups; /* [0]: all ranks */
	size_t ngroups, group_room;
	uint32_t *slots; /* [nslots], a power of two: groups by the hash of their names; UINT32_MAX: none. Half are free */
	size_t nslots;
	bool has_callers;       /* control, in a trace at least, is the call graph: a warning is printed */
	uint64_t largest_bytes; /* message */
	uint64_t nmessages;     /* of collectives: each has a tag of its own */
	struct coll_size size;  /* of the first collective; bytes 0: others differ from it */
	uint64_t nsized;        /* ranks of all collectives so far */
	bool mixed;             /* there are messages or computations besides */
	struct err *err;
};

/*
 * Finds the files: of a folder, or PREFIX.RANK.et. Fills paths and ranks.
 * @return 0; -EINVAL, -ENOMEM or that of the folder with err set
 */
int chakra_find_files(struct chakra *chakra);

/* Reads all nodes of one rank; process groups in them are added. @return 0; -EINVAL or -ENOMEM with err set */
int chakra_read_trace(struct chakra *chakra, uint32_t rank);

/* Groups of the file that the options name. @return 0; -EINVAL or -ENOMEM with err set */
int chakra_read_groups(struct chakra *chakra);

/* @return NULL: there is none of the name */
const struct chakra_group *chakra_find_group(const struct chakra *chakra, const char *name);

/* Adds a group whose name there is not yet, and takes its ranks. @return 0 or -ENOMEM */
int chakra_add_group(struct chakra *chakra, const struct chakra_group *group);

/* err: "file: node ID at byte OFFSET ...". @return -EINVAL */
int chakra_fail(const struct chakra *chakra, uint32_t rank, const struct chakra_node *node, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
