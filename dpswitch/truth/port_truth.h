/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric's own truth of a port: which flows stood in its queue together, when, for how long and how deep the queue
 * was; how long its peer paused it, and which flows that held up; and which frames overtook data that waited. It goes
 * to truth.json, by which diagnoses are scored;
 * no record carries it, and telemetry knows nothing of it: both observe the same events.
 *
 * Pairs are many where flows are: those of a collective's flows with any other are always kept, those of two other
 * flows where one is among the first TRUTH_OTHERS of the port. A pair has memory once it has shared the queue: most never
 * do. Windows are gathered by 64, a bit each, and counted pair by pair only then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/port_flows.h"

/*
 * The fabric's own truth of the flows that took a port's link from data that waited: frames of class 0, which is served
 * strictly first, by flow and direction, all of them. It goes to truth.json; telemetry has a table of its own, of few
 * places.
 */

struct overtaking {
	uint64_t wire_bytes;
	uint64_t first_ps, last_ps; /* when frames were queued ahead */
	uint32_t packets;           /* 0: a free place */
	uint32_t flow;
	bool acks; /* what travels back to the flow's sender */
};

/* Zero-initialise. A hash table, no more than half full. */
struct overtakings {
	struct overtaking *at; /* [cap] */
	uint32_t cap, count;
};

void overtakings_fini(struct overtakings *overtakings);

/* A frame went ahead of data. Ends the program when out of memory. */
void overtakings_add(struct overtakings *overtakings, uint32_t flow, bool acks, uint32_t wire_bytes, uint64_t now_ps);

#define TRUTH_OTHERS 32
#define TRUTH_BATCH 64
#define TRUTH_MOST 65536u /* flows of a port of which pairs are kept: a pair has a key of 32 bits */

/* Counts of two flows that shared a queue, or of one at a paused port. */
struct flow_contention {
	uint64_t together_ps;
	uint64_t first_ps, last_ps; /* start of the first window together, end of the last */
	uint64_t depth_time;        /* packets in the queue x ps, over the time together */
	uint32_t depth_max;         /* packets */
};

/* Windows in which some packet had to wait, not yet added up. */
struct truth_batch {
	uint32_t windows; /* each of length_ps */
	uint32_t depth_max;
	uint64_t depth_sum; /* of the queue's depth at their end */
	uint64_t length_ps;
	uint64_t paused;                /* bit w: at the end of the w-th the port was paused, in any class */
	uint64_t start_ps[TRUTH_BATCH]; /* when each began */
};

struct truth_pairs; /* those that shared the queue */

struct port_truth {
	/* touched per packet */
	uint64_t *last_window; /* [cap] window + 1 in which the slot's flow was last enqueued */
	uint32_t cap;
	bool contended; /* some packet had to wait in this window */
	bool paused;
	/* the rest */
	const struct port_flows *flows;
	uint64_t *present;            /* [cap] bit w: in the w-th window of the batch the slot's flow was there */
	bool *kept;                   /* [cap] the slot's pairs are */
	struct flow_contention *held; /* [cap] when the slot's flow was there while the port was paused, up to the batch */
	struct truth_pairs *pairs;    /* NULL: no flow has shared the queue */
	uint32_t nkept;
	uint32_t nslots; /* slots of which it is decided whether their pairs are kept */
	struct truth_batch batch;
	uint64_t paused_since_ps, paused_ps; /* of the whole run, before the present pause */
	struct overtakings overtakings;
};

/* @param flows  of the port, which counts what waits. Nothing is allocated before the first packet. */
void port_truth_init(struct port_truth *truth, const struct port_flows *flows);
void port_truth_fini(struct port_truth *truth);

/* Widens the tables to hold slots. Ends the program when out of memory. */
void port_truth_reserve(struct port_truth *truth, uint32_t slots);

/* A packet is enqueued. @param slot  has room: port_truth_reserve(). @param waits  behind others */
static inline void
port_truth_enqueue(struct port_truth *truth, uint32_t slot, uint64_t window, bool waits)
{
	truth->last_window[slot] = window + 1;
	truth->contended |= waits;
}

/* A window, and the packets of data in the queue at its end. */
struct truth_window {
	uint64_t index, start_ps, length_ps;
	uint32_t depth;
};

/* A window ends in which some packet had to wait: adds it to every pair of flows present. */
void port_truth_count(struct port_truth *truth, const struct truth_window *window);

/* The peer pauses this port in some class, or in none, from now on. */
void port_truth_pause(struct port_truth *truth, bool paused, uint64_t now_ps);
/* @return how long the port was paused since the run began */
uint64_t port_truth_paused_ps(const struct port_truth *truth, uint64_t now_ps);

/* Pauses that ended by now held up this slot's flow at a port that counts no windows while it is paused: a NIC. */
void port_truth_hold(struct port_truth *truth, uint32_t slot, uint64_t held_ps, uint64_t now_ps);
/* @return when the slot's flow was there while the port was paused */
struct flow_contention port_truth_held(const struct port_truth *truth, uint32_t slot);

/*
 * Counts of two slots' flows, all 0 if they never shared the queue or their pair is not kept. The depth is that of the
 * batches of windows in which they shared it.
 */
struct flow_contention port_truth_contention(const struct port_truth *truth, uint32_t a, uint32_t b);
/* @return flows of the port whose pairs are not kept, but with those whose are */
uint32_t port_truth_left_out(const struct port_truth *truth);
