/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/volumes/detect.h"

#include <math.h>

#include "common/tail.h"

double
detect_deviation(const struct volume_sample *sample)
{
	double predicted = (double)sample->predicted;

	if (sample->predicted == 0)
		return sample->seen == 0 ? 0 : INFINITY;
	return ((double)sample->seen - predicted) / predicted;
}

/* In 128 bit: any product of 64 and 32 bit fits. */
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
