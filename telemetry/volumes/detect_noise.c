/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/volumes/detect_noise.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "common/tail.h"

#define STEPS 4000
#define WIDEST 12.0 /* standard deviations: beyond it is nothing */

/*
 * Of ports independent standard normal deviations the kept least squares, given the next in order, u^2, are those of a normal
 * distribution cut off at -u and u: mean and variance of a square there are m(u) and v(u), and the next in order has the
 * density of an order statistic. Integrated over u, this gives mean and variance of their sum.
 */
static void
moments(uint32_t ports, uint32_t kept, double *mean, double *variance)
{
	double total = 0, sum = 0, squares = 0, within = 0;

	for (int i = 0; i < STEPS; i++) {
		double u = WIDEST * (i + 0.5) / STEPS, phi = exp(-u * u / 2) / sqrt(2 * M_PI);
		double outside = 2 * tail_normal(u), inside = 1 - outside;
		double m = 1 - 2 * u * phi / inside, fourth = 3 - 2 * (u * u * u + 3 * u) * phi / inside;
		double weight = exp(kept * log(inside) + (ports - kept - 1.0) * log(outside)) * phi;

		total += weight;
		sum += weight * kept * m;
		squares += weight * kept * m * kept * m;
		within += weight * kept * (fourth - m * m);
	}
	*mean = sum / total;
	*variance = within / total + squares / total - *mean * *mean;
}

/* An eighth, and of few ports two: what heals and what fails at the same time are two. Of four no more than one. */
static uint32_t
left_out(uint32_t ports)
{
	uint32_t eighth = (ports + 7) / 8, few = ports > 4 ? 2 : 1;

	return eighth > few ? eighth : few;
}

void
detect_trim_init(struct detect_trim *trim, uint32_t ports)
{
	double variance, mean;

	assert(ports >= DETECT_MIN_PORTS && ports <= DETECT_MAX_PORTS);
	*trim = (struct detect_trim){ .ports = ports, .kept = ports - left_out(ports) };
	moments(ports, trim->kept, &mean, &variance);
	/* The median costs a degree of freedom: of all ports for the mean, of those kept for its estimate. */
	trim->mean = mean * (ports - 1) / ports;
	trim->dof = 2 * mean * mean / variance * (trim->kept - 1) / trim->kept;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int
by_size(const void *a, const void *b)
{
	double x = fabs(*(const double *)a), y = fabs(*(const double *)b);

	return (x > y) - (x < y);
}

/*
 * Counts that are the same are put side by side, evenly over the width of a packet: what was rounded to them lies so on average.
 * @param missing  [ports] in order; is in order again
 */
static void
spread(double *missing, uint32_t ports)
{
	for (uint32_t first = 0, next; first < ports; first = next) {
		double least = missing[first];

		for (next = first; next < ports && missing[next] - least < DETECT_ROUNDING_PACKETS; next++)
			;
		for (uint32_t i = first; i < next; i++)
			missing[i] += (i - first + 0.5) / (next - first) - 0.5;
	}
	qsort(missing, ports, sizeof(*missing), by_value);
}

void
detect_learn(struct detect_learned *learned, const struct detect_trim *trim, double *missing)
{
	uint32_t ports = trim->ports;
	double squares = 0, median;

	qsort(missing, ports, sizeof(*missing), by_value);
	spread(missing, ports);
	median = (missing[ports / 2] + missing[(ports - 1) / 2]) / 2;
	for (uint32_t i = 0; i < ports; i++)
		missing[i] -= median;
	qsort(missing, ports, sizeof(*missing), by_size);
	for (uint32_t i = 0; i < trim->kept; i++)
		squares += missing[i] * missing[i];
	if (learned->iterations >= DETECT_MEMORY) {
		learned->squares *= (DETECT_MEMORY - 1.0) / DETECT_MEMORY;
		learned->iterations = DETECT_MEMORY - 1;
	}
	learned->squares += squares;
	learned->iterations++;
}

struct detect_noise
detect_noise_learned(const struct detect_learned *learned, const struct detect_trim *trim)
{
	/* What was spread varies by as much more. */
	return (struct detect_noise){ .variance = learned->squares / (learned->iterations * trim->mean) -
						  DETECT_ROUNDING_VARIANCE,
				      .dof = learned->iterations * trim->dof };
}

struct detect_noise
detect_noise_before(struct detect_learned *learned, const struct detect_trim *trim, double *missing)
{
	bool first = learned->iterations == 0;
	struct detect_noise noise = first ? (struct detect_noise){ .variance = 0 } : detect_noise_learned(learned, trim);

	detect_learn(learned, trim, missing);
	return first ? detect_noise_learned(learned, trim) : noise;
}
