/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowTracer (papers: "FlowTracer: A Tool for Uncovering Network Path Usage Imbalance in AI Training Clusters"): the
 * paths of all flows, hop by hop as hosts and switches reported them, how evenly links carry them (Eq. 1), and, from
 * hosts' reports of steps, the cost of uneven links.
 */
#pragma once

#include "diag/collect/evidence.h"
#include "diag/diagnoser.h"
#include "diag/flowtracer/section.h"

int flowtracer_diagnose(const struct evidence *evidence, const struct run *run, const void *options,
			struct section *section, struct err *err);
void flowtracer_destroy(void *section);

/* A step, and where it lost most. */
struct flowtracer_judged {
	uint32_t step;        /* index into run.steps */
	uint32_t port, other; /* set: the link, RUN_NONE: none; the least loaded of its set then */
	uint32_t most, least; /* set: flows at once on both, when the link had most */
	double cost_ps;       /* set: no more than it took longer than its bytes take at its NIC's rate, and a base RTT */
	double all_ps;        /* set: on all links of its path together */
};

/*
 * @param judged  [count] in the order of their steps
 * @return 0 or -ENOMEM with err
 */
int flowtracer_load(const struct flowtracer *own, const struct run *run, struct flowtracer_judged *judged, uint32_t count,
		    struct err *err);

/* Sets own->collisions, by their links, and cost_ps. @return 0 or -ENOMEM with err */
int flowtracer_collisions(struct flowtracer *own, const struct run *run, struct err *err);

/* @return a flow's last known path before a time, else its first; NULL: it was never traced */
const struct flowtracer_path *flowtracer_path_of(const struct flowtracer *own, uint32_t flow, uint64_t time_ps);
