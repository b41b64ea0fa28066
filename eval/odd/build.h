/* SPDX-License-Identifier: BSD-3-Clause */
/* What groups make their cases of. */
#pragma once

#include "eval/odd/odd.h"

#define ODD_MB 1e6
#define ODD_HOSTS 16 /* of odd_network() */
#define ODD_US 1e3   /* in ns */

/* @return uniform in [min, max] */
uint32_t odd_pick(struct odd_case *c, uint32_t min, uint32_t max);
/* Uniform between two, as likely in each decade; not scaled. */
double odd_log(struct odd_case *c, double min, double max);
/* With this chance. */
bool odd_chance(struct odd_case *c, double probability);
/* Uniform between two, scaled; 1 at least. */
uint64_t odd_bytes(struct odd_case *c, double min_bytes, double max_bytes);
/* Uniform between two parts of the time that the first job should take. */
uint64_t odd_part_ns(struct odd_case *c, double min, double max);

void odd_head(struct odd_case *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void odd_add(struct odd_case *c, enum odd_list list, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Goes on with the element that was added last. */
void odd_more(struct odd_case *c, enum odd_list list, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* A network of 16 hosts: fat-tree or leaf-spine. */
void odd_network(struct odd_case *c);
/*
 * A collective of random ranks, in random order, of a random kind.
 * @param hosts  of the network, h0 on
 */
void odd_collective(struct odd_case *c, uint32_t ranks, uint32_t hosts);
/* Both, of 4 to 8 ranks, and odd_plan(). */
int odd_plain(struct odd_case *c, struct err *err);
/* "h3", "h1", ... in random order. @param nodes  [hosts] filled in */
void odd_shuffle(struct odd_case *c, uint32_t *nodes, uint32_t hosts);

/* Loads what the head says: from here on there are flows and ports. @return 0 or negative errno with err */
int odd_plan(struct odd_case *c, struct err *err);

/* A random data flow of the first collective. */
const struct flow *odd_send(struct odd_case *c);
/* The way of a flow's data, or of its ACKs. */
void odd_path(const struct odd_case *c, const struct flow *flow, bool reverse, struct route_path *path);
/* A random port on the way of a random data flow. */
uint32_t odd_port(struct odd_case *c);
/* One that leads from a switch to a switch. @return TOPO_NONE: chance found none */
uint32_t odd_trunk(struct odd_case *c);
const char *odd_port_name(const struct odd_case *c, uint32_t port, char *buf);

/* What takes long enough to be a flow's start and bytes within the job's time. */
struct odd_flow {
	int prio;     /* -1: that of the collective */
	bool reverse; /* its ACKs cross the port, not its data */
	uint64_t bytes, start_ns;
};
/* Adds a flow between random hosts that crosses a port. @return 0, or -EAGAIN with err: chance found none */
int odd_crossing(struct odd_case *c, uint32_t port, const struct odd_flow *flow, struct err *err);
/* Adds one with random bytes and start, that crosses a random port of the collective. */
int odd_disturb(struct odd_case *c, struct err *err);

/* Adds "kind = KIND; port = PORT; start; duration" and what else is given. @param duration_ns  0: to the end */
void odd_fault(struct odd_case *c, const char *kind, uint32_t port, uint64_t start_ns, uint64_t duration_ns,
	       const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* The same, from some time of the job on for some time, or (half of all cases) all the time. */
void odd_fault_sometime(struct odd_case *c, const char *kind, uint32_t port, const char *more);
/* A port that sends PAUSE to one of the collective's ways. */
void odd_storm(struct odd_case *c, uint64_t start_ns, uint64_t duration_ns, int priority);
