/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cases of what the families leave out, by groups. A group is a row of the table in groups.c and a function that writes a
 * scenario; what may be at fault in it are its flows, generators, faults, stragglers and other jobs (eval/suspect.h). Nothing
 * is said of what is meant: what each costs is found by running without it.
 */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "common/err.h"
#include "common/prng.h"
#include "scenario/scenario.h"

#define ODD_HEAD 8192
#define ODD_LIST 8192
#define ODD_CASES 12 /* of a group */
#define ODD_MAX_GROUPS 32

enum odd_list { ODD_FLOWS, ODD_FAULTS, ODD_GENERATORS, ODD_PATHS, ODD_LISTS };

struct odd_case {
	const struct odd_group *group;
	uint64_t seed;
	uint32_t index;
	double scale; /* multiplies bytes, starts and durations */
	struct prng prng;
	char path[PATH_MAX]; /* of its scenario */
	char head[ODD_HEAD]; /* all of it but the lists: network, hosts, collectives */
	size_t used;
	struct {
		char text[ODD_LIST]; /* elements of the scenario's list */
		size_t used;
		uint32_t count;
	} lists[ODD_LISTS];
	struct scenario *loaded; /* of the head, from odd_plan() on: who sends to whom, by which ports */
	uint64_t span_ns;        /* how long the first job should take */
	uint32_t flows;          /* sports given */
};

struct odd_group {
	const char *name, *doc;
	const char *limits; /* of its runs; NULL: they end when nothing moves for 300 ms */
	/* Writes a case's head and lists. @return 0, or negative errno with err: the scenario cannot be loaded, or has no place */
	int (*make)(struct odd_case *c, struct err *err);
};

extern const struct odd_group odd_groups[]; /* a NULL name ends it */

/* @return NULL: there is none of this name */
const struct odd_group *odd_group_find(const char *name);

/*
 * Makes a case and writes it. The same group, seed, index and scale give the same file.
 * @param c     filled in
 * @param path  of the scenario
 * @return 0, or negative errno with err set
 */
int odd_make(struct odd_case *c, const struct odd_group *group, uint64_t seed, uint32_t index, double scale,
	     const char *path, struct err *err);

/* Those of groups.c, each in the file that its part is in. */
int odd_delay(struct odd_case *c, struct err *err);
int odd_loss(struct odd_case *c, struct err *err);
int odd_acks(struct odd_case *c, struct err *err);
int odd_cuts(struct odd_case *c, struct err *err);
int odd_corruption(struct odd_case *c, struct err *err);
int odd_blackhole(struct odd_case *c, struct err *err);
int odd_fib(struct odd_case *c, struct err *err);
int odd_sprayed(struct odd_case *c, struct err *err);
int odd_storms(struct odd_case *c, struct err *err);
int odd_around(struct odd_case *c, struct err *err);
int odd_classes(struct odd_case *c, struct err *err);
int odd_class0(struct odd_case *c, struct err *err);
int odd_mice(struct odd_case *c, struct err *err);
int odd_jobs(struct odd_case *c, struct err *err);
int odd_small(struct odd_case *c, struct err *err);
int odd_rates(struct odd_case *c, struct err *err);
int odd_k8(struct odd_case *c, struct err *err);
int odd_rails(struct odd_case *c, struct err *err);
int odd_window(struct odd_case *c, struct err *err);
int odd_starved(struct odd_case *c, struct err *err);
