/* SPDX-License-Identifier: BSD-3-Clause */
/* The paper's Fig. 5: false positives and negatives by threshold, drop rate, radix, size, and with links down before. */
#include "eval/flowpulse/experiments.h"

#include "common/array.h"

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

/* The paper's threshold, and the leaf's own test: of random spraying by its noise, else by what it learned. */
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

int
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

/* What a rank sends stays the same: with more spines each has less of it. */
int
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

int
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

int
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
