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

/* An array of frames: pkts stands behind room for LINK_LEAD. */
struct link_frames {
	struct pkt *pkts;
	uint32_t room;
};

/*
 * Arrays that no cable has frames in, of one lcore: cables of its senders take them, those of its receivers give them
 * back. The one given back last is taken next, as it is in the nearest cache. Zero-initialise.
 */
struct link_pool {
	struct link_frames *free; /* [cap] */
	uint32_t count, cap;
};

void link_pool_fini(struct link_pool *pool);
/* Moves arrays to another lcore's pool, between windows: as many as one has more than the other, halved. */
void link_pool_even(struct link_pool *a, struct link_pool *b);

/*
 * The sender's node writes lane[window & 1] during a window, the receiver's node takes it in during the next one; the
 * window barrier between them is the only synchronisation. What arrives later than the window waits in ready[].
 * A lane holds at most what the link's rate allows in a window; overrunning that is a programming error. It has an array
 * while it has frames. That begins small, and grows: most windows have frames of full size.
 */
struct link_lane {
	struct pkt *pkts; /* of struct link_frames; NULL: room is 0 */
	uint32_t npkts;
	uint32_t room; /* 0: no frame since the lane was taken in, or the link is down */
};

struct link {
	/* One cache line is all that a sender touches, and all that is looked at while the link is idle. Sender: */
	_Alignas(64) struct link_lane lane[2];
	uint32_t lane_bytes[2]; /* of a lane's frames, on the wire, modulo 2^32: link_lane_bytes() */
	bool pauses_sent[2];    /* npauses is not 0 */
	/* receiver */
	bool pauses_ready; /* nready_pauses is not 0 */
	/* read by both */
	bool down; /* faults: nothing crosses; set with link_set_down() */
	/* receiver */
	uint32_t nready; /* not yet consumed */
	/* sender */
	uint64_t delay_ps;      /* cable delay + receiver pipeline latency */
	struct link_pool *pool; /* of its lcore; NULL: arrays are allocated one by one */
	/* A second cache line is the receiver's. */
	struct pkt *ready; /* the array of the lane that was taken in last; NULL: nothing is left of it */
	uint32_t ready_head, ready_room;
	/* Counters of the MACs at both ends, as of the last window taken in. */
	uint64_t sent_frames, received_frames, sent_bytes, received_bytes;
	struct link_pool *rx_pool; /* as pool */
	bool stretched;            /* frames may be in flight that were delayed by a fault: none overtakes them */
	bool lossy;                /* loss or corruption is not 0 */
	bool damaged;              /* frames have been corrupted */
	bool inband;               /* packets may have PKT_INT */
	/* the rest: PAUSE frames, and headers beside packets, if inband */
	struct pause_frame *lane_pauses[2], *ready_pauses;
	uint32_t npauses[2];                             /* PAUSE frames by lane */
	uint32_t pause_room[2];                          /* those that each lane's array holds */
	uint32_t pauses_head, nready_pauses, pauses_cap; /* of ready_pauses */
	struct int_header *lane_ints[2];                 /* [lane_cap] beside the lanes' packets */
	struct int_header *ready_ints;                   /* [ints_cap] beside ready */
	uint32_t ints_cap;
	/* faults, written between windows only */
	double loss;                  /* probability that a frame is lost: link_set_loss() */
	double corruption;            /* that a frame's ICRC breaks: link_set_corruption() */
	uint64_t extra_ps, jitter_ps; /* added to the delay, always and at most */
	uint32_t loss_types;          /* bit t: packets of enum pkt_type t alone; 0: all */
	uint64_t burst_ps;            /* corruption is of whole intervals of this length; 0: of frames */
	bool silent;                  /* lost frames are lost behind the receiver's MAC, which has counted them */
	/* configuration */
	uint64_t rate_bps;
	uint64_t quantum_ps; /* of serialization times */
	uint64_t pause_ps;   /* serialization time of a PAUSE frame */
	uint32_t pause_bytes;
	uint32_t rx_port;             /* global port id at the receiver */
	uint32_t lane_cap, pause_cap; /* most frames, and PAUSE frames, that are sent in a window */
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
	uint64_t down_packets, down_bytes; /* sent into, or in flight on, a link that was down */
};

_Static_assert(offsetof(struct link, ready) == 64 && offsetof(struct link, lane_pauses) == 128,
	       "a sender touches one cache line, a receiver two");

/* Makes room for one more frame of a full lane. Sender only. @return false: the link is down */
bool link_widen(struct link *link, uint32_t parity);
/* link_send() to a lane that is full, or has no array. */
void link_send_wider(struct link *link, uint32_t parity, const struct pkt *p, uint64_t done_ps);

/* Sends a frame whose last bit leaves at done_ps; p is a copy that belongs to the link. */
static inline void
link_send(struct link *link, uint32_t parity, const struct pkt *p, uint64_t done_ps)
{
	struct link_lane *lane = &link->lane[parity];
	struct pkt *slot;

	if (__builtin_expect(lane->npkts == lane->room, 0)) {
		link_send_wider(link, parity, p, done_ps);
		return;
	}
	slot = &lane->pkts[lane->npkts++];
	link->lane_bytes[parity] += p->wire_bytes;
	*slot = *p;
	slot->time_ps = done_ps + link->delay_ps;
}

/*
 * link_send() for a sender that builds the frame in place.
 * @param wire_bytes  of the frame
 * @return a descriptor to be filled, with time_ps = done_ps + delay_ps; NULL: the link is down, and link_send() counts
 *         the frame
 */
static inline struct pkt *
link_place(struct link *link, uint32_t parity, uint32_t wire_bytes)
{
	struct link_lane *lane = &link->lane[parity];

	if (__builtin_expect(lane->npkts == lane->room, 0) && !link_widen(link, parity))
		return NULL;
	link->lane_bytes[parity] += wire_bytes;
	return &lane->pkts[lane->npkts++];
}

/* link_send() for a frame with PKT_INT. @param header  copied */
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
	return (link->lane[parity ^ 1].npkts | link->pauses_sent[parity ^ 1] | link->nready | link->pauses_ready) == 0;
}

/*
 * Takes in the frames sent during the previous window; faults act here. To be called once a window by the receiver.
 * @param parity  of the current window
 */
void link_receive(struct link *link, uint32_t parity);

/* The slow paths of link_arrivals() and link_pauses(): only some of a ready queue arrives in the window. */
uint32_t link_arrivals_before(const struct link *link, uint64_t end_ps);
uint32_t link_pauses_before(const struct link *link, uint64_t end_ps);
/* The ready queue is empty: its array is the next sender's. */
void link_consumed(struct link *link);

/* Arrivals before end_ps: *pkts points at the first, the receiver's to change. @return how many */
static inline uint32_t
link_arrivals(const struct link *link, uint64_t end_ps, struct pkt **pkts)
{
	uint32_t n = link->nready;

	if (n == 0) { /* nor is there an array */
		*pkts = NULL;
		return 0;
	}
	*pkts = link->ready + link->ready_head;
	return (*pkts)[n - 1].time_ps < end_ps ? n : link_arrivals_before(link, end_ps);
}

static inline uint32_t
link_pauses(const struct link *link, uint64_t end_ps, const struct pause_frame **pauses)
{
	if (__builtin_expect(!link->pauses_ready, 1)) {
		*pauses = NULL;
		return 0;
	}
	*pauses = link->ready_pauses + link->pauses_head;
	return link_pauses_before(link, end_ps);
}

/*
 * Drops the first npkts and npauses from the ready queues, once a window, when the receiver is done with all of it:
 * pointers to them die.
 */
static inline void
link_consume(struct link *link, uint32_t npkts, uint32_t npauses)
{
	if (npkts != 0) {
		link->ready_head += npkts;
		link->nready -= npkts;
		if (link->nready == 0) {
			link->ready_head = 0;
			link_consumed(link);
		}
	}
	if (__builtin_expect(npauses != 0, 0)) {
		link->pauses_head += npauses;
		link->nready_pauses -= npauses;
		link->pauses_ready = link->nready_pauses != 0;
	}
}

/* Frames that had left one end of a cable, and arrived at the other, before a certain one. */
struct link_passed {
	uint64_t sent_frames, received_frames;
};

/*
 * Counts the frames before this one on a cable that loses some, by the frame loss measurement of ITU-T Y.1731, 8.1.
 * Receiver only.
 * @param p  an arrival of this window
 */
struct link_passed link_passed(const struct link *link, const struct pkt *p);

/* Gives the link another rate, at most that of its configuration, between windows. */
void link_set_rate(struct link *link, uint64_t rate_bps);
/* Faults, between windows: a share of the frames, 0 for none. */
void link_set_loss(struct link *link, double share);
/* @param burst_ps  frames that arrive in the same interval of this length share their luck; 0: each has its own */
void link_set_corruption(struct link *link, double share, uint64_t burst_ps);
/* Counts the frames of a lane as sent, and empties it, for a link without a receiver here. Between windows. */
void link_empty_lane(struct link *link, uint32_t parity);
/* Takes the link down or up, between windows. Frames in flight when it goes down are lost and counted. */
void link_set_down(struct link *link, bool down);
/* Frames and bytes in flight, for the conservation check. Between windows. */
void link_in_flight(const struct link *link, uint64_t *packets, uint64_t *bytes);

/*
 * @return whether the lane of this parity has room for one more. @param pause  a PAUSE or RESUME, else a frame. Sender
 *         only.
 */
static inline bool
link_has_room(const struct link *link, uint32_t parity, bool pause)
{
	return pause ? link->npauses[parity] < link->pause_cap : link->lane[parity].npkts < link->lane_cap;
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
	bool inband;            /* packets may have PKT_INT */
	struct bodies *bodies;  /* may be NULL */
	struct link_pool *pool; /* of both ends' lcore, at first; may be NULL */
};

/* @return 0 or -ENOMEM */
int link_init(struct link *link, const struct link_config *config);
void link_fini(struct link *link);
