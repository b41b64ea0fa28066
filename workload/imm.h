/* SPDX-License-Identifier: BSD-3-Clause */
/* The immediate of a collective's message: which step of which iteration has arrived. Its flow says of which sender. */
#pragma once

#include <stdint.h>

#define IMM_STEP_BITS 22
#define IMM_ITERATION_BITS 10
#define IMM_MAX_STEP ((1u << IMM_STEP_BITS) - 1)

struct imm {
	uint32_t iteration; /* modulo 2^IMM_ITERATION_BITS: at most two iterations of a collective are ever open */
	uint32_t step;      /* from 1 */
};

static inline uint32_t
imm_encode(uint32_t iteration, uint32_t step)
{
	return (iteration & ((1u << IMM_ITERATION_BITS) - 1)) << IMM_STEP_BITS | step;
}

static inline struct imm
imm_decode(uint32_t imm)
{
	return (struct imm){ .iteration = imm >> IMM_STEP_BITS, .step = imm & IMM_MAX_STEP };
}
