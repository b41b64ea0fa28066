/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stage 2: the arrivals of an egress, from routing to transmission, and the egresses that go through a window together.
 */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/pkt.h"
#include "common/units.h"
#include "dpswitch/pipeline/switch_cfg.h"

struct sw;
struct switch_port;
struct window;
struct pause_frame;

/* Moves one egress through the window, of a switch whose ports find flows in an array, or else by hashing. */
void switch_transmit_direct(struct sw *sw, uint16_t port, const struct pause_frame *pauses, uint32_t npauses,
			    const struct window *window);
void switch_transmit_hashed(struct sw *sw, uint16_t port, const struct pause_frame *pauses, uint32_t npauses,
			    const struct window *window);
/* The peer holds other classes now: reports the lossless ones to telemetry and truth. */
void switch_note_pause(const struct sw *sw, struct switch_port *port, uint8_t paused, uint64_t now_ps);

/* Arrivals of one window for one egress, from routing to transmission: a run an ingress, each in order of time. */

#define ARRIVALS_NO_PORT UINT8_MAX
#define ARRIVALS_FIRST_LOG2 4 /* packets that there is room for at first */

_Static_assert(TOPO_MAX_PORTS <= ARRIVALS_NO_PORT, "a port and a number of runs fit a byte");

struct arrivals_run {
	uint64_t time_ps;  /* of the first */
	uint32_t from, to; /* in pkts */
};

/*
 * Written by routing, emptied by transmission. Runs grow downwards from where the packets begin: of an egress that gets
 * few, all of it is in one cache line.
 */
struct arrivals {
	struct pkt **pkts; /* and runs before them: arrivals_run() */
	uint32_t count;
	uint8_t room_log2; /* of the packets that there is room for */
	uint8_t nports;    /* of the switch: runs that there is room for */
	uint8_t nruns;     /* those not exhausted, in order */
	uint8_t in_port;   /* of the last run, which has no end yet; ARRIVALS_NO_PORT: every run has one */
};

#define ARRIVALS_LINE_BYTES 64

/* Bytes from the start of the memory to the packets: half a line, with room for one run per ingress before it. */
static inline size_t
arrivals_lead_bytes(uint16_t nports)
{
	size_t half = ARRIVALS_LINE_BYTES / 2, runs_bytes = nports * sizeof(struct arrivals_run);

	return (runs_bytes + half - 1) / ARRIVALS_LINE_BYTES * ARRIVALS_LINE_BYTES + half;
}

/* @param nports  of the switch. @return 0 or -ENOMEM */
int arrivals_init(struct arrivals *arrivals, uint16_t nports);
/* Also for a zeroed struct. */
void arrivals_fini(struct arrivals *arrivals);
/* Doubles the room for packets. Ends the program when out of memory. */
void arrivals_widen(struct arrivals *arrivals);

static inline struct arrivals_run *
arrivals_run(const struct arrivals *arrivals, uint32_t run)
{
	return (struct arrivals_run *)arrivals->pkts - 1 - run;
}

/* The last run, if there is one, is complete. */
static inline void
arrivals_end_run(struct arrivals *arrivals)
{
	if (arrivals->in_port != ARRIVALS_NO_PORT)
		arrivals_run(arrivals, arrivals->nruns - 1u)->to = arrivals->count;
	arrivals->in_port = ARRIVALS_NO_PORT;
}

/* Makes room for more packets, likewise. */
static inline void
arrivals_reserve(struct arrivals *arrivals, uint32_t packets)
{
	while (__builtin_expect((arrivals->count + packets - 1) >> arrivals->room_log2 != 0, 0))
		arrivals_widen(arrivals);
}

/*
 * Calls for one egress are made ingress by ingress, in order of time. The packet stays where it is.
 * @param most   packets that arrive at this ingress in this window: there is room for all of them from the first on
 * @param extra  a constant: this one may be none of them
 */
static inline __attribute__((always_inline)) void
arrivals_add(struct arrivals *arrivals, uint16_t in_port, struct pkt *p, uint32_t most, bool extra)
{
	if (extra)
		arrivals_reserve(arrivals, most + 1);
	if (arrivals->in_port != in_port) {
		arrivals_reserve(arrivals, most);
		arrivals_end_run(arrivals);
		*arrivals_run(arrivals, arrivals->nruns++) =
			(struct arrivals_run){ .time_ps = p->time_ps, .from = arrivals->count };
		arrivals->in_port = (uint8_t)in_port;
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
	arrivals->count = 0;
	arrivals->nruns = 0;
	return all;
}

/*
 * Chooses by values, not by branches: which ingress is next is foreseen by no processor.
 * @param run  set to the one with the earliest arrival, the lowest ingress among equals
 * @return its time; TIME_NEVER: none is left
 */
static inline uint64_t
arrivals_next_ps(const struct arrivals *arrivals, uint32_t *run)
{
	uint32_t best = 0;
	uint64_t best_ps;

	if (arrivals->nruns == 0)
		return TIME_NEVER;
	best_ps = arrivals_run(arrivals, 0)->time_ps;
	for (uint32_t r = 1; r < arrivals->nruns; r++) {
		uint64_t time_ps = arrivals_run(arrivals, r)->time_ps;
		bool earlier = time_ps < best_ps;

		best = earlier ? r : best;
		best_ps = earlier ? time_ps : best_ps;
	}
	*run = best;
	return best_ps;
}

/* Takes the first packet of a run. */
static inline struct pkt *
arrivals_take(struct arrivals *arrivals, uint32_t run)
{
	struct arrivals_run *r = arrivals_run(arrivals, run);
	struct pkt *p = arrivals->pkts[r->from++];

	if (r->from != r->to) {
		r->time_ps = arrivals->pkts[r->from]->time_ps;
		return p;
	}
	arrivals->nruns--;
	for (uint32_t i = run; i < arrivals->nruns; i++)
		*arrivals_run(arrivals, i) = *arrivals_run(arrivals, i + 1);
	return p;
}

/*
 * Stage 2 of egresses among which packets choose by what happened before, or by what waits at each (struct balance_ops,
 * in_order): all ports that are ever one of several of equal cost. They go through a window together, packet by packet
 * in the order of arrival, from all ports. Egresses that are not in the group stay alone.
 */

struct group_member;

struct group {
	uint32_t count; /* 0: every egress is alone */
	uint8_t ports[TOPO_MAX_PORTS];
	bool has[TOPO_MAX_PORTS];
	struct arrivals arrivals; /* of this window; a packet's out_port is its egress, SWITCH_EGRESS_SPRAY: to be chosen */
	struct group_member *members; /* [ports of the switch] */
	/* State of each port, adjacent in memory while packets choose: copies from struct egress, as of the last look. */
	int64_t free_ps[TOPO_MAX_PORTS + BALANCE_BLOCK]; /* a block may begin at the last port */
	uint8_t backlog[TOPO_MAX_PORTS];
	uint32_t waiting; /* ports with a backlog */
};

/* @return 0 or -ENOMEM */
int group_init(struct group *group, const struct sw *sw);
void group_fini(struct group *group);
/* Finds the group's ports by the configured routes: at first, and whenever these have changed. */
void group_find(struct group *group, const struct switch_config *config, uint32_t node);

static inline bool
group_has(const struct group *group, uint16_t port)
{
	return group->has[port];
}

/*
 * Moves the group through the window.
 * @param pauses, npauses  by port of the switch
 */
void switch_transmit_group(struct sw *sw, const struct pause_frame *const *pauses, const uint32_t *npauses,
			   const struct window *window);
