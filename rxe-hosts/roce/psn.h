/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet sequence numbers: 24 bits on the wire (IBTA 9.7.1), compared modulo 2^24. */
#pragma once

#include <stdint.h>

#define PSN_MASK 0xffffffu

/* @return a - b as the shortest way round, -2^23 .. 2^23 - 1; also right when a or b carries higher bits */
static inline int32_t
psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}
