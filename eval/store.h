/* SPDX-License-Identifier: BSD-3-Clause */
/* DIR/eval.sqlite: the finished runs of an evaluation. One process writes it; stored runs are not made again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "eval/judge.h"

struct store;

#define STORE_NAME 96

/* One case under one policy. */
struct store_run {
	char family[STORE_NAME], policy[STORE_NAME];
	uint32_t index;
	enum outcome outcome;
	char why[256];            /* empty: a true positive */
	uint64_t telemetry_bytes; /* reports kept, headers included */
	uint64_t collected_bytes; /* reports that switches and NICs sent */
	uint64_t bandwidth_bytes; /* polls, notifications and reports on the wire */
	uint64_t polls;
	uint64_t hops;
	double cpu_s, wall_s;
};

/*
 * Opens or makes a store.
 * @param sets  shape (none: the paper's) and sets, as one text: " --shape k6 --set switch.pfc.alpha=0.5"
 * @return NULL with err and errno set: EIO: the disk is full or broken; EINVAL: it belongs to another seed, scale or shape,
 *         or other sets
 */
struct store *store_open(const char *path, uint64_t seed, double scale, const char *sets, struct err *err);
void store_close(struct store *store);

/* All of these: 0, or -EIO with err set. */
int store_add_case(struct store *store, const char *family, uint32_t index, uint32_t attempt, struct err *err);
int store_exclude(struct store *store, const char *family, uint32_t index, uint32_t attempt, const char *why,
		  struct err *err);
int store_add_run(struct store *store, const struct store_run *run, struct err *err);

/* The attempt that is right by construction, -1: not known yet. */
int64_t store_attempt(struct store *store, const char *family, uint32_t index);
/* The attempt after those that were excluded. */
uint32_t store_next_attempt(struct store *store, const char *family, uint32_t index);
/* How many cases of a family with indices below this were excluded. */
uint32_t store_excluded(struct store *store, const char *family, uint32_t cases);
bool store_has_run(struct store *store, const char *family, uint32_t index, const char *policy);

/*
 * The runs of a family under a policy, by index.
 * @param cases  indices below it
 * @param runs   set to an array, the caller's to free
 * @return how many, or negative errno with err set
 */
int64_t store_runs(struct store *store, const char *family, const char *policy, uint32_t cases, struct store_run **runs,
		   struct err *err);

/*
 * All runs that there are, by family, policy and index.
 * @param each  is called for every one
 * @return 0, or -EIO with err set
 */
int store_each_run(struct store *store, void (*each)(void *ctx, const struct store_run *run), void *ctx, struct err *err);

/* Results in a store are of the cases that are beside it: a generator that writes another case has to notice. */

/* @return of the file's bytes; 0: it cannot be read */
uint64_t case_file_digest(const char *path);

/*
 * Keeps a case beside its place until case_file_check(), since it is written again. @return its digest; 0: it is not
 * there
 */
uint64_t case_file_set_aside(const char *path);

/*
 * When it has been written again: another case does not stay.
 * @param before  of case_file_set_aside()
 * @return 0; -EINVAL with err: it was another case, and is as before
 */
int case_file_check(const char *path, uint64_t before, struct err *err);
