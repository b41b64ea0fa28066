/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowTracer, a diagnoser (papers: "FlowTracer: A Tool for Uncovering Network Path Usage Imbalance in AI Training
 * Clusters"), and its results of a run: the paths of all flows, hop by hop as hosts and switches reported them, how
 * evenly links carry them (Eq. 1), and, from hosts' reports of steps, the cost of uneven links.
 */
#pragma once

#include "common/array.h"
#include "common/fim.h"
#include "common/slowdown.h"
#include "common/wire/record_paths.h"
#include "diag/diagnoser.h"
#include "diag/verdict.h"

#define FLOWTRACER_NAME "flowtracer"

/* Ports of one node: bit p is port p. */
struct flowtracer_set {
	struct fim_ports ports;
};

/* Where a flow leaves a node. */
struct flowtracer_hop {
	uint32_t node, port;       /* port: index into run.ports, RUN_NONE: none; of a sprayed flow each of the set */
	struct flowtracer_set set; /* that had equal cost */
};

/* A flow's path as reported in one round. Sorted by (flow, round). */
struct flowtracer_path {
	uint32_t flow; /* index into run.flows */
	uint32_t round;
	uint32_t first, nhops; /* in hops: its source, then switches */
	uint32_t result;       /* enum rec_trace_result */
	uint64_t reported_ps;
	uint64_t messages;
};

/* A round of traces, over all hosts. */
struct flowtracer_round {
	uint32_t hosts;
	uint64_t flows, traced, questions, connections;
	uint64_t start_ps, end_ps;
	uint64_t bytes; /* over the management network, both directions */
	bool complete;
};

/* A layer of links (common/fim.h) that flows cross. */
struct flowtracer_layer {
	struct fim_layer tiers;
	uint32_t links;       /* available */
	uint32_t flows;       /* on all of them */
	uint32_t least, most; /* on one of them */
	double ideal;         /* of a link, on average */
	double fim, expected; /* Eq. 1, percent; its expectation by uniform and independent choices, NAN: unknown */
};

/* A link, in one direction, that is available. In the order of run.ports. */
struct flowtracer_link {
	uint32_t port, layer; /* indices into run.ports, layers */
	uint32_t flows;
	double ideal;
};

/* A link that flows shared while others of equal cost had room. The same index as its finding. */
struct flowtracer_collision {
	uint32_t port, other; /* other: the least loaded of the set; indices into run.ports */
	uint32_t step;        /* the one that lost most */
	uint32_t most, least; /* flows at once, of both, in that step */
	uint32_t *flows;      /* [nflows] by the time that they shared the link with steps that lost, most first */
	uint32_t nflows;
	uint32_t *steps; /* [nsteps] that lost */
	double *lost_ps; /* [nsteps] time lost */
	double *all_ps;  /* [nsteps] on all links of their paths together */
	uint32_t nsteps;
	uint64_t start_ps, end_ps;
	double cost_ps;  /* time that jobs would save if these steps alone had not lost it */
	double steps_ps; /* that they lost, all of them */
};

struct flowtracer {
	struct rec_tracer config;
	struct flowtracer_round *rounds; /* [nrounds] */
	uint32_t nrounds;
	uint32_t shown; /* the round of the fields below: the last of those with most flows; RUN_NONE: none */
	struct flowtracer_path *paths; /* [npaths] */
	uint32_t npaths;
	struct flowtracer_hop *hops; /* [nhops] */
	uint32_t nhops;
	uint8_t most_tier;
	struct flowtracer_layer *layers;
	uint32_t nlayers;
	struct flowtracer_link *links;
	uint32_t nlinks;
	double fim, expected;         /* Eq. 1 over links that switches load, percent; its expectation */
	double fim_all, expected_all; /* the same over all links */
	uint32_t sprayed;             /* flows that no link is counted for from where each packet has its own */
	struct pair_rate *pairs;      /* of flows that were traced and whose steps are known */
	uint32_t npairs;
	struct flowtracer_collision
		*collisions; /* first those that cost jobs time by themselves, then by the time that steps lost */
	uint32_t ncollisions;
	double cost_ps;    /* time that jobs would save without all collisions */
	uint32_t unjudged; /* steps that took less than FLOWTRACER_MOST_JUDGED others */
};

#define FLOWTRACER_MOST_JUDGED 65536u

static inline bool
flowtracer_has(const struct flowtracer_set *set, uint32_t port)
{
	return port < FIM_MAX_PORTS && (set->ports.of[port / 64] >> port % 64 & 1) != 0;
}

/* @return the number of ports */
static inline uint32_t
flowtracer_count(const struct flowtracer_set *set)
{
	uint32_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(set->ports.of); i++)
		count += (uint32_t)__builtin_popcountll(set->ports.of[i]);
	return count;
}

/* As in diagnoser.h; it has no options. */
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
