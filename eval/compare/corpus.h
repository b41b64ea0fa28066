/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The corpus of rocelab eval compare: every fault on every fabric with every workload, at places and with strengths
 * that a seed draws. A fault is a row of the table in faults.c: how to inject it, and the findings that are right for
 * it. Cases are numbered so that any first N of them have all faults about as often: number k has fault k %
 * compare_nfaults().
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/wire/layout.h"
#include "eval/odd/odd.h"
#include "twin/rerun/suspect.h"

struct compare_fault;

#define COMPARE_VERSION 3 /* of the corpus: another where the same seed makes another case, or a rule changes */
#define COMPARE_ROUNDS 20 /* cases of a fault: all fabrics x all workloads */
#define COMPARE_RULES 14
/* Start of the job: R-Pingmesh's first period, of 200 ms, is over by then, and was a healthy one. */
#define COMPARE_START_NS 210000000ull

/* The fabric's routes, and whether each packet has a path of its own. */
struct compare_fabric {
	const char *name;     /* "leaf-spine" */
	const char *routing;  /* "ecmp" */
	const char *topology; /* of the scenario */
	const char *keys;     /* further settings: load balancing, transport */
	const char *ranks;    /* hosts of every edge switch that may be ranks; and the number that are */
	bool is_sprayed;
};

struct compare_workload {
	const char *name;
	const char *collective; /* of the scenario, with its size still open */
	double bytes;           /* of the vector, at scale 1 */
};

/*
 * The findings that are right for a fault. A rule is of one type of finding, of any system, and grades it by its place:
 *
 *   at    its root is the fault's place: an end of the link, the node or a port of it or to it; or it names a flow that
 *         is the fault
 *   near  the fault's place is among the ports that it names, or its root is a node at an end of the link; for a flow,
 *         its root is a port on that flow's path
 *   path  its root is a flow of the job that passes the fault's place, and no port is reported
 *
 * A type without a rule has nothing to do with the fault. A system can see a fault if one of its types has a rule.
 */

/* The grade of a finding. Value, name, for people. */
#define COMPARE_GRADES(ROW)                                                                                                \
	ROW(COMPARE_NONE, 0, "none", "no answer")                                                                          \
	ROW(COMPARE_FALSE, 1, "false", "of a kind that was not there")                                                     \
	ROW(COMPARE_ELSEWHERE, 2, "elsewhere", "of the right kind at a wrong place")                                       \
	ROW(COMPARE_OWN, 3, "own", "flows of the job contend with each other: neither right nor wrong")                    \
	ROW(COMPARE_PARTLY, 4, "partly", "a consequence of the fault, or one of several places")                           \
	ROW(COMPARE_RIGHT, 5, "right", "the fault and its place")

enum compare_grade { COMPARE_GRADES(ENUM_VALUE) };

struct compare_rule {
	const char *type;
	enum compare_grade at, near, path; /* NONE: elsewhere */
};

struct compare_fault {
	struct odd_group group; /* first: its make function finds its row by it */
	bool ecmp_only;         /* not with sprayed packets: no path is chosen once for a flow */
	bool full_tree_only;    /* it takes three tiers that hash, and a rank at every host */
	bool is_clean;          /* without a fault */
	bool is_busy;       /* small flows of others are there in all cases; else in a third, and in none that is clean */
	const char *probed; /* a key that the run with R-Pingmesh's agents has besides, as --set takes it; NULL: none */
	const char *remedy; /* the --set option that leaves it out; NULL: it is a part that can be left out */
	char tier;          /* with a remedy: it is at switches whose names begin so */
	struct compare_rule rules[COMPARE_RULES]; /* a NULL type ends them */
};

extern const struct compare_fault compare_faults[]; /* a NULL name ends it */
uint32_t compare_nfaults(void);
/* @return the whole corpus */
uint32_t compare_most_cases(void);

/* The contents of a case, by its number alone. */
struct compare_cell {
	const struct compare_fault *fault;
	uint32_t round;
	const struct compare_fabric *fabric;
	const struct compare_workload *workload;
	bool has_background; /* small flows of others, everywhere */
};

struct compare_cell compare_cell(uint32_t number);

/*
 * Writes a case's scenario: the same for the same seed, number and scale.
 * @return 0 or negative errno with err
 */
int compare_make(uint32_t number, uint64_t seed, double scale, const char *path, struct err *err);

/* ---- for faults ---- */

/* Parts of a case's scenario that may be left out, and the remedy of its fault. As suspects_list(). */
int compare_parts(const struct compare_fault *fault, const struct scenario *scenario, struct suspects *suspects,
		  struct err *err);

#define COMPARE_BACKGROUND "background" /* the name of the generator of small flows */

/* Network and job: the first thing that a fault's make() does. */
int compare_begin(struct odd_case *c, struct err *err);
/* Some time while the job runs, as parts of the time that it should take. */
uint64_t compare_when_ns(struct odd_case *c, double min, double max);
/* When most faults begin: some iterations after the job, most before its end. */
uint64_t compare_start_ns(struct odd_case *c);
/*
 * The path of a random data flow that leaves its leaf: at least three switches. @return false: no random draw found
 * one
 */
bool compare_far(struct odd_case *c, struct route_path *path);
/* @return the NIC of a random rank, a port */
uint32_t compare_rank_nic(struct odd_case *c);
bool compare_is_rank(const struct odd_case *c, uint32_t host);

/* Makes a case without a fault. */
int compare_clean(struct odd_case *c, struct err *err);
#define COMPARE_NGRADES ENUM_COUNT(COMPARE_GRADES)

/* "right" */
const char *compare_grade_name(enum compare_grade grade);

/* The fault's place: all of its parts together, as arrays of names. */
struct compare_place {
	json_t *ports, *nodes;     /* at */
	json_t *near_ports, *near; /* near: ports of flows' paths, nodes at ends of links */
	json_t *flows;             /* that the fault is */
	json_t *path;              /* of the job, that pass it */
};

/*
 * @param of  [count] suspects of the scenario that are the fault, or part of it
 * @return 0, or -ENOMEM with err; compare_place_fini() in any case
 */
int compare_place_init(struct compare_place *place, const struct scenario *scenario, const struct suspect *const *of,
		       size_t count, struct err *err);
void compare_place_fini(struct compare_place *place);

/* The grade of a finding by a fault's rules: RIGHT, PARTLY, ELSEWHERE, or FALSE where none is of its type. */
enum compare_grade compare_grade(const struct compare_fault *fault, const struct compare_place *place,
				 const json_t *finding);
/* @return whether the finding names one of these flows */
bool compare_names(const json_t *finding, const json_t *flows);
