/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shards of a series of runs: several programs, on one machine or many, each make a part of the runs, each in a folder
 * of its own. A merge is the union of these folders: there, the same command finds all runs done, and writes the tables
 * of one program that made them all.
 */
#pragma once

#include <glob.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define SHARD_MAX 10000

struct shard {
	uint32_t number, count; /* this program makes the runs whose number is number modulo count; count 0: all */
	glob_t folders;         /* of shards that are merged, gl_pathc of them; none: runs are made */
};

/*
 * Has this program a run, or the runs of a case?
 * @param shard   NULL: all are its own
 * @param number  of the run or case in the series
 */
static inline bool
shard_has(const struct shard *shard, uint64_t number)
{
	return shard == NULL || shard->count == 0 || number % shard->count == shard->number;
}

/* Does this program make a part of the runs alone? Then it has no tables to write. */
static inline bool
shard_is_part(const struct shard *shard)
{
	return shard != NULL && shard->count > 1;
}

static inline bool
shard_is_merge(const struct shard *shard)
{
	return shard != NULL && shard->folders.gl_pathc != 0;
}

/*
 * "2/4": the second of four.
 * @param text  is split in place
 * @return 0, or -EINVAL with err set
 */
int shard_parse(struct shard *shard, char *text, struct err *err);

/*
 * Adds a shard's folder, or those that a shell pattern matches.
 * @return 0 or -ENOMEM with err set; shard_fini() in any case
 */
int shard_add_folders(struct shard *shard, const char *pattern, struct err *err);
void shard_fini(struct shard *shard);

/* The default folder: dir, or "dir-2-of-4" of a part. @param buf  [cap] @return buf */
char *shard_folder(const struct shard *shard, const char *dir, char *buf, size_t cap);

/*
 * Merges the folders of shards into dir, if there are any: the files of their runs, and the rows of their stores
 * (*.sqlite). Files beside the stores are results, which the caller writes anew.
 * @param kept  names of files in dir itself that are no results: shards have the same; NULL ends it. NULL: there are none
 * @return 0, or negative errno with err set; -EINVAL: a folder is missing, or they are of different series
 */
int shard_merge(const struct shard *shard, const char *dir, const char *const *kept, struct err *err);

/*
 * Before runs are made: a merge makes none.
 * @param missing  runs that are not done
 * @return 0, or -ENODATA with err set: shards are merged, and lack runs
 */
int shard_check(const struct shard *shard, uint64_t missing, struct err *err);
