/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Record streams of any size, made up for the analyzer's benchmark: a ring of ranks, steps that are slow, switches that
 * report.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct bench_shape {
	uint32_t ranks;
	uint32_t steps; /* of each rank */
	uint32_t switches;
	uint32_t reports; /* of each switch: a polling packet, and the rows of two epochs of one port */
	uint32_t slow;    /* steps of each rank that are slow */
};

struct bench_stream {
	uint8_t *data;
	size_t used_bytes, cap_bytes;
	uint64_t records;
	uint32_t seq;
};

/* Flows at a port: one of the collective, if any passes there, and others. */
#define BENCH_FLOWS_A_PORT 4

/*
 * Makes a whole stream. The same shape gives the same bytes.
 * @return 0 or -ENOMEM with err; free with bench_stream_fini() in any case
 */
int bench_stream_make(struct bench_stream *stream, const struct bench_shape *shape, struct err *err);
void bench_stream_fini(struct bench_stream *stream);
