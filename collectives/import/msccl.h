/* SPDX-License-Identifier: BSD-3-Clause */
/* An MSCCL algorithm on its way to a program: msccl.c reads, places and links, msccl_step.c says what a step does. */
#pragma once

#include "collectives/import/import.h"
#include "collectives/import/msccl_xml.h"
#include "collectives/import/program.h"

struct msccl {
	const struct import_options *options;
	const struct msccl_algo *algo;
	struct program program;
	uint64_t chunk_elems, vector_elems;
	uint64_t base_elems[MSCCL_BUFFERS];  /* of rank 0 */
	uint64_t shift_elems[MSCCL_BUFFERS]; /* further for each rank */
	bool in_place;                       /* input and output are one vector */
	bool staged;
	uint64_t *slot_elems;         /* [ngpus] the next place of its own */
	uint32_t *first_op, *last_op; /* [nsteps] */
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
