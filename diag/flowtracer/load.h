/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What links had to carry at each time, by the ways of flows and the times of their steps, and what a step lost on a link
 * that had more of it than others of equal cost.
 *
 * A flow under way brings its NIC's rate, divided by the flows that leave by the same NIC at the time. A link's load is what its
 * flows bring over its rate, L; that of the links of equal cost together, M, is what it would be if they shared evenly. Where L is above
 * both 1 and M, a step on it is slower than it need be: of its time, 1 - max(1, M) / L is lost. Of the links on its way the
 * one counts where it lost most. A host with several NICs of equal cost is the first of them: L is what flows would bring if they
 * shared its NICs evenly. This knows nothing of queues, pauses or congestion control: it is what sharing alone explains.
 */
#pragma once

#include "diag/flowtracer/section.h"

/* A step, and where it lost most. */
struct flowtracer_judged {
	uint32_t step;        /* index into run.steps */
	uint32_t port, other; /* set: the link, RUN_NONE: none; the least loaded of its set then */
	uint32_t most, least; /* set: flows at once on both, when the link had most */
	double cost_ps;       /* set: no more than it took longer than its bytes take at its NIC's rate, and a base RTT */
	double all_ps;        /* set: on all links of its way together */
};

/*
 * @param judged  [count] in the order of their steps
 * @return 0 or -ENOMEM with err
 */
int flowtracer_load(const struct flowtracer *own, const struct run *run, struct flowtracer_judged *judged, uint32_t count,
		    struct err *err);
