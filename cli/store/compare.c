/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab compare: how runs differ from the first one, by their stores. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/store/runs.h"
#include "cli/store/tables.h"
#include "common/array.h"
#include "common/log.h"
#include "common/printable.h"
#include "store/schema.h"

#define MOST_RUNS 64
#define MOST_ROWS 20 /* of a table for people */

/* r0 is the first run, r1 the other. */

/* Flow completion times by generator: the mean of those that ended, and how many did not. */
#define FLOWS(run)                                                                                                         \
	"SELECT generator, avg(fct_ns) FILTER (WHERE end_ns IS NOT NULL) AS mean_ns, sum(end_ns IS NULL) AS open "         \
	"FROM " run ".flows GROUP BY generator"

/*
 * Jobs are paired by their names, and those that are left by their numbers; collectives by their place in the job. A pair
 * without a job of the other run is missing there.
 */
#define JOBS(run) "SELECT job, name, row_number() OVER (PARTITION BY name ORDER BY job) AS nth FROM " run ".jobs"
#define COLLECTIVES(run)                                                                                                   \
	"SELECT *, dense_rank() OVER (PARTITION BY job ORDER BY collective) AS place FROM " run ".collectives"
#define PAIRS                                                                                                              \
	"x_jobs AS (" JOBS("r0") "), y_jobs AS (" JOBS(                                                                    \
		"r1") "),"                                                                                                 \
		      " named(a, b) AS (SELECT x.job, y.job FROM x_jobs x JOIN y_jobs y USING (name, nth)),"               \
		      " pairs(a, b) AS (SELECT a, b FROM named UNION ALL SELECT x.job, y.job FROM x_jobs x LEFT JOIN"      \
		      " y_jobs y ON y.job = x.job AND y.job NOT IN (SELECT b FROM named)"                                  \
		      " WHERE x.job NOT IN (SELECT a FROM named))"

/* there: the other run has it at all; a is NULL where the first one has not. */
#define TIMES                                                                                                              \
	"WITH " PAIRS ", x_collectives AS (" COLLECTIVES("r0") "), y_collectives AS (" COLLECTIVES(                        \
		"r1") "),"                                                                                                 \
		      " x_flows AS (" FLOWS("r0") "), y_flows AS (" FLOWS(                                                 \
			      "r1") "),"                                                                                   \
				    " of_run(what, a, b, there) AS ("                                                      \
				    " SELECT 'run', (SELECT value FROM r0.run WHERE key = 'end_ns'),"                      \
				    " (SELECT value FROM r1.run WHERE key = 'end_ns'), 1"                                  \
				    " UNION ALL SELECT 'job ' || x.name, x.end_ns - x.start_ns, y.end_ns - y.start_ns,"    \
				    " y.job IS NOT NULL"                                                                   \
				    " FROM r0.jobs x JOIN pairs ON a = x.job LEFT JOIN r1.jobs y ON y.job = b"             \
				    " UNION ALL SELECT 'job ' || name, NULL, end_ns - start_ns, 1 FROM r1.jobs"            \
				    " WHERE job NOT IN (SELECT b FROM pairs WHERE b IS NOT NULL)"                          \
				    " UNION ALL SELECT 'collective ' || x.name || ', mean of ' || count(*),"               \
				    " avg(x.end_ns - x.start_ns),"                                                         \
				    " CASE WHEN count(y.end_ns) = count(x.end_ns) THEN avg(y.end_ns - y.start_ns) END,"    \
				    " count(y.job) > 0"                                                                    \
				    " FROM x_collectives x JOIN pairs ON a = x.job LEFT JOIN y_collectives y"              \
				    " ON y.job = b AND y.place = x.place AND y.iteration = x.iteration"                    \
				    " GROUP BY x.job, x.collective"                                                        \
				    " UNION ALL SELECT 'flows ' || coalesce(x.generator, 'written out') || ', mean',"      \
				    " x.mean_ns, CASE WHEN y.open <= x.open THEN y.mean_ns END, y.open IS NOT NULL"        \
				    " FROM x_flows x LEFT JOIN y_flows y ON x.generator IS y.generator) "

/* Several findings of a type may be at one place: these are numbered. */
#define NUMBERED(run)                                                                                                      \
	"SELECT type, root, explained_ns, row_number() OVER (PARTITION BY type, root ORDER BY finding) AS number "         \
	"FROM " run ".findings"

/* Sums over the classes of each port. */
#define PORTS_OF(run)                                                                                                      \
	"SELECT name, coalesce((SELECT sum(rx_pause_duration_ns) FROM " run ".pfc_counters c WHERE c.port = p.port), 0)"   \
	" AS paused_ns, coalesce((SELECT max(watermark_bytes) FROM " run ".queue_counters c WHERE c.port = p.port), 0)"    \
	" AS queue_bytes FROM " run ".ports p"

/* Sums of a run. */
#define SUMS(run)                                                                                                          \
	"SELECT 'PAUSE frames' AS counter, sum(rx_pause) AS value FROM " run ".pfc_counters "                              \
	"UNION ALL SELECT 'paused, ns' AS counter, sum(rx_pause_duration_ns) AS value FROM " run ".pfc_counters "          \
	"UNION ALL SELECT 'ECN marks' AS counter, sum(ecn_marked_packets) AS value FROM " run ".queue_counters "           \
	"UNION ALL SELECT 'longest queue, B' AS counter, max(watermark_bytes) AS value FROM " run ".queue_counters "       \
	"UNION ALL SELECT 'most headroom, B' AS counter, max(headroom_watermark_bytes) AS value FROM " run                 \
	".priority_groups "                                                                                                \
	"UNION ALL SELECT 'dropped packets' AS counter, sum(packets) AS value FROM " run ".drops WHERE counted "           \
	"UNION ALL SELECT 'retransmits' AS counter, sum(retransmits) AS value FROM " run ".qps "                           \
	"UNION ALL SELECT 'packet_seq_err' AS counter, sum(packet_seq_err) AS value FROM " run ".qps "                     \
	"UNION ALL SELECT 'local_ack_timeout_err' AS counter, sum(local_ack_timeout_err) AS value FROM " run ".qps "       \
	"UNION ALL SELECT 'out_of_sequence' AS counter, sum(out_of_sequence) AS value FROM " run ".qps "                   \
	"UNION ALL SELECT 'rp_cnp_handled' AS counter, sum(rp_cnp_handled) AS value FROM " run ".qps "

static const struct {
	const char *key, *heading, *sql;
	bool of_verdict;
} sections[] = {
	{ "configuration", "Configuration",
	  "SELECT path, x.value AS first, y.value AS other FROM r0.config x FULL JOIN r1.config y USING (path)"
	  " WHERE x.value IS NOT y.value AND path != 'name' ORDER BY path",
	  false },
	{ "times", "Times, ms",
	  TIMES "SELECT what, round(a / 1e6, 3) AS first, round(b / 1e6, 3) AS other,"
		" CASE WHEN NOT there THEN 'missing' WHEN a IS NULL AND b IS NOT NULL THEN 'new' ELSE"
		" printf('%+.2f%%', 100.0 * (b - a) / nullif(a, 0)) END AS change FROM of_run",
	  false },
	{ "findings", "Findings that are gone or new",
	  "WITH x AS (" NUMBERED("r0") "), y AS (" NUMBERED(
		  "r1") ")"
			" SELECT CASE WHEN y.type IS NULL THEN 'gone' ELSE 'new' END AS status, type, root,"
			" round(coalesce(y.explained_ns, x.explained_ns) / 1e6, 3) AS explained_ms"
			" FROM x FULL JOIN y USING (type, root, number) WHERE x.type IS NULL OR y.type IS NULL"
			" ORDER BY 1, explained_ms DESC",
	  true },
	{ "counters", "Counters that moved",
	  "SELECT counter, coalesce(x.value, 0) AS first, coalesce(y.value, 0) AS other FROM (" SUMS(
		  "r0") ") x JOIN (" SUMS("r1") ") y USING (counter) WHERE coalesce(x.value, 0) != coalesce(y.value, 0)",
	  false },
	{ "ports", "Ports that moved most, by the time that they were paused and by their longest queue",
	  "WITH x AS (" PORTS_OF("r0") "), y AS (" PORTS_OF(
		  "r1") ")"
			" SELECT name AS port, x.paused_ns AS first_paused_ns, y.paused_ns AS other_paused_ns,"
			" x.queue_bytes AS first_queue_bytes, y.queue_bytes AS other_queue_bytes FROM x JOIN y USING (name)"
			" WHERE x.paused_ns != y.paused_ns OR x.queue_bytes != y.queue_bytes"
			" ORDER BY abs(y.paused_ns - x.paused_ns) DESC, abs(y.queue_bytes - x.queue_bytes) DESC, name "
			"LIMIT 100",
	  false },
};

struct compare_options {
	const char *dirs[MOST_RUNS]; /* [count] */
	uint32_t count;
	double limit; /* of --fail-on, a share; negative: none */
	enum tables_format format;
};

static const struct argp_option options[] = {
	{ "fail-on", 'f', "SHARE", 0,
	  "Exit with 6 if a time of another run is longer than the first one's by more than this share (\"5%\"), has no "
	  "end, or is missing with its job or flows",
	  0 },
	{ "json", 'j', NULL, 0, "Print JSON: an array with an object for each run but the first", 0 },
	{ "csv", 'c', NULL, 0, "Print CSV, a table behind another", 0 },
	{ 0 },
};

/* "5%". @return the share; ends the program where it is none */
static double
parse_share(const char *text, const struct argp_state *state)
{
	char *end;
	double share = strtod(text, &end);

	if (end == text || strcmp(end, "%") != 0 || !(share >= 0) || share > 1e6)
		args_error(state, "--fail-on %s: give a share in percent, as 5%%", text);
	return share / 100;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct compare_options *compare = state->input;

	switch (key) {
	case 'f':
		compare->limit = parse_share(arg, state);
		return 0;
	case 'j':
		compare->format = TABLES_JSON;
		return 0;
	case 'c':
		compare->format = TABLES_CSV;
		return 0;
	case ARGP_KEY_ARG:
		if (compare->count == MOST_RUNS)
			args_error(state, "\"%s\": at most %d runs at a time", arg, MOST_RUNS);
		compare->dirs[compare->count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (compare->count < 2)
			args_error(state, "give the folders of two runs at least");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "RUN RUN...",
	.doc = "Compares runs with the first one: configuration, times of jobs, collectives and flows, findings that are "
	       "gone or "
	       "new, counters that moved.",
};

/* Findings cannot be compared where a run has no verdict. */
static void
print_unknown(const char *dir, enum tables_format format)
{
	if (format == TABLES_JSON)
		fputs("null", stdout);
	else if (format == TABLES_TEXT)
		printf("unknown: %s has no verdict; rocelab diagnose makes one\n", plain_line(dir).text);
}

/* @param dirs  [2] @return 0 or negative errno with err set */
static int
print_section(sqlite3 *db, size_t index, const char *const dirs[], enum tables_format format, struct err *err)
{
	sqlite3_stmt *stmt = store_select(db, sections[index].sql, err);
	const char *unknown = NULL;
	int ret = 0;

	if (stmt == NULL)
		return -EINVAL;
	for (int i = 0; i < 2 && sections[index].of_verdict; i++)
		unknown = findings_known(dirs[i]) ? unknown : dirs[i];
	if (format == TABLES_JSON)
		printf(",\n\"%s\": ", sections[index].key);
	else if (format == TABLES_TEXT)
		printf("\n%s\n", sections[index].heading);
	else if (index != 0)
		putchar('\n');
	if (unknown != NULL)
		print_unknown(unknown, format);
	else
		ret = tables_print(stmt, format, MOST_ROWS, stdout, err);
	sqlite3_finalize(stmt);
	return ret;
}

/* @return how many times are longer than allowed; negative errno with err set */
static int
judge(sqlite3 *db, const char *dir, double limit, struct err *err)
{
	sqlite3_stmt *stmt = store_select(
		db,
		TIMES "SELECT what, 100.0 * (b - a) / a, there FROM of_run WHERE NOT there OR (a > 0 AND (b IS NULL OR b "
		      "> a * (1 + ?)))",
		err);
	int count = 0;

	if (stmt == NULL)
		return -EINVAL;
	sqlite3_bind_double(stmt, 1, limit);
	for (; sqlite3_step(stmt) == SQLITE_ROW; count++) {
		const char *what = (const char *)sqlite3_column_text(stmt, 0);

		if (sqlite3_column_int(stmt, 2) == 0)
			log_error("%s: %s is missing", dir, plain_line(what).text);
		else if (sqlite3_column_type(stmt, 1) == SQLITE_NULL)
			log_error("%s: %s has no end", dir, plain_line(what).text);
		else
			log_error("%s: %s takes %.2f %% longer", dir, plain_line(what).text,
				  sqlite3_column_double(stmt, 1));
	}
	sqlite3_finalize(stmt);
	return count;
}

/* JSON strings as jansson would print them: names of folders may hold anything. */
static void
begin(const struct compare_options *compare, uint32_t index)
{
	const char *first = compare->dirs[0], *other = compare->dirs[index];

	if (compare->format == TABLES_TEXT)
		printf("%s%s compared with %s\n", index > 1 ? "\n" : "", plain_line(other).text, plain_line(first).text);
	if (compare->format != TABLES_JSON)
		return;
	fputs(index > 1 ? ",\n{\"first\": " : "[{\"first\": ", stdout);
	tables_print_string(first, stdout);
	fputs(", \"other\": ", stdout);
	tables_print_string(other, stdout);
}

/* @return how many times are longer than allowed; negative errno with err set */
static int
compare_one(const struct compare_options *compare, uint32_t index, struct err *err)
{
	const char *const dirs[] = { compare->dirs[0], compare->dirs[index] };
	sqlite3 *db = runs_open(dirs, 2, err);
	int ret = db != NULL ? 0 : -errno;

	if (ret == 0)
		begin(compare, index);
	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(sections); i++)
		ret = print_section(db, i, dirs, compare->format, err);
	if (ret == 0 && compare->format == TABLES_JSON)
		putchar('}');
	if (ret == 0 && compare->limit >= 0)
		ret = judge(db, compare->dirs[index], compare->limit, err);
	sqlite3_close(db);
	return ret;
}

int
command_compare(int argc, char **argv)
{
	struct compare_options compare = { .limit = -1 };
	struct err err = { 0 };
	int ret = 0, moved = 0;

	argv[0] = "rocelab compare";
	if (args_parse(&argp, argc, argv, 0, &compare) != 0)
		return EXIT_USAGE;
	for (uint32_t i = 1; ret >= 0 && i < compare.count; i++) {
		ret = compare_one(&compare, i, &err);
		moved += ret > 0;
	}
	if (ret >= 0 && compare.format == TABLES_JSON)
		puts("]");
	if (err.text[0] != '\0')
		log_error("%s", err.text);
	return ret < 0 ? EXIT_USAGE : moved != 0 ? EXIT_SLOWER : EXIT_DONE;
}
