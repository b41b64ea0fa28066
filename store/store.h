/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes a run's store. While the run goes on, one thread streams rows of numbers into a bounded buffer, and a thread of
 * the store's own writes them: no packet thread calls SQLite, or waits for a disk. Before and after the run its owner
 * writes rows directly. The file is written aside and moved to its name when it is whole (common/outfile.h).
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "store/schema.h"

struct run_store;

struct store_cell {
	enum { STORE_CELL_NULL, STORE_CELL_INT, STORE_CELL_REAL, STORE_CELL_TEXT } type;
	union {
		int64_t number;
		double real;
		const char *text; /* borrowed until the call returns */
	};
};

#define STORE_NULL ((struct store_cell){ .type = STORE_CELL_NULL })
#define STORE_INT(value) ((struct store_cell){ .type = STORE_CELL_INT, .number = (int64_t)(value) })
#define STORE_REAL(value) ((struct store_cell){ .type = STORE_CELL_REAL, .real = (value) })
#define STORE_TEXT(value) ((struct store_cell){ .type = STORE_CELL_TEXT, .text = (value) })

/*
 * Begins DIR/run.sqlite, with its tables, and the thread.
 * @param cells  of the buffer: rows that stream are columns + 1 each
 * @return NULL with err set and errno
 */
struct run_store *run_store_create(const char *dir, size_t cells, struct err *err);

struct snapshot;

/* A store whose rows go to a snapshot (below); it has no file, no thread and no buffer. @return NULL: no memory */
struct run_store *run_store_of_snapshot(struct snapshot *snapshot);

/* @return how many columns a table has */
uint32_t run_store_columns(const struct run_store *store, enum store_table table);

/* The thread that streams. @return cells that may be streamed now; 0: the store has failed */
size_t run_store_room(const struct run_store *store);
/* A row of numbers; there is room for it. It is written once it is committed. */
void run_store_stream(struct run_store *store, enum store_table table, const int64_t *numbers);
void run_store_commit(struct run_store *store);

/* The run is over: waits until what was streamed is written, and ends the thread. Twice is allowed. */
void run_store_settle(struct run_store *store);

/* A row, after run_store_settle(). After a failure it does nothing. @param cells  as many as the table has columns */
void run_store_row(struct run_store *store, enum store_table table, const struct store_cell *cells);

/* Records that a write failed, with an errno; the first one is kept. */
void run_store_fail(struct run_store *store, int error);
/* @return 0, or the errno of what failed first */
int run_store_errno(const struct run_store *store);

/* Ends the file and moves it to its name; after a failure it is removed. @return 0 or negative errno with err set */
int run_store_close(struct run_store *store, struct err *err);
/* Frees the store; removes the file of one that was not closed. Also for NULL. */
void run_store_destroy(struct run_store *store);

/*
 * Rows of a store that go from a running program to one that reads them, both of the same version: a head, rows of cells,
 * an end. The reader has them in memory, with the same tables as DIR/run.sqlite.
 */

struct snapshot {
	uint8_t *bytes; /* [size] by malloc(3) */
	size_t size, cap;
	int error; /* ENOMEM: rows are missing */
};

void snapshot_begin(struct snapshot *snapshot);
/* @param cells  as many as the table has columns */
void snapshot_row(struct snapshot *snapshot, enum store_table table, const struct store_cell *cells);
void snapshot_end(struct snapshot *snapshot);
void snapshot_fini(struct snapshot *snapshot);

/*
 * Reads one up to its end.
 * @return a database in memory, or NULL with err set: another version, or it ends early
 */
sqlite3 *snapshot_read(int fd, struct err *err);
