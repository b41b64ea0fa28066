/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a verdict on a case is worth. A problem is found by a report of its word at its place, which ends after it began; a report is
 * accurate if it finds a problem. One without a place is not, nor is one that is right in all but the place.
 */
#pragma once

#include <jansson.h>

#include "eval/pingmesh/case.h"

#define PM_MOST_REPORTS 64 /* of a verdict; more are counted as inaccurate, and not listed */

/* Of a problem that was put in. */
struct pm_found {
	bool found;
	bool alone;          /* by a report that names one place */
	bool direction;      /* and the direction that is bad, or that both are */
	double after_s;      /* of the protocol's time, from its start until the analyzer could say so; at least 0 */
	bool several, delay; /* a starved CPU: by several RNICs at once; by processing delay */
	bool agent;          /* by its agent's own word */
};

/* Of a problem that was reported. */
struct pm_report {
	enum pm_word word;
	bool accurate;
	bool at_starved; /* says RNIC of a host whose CPU was starved, and whose RNICs were well */
	char place[96];
};

struct pm_marks {
	struct pm_found found[PM_MOST_PROBLEMS];
	struct pm_report reports[PM_MOST_REPORTS];
	uint32_t nreports, unlisted;
	uint32_t plain_rnics; /* (RNIC, period) that the paper's 10 % alone would blame */
};

/*
 * @param c        made
 * @param verdict  of verdict.json
 * @return 0, or -EINVAL with err: it has no section of R-Pingmesh, or another's words
 */
int pm_score(const struct pm_case *c, const json_t *verdict, struct pm_marks *marks, struct err *err);

/* @return "corruption at l2:6", in buf */
const char *pm_problem_text(const struct pm_case *c, const struct pm_problem *problem, char *buf, size_t cap);
