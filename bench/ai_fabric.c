/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab bench ai-fabric SCENARIO: tests of the IETF's drafts on benchmarks of AI fabrics (draft-calabria-bmwg-ai-fabric-
 * training-bench), scaled down, on the fabric of any scenario: its topology, switches and hosts, with the test's traffic.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libsmartcols/libsmartcols.h>

#include "bench/ai_fabric.h"
#include "bench/bench.h"
#include "common/array.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/outfile.h"
#include "common/program.h"
#include "common/run_files.h"
#include "common/units.h"
#include "eval/args.h"
#include "eval/study.h"
#include "scenario/scenario.h"
#include "store/schema.h"
#include "twin/rerun/job.h"

#define RESULTS "ai-fabric.json"
#define SCENARIO "case.cfg"
#define MAX_NAMES 16
#define MAX_ROWS 64
#define TEXT 96

static const char *const outcomes[AI_OUTCOMES] = { "pass", "fail", "reported", "unknown", "run failed" };

/* A run of a row. */
struct run {
	struct ai_row *row;
	uint32_t part;
};

struct bench {
	struct study_args args;
	const char *path;
	const char *only[MAX_NAMES];
	uint32_t nonly;
	struct scenario *scenario;
	struct ai_fabric fabric;
	struct ai_row *rows; /* [nrows] */
	uint32_t nrows;
	struct run *runs; /* [nruns] of this round */
	uint32_t nruns, next, done, broken;
	uint32_t slots[POOL_MAX_JOBS];
};

static const char *const absent[] = {
	"memory of the switches' software over a soak: switches here have none",
	"UET, LLR, CBFC, packet trimming: not emulated",
};

/* ---- cases ---- */

static void
dir_of(const struct bench *b, const struct run *run, const char *name, char path[PATH_MAX + 64])
{
	snprintf(path, PATH_MAX + 64, "%s/%s/%u/%u%s%s", b->args.dir, run->row->test->name, run->row->value, run->part,
		 name[0] != '\0' ? "/" : "", name);
}

/* The scenario's fabric alone. */
static struct cfg *
fabric_of(const struct bench *b, const struct ai_row *row, struct err *err)
{
	static const char *const others[] = { "name",       "flows",        "collectives", "jobs",
					      "generators", "background",   "faults",      "paths",
					      "pingmesh",   "flowpulse",    "flowtracer",  "detection",
					      "diagnosers", "source_ports", "limits",      "partition" };
	struct cfg_where without[ARRAY_LEN(others)];
	struct cfg *all = cfg_load(b->path, err), *made = NULL;
	char set[AI_TEXT];
	size_t count = 0;
	int ret;

	for (size_t i = 0; all != NULL && i < ARRAY_LEN(others); i++) {
		char path[CFG_WHERE_PATH];

		without[count] = cfg_where_key(all, others[i]);
		count += strcmp(cfg_where_path(&without[count], path), others[i]) == 0;
	}
	made = all != NULL ? cfg_copy(all, without, count, err) : NULL;
	cfg_destroy(all);
	ret = made != NULL ? cfg_override(made, "detection.policy=off", err) : -EINVAL;
	for (uint32_t i = 0; ret == 0 && row->test->set != NULL && row->test->set(row, i, set); i++)
		ret = cfg_override(made, set, err);
	if (ret == 0)
		return made;
	cfg_destroy(made);
	return NULL;
}

/* @return the text of a case, the caller's to free; NULL with err set */
static char *
text_of(const struct bench *b, const struct run *run, struct err *err)
{
	const struct ai_test *test = run->row->test;
	struct cfg *cfg = fabric_of(b, run->row, err);
	char *text = NULL;
	size_t length;
	FILE *to = cfg != NULL ? open_memstream(&text, &length) : NULL;

	if (to != NULL) {
		fprintf(to, "// rocelab bench ai-fabric: %s, %s %u\nname = \"%s\";\n", test->name, test->unit,
			run->row->value, test->name);
		cfg_print(cfg, NULL, 0, to);
		test->write(&b->fabric, run->row, run->part, to);
		fclose(to);
	}
	cfg_destroy(cfg);
	if (text == NULL && err->text[0] == '\0')
		err_set(err, -ENOMEM, "out of memory for a case");
	return text;
}

/* Has the same case run, without an interrupt? */
static bool
is_there(const struct bench *b, const struct run *run, const char *text)
{
	struct err why = { "" };
	char path[PATH_MAX + 64], *have = NULL;
	size_t cap = 0;
	FILE *file;
	bool same;

	dir_of(b, run, "", path);
	if (job_check(path, ".", JOB_DONE, &why) < 0)
		return false;
	dir_of(b, run, SCENARIO, path);
	file = input_fopen(path, NULL);
	same = file != NULL && getdelim(&have, &cap, EOF, file) >= 0 && strcmp(have, text) == 0;
	if (file != NULL)
		fclose(file);
	free(have);
	return same;
}

static int
write_case(const struct bench *b, const struct run *run, const char *text, struct err *err)
{
	char dir[PATH_MAX + 64];
	struct outfile out;
	int ret;

	dir_of(b, run, "", dir);
	ret = run_dir_make(dir, err);
	if (ret >= 0)
		ret = outfile_open(&out, dir, SCENARIO, err);
	if (ret < 0)
		return ret;
	fputs(text, out.file);
	return outfile_close(&out, 0, err);
}

static pid_t
start(void *ctx, uint32_t slot, int cpu, struct err *err)
{
	struct bench *b = ctx;
	char dir[PATH_MAX + 64], scenario[PATH_MAX + 64];

	while (b->next < b->nruns) {
		const struct run *run = &b->runs[b->next];
		char *text = text_of(b, run, err);
		bool there;
		int ret;

		if (text == NULL)
			return -EINVAL;
		there = is_there(b, run, text);
		ret = there ? 0 : write_case(b, run, text, err);
		free(text);
		if (ret < 0)
			return ret;
		b->slots[slot] = b->next++;
		if (there)
			continue;
		dir_of(b, run, "", dir);
		dir_of(b, run, SCENARIO, scenario);
		return job_start(
			&(struct job_config){
				.scenario = scenario, .fabric = dir, .out = dir, .policy = "off", .cpu = cpu },
			err);
	}
	return 0;
}

static int
ended(void *ctx, uint32_t slot, int status, struct err *err)
{
	static const char *const large[] = { RUN_RECORDING, RUN_TRUTH };
	struct bench *b = ctx;
	const struct run *run = &b->runs[b->slots[slot]];
	char path[PATH_MAX + 64];

	(void)err;
	for (size_t i = 0; i < ARRAY_LEN(large); i++) {
		dir_of(b, run, large[i], path);
		unlink(path);
	}
	progress_line("%u runs", ++b->done);
	if (status == JOB_DONE)
		return 0;
	dir_of(b, run, RUN_SUMMARY, path);
	if (access(path, R_OK) == 0) /* it ended before its traffic: a result, too */
		return 0;
	progress_line("%s", "");
	dir_of(b, run, "", path);
	log_warning("%s failed; see log.txt there", path);
	b->broken++;
	return 0;
}

/* ---- figures ---- */

/* Completion times of probes, with the ideal of each. */
struct samples {
	double fct_ns[AI_MAX_SAMPLES];
	uint32_t count;
	double ideal_ns;
};

static void
add_flow(struct ai_figures *f, double bytes, double fct_ns)
{
	double gbps = bytes * 8 / fct_ns;

	f->most_ns = fmax(f->most_ns, fct_ns);
	f->least_gbps = f->flows == 0 ? gbps : fmin(f->least_gbps, gbps);
	f->most_gbps = fmax(f->most_gbps, gbps);
	f->rates += gbps;
	f->squares += gbps * gbps;
	f->flows++;
}

static int
compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* @return the quantile by nearest rank */
static double
quantile(const struct samples *s, double share)
{
	return s->count != 0 ? s->fct_ns[(uint32_t)ceil(share * s->count) - 1] : 0;
}

/* generator,src,dst,sport,dport,bytes,acked_bytes,start_ns,begin_ns,end_ns,fct_ns,ideal_ns,... */
static void
read_flows(const char *path, struct ai_figures *f)
{
	struct samples s = { .count = 0 };
	char line[512];
	FILE *file = input_fopen(path, NULL);

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		char *rest = line, *word;
		double fields[12] = { 0 };

		for (size_t i = 0; i < ARRAY_LEN(fields) && (word = strsep(&rest, ",")) != NULL; i++)
			fields[i] = strtod(word, NULL);
		if (fields[5] <= 0 || fields[10] <= 0)
			continue;
		if (f->flows < AI_MAX_FLOWS)
			f->acked_bytes[f->flows] = fields[6];
		add_flow(f, fields[5], fields[10]);
		if (fields[3] >= AI_DATA_SPORT || s.count == AI_MAX_SAMPLES)
			continue;
		s.fct_ns[s.count++] = fields[10];
		s.ideal_ns = fmax(s.ideal_ns, fields[11]);
	}
	if (file != NULL)
		fclose(file);
	qsort(s.fct_ns, s.count, sizeof(s.fct_ns[0]), compare_times);
	f->samples = s.count;
	f->p50_ns = quantile(&s, 0.5);
	f->p99_ns = quantile(&s, 0.99);
	f->max_ns = quantile(&s, 1);
	f->ideal_ns = s.ideal_ns;
}

static void
add_queue(sqlite3_stmt *row, struct ai_figures *f)
{
	uint64_t bytes = (uint64_t)sqlite3_column_int64(row, 0), marked = (uint64_t)sqlite3_column_int64(row, 1);

	if (bytes > f->peak_bytes) {
		f->peak_bytes = bytes;
		f->peak_marked = marked;
	}
	if (marked == 0)
		f->unmarked_bytes = max_u64(f->unmarked_bytes, bytes);
	else if (f->marked_bytes == 0 || bytes < f->marked_bytes)
		f->marked_bytes = bytes;
}

static void
add_uplink(sqlite3_stmt *row, struct ai_figures *f)
{
	double bytes = sqlite3_column_double(row, 0);

	f->uplinks++;
	f->uplink_sum += bytes;
	f->uplink_squares += bytes * bytes;
	if (bytes > f->uplink_most) {
		f->uplink_most = bytes;
		f->busiest = (uint32_t)sqlite3_column_int(row, 1);
	}
}

static void
add_pauses(sqlite3_stmt *row, struct ai_figures *f)
{
	f->pauses = (uint64_t)sqlite3_column_int64(row, 0);
}

static void
add_loss(sqlite3_stmt *row, struct ai_figures *f)
{
	f->loss_ns = sqlite3_column_double(row, 0);
}

static void
add_iteration(sqlite3_stmt *row, struct ai_figures *f)
{
	if (f->niterations < AI_MAX_ITERATIONS)
		f->iterations_ns[f->niterations++] = sqlite3_column_double(row, 0);
}

static const struct {
	const char *sql;
	void (*add)(sqlite3_stmt *row, struct ai_figures *f);
} queries[] = {
	{ "SELECT watermark_bytes, ecn_marked_packets FROM queue_counters WHERE watermark_bytes > 0 AND class > 0",
	  add_queue },
	{ "SELECT tx_bytes, p.port FROM port_counters JOIN ports p USING (port) JOIN nodes n ON n.node = p.node JOIN ports "
	  "e ON "
	  "e.port "
	  "= p.peer JOIN nodes m ON m.node = e.node WHERE n.kind = 'switch' AND m.kind = 'switch' AND p.node IN (SELECT "
	  "e.node FROM ports h JOIN nodes k ON k.node = h.node JOIN ports e ON e.port = h.peer WHERE k.kind <> 'switch') "
	  "ORDER BY p.port",
	  add_uplink },
	{ "SELECT COALESCE(SUM(tx_pause), 0) FROM pfc_counters", add_pauses },
	{ "SELECT COALESCE(MAX(last_ns) - MIN(first_ns), 0) FROM drops WHERE reason = 'link_down'", add_loss },
	{ "SELECT MAX(end_ns) - MIN(start_ns) FROM collectives WHERE end_ns IS NOT NULL GROUP BY job, iteration ORDER BY "
	  "job, "
	  "iteration",
	  add_iteration },
};

/* @return false: the run has no store, or one of another version */
static bool
read_store(const char *dir, struct ai_figures *f)
{
	struct err err = { "" };
	sqlite3 *db = store_read(dir, &err);

	for (size_t i = 0; db != NULL && i < ARRAY_LEN(queries); i++) {
		sqlite3_stmt *rows = store_select(db, queries[i].sql, &err);

		while (rows != NULL && sqlite3_step(rows) == SQLITE_ROW)
			queries[i].add(rows, f);
		sqlite3_finalize(rows);
	}
	if (db == NULL || err.text[0] != '\0')
		log_warning("%s: %s", dir, err.text);
	sqlite3_close(db);
	return db != NULL && err.text[0] == '\0';
}

/* @return false: it has not run */
static bool
read_run(const struct bench *b, const struct run *run, struct ai_figures *f)
{
	char path[PATH_MAX + 64];
	json_t *doc, *job, *count, *transport;
	const char *key;
	size_t i;

	*f = (struct ai_figures){ .njobs = 0 };
	dir_of(b, run, RUN_SUMMARY, path);
	doc = input_json(path, 0, NULL);
	if (doc == NULL)
		return false;
	f->complete = strcmp(json_string_value(json_object_get(doc, "end_reason")) ?: "", "complete") == 0;
	json_object_foreach(json_object_get(doc, "drops"), key, count)
		f->drops += (uint64_t)json_integer_value(count);
	/* Those on the cable, too, which no port counts. */
	f->lost = (uint64_t)json_integer_value(json_object_get(json_object_get(doc, "drops"), "link_down"));
	transport = json_object_get(doc, "transport");
	f->retransmits = (uint64_t)json_integer_value(json_object_get(transport, "retransmits"));
	f->cnps = (uint64_t)json_integer_value(json_object_get(transport, "cnps_handled"));
	f->timeouts = (uint64_t)json_integer_value(json_object_get(transport, "timeouts"));
	json_array_foreach(json_object_get(doc, "jobs"), i, job) {
		double took_ns = json_number_value(json_object_get(job, "end_ns")) -
				 json_number_value(json_object_get(job, "start_ns"));

		if (f->njobs < ARRAY_LEN(f->job_ns))
			f->job_ns[f->njobs++] = took_ns;
	}
	json_decref(doc);
	dir_of(b, run, RUN_FLOWS, path);
	read_flows(path, f);
	dir_of(b, run, "", path);
	return read_store(path, f) && (f->flows != 0 || f->job_ns[0] > 0 || !f->complete);
}

/* ---- rows and rounds ---- */

static bool
is_asked(const struct bench *b, const struct ai_test *test)
{
	for (uint32_t i = 0; i < b->nonly; i++)
		if (strcmp(b->only[i], test->name) == 0)
			return true;
	return b->nonly == 0;
}

static void
list_rows(struct bench *b)
{
	for (size_t t = 0; t < ai_ntests; t++)
		for (uint32_t v = 0; is_asked(b, &ai_tests[t]) && v < AI_MAX_VALUES && ai_tests[t].values[v] != 0; v++)
			if (b->nrows < MAX_ROWS && ai_tests[t].fits(&b->fabric, ai_tests[t].values[v]))
				b->rows[b->nrows++] =
					(struct ai_row){ .test = &ai_tests[t], .value = ai_tests[t].values[v] };
}

/* The runs that rows of this shard need next: all parts of a row, then one by one what its search asks for. */
static void
plan_round(struct bench *b)
{
	b->nruns = b->next = 0;
	for (uint32_t i = 0; i < b->nrows; i++) {
		struct ai_row *row = &b->rows[i];
		uint32_t begun = row->nparts;

		if (!shard_has(&b->args.shard, i))
			continue;
		while (!row->broken && row->nparts < row->test->parts)
			b->runs[b->nruns++] = (struct run){ row, row->nparts++ };
		if (row->broken || row->nparts != begun || row->test->next == NULL || row->nparts == AI_MAX_PARTS ||
		    !row->test->next(&b->fabric, row, &row->sizes[row->nparts]))
			continue;
		b->runs[b->nruns++] = (struct run){ row, row->nparts++ };
	}
}

/* Have the shards that are merged all runs of this round? @return 0 or negative errno with err set */
static int
check_merge(const struct bench *b, struct err *err)
{
	uint64_t missing = 0;

	for (uint32_t i = 0; shard_is_merge(&b->args.shard) && i < b->nruns; i++) {
		char *text = text_of(b, &b->runs[i], err);

		if (text == NULL)
			return -EINVAL;
		missing += !is_there(b, &b->runs[i], text);
		free(text);
	}
	return shard_check(&b->args.shard, missing, err);
}

static int
run_rounds(struct bench *b, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	int ret = 0;

	for (plan_round(b); ret == 0 && b->nruns != 0; plan_round(b)) {
		ret = check_merge(b, err);
		if (ret == 0)
			ret = pool_run(b->args.jobs, &ops, b, err);
		for (uint32_t i = 0; ret == 0 && i < b->nruns; i++) {
			struct ai_row *row = b->runs[i].row;

			row->broken |= !read_run(b, &b->runs[i], &row->figures[b->runs[i].part]);
		}
	}
	return ret;
}

/* ---- results ---- */

/* A job that did not end has no figure, and the row fails. */
static bool
lacks_end(const struct ai_row *row)
{
	for (uint32_t i = 0; i < row->nparts; i++)
		if (!row->figures[i].complete && row->figures[i].flows == 0 && row->figures[i].job_ns[0] <= 0)
			return true;
	return false;
}

static struct ai_result
result_of(const struct bench *b, const struct ai_row *row)
{
	struct ai_result result = { .figure = NAN, .outcome = AI_BROKEN };

	if (row->broken)
		return result;
	if (!lacks_end(row)) {
		row->test->measure(&b->fabric, row, &result);
		return result;
	}
	result.outcome = AI_FAIL;
	snprintf(result.note, sizeof(result.note), "the job did not complete");
	return result;
}

static json_t *
row_json(const struct bench *b, const struct ai_row *row)
{
	struct ai_result result = result_of(b, row);
	const struct ai_test *test = row->test;

	return json_pack("{s:s, s:s, s:i, s:s, s:o, s:s, s:s, s:i, s:s, s:s}", "test", test->name, "unit", test->unit,
			 "value", (int)row->value, "figure_unit", test->figure, "figure",
			 isnan(result.figure) ? json_null() : json_real(result.figure), "rule", test->rule, "result",
			 outcomes[result.outcome], "runs", (int)row->nparts, "note", result.note, "text", test->doc);
}

static void
put_line(const struct bench *b, const struct ai_row *row, struct libscols_table *table)
{
	struct ai_result result = result_of(b, row);
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char text[TEXT];

	if (line == NULL)
		return;
	scols_line_set_data(line, 0, row->test->name);
	snprintf(text, sizeof(text), "%s %u", row->test->unit, row->value);
	scols_line_set_data(line, 1, text);
	snprintf(text, sizeof(text), "%.3g", result.figure);
	scols_line_set_data(line, 2, isnan(result.figure) ? "-" : text);
	scols_line_set_data(line, 3, row->test->figure);
	scols_line_set_data(line, 4, row->test->rule);
	scols_line_set_data(line, 5, outcomes[result.outcome]);
	scols_line_set_data(line, 6, result.note);
}

static void
print(const struct bench *b)
{
	static const char *const columns[] = { "test", "", "figure", "of", "rule", "result", "note" };
	struct libscols_table *table = scols_new_table();

	if (table == NULL)
		return;
	scols_table_enable_noencoding(table, true);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, i == 2 ? SCOLS_FL_RIGHT : 0);
	for (uint32_t i = 0; i < b->nrows; i++)
		put_line(b, &b->rows[i], table);
	scols_print_table(table);
	scols_unref_table(table);
	printf("\nNot there:\n");
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		printf("  %s\n", absent[i]);
}

static json_t *
results(const struct bench *b)
{
	json_t *rows = json_array(), *missing = json_array();

	for (uint32_t i = 0; i < b->nrows; i++)
		json_array_append_new(rows, row_json(b, &b->rows[i]));
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		json_array_append_new(missing, json_string(absent[i]));
	return json_pack("{s:s, s:i, s:o, s:o}", "scenario", b->path, "hosts", (int)b->fabric.hosts, "rows", rows, "absent",
			 missing);
}

/* ---- the command ---- */

static int
look_at_fabric(struct bench *b, struct err *err)
{
	struct ai_fabric *f = &b->fabric;
	const struct topo *topo;
	double share;

	b->scenario = scenario_load(&(struct scenario_options){ .path = b->path }, err);
	if (b->scenario == NULL)
		return -EINVAL;
	topo = b->scenario->topo;
	if (b->scenario->nexternal != 0)
		return err_set(err, -EINVAL,
			       "%s: %u hosts have their own kernel: a fabric of embedded hosts would be right", b->path,
			       b->scenario->nexternal);
	*f = (struct ai_fabric){ .scenario = b->scenario, .hosts = topo->nhosts };
	if (cc_bind(&f->dcqcn, CC_DCQCN, b->scenario->cfg, err) < 0)
		return -EINVAL;
	f->frame_bytes = roce_data_bytes(&b->scenario->roce, b->scenario->roce.mtu_bytes, false, false);
	share = (double)b->scenario->roce.mtu_bytes / f->frame_bytes;
	for (uint32_t p = 0; p < topo->nports; p++) {
		const struct topo_port *port = &topo->ports[p];

		if (topo->nodes[port->node].kind == TOPO_HOST &&
		    (f->rate_bps == 0 || share * (double)port->rate_bps < f->rate_bps))
			f->rate_bps = share * (double)port->rate_bps;
		f->has_links |= topo->nodes[port->node].kind == TOPO_SWITCH && topo->nodes[port->peer].kind == TOPO_SWITCH;
	}
	return 0;
}

static int
run_all(void *options, struct err *err)
{
	struct bench *b = options;
	int ret = look_at_fabric(b, err);

	b->rows = calloc(MAX_ROWS, sizeof(*b->rows));
	b->runs = calloc((size_t)MAX_ROWS * AI_MAX_PARTS, sizeof(*b->runs));
	if (ret == 0 && (b->rows == NULL || b->runs == NULL))
		ret = err_set(err, -ENOMEM, "out of memory");
	if (ret == 0) {
		list_rows(b);
		ret = run_rounds(b, err);
	}
	progress_line("%s", "");
	if (ret == 0 && !shard_is_part(&b->args.shard))
		ret = eval_args_report(results(b), b->args.dir, RESULTS, b->args.json, err);
	if (ret == 0 && !shard_is_part(&b->args.shard) && !b->args.json)
		print(b);
	free(b->rows);
	free(b->runs);
	scenario_destroy(b->scenario);
	return ret == 0 ? (int)b->broken : ret;
}

static const struct argp_option no_options[] = { { 0 } };

static void
ask_for(struct bench *b, const char *name, const struct argp_state *state)
{
	for (size_t t = 0; t < ai_ntests; t++)
		if (strcmp(ai_tests[t].name, name) == 0) {
			if (b->nonly == MAX_NAMES)
				args_error(state, "more than %d tests", MAX_NAMES);
			b->only[b->nonly++] = name;
			return;
		}
	args_error(state, "\"%s\" is no test; --help lists them", name);
}

static error_t
parse(int key, char *arg, struct argp_state *state, void *options)
{
	struct bench *b = options;

	switch (key) {
	case ARGP_KEY_ARG:
		if (b->path == NULL)
			b->path = arg;
		else
			ask_for(b, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (b->path == NULL)
			args_error(state, "name a scenario's file");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void
list_tests(FILE *to)
{
	fputs("Tests:\n", to);
	for (size_t t = 0; t < ai_ntests; t++)
		fprintf(to, "  %-15s %s. Pass: %s\n", ai_tests[t].name, ai_tests[t].doc, ai_tests[t].rule);
	fputs("Not there:\n", to);
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		fprintf(to, "  %s\n", absent[i]);
}

static void
init(void *options)
{
	(void)options; /* all zero */
}

const struct study bench_ai_fabric = {
	.name = "ai-fabric",
	.benchmark = true,
	.help = "Runs tests of the IETF's drafts on benchmarks of AI fabrics "
		"(draft-calabria-bmwg-ai-fabric-training-bench), scaled down, on the fabric of a scenario: its topology, "
		"switches and hosts, without its traffic. The drafts set no limits: the rules are rocelab's.\v"
		"DIR/TEST/VALUE/RUN has a run, and case.cfg, which `rocelab run` repeats; DIR/" RESULTS
		" has all numbers. The same command resumes an interrupted one.",
	.args_doc = "SCENARIO [TEST...]",
	.options = no_options,
	.parse = parse,
	.list = list_tests,
	.size = sizeof(struct bench),
	.init = init,
	.kept = "cases, runs and results",
	.out = "out/bench-ai-fabric",
	.printed = "a table",
	.run = run_all,
};
