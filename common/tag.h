/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tag of a measured collective's data: whose it is, and of which iteration (FlowPulse, 5.1). On the wire it is a
 * DSCP of pool 2, "experimental or local use" (RFC 2474, 6): the low two bits, 11, are the sentinel, the upper four the
 * iteration modulo 16. Software sets it by the traffic class of a queue pair's address vector (IBTA volume 1, 11.2.5).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TAG_SET 0x80      /* in a descriptor; a DSCP has 6 bits */
#define TAG_SENTINEL 0x03 /* in a DSCP */
#define TAG_SENTINEL_MASK 0x03
#define TAG_ITERATION_SHIFT 2
#define TAG_ITERATIONS 16 /* that a tag distinguishes */

/* @param iteration  of its collective, from 0 @return what a descriptor carries; untagged ones carry 0 */
static inline uint8_t
tag_make(uint64_t iteration)
{
	return (uint8_t)(TAG_SET | (iteration % TAG_ITERATIONS) << TAG_ITERATION_SHIFT | TAG_SENTINEL);
}

/* @param tag  of a descriptor of data */
static inline bool
tag_is(uint8_t tag)
{
	return tag != 0;
}

/* @param tag  one that is @return the iteration modulo TAG_ITERATIONS */
static inline uint8_t
tag_iteration4(uint8_t tag)
{
	return tag >> TAG_ITERATION_SHIFT & (TAG_ITERATIONS - 1);
}

/* @param tag  one that is */
static inline uint8_t
tag_dscp(uint8_t tag)
{
	return tag & (TAG_SET - 1);
}

/* @return 0: the DSCP has no sentinel */
static inline uint8_t
tag_of_dscp(uint8_t dscp)
{
	return (dscp & TAG_SENTINEL_MASK) == TAG_SENTINEL ? (uint8_t)(TAG_SET | dscp) : 0;
}
