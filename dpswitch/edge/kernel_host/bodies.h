/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of frames that are inside the fabric: an mbuf by a handle that fits a descriptor. The handle is where the mbuf lies,
 * in cache lines from the lowest address that any pool has: nothing is looked up, and nothing is written that lcores share, but
 * for flows that nobody planned. How many there can be is what the ports' pools have.
 */
#pragma once

#include <assert.h>
#include <stdatomic.h>

#include "common/err.h"
#include "common/flow.h"
#include "dpswitch/fabric/body.h"

struct rte_mbuf;

#define BODY_ALIGN_SHIFT 6 /* objects of a pool begin at cache lines */

struct body_table {
	struct bodies base; /* first */
	uintptr_t origin;
	const struct flow_table *flows;
	/* [flows->spares] bodies of a spare slot's flow. Any lcore; relaxed: read between windows, or by the only lcore */
	_Atomic uint32_t *in_flight;
};

/* The pools of all ports are there. @return 0, -ENOMEM, or -ERANGE: they lie too far apart for a handle */
int body_table_init(struct body_table *table, const struct flow_table *flows);
void body_table_fini(struct body_table *table);

static inline struct rte_mbuf *
body_mbuf(const struct body_table *table, uint32_t handle)
{
	return (struct rte_mbuf *)(table->origin + ((uintptr_t)handle << BODY_ALIGN_SHIFT));
}

/* @param change  of the bodies of a flow that are under way: 1 or -1 */
static inline void
body_count(struct body_table *table, uint32_t flow, uint32_t change)
{
	if (__builtin_expect(flow >= table->flows->count, 0))
		atomic_fetch_add_explicit(&table->in_flight[flow - table->flows->count], change, memory_order_relaxed);
}

/* Keeps an mbuf. @return its handle */
static inline uint32_t
body_put(struct body_table *table, struct rte_mbuf *mbuf, uint32_t flow)
{
	uintptr_t at = ((uintptr_t)mbuf - table->origin) >> BODY_ALIGN_SHIFT;

	assert(at <= UINT32_MAX);
	body_count(table, flow, 1);
	return (uint32_t)at;
}

/* Ends a packet's handle. @return the mbuf, the caller's from now on */
static inline struct rte_mbuf *
body_take(struct body_table *table, const struct pkt *p)
{
	body_count(table, p->flow, UINT32_MAX);
	return body_mbuf(table, p->arg);
}
