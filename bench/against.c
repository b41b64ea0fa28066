/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab bench fabric --against: this build beside another rocelab, or beside what a former one measured. */
#include "bench/bench.h"

#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/fabric_cases.h"
#include "common/array.h"
#include "common/child.h"
#include "common/input_file.h"

/* Shares of work that differ by more are not the same work. */
#define SAME_HOPS 0.001

/*
 * The comparison of a case. With a program: rates, in Mhops per second of processor time. With a file: the cost of a
 * hop in mac-swap hops of the same run, since the file may be of another machine.
 */
struct comparison {
	double own[BENCH_MAX_REPEATS], other[BENCH_MAX_REPEATS]; /* ratios of pairs: itself, the other */
	double own_value, other_value;                           /* medians */
	double hops, other_hops;                                 /* a run's */
	double ratio, noise;
	bool compared; /* it is meant, and the file has it, or the program takes it */
	bool refused;  /* it is meant, and the program refuses its scenario */
};

struct against {
	const struct bench_options *options;
	const char *dir;
	struct err *err;
	struct fabric_program program, other; /* other: empty with a file */
	json_t *former;                       /* NULL with a program */
	struct comparison results[FABRIC_CASES];
};

/* @return the case's row in the file, or NULL */
static const json_t *
former_row(const json_t *former, const struct fabric_case *c)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(former, "cases"), i, row) {
		const char *name = json_string_value(json_object_get(row, "case"));

		if (name != NULL && strcmp(name, c->name) == 0 &&
		    json_is_true(json_object_get(row, "telemetry")) == c->telemetry &&
		    json_integer_value(json_object_get(row, "lcores")) == atoi(c->lcores))
			return row;
	}
	return NULL;
}

static double
number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* @return 0, or -EINVAL with err set */
static int
load_former(struct against *against, const char *path)
{
	json_error_t error;

	against->former = input_json(path, 0, &error);
	if (against->former == NULL)
		return err_set(against->err, -EINVAL,
			       "--against %s: neither a program nor what `rocelab bench fabric --json` prints: %s", path,
			       error.text);
	if (!(number(against->former, "macswap_ns") > 0))
		return err_set(against->err, -EINVAL,
			       "--against %s: no positive \"macswap_ns\": give what `rocelab bench fabric --json` prints",
			       path);
	for (size_t i = 0; i < FABRIC_CASES; i++) {
		const json_t *row = former_row(against->former, &fabric_cases[i]);
		struct comparison *result = &against->results[i];
		double mhops = number(row, "mhops_per_core_median");

		result->compared = mhops > 0 && fabric_case_is_meant(&fabric_cases[i], against->options->only);
		if (!result->compared)
			continue;
		result->other_value = 1e3 / mhops / number(against->former, "macswap_ns");
		result->other_hops = number(row, "hops");
	}
	for (size_t i = 0; i < FABRIC_CASES; i++)
		if (against->results[i].compared)
			return 0;
	return err_set(against->err, -EINVAL, "--against %s: no case that is meant has \"mhops_per_core_median\" in it",
		       path);
}

/* @return 0, or -EINVAL with err set: it is neither a program beside its dpswitch, nor a file of results */
static int
open_other(struct against *against)
{
	const char *path = against->options->against;
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(against->err, -EINVAL, "--against %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(against->err, -EINVAL, "--against %s: neither a program nor a file", path);
	if (access(path, X_OK) != 0)
		return load_former(against, path);
	for (size_t i = 0; i < FABRIC_CASES; i++)
		against->results[i].compared = fabric_case_is_meant(&fabric_cases[i], against->options->only);
	return child_find_beside(path, "dpswitch", "dpswitch", against->other.path, sizeof(against->other.path),
				 against->err) < 0
		       ? -EINVAL
		       : 0;
}

/* @return 0, or negative errno with err set. @param value  Mhops/s, or mac-swap hops a hop with a file */
static int
run(struct against *against, const struct fabric_case *c, const struct fabric_program *program, double *value, double *hops)
{
	struct fabric_run run;
	double macswap_ns = 0;
	int ret = fabric_case_run(c, against->options->percent, program, against->dir, &run, against->err);

	if (ret < 0)
		return ret;
	*value = run.mhops;
	*hops = run.hops;
	if (against->former == NULL)
		return 0;
	macswap_ns = fabric_macswap_ns(program->path, against->dir, against->err);
	*value = 1e3 / run.mhops / macswap_ns;
	return macswap_ns < 0 ? -EIO : 0;
}

/*
 * Two runs, of which the first is now the one, now the other: whatever drifts slows both alike. @param at  the pair's
 * number
 */
static int
run_pair(struct against *against, const struct fabric_case *c, int at, const struct fabric_program *second,
	 double values[2], double hops[2])
{
	int ret = 0;

	for (int i = 0; ret == 0 && i < 2; i++) {
		int which = i ^ (at & 1);

		ret = run(against, c, which == 0 ? &against->program : second, &values[which], &hops[which]);
	}
	return ret;
}

/* Rounds of a pair of this program with itself, and then one with the other. */
static int
compare_case(struct against *against, const struct fabric_case *c, struct comparison *result)
{
	double own_values[2 * BENCH_MAX_REPEATS], other_values[BENCH_MAX_REPEATS], values[2], hops[2];
	size_t pairs = (size_t)against->options->repeats;
	bool is_file = against->former != NULL;

	for (size_t i = 0; i < pairs; i++) {
		int ret = run_pair(against, c, (int)i, &against->program, values, hops);

		if (ret < 0)
			return ret;
		result->hops = hops[0];
		memcpy(&own_values[2 * i], values, sizeof(values));
		result->own[i] = values[0] / values[1];
		if (is_file) {
			result->other[i] = result->other_value / values[0]; /* a cost: the smaller is the faster */
			continue;
		}
		ret = run_pair(against, c, (int)i, &against->other, values, hops);
		if (ret < 0)
			return ret;
		other_values[i] = values[1];
		result->other_hops = hops[1];
		result->other[i] = values[0] / values[1];
	}
	result->noise = pairs_noise(result->own, pairs);
	if (is_file) /* the file's figure is a median, too */
		result->noise = expm1(log1p(result->noise) * sqrt(2));
	else
		result->other_value = pairs_median(other_values, pairs);
	result->own_value = pairs_median(own_values, 2 * pairs);
	result->ratio = pairs_median(result->other, pairs);
	return 0;
}

static bool
is_slower(const struct comparison *result)
{
	return result->compared && pairs_slower(result->ratio, result->noise);
}

static bool
is_other_work(const struct comparison *result)
{
	return fabs(result->hops / result->other_hops - 1) > SAME_HOPS;
}

static void
set_cells(struct libscols_line *line, const struct fabric_case *c, const struct comparison *result)
{
	char cell[8][48];

	snprintf(cell[0], sizeof(cell[0]), "%s", c->name);
	snprintf(cell[1], sizeof(cell[1]), "%s", c->lcores);
	snprintf(cell[2], sizeof(cell[2]), "%s", c->telemetry ? "on" : "off");
	snprintf(cell[3], sizeof(cell[3]), "%.1f", result->own_value);
	snprintf(cell[4], sizeof(cell[4]), "%.1f", result->other_value);
	snprintf(cell[5], sizeof(cell[5]), "%.3f", result->ratio);
	snprintf(cell[6], sizeof(cell[6]), "%.3f", result->noise);
	snprintf(cell[7], sizeof(cell[7]), "%s%s%s", is_slower(result) ? "slower " : "",
		 pairs_noisy(result->noise) ? "noisy " : "", is_other_work(result) ? "other hops" : "");
	for (size_t i = 0; i < ARRAY_LEN(cell); i++)
		scols_line_set_data(line, i, cell[i]);
}

static void
print_table(const struct against *against)
{
	bool is_file = against->former != NULL;
	const char *const columns[] = {
		"CASE", "LCORES", "TELEMETRY", is_file ? "x MACSWAP" : "MHOPS/S/CORE", "AGAINST", "RATIO", "NOISE", "NOTE",
	};
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		scols_table_new_column(table, columns[i], 0, i == 0 || i == 7 ? 0 : SCOLS_FL_RIGHT);
	for (size_t i = 0; i < FABRIC_CASES; i++)
		if (against->results[i].compared)
			set_cells(scols_table_new_line(table, NULL), &fabric_cases[i], &against->results[i]);
	scols_print_table(table);
	scols_unref_table(table);
	printf("\nRatio: speed of this build by that of %s, the median of %d pairs%s. Noise: two standard errors of such a "
	       "median, by as many pairs of this build with itself. A case is slower if ratio x (1 + noise) < %.2f. It is "
	       "noisy if a build that is slower by twice what that bar allows could pass.\n",
	       against->options->against, against->options->repeats,
	       is_file ? ", each in mac-swap hops of the same run" : "", PAIRS_BAR);
	for (size_t i = 0; i < FABRIC_CASES; i++)
		if (against->results[i].refused)
			printf("Not compared: %s, %s lcore%s, telemetry %s: %s refuses its scenario.\n",
			       fabric_cases[i].name, fabric_cases[i].lcores,
			       strcmp(fabric_cases[i].lcores, "1") == 0 ? "" : "s",
			       fabric_cases[i].telemetry ? "on" : "off", against->other.path);
}

static void
print_json(const struct against *against)
{
	json_t *rows = json_array(), *refused = json_array(), *root;

	for (size_t i = 0; i < FABRIC_CASES; i++) {
		const struct comparison *result = &against->results[i];

		if (result->refused)
			json_array_append_new(refused, json_pack("{s:s, s:i, s:b}", "case", fabric_cases[i].name, "lcores",
								 atoi(fabric_cases[i].lcores), "telemetry",
								 fabric_cases[i].telemetry));
		if (!result->compared)
			continue;
		json_array_append_new(rows,
				      json_pack("{s:s, s:i, s:b, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:b}", "case",
						fabric_cases[i].name, "lcores", atoi(fabric_cases[i].lcores), "telemetry",
						fabric_cases[i].telemetry, "hops", result->hops, "against_hops",
						result->other_hops, "median", result->own_value, "against_median",
						result->other_value, "ratio", result->ratio, "noise", result->noise,
						"slower", is_slower(result), "noisy", pairs_noisy(result->noise)));
	}
	root = json_pack("{s:s, s:s, s:i, s:f, s:o, s:o}", "against", against->options->against, "unit",
			 against->former != NULL ? "macswap_hops" : "mhops_per_core", "pairs", against->options->repeats,
			 "bar", PAIRS_BAR, "cases", rows, "refused", refused);
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(root);
}

/* Which cases the other program takes. @return 0, or negative errno with err set: it takes none that is meant */
static int
probe_cases(struct against *against)
{
	int ret = 0, taken = 0;

	for (size_t i = 0; ret == 0 && i < FABRIC_CASES; i++) {
		struct comparison *result = &against->results[i];
		bool known;

		if (!result->compared)
			continue;
		ret = fabric_case_probe(&fabric_cases[i], &against->other, against->dir, &known, against->err);
		result->compared = ret == 0 && known;
		result->refused = ret == 0 && !known;
		taken += result->compared;
	}
	return ret != 0 || taken != 0
		       ? ret
		       : err_set(against->err, -EINVAL, "--against %s: %s refuses the scenario of every case",
				 against->options->against, against->other.path);
}

static int
compare_all(struct against *against)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < FABRIC_CASES; i++) {
		if (!against->results[i].compared)
			continue;
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%zu of %d: %-24s", i + 1, FABRIC_CASES, fabric_cases[i].name);
		ret = compare_case(against, &fabric_cases[i], &against->results[i]);
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%-40s\r", "");
	return ret;
}

/* @return 0, or -ERANGE with err set: a case is slower */
static int
judge(const struct against *against)
{
	int slower = 0, compared = 0;

	for (size_t i = 0; i < FABRIC_CASES; i++) {
		compared += against->results[i].compared;
		slower += is_slower(&against->results[i]);
	}
	return slower == 0
		       ? 0
		       : err_set(against->err, -ERANGE, "%d of %d cases are slower than %s by more than %.0f %% and noise",
				 slower, compared, against->options->against, (1 - PAIRS_BAR) * 100);
}

int
bench_fabric_against(const char *dir, const struct bench_options *options, struct err *err)
{
	struct against against = { .options = options, .dir = dir, .err = err };
	int ret = open_other(&against);

	if (ret == 0)
		ret = child_find("dpswitch", "dpswitch", against.program.path, sizeof(against.program.path), err);
	if (ret == 0)
		ret = fabric_program_probe(&against.program, dir, err);
	if (ret == 0 && against.former == NULL)
		ret = fabric_program_probe(&against.other, dir, err);
	if (ret == 0 && against.former == NULL)
		ret = probe_cases(&against);
	if (ret == 0)
		ret = compare_all(&against);
	if (ret == 0 && options->json)
		print_json(&against);
	else if (ret == 0)
		print_table(&against);
	if (ret == 0)
		ret = judge(&against);
	json_decref(against.former);
	return ret;
}
