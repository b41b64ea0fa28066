/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowtracer/study.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAPER_ECMP 36.5 /* percent: FlowTracer, IV-A */
#define PAPER_STATIC 6.2

const char *
ft_placement_name(const struct ft_study *study, enum ft_placement placement)
{
	return placement == FT_ECMP ? "ecmp" : study->by == ADVISE_PATHS ? "static" : "source-ports";
}

void
ft_path(const struct ft_study *study, enum ft_placement placement, uint64_t seed, const char *name,
	char path[PATH_MAX + 64])
{
	snprintf(path, PATH_MAX + 64, "%s/%s/%" PRIu64 "%s%s", study->dir, ft_placement_name(study, placement), seed,
		 name[0] != '\0' ? "/" : "", name);
}

int
ft_study_run(struct ft_study *study, struct err *err)
{
	int ret;

	if (study->runs > study->seeds)
		return err_set(err, -EINVAL, "%u runs of %u seeds; at most as many would be right", study->runs,
			       study->seeds);
	for (int p = 0; p < FT_PLACEMENTS; p++) {
		study->of[p].job_ns = calloc(study->runs + 1, sizeof(double));
		study->of[p].percent = calloc(study->runs + 1, sizeof(double));
		if (study->of[p].job_ns == NULL || study->of[p].percent == NULL)
			return err_set(err, -ENOMEM, "out of memory for %u runs", study->runs);
	}
	ret = ft_seeds(study, err);
	return ret == 0 && !study->is_planned ? ft_runs(study, err) : ret;
}

void
ft_study_fini(struct ft_study *study)
{
	for (uint32_t g = 0; g < FT_GROUPS; g++) {
		free(study->groups[g].percent);
		free(study->groups[g].placed);
	}
	for (int p = 0; p < FT_PLACEMENTS; p++) {
		free(study->of[p].pairs);
		free(study->of[p].job_ns);
		free(study->of[p].percent);
	}
}

/* ---- what people see ---- */

/* A distribution by nearest rank. */
struct spread {
	uint32_t count;
	double mean, deviation, least, q05, q25, median, q75, q95, most;
};

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* @param values  [count] sorted here */
static struct spread
spread_of(double *values, uint32_t count)
{
	struct spread s = { .count = count };
	double squares = 0;

	if (count == 0)
		return s;
	qsort(values, count, sizeof(*values), compare);
	for (uint32_t i = 0; i < count; i++)
		s.mean += values[i] / count;
	for (uint32_t i = 0; i < count; i++)
		squares += (values[i] - s.mean) * (values[i] - s.mean);
	s.deviation = count > 1 ? sqrt(squares / (count - 1)) : 0;
	s.least = values[0];
	s.q05 = values[(count - 1) * 5 / 100];
	s.q25 = values[(count - 1) / 4];
	s.median = values[(count - 1) / 2];
	s.q75 = values[(count - 1) * 3 / 4];
	s.q95 = values[(count - 1) * 95 / 100];
	s.most = values[count - 1];
	return s;
}

/* Of values that stay in their order. @return NULL: no memory */
static double *
copy(const double *values, uint32_t count)
{
	double *to = malloc((count + 1) * sizeof(*to));

	if (to != NULL)
		memcpy(to, values, count * sizeof(*to));
	return to;
}

static struct spread
spread_of_copy(const double *values, uint32_t count)
{
	double *to = copy(values, count);
	struct spread s = to != NULL ? spread_of(to, count) : (struct spread){ 0 };

	free(to);
	return s;
}

static struct spread
spread_of_pairs(const struct ft_runs *runs)
{
	double *values = malloc((runs->npairs + 1) * sizeof(*values));
	struct spread s = { 0 };

	for (uint32_t i = 0; values != NULL && i < runs->npairs; i++)
		values[i] = runs->pairs[i].gbps;
	if (values != NULL)
		s = spread_of(values, runs->npairs);
	free(values);
	return s;
}

void
ft_print(const struct ft_study *study, FILE *to)
{
	fprintf(to, "Flow Imbalance Metric (%%) of %u flows by ECMP, %u seeds\n\n", study->flows, study->seeds);
	fprintf(to, "%-18s %5s %6s  %8s  %6s %6s  %6s %6s %6s %6s %6s\n", "links", "n", "ideal", "expected", "mean", "+-",
		"min", "5 %", "median", "95 %", "max");
	for (uint32_t g = 0; g < FT_GROUPS; g++) {
		const struct ft_group *group = &study->groups[g];
		struct spread s;
		char expected[16] = "-";

		if (group->links == 0)
			continue;
		s = spread_of_copy(group->percent, study->seeds);
		if (!isnan(group->expected))
			snprintf(expected, sizeof(expected), "%.2f", group->expected);
		fprintf(to, "%-18s %5u %6.2f  %8s  %6.2f %6.2f  %6.2f %6.2f %6.2f %6.2f %6.2f\n", group->name, group->links,
			group->ideal, expected, s.mean, s.deviation / sqrt(s.count), s.least, s.q05, s.median, s.q95,
			s.most);
	}
	if (study->runs == 0)
		return;
	fprintf(to, "\nRuns of seeds 1 to %u\n\n%-8s %6s  %12s  %6s %6s %6s %6s %6s %6s  %10s\n", study->runs, "", "FIM",
		"pairs (Gbps)", "min", "25 %", "median", "75 %", "max", "mean", "job (us)");
	for (int p = 0; p < FT_PLACEMENTS; p++) {
		const struct ft_runs *runs = &study->of[p];
		const struct spread s = spread_of_pairs(runs), fim = spread_of_copy(runs->percent, study->runs),
				    job = spread_of_copy(runs->job_ns, study->runs);

		fprintf(to, "%-8s %6.2f  %12u  %6.1f %6.1f %6.1f %6.1f %6.1f %6.1f  %10.1f\n",
			ft_placement_name(study, (enum ft_placement)p), fim.mean, s.count, s.least, s.q25, s.median, s.q75,
			s.most, s.mean, job.mean / 1e3);
	}
	fprintf(to, "\nThe paper's testbed: %.1f %% by ECMP, %.1f %% by static routes.\n", PAPER_ECMP, PAPER_STATIC);
}

static json_t *
array_of(const double *values, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array, json_real(values[i]));
	return array;
}

json_t *
ft_json(const struct ft_study *study)
{
	json_t *root = json_object(), *groups = json_array();

	json_object_set_new(root, "scenario", json_string(study->scenario));
	json_object_set_new(root, "seeds", json_integer(study->seeds));
	json_object_set_new(root, "flows", json_integer(study->flows));
	for (uint32_t g = 0; g < FT_GROUPS; g++) {
		const struct ft_group *group = &study->groups[g];

		if (group->links == 0)
			continue;
		json_array_append_new(groups, json_pack("{s:s, s:i, s:f, s:o, s:o}", "links", group->name, "count",
							(int)group->links, "ideal", group->ideal, "expected",
							isnan(group->expected) ? json_null() : json_real(group->expected),
							"percent", array_of(group->percent, study->seeds)));
	}
	json_object_set_new(root, "groups", groups);
	for (int p = 0; p < FT_PLACEMENTS; p++) {
		const struct ft_runs *runs = &study->of[p];
		json_t *pairs = json_array();

		for (uint32_t i = 0; i < runs->npairs; i++)
			json_array_append_new(pairs, json_pack("{s:I, s:s, s:s, s:f}", "seed",
							       (json_int_t)runs->pairs[i].seed, "src", runs->pairs[i].src,
							       "dst", runs->pairs[i].dst, "gbps", runs->pairs[i].gbps));
		json_object_set_new(root, ft_placement_name(study, (enum ft_placement)p),
				    json_pack("{s:o, s:o, s:o}", "percent", array_of(runs->percent, study->runs), "job_ns",
					      array_of(runs->job_ns, study->runs), "pairs", pairs));
	}
	return root;
}
