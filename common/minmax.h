/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

static inline uint64_t
min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t
max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Sums of what records hold, however many there are. @return the sum; UINT64_MAX: it is that or more */
static inline uint64_t
sum_u64(uint64_t a, uint64_t b)
{
	return a <= UINT64_MAX - b ? a + b : UINT64_MAX;
}

/* For qsort(), and numbers of any one type: less than 0, 0 or more, as a is less than, equal to or more than b. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static inline uint32_t
min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t
max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}
