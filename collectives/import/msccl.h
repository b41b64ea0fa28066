/* SPDX-License-Identifier: BSD-3-Clause */
/* An MSCCL algorithm on its way to a program: msccl.c reads, places and links, msccl_step.c says what a step does. */
#pragma once

#include "collectives/import/import.h"
#include "collectives/import/msccl_xml.h"
#include "collectives/import/program.h"

/* What a GPU has once alone: a thread block of an id, of a channel and a peer to send to, of a channel and a peer to receive from. */
enum msccl_once { MSCCL_ID, MSCCL_SEND, MSCCL_RECV, MSCCL_ONCE };

struct msccl_key {
	uint64_t key;
	uint32_t block; /* of the algorithm's */
};

struct msccl {
	const struct import_options *options;
	const struct msccl_algo *algo;
	size_t file_bytes;
	struct program program;
	uint64_t chunk_elems, vector_elems;
	uint64_t base_elems[MSCCL_BUFFERS];  /* of rank 0 */
	uint64_t shift_elems[MSCCL_BUFFERS]; /* further for each rank */
	bool in_place;                       /* input and output are one vector */
	bool staged;
	uint64_t *slot_elems;               /* [ngpus] the next place of its own */
	uint32_t *first_op, *last_op;       /* [nsteps] */
	struct msccl_key *keys[MSCCL_ONCE]; /* [nkeys] of one GPU's blocks, sorted; of a key the first of the file first */
	size_t nkeys[MSCCL_ONCE];
	const char *files[1];
	struct err *err;
};

/* err: "file:line: ...". @return -EINVAL */
int msccl_fail(const struct msccl *m, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Adds the operations of a step of a thread block, behind those of the step before.
 * @param index  of the algorithm's steps
 * @return 0; -EINVAL, -E2BIG or -ENOMEM with err set
 */
int msccl_add_step(struct msccl *m, const struct msccl_gpu *gpu, const struct msccl_block *block, size_t index);

/* Sorts the thread blocks of a GPU, in place of the one before. @return 0 or -ENOMEM */
int msccl_blocks_index(struct msccl *m, const struct msccl_gpu *gpu);
/* A block of the GPU that was indexed last. @return 0 or -EINVAL with err set: its peers, and what stands there already */
int msccl_blocks_check(const struct msccl *m, const struct msccl_gpu *gpu, const struct msccl_block *block);
/* @return the block with an id of the GPU that was indexed last; NULL: there is none */
const struct msccl_block *msccl_blocks_find(const struct msccl *m, int64_t id);
void msccl_blocks_fini(struct msccl *m);
