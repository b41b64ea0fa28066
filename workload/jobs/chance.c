/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/jobs/chance.h"

#include "common/hash.h"

static uint64_t
digest_text(uint64_t digest, const char *text)
{
	for (; *text != '\0'; text++)
		digest = digest_u64(digest, (unsigned char)*text);
	return digest_u64(digest, UINT64_MAX); /* "ab", "c" is not "a", "bc" */
}

uint64_t
chance(uint64_t seed, enum chance_of of, const char *owner, const char *part, uint32_t rank, uint32_t iteration)
{
	uint64_t digest = digest_u64(digest_u64(DIGEST_INIT, seed), of);

	digest = digest_text(digest_text(digest, owner), part);
	return digest_u64(digest, (uint64_t)rank << 32 | iteration);
}
