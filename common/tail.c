/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/tail.h"

#include <float.h>
#include <math.h>

#define LEAST_TAIL 1e-300
#define NEWTON_STEPS 64
#define FRACTION_TERMS 200000 /* some multiples of the root of the greater parameter are enough: these do for 1e9 */

double
tail_normal(double z)
{
	return erfc(z * M_SQRT1_2) / 2;
}

static double
density(double z)
{
	return exp(-z * z / 2) / sqrt(2 * M_PI);
}

/* Newton's method on the tail's logarithm, which is concave: from the right it never oversteps. */
static double
upper_quantile(double tail)
{
	double z = sqrt(-2 * log(2 * tail));

	for (int i = 0; i < NEWTON_STEPS; i++) {
		double at = tail_normal(z), step = log(at / tail) * at / density(z);

		z += step;
		if (fabs(step) <= 1e-14 * (1 + z))
			break;
	}
	return z;
}

double
tail_normal_at(double tail)
{
	if (tail > 0.5) {
		double other = 1 - tail;

		return -upper_quantile(other > DBL_EPSILON / 2 ? other : DBL_EPSILON / 2);
	}
	return upper_quantile(tail > LEAST_TAIL ? tail : LEAST_TAIL);
}

/* Neither numerator nor denominator of Lentz's method may vanish. */
static double
kept(double value)
{
	return fabs(value) < DBL_MIN / DBL_EPSILON ? DBL_MIN / DBL_EPSILON : value;
}

/*
 * The continued fraction of DLMF 8.17.22 by the modified method of Lentz; it converges fast below x = (a + 1) / (a + b
 * + 2).
 */
static double
beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / kept(1 - (a + b) * x / (a + 1)), value = d;

	for (int i = 1; i < FRACTION_TERMS; i++) {
		double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
		double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1)), factor;

		d = 1 / kept(1 + even * d);
		c = kept(1 + even / c);
		value *= c * d;
		d = 1 / kept(1 + odd * d);
		c = kept(1 + odd / c);
		factor = c * d;
		value *= factor;
		if (fabs(factor - 1) <= 4 * DBL_EPSILON)
			break;
	}
	return value;
}

double
tail_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double
tail_student(double t, double dof)
{
	double half = tail_beta(dof / 2, 0.5, dof / (dof + t * t)) / 2;

	return t >= 0 ? half : 1 - half;
}

double
tail_student_at(double tail, double dof)
{
	double low = 0, high = 1;

	while (tail_student(high, dof) > tail && high < DBL_MAX / 2)
		high *= 2;
	for (double middle = high / 2; middle > low && middle < high; middle = low + (high - low) / 2) {
		if (tail_student(middle, dof) > tail)
			low = middle;
		else
			high = middle;
	}
	return high;
}

double
tail_binomial(int64_t k, uint64_t n, double p)
{
	if (k < 0)
		return 0;
	return (uint64_t)k >= n ? 1 : tail_beta((double)n - (double)k, (double)k + 1, 1 - p);
}
