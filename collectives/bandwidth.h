/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results in the columns of nccl-tests (src/common.cu, doc/PERFORMANCE.md), out of place only; behind them whose they
 * are.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collectives/data.h"

#define COLL_WRONG_UNCHECKED UINT64_MAX

struct coll_result {
	const char *job, *collective; /* names, of 32 characters at most */
	uint32_t iteration;
	enum coll_op op;
	enum coll_type type;
	uint32_t ranks, root;
	uint64_t count_elems; /* vector length a rank; the column "count" has a block's, but for AllReduce; 0: unknown */
	uint64_t time_ps;     /* of the whole collective */
	uint64_t wrong;       /* elements over all ranks; COLL_WRONG_UNCHECKED with synthetic payload */
};

/* GB/s, decimal. 0 without time, or of an unknown size. */
double coll_algbw_gbps(const struct coll_result *result);
double coll_busbw_gbps(const struct coll_result *result);

/* nccl-tests' columns type, redop, root (-1: none) and count. */
const char *coll_result_type(const struct coll_result *result);
const char *coll_result_redop(const struct coll_result *result);
int coll_result_root(const struct coll_result *result);
uint64_t coll_result_count(const struct coll_result *result);

/* Decimals for such a rate: two, as in nccl-tests, and four below 0.1 GB/s, which is what slow links give. */
int coll_bw_decimals(double gbps);

/* Two or one lines with line ends. @return buf, NUL-terminated */
char *coll_bandwidth_header(char *buf, size_t cap);
char *coll_bandwidth_row(const struct coll_result *result, char *buf, size_t cap);
