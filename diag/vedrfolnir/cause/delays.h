/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which steps had round trips that no queue explains, and which links they have in common. The least round trip of a
 * step is the evidence: where it is above that of the idle path by more than the wait of the luckiest packet in queues,
 * all of its packets took longer. Of the links of both paths of such a step, those are not at fault that another step
 * crossed at that time in less than half as much more. Where the next rank began as soon as its message arrived, the
 * trip of the last ACK shows whether the forward path is longer or the path back. The links that most of the lost time
 * has in common are at fault.
 *
 * Polling packets go ahead of data, and each node reports when it had them: what one takes longer over a link than over an
 * idle one is the delay of that link, whatever waits in queues, where all nodes have one clock.
 *
 * Of a link that is longer for a part of a step, neither the least round trip nor the mean need show it: epochs may be too
 * short for these, and congestion control that goes by round trips sends next to nothing while they are long. There a
 * single round trip that hosts report is evidence, too (delay_count_trips()).
 */
#pragma once

#include "diag/vedrfolnir/cause/cause.h"

/* Steps that one link may have made longer, by their evidence. */
struct delay_place {
	uint32_t first, count; /* in delays.ports: indistinguishable links; 0: none is left */
	uint32_t root_port;    /* of them, if all are one cable; else EV_NONE */
	uint32_t flow;         /* of the steps that lost most */
	uint64_t from_ps, to_ps;
};

struct delays {
	double *certain_ps; /* [nsteps] the least excess of round trips over the waits in queues; 0: none is certain */
	double *extra_ps;   /* [nsteps] their likely excess, beside other such steps too */
	uint32_t *place;    /* [nsteps] in places; EV_NONE: of no such step */
	uint32_t *polled;   /* [nsteps] a port whose link polling packets showed to be longer; EV_NONE: none */
	struct delay_place *places;
	uint32_t nplaces;
	uint32_t *ports;
};

/*
 * The cost of a step's longer round trips: once at least, else in each window that it sent, as it is expected to
 * (docs/steps.md). Of a sender with a ledger at most the time in which late ACKs held it back, or pacing that may go by
 * round trips, and of the late ACKs at least the part of this excess in that of its round trips.
 */
double delay_cost_ps(const struct cause_input *in, uint32_t step, double extra_ps);

/* Frames of class 0 that went ahead of data that waited: time that they took. Short queues have no rows of them. */
double delay_overtaken_ps(const struct evidence *ev, uint32_t port, struct window during);
/*
 * Of a queue too short for rows of what goes ahead of it: time that ACKs of the data that its cable carries the other way,
 * each frame of which may have one, took of packets that waited for so long else.
 */
double delay_unseen_acks_ps(const struct evidence *ev, uint32_t port, struct window during, double waited_ps);
/* A frame that is being sent at each port of both paths of a flow, and the hosts' jitter. */
double delay_frames_ps(const struct evidence *ev, const struct ev_flow *flow);
/* The time that a port adds to an idle trip, and on average a switch or host behind a link to one of a step. */
double delay_link_ps(const struct evidence *ev, uint32_t port, double bytes);
double delay_behind_link_ps(const struct evidence *ev, const struct run_step *s);
/*
 * The excess of a step's round trips that polling packets measured: they go ahead of data, so that no queue of that makes
 * them late. Clocks of several machines, or a late machine, might.
 * @param port  set to the link, of both of its paths; EV_NONE: none
 * @return 0: none
 */
double delay_polled_ps(const struct cause_input *in, uint32_t step, uint32_t *port);
/* Is anything known of the waits of a step's packets? */
bool delay_is_reported(const struct cause_input *in, uint32_t step);
/*
 * Do links between switches differ in rate or length? Then a packet with a path of its own may take longer than the one
 * path that is configured for its flow, and the time of an idle one is unknown.
 */
bool delay_paths_differ(const struct evidence *ev);
/*
 * Counts each step's detections by a round trip that took longer than its packet can have waited at all switches of its
 * path meanwhile. Of steps that sent nothing again.
 * @param trips  [nsteps] zeros
 * @return 0 or -ENOMEM
 */
int delay_count_trips(const struct cause_input *in, uint32_t *trips);

/* @return the part of a step's excess of round trips that no other cause can account for */
double delays_known(const struct delays *delays, uint32_t step);

/* @return 0 or -ENOMEM */
int delays_init(struct delays *delays, const struct cause_input *in);
void delays_fini(struct delays *delays);
