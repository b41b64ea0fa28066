/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowpulse/limit.h"

#include <math.h>
#include <stdlib.h>

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

/* Normal noise, rounded to whole packets: @return P(more than mean + noise of these are missing, or as many) */
static double
missing_tail(const struct limit_fabric *fabric, double packets, double mean)
{
	double over = packets - 0.5 - mean;

	if (fabric->variance == 0)
		return over <= 0;
	return tail_normal(over / sqrt(fabric->variance));
}

/* With a fault, a binomial number is dropped besides, and comes again by all ports. */
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

/* Mean and variance of what ports count, where port 0 is the faulty one, or any other. */
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
		/* All arrive somewhere: what is drawn independently is made to sum up, and keeps its variance. */
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
	/* P(ratio > t without a fault) is the mean of 1 / ratio over what exceeds t with one. */
	while (taken < samples && spent + exp(-ratios[taken]) / samples <= rate * fabric->paths)
		spent += exp(-ratios[taken++]) / samples;
	free(ratios);
	return taken / (double)samples;
}
