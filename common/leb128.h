/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers as LEB128: 7 bits a byte, the lowest first; all bytes but the last have their highest bit set. */
#pragma once

#include <stdint.h>

#define LEB128_MAX_BYTES 10 /* of 64 bits */

/* @param to  room for LEB128_MAX_BYTES  @return what stands behind the number */
static inline uint8_t *
leb128_put(uint8_t *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = (uint8_t)(value | 0x80);
	*to++ = (uint8_t)value;
	return to;
}

/* A difference in zigzag order: it is small whichever of both is the larger. */
static inline uint64_t
leb128_change(uint64_t value, uint64_t before)
{
	uint64_t change = value - before;

	return change << 1 ^ (change >> 63 != 0 ? UINT64_MAX : 0);
}

/* @return value of leb128_change(), from its result and before */
static inline uint64_t
leb128_changed(uint64_t before, uint64_t coded)
{
	return before + (coded >> 1 ^ (coded & 1 ? UINT64_MAX : 0));
}
