/* SPDX-License-Identifier: BSD-3-Clause */
/* What the exporter's budgets are made of: a bucket, the bytes of the last millisecond, meters of switches and pods. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/units.h"

#define BUDGET_WINDOW_PS PS_PER_MS
/* A frame, the gap records of losses before it, and the same size again at the end. */
#define BUDGET_BURST_MIN 4608
#define BUDGET_NO_POD UINT32_MAX

/* @return the bytes of BUDGET_WINDOW_PS */
static inline uint64_t
budget_window_bytes(uint64_t budget)
{
	return (uint64_t)((unsigned __int128)budget * BUDGET_WINDOW_PS / PS_PER_S);
}

/* @return the default burst: those, BUDGET_BURST_MIN at least */
static inline uint64_t
budget_burst_bytes(uint64_t budget)
{
	uint64_t bytes = budget_window_bytes(budget);

	return bytes > BUDGET_BURST_MIN ? bytes : BUDGET_BURST_MIN;
}

/* A token bucket over a clock that is passed in: exact integers, so that its grain of calls changes nothing. */

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

/* The bytes that left in the last BUDGET_WINDOW_PS: a bucket alone lets the burst and the budget of the same time go. */

struct departure;

/* Zero-initialise but for most_bytes. */
struct departures {
	struct departure *at; /* [end] from first on, in order of time, each time once */
	size_t first, end, cap;
	uint64_t bytes;      /* of those */
	uint64_t most_bytes; /* at any time */
};

void departures_fini(struct departures *departures);
/* Bytes leave. Memory exhaustion ends the program with a message. */
void departures_note(struct departures *departures, uint64_t now_ps, uint64_t bytes);
/* @return the first time at which that many bytes, at most most_bytes, may leave; 0: at once */
uint64_t departures_ready_ps(const struct departures *departures, uint64_t bytes);

/* Budgets of switches and of pods. Zero-initialise. */
struct meters {
	struct bucket *switches, *pods; /* [nnodes] by node, by pod; NULL: no such budget */
	uint32_t *pod_of;               /* [nnodes] */
	bool *is_switch;                /* [nnodes] */
	uint32_t nnodes;                /* 0: there are none */
};

/*
 * @param switch_budget  bytes a second, 0: unlimited; pod_budget likewise
 * @param is_switch      [nnodes] copied
 * @param pods           [nnodes] below nnodes, or BUDGET_NO_POD; copied
 * @return 0; -ENOMEM. meters_fini() in any case
 */
int meters_init(struct meters *meters, uint64_t switch_budget, uint64_t pod_budget, const bool *is_switch,
		const uint32_t *pods, uint32_t nnodes);
void meters_fini(struct meters *meters);
bool meters_limit(const struct meters *meters, uint32_t node);
/* @return what a node that is limited may send at this time */
uint64_t meters_left(struct meters *meters, uint32_t node, uint64_t now_ps);
/* Takes bytes that meters_left() has shown to be there. */
void meters_take(struct meters *meters, uint32_t node, uint64_t bytes);
