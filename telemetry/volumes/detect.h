/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is less of a measured collective seen at a port than predicted? Three tests of FlowPulse's kind (5.3), each a pure
 * function of the counts: of one (port, iteration) against a threshold, as in the paper; the same against the noise of
 * spraying, given or learned by the leaf itself; and of all iterations so far. docs/flowpulse-limits.md, "Limits and
 * statistics", derives their rates of false alarms.
 *
 * Noise and deviations are in packets. Missing is positive: what a fault drops is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DETECT_PPM 1000000u /* the whole */

/* A count is a whole number: it stands for values up to a half more or less (the correction for continuity). */
#define DETECT_ROUNDING_PACKETS 0.5
/*
 * The extra variance of a whole number over its value before rounding: a uniform distribution of width one (Sheppard).
 */
#define DETECT_ROUNDING_VARIANCE (1.0 / 12)

/* Bytes of one (port, iteration), or one (port, sender, iteration). */
struct volume_sample {
	uint64_t predicted, seen;
};

/*
 * @return (seen - predicted) / predicted; 0: nothing predicted, nothing seen; INFINITY: seen where nothing is predicted
 */
double detect_deviation(const struct volume_sample *sample);

/*
 * The paper's rule (5.3), for losses: fewer bytes arrived than predicted, by more than a share of the prediction. More
 * bytes than predicted are retransmissions after losses elsewhere, and no loss.
 * @param threshold_ppm  in parts of DETECT_PPM
 */
bool detect_threshold(const struct volume_sample *sample, uint32_t threshold_ppm);

/* Do the two differ, in either direction, by more than a share of the prediction? */
bool detect_differs(const struct volume_sample *sample, uint32_t tolerance_ppm);

/* @param packet_bytes  of the sample's packets, on average; > 0 @return packets that are missing, negative: too many */
double detect_missing(const struct volume_sample *sample, double packet_bytes);

/* How a fault-free port's count varies between iterations. */
struct detect_noise {
	double variance; /* packets^2, of a count: from rounding to whole packets */
	double dof;      /* degrees of freedom of the variance's estimate; 0: it is known */
};

/*
 * Random spraying: packets choose among paths by themselves, and a port's count is binomial. So it is where paths are
 * known to lose some, which choose again.
 * @param packets  that the port is predicted to see of one sender
 * @param share    of the sender's packets, up to 1
 */
struct detect_noise detect_noise_random(double packets, double share);

/*
 * How unusual this number of missing packets is, as a standard normal variable of the same tail probability: by
 * Student's T where the variance is an estimate. The count is held for one that normal noise, rounded to whole packets,
 * gives: half a packet less is missing, of a variance without that of rounding, which is the least that is assumed.
 * @param missing  detect_missing()
 * @return z; without a fault it exceeds z with probability tail_normal(z) or less, for z of 2.3 (1 %) and more
 */
double detect_score(double missing, const struct detect_noise *noise);

/*
 * The score of one iteration for a sum over iterations, whose counts are whole numbers as well. The correction of half
 * a packet applies once, to the sum, not to each addend: detect_rounding().
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

/*
 * A leaf learns the noise of its ports from themselves, for spraying whose noise cannot be predicted (adaptive). The
 * learned noise must not hold the fault that it is to find: a port is tested by the noise of the other ports. Of these,
 * too, those that are furthest from the middle are left out, up to an eighth of all (of few, one), for faults at
 * several ports, from the first iteration on. Counts are whole numbers, many of them the same where noise is small:
 * those are spread over the width of one first, which undoes their rounding. Ports that are known to lose packets vary
 * by that, besides: detect_noise_lossy(); others are learned from instead, as long as there are DETECT_MIN_PORTS.
 */

#define DETECT_MAX_PORTS 256
#define DETECT_MIN_PORTS 4   /* with fewer, the other ports of a port show next to nothing */
#define DETECT_MAX_HALVED 32 /* ports: of more, those left out otherwise are enough */
#define DETECT_MEMORY 256    /* iterations: older ones fade away */

/* Moments of order statistics for a number of other ports. They depend on the configuration alone. */
struct detect_trim {
	uint32_t others, kept;
	double mean; /* of the sum of the kept squares, of independent counts of variance 1 */
	double dof;  /* degrees of freedom that an iteration is worth */
};

/* The ports that one sender's packets arrive at. */
struct detect_ports {
	uint32_t count;            /* DETECT_MIN_PORTS to DETECT_MAX_PORTS */
	const float *lost;         /* [count] share of the bytes sent by a port that is known to be lost; NULL: none */
	struct detect_trim *trims; /* [DETECT_MAX_PORTS + 1 or count + 1] derived as they are needed; zero at first */
	bool half; /* learn of the half of the others that are nearest to their middle: of up to DETECT_MAX_HALVED */
};

struct detect_learned {
	float *squares;   /* [ports] sum over iterations of the kept values of the others; zero at first */
	float iterations; /* up to DETECT_MEMORY */
};

/*
 * Derives the moments of order statistics of normal noise, by integration.
 * @param others  DETECT_MIN_PORTS - 1 to DETECT_MAX_PORTS
 * @param half    as of struct detect_ports
 */
void detect_trim_init(struct detect_trim *trim, uint32_t others, bool half);

/* Adds an iteration. @param missing  [count] packets of one sender */
void detect_learn(struct detect_learned *learned, const struct detect_ports *ports, const double *missing);

/*
 * @return the noise learned so far, after one iteration at least, by which the port's next iteration is judged. All
 *         packets arrive somewhere: if one port has more, others have less, so that counts of n ports differ from each
 *         other by n / (n - 1) of a count's variance.
 */
struct detect_noise detect_noise_learned(const struct detect_learned *learned, const struct detect_ports *ports,
					 uint32_t port);

/* Noise that known losses add at a sender's ports. */
struct detect_losses {
	double packets; /* that the sender's ports are predicted to see, all together */
	/* sum over ports of the packets predicted there that are not the first to be sent: packets * lost */
	double variance;
};

/*
 * The noise of a port's count where ports are known to lose packets (docs/flowpulse-limits.md): (1 - lost)^2 of the
 * variance of the sent packets, the drops' own variance, and that of the other ports' drops, which all ports send
 * again.
 * @param packets  that the port is predicted to see
 * @param lost     share of its sent packets that is known to be lost
 */
struct detect_noise detect_noise_lossy(const struct detect_noise *noise, const struct detect_losses *losses, double packets,
				       double lost);

/*
 * The sequential test of one port, or one (port, sender): cumulative sums of scores (Page, Continuous inspection
 * schemes, Biometrika 1954), which pool iterations as long as something seems to be missing, beside the test of each
 * iteration by itself. Nobody knows how much will be missing, so there are several sums, each best for another amount.
 * 32 bytes each.
 *
 * Limits are derived from the rate of false alarms that is asked for: a sum's mean time between them solves an integral
 * equation. It holds for scores that are independent between iterations. A prediction that is wrong by the same amount
 * in each iteration, as one that was learned of a few of them, does not give such scores: only detect_limit() is for
 * it.
 */

#define DETECT_SUMS 4

struct detect_cusum_limits {
	double once;             /* of a score by itself */
	double sum[DETECT_SUMS]; /* of the sums */
};

struct detect_cusum {
	float sum[DETECT_SUMS];
	uint32_t since[DETECT_SUMS]; /* iterations since the sum was 0, this one included */
};

/*
 * @param rate  of false alarms per iteration, below 0.1, over all that is tested of it: 1 / rate is the mean number of
 *              iterations between two; each of the DETECT_SUMS + 1 tests has its share
 */
void detect_cusum_limits(struct detect_cusum_limits *limits, double rate);

/*
 * Adds the packets missing in an iteration: detect_score() for the test of it alone, detect_addend() for the sums. An
 * alarm resets all sums.
 * @return 0: none; else how many of the latest iterations it was found in, 1: in this one alone
 */
uint32_t detect_cusum_add(struct detect_cusum *cusum, const struct detect_cusum_limits *limits, double missing,
			  const struct detect_noise *noise);

/*
 * The mean number of iterations until a sum's alarm: of scores with variance 1 (Page's integral equation).
 * @param reference  subtracted from each score: half the drift that the sum is best for
 * @param limit      of the sum, > 0
 * @param drift      mean of the scores, 0: no fault
 */
double detect_cusum_run_length(double reference, double limit, double drift);
