/* SPDX-License-Identifier: BSD-3-Clause */
/* What leaves the switches: alarms alone, or all counts, with a fault and without. */
#include "eval/flowpulse/experiments.h"

#include "common/array.h"

#define BYTES_PACKETS 1000
#define BYTES_ITERATIONS 10
#define BYTES_DROP 0.02

static int
bytes_of(struct fp_study *study, const char *export, double drop, json_t *rows, struct err *err)
{
	static const char *const purposes[] = { "bytes", "bytes-faulty" };
	const struct fp_point point = { fp_papers_point.fabric, fp_papers_point.spraying, BYTES_PACKETS };
	struct fp_spec spec = { .purpose = purposes[drop > 0],
				.fabric = point.fabric,
				.spraying = point.spraying,
				.prediction = "analytical",
				.rings = 1,
				.packets = point.packets * study->scale,
				.iterations = BYTES_ITERATIONS,
				.seed = study->seed,
				.links = { { .path = 1, .drop = drop } },
				.nlinks = drop > 0,
				.export = export };
	const struct fp_set set = { .point = &point, .packets = fp_spec_packets(&spec) };
	const struct fp_grid *grid;
	int ret = fp_need(study, &spec, &grid, err);
	json_t *row;

	if (ret < 0 || grid == NULL)
		return ret;
	row = fp_row_begin(&set);
	json_object_set_new(row, "export", json_string(export));
	json_object_set_new(row, "drop_percent", json_real(100 * drop));
	json_object_set_new(row, "iterations", json_integer(spec.iterations));
	json_object_set_new(row, "bytes", json_integer((json_int_t)grid->exported_bytes));
	json_object_set_new(row, "bytes_a_leaf_iteration",
			    json_real((double)grid->exported_bytes / spec.iterations / point.fabric.leaves));
	json_array_append_new(rows, row);
	return 0;
}

int
fp_exp_bytes(struct fp_study *study, json_t *rows, struct err *err)
{
	static const char *const exports[] = { "alarms", "counts" };
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(exports); i++)
		for (int faulty = 0; ret == 0 && faulty <= 1; faulty++)
			ret = bytes_of(study, exports[i], faulty * BYTES_DROP, rows, err);
	return ret;
}
