/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/volumes/detect.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/tail.h"

double
detect_deviation(const struct volume_sample *sample)
{
	double predicted = (double)sample->predicted;

	if (sample->predicted == 0)
		return sample->seen == 0 ? 0 : INFINITY;
	return ((double)sample->seen - predicted) / predicted;
}

/* Compares in 128 bits, which hold any product of 64 and 32 bits. */
static bool
is_below(uint64_t less, uint64_t more, uint64_t of, uint32_t ppm)
{
	return less < more && (unsigned __int128)(more - less) * DETECT_PPM > (unsigned __int128)of * ppm;
}

bool
detect_threshold(const struct volume_sample *sample, uint32_t threshold_ppm)
{
	return is_below(sample->seen, sample->predicted, sample->predicted, threshold_ppm);
}

bool
detect_differs(const struct volume_sample *sample, uint32_t tolerance_ppm)
{
	return is_below(sample->seen, sample->predicted, sample->predicted, tolerance_ppm) ||
	       is_below(sample->predicted, sample->seen, sample->predicted, tolerance_ppm);
}

double
detect_missing(const struct volume_sample *sample, double packet_bytes)
{
	return ((double)sample->predicted - (double)sample->seen) / packet_bytes;
}

struct detect_noise
detect_noise_random(double packets, double share)
{
	return (struct detect_noise){ .variance = packets * (1 - share) };
}

static double
deviation_of(double variance)
{
	return sqrt(variance > DETECT_ROUNDING_VARIANCE ? variance : DETECT_ROUNDING_VARIANCE);
}

static double
as_normal(double t, double dof)
{
	return dof > 0 ? tail_normal_at(tail_student(t, dof)) : t;
}

double
detect_score(double missing, const struct detect_noise *noise)
{
	double deviation = deviation_of(noise->variance - DETECT_ROUNDING_VARIANCE);

	return as_normal((missing - DETECT_ROUNDING_PACKETS) / deviation, noise->dof);
}

double
detect_addend(double missing, const struct detect_noise *noise)
{
	return as_normal(missing / deviation_of(noise->variance), noise->dof);
}

double
detect_rounding(const struct detect_noise *noise)
{
	return DETECT_ROUNDING_PACKETS / deviation_of(noise->variance);
}

double
detect_limit(double rate, uint32_t tests)
{
	return tail_normal_at(rate / tests);
}

/* The noise of spraying, given or learned by the leaf itself. */

#define STEPS 4000
#define WIDEST 12.0  /* standard deviations: beyond it is nothing */
#define MANY_DOF 1e6 /* degrees of freedom: a variance that is as good as known */

/*
 * Mean and variance of the sum of the least squares that are kept, among standard normal deviations of independent
 * ports. Given the next in order, u^2, the kept ones are squares of a normal distribution cut off at -u and u, with
 * mean m(u) and variance v(u); the next in order has the density of an order statistic. Integrated over u.
 */
static void
moments(uint32_t ports, uint32_t kept, double *mean, double *variance)
{
	double total = 0, sum = 0, squares = 0, within = 0;

	for (int i = 0; i < STEPS; i++) {
		double u = WIDEST * (i + 0.5) / STEPS, phi = exp(-u * u / 2) / sqrt(2 * M_PI);
		double tails = 2 * tail_normal(u), inside = 1 - tails;
		double m = 1 - 2 * u * phi / inside, fourth = 3 - 2 * (u * u * u + 3 * u) * phi / inside;
		double weight = exp(kept * log(inside) + (ports - kept - 1.0) * log(tails)) * phi;

		total += weight;
		sum += weight * kept * m;
		squares += weight * kept * m * kept * m;
		within += weight * kept * (fourth - m * m);
	}
	*mean = sum / total;
	*variance = within / total + squares / total - *mean * *mean;
}

/*
 * An eighth, and of few ports two: what heals and what fails at the same time are two. One of them is the port that is
 * tested.
 */
static uint32_t
left_out(uint32_t others)
{
	uint32_t eighth = (others + 1 + 7) / 8, few = others >= DETECT_MIN_PORTS ? 2 : 1;

	return (eighth > few ? eighth : few) - 1;
}

/*
 * The median of a few numbers is nearer to those that are kept than their mean is to all. The squares about it are
 * this factor times (others - 1) / others of those about the true value. Each from 3 million draws;
 * tests/unit/telemetry/detect_noise_test.c draws again.
 */
static const double about_median[] = { [4] = 0.8194, 0.9078, 0.9276, 0.9750, 0.9711, 0.9968, 0.9901 };

/*
 * Mean and degrees of freedom of the sum of squares about the median, for the half of n numbers that is nearest to it.
 * From a million draws each.
 */
static const struct {
	double mean, dof;
} halves[DETECT_MAX_HALVED] = {
	[3] = { 0.3454, 0.79 }, { 0.3007, 0.75 }, { 0.5284, 1.52 }, { 0.3964, 1.33 }, { 0.6819, 2.19 }, { 0.5283, 1.99 },
	{ 0.8279, 2.83 },       { 0.6684, 2.64 }, { 0.9746, 3.44 }, { 0.8116, 3.29 }, { 1.1181, 4.09 }, { 0.9532, 3.93 },
	{ 1.2644, 4.69 },       { 1.0971, 4.56 }, { 1.4069, 5.32 }, { 1.2404, 5.16 }, { 1.5483, 5.94 }, { 1.3829, 5.80 },
	{ 1.6913, 6.55 },       { 1.5263, 6.43 }, { 1.8375, 7.18 }, { 1.6704, 7.03 }, { 1.9779, 7.81 }, { 1.8143, 7.67 },
	{ 2.1223, 8.39 },       { 1.9584, 8.28 }, { 2.2633, 9.05 }, { 2.0982, 8.90 }, { 2.4060, 9.62 },
};

void
detect_trim_init(struct detect_trim *trim, uint32_t others, bool half)
{
	double variance = 2.0 * others, mean = others;

	assert(others >= DETECT_MIN_PORTS - 1 && others <= DETECT_MAX_PORTS);
	if (half) {
		assert(others < DETECT_MAX_HALVED);
		*trim = (struct detect_trim){ others, others - others / 2, halves[others].mean, halves[others].dof };
		return;
	}
	*trim = (struct detect_trim){ .others = others, .kept = others - left_out(others) };
	if (trim->kept != others)
		moments(others, trim->kept, &mean, &variance);
	/*
	 * The middle that they are taken from is theirs, which costs a degree of freedom: of all for the mean, of those
	 * kept for its estimate.
	 */
	trim->mean = mean * (others - 1) / others;
	if (trim->kept != others && others < ARRAY_LEN(about_median))
		trim->mean *= about_median[others];
	trim->dof = 2 * mean * mean / variance * (trim->kept - 1) / trim->kept;
}

static const struct detect_trim *
trim_of(const struct detect_ports *ports, uint32_t others)
{
	if (ports->trims[others].others == 0)
		detect_trim_init(&ports->trims[others], others, ports->half);
	return &ports->trims[others];
}

/* ---- ports whose noise is learned from ---- */

static double
lost_at(const struct detect_ports *ports, uint32_t port)
{
	return ports->lost != NULL ? (double)ports->lost[port] : 0;
}

/* @return the loss bound of the ports that are learned from: the needed number of them, those that lose least */
static double
most_lost(const struct detect_ports *ports)
{
	double least[DETECT_MIN_PORTS];

	for (uint32_t i = 0; i < DETECT_MIN_PORTS; i++)
		least[i] = 1;
	for (uint32_t port = 0; port < ports->count; port++) {
		double lost = lost_at(ports, port);

		for (uint32_t i = 0; i < DETECT_MIN_PORTS; i++)
			if (lost < least[i]) {
				double more = least[i];

				least[i] = lost;
				lost = more;
			}
	}
	return least[DETECT_MIN_PORTS - 1];
}

/* Other ports that a port's noise is learned from. */
static uint32_t
count_others(const struct detect_ports *ports, uint32_t port)
{
	double most = most_lost(ports);
	uint32_t count = 0;

	for (uint32_t i = 0; i < ports->count; i++)
		count += i != port && lost_at(ports, i) <= most;
	return count;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts an array that is nearly in order. */
static void
put_in_order(double *values, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		double value = values[i];
		uint32_t at = i;

		for (; at > 0 && values[at - 1] > value; at--)
			values[at] = values[at - 1];
		values[at] = value;
	}
}

/*
 * Equal counts are spread evenly over the width of a packet: on average the values before rounding lie so.
 * @param missing  [count] in order; is in order again
 */
static void
spread(double *missing, uint32_t count)
{
	for (uint32_t first = 0, next; first < count; first = next) {
		double least = missing[first];

		for (next = first; next < count && missing[next] - least < DETECT_ROUNDING_PACKETS; next++)
			;
		for (uint32_t i = first; i < next; i++)
			missing[i] += (i - first + 0.5) / (next - first) - 0.5;
	}
	put_in_order(missing, count);
}

/* @return the mean if all are kept; else the median, which does not depend on those left out */
static double
middle_of(const double *missing, uint32_t count, uint32_t kept)
{
	double sum = 0;

	if (kept < count)
		return (missing[count / 2] + missing[(count - 1) / 2]) / 2;
	for (uint32_t i = 0; i < count; i++)
		sum += missing[i];
	return sum / count;
}

/* @param missing  [count] in order @return the sum of squares of those that are nearest to the middle */
static double
kept_squares(const double *missing, uint32_t count, uint32_t kept)
{
	double middle = middle_of(missing, count, kept), squares = 0;
	uint32_t first = 0, last = count - 1;

	while (last - first + 1 > kept) {
		if (middle - missing[first] > missing[last] - middle)
			first++;
		else
			last--;
	}
	for (uint32_t i = first; i <= last; i++)
		squares += (missing[i] - middle) * (missing[i] - middle);
	return squares;
}

/* ---- learning ---- */

struct learning {
	double missing[DETECT_MAX_PORTS]; /* [count] in order, of the ports that noise is learned from */
	uint32_t count;
};

/* @param without  the packets missing at a port that is one of them; NAN: it is none */
static double
squares_of_others(const struct learning *learning, const struct detect_ports *ports, double without)
{
	double others[DETECT_MAX_PORTS];
	uint32_t count = 0;
	bool skipped = isnan(without);

	for (uint32_t i = 0; i < learning->count; i++) {
		if (!skipped && learning->missing[i] == without)
			skipped = true;
		else
			others[count++] = learning->missing[i];
	}
	spread(others, count);
	return kept_squares(others, count, trim_of(ports, count)->kept);
}

void
detect_learn(struct detect_learned *learned, const struct detect_ports *ports, const double *missing)
{
	double most = most_lost(ports);
	struct learning learning = { .count = 0 };
	bool full = learned->iterations >= DETECT_MEMORY;

	assert(ports->count >= DETECT_MIN_PORTS && ports->count <= DETECT_MAX_PORTS);
	for (uint32_t port = 0; port < ports->count; port++)
		if (lost_at(ports, port) <= most)
			learning.missing[learning.count++] = missing[port];
	qsort(learning.missing, learning.count, sizeof(*learning.missing), by_value);
	for (uint32_t port = 0; port < ports->count; port++) {
		double own = lost_at(ports, port) <= most ? missing[port] : (double)NAN;

		if (full)
			learned->squares[port] *= (DETECT_MEMORY - 1.0f) / DETECT_MEMORY;
		learned->squares[port] += (float)squares_of_others(&learning, ports, own);
	}
	learned->iterations = full ? DETECT_MEMORY : learned->iterations + 1;
}

struct detect_noise
detect_noise_learned(const struct detect_learned *learned, const struct detect_ports *ports, uint32_t port)
{
	const struct detect_trim *trim = trim_of(ports, count_others(ports, port));
	double differ = (double)learned->squares[port] / ((double)learned->iterations * trim->mean);

	/* Sprayed packets vary by this factor more. */
	return (struct detect_noise){ .variance = (differ - DETECT_ROUNDING_VARIANCE) * (ports->count - 1) / ports->count,
				      .dof = (double)learned->iterations * trim->dof };
}

struct detect_noise
detect_noise_lossy(const struct detect_noise *noise, const struct detect_losses *losses, double packets, double lost)
{
	double sent = (1 - lost) * (1 - lost) * fmax(noise->variance, 0), share, sum, dof;

	if (losses->variance <= 0)
		return *noise;
	share = packets / losses->packets;
	sum = sent + packets * lost * (1 - 2 * share) + share * share * losses->variance;
	/* The known part of the sum has no estimation error (Satterthwaite, Biometrics 1946). */
	dof = sent > 0 ? noise->dof * (sum / sent) * (sum / sent) : 0;
	return (struct detect_noise){ .variance = sum, .dof = dof < MANY_DOF ? dof : 0 };
}

/* The sequential test, over all iterations so far. */

#define POSITIONS 50 /* of the search for a limit, which needs about eight */
#define LEAST_NODES 16
#define MOST_NODES 160

/* Halves of the drifts, in standard deviations of the noise: a loss that lasts longer may be smaller. */
static const double references[DETECT_SUMS] = { 1.5, 0.75, 0.375, 0.1875 };

/*
 * @return the number of nodes that integrate a normal density up to a limit. Where they are farthest apart, 0.8
 *         standard deviations, their relative error is exp(-2 (pi / 0.8)^2), or 4e-14.
 */
static int
nodes_of(double limit)
{
	return (int)fmin(LEAST_NODES + 2 * limit, MOST_NODES);
}

/* Gauss-Legendre's nodes and weights on [0, width]: Newton's method on the Legendre polynomial (DLMF 3.5). */
static void
quadrature(double width, int nodes, double *at, double *weight)
{
	for (int i = 0; i < nodes; i++) {
		double x = cos(M_PI * (i + 0.75) / (nodes + 0.5)), slope = 1;

		for (int step = 0; step < 8; step++) {
			double before = 1, value = x;

			for (int n = 2; n <= nodes; n++) {
				double next = ((2 * n - 1) * x * value - (n - 1) * before) / n;

				before = value;
				value = next;
			}
			slope = nodes * (x * value - before) / (x * x - 1);
			x -= value / slope;
		}
		at[i] = width * (1 + x) / 2;
		weight[i] = width / ((1 - x * x) * slope * slope);
	}
}

/*
 * Gauss's elimination with pivots: @param rows  of unknowns and their right side @return the unknown put last
 */
static double
solve(double rows[MOST_NODES + 1][MOST_NODES + 2], int unknowns)
{
	for (int c = 0; c < unknowns; c++) {
		int pivot = c;

		for (int r = c + 1; r < unknowns; r++)
			if (fabs(rows[r][c]) > fabs(rows[pivot][c]))
				pivot = r;
		for (int i = c; i <= unknowns; i++) {
			double other = rows[pivot][i];

			rows[pivot][i] = rows[c][i];
			rows[c][i] = other;
		}
		for (int r = c + 1; r < unknowns; r++) {
			double part = rows[r][c] / rows[c][c];

			for (int i = c; i <= unknowns; i++)
				rows[r][i] -= part * rows[c][i];
		}
	}
	return rows[unknowns - 1][unknowns] / rows[unknowns - 1][unknowns - 1];
}

/*
 * L(u), the mean run length from a sum of u on, is 1 + L(0) P(Z < m - u) + the integral of L(x) phi(x + m - u) over x
 * from 0 to the limit, with m = reference - drift: Nystrom's method at the nodes and at 0.
 */
double
detect_cusum_run_length(double reference, double limit, double drift)
{
	double at[MOST_NODES + 1], weight[MOST_NODES], rows[MOST_NODES + 1][MOST_NODES + 2], m = reference - drift;
	int nodes = nodes_of(limit);

	quadrature(limit, nodes, at, weight);
	at[nodes] = 0;
	for (int r = 0; r <= nodes; r++) {
		for (int c = 0; c < nodes; c++) {
			double z = at[c] + m - at[r];

			rows[r][c] = (r == c) - weight[c] * exp(-z * z / 2) / sqrt(2 * M_PI);
		}
		rows[r][nodes] = (r == nodes) - tail_normal(at[r] - m);
		rows[r][nodes + 1] = 1;
	}
	return solve(rows, nodes + 1);
}

/*
 * How far the mean run length is from the one asked for, by its logarithm, of which a limit is nearly linear. INFINITY: so
 * long that its equations have no solution in doubles.
 */
static double
excess(double reference, double limit, double iterations)
{
	double ratio = detect_cusum_run_length(reference, limit, 0) / iterations;

	return ratio > 0 ? log(ratio) : INFINITY;
}

/*
 * Wald's bound, exp(2 reference limit) iterations at least, is where the search ends (Lorden, Ann. Math. Statist.
 * 1971). False position, where an end that stays counts half each time (the Illinois algorithm, Dowell and Jarratt, BIT
 * 1971), as near as doubles resolve the run length.
 */
static double
limit_of(double reference, double iterations)
{
	double low = 0, high = log(iterations) / (2 * reference), limit = low;
	double below = excess(reference, low, iterations), above = excess(reference, high, iterations), error = below;

	for (int i = 0; i < POSITIONS && below < 0 && fabs(error) > iterations * DBL_EPSILON; i++) {
		bool was_below = error < 0;

		limit = above < INFINITY ? low - below * (high - low) / (above - below) : (low + high) / 2;
		error = excess(reference, limit, iterations);
		if (error < 0) {
			low = limit;
			below = error;
			above /= was_below ? 2 : 1;
		} else {
			high = limit;
			above = error;
			below /= was_below ? 1 : 2;
		}
	}
	return limit;
}

void
detect_cusum_limits(struct detect_cusum_limits *limits, double rate)
{
	/* Leaves of a run have the same rate as a rule, and the search takes milliseconds. */
	static _Thread_local struct {
		double rate; /* 0: none yet */
		struct detect_cusum_limits limits;
	} latest;
	double share = rate / (DETECT_SUMS + 1);

	if (latest.rate != rate) {
		latest.rate = rate;
		latest.limits.once = tail_normal_at(share);
		for (int i = 0; i < DETECT_SUMS; i++)
			latest.limits.sum[i] = limit_of(references[i], 1 / share);
	}
	*limits = latest.limits;
}

uint32_t
detect_cusum_add(struct detect_cusum *cusum, const struct detect_cusum_limits *limits, double missing,
		 const struct detect_noise *noise)
{
	uint32_t found = detect_score(missing, noise) > limits->once;
	double addend = detect_addend(missing, noise), rounding = detect_rounding(noise);

	for (int i = 0; i < DETECT_SUMS; i++) {
		double sum = (double)cusum->sum[i] + addend - references[i];

		cusum->sum[i] = sum > 0 ? (float)sum : 0;
		cusum->since[i] = sum > 0 ? cusum->since[i] + 1 : 0;
		if (found == 0 && sum > limits->sum[i] + rounding)
			found = cusum->since[i];
	}
	if (found != 0)
		memset(cusum, 0, sizeof(*cusum));
	return found;
}
