/* SPDX-License-Identifier: BSD-3-Clause */
/* The digest that proves two runs equal: order-sensitive, 64 bit, not cryptographic. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/prng.h"

#define DIGEST_INIT 0x243f6a8885a308d3ULL

static inline uint64_t
digest_u64(uint64_t digest, uint64_t value)
{
	return prng_mix(digest * 0x9e3779b97f4a7c15ULL + value + 1);
}

/* size_bytes must be a multiple of 8, as all records are. */
static inline uint64_t
digest_bytes(uint64_t digest, const void *data, size_t size_bytes)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < size_bytes; i += 8) {
		uint64_t value;

		memcpy(&value, p + i, 8);
		digest = digest_u64(digest, value);
	}
	return digest;
}
