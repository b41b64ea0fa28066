/* SPDX-License-Identifier: BSD-3-Clause */
/* One direction of a cable: frames in flight from one node to another, in order of arrival. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/int_header.h"
#include "common/pkt.h"
#include "dpswitch/fabric/body.h"

/* An 802.1Qbb frame in flight: XOFF or XON for a set of priorities, applied by the receiver at time_ps. */
struct pause_frame {
	uint64_t time_ps;
	uint8_t prio_mask;
	bool xoff;
};

#define LINK_LEAD 16 /* frames that may stand before those of a lane when it is taken in */

/*
 * The sender's node writes lane[window & 1] during a window, the receiver's node takes it in during the next one; the
 * window barrier between them is the only synchronisation. What arrives later than the window waits in ready[].
 * A lane holds at most what the link's rate allows in a window; overrunning that is a programming error. Its array begins
 * with less, and grows: most windows have frames of full size, and the arrays of many links share pages then.
 */
struct link_lane {
	struct pkt *pkts; /* behind room for LINK_LEAD */
	struct pause_frame *pauses;
	uint32_t npkts, npauses;
};

struct link {
	/* One cache line is all that is looked at while the link is idle. Sender: */
	_Alignas(64) struct link_lane lane[2];
	/* receiver */
	uint32_t ready_head, ready_tail;
	uint32_t pauses_head, pauses_tail;
	/*
	 * A second cache line is read while the link is busy. It is not written within a window, except to grow the
	 * ready queue.
	 */
	uint64_t delay_ps;     /* cable delay + receiver pipeline latency */
	uint32_t lane_room[2]; /* frames that each lane's array holds */
	bool down;             /* faults: nothing crosses; set with link_set_down() */
	bool stretched;        /* frames may be in flight that were delayed by a fault: none overtakes them */
	bool damaged;          /* frames have been corrupted */
	bool inband;           /* packets may have PKT_INT */
	uint32_t ready_cap;
	struct pkt *ready;             /* changes places with a lane's array: what a lane holds is not copied */
	struct int_header *ready_ints; /* [ready_cap] beside ready, if inband */
	struct pause_frame *ready_pauses;
	double loss;       /* faults, written between windows only: probability that a frame is lost */
	double corruption; /* that a frame's ICRC breaks */
	/* A third of the receiver's. Counters of the MACs at both ends, as of the last window taken in: */
	uint64_t sent_frames, received_frames, sent_bytes, received_bytes;
	uint32_t ready_filled; /* frames that stood in ready[] then */
	uint32_t pauses_cap;   /* of ready_pauses */
	/* the rest: faults, written between windows only */
	uint64_t extra_ps, jitter_ps; /* added to the delay, always and at most */
	bool silent;                  /* lost frames are lost behind the receiver's MAC, which has counted them */
	/* configuration */
	uint64_t rate_bps;
	uint64_t quantum_ps;          /* of serialization times */
	uint64_t pause_ps;            /* serialization time of a PAUSE frame */
	uint32_t rx_port;             /* global port id at the receiver */
	uint32_t lane_cap, pause_cap; /* most frames, and PAUSE frames, that are sent in a window */
	uint32_t pause_room[2];       /* PAUSE frames that each lane's array holds */
	struct bodies *bodies;        /* of packets that are lost here; NULL: none has bytes */
	/* receiver */
	const struct flow_table *flows; /* for chance; may be NULL */
	uint64_t loss_stream, corruption_stream, delay_stream;
	uint64_t injected_packets, injected_bytes; /* lost by fault */
	uint64_t corrupted_packets;
	uint64_t faulty_packets; /* crossed while a fault was on */
	/* 802.1Qbb frames by class: counters of the MACs, as of the last window taken in */
	uint64_t sent_pauses[8], received_pauses[8];
	/* sender */
	struct int_header *lane_ints[2];   /* [lane_cap] beside the lanes' packets, if inband */
	uint64_t down_packets, down_bytes; /* sent into, or in flight on, a link that was down */
};

/* Doubles a lane's full array. Sender only. Memory exhaustion ends the program with a message. */
void link_widen(struct link *link, uint32_t parity);

/* Sends a frame whose last bit leaves at done_ps; p is a copy that belongs to the link. */
static inline void
link_send(struct link *link, uint32_t parity, const struct pkt *p, uint64_t done_ps)
{
	struct link_lane *lane = &link->lane[parity];
	struct pkt *slot;

	if (__builtin_expect(link->down, 0)) {
		link->down_packets++;
		link->down_bytes += p->wire_bytes;
		body_release(link->bodies, p);
		return;
	}
	if (__builtin_expect(lane->npkts == link->lane_room[parity], 0))
		link_widen(link, parity);
	slot = &lane->pkts[lane->npkts++];
	*slot = *p;
	slot->time_ps = done_ps + link->delay_ps;
}

/*
 * The same where the sender makes the frame in its place.
 * @return a descriptor to be filled, with time_ps = done_ps + delay_ps; NULL: the link is down, and link_send() counts
 *         it
 */
static inline struct pkt *
link_place(struct link *link, uint32_t parity)
{
	struct link_lane *lane = &link->lane[parity];

	if (__builtin_expect(link->down, 0))
		return NULL;
	if (__builtin_expect(lane->npkts == link->lane_room[parity], 0))
		link_widen(link, parity);
	return &lane->pkts[lane->npkts++];
}

/* The same for a frame with PKT_INT. @param header  copied */
static inline void
link_send_int(struct link *link, uint32_t parity, const struct pkt *p, const struct int_header *header, uint64_t done_ps)
{
	uint32_t at = link->lane[parity].npkts;

	link_send(link, parity, p, done_ps);
	if (link->lane[parity].npkts != at)
		link->lane_ints[parity][at] = *header;
}

/* The header beside an arrival with PKT_INT, as link_arrivals() gave it. */
static inline struct int_header *
link_int(const struct link *link, const struct pkt *p)
{
	return &link->ready_ints[p - link->ready];
}

/* Sends a PAUSE or RESUME whose last bit leaves at done_ps. Calls for one link are made in order of done_ps. */
void link_send_pause(struct link *link, uint32_t parity, uint8_t prio_mask, bool xoff, uint64_t done_ps);

/* Is there nothing to take in and nothing left of earlier windows? Receiver only. @param parity  of the current window */
static inline bool
link_is_idle(const struct link *link, uint32_t parity)
{
	const struct link_lane *lane = &link->lane[parity ^ 1];

	return (lane->npkts | lane->npauses) == 0 && link->ready_head == link->ready_tail &&
	       link->pauses_head == link->pauses_tail;
}

/*
 * Takes in the frames sent during the previous window; faults act here. To be called once a window by the receiver.
 * @param parity  of the current window
 */
void link_receive(struct link *link, uint32_t parity);

/* Arrivals before end_ps: *pkts points at the first, the receiver's to change. @return how many */
uint32_t link_arrivals(struct link *link, uint64_t end_ps, struct pkt **pkts);
uint32_t link_pauses(const struct link *link, uint64_t end_ps, const struct pause_frame **pauses);
/* Drops the first npkts and npauses from the ready queues; pointers to them die at the next link_receive(). */
void link_consume(struct link *link, uint32_t npkts, uint32_t npauses);

/* Frames that had left one end of a cable, and arrived at the other, before a certain one. */
struct link_passed {
	uint64_t sent_frames, received_frames;
};

/*
 * What a frame knows of those before it, of a cable that loses some: ITU-T Y.1731, 8.1. Receiver only.
 * @param p  an arrival of this window
 */
struct link_passed link_passed(const struct link *link, const struct pkt *p);

/* Takes the link down or up, between windows. Frames in flight when it goes down are lost and counted. */
void link_set_down(struct link *link, bool down);
/* Frames and bytes in flight, for the conservation check. Between windows. */
void link_in_flight(const struct link *link, uint64_t *packets, uint64_t *bytes);

/* Whether the lane of this parity takes one more. @param pause  a PAUSE or RESUME, else a frame. Sender only. */
static inline bool
link_has_room(const struct link *link, uint32_t parity, bool pause)
{
	const struct link_lane *lane = &link->lane[parity];

	return pause ? lane->npauses < link->pause_cap : lane->npkts < link->lane_cap;
}

/* When the first frame of the ready queue arrives, TIME_NEVER if it is empty. Receiver only. */
uint64_t link_ready_ps(const struct link *link);
/* When the first frame sent in the window of this parity arrives, TIME_NEVER if none was. Sender only. */
uint64_t link_sent_ps(const struct link *link, uint32_t parity);

struct link_config {
	uint64_t rate_bps;
	uint64_t delay_ps; /* cable + receiver's pipeline; at least window_ps */
	uint64_t window_ps;
	uint64_t quantum_ps;      /* see units_serialize_ps() */
	uint32_t min_frame_bytes; /* the smallest frame that will ever cross: bounds the lanes */
	uint32_t pause_bytes;     /* a PAUSE frame on the wire */
	uint64_t seed;
	uint32_t id;                    /* whose chance it is */
	const struct flow_table *flows; /* for chance: packets' names; NULL: their numbers */
	uint32_t rx_port;
	bool inband;           /* packets may have PKT_INT */
	struct bodies *bodies; /* may be NULL */
};

/* @return 0 or -ENOMEM */
int link_init(struct link *link, const struct link_config *config);
void link_fini(struct link *link);
