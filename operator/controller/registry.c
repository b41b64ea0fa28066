/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator/controller/registry.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

struct registry {
	sqlite3 *db;
	sqlite3_stmt *put, *find;
};

#define WAIT_LIMIT_MS 2000       /* for a controller that ends while the next one starts */
#define APPLICATION "1380994640" /* "RPMP" as a number: file owner (sqlite.org/pragma.html#pragma_application_id) */

/* Held alone, as long as it is open; its journal is a file's, its writes wait for the disk. */
static const char lock[] = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;";
static const char schema[] =
	"PRAGMA application_id = " APPLICATION ";"
	"CREATE TABLE IF NOT EXISTS rnics (ip INTEGER PRIMARY KEY, host INTEGER NOT NULL, nic INTEGER NOT NULL,"
	" tor INTEGER NOT NULL, gid BLOB NOT NULL, qpn INTEGER NOT NULL);"
	"COMMIT;";
static const char put_rnic[] = "INSERT OR REPLACE INTO rnics (ip, host, nic, tor, gid, qpn) VALUES (?, ?, ?, ?, ?, ?)";
static const char find_rnic[] = "SELECT nic, tor, gid, qpn FROM rnics WHERE ip = ?";

static int
failed(struct registry *registry, struct err *err)
{
	const char *path = sqlite3_db_filename(registry->db, "main");
	bool is_full = sqlite3_errcode(registry->db) == SQLITE_FULL;

	return err_set(err, -EIO, "%s: %s%s", path != NULL && path[0] != '\0' ? path : "the registry",
		       sqlite3_errmsg(registry->db), is_full ? "; make room: who was refused asks again" : "");
}

/* ---- opening ---- */

/* A new file has none. */
static int64_t
application(struct registry *registry)
{
	sqlite3_stmt *stmt = NULL;
	int64_t id = -1;

	if (sqlite3_prepare_v2(registry->db,
			       "SELECT a.application_id, (SELECT COUNT(*) FROM sqlite_master) FROM pragma_application_id a",
			       -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW) {
		id = sqlite3_column_int64(stmt, 0);
		if (id == 0 && sqlite3_column_int64(stmt, 1) != 0)
			id = -1; /* registered without a name */
	}
	sqlite3_finalize(stmt);
	return id;
}

/* Without this check, a truncated or corrupt page would show only when an agent requests its contents. */
static bool
is_whole(struct registry *registry)
{
	sqlite3_stmt *stmt = NULL;
	bool whole = sqlite3_prepare_v2(registry->db, "PRAGMA quick_check(1)", -1, &stmt, NULL) == SQLITE_OK &&
		     sqlite3_step(stmt) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0;

	sqlite3_finalize(stmt);
	return whole;
}

static int
set_up(struct registry *registry, const char *path, struct err *err)
{
	int64_t id;
	int rc;

	sqlite3_busy_timeout(registry->db, WAIT_LIMIT_MS);
	rc = sqlite3_exec(registry->db, lock, NULL, NULL, NULL);
	if (rc == SQLITE_BUSY)
		return err_set(err, -EIO, "%s: another program has it open; give each controller a store of its own", path);
	if (rc == SQLITE_NOTADB)
		return err_set(err, -EIO, "%s: no registry, but another file; give a path of which there is nothing yet",
			       path);
	if (rc == SQLITE_CORRUPT || (rc == SQLITE_OK && !is_whole(registry)))
		return err_set(err, -EIO, "%s: damaged; remove it, and RNICs are known again as their agents start", path);
	if (rc != SQLITE_OK)
		return failed(registry, err);
	id = application(registry);
	if (id != 0 && id != atoll(APPLICATION))
		return err_set(err, -EIO, "%s: a database, but no registry; give a path of which there is nothing yet",
			       path);
	if (sqlite3_exec(registry->db, schema, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(registry->db, put_rnic, -1, &registry->put, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(registry->db, find_rnic, -1, &registry->find, NULL) != SQLITE_OK)
		return failed(registry, err);
	return 0;
}

int
registry_open(const char *path, struct registry **out, struct err *err)
{
	struct registry *registry = calloc(1, sizeof(*registry));
	int rc;

	if (registry == NULL)
		return err_set(err, -ENOMEM, "out of memory for the registry");
	if (sqlite3_open(path, &registry->db) == SQLITE_OK)
		rc = set_up(registry, path, err);
	else
		rc = err_set(err, -EIO, "%s: %s", path, sqlite3_errmsg(registry->db));
	if (rc != 0) {
		registry_close(registry);
		return rc;
	}
	*out = registry;
	return 0;
}

void
registry_close(struct registry *registry)
{
	if (registry == NULL)
		return;
	sqlite3_finalize(registry->put);
	sqlite3_finalize(registry->find);
	sqlite3_close(registry->db);
	free(registry);
}

/* ---- entries ---- */

static bool
put_one(struct registry *registry, uint32_t host, const struct pingmesh_rnic *rnic)
{
	bool done;

	sqlite3_bind_int64(registry->put, 1, rnic->ip);
	sqlite3_bind_int64(registry->put, 2, host);
	sqlite3_bind_int64(registry->put, 3, rnic->nic);
	sqlite3_bind_int64(registry->put, 4, rnic->tor);
	sqlite3_bind_blob(registry->put, 5, rnic->gid, sizeof(rnic->gid), SQLITE_STATIC);
	sqlite3_bind_int64(registry->put, 6, rnic->qpn);
	done = sqlite3_step(registry->put) == SQLITE_DONE;
	sqlite3_reset(registry->put);
	sqlite3_clear_bindings(registry->put);
	return done;
}

int
registry_put(struct registry *registry, uint32_t host, const struct pingmesh_rnic *rnics, uint32_t count, struct err *err)
{
	bool good = sqlite3_exec(registry->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK;

	for (uint32_t i = 0; i < count && good; i++)
		good = put_one(registry, host, &rnics[i]);
	if (good && sqlite3_exec(registry->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	failed(registry, err);
	sqlite3_exec(registry->db, "ROLLBACK", NULL, NULL, NULL);
	return -EIO;
}

int
registry_find(struct registry *registry, uint32_t ip, struct pingmesh_rnic *rnic, struct err *err)
{
	int rc;

	*rnic = (struct pingmesh_rnic){ .ip = ip };
	sqlite3_bind_int64(registry->find, 1, ip);
	rc = sqlite3_step(registry->find);
	if (rc == SQLITE_ROW) {
		const void *gid = sqlite3_column_blob(registry->find, 2);

		rnic->nic = (uint16_t)sqlite3_column_int64(registry->find, 0);
		rnic->tor = (uint32_t)sqlite3_column_int64(registry->find, 1);
		rnic->qpn = (uint32_t)sqlite3_column_int64(registry->find, 3);
		if (gid != NULL && sqlite3_column_bytes(registry->find, 2) == sizeof(rnic->gid))
			memcpy(rnic->gid, gid, sizeof(rnic->gid));
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		failed(registry, err);
	sqlite3_reset(registry->find);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -EIO;
}
