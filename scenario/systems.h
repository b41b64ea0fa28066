/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The systems that diagnose a fabric: a row each in systems.c. What a run needs so that they can, and whether several share
 * one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct cfg_strings;
struct scenario;
struct scenario_options;

#define SYSTEMS_MAX 16      /* rows, and so the most that a scenario lists */
#define SYSTEM_MAX_SETS 24  /* that a run of several needs */
#define SYSTEM_SET_BYTES 96 /* of one */

/* Keys of the scenario, as --set takes them; a later one of a key counts. */
struct system_sets {
	char text[SYSTEM_MAX_SETS][SYSTEM_SET_BYTES];
	size_t count;
};

struct system_row {
	const char *name;      /* as scenarios list it */
	const char *title;     /* for people */
	const char *diagnoser; /* source of its findings: a row of diag/registry.c */
	/*
	 * It shares a run with all other passive systems: it sends next to nothing into the fabric. Other systems
	 * change the traffic that they observe, and have a run of their own, of the same seed.
	 */
	bool passive;
	bool judges;          /* it has a word on the network: innocent, guilty or unknown */
	uint64_t kinds;       /* records that it requires: bits by enum rec_type */
	const char *on, *off; /* the key that has it at work, or not; several rows may share off */
	/*
	 * Adds the keys that a scenario needs beyond those it has; NULL: none.
	 * @return 0; -EINVAL with err: why the system cannot run there
	 */
	int (*prepare)(const struct scenario *scenario, struct system_sets *sets, struct err *err);
};

extern const struct system_row systems[];
extern const size_t nsystems;

/* A name with a slash in a list of systems is the path of a plugin. */
bool system_is_program(const char *name);
/* @return NULL: there is none of this name */
const struct system_row *system_find(const char *name);
/* "vedrfolnir, flowpulse, ...": all names. @return buf */
char *systems_names(char *buf, size_t cap);

/* Known names, each once. @return 0, or -EINVAL with err */
int systems_check_names(const struct cfg_strings *names, struct err *err);

/* Adds a key. @return 0, or -E2BIG with err */
int system_set(struct system_sets *sets, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Sets the keys of one of several runs with the same packets: all runs have the keys that each of the systems needs,
 * and in this one only the selected systems are active.
 * @param of       [count] rows
 * @param at_work  bit i: of[i] is active; 0: no diagnosis
 * @return 0; -EINVAL with err: why one of them cannot run there
 */
int systems_sets(const struct scenario *scenario, const struct system_row *const *of, size_t count, uint32_t at_work,
		 struct system_sets *sets, struct err *err);

/*
 * The same, tried: the scenario as it is with them.
 * @param options  that the scenario was loaded with
 * @return NULL with err and errno set: why they cannot be had there; else to be destroyed
 */
struct scenario *systems_load(const struct scenario_options *options, const struct scenario *scenario,
			      const struct system_row *const *of, size_t count, uint32_t at_work, struct system_sets *sets,
			      struct err *err);
