/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a run's store to be read. */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

#include "common/err.h"

/*
 * DIR/run.sqlite, read-only.
 * @return NULL with err set and errno: -ENOENT: the run has none; -EINVAL: it is none of this version
 */
sqlite3 *store_read(const char *dir, struct err *err);

/*
 * Prepares one statement that changes nothing.
 * @return NULL with err set: wrong SQL, several statements, or one that writes
 */
sqlite3_stmt *store_select(sqlite3 *db, const char *sql, struct err *err);
