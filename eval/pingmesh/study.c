/* SPDX-License-Identifier: BSD-3-Clause */
/* A verdict that is there is not made again: it is the last thing that a run leaves. */
#include "eval/pingmesh/study.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/printable.h"
#include "common/run_files.h"
#include "eval/case_result.h"
#include "eval/pingmesh/case.h"
#include "eval/store.h"
#include "twin/rerun/job.h"

#define BASELINE "paper" /* folder, of the verdict by Algorithm 1 */
#define MAX_BROKEN 10    /* a cause that breaks this many runs breaks the others, too: a full disk */

struct work {
	struct pm_study *study;
	uint32_t *waiting; /* [nwaiting] cases, numbered through all seeds */
	uint32_t nwaiting, started, done;
	uint32_t slots[POOL_MAX_JOBS];
};

static void
folder_of(const struct pm_study *study, uint32_t number, char *dir)
{
	snprintf(dir, PATH_MAX, "%s/%" PRIu64 "/%03u", study->dir, study->seeds[number / study->cases],
		 number % study->cases);
}

static void
path_of(const struct pm_study *study, uint32_t number, const char *name, char path[PATH_MAX + 32])
{
	char dir[PATH_MAX];

	folder_of(study, number, dir);
	snprintf(path, PATH_MAX + 32, "%s/%s", dir, name);
}

/* The verdict by Algorithm 1 is in a folder of its own. */
static void
baseline_of(const struct pm_study *study, uint32_t number, char dir[PATH_MAX + 32])
{
	path_of(study, number, BASELINE, dir);
}

static void
verdict_path(const struct pm_study *study, uint32_t number, bool baseline, char path[PATH_MAX + 32])
{
	path_of(study, number, baseline ? BASELINE "/" RUN_VERDICT : RUN_VERDICT, path);
}

/* Writes a case. The verdict beside it is of the case that is there: it must be the same. */
static int
make_case(const struct pm_study *study, uint32_t number, struct pm_case *c, struct err *err)
{
	char dir[PATH_MAX], path[PATH_MAX + 32];
	uint64_t before;
	int ret;

	folder_of(study, number, dir);
	ret = run_dir_make(dir, err);
	if (ret < 0)
		return ret;
	path_of(study, number, "case.cfg", path);
	before = case_file_set_aside(path);
	ret = pm_case_make(c, study->seeds[number / study->cases], number % study->cases, path, err);
	return ret == 0 ? case_file_check(path, before, err) : ret;
}

/* ---- runs ---- */

static pid_t
start(void *ctx, uint32_t slot, int cpu, struct err *err)
{
	struct work *work = ctx;
	char dir[PATH_MAX], scenario[PATH_MAX + 32], baseline[PATH_MAX + 32];

	if (work->started == work->nwaiting)
		return 0;
	work->slots[slot] = work->waiting[work->started++];
	folder_of(work->study, work->slots[slot], dir);
	path_of(work->study, work->slots[slot], "case.cfg", scenario);
	baseline_of(work->study, work->slots[slot], baseline);
	return job_start(&(struct job_config){ .scenario = scenario,
					       .fabric = dir,
					       .out = dir,
					       .policy = "off",
					       .diagnose = true,
					       .again = work->study->baseline ? "--pingmesh-algorithm=paper" : NULL,
					       .again_out = baseline,
					       .cpu = cpu },
			 err);
}

static void
show(const struct work *work)
{
	progress_line("%u of %u runs", work->done, work->nwaiting);
}

/* Removes files that are no longer needed: all but the case, its verdict, and its report for people. */
static void
tidy(const struct pm_study *study, uint32_t number)
{
	static const char *const files[] = { RUN_RECORDING, RUN_PAGE,  RUN_CONFIG,    RUN_STEPS,
					     RUN_WAITING,   RUN_FLOWS, RUN_PROVENANCE };
	char path[PATH_MAX + 32];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		path_of(study, number, files[i], path);
		unlink(path);
	}
}

static int
ended(void *ctx, uint32_t slot, int status, struct err *err)
{
	struct work *work = ctx;
	char dir[PATH_MAX], verdict[PATH_MAX + 32];
	struct err why = { 0 };

	folder_of(work->study, work->slots[slot], dir);
	if (job_check(dir, ".", status, &why) == 0) {
		tidy(work->study, work->slots[slot]);
		work->done++;
		show(work);
		return 0;
	}
	progress_line("%s", "");
	log_warning("%s failed: %s; see log.txt there", dir, why.text);
	path_of(work->study, work->slots[slot], RUN_VERDICT, verdict);
	unlink(verdict);
	if (++work->study->broken < MAX_BROKEN)
		return 0;
	return err_set(err, -EIO, "%u runs failed; fix the cause and repeat the command", work->study->broken);
}

/* Cases are written, and those listed that have no verdict. */
static int
list_waiting(struct work *work, struct err *err)
{
	const struct pm_study *study = work->study;
	struct pm_case *c = calloc(1, sizeof(*c));
	int ret = c != NULL ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (uint32_t i = 0; ret == 0 && i < study->nseeds * study->cases; i++) {
		char path[PATH_MAX + 32];
		bool lacks;

		if (!shard_has(study->shard, i))
			continue;
		ret = make_case(study, i, c, err);
		pm_case_fini(c);
		verdict_path(study, i, study->baseline, path);
		lacks = access(path, R_OK) != 0;
		verdict_path(study, i, false, path);
		if (lacks || access(path, R_OK) != 0)
			work->waiting[work->nwaiting++] = i;
	}
	free(c);
	return ret;
}

static int
run_waiting(struct pm_study *study, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	struct work work = { .study = study,
			     .waiting = calloc((size_t)study->nseeds * study->cases, sizeof(*work.waiting)) };
	int ret = work.waiting != NULL ? list_waiting(&work, err) : err_set(err, -ENOMEM, "out of memory");

	if (ret == 0)
		ret = shard_check(study->shard, work.nwaiting, err);
	if (ret == 0) {
		show(&work);
		ret = pool_run(study->jobs, &ops, &work, err);
		progress_line("%s", "");
	}
	free(work.waiting);
	return ret;
}

/* ---- scores ---- */

/* @return 0, -ENODATA: there is no verdict; other negative errno with err */
static int
load_verdict(const struct pm_study *study, uint32_t number, bool baseline, json_t **verdict, struct err *err)
{
	char path[PATH_MAX + 32];

	verdict_path(study, number, baseline, path);
	*verdict = input_json(path, 0, NULL);
	if (*verdict != NULL)
		return 0;
	return access(path, F_OK) == 0 ? err_set(err, -EINVAL, "%s is no JSON; remove it", path) : -ENODATA;
}

/* @return 0, -ENODATA: there is no verdict; other negative errno with err */
static int
score_case(struct pm_study *study, uint32_t number, struct err *err)
{
	struct pm_row *row = &study->rows[study->nrows];
	json_t *verdict, *baseline = NULL;
	int ret = load_verdict(study, number, false, &verdict, err);

	if (ret == 0 && study->baseline)
		ret = load_verdict(study, number, true, &baseline, err);
	if (ret != 0) {
		json_decref(verdict);
		return ret;
	}
	*row = (struct pm_row){ .seed = study->seeds[number / study->cases],
				.index = number % study->cases,
				.c = calloc(1, sizeof(*row->c)) };
	study->nrows++;
	ret = row->c != NULL ? make_case(study, number, row->c, err) : err_set(err, -ENOMEM, "out of memory");
	if (ret == 0)
		ret = pm_score(row->c, verdict, &row->marks, err);
	if (ret == 0 && study->baseline)
		ret = pm_score(row->c, baseline, &row->baseline, err);
	for (uint32_t p = 0; ret == 0 && p < row->c->nproblems; p++)
		pm_problem_text(row->c, &row->c->problems[p], row->problems[p], sizeof(row->problems[p]));
	if (row->c != NULL)
		pm_case_fini(row->c);
	json_decref(verdict);
	json_decref(baseline);
	return ret;
}

int
pm_study_run(struct pm_study *study, struct err *err)
{
	uint32_t count = study->nseeds * study->cases;
	int ret;

	study->rows = calloc(count, sizeof(*study->rows));
	if (study->rows == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u cases", count);
	ret = run_waiting(study, err);
	for (uint32_t i = 0; ret == 0 && i < count; i++) {
		ret = score_case(study, i, err);
		ret = ret == -ENODATA ? 0 : ret;
	}
	return ret;
}

void
pm_study_fini(struct pm_study *study)
{
	for (uint32_t i = 0; i < study->nrows; i++)
		free(study->rows[i].c);
	free(study->rows);
	study->rows = NULL;
	study->nrows = 0;
}

/* Sums over cases, for people and for machines. */

#define MOST_KINDS 64

static const char *const classes[] = { PM_CLASSES(ENUM_NAME) };
static const char *const words[] = { PM_WORDS(ENUM_NAME) };

/* Sums over problems of one kind, or class. */
struct found_sum {
	uint32_t injected, found, alone, direction;
	double *after_s; /* [found] */
};

struct sums {
	struct found_sum kinds[MOST_KINDS], classes[PM_NCLASSES], all;
	uint32_t reported[PM_NWORDS], accurate[PM_NWORDS], unlisted;
	uint32_t at_starved;                    /* RNICs blamed of hosts whose CPU was starved */
	uint32_t clean, clean_wrong;            /* cases with nothing wrong; of them those with a report */
	uint32_t restarts;                      /* cases in which an agent started again */
	uint32_t by_several, by_delay, by_both; /* starved CPUs that were found by the paper's methods, */
	uint32_t by_agent;                      /* and by their agents' word alone */
	uint32_t plain_rnics; /* that the paper's rule alone blames where a CPU is starved and all RNICs are well */
};

static int
cmp_double(const void *pa, const void *pb)
{
	const double *a = pa, *b = pb;

	return ORDER(*a, *b);
}

static double
quantile(const struct found_sum *sum, double q)
{
	return sum->found != 0 ? sum->after_s[(size_t)((sum->found - 1) * q + 0.5)] : 0;
}

static void
count_found(struct found_sum *sum, const struct pm_found *found)
{
	sum->injected++;
	sum->alone += found->alone;
	sum->direction += found->direction;
	if (found->found)
		sum->after_s[sum->found++] = found->after_s;
}

static void
count_row(struct sums *s, const struct pm_row *row, const struct pm_marks *marks)
{
	bool only_cpu = row->c->nproblems != 0;

	for (uint32_t p = 0; p < row->c->nproblems; p++) {
		const struct pm_kind *kind = row->c->problems[p].kind;
		const struct pm_found *found = &marks->found[p];

		count_found(&s->kinds[kind - pm_kinds], found);
		count_found(&s->classes[kind->class], found);
		count_found(&s->all, found);
		s->by_several += found->several && !found->delay;
		s->by_delay += found->delay && !found->several;
		s->by_both += found->several && found->delay;
		s->by_agent += found->agent && !found->several && !found->delay;
		only_cpu &= kind->class == PM_CPU;
	}
	for (uint32_t i = 0; i < marks->nreports; i++) {
		s->reported[marks->reports[i].word]++;
		s->accurate[marks->reports[i].word] += marks->reports[i].accurate;
		s->at_starved += marks->reports[i].at_starved;
	}
	s->unlisted += marks->unlisted;
	s->plain_rnics += only_cpu ? marks->plain_rnics : 0;
	s->restarts += row->c->has_restart;
	s->clean += row->c->nproblems == 0;
	s->clean_wrong += row->c->nproblems == 0 && marks->nreports != 0;
}

static void
sums_fini(struct sums *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < MOST_KINDS; i++)
		free(s->kinds[i].after_s);
	for (size_t i = 0; i < PM_NCLASSES; i++)
		free(s->classes[i].after_s);
	free(s->all.after_s);
	free(s);
}

static bool
give_room(struct found_sum *sum, const struct pm_study *study)
{
	sum->after_s = calloc((size_t)study->nrows * PM_MOST_PROBLEMS + 1, sizeof(*sum->after_s));
	return sum->after_s != NULL;
}

static void
sort(struct found_sum *sum)
{
	qsort(sum->after_s, sum->found, sizeof(*sum->after_s), cmp_double);
}

/* @param baseline  of Algorithm 1 @return to be given to sums_fini(); NULL: no memory */
static struct sums *
add_up(const struct pm_study *study, bool baseline)
{
	struct sums *s = calloc(1, sizeof(*s));
	bool good = s != NULL && give_room(&s->all, study);

	for (size_t i = 0; good && i < MOST_KINDS; i++)
		good = give_room(&s->kinds[i], study);
	for (size_t i = 0; good && i < PM_NCLASSES; i++)
		good = give_room(&s->classes[i], study);
	if (!good) {
		sums_fini(s);
		return NULL;
	}
	for (uint32_t i = 0; i < study->nrows; i++)
		count_row(s, &study->rows[i], baseline ? &study->rows[i].baseline : &study->rows[i].marks);
	for (size_t i = 0; i < MOST_KINDS; i++)
		sort(&s->kinds[i]);
	for (size_t i = 0; i < PM_NCLASSES; i++)
		sort(&s->classes[i]);
	sort(&s->all);
	return s;
}

static double
percent(uint32_t part, uint32_t of)
{
	return of != 0 ? 100.0 * part / of : 0;
}

/* ---- for machines ---- */

static json_t *
found_json(const char *name, const struct found_sum *sum)
{
	return json_pack("{s:s, s:i, s:i, s:f, s:i, s:i, s:f, s:f, s:f}", "name", name, "injected", (int)sum->injected,
			 "found", (int)sum->found, "recall_percent", percent(sum->found, sum->injected), "at_one_place",
			 (int)sum->alone, "direction_right", (int)sum->direction, "after_s_p50", quantile(sum, 0.5),
			 "after_s_p90", quantile(sum, 0.9), "after_s_max", quantile(sum, 1));
}

static json_t *
word_json(const char *name, uint32_t reported, uint32_t accurate)
{
	return json_pack("{s:s, s:i, s:i, s:f}", "name", name, "reported", (int)reported, "accurate", (int)accurate,
			 "precision_percent", percent(accurate, reported));
}

static json_t *
case_json(const struct pm_row *row)
{
	json_t *problems = json_array(), *reports = json_array();

	for (uint32_t p = 0; p < row->c->nproblems; p++) {
		const struct pm_found *found = &row->marks.found[p];

		json_array_append_new(problems,
				      json_pack("{s:s, s:f, s:f, s:b, s:b, s:b, s:o}", "what", row->problems[p], "start_s",
						row->c->problems[p].start_s, "duration_s", row->c->problems[p].duration_s,
						"found", found->found, "at_one_place", found->alone, "direction_right",
						found->direction, "after_s",
						found->found ? json_real(found->after_s) : json_null()));
	}
	for (uint32_t i = 0; i < row->marks.nreports; i++)
		json_array_append_new(reports,
				      json_pack("{s:s, s:s, s:b}", "type", words[row->marks.reports[i].word], "place",
						row->marks.reports[i].place, "accurate", row->marks.reports[i].accurate));
	return json_pack("{s:I, s:i, s:s, s:f, s:b, s:b, s:o, s:o}", "seed", (json_int_t)row->seed, "case", (int)row->index,
			 "fabric", row->c->fabric, "time_factor", row->c->factor, "job", row->c->has_job, "agent_restart",
			 row->c->has_restart, "problems", problems, "reports", reports);
}

static json_t *
sums_json(const struct sums *s)
{
	json_t *kinds = json_array(), *by_class = json_array(), *words_list = json_array();

	for (const struct pm_kind *kind = pm_kinds; kind->name != NULL; kind++)
		json_array_append_new(kinds, found_json(kind->name, &s->kinds[kind - pm_kinds]));
	for (size_t i = 0; i < PM_NCLASSES; i++)
		json_array_append_new(by_class, found_json(classes[i], &s->classes[i]));
	for (size_t i = 0; i < PM_NWORDS; i++)
		json_array_append_new(words_list, word_json(words[i], s->reported[i], s->accurate[i]));
	return json_pack("{s:o, s:o, s:o, s:o, s:{s:i, s:i, s:i, s:i, s:i, s:i}, s:{s:i, s:i}}", "all",
			 found_json("all", &s->all), "classes", by_class, "kinds", kinds, "reports", words_list, "cpu",
			 "by_several_rnics", (int)s->by_several, "by_delay", (int)s->by_delay, "by_both", (int)s->by_both,
			 "by_agent_alone", (int)s->by_agent, "rnics_falsely_blamed", (int)s->at_starved,
			 "rnic_periods_over_10_percent", (int)s->plain_rnics, "clean", "cases", (int)s->clean,
			 "with_reports", (int)s->clean_wrong);
}

json_t *
pm_json(const struct pm_study *study)
{
	struct sums *s = add_up(study, false), *baseline = study->baseline ? add_up(study, true) : NULL;
	json_t *cases = json_array(), *root = s != NULL ? sums_json(s) : NULL;

	for (uint32_t i = 0; i < study->nrows; i++)
		json_array_append_new(cases, case_json(&study->rows[i]));
	json_object_set_new(root, "cases", cases);
	if (baseline != NULL)
		json_object_set_new(root, "baseline", sums_json(baseline));
	sums_fini(s);
	sums_fini(baseline);
	return root;
}

/* ---- for people ---- */

static struct libscols_table *
new_table(const char *const *columns, size_t count, FILE *to)
{
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < count; i++)
		scols_table_new_column(table, columns[i], 0, i != 0 ? SCOLS_FL_RIGHT : 0);
	scols_table_set_stream(table, to);
	return table;
}

static void
add_count(struct libscols_line *line, size_t column, uint32_t value)
{
	char cell[16];

	snprintf(cell, sizeof(cell), "%" PRIu32, value);
	scols_line_set_data(line, column, cell);
}

/* "-": of none */
static void
add_share(struct libscols_line *line, size_t column, uint32_t part, uint32_t of)
{
	char cell[32] = "-";

	if (of != 0)
		snprintf(cell, sizeof(cell), "%.1f %%", percent(part, of));
	scols_line_set_data(line, column, cell);
}

/* "-": nothing was found */
static void
add_time(struct libscols_line *line, size_t column, const struct found_sum *sum, double at)
{
	char cell[32] = "-";

	if (sum->found != 0)
		snprintf(cell, sizeof(cell), "%.1f s", quantile(sum, at));
	scols_line_set_data(line, column, cell);
}

static void
add_found(struct libscols_table *table, const char *name, const struct found_sum *sum)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	scols_line_set_data(line, 0, name);
	add_count(line, 1, sum->injected);
	add_count(line, 2, sum->found);
	add_share(line, 3, sum->found, sum->injected);
	add_share(line, 4, sum->alone, sum->injected);
	add_share(line, 5, sum->direction, sum->injected);
	add_time(line, 6, sum, 0.5);
	add_time(line, 7, sum, 0.9);
	add_time(line, 8, sum, 1);
}

static void
print_found(const struct sums *s, FILE *to)
{
	static const char *const columns[] = { "PROBLEM",   "INJECTED", "FOUND", "RECALL", "ONE PLACE",
					       "DIRECTION", "P50",      "P90",   "LONGEST" };
	struct libscols_table *table = new_table(columns, ARRAY_LEN(columns), to);

	for (const struct pm_kind *kind = pm_kinds; kind->name != NULL; kind++)
		if (s->kinds[kind - pm_kinds].injected != 0)
			add_found(table, kind->name, &s->kinds[kind - pm_kinds]);
	for (size_t i = 0; i < PM_NCLASSES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "all: %s", classes[i]);
		add_found(table, name, &s->classes[i]);
	}
	add_found(table, "all", &s->all);
	scols_print_table(table);
	scols_unref_table(table);
}

static void
print_words(const struct sums *s, FILE *to)
{
	static const char *const columns[] = { "FINDING", "REPORTED", "ACCURATE", "PRECISION" };
	struct libscols_table *table = new_table(columns, ARRAY_LEN(columns), to);
	uint32_t reported = s->unlisted, accurate = 0;

	for (size_t i = 0; i <= PM_NWORDS; i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);
		uint32_t of = i < PM_NWORDS ? s->reported[i] : reported, part = i < PM_NWORDS ? s->accurate[i] : accurate;

		scols_line_set_data(line, 0, i < PM_NWORDS ? words[i] : "all");
		add_count(line, 1, of);
		add_count(line, 2, part);
		add_share(line, 3, part, of);
		reported += of;
		accurate += part;
	}
	scols_print_table(table);
	scols_unref_table(table);
}

static void
add_compared(struct libscols_table *table, const char *name, const uint32_t parts[2], const uint32_t of[2])
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	scols_line_set_data(line, 0, name);
	for (size_t i = 0; i < 2; i++) {
		char cell[64] = "-";

		if (of[i] != 0)
			snprintf(cell, sizeof(cell), "%u of %u (%.1f %%)", parts[i], of[i], percent(parts[i], of[i]));
		scols_line_set_data(line, 1 + i, cell);
	}
}

/* Ours beside Algorithm 1, which judged the same recordings. */
static void
print_baseline(const struct sums *s, const struct sums *b, FILE *to)
{
	static const char *const columns[] = { "", "LIKELIHOOD", "ALGORITHM 1" };
	const struct sums *both[2] = { s, b };
	struct libscols_table *table = new_table(columns, ARRAY_LEN(columns), to);
	uint32_t reported[2] = { 0 }, accurate[2] = { 0 };

	for (size_t i = 0; i < PM_NCLASSES; i++) {
		char name[64];

		snprintf(name, sizeof(name), "found, of class %s", classes[i]);
		add_compared(table, name, (uint32_t[]){ s->classes[i].found, b->classes[i].found },
			     (uint32_t[]){ s->classes[i].injected, b->classes[i].injected });
	}
	add_compared(table, "found, all", (uint32_t[]){ s->all.found, b->all.found },
		     (uint32_t[]){ s->all.injected, b->all.injected });
	add_compared(table, "found at one place", (uint32_t[]){ s->all.alone, b->all.alone },
		     (uint32_t[]){ s->all.injected, b->all.injected });
	for (size_t k = 0; k < 2; k++) {
		reported[k] = both[k]->unlisted;
		for (size_t i = 0; i < PM_NWORDS; i++) {
			reported[k] += both[k]->reported[i];
			accurate[k] += both[k]->accurate[i];
		}
	}
	add_compared(table, "accurate, of all reports", accurate, reported);
	for (size_t i = 0; i < PM_NWORDS; i++) {
		char name[64];

		snprintf(name, sizeof(name), "accurate, of %s", words[i]);
		add_compared(table, name, (uint32_t[]){ s->accurate[i], b->accurate[i] },
			     (uint32_t[]){ s->reported[i], b->reported[i] });
	}
	add_compared(table, "cases without a problem that have a report", (uint32_t[]){ s->clean_wrong, b->clean_wrong },
		     (uint32_t[]){ s->clean, b->clean });
	fputs("\nBeside the paper's Algorithm 1, of the same recordings:\n", to);
	scols_print_table(table);
	scols_unref_table(table);
}

static void
print_case(const struct pm_study *study, const struct pm_row *row, FILE *to)
{
	char dir[64];

	snprintf(dir, sizeof(dir), "%" PRIu64 "/%03u", row->seed, row->index);
	for (uint32_t p = 0; p < row->c->nproblems; p++) {
		if (!row->marks.found[p].found)
			fprintf(to, "  %s/%s: not found: %s\n", plain_line(study->dir).text, dir, row->problems[p]);
		else if (!row->marks.found[p].direction)
			fprintf(to, "  %s/%s: found, but not %s: %s\n", plain_line(study->dir).text, dir,
				row->marks.found[p].alone ? "its direction" : "as one place", row->problems[p]);
	}
	for (uint32_t i = 0; i < row->marks.nreports; i++)
		if (!row->marks.reports[i].accurate)
			fprintf(to, "  %s/%s: wrong: %s at %s\n", plain_line(study->dir).text, dir,
				words[row->marks.reports[i].word], row->marks.reports[i].place);
}

void
pm_print(const struct pm_study *study, FILE *to)
{
	struct sums *s = add_up(study, false), *baseline = study->baseline ? add_up(study, true) : NULL;

	if (s == NULL)
		return;
	fprintf(to,
		"%u cases; times of the protocol are multiplied by %g, of every %uth by 1. Times until the report are in "
		"that time.\n"
		"\n",
		study->nrows, PM_FACTOR, PM_PLAIN_EVERY);
	print_found(s, to);
	fputc('\n', to);
	print_words(s, to);
	fprintf(to,
		"\nStarved CPUs that were found: %u by several RNICs at once, %u by processing delay, %u by both, %u by "
		"their agents' word alone. RNICs of "
		"theirs "
		"that were blamed: %u; the paper's 10 %% alone blames %u (RNICs times periods) where nothing else is "
		"wrong.\n"
		"With nothing wrong: %u cases, of them %u with a report. An agent started again in %u cases.\n",
		s->by_several, s->by_delay, s->by_both, s->by_agent, s->at_starved, s->plain_rnics, s->clean,
		s->clean_wrong, s->restarts);
	if (baseline != NULL)
		print_baseline(s, baseline, to);
	if (study->broken != 0)
		fprintf(to, "%u cases are not counted: their runs broke.\n", study->broken);
	fputs("\nDeviations:\n", to);
	for (uint32_t i = 0; i < study->nrows; i++)
		print_case(study, &study->rows[i], to);
	sums_fini(s);
	sums_fini(baseline);
}
