/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/store/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "common/printable.h"

#define VERSION 3 /* JSON_FILE_VERSION of nccl-tests */

enum column { NAME, OP, BYTES, COUNT, TYPE, REDOP, ROOT, TIME, ALGBW, BUSBW, WRONG, ITERATIONS };

/* The footer's sums. */
struct sums {
	uint64_t rows, wrong;
	double busbw;
};

static const char *
text_of(sqlite3_stmt *stmt, enum column column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text != NULL ? text : "-";
}

/* Prints up to two decimals, as many as fit: nccl-tests' getFloatStr(). @return buf */
static const char *
number_text(double value, int width, char buf[16])
{
	for (int decimals = 2; decimals >= 0; decimals--)
		if (snprintf(buf, 16, "%*.*f", width, decimals, value) <= width)
			return buf;
	snprintf(buf, 16, width >= 7 ? "%*.1e" : "%*.0e", width, value);
	return buf;
}

static void
add(struct sums *sums, sqlite3_stmt *stmt)
{
	sums->rows++;
	sums->busbw += sqlite3_column_double(stmt, BUSBW);
	sums->wrong += (uint64_t)sqlite3_column_int64(stmt, WRONG);
}

static double
mean_busbw(const struct sums *sums)
{
	return sums->rows != 0 ? sums->busbw / (double)sums->rows : 0;
}

/* ---- text ---- */

static void
print_header(sqlite3_stmt *stmt, FILE *to)
{
	fprintf(to, "# Collective test starting: %s (%s)\n#\n", plain_line(text_of(stmt, NAME)).text, text_of(stmt, OP));
	fprintf(to, "# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place          \n", "", "",
		"", "", "");
	fprintf(to, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n", "size", "count", "type",
		"redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong");
	fprintf(to, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n", "(B)", "(elements)", "", "",
		"", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
}

static void
print_footer(const struct sums *sums, FILE *to)
{
	if (sums->rows != 0)
		fprintf(to, "# %-20s : %" PRIu64 " %s\n# %-20s : %g \n#\n", "Out of bounds values", sums->wrong,
			sums->wrong != 0 ? "FAILED" : "OK", "Avg bus bandwidth", mean_busbw(sums));
}

static void
print_row(sqlite3_stmt *stmt, FILE *to)
{
	char time[16], algbw[16], busbw[16], wrong[32] = "   N/A";

	fprintf(to, "%12" PRId64 "  %12" PRId64 "  %8s  %6s  %6d", (int64_t)sqlite3_column_int64(stmt, BYTES),
		(int64_t)sqlite3_column_int64(stmt, COUNT), text_of(stmt, TYPE), text_of(stmt, REDOP),
		sqlite3_column_int(stmt, ROOT));
	if (sqlite3_column_type(stmt, WRONG) != SQLITE_NULL)
		snprintf(wrong, sizeof(wrong), "%6g", sqlite3_column_double(stmt, WRONG));
	number_text(sqlite3_column_double(stmt, TIME), 7, time);
	number_text(sqlite3_column_double(stmt, ALGBW), 6, algbw);
	number_text(sqlite3_column_double(stmt, BUSBW), 6, busbw);
	for (int place = 0; place < 2; place++)
		fprintf(to, "  %7s  %6s  %6s  %6s", time, algbw, busbw, wrong);
	fputc('\n', to);
}

/* A table for each collective, as each of nccl-tests' programs prints one. @return as sqlite3_step() */
static int
print_text(sqlite3_stmt *stmt, FILE *to)
{
	char name[128] = "";
	struct sums sums = { 0 };
	int result;

	while ((result = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (sums.rows == 0 || strcmp(name, text_of(stmt, NAME)) != 0) {
			print_footer(&sums, to);
			sums = (struct sums){ 0 };
			snprintf(name, sizeof(name), "%s", text_of(stmt, NAME));
			print_header(stmt, to);
		}
		if (sqlite3_column_type(stmt, TIME) == SQLITE_NULL) {
			fprintf(to, "# %" PRId64 " B did not complete\n", (int64_t)sqlite3_column_int64(stmt, BYTES));
			continue;
		}
		print_row(stmt, to);
		add(&sums, stmt);
	}
	print_footer(&sums, to);
	return result;
}

/* ---- JSON ---- */

static json_t *
place_json(sqlite3_stmt *stmt)
{
	bool checked = sqlite3_column_type(stmt, WRONG) != SQLITE_NULL;

	return json_pack("{s:f, s:f, s:f, s:o}", "time", sqlite3_column_double(stmt, TIME), "alg_bw",
			 sqlite3_column_double(stmt, ALGBW), "bus_bw", sqlite3_column_double(stmt, BUSBW), "nwrong",
			 checked ? json_real(sqlite3_column_double(stmt, WRONG)) : json_null());
}

static json_t *
result_json(sqlite3_stmt *stmt)
{
	char root[16];

	snprintf(root, sizeof(root), "%6d", sqlite3_column_int(stmt, ROOT));
	return json_pack("{s:I, s:I, s:s, s:s, s:s, s:o, s:o, s:I, s:s}", "size",
			 (json_int_t)sqlite3_column_int64(stmt, BYTES), "count",
			 (json_int_t)sqlite3_column_int64(stmt, COUNT), "type", text_of(stmt, TYPE), "redop",
			 text_of(stmt, REDOP), "root", root, "out_of_place", place_json(stmt), "in_place", place_json(stmt),
			 "actual_iterations", (json_int_t)sqlite3_column_int64(stmt, ITERATIONS), "experiment_name",
			 text_of(stmt, NAME));
}

static json_t *
args_json(const char *const *args)
{
	json_t *list = json_array();

	for (; args != NULL && *args != NULL; args++)
		json_array_append_new(list, json_string(*args));
	return list;
}

/* @return as sqlite3_step() */
static int
print_json(sqlite3_stmt *stmt, const char *const *args, FILE *to, struct err *err)
{
	json_t *results = json_array(), *root;
	struct sums sums = { 0 };
	int result, ret = 0;

	while ((result = sqlite3_step(stmt)) == SQLITE_ROW)
		if (sqlite3_column_type(stmt, TIME) != SQLITE_NULL) {
			ret |= json_array_append_new(results, result_json(stmt));
			add(&sums, stmt);
		}
	root = json_pack("{s:i, s:o, s:[], s:{s:s}, s:o, s:{s:I, s:s}, s:{s:f, s:s}, s:[]}", "version", VERSION, "args",
			 args_json(args), "env", "config", "program", "rocelab", "results", results, "out_of_bounds",
			 "count", (json_int_t)sums.wrong, "okay", sums.wrong == 0 ? "true" : "false",
			 "average_bus_bandwidth", "bandwidth", mean_busbw(&sums), "okay", "unchecked", "errors");
	if (root == NULL || ret != 0 ||
	    json_dumpf(root, to, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12)) < 0)
		err_set(err, -ENOMEM, "out of memory for JSON");
	fputc('\n', to);
	json_decref(root);
	return err->text[0] != '\0' ? SQLITE_NOMEM : result;
}

int
nccl_print(sqlite3_stmt *stmt, bool json, const char *const *args, FILE *to, struct err *err)
{
	int result = json ? print_json(stmt, args, to, err) : print_text(stmt, to);

	if (result == SQLITE_DONE)
		return 0;
	return err->text[0] != '\0' ? -ENOMEM : err_set(err, -EIO, "%s", sqlite3_errmsg(sqlite3_db_handle(stmt)));
}
