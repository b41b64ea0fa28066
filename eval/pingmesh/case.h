/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cases for R-Pingmesh's analyzer: a fabric, maybe a job, and problems of known kinds at places that are drawn from a
 * seed. The draw is the truth that verdicts are compared with; only the scorer knows it.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/prng.h"
#include "scenario/scenario.h"

struct pm_case;

#define PM_TEXT 8192
#define PM_MOST_PROBLEMS 3 /* of a case */
#define PM_FACTOR 0.01     /* that all of the protocol's times are multiplied by, but in one case of PM_PLAIN_EVERY */
#define PM_PLAIN_EVERY 20
#define PM_PERIOD_S 20.0 /* of analysis (R-Pingmesh 5), of the protocol's time as all of these: */
#define PM_TIMEOUT_S 0.5
#define PM_DURATION_S 120.0
#define PM_CONVERGENCE_S 1.0 /* of routes: the limit of RFC 7938, section 7, for a fabric */

/* The paper's class of a problem (6; footnote 4). Value, name. */
#define PM_CLASSES(ROW)                                                                                                    \
	ROW(PM_SWITCH, 0, "switch")                                                                                        \
	ROW(PM_RNIC, 1, "rnic")                                                                                            \
	ROW(PM_CPU, 2, "cpu")                                                                                              \
	ROW(PM_HOST, 3, "host")

enum pm_class { PM_CLASSES(ENUM_VALUE) };
#define PM_NCLASSES ENUM_COUNT(PM_CLASSES)

/* The possible claims of an analyzer, by the names in its verdict. Value, name. */
#define PM_WORDS(ROW)                                                                                                      \
	ROW(PM_WORD_RNIC, 0, "rnic-problem")                                                                               \
	ROW(PM_WORD_SWITCH, 1, "switch-problem")                                                                           \
	ROW(PM_WORD_HOST, 2, "host-down")                                                                                  \
	ROW(PM_WORD_CPU, 3, "cpu-overload")                                                                                \
	ROW(PM_WORD_RTT, 4, "high-rtt")

enum pm_word { PM_WORDS(ENUM_VALUE) };
#define PM_NWORDS ENUM_COUNT(PM_WORDS)

/* A problem that is there. */
struct pm_problem {
	const struct pm_kind *kind;
	/* an end of the link, which sends to the bad direction if there is only one; TOPO_NONE: it has none */
	uint32_t port;
	uint32_t node;              /* the host, or the whole switch; TOPO_NONE: a link */
	double start_s, duration_s; /* of the protocol's time; duration 0: to the end */
};

struct pm_kind {
	const char *name, *doc;
	enum pm_class class;
	enum pm_word word; /* that is right for it */
	bool is_directed;  /* one direction of its link is bad */
	uint32_t weight;   /* its frequency among those of its class */
	bool has_traffic;  /* needs traffic: too much to simulate at the paper's times, where another kind is chosen */
	/* Adds its fault, and sets its place. @return false: chance found no place that is free */
	bool (*inject)(struct pm_case *c, struct pm_problem *problem);
};

extern const struct pm_kind pm_kinds[]; /* a NULL name ends it */

struct pm_case {
	uint64_t seed;
	uint32_t index;
	double factor;
	struct prng prng;
	char path[PATH_MAX]; /* of its scenario */
	const char *fabric;
	bool has_job;
	char head[PM_TEXT], faults[PM_TEXT], flows[PM_TEXT];
	size_t head_used, faults_used, flows_used;
	bool has_restart; /* an agent starts again within a period, which is no problem */
	struct pm_problem problems[PM_MOST_PROBLEMS];
	uint32_t nproblems;
	struct scenario *loaded; /* of the head */
};

/*
 * Draws a case and writes its scenario: of 12 in a row six have a switch problem, one each an RNIC problem, a starved
 * CPU, and nothing, and three have two or three of any. In a quarter of all an agent starts again besides. Same seed
 * and index: same bytes.
 * @param c  set; pm_case_fini() in any case
 * @return 0, or negative errno with err
 */
int pm_case_make(struct pm_case *c, uint64_t seed, uint32_t index, const char *path, struct err *err);
void pm_case_fini(struct pm_case *c);

/* ---- for kinds ---- */

double pm_between(struct pm_case *c, double min, double max);
/* Draws from a log-uniform distribution: each decade is equally likely. */
double pm_log(struct pm_case *c, double min, double max);
/*
 * @return a port of a switch to a switch (is_host: to or from a host) whose link and hosts have no problem; TOPO_NONE:
 * none found
 */
uint32_t pm_free_port(struct pm_case *c, bool is_host);
/* @return a host without a problem at its links; TOPO_NONE: none found */
uint32_t pm_free_host(struct pm_case *c);
/* Adds "kind = KIND; start; duration;" of the problem, and the other given members. */
void pm_fault(struct pm_case *c, const struct pm_problem *problem, const char *kind, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* @param seconds  of the protocol's time @return "12345ns", in a text of its own */
struct pm_time {
	char text[32];
} pm_time(const struct pm_case *c, double seconds);

/* Flows that a problem needs to show (traffic.c). */

/*
 * Adds flows, each from another NIC, to other hosts that leave by a port from the problem's start to the end.
 * @param least  the least number, or none: four at most
 * @param could  also those that leave by another port of equal cost
 * @return false: the random draws found too few
 */
bool pm_traffic(struct pm_case *c, const struct pm_problem *problem, uint32_t port, uint32_t least, bool could);
