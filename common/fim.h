/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Flow Imbalance Metric of FlowTracer (Eq. 1): how far the numbers of flows on links are from an even share, as a
 * mean absolute percentage error; and its expectation where flows choose their links by hash; below, the links, layers and
 * probabilities of a network.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIM_MAX_GROUPS 32
#define FIM_ALL UINT16_MAX            /* for a group: links of all groups */
#define FIM_SWITCHES (UINT16_MAX - 1) /* links of all groups that switches load */
#define FIM_CHANCES 8                 /* different probabilities of the flows that may take one link */

/* One direction of one link. */
struct fim_link {
	uint16_t group;    /* layer and direction, below FIM_MAX_GROUPS; links of a group are to be loaded alike */
	uint32_t flows;    /* that take it */
	uint64_t rate_bps; /* its share of its group's flows is by this; 0: not available, takes no part */
	double ideal;      /* flows in a perfectly balanced scenario; 0: takes no part */
};

struct fim {
	uint32_t links;       /* n of Eq. 1: those available that flows could have taken */
	uint32_t least, most; /* flows on one of them */
	double ideal;         /* mean of theirs */
	double percent;       /* 0 without links */
};

/* Flows that may take a link, by the probability with which they do. */
struct fim_chance {
	struct {
		double p;
		uint32_t flows;
	} of[FIM_CHANCES];
	uint32_t count; /* FIM_CHANCES + 1: there were more kinds than that */
};

/*
 * Sets the ideal of every link: the flows that its group carries, divided among the group's available links by their
 * rates. Groups that no flow crosses have an ideal of 0.
 * @param links  [count]
 */
void fim_even(struct fim_link *links, size_t count);

/*
 * Eq. 1 over the links of one group, or all of them. The ideal is the caller's, or fim_even()'s.
 * @param links  [count]
 * @param group  number, or FIM_ALL
 */
struct fim fim_of(const struct fim_link *links, size_t count, uint16_t group);

/* Some more flows may take a link, each with probability p. */
void fim_chance_add(struct fim_chance *chance, double p, uint32_t flows);

/*
 * Expectation of a link's term of Eq. 1 in percent, 100 E|X - ideal| / ideal: X flows take it, each by its own
 * probability and independently of the others. X is a sum of binomials; of one binomial whose mean is the ideal the
 * result is De Moivre's mean deviation. Exact to about 1e-9.
 * @param ideal  more than 0
 * @return NAN: there are too many kinds of probabilities or flows, or no memory
 */
double fim_expected(const struct fim_chance *chance, double ideal);

/*
 * The Flow Imbalance Metric of a network (FlowTracer, III-C), the one definition for the diagnoser, the tracer, the
 * search for better paths and the evaluation.
 *
 * Layers: links in one direction between nodes of two tiers; a switch's tier is its distance from the nearest host, a
 * host's 0. "The total number of network links available", n of Eq. 1, are those that some flow takes or may take: on a
 * shortest path from its source's NICs to its destination's over cables that are up, where every node may choose any
 * port of equal cost. The ideal of a link is its layer's flows, divided among the layer's available links by their
 * rates. The expectation is that of uniform and independent choices at each node.
 */

#define FIM_NONE UINT32_MAX
#define FIM_MAX_TIERS 8 /* switches further away are of the last */
#define FIM_MAX_PORTS 256
#define FIM_MAX_HOPS 64
#define FIM_LAYER_NAME 40

/* Ports of one node: bit p is port p. */
struct fim_ports {
	uint64_t of[FIM_MAX_PORTS / 64];
};

struct fim_node {
	uint32_t first_port, nports;
	bool host;
};

struct fim_port {
	uint32_t node, peer, peer_port; /* peer: node; FIM_NONE: no cable */
	bool down;                      /* this direction */
	uint64_t rate_bps;
};

struct fim_flow {
	uint32_t src, dst;
	struct fim_ports from, to; /* ports of both that it may leave and arrive by */
	uint32_t hops;             /* it is followed over this number of links at most */
};

/* Ports of equal cost towards a host that a switch reported, in place of those that its cables suggest. */
struct fim_set {
	uint32_t node, dst;
	struct fim_ports ports;
};

struct fim_layer {
	uint8_t from, to; /* tiers */
};

struct fim_fabric {
	uint32_t nnodes, nports;
	struct fim_node *nodes; /* [nnodes] the caller's to fill */
	struct fim_port *ports; /* [nports] the same, but of zero; a node's are consecutive */
	uint8_t *tier;          /* [nnodes] */
	uint8_t most_tier;
	struct fim_layer layers[FIM_MAX_GROUPS]; /* as a packet crosses them: up, then down */
	uint32_t nlayers;
	struct fim_link *links;     /* [nports] group: layer; the caller counts flows */
	struct fim_chance *chances; /* [nports] */
};

/* All zero. @return 0 or -ENOMEM; fim_fabric_fini() in any case */
int fim_fabric_init(struct fim_fabric *fabric, uint32_t nnodes, uint32_t nports);
void fim_fabric_fini(struct fim_fabric *fabric);

/* Finds tiers and layers of nodes and ports. @return 0 or -ENOMEM */
int fim_fabric_layers(struct fim_fabric *fabric);

/*
 * Which links flows may take, and how likely: sets links' rates and chances, and forgets earlier ones.
 * @param flows  [count] sorted here
 * @param sets   [nsets] sorted here; NULL: none
 * @return 0 or -ENOMEM
 */
int fim_fabric_offer(struct fim_fabric *fabric, struct fim_flow *flows, uint32_t count, struct fim_set *sets,
		     uint32_t nsets);

/*
 * Eq. 1 of flows as links count them; sets all links' ideals.
 * @param group  a layer, FIM_SWITCHES (all but hosts' own links, as in the paper's Fig. 3) or FIM_ALL
 */
struct fim fim_fabric_metric(struct fim_fabric *fabric, uint16_t group);

/*
 * The metric's expectation, percent, of links with ideals as fim_fabric_metric() set them.
 * @return NAN: unknown (fim_expected()); 0: no links
 */
double fim_fabric_expected(const struct fim_fabric *fabric, uint16_t group);

/* "leaf to spine". @return buf, of FIM_LAYER_NAME */
char *fim_layer_name(const struct fim_layer *layer, uint8_t most_tier, char *buf);
