/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What findings are right for a fault. A rule is of one type of finding, whoever makes it, and says what it is worth by where it
 * is:
 *
 *   at    its root is where the fault is: an end of the link, the node or a port of it or to it; or it names a flow that the
 *         fault is
 *   near  the fault's place is among the ports that it names, or its root is a node at an end of the link; for a flow, its
 *         root is a port on that flow's way
 *   way   its root is a flow of the job that passes the fault's place, and no port is told
 *
 * A type without a rule has nothing to do with the fault. A system can see a fault if one of its types has a rule.
 */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "eval/suspect.h"

/* What a finding is worth. Value, name, for people. */
#define COMPARE_GRADES(ROW)                                                                                                \
	ROW(COMPARE_NONE, 0, "none", "says nothing")                                                                       \
	ROW(COMPARE_FALSE, 1, "false", "of a kind that was not there")                                                     \
	ROW(COMPARE_ELSEWHERE, 2, "elsewhere", "of the right kind at a wrong place")                                       \
	ROW(COMPARE_OWN, 3, "own", "the job's own flows in each other's way: neither right nor wrong")                     \
	ROW(COMPARE_PARTLY, 4, "partly", "a consequence of the fault, or one of several places")                           \
	ROW(COMPARE_RIGHT, 5, "right", "the fault and its place")

enum compare_grade { COMPARE_GRADES(ENUM_VALUE) };
#define COMPARE_NGRADES ENUM_COUNT(COMPARE_GRADES)

/* "right" */
const char *compare_grade_name(enum compare_grade grade);

struct compare_rule {
	const char *type;
	enum compare_grade at, near, path; /* NONE: elsewhere */
};

/* Where what was put in is: all of its parts together. Arrays of names. */
struct compare_place {
	json_t *ports, *nodes;     /* at */
	json_t *near_ports, *near; /* near: ports of flows' ways, nodes at ends of links */
	json_t *flows;             /* that the fault is */
	json_t *path;              /* of the job, that pass it */
};

struct compare_fault;

/*
 * @param of  [count] suspects of the scenario that are the fault, or part of it
 * @return 0, or -ENOMEM with err; compare_place_fini() in any case
 */
int compare_place_init(struct compare_place *place, const struct scenario *scenario, const struct suspect *const *of,
		       size_t count, struct err *err);
void compare_place_fini(struct compare_place *place);

/* What a finding is worth by a fault's rules: RIGHT, PARTLY, ELSEWHERE, or FALSE where none is of its type. */
enum compare_grade compare_grade(const struct compare_fault *fault, const struct compare_place *place,
				 const json_t *finding);
/* Does it name a flow of these? */
bool compare_names(const json_t *finding, const json_t *flows);
