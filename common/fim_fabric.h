/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Flow Imbalance Metric of a network (FlowTracer, III-C), the one definition for the diagnoser, the tracer, the search for
 * better paths and the evaluation.
 *
 * Layers: links in one direction between nodes of two tiers; a switch's tier is its distance from the nearest host, a host's 0.
 * "The total number of network links available", n of Eq. 1, are those that some flow takes or may take: on a shortest path from
 * its source's NICs to its destination's over cables that are up, where every node may choose any port of equal cost. The ideal
 * of a link is its layer's flows, divided among the layer's available links by their rates. The expectation is that of uniform
 * and independent choices at each node.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/fim.h"

#define FIM_NONE UINT32_MAX
#define FIM_MAX_TIERS 8 /* switches further away are of the last */
#define FIM_MAX_PORTS 128
#define FIM_MAX_HOPS 64
#define FIM_LAYER_NAME 40

/* Ports of one node: bit p is port p. */
struct fim_ports {
	uint64_t of[2];
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
	uint32_t hops;             /* it is followed over so many links at most */
};

/* What a switch reported of equal cost towards a host, in place of what its cables say. */
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
 * Which links flows may take, and how likely: sets links' rates and chances, and forgets what was set before.
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
 * Its expectation, percent, of links with ideals as fim_fabric_metric() set them.
 * @return NAN: unknown (fim_expected()); 0: no links
 */
double fim_fabric_expected(const struct fim_fabric *fabric, uint16_t group);

/* "leaf to spine". @return buf, of FIM_LAYER_NAME */
char *fim_layer_name(const struct fim_layer *layer, uint8_t most_tier, char *buf);
