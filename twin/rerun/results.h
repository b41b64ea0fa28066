/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A SQLite file of finished runs, by which an interrupted series of runs goes on: stored runs are not made again. The
 * stores of evaluations, counterfactuals and sweeps are such files, each with tables of its own.
 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

#include "common/err.h"

/*
 * Opens or makes one. Programs that read or write it at the same time are waited for.
 * @param schema  statements that make what is missing
 * @param probes  queries on each table, up to NULL: they can be prepared where the file is of this version
 * @return NULL with err and errno set: EIO: the disk is full or broken; EINVAL: it cannot be opened, is damaged, or is of
 *         another version
 */
sqlite3 *results_open(const char *path, const char *schema, const char *const *probes, struct err *err);

/*
 * The first program to open a file records of what its results are, as one text: " odd, seed 3". All others have the same.
 * @return 0, or negative errno with err set; -EEXIST: it has results of something else
 */
int results_belong(sqlite3 *db, const char *of, struct err *err);

/* What results_belong() needs of a schema. */
#define RESULTS_OF "CREATE TABLE IF NOT EXISTS results_of (text TEXT NOT NULL);"

/* @return -EIO, with err set to the latest error of the file */
int results_failed(sqlite3 *db, struct err *err);
/* @return NULL: the error is reported by results_finish() */
sqlite3_stmt *results_prepare(sqlite3 *db, const char *sql);
/* Runs a statement that has no rows, and ends it. @return 0 or -EIO with err set */
int results_finish(sqlite3 *db, sqlite3_stmt *stmt, struct err *err);
/* The one number of a query, which ends. @return fallback: there is none */
int64_t results_number(sqlite3_stmt *stmt, int64_t fallback);

/*
 * Adds the rows of another file of the same series, of which this one may be a part; a row that both have stays as it is. A
 * table without a primary key says what the results are of: both have the same.
 * @param to    its path; made where it is missing
 * @param from  is only read
 * @return 0, or negative errno with err set; -EINVAL: from is no such file, or is of something else
 */
int results_merge(const char *to, const char *from, struct err *err);
