/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * R-Pingmesh's analyzer, a diagnoser (4.3): from results of probes between RNICs to problems of RNICs, switches, hosts
 * and CPUs, and their impact on services. It does not know their cost in time. Its results of a run: problems, and the
 * SLAs of the cluster's network and of services'.
 */
#pragma once

#include "common/wire/record_probes.h"
#include "diag/diagnoser.h"
#include "diag/verdict.h"

#define PINGMESH_NAME "pingmesh"

/* The causes of a probe's timeout, in the order of their tests. Value, name. */
#define PINGMESH_CAUSES(ROW)                                                                                               \
	ROW(PINGMESH_ANSWERED, 0, "answered")                                                                              \
	ROW(PINGMESH_HOST_DOWN, 1, "host-down")                                                                            \
	ROW(PINGMESH_QPN_RESET, 2, "qpn-reset")                                                                            \
	ROW(PINGMESH_CPU, 3, "cpu-overload")                                                                               \
	ROW(PINGMESH_RNIC, 4, "rnic-problem")                                                                              \
	ROW(PINGMESH_SWITCH, 5, "switch-problem")                                                                          \
	ROW(PINGMESH_UNDECIDED, 6, "undecided") /* the stream ends before it is known whether the host is down */

enum pingmesh_cause { PINGMESH_CAUSES(ENUM_VALUE) };
#define PINGMESH_NCAUSES ENUM_COUNT(PINGMESH_CAUSES)

/* Value, name of its finding's type, title, badge, further traits (finding.h). */
#define PINGMESH_PROBLEMS(ROW)                                                                                             \
	ROW(PINGMESH_PROBLEM_RNIC, 0, "rnic-problem", "RNIC problem", "lost", FINDING_OF_FAULT)                            \
	ROW(PINGMESH_PROBLEM_SWITCH, 1, "switch-problem", "switch network problem", "lost", FINDING_OF_FAULT)              \
	ROW(PINGMESH_PROBLEM_HOST, 2, "host-down", "host down", "host", FINDING_OF_HOST | FINDING_OF_FAULT)                \
	ROW(PINGMESH_PROBLEM_CPU, 3, "cpu-overload", "CPU overload", "host", FINDING_OF_HOST | FINDING_OF_FAULT)           \
	ROW(PINGMESH_PROBLEM_RTT, 4, "high-rtt", "high RTT", "queue", 0)

enum pingmesh_problem_kind { PINGMESH_PROBLEMS(ENUM_VALUE) };
#define PINGMESH_NPROBLEM_KINDS ENUM_COUNT(PINGMESH_PROBLEMS)

/* How a problem was found; bits. Value: name. */
#define PINGMESH_BASES(ROW)                                                                                                \
	ROW(PINGMESH_BY_UPLOADS, 0, "silence")       /* no uploads for longer than a period */                             \
	ROW(PINGMESH_BY_MESH, 1, "tor-mesh")         /* more than 10 % of ToR-mesh probes */                               \
	ROW(PINGMESH_BY_VOTES, 2, "votes")           /* Algorithm 1 */                                                     \
	ROW(PINGMESH_BY_SEVERAL, 3, "several-rnics") /* of one host at once */                                             \
	ROW(PINGMESH_BY_DELAY, 4, "delay")           /* of processing */                                                   \
	ROW(PINGMESH_BY_AGENT, 5, "agent")           /* which was late for its own timers */

enum pingmesh_basis { PINGMESH_BASES(ENUM_VALUE) };
#define PINGMESH_NBASES ENUM_COUNT(PINGMESH_BASES)

/* The tests that were not made, and why; the number of their cases is counted. Value, name, "cannot tell N ...". */
#define PINGMESH_LIMITS(ROW)                                                                                               \
	ROW(PINGMESH_LIMIT_SLOW, 0, "slow-probes",                                                                         \
	    "timeouts, because even the quickest probe of their kind takes a quarter of the timeout: late and lost look "  \
	    "alike")                                                                                                       \
	ROW(PINGMESH_LIMIT_LATE, 1, "late-probes",                                                                         \
	    "timeouts, because other probes of their RNICs returned later than half of the "                               \
	    "timeout: they may be late, not lost")                                                                         \
	ROW(PINGMESH_LIMIT_WITNESS, 2, "no-witness",                                                                       \
	    "RNICs apart from their links and ToRs, because no other host probes them within their ToR")                   \
	ROW(PINGMESH_LIMIT_FEW_MESH, 3, "few-mesh-probes",                                                                 \
	    "RNICs in a period by their ToR-mesh, because fewer than 5 of its probes are conclusive")                      \
	ROW(PINGMESH_LIMIT_DELAYS, 4, "few-delays",                                                                        \
	    "RNICs' hosts by their processing delay, because fewer than 20 delays are known")                              \
	ROW(PINGMESH_LIMIT_LINKS, 5, "uncrossed-links",                                                                    \
	    "links between switches, because no probe's traced path crosses them")                                         \
	ROW(PINGMESH_LIMIT_UNTRACED, 6, "untraced", "places of timeouts, because their paths were not traced")             \
	ROW(PINGMESH_LIMIT_SPRAYED, 7, "sprayed",                                                                          \
	    "links between switches one by one, because switches send each packet its own path")                           \
	ROW(PINGMESH_LIMIT_SOFTWARE, 8, "software-times", "high round trips, because kernels took their times")            \
	ROW(PINGMESH_LIMIT_DROPPED, 9, "dropped", "timeouts, because agents at their ends dropped as many completions")    \
	ROW(PINGMESH_LIMIT_HELD, 12, "held-probes",                                                                        \
	    "timeouts, because a queue on their path may hold probes for longer than the timeout, and none returned in "   \
	    "time until it had drained")                                                                                   \
	ROW(PINGMESH_LIMIT_ANSWERED, 11, "late-answers",                                                                   \
	    "timeouts, because their ACKs arrived later: nothing of them was lost")                                        \
	ROW(PINGMESH_LIMIT_UPLOADS, 10, "uploads",                                                                         \
	    "silent hosts in a period for alive or down, because the exporter dropped uploads that may be theirs")

enum pingmesh_limit { PINGMESH_LIMITS(ENUM_VALUE) };
#define PINGMESH_NLIMITS ENUM_COUNT(PINGMESH_LIMITS)

enum pingmesh_network { PINGMESH_CLUSTER, PINGMESH_SERVICE, PINGMESH_NNETWORKS };

#define PINGMESH_PLACES 8 /* indistinguishable places that are named, at most */

/* The same index as its finding's key. */
struct pingmesh_problem {
	uint32_t kind; /* enum pingmesh_problem_kind */
	uint32_t node; /* the host, or the whole switch; RUN_NONE: ports are meant */
	/*
	 * Egress ports of the links: one; of several, one of them is at fault. None and no node: the place is unknown.
	 */
	uint32_t ports[PINGMESH_PLACES];
	uint32_t nports, alike; /* alike: number of links, those beyond PINGMESH_PLACES too, and or_node */
	uint32_t or_node;  /* a switch that the same probes cross as its one port: it may be that one; RUN_NONE: none */
	uint32_t or_rnics; /* of a whole switch: number of its RNICs, if these may be the cause; else 0 */
	bool both;         /* directions of the link */
	bool unsure;       /* of a whole switch: by chance its faulty link cannot be identified */
	uint32_t bases;    /* bits of enum pingmesh_basis */
	uint32_t networks; /* bits of enum pingmesh_network: of the probes that show it */
	uint32_t first_period, last_period, periods;
	uint64_t start_ps, end_ps; /* the first and the last of its probes */
	uint64_t found_ps;         /* when the analyzer had all of the first period */
	uint64_t probes, bad;      /* over its place in these periods; of them timeouts, or with high RTT */
	double base_ps, high_ps;   /* RTT or processing delay that is usual, and the median of the bad (P99 of delays) */
	double machine;            /* share of it that a late machine may explain: the confidence is 1 minus this at most */
	double confidence;
	uint64_t services;               /* bits of the first PINGMESH_SEEN_SERVICES: of the probes that show it */
	bool in_service;                 /* a service uses the place */
	uint32_t priority;               /* 0, 1 or 2 (4.3.4): of the service that it matters most to */
	double degradation;              /* the largest of the services that use the place, as of pingmesh_impact */
	uint32_t first_impact, nimpacts; /* in pingmesh.impacts: a row a service that uses the place */
};

#define PINGMESH_SEEN_SERVICES 64
#define PINGMESH_FLOWS 4 /* of a service, over a problem's place, that are named */

/* The impact of a problem on one service that uses its place (4.3.4). */
struct pingmesh_impact {
	uint32_t service;               /* index into pingmesh.services */
	uint32_t priority;              /* 0 or 1 */
	bool known;                     /* there is something to compare the service's iterations with */
	double degradation;             /* of its metric, largest while the problem lasted: 0.5: half as long again */
	uint32_t nflows;                /* of its connections that cross the place by their traced paths */
	uint32_t flows[PINGMESH_FLOWS]; /* the first of them, in run.flows */
};

#define PINGMESH_QUANTILES 4 /* P50, P90, P99, P999 */

struct pingmesh_spread {
	uint64_t count;
	double ps[PINGMESH_QUANTILES];
};

struct pingmesh_sla {
	uint64_t probes;
	uint64_t causes[PINGMESH_NCAUSES];
	struct pingmesh_spread rtt, prober, responder;
	struct pingmesh_spread one_way; /* of one-way probes */
};

struct pingmesh_period {
	uint64_t start_ps, end_ps;
	bool complete; /* the run covered all of the period and the time for its results to arrive */
	struct pingmesh_sla networks[PINGMESH_NNETWORKS];
	uint32_t plain_rnics; /* that the paper's rule alone would blame: more than 10 %, for whatever cause */
};

struct pingmesh_server {
	uint32_t host;
	struct pingmesh_sla sla; /* of service tracing, to or from it */
};

/* The two tests that separate an overloaded CPU from RNICs that drop (6), by hosts and periods. */
struct pingmesh_cpu_checks {
	uint32_t several, delay, both;
	uint32_t agent;           /* by its agent's report: not the paper's */
	uint32_t several_refuted; /* several RNICs at once, but processing was as fast as ever */
};

struct pingmesh_metric {
	uint32_t iterations; /* of all jobs, complete or not */
	uint32_t degraded;   /* beyond the threshold */
	double threshold;    /* 0.1: 10 % */
	double worst;        /* largest degradation */
	bool known;          /* there is something to compare iterations with */
};

/* A job. */
struct pingmesh_service {
	uint32_t job;         /* index into run.jobs */
	uint32_t connections; /* that service tracing saw */
	uint32_t traced;      /* of them: both directions are known as a whole */
	struct pingmesh_metric metric;
	/*
	 * Can it be decided whether the network slowed it? Its iterations compare with each other, and all of its
	 * connections are traced: a place that none of them crosses is not of its network.
	 */
	bool decided;
	bool innocent; /* decided: iterations are degraded, and none of them while a problem of its network lasted */
	struct pingmesh_sla sla;
};

struct pingmesh {
	struct rec_pingmesh config;
	struct pingmesh_problem *problems;
	uint32_t nproblems;
	struct pingmesh_period *periods;
	uint32_t nperiods;
	struct pingmesh_sla networks[PINGMESH_NNETWORKS];
	struct pingmesh_server *servers;
	uint32_t nservers;
	struct pingmesh_service *services; /* in the order of run.jobs */
	uint32_t nservices;
	struct pingmesh_impact *impacts;
	uint32_t nimpacts;
	uint64_t limits[PINGMESH_NLIMITS]; /* not judged */
	struct pingmesh_cpu_checks cpu;
	struct pingmesh_metric metric; /* of all services */
	bool innocent;                 /* services are degraded, and the network is innocent for each of these */
	uint64_t dropped;              /* results that agents had no room for */
	uint64_t strangers;            /* probes to or from addresses that no host has: left out */
	uint64_t untraced;             /* timeouts put down to switches, with an untraced path */
	uint32_t strongest_elsewhere;  /* votes in which most links voted for is not where most of its probes are lost */
	uint32_t votes;
	bool inband; /* probes and ACKs carry their paths themselves: switches wrote into them */
	/* Packets of one traceroute took several paths: places between ToRs are switches, seldom links. */
	bool sprayed;
};

/* Zeroed: defaults. */
struct pingmesh_options {
	double degradation; /* --degradation=PERCENT as a share, 0: 0.1 */
	bool chosen;        /* --pingmesh-algorithm: algorithm, and not the recording's */
	uint16_t algorithm; /* enum rec_pingmesh_algorithm */
};

/* --degradation=PERCENT: as in diagnoser.h. */
int pingmesh_degradation(void *options, const char *value, struct err *err);

/* --pingmesh-algorithm=NAME: as in diagnoser.h. */
int pingmesh_algorithm(void *options, const char *value, struct err *err);

/* As in diagnoser.h. @param options  struct pingmesh_options */
int pingmesh_diagnose(const struct evidence *evidence, const struct run *run, const void *options, struct section *section,
		      struct err *err);
void pingmesh_destroy(void *own);
