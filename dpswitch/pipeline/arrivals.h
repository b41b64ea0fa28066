/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrivals of one window for one egress, from routing to transmission: a run an ingress, each in order of time. */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/pkt.h"
#include "common/units.h"

#define ARRIVALS_NO_PORT UINT16_MAX

struct arrivals_run {
	uint64_t time_ps;  /* of the first */
	uint32_t from, to; /* in pkts */
};

/* Written by routing, emptied by transmission. */
struct arrivals {
	struct pkt **pkts;
	uint32_t count, nruns;
	struct arrivals_run *runs; /* [ports of the switch] those not exhausted, in order */
	uint16_t in_port;          /* of the last run, which has no end yet; ARRIVALS_NO_PORT: every run has one */
};

/* @param most  packets in one window. @return 0 or -ENOMEM */
static inline int
arrivals_init(struct arrivals *arrivals, uint32_t most, uint16_t nports)
{
	arrivals->pkts = malloc(most * sizeof(*arrivals->pkts));
	arrivals->runs = malloc(nports * sizeof(*arrivals->runs));
	arrivals->in_port = ARRIVALS_NO_PORT;
	return arrivals->pkts != NULL && arrivals->runs != NULL ? 0 : -ENOMEM;
}

static inline void
arrivals_fini(struct arrivals *arrivals)
{
	free(arrivals->pkts);
	free(arrivals->runs);
}

/* The last run, if there is one, is complete. */
static inline void
arrivals_end_run(struct arrivals *arrivals)
{
	if (arrivals->in_port != ARRIVALS_NO_PORT)
		arrivals->runs[arrivals->nruns - 1].to = arrivals->count;
	arrivals->in_port = ARRIVALS_NO_PORT;
}

/* Calls for one egress come ingress by ingress, in order of time. The packet stays where it is. */
static inline void
arrivals_add(struct arrivals *arrivals, uint16_t in_port, struct pkt *p)
{
	if (arrivals->in_port != in_port) {
		arrivals_end_run(arrivals);
		arrivals->runs[arrivals->nruns++] = (struct arrivals_run){ .time_ps = p->time_ps, .from = arrivals->count };
		arrivals->in_port = in_port;
	}
	arrivals->pkts[arrivals->count++] = p;
}

/* Takes all that was added. @return it, in the same arrays: to be gone through before more is added */
static inline struct arrivals
arrivals_take_all(struct arrivals *arrivals)
{
	struct arrivals all;

	arrivals_end_run(arrivals);
	all = *arrivals;
	arrivals->count = arrivals->nruns = 0;
	return all;
}

/* @return run with the earliest arrival, the lowest ingress among equals; there must be one */
static inline uint32_t
arrivals_first(const struct arrivals *arrivals)
{
	const struct arrivals_run *runs = arrivals->runs;
	uint32_t best = 0;

	for (uint32_t r = 1; r < arrivals->nruns; r++)
		if (runs[r].time_ps < runs[best].time_ps)
			best = r;
	return best;
}

/* @param run  set to the one with the next arrival. @return its time; TIME_NEVER: none is left */
static inline uint64_t
arrivals_next_ps(const struct arrivals *arrivals, uint32_t *run)
{
	if (arrivals->nruns == 0)
		return TIME_NEVER;
	*run = arrivals_first(arrivals);
	return arrivals->runs[*run].time_ps;
}

/* Takes the first packet of a run. */
static inline struct pkt *
arrivals_take(struct arrivals *arrivals, uint32_t run)
{
	struct arrivals_run *r = &arrivals->runs[run];
	struct pkt *p = arrivals->pkts[r->from++];

	if (r->from != r->to) {
		r->time_ps = arrivals->pkts[r->from]->time_ps;
		return p;
	}
	arrivals->nruns--;
	for (uint32_t i = run; i < arrivals->nruns; i++)
		arrivals->runs[i] = arrivals->runs[i + 1];
	return p;
}
