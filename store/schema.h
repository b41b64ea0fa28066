/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of a run's store, DIR/run.sqlite: what `rocelab show` and `query` read, and anything that opens SQLite. A
 * table is a row here; the file is made from it, and docs/outputs.md is printed from it.
 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

#include "common/err.h"

/* PRAGMA user_version of the schema. A new column keeps it; a column whose meaning changes increases it. */
#define STORE_VERSION 2

#define STORE_MAX_COLUMNS 32

enum store_table {
	STORE_RUN,
	STORE_CONFIG,
	STORE_NODES,
	STORE_PORTS,
	STORE_ECN,
	STORE_PORT_COUNTERS,
	STORE_QUEUE_COUNTERS,
	STORE_PRIORITY_GROUPS,
	STORE_BUFFER_POOLS,
	STORE_PFC_COUNTERS,
	STORE_PFC_WATCHDOG,
	STORE_DROPS,
	STORE_NIC_COUNTERS,
	STORE_QPS,
	STORE_PORT_SERIES,
	STORE_QUEUE_SERIES,
	STORE_JOBS,
	STORE_COLLECTIVES,
	STORE_STEPS,
	STORE_FLOWS,
	STORE_FINDINGS,
	STORE_LEDGERS,
	STORE_TABLES,
};

struct store_column {
	const char *name;
	const char *type; /* of SQLite */
	const char *unit; /* "": none */
	const char *doc;
};

struct store_schema {
	const char *name, *doc;
	struct store_column columns[STORE_MAX_COLUMNS]; /* ends with one without a name */
};

extern const struct store_schema store_schemas[STORE_TABLES]; /* by enum store_table */

/* @return how many columns a table has */
uint32_t store_columns(enum store_table table);

/* The name of a class's queue, group or counter has its number: classes are 0 to 7. */
#define STORE_CLASSES 8

/*
 * Opens DIR/run.sqlite, read-only.
 * @return NULL with err set and errno: -ENOENT: the run has none; -EINVAL: it is none of this version
 */
sqlite3 *store_read(const char *dir, struct err *err);

/*
 * Prepares one statement that changes nothing.
 * @return NULL with err set: wrong SQL, several statements, or one that writes
 */
sqlite3_stmt *store_select(sqlite3 *db, const char *sql, struct err *err);
