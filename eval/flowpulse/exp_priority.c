/* SPDX-License-Identifier: BSD-3-Clause */
/* 5.1: a class of its own keeps other data from changing how a measured collective is sprayed. */
#include "eval/flowpulse/experiments.h"

#include <math.h>

#include "common/array.h"

#define PRIORITY_PACKETS 1000
#define TRIALS_AN_ITERATION 10 /* an iteration is one of every leaf */
#define PERCENT 100.0

/* How far counts are from what is predicted: the mean square, and the worst that is missing, as shares. */
static void
measure(const struct fp_grid *grid, double *mean_square, double *most)
{
	size_t cells = (size_t)grid->iterations * grid->nrows * grid->paths, count = 0;

	*mean_square = *most = 0;
	for (size_t i = 0; i < cells; i++) {
		const struct volume_sample *bytes = &grid->cells[i].bytes;
		double off;

		if (bytes->predicted == 0)
			continue;
		off = detect_deviation(bytes);
		*mean_square += off * off;
		*most = fmax(*most, -off);
		count++;
	}
	*mean_square /= count != 0 ? (double)count : 1;
}

static int
priority_of(struct fp_study *study, double load, bool own_class, json_t *rows, struct err *err)
{
	const struct fp_point point = { fp_papers_point.fabric, fp_papers_point.spraying, PRIORITY_PACKETS };
	const struct fp_method paper = { .ops = &fp_threshold, .threshold = 0.01 };
	char purpose[32];
	struct fp_spec spec = { .purpose = purpose,
				.fabric = point.fabric,
				.spraying = point.spraying,
				.prediction = "analytical",
				.rings = 1,
				.packets = point.packets * study->scale,
				.iterations = (study->trials + TRIALS_AN_ITERATION - 1) / TRIALS_AN_ITERATION,
				.seed = study->seed,
				.load = load,
				.own_class = own_class };
	struct fp_set set = { .point = &point, .packets = fp_spec_packets(&spec), .nparts = 1 };
	double mean_square, most;
	struct fp_outcomes outcomes;
	int ret;
	json_t *row;

	snprintf(purpose, sizeof(purpose), "priority%.0f%s", PERCENT * load, own_class ? "-own" : "");
	ret = fp_need(study, &spec, &set.parts[0].grid, err);
	if (ret < 0 || set.parts[0].grid == NULL)
		return ret;
	ret = fp_set_outcomes(&set, &paper, -1, &outcomes, err);
	if (ret < 0)
		return ret;
	measure(set.parts[0].grid, &mean_square, &most);
	row = fp_row_begin(&set);
	json_object_set_new(row, "others_load_percent", json_real(PERCENT * load));
	json_object_set_new(row, "class", json_string(own_class ? "its own" : load > 0 ? "shared" : "alone"));
	json_object_set_new(row, "port_iterations", json_integer((json_int_t)outcomes.ports));
	json_object_set_new(row, "off_rms_percent", json_real(PERCENT * sqrt(mean_square)));
	json_object_set_new(row, "most_missing_percent", json_real(PERCENT * most));
	fp_row_percent(row, "beyond_threshold_percent", outcomes.false_ports, outcomes.ports);
	json_array_append_new(rows, row);
	return 0;
}

int
fp_exp_priority(struct fp_study *study, json_t *rows, struct err *err)
{
	static const double loads[] = { 0.1, 0.3, 0.5 };
	int ret = priority_of(study, 0, false, rows, err);

	for (size_t i = 0; i < ARRAY_LEN(loads); i++)
		for (int own_class = 0; ret == 0 && own_class <= 1; own_class++)
			ret = priority_of(study, loads[i], own_class, rows, err);
	return ret;
}
