/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Beyond the paper: false alarms at a requested rate, the distance from the best possible test, and iterations
 * pooled.
 */
#include "eval/flowpulse/study.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/prng.h"
#include "common/tail.h"

#define BISECTIONS 60
#define WIDTH 12.0 /* standard deviations of the drops: beyond them is nothing */

double
limit_missing(const struct limit_fabric *fabric, double drop)
{
	double paths = fabric->paths;

	return drop * (paths - 1) / (paths - drop);
}

/* All packets of a sender, of which a port gets a share. */
static uint64_t
all_packets(const struct limit_fabric *fabric)
{
	return (uint64_t)llround(fabric->packets * fabric->paths);
}

static double
share_of_faulty(const struct limit_fabric *fabric, double drop)
{
	return (1 - drop) / (fabric->paths - drop);
}

/* Counts up to a limit alarm, one more does with a chance that makes up for the rest of the rate. */
static double
power_random(const struct limit_fabric *fabric, double rate, double drop)
{
	double share = 1 / (double)fabric->paths, faulty = share_of_faulty(fabric, drop), below, at;
	int64_t low = -1, high = (int64_t)all_packets(fabric);

	while (high - low > 1) { /* P(X <= low) <= rate < P(X <= high) */
		int64_t mid = low + (high - low) / 2;

		if (tail_binomial(mid, all_packets(fabric), share) <= rate)
			low = mid;
		else
			high = mid;
	}
	below = tail_binomial(low, all_packets(fabric), share);
	at = (rate - below) / (tail_binomial(low + 1, all_packets(fabric), share) - below);
	below = tail_binomial(low, all_packets(fabric), faulty);
	return below + at * (tail_binomial(low + 1, all_packets(fabric), faulty) - below);
}

/* Normal noise, rounded to whole packets: @return P(at least mean + noise of these are missing) */
static double
missing_tail(const struct limit_fabric *fabric, double packets, double mean)
{
	double over = packets - 0.5 - mean;

	if (fabric->variance == 0)
		return over <= 0;
	return tail_normal(over / sqrt(fabric->variance));
}

/* Tail probability with a fault: a binomial number of packets is dropped as well, and arrives again by all ports. */
static double
faulty_tail(const struct limit_fabric *fabric, double packets, double drop)
{
	double paths = fabric->paths, sent = round(fabric->packets * paths / (paths - drop));
	double deviation = sqrt(sent * drop * (1 - drop)), sum = 0;
	double first = floor(sent * drop - WIDTH * deviation - WIDTH), last = ceil(sent * drop + WIDTH * deviation + WIDTH);

	if (drop >= 1)
		return missing_tail(fabric, packets, fabric->packets);
	if (drop <= 0)
		return missing_tail(fabric, packets, 0);
	for (double d = first > 0 ? first : 0; d <= last && d <= sent; d++) {
		double log_chance =
			lgamma(sent + 1) - lgamma(d + 1) - lgamma(sent - d + 1) + d * log(drop) + (sent - d) * log1p(-drop);

		sum += exp(log_chance) * missing_tail(fabric, packets, d * (1 - 1 / paths));
	}
	return sum;
}

static double
power_measured(const struct limit_fabric *fabric, double rate, double drop)
{
	double above, at, faulty;
	double least = ceil(sqrt(fabric->variance) * tail_normal_at(rate) + 0.5);

	while (missing_tail(fabric, least, 0) > rate)
		least++;
	while (missing_tail(fabric, least - 1, 0) <= rate)
		least--;
	above = missing_tail(fabric, least, 0);
	at = (rate - above) / (missing_tail(fabric, least - 1, 0) - above);
	faulty = faulty_tail(fabric, least, drop);
	return faulty + at * (faulty_tail(fabric, least - 1, drop) - faulty);
}

double
limit_power(const struct limit_fabric *fabric, double rate, double drop)
{
	return fabric->is_random ? power_random(fabric, rate, drop) : power_measured(fabric, rate, drop);
}

double
limit_drop(const struct limit_fabric *fabric, double rate, double power)
{
	double low = 0, high = 1;

	if (limit_power(fabric, rate, 1) < power)
		return 1;
	for (int i = 0; i < BISECTIONS && high - low > 1e-6 * high; i++) {
		double mid = (low + high) / 2;

		if (limit_power(fabric, rate, mid) < power)
			low = mid;
		else
			high = mid;
	}
	return high;
}

static double
normal(struct prng *prng)
{
	return sqrt(-2 * log(1 - prng_unit(prng))) * cos(2 * M_PI * prng_unit(prng));
}

/* Mean and variance of the ports' counts, where port 0 is the faulty one, or any other. */
static void
moments(const struct limit_fabric *fabric, double drop, bool is_faulty, double *mean, double *variance)
{
	double paths = fabric->paths, all = fabric->packets * paths, share = (is_faulty ? 1 - drop : 1) / (paths - drop);
	double dropped = all * drop / (paths - drop);

	*mean = all * share;
	*variance = fabric->is_random ? all * share * (1 - share) : fabric->variance;
	if (!fabric->is_random && is_faulty)
		*variance += dropped * (1 - drop) * (1 - 1 / paths) * (1 - 1 / paths);
}

/* @return the logarithm of the likelihood of a port's count with the fault at it, over that without */
static double
log_ratio(const struct limit_fabric *fabric, double drop, double count)
{
	double paths = fabric->paths, mean, variance, before = fabric->variance, off;

	if (fabric->is_random) /* of all ports' counts, exactly */
		return count * log1p(-drop) + fabric->packets * paths * log(paths / (paths - drop));
	moments(fabric, drop, true, &mean, &variance);
	off = count - fabric->packets;
	return (off * off / before - (count - mean) * (count - mean) / variance + log(before / variance)) / 2;
}

static int
descending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* Counts of all ports with the fault at the first. @return the logarithm of their mean likelihood ratio */
static double
draw(const struct limit_fabric *fabric, double drop, struct prng *prng)
{
	double counts[UINT8_MAX + 1], sum = 0, scale = 1, most = -INFINITY;
	uint32_t paths = fabric->paths <= UINT8_MAX ? fabric->paths : UINT8_MAX;

	for (uint32_t i = 0; i < paths; i++) {
		double mean, variance;

		moments(fabric, drop, i == 0, &mean, &variance);
		/* All arrive somewhere: independent draws are corrected to the total, and keep their variance. */
		scale = sqrt(paths / (paths - 1.0));
		counts[i] = sqrt(variance) * scale * normal(prng);
		sum += counts[i];
	}
	for (uint32_t i = 0; i < paths; i++) {
		double mean, variance;

		moments(fabric, drop, i == 0, &mean, &variance);
		counts[i] = log_ratio(fabric, drop, mean + counts[i] - sum / paths);
		most = counts[i] > most ? counts[i] : most;
	}
	sum = 0;
	for (uint32_t i = 0; i < paths; i++)
		sum += exp(counts[i] - most);
	return most + log(sum / paths);
}

double
limit_power_any(const struct limit_fabric *fabric, double rate, double drop, uint32_t samples)
{
	double *ratios = calloc(samples, sizeof(*ratios)), spent = 0;
	uint32_t taken = 0;
	struct prng prng;

	if (ratios == NULL)
		return 0;
	prng_init(&prng, samples, fabric->paths);
	for (uint32_t i = 0; i < samples; i++)
		ratios[i] = draw(fabric, drop, &prng);
	qsort(ratios, samples, sizeof(*ratios), descending);
	/* P(ratio > t without a fault) is the mean of 1 / ratio over the samples that exceed t with one. */
	while (taken < samples && spent + exp(-ratios[taken]) / samples <= rate * fabric->paths)
		spent += exp(-ratios[taken++]) / samples;
	free(ratios);
	return taken / (double)samples;
}

#define RATE 1e-4            /* false alarms per port and iteration */
#define POWER 0.9            /* of a test that finds a drop rate */
#define ALARMS_ITERATIONS 20 /* times the trials: with 100 a million ports and iterations */
#define SAMPLES 5000
#define POOLED_TRIALS 2     /* times the trials: several iterations are one */
#define ALARMS_PACKETS 1000 /* a port, of the fabrics whose alarms are counted */

static const struct fp_method_ops *
pooled_test(const struct fp_point *point)
{
	return strcmp(point->spraying, "random") == 0 ? &fp_pooled_random : &fp_pooled_learned;
}

static int
add_alarms(const struct fp_set *set, const struct fp_method *method, json_t *rows, struct err *err)
{
	struct fp_outcomes outcomes;
	int ret = fp_set_outcomes(set, method, -1, &outcomes, err);
	json_t *row;

	if (ret < 0)
		return ret;
	row = fp_row_begin(set);
	json_object_set_new(row, "test", json_string(method->ops->name));
	json_object_set_new(row, "rate_asked", method->rate > 0 ? json_real(method->rate) : json_null());
	json_object_set_new(row, "port_iterations", json_integer((json_int_t)outcomes.ports));
	json_object_set_new(row, "alarms", json_integer((json_int_t)outcomes.false_ports));
	json_object_set_new(row, "rate_measured",
			    outcomes.ports != 0 ? json_real((double)outcomes.false_ports / (double)outcomes.ports)
						: json_null());
	json_array_append_new(rows, row);
	return 0;
}

int
fp_exp_alarms(struct fp_study *study, json_t *rows, struct err *err)
{
	static const struct fp_point points[] = { { { 32, 16, 1 }, "random", ALARMS_PACKETS },
						  { { 32, 16, 1 }, "adaptive", ALARMS_PACKETS } };
	static const double rates[] = { 1e-2, 1e-3, 1e-4 };
	int ret = 0;

	for (size_t p = 0; ret == 0 && p < ARRAY_LEN(points); p++) {
		/* With the noise that spraying gives, and with the noise that monitors learn of any spraying. */
		const struct fp_method_ops *const tests[] = { &fp_learned, &fp_pooled_learned, &fp_random,
							      &fp_pooled_random };
		size_t ntests = fp_own_test(&points[p]) == &fp_learned ? 2 : ARRAY_LEN(tests);
		struct fp_set set;

		ret = fp_set_clean(study, &points[p], ALARMS_ITERATIONS * study->trials, &set, err);
		if (ret < 0 || !set.is_ready)
			continue;
		ret = add_alarms(&set, &(struct fp_method){ .ops = &fp_threshold, .threshold = 0.01 }, rows, err);
		for (size_t t = 0; t < ntests; t++)
			for (size_t r = 0; ret == 0 && r < ARRAY_LEN(rates); r++)
				ret = add_alarms(&set, &(struct fp_method){ .ops = tests[t], .rate = rates[r] }, rows, err);
	}
	return ret;
}

/*
 * The knowledge of a leaf in these runs. Adaptive spraying compensates the unevenness of one iteration in the next:
 * the sum of several is no more uneven than one, and its variance is measured. @param iterations  pooled
 */
static struct limit_fabric
limit_of(const struct fp_set *clean, uint32_t iterations)
{
	struct limit_fabric fabric = { .paths = clean->point->fabric.spines,
				       .packets = clean->packets * iterations,
				       .is_random = strcmp(clean->point->spraying, "random") == 0 };
	double sum = 0, variance, packets;

	for (uint32_t i = 0; i < clean->nparts; i++) {
		fp_noise(clean->parts[i].grid, iterations, &variance, &packets);
		sum += variance;
	}
	fabric.variance = sum / clean->nparts;
	return fabric;
}

/* @return the drop rate at which the share of detections first reaches the power, interpolated linearly; 0: at none */
static double
crossing(const double *drops, const double *shares, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (shares[i] < POWER)
			continue;
		if (i == 0 || shares[i] == shares[i - 1])
			return drops[i];
		return drops[i - 1] + (drops[i] - drops[i - 1]) * (POWER - shares[i - 1]) / (shares[i] - shares[i - 1]);
	}
	return 0;
}

static int
add_limit(const struct fp_set *clean, const struct fp_set *faulty, const struct fp_method_ops *test, double after,
	  const double *drops, size_t ndrops, json_t *rows, struct err *err)
{
	const struct fp_method method = { .ops = test, .rate = RATE, .after = after };
	const struct limit_fabric fabric = limit_of(clean, 1);
	double limit = limit_drop(&fabric, RATE, POWER), shares[16], ours;
	uint64_t trials = 0;
	json_t *row;

	for (size_t i = 0; i < ndrops; i++) {
		struct fp_outcomes outcomes;
		int ret = fp_set_outcomes(faulty, &method, drops[i], &outcomes, err);

		if (ret < 0)
			return ret;
		shares[i] = outcomes.trials != 0 ? (double)outcomes.found / (double)outcomes.trials : 0;
		trials += outcomes.trials;
	}
	ours = crossing(drops, shares, ndrops);
	row = fp_row_begin(clean);
	json_object_set_new(row, "noise_packets", json_real(sqrt(fabric.variance)));
	json_object_set_new(row, "limit_percent", json_real(100 * limit));
	json_object_set_new(row, "power_any_port",
			    fabric.is_random || fabric.variance > 0
				    ? json_real(limit_power_any(&fabric, RATE, limit, SAMPLES))
				    : json_null());
	json_object_set_new(row, "missing_percent", json_real(100 * limit_missing(&fabric, limit)));
	json_object_set_new(row, "test", json_string(method.ops->name));
	json_object_set_new(row, "after_iterations", json_integer((json_int_t)(after * faulty->parts[0].grid->iterations)));
	json_object_set_new(row, "ours_percent", ours > 0 ? json_real(100 * ours) : json_null());
	json_object_set_new(row, "ratio", ours > 0 ? json_real(ours / limit) : json_null());
	json_object_set_new(row, "trials", json_integer((json_int_t)trials));
	json_array_append_new(rows, row);
	return 0;
}

/* Faults at multiples of the limit that the fault-free runs give. */
int
fp_exp_limit(struct fp_study *study, json_t *rows, struct err *err)
{
	static const struct fp_point points[] = { { { 32, 16, 1 }, "adaptive", 10000 },
						  { { 32, 16, 1 }, "adaptive", ALARMS_PACKETS },
						  { { 32, 16, 1 }, "random", ALARMS_PACKETS },
						  { { 8, 4, 1 }, "random", 100000 } };
	static const double multiples[] = { 0.8, 1, 1.1, 1.2, 1.35, 1.6, 2, 3 };
	int ret = 0;

	for (size_t p = 0; ret == 0 && p < ARRAY_LEN(points); p++) {
		double drops[ARRAY_LEN(multiples)];
		struct fp_set clean, faulty;
		struct limit_fabric fabric;
		uint32_t iterations =
			points[p].packets == ALARMS_PACKETS ? ALARMS_ITERATIONS * study->trials : study->trials;

		ret = fp_set_clean(study, &points[p], iterations, &clean, err);
		if (ret < 0 || !clean.is_ready)
			continue;
		fabric = limit_of(&clean, 1);
		for (size_t i = 0; i < ARRAY_LEN(drops); i++)
			drops[i] = fmin(1, multiples[i] * limit_drop(&fabric, RATE, POWER));
		ret = fp_set_faulty(study, &points[p], "limit", drops, ARRAY_LEN(drops), study->trials, NULL, &faulty, err);
		if (ret == 0 && faulty.is_ready && fp_own_test(&points[p]) != &fp_learned)
			ret = add_limit(&clean, &faulty, fp_own_test(&points[p]), 0, drops, ARRAY_LEN(drops), rows, err);
		/* With a fault from the beginning, which noise is learned beside; and when that has been learned. */
		for (int half = 0; ret == 0 && faulty.is_ready && half <= 1; half++)
			ret = add_limit(&clean, &faulty, &fp_learned, half / 2.0, drops, ARRAY_LEN(drops), rows, err);
	}
	return ret;
}

static int
add_pooled(const struct fp_set *clean, const struct fp_set *faulty, double drop, uint32_t block, json_t *rows,
	   struct err *err)
{
	const struct fp_method method = { .ops = pooled_test(clean->point), .rate = RATE, .block = block };
	const struct limit_fabric fabric = limit_of(clean, block);
	struct fp_outcomes alarms, found;
	int ret = fp_set_outcomes(clean, &method, -1, &alarms, err);
	json_t *row;

	if (ret == 0)
		ret = fp_set_outcomes(faulty, &method, drop, &found, err);
	if (ret < 0)
		return ret;
	row = fp_row_begin(clean);
	json_object_set_new(row, "drop_percent", json_real(100 * drop));
	json_object_set_new(row, "within_iterations", json_integer(block));
	json_object_set_new(row, "trials", json_integer((json_int_t)found.blocks));
	fp_row_percent(row, "found_percent", found.found_blocks, found.blocks);
	json_object_set_new(row, "mean_iterations",
			    found.found_blocks != 0 ? json_real(found.delay / (double)found.found_blocks) : json_null());
	json_object_set_new(row, "mean_ms",
			    found.found_blocks != 0 ? json_real(found.delay_ps / (double)found.found_blocks / 1e9)
						    : json_null());
	/*
	 * One decision at the end of a block may raise the same number of false alarms as one in each of its
	 * iterations.
	 */
	json_object_set_new(row, "limit_percent", json_real(100 * limit_drop(&fabric, RATE * block, POWER)));
	fp_row_percent(row, "fpr_port_percent", alarms.false_ports, alarms.ports);
	json_array_append_new(rows, row);
	return 0;
}

int
fp_exp_pooled(struct fp_study *study, json_t *rows, struct err *err)
{
	static const struct fp_point points[] = { { { 8, 64, 1 }, "adaptive", 10000 }, { { 8, 4, 1 }, "random", 100000 } };
	static const double drops[][4] = { { 0.015, 0.005, 0.001, 0.0003 }, { 0.015, 0.01, 0.005, 0.0025 } };
	static const uint32_t blocks[] = { 1, 5, 20 };
	int ret = 0;

	for (size_t p = 0; ret == 0 && p < ARRAY_LEN(points); p++) {
		struct fp_set clean, faulty;

		ret = fp_set_clean(study, &points[p], study->trials, &clean, err);
		if (ret == 0)
			ret = fp_set_faulty(study, &points[p], "pooled", drops[p], ARRAY_LEN(drops[p]),
					    POOLED_TRIALS * study->trials, NULL, &faulty, err);
		if (ret < 0 || !clean.is_ready || !faulty.is_ready)
			continue;
		for (size_t d = 0; ret == 0 && d < ARRAY_LEN(drops[p]); d++)
			for (size_t b = 0; ret == 0 && b < ARRAY_LEN(blocks); b++)
				ret = add_pooled(&clean, &faulty, drops[p][d], blocks[b], rows, err);
	}
	return ret;
}
