/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is less of a measured collective seen at a port than predicted? Three tests of FlowPulse's kind (5.3), each a pure function
 * of what was counted: of one (port, iteration) against a threshold, as in the paper; the same against the noise of spraying,
 * given or learned by the leaf itself (detect_noise.h); and of all iterations so far (detect_cusum.h). docs/flowpulse-limits.md,
 * "Limits and statistics", derives their rates of false alarms.
 *
 * Noise and deviations are in packets. Missing is positive: what a fault drops is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DETECT_PPM 1000000u /* the whole */

/* A count is a whole number: it stands for what is up to a half more or less (the correction for continuity). */
#define DETECT_ROUNDING_PACKETS 0.5
/* How much more a whole number varies than what is rounded to it: a uniform distribution as wide as one (Sheppard). */
#define DETECT_ROUNDING_VARIANCE (1.0 / 12)

/* Bytes of one (port, iteration), or one (port, sender, iteration). */
struct volume_sample {
	uint64_t predicted, seen;
};

/* @return (seen - predicted) / predicted; 0: nothing predicted, nothing seen; INFINITY: seen where nothing is predicted */
double detect_deviation(const struct volume_sample *sample);

/*
 * The paper's rule (5.3), of losses: less was seen than predicted, by more than a share of what was predicted. More than
 * predicted is what others' losses bring, by their repetitions, and no loss.
 * @param threshold_ppm  in parts of DETECT_PPM
 */
bool detect_threshold(const struct volume_sample *sample, uint32_t threshold_ppm);

/* Do the two differ, in either direction, by more than a share of what was predicted? */
bool detect_differs(const struct volume_sample *sample, uint32_t tolerance_ppm);

/* @param packet_bytes  of the sample's packets, on average; > 0 @return packets that are missing, negative: too many */
double detect_missing(const struct volume_sample *sample, double packet_bytes);

/* How a fault-free port's count varies between iterations. */
struct detect_noise {
	double variance; /* packets^2, of a count: of what is rounded to whole packets */
	double dof;      /* degrees of freedom of the variance's estimate; 0: it is known */
};

/*
 * Random spraying: packets choose among paths by themselves, and a port's count is binomial. So it is where paths are known to
 * lose some, which choose again.
 * @param packets  that the port is predicted to see of one sender
 * @param share    of the sender's packets, up to 1
 */
struct detect_noise detect_noise_random(double packets, double share);

/*
 * How unusual so many missing packets are, as a standard normal variable would have to be to be as unusual: by Student's T
 * where the variance is an estimate. The count is held for one that normal noise, rounded to whole packets, gives: half a packet
 * less is missing, of a variance without that of rounding, which is the least that is assumed.
 * @param missing  detect_missing()
 * @return z; without a fault it exceeds z with probability tail_normal(z) or less, for z of 2.3 (1 %) and more
 */
double detect_score(double missing, const struct detect_noise *noise);

/*
 * The same to be summed up over iterations, whose counts are whole numbers as well: half a packet more or less is of the sum, not
 * of each of its parts, and is detect_rounding().
 */
double detect_addend(double missing, const struct detect_noise *noise);
/* @return half a packet, in deviations */
double detect_rounding(const struct detect_noise *noise);

/*
 * @param rate   of false alarms, by all tests together
 * @param tests  > 0
 * @return the score that one test may exceed at rate / tests: Bonferroni's correction, whatever their dependence is
 */
double detect_limit(double rate, uint32_t tests);
