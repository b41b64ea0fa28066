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
#include "scenario/scenario.h"

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
	const char *diagnoser; /* whose findings are its: a row of diag/registry.c */
	/*
	 * It shares a run with all others that do: what it sends into the fabric is next to nothing. Others change what they
	 * look at, and have a run of their own, of the same seed.
	 */
	bool passive;
	bool judges;          /* it has a word on the network: innocent, guilty or unknown */
	uint64_t kinds;       /* records that come for it: bits by enum rec_type */
	const char *on, *off; /* the key that has it at work, or not; several rows may share off */
	/*
	 * What else a scenario must say, beyond what it says already; NULL: nothing.
	 * @return 0; -EINVAL with err: why it cannot be had there
	 */
	int (*prepare)(const struct scenario *scenario, struct system_sets *sets, struct err *err);
};

extern const struct system_row systems[];
extern const size_t nsystems;

/* What a list of systems names by a path, with a slash, is a program from outside. */
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
 * What a run of a scenario needs that is one of several of the same packets: all have what each of the systems asks for, and in
 * this one some of them are at work, and no others.
 * @param of       [count] rows
 * @param at_work  bit i: of[i] is; 0: nobody diagnoses
 * @return 0; -EINVAL with err: why one of them cannot be had there
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
