/* SPDX-License-Identifier: BSD-3-Clause */
/* A token bucket over a clock that is passed in: exact integers, so that its grain of calls changes nothing. */
#pragma once

#include <assert.h>
#include <stdint.h>

#include "common/units.h"

struct bucket {
	uint64_t rate;            /* bytes a second, > 0 */
	uint64_t burst_bytes;     /* most it holds */
	uint64_t at_ps;           /* time up to which it has been filled */
	unsigned __int128 credit; /* bytes times PS_PER_S */
};

/* Starts full at time 0. */
static inline void
bucket_init(struct bucket *bucket, uint64_t rate, uint64_t burst_bytes)
{
	*bucket = (struct bucket){
		.rate = rate,
		.burst_bytes = burst_bytes,
		.credit = (unsigned __int128)burst_bytes * PS_PER_S,
	};
}

/* Fills it up to a point in time; one that has passed is ignored. */
static inline void
bucket_fill(struct bucket *bucket, uint64_t now_ps)
{
	unsigned __int128 full = (unsigned __int128)bucket->burst_bytes * PS_PER_S;

	if (now_ps <= bucket->at_ps)
		return;
	bucket->credit += (unsigned __int128)bucket->rate * (now_ps - bucket->at_ps);
	if (bucket->credit > full)
		bucket->credit = full;
	bucket->at_ps = now_ps;
}

/* @return whole bytes that may be sent now */
static inline uint64_t
bucket_bytes(const struct bucket *bucket)
{
	return (uint64_t)(bucket->credit / PS_PER_S);
}

/* Takes bytes that bucket_bytes() has shown to be there. */
static inline void
bucket_take(struct bucket *bucket, uint64_t bytes)
{
	assert(bytes <= bucket_bytes(bucket));
	bucket->credit -= (unsigned __int128)bytes * PS_PER_S;
}

/* @return the first time at which that many bytes may be sent; TIME_NEVER for more than it can hold */
static inline uint64_t
bucket_ready_ps(const struct bucket *bucket, uint64_t bytes)
{
	unsigned __int128 need = (unsigned __int128)bytes * PS_PER_S;

	if (bytes > bucket->burst_bytes)
		return TIME_NEVER;
	if (need <= bucket->credit)
		return bucket->at_ps;
	return bucket->at_ps + (uint64_t)((need - bucket->credit + bucket->rate - 1) / bucket->rate);
}
