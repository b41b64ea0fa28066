/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/outfile.h"
#include "common/run_files.h"
#include "store/schema.h"

/* The thread looks for rows so often. */
#define NAP_NS 10000000ULL
#define SQL_BYTES 4096
#define NS_PER_S 1000000000ULL

/* The file is nobody else's until it is whole: neither a journal nor a lock is needed, and losing power loses the run. */
static const char begin[] = "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
			    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -4096; BEGIN;";

/* Rows that stream are written by so many: that takes half as long. */
#define BATCH_ROWS 8

struct batch {
	sqlite3_stmt *insert; /* of all; NULL: none has streamed yet */
	uint32_t rows;        /* gathered */
	int64_t cells[BATCH_ROWS * STORE_MAX_COLUMNS];
};

struct run_store {
	struct outfile out;
	sqlite3 *db;
	sqlite3_stmt *inserts[STORE_TABLES]; /* of a row; NULL: none has been written yet */
	struct batch batches[STORE_TABLES];  /* the writing thread's own */
	uint32_t columns[STORE_TABLES];
	_Atomic int error; /* the first stays; written by whichever thread writes, read by any */
	/* The buffer: one thread streams, one writes. Positions count on. */
	int64_t *cells;
	size_t cap;
	size_t put;               /* the streaming thread's own: not all of it is committed */
	_Atomic size_t committed; /* written by the streaming thread (release), read by the writer (acquire) */
	_Atomic size_t written;   /* the reverse */
	pthread_t thread;
	pthread_mutex_t lock; /* of closing alone: the streaming thread never takes it */
	pthread_cond_t wake;
	bool started, closing;
	struct snapshot *snapshot; /* where rows go; NULL: to the file */
};

void
run_store_fail(struct run_store *store, int error)
{
	int none = 0;

	atomic_compare_exchange_strong(&store->error, &none, error);
}

int
run_store_errno(const struct run_store *store)
{
	return atomic_load_explicit(&store->error, memory_order_acquire);
}

/* @return the errno for an SQLite result. SQLite does not keep the error of a failed commit, but errno still has it. */
static int
errno_of(sqlite3 *db, int result)
{
	int left = errno, error = sqlite3_system_errno(db);

	if (result == SQLITE_NOMEM)
		return ENOMEM;
	if (result == SQLITE_FULL)
		return ENOSPC;
	return error != 0 ? error : left != 0 ? left : EIO;
}

static void
run_sql(struct run_store *store, const char *sql)
{
	int result = SQLITE_OK;

	errno = 0;
	if (run_store_errno(store) == 0)
		result = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
	if (result != SQLITE_OK)
		run_store_fail(store, errno_of(store->db, result));
}

static void
step(struct run_store *store, sqlite3_stmt *insert)
{
	int result = sqlite3_step(insert);

	if (result != SQLITE_DONE)
		run_store_fail(store, errno_of(store->db, result));
	sqlite3_reset(insert);
}

/* "INSERT INTO TABLE VALUES (?, ?), (?, ?)". @return NULL after a failure */
static sqlite3_stmt *
prepare_insert(struct run_store *store, enum store_table table, uint32_t rows)
{
	char sql[SQL_BYTES];
	size_t at = (size_t)snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES ", store_schemas[table].name);
	sqlite3_stmt *insert = NULL;
	int result;

	for (uint32_t i = 0; i < rows * store->columns[table]; i++) {
		const char *before = i == 0 ? "(" : i % store->columns[table] == 0 ? "), (" : ", ";

		at += (size_t)snprintf(sql + at, sizeof(sql) - at, "%s?", before);
	}
	snprintf(sql + at, sizeof(sql) - at, ")");
	result = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &insert, NULL);
	if (result != SQLITE_OK)
		run_store_fail(store, errno_of(store->db, result));
	return insert;
}

/* Most tables of a short run stay empty. @return NULL after a failure */
static sqlite3_stmt *
insert_into(struct run_store *store, enum store_table table)
{
	if (store->inserts[table] == NULL)
		store->inserts[table] = prepare_insert(store, table, 1);
	return store->inserts[table];
}

/* ---- the thread ---- */

static void
write_cells(struct run_store *store, sqlite3_stmt *insert, const int64_t *cells, uint32_t count)
{
	if (insert == NULL)
		return;
	for (uint32_t i = 0; i < count; i++)
		sqlite3_bind_int64(insert, (int)i + 1, cells[i]);
	step(store, insert);
}

/* Gathers a row; a batch that is full is written. @return the position behind the row */
static size_t
write_streamed(struct run_store *store, size_t position)
{
	enum store_table table = (enum store_table)store->cells[position++ % store->cap];
	uint32_t columns = store->columns[table];
	struct batch *batch = &store->batches[table];

	for (uint32_t i = 0; i < columns; i++)
		batch->cells[batch->rows * columns + i] = store->cells[position++ % store->cap];
	if (++batch->rows < BATCH_ROWS)
		return position;
	if (batch->insert == NULL)
		batch->insert = prepare_insert(store, table, BATCH_ROWS);
	write_cells(store, batch->insert, batch->cells, BATCH_ROWS * columns);
	batch->rows = 0;
	return position;
}

/* Batches that are not full. */
static void
write_rest(struct run_store *store)
{
	for (uint32_t table = 0; table < STORE_TABLES; table++) {
		struct batch *batch = &store->batches[table];
		uint32_t columns = store->columns[table];

		for (uint32_t row = 0; row < batch->rows && run_store_errno(store) == 0; row++)
			write_cells(store, insert_into(store, (enum store_table)table), batch->cells + row * columns,
				    columns);
		batch->rows = 0;
	}
}

/* Writes what is committed; what comes after a failure is thrown away. */
static void
drain(struct run_store *store)
{
	size_t end = atomic_load_explicit(&store->committed, memory_order_acquire);
	size_t position = atomic_load_explicit(&store->written, memory_order_relaxed);

	while (position != end && run_store_errno(store) == 0) {
		position = write_streamed(store, position);
		atomic_store_explicit(&store->written, position, memory_order_release);
	}
	atomic_store_explicit(&store->written, end, memory_order_release);
}

/* @return whether the store is closing */
static bool
nap(struct run_store *store)
{
	uint64_t until_ns = clock_now_ns() + NAP_NS;
	struct timespec until = { (time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S) };
	bool closing;

	pthread_mutex_lock(&store->lock);
	if (!store->closing)
		pthread_cond_timedwait(&store->wake, &store->lock, &until);
	closing = store->closing;
	pthread_mutex_unlock(&store->lock);
	return closing;
}

static void *
write_rows(void *arg)
{
	struct run_store *store = arg;

	while (!nap(store))
		drain(store);
	drain(store);
	write_rest(store);
	return NULL;
}

/* ---- the thread that streams ---- */

uint32_t
run_store_columns(const struct run_store *store, enum store_table table)
{
	return store->columns[table];
}

size_t
run_store_room(const struct run_store *store)
{
	if (run_store_errno(store) != 0)
		return 0;
	return store->cap - (store->put - atomic_load_explicit(&store->written, memory_order_acquire));
}

void
run_store_stream(struct run_store *store, enum store_table table, const int64_t *numbers)
{
	store->cells[store->put++ % store->cap] = table;
	for (uint32_t i = 0; i < store->columns[table]; i++)
		store->cells[store->put++ % store->cap] = numbers[i];
}

void
run_store_commit(struct run_store *store)
{
	atomic_store_explicit(&store->committed, store->put, memory_order_release);
}

/* ---- before and after ---- */

static void
make_table(struct run_store *store, enum store_table table)
{
	char sql[SQL_BYTES];
	size_t at = (size_t)snprintf(sql, sizeof(sql), "CREATE TABLE %s (", store_schemas[table].name);

	for (uint32_t i = 0; i < store->columns[table]; i++) {
		const struct store_column *column = &store_schemas[table].columns[i];

		at += (size_t)snprintf(sql + at, sizeof(sql) - at, "%s\"%s\" %s", i != 0 ? ", " : "", column->name,
				       column->type);
	}
	snprintf(sql + at, sizeof(sql) - at, ")");
	run_sql(store, sql);
}

static void
make_tables(struct run_store *store)
{
	char version[64];

	run_sql(store, begin);
	snprintf(version, sizeof(version), "PRAGMA user_version = %d", STORE_VERSION);
	run_sql(store, version);
	for (uint32_t table = 0; table < STORE_TABLES; table++) {
		store->columns[table] = store_columns((enum store_table)table);
		make_table(store, (enum store_table)table);
	}
}

/* Signals are for others. */
static int
start(struct run_store *store)
{
	pthread_condattr_t attr;
	sigset_t all, before;
	int error;

	pthread_mutex_init(&store->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&store->wake, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&store->thread, NULL, write_rows, store);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	store->started = error == 0;
	return error;
}

struct run_store *
run_store_create(const char *dir, size_t cells, struct err *err)
{
	struct run_store *store = calloc(1, sizeof(*store));
	int error = ENOMEM;

	if (store != NULL) {
		store->cap = cells;
		store->cells = malloc(cells * sizeof(*store->cells));
	}
	if (store == NULL || store->cells == NULL) {
		err_set(err, -ENOMEM, "%s/" RUN_STORE ": out of memory", dir);
		goto fail;
	}
	error = -outfile_open(&store->out, dir, RUN_STORE, err);
	if (error != 0)
		goto fail;
	if (sqlite3_open_v2(store->out.aside, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		run_store_fail(store, errno_of(store->db, SQLITE_CANTOPEN));
	else
		make_tables(store);
	error = run_store_errno(store);
	if (error == 0)
		error = start(store);
	if (error == 0)
		return store;
	err_set(err, -error, "%s/" RUN_STORE ": %s", dir, strerror(error));
fail:
	run_store_destroy(store);
	errno = error;
	return NULL;
}

struct run_store *
run_store_of_snapshot(struct snapshot *snapshot)
{
	struct run_store *store = calloc(1, sizeof(*store));

	if (store == NULL)
		return NULL;
	store->snapshot = snapshot;
	for (uint32_t table = 0; table < STORE_TABLES; table++)
		store->columns[table] = store_columns((enum store_table)table);
	return store;
}

void
run_store_settle(struct run_store *store)
{
	if (!store->started)
		return;
	pthread_mutex_lock(&store->lock);
	store->closing = true;
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
	pthread_join(store->thread, NULL);
	pthread_cond_destroy(&store->wake);
	pthread_mutex_destroy(&store->lock);
	store->started = false;
}

void
run_store_row(struct run_store *store, enum store_table table, const struct store_cell *cells)
{
	sqlite3_stmt *insert;

	assert(!store->started);
	if (run_store_errno(store) != 0)
		return;
	if (store->snapshot != NULL) {
		snapshot_row(store->snapshot, table, cells);
		return;
	}
	insert = insert_into(store, table);
	if (insert == NULL)
		return;
	for (int i = 0; i < (int)store->columns[table]; i++)
		switch (cells[i].type) {
		case STORE_CELL_NULL:
			sqlite3_bind_null(insert, i + 1);
			break;
		case STORE_CELL_INT:
			sqlite3_bind_int64(insert, i + 1, cells[i].number);
			break;
		case STORE_CELL_REAL:
			sqlite3_bind_double(insert, i + 1, cells[i].real);
			break;
		case STORE_CELL_TEXT:
			sqlite3_bind_text(insert, i + 1, cells[i].text, -1, SQLITE_STATIC);
			break;
		}
	step(store, insert);
}

static void
close_db(struct run_store *store)
{
	for (uint32_t table = 0; table < STORE_TABLES; table++) {
		sqlite3_finalize(store->inserts[table]);
		sqlite3_finalize(store->batches[table].insert);
		store->inserts[table] = store->batches[table].insert = NULL;
	}
	sqlite3_close(store->db);
	store->db = NULL;
}

int
run_store_close(struct run_store *store, struct err *err)
{
	run_store_settle(store);
	run_sql(store, "COMMIT");
	close_db(store);
	return outfile_close(&store->out, -run_store_errno(store), err);
}

void
run_store_destroy(struct run_store *store)
{
	if (store == NULL)
		return;
	run_store_settle(store);
	close_db(store);
	if (store->out.file != NULL)
		outfile_close(&store->out, -ECANCELED, NULL);
	free(store->cells);
	free(store);
}

/* ---- Rows that go to another program ---- */

#define END_OF_ROWS 0xff
#define LEAST_BYTES 65536
#define MOST_TEXT_BYTES (1u << 20)

/*
 * The head of a snapshot. Its version is that of the schema, and of the number of columns: programs of one build read
 * one another.
 */
struct head {
	char magic[8];
	uint32_t version, columns;
};

static struct head
head_of(void)
{
	struct head head = { "rocelive", STORE_VERSION, 0 };

	for (uint32_t table = 0; table < STORE_TABLES; table++)
		head.columns = head.columns * 31 + store_columns((enum store_table)table);
	return head;
}

/* ---- to be sent ---- */

static void
put(struct snapshot *snapshot, const void *data, size_t size)
{
	if (snapshot->error != 0)
		return;
	if (snapshot->size + size > snapshot->cap) {
		size_t cap = 2 * snapshot->cap + size + LEAST_BYTES;
		uint8_t *grown = realloc(snapshot->bytes, cap);

		if (grown == NULL) {
			snapshot->error = ENOMEM;
			return;
		}
		snapshot->bytes = grown;
		snapshot->cap = cap;
	}
	memcpy(snapshot->bytes + snapshot->size, data, size);
	snapshot->size += size;
}

static void
put_byte(struct snapshot *snapshot, uint8_t byte)
{
	put(snapshot, &byte, 1);
}

void
snapshot_begin(struct snapshot *snapshot)
{
	struct head head = head_of();

	snapshot->size = 0;
	snapshot->error = 0;
	put(snapshot, &head, sizeof(head));
}

void
snapshot_row(struct snapshot *snapshot, enum store_table table, const struct store_cell *cells)
{
	put_byte(snapshot, (uint8_t)table);
	for (uint32_t i = 0; i < store_columns(table); i++) {
		uint32_t length;

		put_byte(snapshot, (uint8_t)cells[i].type);
		if (cells[i].type == STORE_CELL_INT)
			put(snapshot, &cells[i].number, sizeof(cells[i].number));
		if (cells[i].type == STORE_CELL_REAL)
			put(snapshot, &cells[i].real, sizeof(cells[i].real));
		if (cells[i].type != STORE_CELL_TEXT)
			continue;
		length = (uint32_t)strnlen(cells[i].text, MOST_TEXT_BYTES);
		put(snapshot, &length, sizeof(length));
		put(snapshot, cells[i].text, length);
	}
}

void
snapshot_end(struct snapshot *snapshot)
{
	put_byte(snapshot, END_OF_ROWS);
}

void
snapshot_fini(struct snapshot *snapshot)
{
	free(snapshot->bytes);
	*snapshot = (struct snapshot){ 0 };
}

/* ---- received ---- */

struct reader {
	FILE *from;
	sqlite3 *db;
	sqlite3_stmt *inserts[STORE_TABLES];
	char *text; /* [MOST_TEXT_BYTES] */
};

static int
snapshot_tables(struct reader *reader, struct err *err)
{
	for (uint32_t table = 0; table < STORE_TABLES; table++) {
		sqlite3_str *create = sqlite3_str_new(NULL), *insert = sqlite3_str_new(NULL);
		char *sql;
		int result;

		sqlite3_str_appendf(create, "CREATE TABLE \"%w\" (", store_schemas[table].name);
		sqlite3_str_appendf(insert, "INSERT INTO \"%w\" VALUES (", store_schemas[table].name);
		for (uint32_t i = 0; i < store_columns((enum store_table)table); i++) {
			sqlite3_str_appendf(create, "%s\"%w\" %s", i != 0 ? ", " : "", store_schemas[table].columns[i].name,
					    store_schemas[table].columns[i].type);
			sqlite3_str_appendall(insert, i != 0 ? ", ?" : "?");
		}
		sqlite3_str_appendall(create, ")");
		sqlite3_str_appendall(insert, ")");
		sql = sqlite3_str_finish(create);
		result = sql != NULL ? sqlite3_exec(reader->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
		sqlite3_free(sql);
		sql = sqlite3_str_finish(insert);
		if (result == SQLITE_OK)
			result = sql != NULL ? sqlite3_prepare_v2(reader->db, sql, -1, &reader->inserts[table], NULL)
					     : SQLITE_NOMEM;
		sqlite3_free(sql);
		if (result != SQLITE_OK)
			return err_set(err, -ENOMEM, "out of memory for the counters of a run");
	}
	return 0;
}

static int
get(struct reader *reader, void *data, size_t size, struct err *err)
{
	if (fread(data, 1, size, reader->from) == size)
		return 0;
	return err_set(err, -EINVAL, "the run has ended, or sends no counters");
}

static int
get_cell(struct reader *reader, sqlite3_stmt *insert, int index, struct err *err)
{
	uint8_t type = STORE_CELL_NULL;
	uint32_t length = 0;
	int64_t number = 0;
	double real = 0;
	int ret = get(reader, &type, 1, err);

	if (ret < 0)
		return ret;
	switch (type) {
	case STORE_CELL_NULL:
		sqlite3_bind_null(insert, index);
		return 0;
	case STORE_CELL_INT:
		ret = get(reader, &number, sizeof(number), err);
		sqlite3_bind_int64(insert, index, number);
		return ret;
	case STORE_CELL_REAL:
		ret = get(reader, &real, sizeof(real), err);
		sqlite3_bind_double(insert, index, real);
		return ret;
	case STORE_CELL_TEXT:
		ret = get(reader, &length, sizeof(length), err);
		if (ret == 0 && length > MOST_TEXT_BYTES)
			break;
		if (ret == 0)
			ret = get(reader, reader->text, length, err);
		sqlite3_bind_text(insert, index, reader->text, ret == 0 ? (int)length : 0, SQLITE_TRANSIENT);
		return ret;
	}
	return err_set(err, -EINVAL, "the run sends no counters that this program reads");
}

/* @return 1: a row; 0: the end; negative errno with err set */
static int
get_row(struct reader *reader, struct err *err)
{
	uint8_t table;
	int ret = get(reader, &table, 1, err);

	if (ret < 0 || table == END_OF_ROWS)
		return ret;
	if (table >= STORE_TABLES)
		return err_set(err, -EINVAL, "the run sends no counters that this program reads");
	for (uint32_t i = 0; ret == 0 && i < store_columns((enum store_table)table); i++)
		ret = get_cell(reader, reader->inserts[table], (int)i + 1, err);
	if (ret < 0)
		return ret;
	if (sqlite3_step(reader->inserts[table]) != SQLITE_DONE || sqlite3_reset(reader->inserts[table]) != SQLITE_OK)
		return err_set(err, -ENOMEM, "out of memory for the counters of a run");
	return 1;
}

static int
read_all(struct reader *reader, struct err *err)
{
	struct head expected = head_of(), head;
	int ret = get(reader, &head, sizeof(head), err);

	if (ret == 0 && memcmp(&head, &expected, sizeof(head)) != 0)
		ret = err_set(err, -EINVAL, "the run is of another version of rocelab: use the one that runs it");
	if (ret == 0)
		ret = snapshot_tables(reader, err);
	for (int more = 1; ret == 0 && more == 1;) {
		more = get_row(reader, err);
		ret = more < 0 ? more : 0;
	}
	return ret;
}

sqlite3 *
snapshot_read(int fd, struct err *err)
{
	struct reader reader = { .from = fdopen(dup(fd), "r"), .text = malloc(MOST_TEXT_BYTES) };
	int ret = 0;

	if (reader.from == NULL || reader.text == NULL || sqlite3_open(":memory:", &reader.db) != SQLITE_OK)
		ret = err_set(err, -ENOMEM, "out of memory for the counters of a run");
	else
		ret = read_all(&reader, err);
	for (uint32_t table = 0; table < STORE_TABLES; table++)
		sqlite3_finalize(reader.inserts[table]);
	free(reader.text);
	if (reader.from != NULL)
		fclose(reader.from);
	if (ret == 0)
		return reader.db;
	sqlite3_close(reader.db);
	return NULL;
}
