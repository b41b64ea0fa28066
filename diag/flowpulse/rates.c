/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/flowpulse/rates.h"

#include <math.h>
#include <stdlib.h>

#include "common/wire/record.h"
#include "diag/flowpulse/resent.h"
#include "diag/run/fill.h"

#define Z95 1.959964 /* 95 % of a normal distribution is within this number of standard deviations */

static struct flowpulse_lost
lost_of(const struct flowpulse *own, uint32_t index, const struct run *run)
{
	const struct rec_volume_alarm *alarm = &own->alarms[index];
	uint64_t resent = own->resent[index];
	double size = alarm->packets != 0 ? (double)alarm->got / (double)alarm->packets : (double)run->config.frame_bytes;
	double expected = size > 0 ? (double)alarm->expected / size : 0, got = (double)alarm->packets;
	double dispersion = (double)alarm->dispersion_ppm / REC_PPM, reference = (double)alarm->reference_packets;

	if (resent != RESENT_UNKNOWN)
		got = fmax(got, expected - (double)resent);
	/*
	 * Where packets choose independently, the expected volume is as uncertain as the ports that it is derived from.
	 */
	if (alarm->noise == REC_NOISE_RANDOM && reference > 0)
		dispersion *= 1 + expected / reference;
	return (struct flowpulse_lost){ expected, got, expected * dispersion, resent == RESENT_UNKNOWN };
}

static void
add(struct flowpulse_lost *sum, const struct flowpulse_lost *lost)
{
	sum->expected += lost->expected;
	sum->got += lost->got;
	sum->dispersion += lost->dispersion;
	sum->is_unbounded |= lost->is_unbounded;
}

static double
rate(const struct flowpulse_lost *lost)
{
	return fmax(0, 1 - lost->got / lost->expected);
}

/* Of a rate: spraying's own, thinned, and that of the losses; and what a packet more or less makes. */
static double
variance(const struct flowpulse_lost *lost)
{
	double kept = 1 - rate(lost), packet = 1 / lost->expected;

	return (kept * kept * lost->dispersion / lost->expected + kept * rate(lost)) / lost->expected + packet * packet;
}

/* Is it further below than chance has it? */
static bool
lacks_less(const struct flowpulse_lost *lost, const struct flowpulse_lost *than)
{
	return lost->expected > 0 && than->expected > 0 &&
	       rate(lost) < rate(than) - Z95 * sqrt(variance(lost) + variance(than));
}

static void
estimate(struct flowpulse_fault *fault, const struct flowpulse_lost *lost)
{
	double deviation;

	if (lost->expected <= 0)
		return;
	deviation = sqrt(variance(lost));
	fault->drop = rate(lost);
	fault->low = fmax(0, fault->drop - Z95 * deviation);
	fault->high = fmin(1, fault->drop + Z95 * deviation);
}

/* May the fault have lasted for a part of the alarm's iteration alone? */
static bool
is_edge(const struct flowpulse *own, uint32_t alarm, const uint32_t *fault_of)
{
	const struct flowpulse_fault *fault = &own->faults[fault_of[alarm]];
	uint32_t iteration = own->alarms[alarm].iteration;

	return iteration == fault->first_iteration || iteration == fault->last_iteration;
}

/*
 * @param inner, all  [own->nfaults] zero; loss between a fault's first and last iteration, and with those of the two
 *               that lack no less
 */
static void
sum_up(const struct flowpulse *own, const struct run *run, const uint32_t *fault_of, struct flowpulse_lost *inner,
       struct flowpulse_lost *all)
{
	for (uint32_t i = 0; i < own->nalarms; i++) {
		struct flowpulse_lost lost = lost_of(own, i, run);

		if (own->held[i] != FLOWPULSE_JUDGED || own->is_below[i] || is_edge(own, i, fault_of))
			continue; /* below: it has the rates of several links in one */
		add(&inner[fault_of[i]], &lost);
		add(&all[fault_of[i]], &lost);
	}
	for (uint32_t i = 0; i < own->nalarms; i++) {
		struct flowpulse_lost lost = lost_of(own, i, run);

		if (own->held[i] == FLOWPULSE_JUDGED && !own->is_below[i] && is_edge(own, i, fault_of) &&
		    !lacks_less(&lost, &inner[fault_of[i]]))
			add(&all[fault_of[i]], &lost);
	}
}

struct flowpulse_lost *
flowpulse_rates(struct flowpulse *own, const struct run *run, const uint32_t *fault_of, struct err *err)
{
	struct flowpulse_lost *inner = run_alloc(own->nfaults, sizeof(*inner), err);
	struct flowpulse_lost *all = run_alloc(own->nfaults, sizeof(*all), err);

	if (inner == NULL || all == NULL) {
		free(inner);
		free(all);
		return NULL;
	}
	sum_up(own, run, fault_of, inner, all);
	for (uint32_t i = 0; i < own->nfaults; i++)
		estimate(&own->faults[i], &all[i]);
	free(inner);
	return all;
}
