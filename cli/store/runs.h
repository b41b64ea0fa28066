/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions on whole runs: their stores in one connection, their findings, their folders, their partitions. */
#pragma once

#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* SQLite attaches no more, and one is kept for what a command gathers. */
#define RUNS_MOST 9

/*
 * A database in memory to which the stores of runs are attached, to be read.
 * @param dirs  [count] folders of runs; each one's tables are r0.TABLE, r1.TABLE ...
 * @return NULL with err set and errno: one has no store, or it is none of this version
 */
sqlite3 *runs_open(const char *const *dirs, uint32_t count, struct err *err);

/* The findings of a verdict, in the store of its run. */

/*
 * Replaces the findings in DIR/run.sqlite by those of DIR/verdict.json, in one transaction. Without one of
 * them nothing happens.
 * @return 0 or negative errno with err set
 */
int findings_store(const char *dir, struct err *err);

/* Has a run's folder a verdict? Without one its store has no findings, and nobody knows whether there are any. */
bool findings_known(const char *dir);

/* Runs below a folder. */

/*
 * The folder below parent whose run ended last, or of those that go on began last.
 * @param goes_on  those alone that can be asked for their counters
 * @return 0, or -ENOENT with err set: there is none
 */
int latest_run(const char *parent, bool goes_on, char path[PATH_MAX], struct err *err);

/* The stores of a fabric's partitions, as one. */

/*
 * Adds what the partitions behind the first counted to DIR/run.sqlite, which is the first one's. Each has counters of its
 * own nodes. A run without stores has nothing to add.
 * @return 0 or negative errno with err set
 */
int partitions_store(const char *dir, uint32_t partitions, struct err *err);
