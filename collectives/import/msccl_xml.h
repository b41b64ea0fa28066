/* SPDX-License-Identifier: BSD-3-Clause */
/* An MSCCL algorithm as in its XML: every attribute checked by itself, gpus, thread blocks and steps in its order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define MSCCL_MAX_CHUNKS (1 << 20) /* of a buffer */
#define MSCCL_MAX_BLOCKS (1 << 16) /* thread blocks of a gpu */
#define MSCCL_NAME 64

/* Name, receives, reduces, sends, moves locally. */
#define MSCCL_TYPES(ROW)                                                                                                   \
	ROW(MSCCL_S, "s", false, false, true, false)                                                                       \
	ROW(MSCCL_R, "r", true, false, false, false)                                                                       \
	ROW(MSCCL_RCS, "rcs", true, false, true, false)                                                                    \
	ROW(MSCCL_RRC, "rrc", true, true, false, false)                                                                    \
	ROW(MSCCL_RRS, "rrs", true, true, true, false)                                                                     \
	ROW(MSCCL_RRCS, "rrcs", true, true, true, false)                                                                   \
	ROW(MSCCL_CPY, "cpy", false, false, false, true)                                                                   \
	ROW(MSCCL_RE, "re", false, true, false, true)                                                                      \
	ROW(MSCCL_NOP, "nop", false, false, false, false)

enum msccl_type {
#define MSCCL_TYPE_ID(id, name, receives, reduces, sends, local) id,
	MSCCL_TYPES(MSCCL_TYPE_ID)
#undef MSCCL_TYPE_ID
};

enum msccl_buffer { MSCCL_INPUT, MSCCL_OUTPUT, MSCCL_SCRATCH, MSCCL_BUFFERS };

struct msccl_type_row {
	const char *name;
	bool receives, reduces, sends, local;
};

extern const struct msccl_type_row msccl_types[];

struct msccl_step {
	int line;
	int64_t s, type, srcbuf, srcoff, dstbuf, dstoff, cnt, depid, deps, hasdep;
};

struct msccl_block {
	int line;
	int64_t id, send, recv, chan; /* a peer that there is not: -1 */
	size_t first_step, nsteps;
};

struct msccl_gpu {
	int line;
	int64_t id;
	int64_t chunks[MSCCL_BUFFERS];
	size_t first_block, nblocks;
};

struct msccl_algo {
	int line;
	char name[MSCCL_NAME], coll[MSCCL_NAME];
	int64_t nchunksperloop, ngpus, inplace, outofplace, min_bytes, max_bytes;
	struct msccl_gpu *gpus; /* [ngpus] in the order of the file */
	struct msccl_block *blocks;
	struct msccl_step *steps;
	size_t ngpus_read, nblocks, nsteps;
};

/*
 * @param text  of length bytes; path stands for it in messages
 * @return 0; -EINVAL with err naming path:line, the value found and a right value; -ENOMEM
 */
int msccl_parse(const char *text, size_t length, const char *path, struct msccl_algo *algo, struct err *err);
void msccl_fini(struct msccl_algo *algo);
