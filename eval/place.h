/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement of flows on a case's fabric, and which of them share a port. */
#pragma once

#include "eval/case.h"

/* A family gives up on a case after this number of random draws. */
#define PLACE_TRIES 20000

/*
 * Placement of ranks. Edge switches are those with hosts; if not all are needed, the rest lie evenly among them. Ranks
 * are in the order of switches, and if the collective would collide with itself, a seed of the run is searched with
 * which it does not; if routes are not to be picked (CASE_PICKS_ROUTES) the order is random, and the seed the first.
 */
/* One under an edge switch, and hosts without a job beside each. */
void place_apart(struct eval_case *c);
/*
 * Two under each of the first edge switches, as in the paper's case study. On the paper's fabric these are two whole
 * pods.
 */
void place_beside(struct eval_case *c);
/* Two under an edge switch, with edge switches without a job between. */
void place_pairs(struct eval_case *c);

/* The path of a flow's data. It exists: every host of the fabric reaches every other. */
void place_path(const struct eval_case *c, uint32_t src, uint32_t dst, uint16_t sport, struct route_path *path);
/* The path of its ACKs. */
void place_ack_path(const struct eval_case *c, uint32_t src, uint32_t dst, uint16_t sport, struct route_path *path);
/* The path of a flow of the collective, of c->sends.at[send]. */
void place_send_path(const struct eval_case *c, uint32_t send, struct route_path *path);
/* The path of a random one. @return which it is */
uint32_t place_any_send(struct eval_case *c, struct route_path *path);

bool place_crosses(const struct route_path *path, uint32_t port);
bool place_shares(const struct route_path *a, const struct route_path *b);
/* Does a flow of the collective send by this port? */
bool place_is_used(const struct eval_case *c, uint32_t port);
bool place_is_rank(const struct eval_case *c, uint32_t host);

/* Do flows of the collective that go at once share a port? */
bool place_collides(const struct eval_case *c);

/* Names of the ports that hashes chose for flows of the collective while one of equal cost has none. The caller's. */
json_t *place_imbalanced(const struct eval_case *c);

/* A random port on the path of a random flow of the collective. */
uint32_t place_any_port(struct eval_case *c);
/* A random host. */
uint32_t place_any_host(struct eval_case *c);
/* A source port that no flow of the case has. */
uint16_t place_any_sport(struct eval_case *c);

/* The port of a node that leads to a neighbour, TOPO_NONE: there is none. */
uint32_t place_port_to(const struct topo *topo, uint32_t node, uint32_t peer);
/* The node "PREFIXnumber". */
uint32_t place_node(const struct topo *topo, char prefix, uint32_t number);
