/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab eval flowtracer: how uneven ECMP's hashes make a scenario's flows, over many seeds, beside what chance
 * alone gives and beside a static placement; and the throughput of pairs of hosts then, by runs of some of these
 * seeds.
 */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "common/fim.h"
#include "topo/advise.h"
#include "twin/rerun/shard.h"

#define FT_MAX_SEEDS 100000
#define FT_MAX_RUNS 1000
#define FT_GROUPS (FIM_MAX_GROUPS + 2) /* layers, then switches' links and all links */
#define FT_SWITCHES FIM_MAX_GROUPS
#define FT_ALL (FIM_MAX_GROUPS + 1)

enum ft_placement { FT_ECMP, FT_STATIC, FT_PLACEMENTS };

/* One layer and direction. */
struct ft_group {
	char name[40];                /* "": not in use */
	uint32_t links;               /* that flows can take */
	double ideal;                 /* flows a link */
	double expected;              /* of the metric under uniform and independent choices; NAN: unknown */
	double *percent;              /* [seeds] the metric of each */
	double *placed;               /* [runs] the same by the static placement */
	uint32_t most[FT_PLACEMENTS]; /* flows on a link, of the last seed that is run */
};

/* A run's pair of hosts, in one direction. */
struct ft_pair {
	uint64_t seed;
	char src[32], dst[32];
	double gbps; /* common/slowdown.h */
};

struct ft_runs {
	struct ft_pair *pairs; /* [npairs] */
	uint32_t npairs;
	double *job_ns;  /* [runs] until the last flow of a run has ended; 0: it failed */
	double *percent; /* [runs] the metric, links of switches */
};

struct ft_study {
	const char *scenario;
	const char *traced; /* file of flows as they were traced (seeds.c), in place of the scenario's; NULL: none */
	bool is_planned;    /* nothing is run: cases alone are written */
	uint64_t first;     /* seed; others are the numbers after it */
	enum advise_by by;  /* the changes of the static placement */
	uint32_t seeds, runs, jobs; /* those that are run; side by side */
	const struct shard *shard;
	const char *dir;        /* exists; DIR/ecmp/SEED and DIR/static/SEED have runs */
	uint32_t flows;         /* of the scenario, or traced */
	uint32_t astray;        /* traced, but not to their ends: they are left as they are */
	uint32_t cables_down;   /* that the scenario's faults take down: no path is placed on them */
	uint32_t moved, rounds; /* of these by the placement, and of its search: of the last seed that is run */
	struct ft_group groups[FT_GROUPS];
	struct ft_runs of[FT_PLACEMENTS];
	uint32_t broken; /* runs that failed: not among the pairs */
};

/* @return 0; -EINTR: interrupted, finished runs stay; other negative errno with err. ft_study_fini() in any case */
int ft_study_run(struct ft_study *study, struct err *err);
void ft_study_fini(struct ft_study *study);

/*
 * seeds.c: the metric of every seed; and where seeds are run, the placement of each. @return 0 or negative errno with
 * err
 */
int ft_seeds(struct ft_study *study, struct err *err);
/* runs.c: the missing runs; then throughputs. @return as ft_study_run() */
int ft_runs(struct ft_study *study, struct err *err);
/* Path of a run's file, "": its folder. */
void ft_path(const struct ft_study *study, enum ft_placement placement, uint64_t seed, const char *name,
	     char path[PATH_MAX + 64]);

void ft_print(const struct ft_study *study, FILE *to);
/* @return NULL: no memory */
json_t *ft_json(const struct ft_study *study);
