/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue of descriptors: a ring that doubles, up to the limit that the switch's buffer sets. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/int_header.h"
#include "common/pkt.h"

struct fifo {
	struct pkt *ring;    /* [cap]; with inband cap headers behind them */
	uint32_t head, tail; /* free running */
	uint32_t cap;        /* a power of two; 0 before the first packet */
	bool inband;         /* packets may have PKT_INT: set before the first */
	uint64_t bytes;
};

_Static_assert(sizeof(struct fifo) == 32, "two queues a cache line");

static inline uint32_t
fifo_count(const struct fifo *fifo)
{
	return fifo->tail - fifo->head;
}

static inline bool
fifo_empty(const struct fifo *fifo)
{
	return fifo->tail == fifo->head;
}

/* Doubles the ring. @return 0 or -ENOMEM */
int fifo_grow(struct fifo *fifo);
void fifo_fini(struct fifo *fifo);

/* @return false when out of memory */
static inline bool
fifo_push(struct fifo *fifo, const struct pkt *p)
{
	if (__builtin_expect(fifo_count(fifo) == fifo->cap, 0) && fifo_grow(fifo) < 0)
		return false;
	fifo->ring[fifo->tail++ & (fifo->cap - 1)] = *p;
	fifo->bytes += p->wire_bytes;
	return true;
}

static inline struct pkt *
fifo_peek(const struct fifo *fifo)
{
	return &fifo->ring[fifo->head & (fifo->cap - 1)];
}

/* The header beside a packet with PKT_INT, in the ring: the last one pushed, or one peeked or popped. */
static inline struct int_header *
fifo_int(const struct fifo *fifo, const struct pkt *p)
{
	return (struct int_header *)(fifo->ring + fifo->cap) + (p - fifo->ring);
}

static inline struct pkt *
fifo_last(const struct fifo *fifo)
{
	return &fifo->ring[(fifo->tail - 1) & (fifo->cap - 1)];
}

static inline struct pkt *
fifo_at(const struct fifo *fifo, uint32_t i)
{
	return &fifo->ring[(fifo->head + i) & (fifo->cap - 1)];
}

/* The popped packet stays readable until the next push. */
static inline struct pkt *
fifo_pop(struct fifo *fifo)
{
	struct pkt *p = fifo_peek(fifo);

	fifo->head++;
	fifo->bytes -= p->wire_bytes;
	return p;
}

/* ECN marking at dequeue (RFC 3168 CE, thresholds as DCQCN sets them: Zhu et al., SIGCOMM 2015, section 3). */

struct ecn_params {
	uint64_t kmin_bytes; /* ECN_NEVER: nothing is marked */
	uint64_t kmax_bytes;
	double ramp_bytes; /* between the two */
	double pmax;
};

_Static_assert(sizeof(struct ecn_params) == 32, "a class's is in one cache line");

#define ECN_NEVER UINT64_MAX

/*
 * Marks by RED's ramp between kmin and kmax; equal, they are a step, as DCTCP marks (Alizadeh et al., SIGCOMM 2010,
 * section 3.1): marked iff more than that is queued.
 * @param queued_bytes  data left in the egress queue behind the departing packet
 * @param unit          uniform in [0, 1)
 */
static inline bool
ecn_marks(const struct ecn_params *params, uint64_t queued_bytes, double unit)
{
	if (queued_bytes <= params->kmin_bytes)
		return false;
	if (queued_bytes > params->kmax_bytes)
		return true;
	return unit < params->pmax * (double)(queued_bytes - params->kmin_bytes) / params->ramp_bytes;
}
