/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which steps had round trips that no queue explains, and which links they have in common. The least round trip of a
 * step is the evidence: where it is above that of the idle path by more than the wait of the luckiest packet in queues,
 * all of its packets took longer. Of the links of both paths of such a step, those are not at fault that another step
 * crossed at that time in less than half as much more. Where the next rank began as soon as its message arrived, the
 * trip of the last ACK shows whether the forward path is longer or the path back. The links that most of the lost time
 * has in common are at fault.
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

/* @return the part of a step's excess of round trips that no other cause can account for */
double delays_known(const struct delays *delays, uint32_t step);

/* @return 0 or -ENOMEM */
int delays_init(struct delays *delays, const struct cause_input *in);
void delays_fini(struct delays *delays);
