/* SPDX-License-Identifier: BSD-3-Clause */
/* The paper's Fig. 2 and 3: loads of ports, predicted and seen. */
#include "eval/flowpulse/experiments.h"

#define LOAD_ITERATIONS 10
#define HEALED_AFTER 3.5 /* iterations */
#define TRANSIENT_DROP 0.1

/* Ports of row 0, in the first iteration. */
int
fp_exp_prediction(struct fp_study *study, json_t *rows, struct err *err)
{
	struct fp_set set;
	int ret = fp_set_clean(study, &fp_papers_point, study->trials, &set, err);

	if (ret < 0 || !set.is_ready)
		return ret;
	for (uint32_t path = 0; path < set.parts[0].grid->paths; path++) {
		const struct fp_cell *cell = fp_cell(set.parts[0].grid, 0, 0, path);
		json_t *row = fp_row_begin(&set);

		json_object_set_new(row, "spine", json_integer(path));
		json_object_set_new(row, "predicted_bytes", json_integer((json_int_t)cell->bytes.predicted));
		json_object_set_new(row, "seen_bytes", json_integer((json_int_t)cell->bytes.seen));
		json_object_set_new(row, "deviation_percent", json_real(100 * detect_deviation(&cell->bytes)));
		json_array_append_new(rows, row);
	}
	return 0;
}

/* A fault on row 0 heals: what the leaf predicts of that port, and of one beside it, in each iteration. */
int
fp_exp_relearning(struct fp_study *study, json_t *rows, struct err *err)
{
	struct fp_spec spec = { .purpose = "healing",
				.fabric = fp_papers_point.fabric,
				.spraying = fp_papers_point.spraying,
				.prediction = "learned",
				.rings = 1,
				.packets = fp_papers_point.packets * study->scale,
				.iterations = LOAD_ITERATIONS,
				.seed = study->seed,
				.links = { { .drop = TRANSIENT_DROP, .iterations = HEALED_AFTER } },
				.nlinks = 1 };
	const struct fp_set set = { .point = &fp_papers_point, .packets = fp_spec_packets(&spec) };
	const struct fp_grid *grid;
	int ret = fp_need(study, &spec, &grid, err);

	for (uint32_t i = 0; ret == 0 && grid != NULL && i < grid->iterations; i++) {
		const struct volume_sample *faulty = &fp_cell(grid, i, 0, 0)->bytes,
					   *other = &fp_cell(grid, i, 0, 1)->bytes;
		json_t *row = fp_row_begin(&set);

		json_object_set_new(row, "iteration", json_integer(i));
		json_object_set_new(row, "faulty_predicted_bytes", json_integer((json_int_t)faulty->predicted));
		json_object_set_new(row, "faulty_seen_bytes", json_integer((json_int_t)faulty->seen));
		json_object_set_new(row, "other_predicted_bytes", json_integer((json_int_t)other->predicted));
		json_object_set_new(row, "other_seen_bytes", json_integer((json_int_t)other->seen));
		json_array_append_new(rows, row);
	}
	return ret;
}
