/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contents of a file of any format, before they are a schedule: operations of each rank, and which of them wait for
 * which of the same rank. Sends and receives are matched later (schedule.c), by source, destination and tag, the k-th
 * send and the k-th receive in the order of the file. Readers fill it in; program_schedule() makes steps of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "collectives/schedule.h"

#define PROGRAM_MAX_OPS (1u << 22)     /* of all ranks */
#define PROGRAM_MAX_WAITS (1u << 26)   /* dependencies of operations, or of steps */
#define PROGRAM_MAX_COUNT (1ull << 40) /* elements of one operation */
#define PROGRAM_MAX_PS (1ull << 60)    /* one computation */
#define PROGRAM_NONE UINT32_MAX
/* Limits of the program made from a file: a base for any size, and one more for each number of bytes. */
#define PROGRAM_LEAST 65536u
#define PROGRAM_BYTES_AN_OP 12u /* of the shortest message that GOAL can express */
#define PROGRAM_BYTES_A_WAIT 8u /* as of a Chakra trace */
#define PROGRAM_LEAST_SETS (1u << 20)
#define PROGRAM_BYTES_A_SET 2u   /* steps that all operations wait for, each set by itself */
#define PROGRAM_COPIES_A_BYTE 4u /* of them while sets are made of sets: this bounds the time */
#define PROGRAM_LEAST_PROOF (24ull << 20)
#define PROGRAM_PROOF_A_BYTE 8u /* bytes that the proof takes */
#define PROGRAM_LEAST_WORK (1ull << 26)
#define PROGRAM_WORK_A_BYTE 256u /* entries of clocks, cells and accesses that the proof looks at: this bounds its time */
#define PROGRAM_PLACE 256        /* bytes of a described place */

enum program_kind {
	PROGRAM_SEND,
	PROGRAM_RECV,  /* over when its message has arrived and all that it waits for is over */
	PROGRAM_LOCAL, /* moves, adds or computes: a step */
	PROGRAM_JOIN,  /* over when all that it waits for is over: no step */
};

/* The place of an operation in its file, as the format counts; the format's reader describes it in messages. */
struct program_place {
	uint32_t file; /* of struct program's */
	uint64_t at;   /* line or byte */
	uint64_t name; /* node, or thread block and step */
};

struct program_op {
	enum program_kind kind;
	bool reduce;   /* a receive or local operation adds to the data there; else it overwrites */
	uint32_t rank; /* whose it is */
	uint32_t peer; /* of a message: the other rank */
	uint64_t tag;  /* of a message */
	uint64_t lane; /* sends to one peer, or local operations of a rank: those of one lane go one after another */
	uint64_t src_elems, dst_elems; /* a send reads at src, a receive puts at dst, a local operation does both */
	uint64_t count_elems;
	uint64_t compute_ps;
	struct program_place place;
};

/* One operation waits for another of its rank. */
struct program_wait {
	uint32_t op, on;
	bool start; /* op may start when on may start; else, when it is over */
};

struct program {
	size_t file_bytes; /* 0: of more than one file, whose reader has limits of its own */
	uint32_t max_ops, max_waits, max_sets;
	uint64_t max_copies;
	uint32_t ranks;
	uint32_t elem_bytes;
	bool memory;           /* places in memory are the file's: accesses to them have to be ordered */
	uint32_t max_channels; /* of a pair of ranks: further lanes share them; 0: every lane has its own */
	struct program_op *ops;
	size_t nops, op_room;
	struct program_wait *waits;
	size_t nwaits, wait_room;
	const char *const *files; /* names that places refer to */
	/* "file:line: what stands there", of PROGRAM_PLACE bytes at most. @return buf */
	char *(*describe)(const struct program *program, const struct program_place *place, char *buf);
};

/* @param file_bytes  which bound operations and dependencies, and with them memory and time; 0: only the limits above do */
void program_init(struct program *program, size_t file_bytes, uint32_t ranks, uint32_t elem_bytes, const char *const *files,
		  char *(*describe)(const struct program *, const struct program_place *, char *));
void program_fini(struct program *program);

/* Adds an operation. @return its index; PROGRAM_NONE with err and errno set: E2BIG, more than max_ops; ENOMEM */
uint32_t program_add(struct program *program, const struct program_op *op, struct err *err);

/*
 * @param op, on  two operations of one rank
 * @param start   op may start when on may, not when it is over
 * @return 0; -E2BIG or -ENOMEM with err set
 */
int program_wait(struct program *program, uint32_t op, uint32_t on, bool start, struct err *err);

/* err: an operation waits for more steps, with those before it, than there may be. @return -E2BIG */
int program_too_many_steps(const struct program *program, uint32_t op, uint32_t limit, struct err *err);

/* err: "PLACE: ...". @return -EINVAL */
int program_fail(const struct program *program, uint32_t op, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * The schedule. A step starts as soon as all that its operation waits for is over. Steps of a rank are numbered in the
 * order in which a network without contention would start them, so that the order of one channel can be kept.
 * @return NULL with err and errno set, naming operations by their places: EINVAL: a send without a receive, a
 *         receive without a send, unequal lengths, operations that wait for each other; EPROTO: it does not do what
 *         params->op promises (coll_schedule_check()); E2BIG; ENOMEM
 */
struct coll_schedule *program_schedule(const struct program *program, const struct coll_params *params,
				       const struct coll_layout *layout, struct err *err);

/* Arrays that grow with the contents of a file; the code that fills them has its limit. */

/*
 * Makes room for one more.
 * @param array  pointer to the array, moved or not
 * @param cap    elements there is room for, updated
 * @return false without memory, the array as it was
 */
static inline bool
import_room(void *array, size_t *cap, size_t used, size_t elem_bytes)
{
	void **at = array, *moved;
	size_t next = *cap != 0 ? *cap * 2 : 64;

	if (used < *cap)
		return true;
	moved = realloc(*at, next * elem_bytes);
	if (moved == NULL)
		return false;
	*at = moved;
	*cap = next;
	return true;
}
