/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/store/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <string.h>

#include "common/printable.h"

/* @return as sqlite3_step(), with err set where it is neither a row nor the end */
static int
next(sqlite3_stmt *stmt, struct err *err)
{
	int result = sqlite3_step(stmt);

	if (result != SQLITE_ROW && result != SQLITE_DONE)
		err_set(err, -EIO, "%s", sqlite3_errmsg(sqlite3_db_handle(stmt)));
	return result;
}

/* ---- a table for people ---- */

static bool
is_number(const sqlite3_stmt *stmt, int column)
{
	int type = sqlite3_column_type((sqlite3_stmt *)stmt, column);

	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* Columns of numbers stand to the right, as their first row has it. */
static int
add_columns(struct libscols_table *table, sqlite3_stmt *stmt)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++)
		if (scols_table_new_column(table, sqlite3_column_name(stmt, i), 0,
					   is_number(stmt, i) ? SCOLS_FL_RIGHT : 0) == NULL)
			return -ENOMEM;
	return 0;
}

static int
add_line(struct libscols_table *table, sqlite3_stmt *stmt)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	int ret = line != NULL ? 0 : -ENOMEM;

	for (int i = 0; ret == 0 && i < sqlite3_column_count(stmt); i++) {
		const char *text = (const char *)sqlite3_column_text(stmt, i);

		ret = scols_line_set_data(line, (size_t)i, text != NULL ? plain_line(text).text : "N/A");
	}
	return ret;
}

static int
print_text(sqlite3_stmt *stmt, uint64_t most, FILE *to, struct err *err)
{
	struct libscols_table *table = scols_new_table();
	int ret = table != NULL ? 0 : -ENOMEM, result = next(stmt, err);
	uint64_t rows = 0;

	if (ret == 0)
		ret = add_columns(table, stmt);
	for (; ret == 0 && result == SQLITE_ROW; result = next(stmt, err), rows++)
		if (most == 0 || rows < most)
			ret = add_line(table, stmt);
	if (ret == 0 && rows != 0) {
		scols_table_set_stream(table, to);
		scols_print_table(table);
	}
	if (ret == 0 && rows == 0)
		fputs("no rows\n", to);
	if (most != 0 && rows > most)
		fprintf(to, "%" PRIu64 " more rows: --limit 0, or --csv\n", rows - most);
	scols_unref_table(table);
	if (ret < 0)
		return err_set(err, ret, "out of memory for a table");
	return result == SQLITE_DONE ? 0 : -EIO;
}

/* ---- JSON ---- */

void
tables_print_string(const char *text, FILE *to)
{
	json_t *string = json_string(text);

	if (string == NULL || json_dumpf(string, to, JSON_ENCODE_ANY) < 0) /* no UTF-8 */
		fputs("null", to);
	json_decref(string);
}

static json_t *
value_json(sqlite3_stmt *stmt, int column)
{
	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_INTEGER:
		return json_integer(sqlite3_column_int64(stmt, column));
	case SQLITE_FLOAT:
		return json_real(sqlite3_column_double(stmt, column));
	case SQLITE_NULL:
		return json_null();
	default:
		return json_string((const char *)sqlite3_column_text(stmt, column));
	}
}

static json_t *
row_json(sqlite3_stmt *stmt)
{
	json_t *row = json_object();

	for (int i = 0; i < sqlite3_column_count(stmt); i++)
		json_object_set_new(row, sqlite3_column_name(stmt, i), value_json(stmt, i));
	return row;
}

static int
print_json(sqlite3_stmt *stmt, FILE *to, struct err *err)
{
	const char *before = "[\n ";
	int result, ret = 0;

	while (ret == 0 && (result = next(stmt, err)) == SQLITE_ROW) {
		json_t *row = row_json(stmt);

		fputs(before, to);
		ret = row == NULL || json_dumpf(row, to, JSON_PRESERVE_ORDER) < 0 ? -ENOMEM : 0;
		json_decref(row);
		before = ",\n ";
	}
	if (ret < 0)
		return err_set(err, ret, "out of memory for JSON");
	fputs(before[0] == '[' ? "[]" : "\n]", to);
	return result == SQLITE_DONE ? 0 : -EIO;
}

/* ---- CSV ---- */

static void
print_field(const char *text, FILE *to)
{
	if (strpbrk(text, ",\"\r\n") == NULL) {
		fputs(text, to);
		return;
	}
	fputc('"', to);
	for (; *text != '\0'; text++)
		fprintf(to, *text == '"' ? "\"\"" : "%c", *text);
	fputc('"', to);
}

static int
print_csv(sqlite3_stmt *stmt, FILE *to, struct err *err)
{
	int columns = sqlite3_column_count(stmt), result;

	for (int i = 0; i < columns; i++) {
		print_field(sqlite3_column_name(stmt, i), to);
		fputc(i + 1 < columns ? ',' : '\n', to);
	}
	while ((result = next(stmt, err)) == SQLITE_ROW)
		for (int i = 0; i < columns; i++) {
			const char *text = (const char *)sqlite3_column_text(stmt, i);

			print_field(text != NULL ? text : "", to);
			fputc(i + 1 < columns ? ',' : '\n', to);
		}
	return result == SQLITE_DONE ? 0 : -EIO;
}

int
tables_print(sqlite3_stmt *stmt, enum tables_format format, uint64_t most, FILE *to, struct err *err)
{
	switch (format) {
	case TABLES_JSON:
		return print_json(stmt, to, err);
	case TABLES_CSV:
		return print_csv(stmt, to, err);
	default:
		return print_text(stmt, most, to, err);
	}
}
