/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/volumes/detect_cusum.h"

#include <math.h>
#include <string.h>

#include "common/tail.h"

#define NODES 64
#define BISECTIONS 50

/* Halves of the drifts, in standard deviations of the noise: what is missing for longer may be less. */
static const double references[DETECT_SUMS] = { 1.5, 0.75, 0.375, 0.1875 };

/* Gauss-Legendre's nodes and weights on [0, width]: Newton's method on the Legendre polynomial (DLMF 3.5). */
static void
quadrature(double width, double *at, double *weight)
{
	for (int i = 0; i < NODES; i++) {
		double x = cos(M_PI * (i + 0.75) / (NODES + 0.5)), slope = 1;

		for (int step = 0; step < 8; step++) {
			double before = 1, value = x;

			for (int n = 2; n <= NODES; n++) {
				double next = ((2 * n - 1) * x * value - (n - 1) * before) / n;

				before = value;
				value = next;
			}
			slope = NODES * (x * value - before) / (x * x - 1);
			x -= value / slope;
		}
		at[i] = width * (1 + x) / 2;
		weight[i] = width / ((1 - x * x) * slope * slope);
	}
}

/* Gauss's elimination with pivots: rows of NODES + 1 unknowns and their right side. @return the first unknown, put last */
static double
solve(double rows[NODES + 1][NODES + 2])
{
	for (int c = 0; c <= NODES; c++) {
		int pivot = c;

		for (int r = c + 1; r <= NODES; r++)
			if (fabs(rows[r][c]) > fabs(rows[pivot][c]))
				pivot = r;
		for (int i = c; i < NODES + 2; i++) {
			double other = rows[pivot][i];

			rows[pivot][i] = rows[c][i];
			rows[c][i] = other;
		}
		for (int r = c + 1; r <= NODES; r++) {
			double part = rows[r][c] / rows[c][c];

			for (int i = c; i < NODES + 2; i++)
				rows[r][i] -= part * rows[c][i];
		}
	}
	return rows[NODES][NODES + 1] / rows[NODES][NODES];
}

/*
 * L(u), the mean run length from a sum of u on, is 1 + L(0) P(Z < m - u) + the integral of L(x) phi(x + m - u) over x from 0 to
 * the limit, with m = reference - drift: Nystrom's method at the nodes and at 0.
 */
double
detect_cusum_run_length(double reference, double limit, double drift)
{
	double at[NODES + 1], weight[NODES], rows[NODES + 1][NODES + 2], m = reference - drift;

	quadrature(limit, at, weight);
	at[NODES] = 0;
	for (int r = 0; r <= NODES; r++) {
		for (int c = 0; c < NODES; c++) {
			double z = at[c] + m - at[r];

			rows[r][c] = (r == c) - weight[c] * exp(-z * z / 2) / sqrt(2 * M_PI);
		}
		rows[r][NODES] = (r == NODES) - tail_normal(at[r] - m);
		rows[r][NODES + 1] = 1;
	}
	return solve(rows);
}

/* Wald's bound, exp(2 reference limit) iterations at least, is where the search ends (Lorden, Ann. Math. Statist. 1971). */
static double
limit_of(double reference, double iterations)
{
	double low = 0, high = log(iterations) / (2 * reference);

	for (int i = 0; i < BISECTIONS; i++) {
		double mid = (low + high) / 2;

		if (detect_cusum_run_length(reference, mid, 0) < iterations)
			low = mid;
		else
			high = mid;
	}
	return high;
}

void
detect_cusum_limits(struct detect_cusum_limits *limits, double rate)
{
	double share = rate / (DETECT_SUMS + 1);

	limits->once = tail_normal_at(share);
	for (int i = 0; i < DETECT_SUMS; i++)
		limits->sum[i] = limit_of(references[i], 1 / share);
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
