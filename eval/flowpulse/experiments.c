/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/study.h"

#include <math.h>
#include <string.h>

#include "common/array.h"

/* The records that leave the switches: alarms alone, or all counts, with a fault and without. */

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

/* Bytes of a collective. */
static int
fp_exp_bytes(struct fp_study *study, json_t *rows, struct err *err)
{
	static const char *const exports[] = { "alarms", "counts" };
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(exports); i++)
		for (int faulty = 0; ret == 0 && faulty <= 1; faulty++)
			ret = bytes_of(study, exports[i], faulty * BYTES_DROP, rows, err);
	return ret;
}

/* The paper's Fig. 2 and 3: loads of ports, predicted and seen. */

#define LOAD_ITERATIONS 10
#define HEALED_AFTER 3.5 /* iterations */
#define TRANSIENT_DROP 0.1

/* Ports of row 0, in the first iteration. */
static int
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

/* A fault on row 0 heals: the leaf's prediction of that port, and of one beside it, in each iteration. */
static int
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

/* 5.1: a class of its own keeps other data from changing how a measured collective is sprayed. */

#define PRIORITY_PACKETS 1000
#define TRIALS_AN_ITERATION 10 /* an iteration is one of every leaf */
#define PERCENT 100.0

/* The distance of counts from their prediction: the mean square, and the worst that is missing, as shares. */
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

/* Priorities of the measured class. */
static int
fp_exp_priority(struct fp_study *study, json_t *rows, struct err *err)
{
	static const double loads[] = { 0.1, 0.3, 0.5 };
	int ret = priority_of(study, 0, false, rows, err);

	for (size_t i = 0; i < ARRAY_LEN(loads); i++)
		for (int own_class = 0; ret == 0 && own_class <= 1; own_class++)
			ret = priority_of(study, loads[i], own_class, rows, err);
	return ret;
}

/* The paper's Fig. 5: false positives and negatives by threshold, drop rate, radix, size, and with links down before. */

#define LEAF_RATE 1e-4    /* false alarms per port and iteration of the leaf's own test */
#define DEFAULT_TEST 0.01 /* the paper's threshold */
#define KNOWN_LOSS 0.05   /* of links whose loss operators know */
#define FEW_TRIALS 20     /* of points whose iterations take more than 10 s */

/* One test at one drop rate. @param clean  its false alarms; NULL: not known of it */
static int
add_row(const struct fp_set *clean, const struct fp_set *faulty, const struct fp_method *method, double drop, json_t *rows,
	struct err *err)
{
	struct fp_outcomes alarms, found;
	int ret = fp_set_outcomes(clean, method, -1, &alarms, err);
	json_t *row;

	if (ret == 0)
		ret = fp_set_outcomes(faulty, method, drop, &found, err);
	if (ret < 0)
		return ret;
	row = fp_row_begin(faulty);
	json_object_set_new(row, "test", json_string(method->ops->name));
	json_object_set_new(row, "threshold_percent",
			    method->ops == &fp_threshold ? json_real(100 * method->threshold) : json_null());
	json_object_set_new(row, "drop_percent", json_real(100 * drop));
	json_object_set_new(row, "trials", json_integer((json_int_t)found.trials));
	fp_row_percent(row, "fnr_percent", found.trials - found.found, found.trials);
	json_object_set_new(row, "mean_ms",
			    found.found_blocks != 0 ? json_real(found.delay_ps / (double)found.found_blocks / 1e9)
						    : json_null());
	json_object_set_new(row, "clean_iterations", json_integer((json_int_t)alarms.iterations));
	json_object_set_new(row, "clean_trials", json_integer((json_int_t)alarms.clean));
	fp_row_percent(row, "fpr_percent", alarms.false_iterations, alarms.iterations);
	fp_row_percent(row, "fpr_port_percent", alarms.false_ports, alarms.ports);
	json_array_append_new(rows, row);
	return 0;
}

/* The paper's threshold, and the leaf's own test: for random spraying by its noise, else by the learned noise. */
static int
add_two_rows(const struct fp_set *clean, const struct fp_set *faulty, double drop, json_t *rows, struct err *err)
{
	const struct fp_method paper = { .ops = &fp_threshold, .threshold = DEFAULT_TEST };
	const struct fp_method own = { .ops = fp_own_test(faulty->point), .rate = LEAF_RATE };
	int ret = add_row(clean, faulty, &paper, drop, rows, err);

	return ret == 0 ? add_row(clean, faulty, &own, drop, rows, err) : ret;
}

static int
roc_of(struct fp_study *study, const struct fp_point *point, const double *drops, uint32_t ndrops, uint32_t trials,
       json_t *rows, struct err *err)
{
	static const double thresholds[] = { 0.0025, 0.005, 0.0075, 0.01, 0.0125, 0.015, 0.02, 0.03 };
	struct fp_set clean, faulty;
	int ret = fp_set_clean(study, point, trials, &clean, err);

	if (ret == 0)
		ret = fp_set_faulty(study, point, "roc", drops, ndrops, trials, NULL, &faulty, err);
	if (ret < 0 || !clean.is_ready || !faulty.is_ready)
		return ret;
	for (uint32_t d = 0; ret == 0 && d < ndrops; d++) {
		for (size_t t = 0; ret == 0 && t < ARRAY_LEN(thresholds); t++)
			ret = add_row(&clean, &faulty,
				      &(struct fp_method){ .ops = &fp_threshold, .threshold = thresholds[t] }, drops[d],
				      rows, err);
		if (ret == 0)
			ret = add_row(&clean, &faulty, &(struct fp_method){ .ops = fp_own_test(point), .rate = LEAF_RATE },
				      drops[d], rows, err);
	}
	return ret;
}

/* Rates of false alarms and of detection. */
static int
fp_exp_roc(struct fp_study *study, json_t *rows, struct err *err)
{
	static const double adaptive[] = { 0.005, 0.0075, 0.01, 0.0125, 0.015, 0.02, 0.03, 0.05 };
	static const double random[] = { 0.005, 0.01, 0.015, 0.025 };
	int ret = roc_of(study, &fp_papers_point, adaptive, ARRAY_LEN(adaptive), study->trials, rows, err);

	if (ret == 0)
		ret = roc_of(study, &fp_random_point, random, ARRAY_LEN(random),
			     study->trials < FEW_TRIALS ? study->trials : FEW_TRIALS, rows, err);
	return ret;
}

static int
rates_of(struct fp_study *study, const struct fp_point *point, const char *purpose, const double *drops, uint32_t ndrops,
	 json_t *rows, struct err *err)
{
	struct fp_set clean, faulty;
	int ret = fp_set_clean(study, point, study->trials, &clean, err);

	if (ret == 0)
		ret = fp_set_faulty(study, point, purpose, drops, ndrops, study->trials, NULL, &faulty, err);
	if (ret < 0 || !clean.is_ready || !faulty.is_ready)
		return ret;
	for (uint32_t d = 0; ret == 0 && d < ndrops; d++)
		ret = add_two_rows(&clean, &faulty, drops[d], rows, err);
	return ret;
}

/* A rank's data stays the same: with more spines each has less of it. */
static int
fp_exp_radix(struct fp_study *study, json_t *rows, struct err *err)
{
	static const struct fp_point points[] = { { { 8, 4, 1 }, "adaptive", 40000 },
						  { { 16, 8, 1 }, "adaptive", 20000 },
						  { { 32, 16, 1 }, "adaptive", 10000 },
						  { { 64, 32, 1 }, "adaptive", 5000 } };
	static const double drops[] = { 0.008 };
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(points); i++)
		ret = rates_of(study, &points[i], "radix", drops, ARRAY_LEN(drops), rows, err);
	return ret;
}

static int
fp_exp_size(struct fp_study *study, json_t *rows, struct err *err)
{
	static const struct fp_point points[] = { { { 32, 16, 1 }, "adaptive", 100 },
						  { { 32, 16, 1 }, "adaptive", 300 },
						  { { 32, 16, 1 }, "adaptive", 1000 },
						  { { 32, 16, 1 }, "adaptive", 3000 },
						  { { 32, 16, 1 }, "adaptive", 10000 } };
	static const double drops[] = { 0.01, 0.015, 0.02, 0.03 };
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(points); i++)
		ret = rates_of(study, &points[i], "size", drops, ARRAY_LEN(drops), rows, err);
	return ret;
}

static int
known_of(struct fp_study *study, const char *purpose, const struct fp_known *known, json_t *rows, struct err *err)
{
	static const double drops[] = { 0.015, 0.025 };
	struct fp_set faulty;
	int ret = fp_set_faulty(study, &fp_papers_point, purpose, drops, ARRAY_LEN(drops), study->trials, known, &faulty,
				err);

	/* Rows without a new fault are its fault-free ones: the known links are down for them as well. */
	for (uint32_t d = 0; ret == 0 && faulty.is_ready && d < ARRAY_LEN(drops); d++) {
		size_t before = json_array_size(rows);

		ret = add_two_rows(&faulty, &faulty, drops[d], rows, err);
		for (size_t i = before; i < json_array_size(rows); i++) {
			json_t *row = json_array_get(rows, i);

			json_object_set_new(row, "known_links", json_integer(known->links));
			json_object_set_new(row, "known_drop_percent",
					    json_real(known->drop > 0 ? 100 * known->drop : 100));
		}
	}
	return ret;
}

static int
fp_exp_known(struct fp_study *study, json_t *rows, struct err *err)
{
	static const struct {
		const char *purpose;
		struct fp_known known;
	} points[] = { { "known1", { 1, 0 } },
		       { "known2", { 2, 0 } },
		       { "known4", { 4, 0 } },
		       { "known8", { 8, 0 } },
		       { "lossy4", { 4, KNOWN_LOSS } } };
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(points); i++)
		ret = known_of(study, points[i].purpose, &points[i].known, rows, err);
	return ret;
}

const struct fp_point fp_papers_point = { { 32, 16, 1 }, "adaptive", 10000 };
const struct fp_point fp_random_point = { { 8, 4, 1 }, "random", 1000000 };

const struct fp_method_ops *
fp_own_test(const struct fp_point *point)
{
	return strcmp(point->spraying, "random") == 0 ? &fp_random : &fp_learned;
}

const struct fp_experiment fp_experiments[] = {
	{ "prediction", "volumes of a leaf's ports, predicted and seen (Fig. 2)", fp_exp_prediction },
	{ "relearning", "a transient fault while loads are learned (Fig. 3)", fp_exp_relearning },
	{ "roc", "false positives and negatives by threshold and drop rate (Fig. 5a)", fp_exp_roc },
	{ "radix", "a drop rate of 0.8 % by radix (Fig. 5b)", fp_exp_radix },
	{ "size", "by collective size and drop rate (Fig. 5c)", fp_exp_size },
	{ "known", "with links that are down, or lossy, and known to be (6)", fp_exp_known },
	{ "places", "which link leaves name, with one sender a leaf and with two (Fig. 4)", fp_exp_places },
	{ "flows", "the same with one and with several flows a leaf that leave it at a time (5.1)", fp_exp_flows },
	{ "fib", "the same of a spine that swallows one sender's packets to one receiver", fp_exp_fib },
	{ "priority", "volumes beside other data, in its class and in a separate one (5.1)", fp_exp_priority },
	{ "alarms", "false alarms per port and iteration, asked for and measured", fp_exp_alarms },
	{ "limit", "the smallest drop rate that any test could find, and that ours do", fp_exp_limit },
	{ "pooled", "iterations pooled: drop rates found within that number", fp_exp_pooled },
	{ "bytes", "what leaves the switches: alarms alone, and all counts", fp_exp_bytes },
	{ 0 },
};
