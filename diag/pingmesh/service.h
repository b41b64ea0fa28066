/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services, which are jobs: the connections of each by service tracing, and the links that these cross (R-Pingmesh
 * 4.2.2, 4.3.4).
 */
#pragma once

#include "diag/pingmesh/judge.h"

/* A connection of a service. */
struct service_flow {
	struct rec_tuple tuple;
	uint32_t service; /* index into pingmesh.services */
	uint32_t probed;  /* index into net.tuples, RUN_NONE: no probe had its 5-tuple */
	uint32_t flow;    /* index into run.flows, RUN_NONE: it is not among them */
	uint32_t ends[2]; /* source and destination: indices into net.rnics, RUN_NONE: no host has this address */
};

/*
 * Lists services and their connections: own->services, j->flows, and each tuple's service. @return 0 or -ENOMEM with
 * j->err
 */
int services_list(struct judging *j);
/* Notes the owner of the probe that shows a problem: the cluster's network, or a service's. */
void service_note(const struct judging *j, const struct net_probe *probe, struct pingmesh_problem *seen);
/* Is a service's path known as a whole, there and back? */
bool service_is_traced(const struct judging *j, const struct service_flow *of);
/* Does a connection cross a problem's place, by its paths of the time in which the problem lasted? */
bool service_crosses(const struct judging *j, const struct service_flow *of, const struct pingmesh_problem *at);

/* SLAs of both networks: by period, of the whole run, and of each server that services use (R-Pingmesh 5, 7.4). */

/* After all periods are judged. Sets them in j->own. @return 0 or -ENOMEM with j->err */
int sla_measure(struct judging *j);

/* The impact of problems on services: P0, P1, P2 (R-Pingmesh 4.3.4). */

/*
 * Sets own->impacts, priorities and degradations of all problems, puts the most urgent first, and sets the metric of
 * each service and of all, and whether the network is innocent. A service's metric is the time of iterations of its
 * job, against the median of those that no problem of its own network overlaps. A problem counts for a service only if
 * its probes show it, or its connections cross it.
 * @param threshold  of degradation, beyond which a problem is P0: 0.1 for 10 %
 * @return 0 or -ENOMEM with j->err
 */
int impact_assess(struct judging *j, double threshold);
