/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab query: one statement on a run's store. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/store/tables.h"
#include "common/log.h"
#include "store/schema.h"

#define QUERY_ROWS 1000

struct query_options {
	const char *dir, *sql;
	uint64_t most;
	enum tables_format format;
	bool tables;
};

static const struct argp_option options[] = {
	{ "tables", 't', NULL, 0, "Print all tables with their columns, in Markdown", 0 },
	{ "limit", 'n', "N", 0, "Print at most N rows of a table (default 1000; 0: all)", 0 },
	{ "json", 'j', NULL, 0, "Print JSON: an array with an object a row", 0 },
	{ "csv", 'c', NULL, 0, "Print CSV", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct query_options *query = state->input;

	switch (key) {
	case 't':
		query->tables = true;
		return 0;
	case 'n':
		query->most = args_number(state, "--limit", arg, 0, INT64_MAX);
		return 0;
	case 'j':
		query->format = TABLES_JSON;
		return 0;
	case 'c':
		query->format = TABLES_CSV;
		return 0;
	case ARGP_KEY_ARG:
		if (query->sql != NULL)
			args_error(state, "one statement at a time, in quotes: \"%s\" is behind it", arg);
		*(query->dir == NULL ? &query->dir : &query->sql) = arg;
		return 0;
	case ARGP_KEY_END:
		if (query->sql == NULL && !query->tables)
			args_error(state,
				   "give the folder of a run, and a statement in quotes; --tables has tables and columns");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "RUN SQL\n--tables",
	.doc = "Asks RUN/run.sqlite, the store of a run, in SQLite's SQL. Nothing is changed. docs/outputs.md has the "
	       "tables.",
};

static void
print_tables(void)
{
	for (uint32_t i = 0; i < STORE_TABLES; i++) {
		const struct store_schema *table = &store_schemas[i];

		printf("%s#### %s\n\n%s\n\n| column | type | unit | meaning |\n|---|---|---|---|\n", i != 0 ? "\n" : "",
		       table->name, table->doc);
		for (uint32_t c = 0; c < store_columns((enum store_table)i); c++)
			printf("| `%s` | %s | %s | %s |\n", table->columns[c].name, table->columns[c].type,
			       table->columns[c].unit, table->columns[c].doc);
	}
}

int
command_query(int argc, char **argv)
{
	struct query_options query = { .most = QUERY_ROWS };
	struct err err = { 0 };
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db;
	int ret = -1;

	argv[0] = "rocelab query";
	if (args_parse(&argp, argc, argv, 0, &query) != 0)
		return EXIT_USAGE;
	if (query.tables) {
		print_tables();
		return EXIT_DONE;
	}
	db = store_read(query.dir, &err);
	if (db != NULL)
		stmt = store_select(db, query.sql, &err);
	if (stmt != NULL)
		ret = tables_print(stmt, query.format, query.most, stdout, &err);
	if (query.format == TABLES_JSON && ret == 0)
		putchar('\n');
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	if (err.text[0] != '\0')
		log_error("%s%s", err.text,
			  strncmp(err.text, "no such ", 8) == 0 ? "; rocelab query --tables has tables and columns" : "");
	return ret == 0 ? EXIT_DONE : EXIT_USAGE;
}
