/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems that are to be shown side by side, and the runs that it takes: of one scenario, one seed, the same packets. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/child.h"
#include "common/run_files.h"
#include "plugin/account.h"
#include "scenario/systems.h"

#define SYSTEMS_BASE 0       /* the run in the folder itself: of all systems that share one */
#define SYSTEMS_QUIET "none" /* the folder of the run without diagnosers */
#define SYSTEMS_NONE UINT32_MAX

struct systems_run {
	const char *name; /* of its folder in DIR/systems; NULL: it is DIR */
	char dir[PATH_MAX];
	uint32_t at_work; /* bit i: systems[i] is */
	struct system_sets sets;
	struct err why; /* it did not run, or not well; empty where it did, or ran before */
};

struct systems_entry {
	const struct system_row *row;
	struct system_row program; /* of a plugin diagnoser, which follows the base run: row */
	char name[PLUGIN_TYPE];
	struct err why;     /* empty: it can be had */
	uint32_t run;       /* SYSTEMS_NONE: it cannot be had */
	char dir[PATH_MAX]; /* DIR/systems/NAME: its verdict */
};

struct systems_plan {
	const struct scenario_options *options;
	const char *dir;           /* locked */
	int lock;                  /* of dir: programs that are started there hold it, too */
	struct scenario *scenario; /* without any of the following; owned, NULL once it has been taken */
	struct systems_entry systems[SYSTEMS_MAX];
	size_t count; /* 0: the scenario lists none; it is a run like any other */
	const char *programs[PLUGIN_PROGRAMS +
			     1]; /* [nprograms] plugin diagnosers, those of the list first; one more than the limit */
	uint32_t nprograms;
	struct systems_run runs[SYSTEMS_MAX + 2];
	size_t nruns;
	uint32_t quiet;      /* the run without diagnosers; SYSTEMS_NONE: no two runs have the same packets */
	uint32_t partitions; /* of each run, in real time; 0: it is not divided. Set by the caller */
	uint32_t processes;  /* of each run, in virtual time; 0: it is not divided. Set by the caller */
};

/* Plugin diagnosers beside those that the scenario lists. */
struct systems_programs {
	const char *const *paths; /* [count] borrowed as long as the plan */
	uint32_t count;
	bool recorded; /* they are all that followed the run, those of the list first */
};

/*
 * @param options  of the scenario; stay as long as the plan, and so does dir
 * @param plan     to be destroyed in any case
 * @return 0; -EINVAL or another negative errno with err set: the scenario is bad
 */
int systems_plan_init(struct systems_plan *plan, const struct scenario_options *options, const struct run_dir *dir,
		      const struct systems_programs *programs, struct err *err);

/* Is a row a program's? */
static inline bool
systems_is_program(const struct systems_entry *entry)
{
	return entry->row == &entry->program;
}

void systems_plan_fini(struct systems_plan *plan);
/* The scenario, the caller's from now on. */
struct scenario *systems_plan_take(struct systems_plan *plan);

/* The runs of systems that are to be shown side by side, one after the other. */

/*
 * Runs them; one that failed prints the reason, and others follow it. After an interrupt none is begun any more.
 * @param pass      arguments of dpswitch in every run
 * @param base_too  and in the base run alone
 * @return EXIT_DONE; EXIT_FAILED: one of them did not end well; EXIT_UNFINISHED: the base run ended before its work
 *         did; EXIT_INTERRUPTED; EXIT_USAGE or EXIT_NOT_BEGUN: the base run did not begin, with err set where nothing
 *         was printed
 */
int systems_run(struct systems_plan *plan, const struct child_args *pass, const struct child_args *base_too,
		struct err *err);

/*
 * Diagnoses the recordings, each system by itself, and shows the results. Systems whose run left no recording are
 * marked.
 * @param json      print comparison.json, not tables
 * @param findings  set to how many there are of all systems
 * @return EXIT_DONE; EXIT_FAILED: a recording has no verdict; or negative errno with err: the comparison could not be
 *         written
 */
int systems_show(struct systems_plan *plan, bool json, size_t *findings, struct err *err);
