/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/volumes/judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/volumes/preconditions.h"

#define LEAST_PACKET_BYTES 64 /* on any wire */

size_t
judge_bytes(const struct judge_config *config)
{
	size_t ports = config->volumes.ports, senders = config->volumes.senders, cells = ports * senders;
	size_t a_cell = VOLUMES_SLOTS * sizeof(struct volume_count) + 3 * sizeof(uint64_t) + sizeof(struct judge_alarm);
	size_t a_sender = (VOLUMES_SLOTS + 1) * sizeof(uint64_t) + 2 * sizeof(uint32_t) + locate_bytes() + 2 * sizeof(bool);

	return sizeof(struct judge) + scores_bytes(&config->scores, &config->volumes) + cells * a_cell +
	       senders * a_sender + ports * 2 * sizeof(bool) + (config->relative ? cells * sizeof(uint64_t) : 0);
}

int
judge_init(struct judge *j, const struct judge_config *config)
{
	const struct volumes_config *volumes = &config->volumes;
	struct predict_config predict = config->predict;

	memset(j, 0, sizeof(*j));
	j->config = *config;
	predict.threshold_ppm = config->threshold_ppm;
	j->flaws = calloc(volumes->senders, sizeof(*j->flaws));
	j->is_sound = calloc(volumes->senders, sizeof(*j->is_sound));
	j->is_scored = calloc(volumes->senders, sizeof(*j->is_scored));
	j->is_alarmed = calloc(volumes->ports, sizeof(*j->is_alarmed));
	j->alarms = calloc((size_t)volumes->ports * volumes->senders, sizeof(*j->alarms));
	j->scaled = config->relative ? calloc((size_t)volumes->ports * volumes->senders, sizeof(*j->scaled)) : NULL;
	if ((config->relative && j->scaled == NULL) || j->flaws == NULL || j->is_sound == NULL || j->is_scored == NULL ||
	    j->is_alarmed == NULL || j->alarms == NULL)
		return -ENOMEM;
	if (volumes_init(&j->volumes, volumes) < 0 || predict_init(&j->predict, &predict, volumes) < 0)
		return -ENOMEM;
	if (scores_init(&j->scores, &config->scores, volumes) < 0)
		return -ENOMEM;
	j->expected = config->relative ? j->scaled : j->predict.bytes;
	return locate_init(&j->locate, volumes->ports, volumes->senders);
}

void
judge_fini(struct judge *j)
{
	volumes_fini(&j->volumes);
	predict_fini(&j->predict);
	locate_fini(&j->locate);
	scores_fini(&j->scores);
	free(j->scaled);
	free(j->flaws);
	free(j->is_sound);
	free(j->is_scored);
	free(j->is_alarmed);
	free(j->alarms);
	memset(j, 0, sizeof(*j));
}

static struct volume_sample
sample_at(const struct judge *j, const struct volumes_slot *slot, uint16_t port, uint16_t sender)
{
	uint32_t cell = volumes_cell(&j->volumes, port, sender);

	return (struct volume_sample){ j->expected[cell], slot->counts[cell].bytes };
}

struct volume_sample
judge_port(const struct judge *j, const struct volumes_slot *slot, uint16_t port)
{
	struct volume_sample sum = { 0, 0 };

	for (uint16_t s = 0; s < j->volumes.nsenders; s++) {
		struct volume_sample one = sample_at(j, slot, port, s);

		if (!j->is_sound[s])
			continue;
		sum.predicted += one.predicted;
		sum.seen += one.seen;
	}
	return sum;
}

/* A prediction in proportion to what the port has that brings most of it. */
static void
scale_prediction(struct judge *j, const struct volumes_slot *slot, uint16_t sender)
{
	double most = 0;

	for (uint16_t port = 0; port < j->config.volumes.ports; port++) {
		uint32_t cell = volumes_cell(&j->volumes, port, sender);
		double predicted = (double)j->predict.bytes[cell];

		if (predicted > 0 && (double)slot->counts[cell].bytes > most * predicted)
			most = (double)slot->counts[cell].bytes / predicted;
	}
	for (uint16_t port = 0; port < j->config.volumes.ports; port++) {
		uint32_t cell = volumes_cell(&j->volumes, port, sender);

		j->scaled[cell] = (uint64_t)llround((double)j->predict.bytes[cell] * (most > 0 ? most : 1));
	}
}

/* Predictions of ports are whole bytes: all of them together may be off by less than a packet, and demand never is. */
static bool
is_rounding(const struct volume_sample *sum)
{
	uint64_t least = sum->seen < sum->predicted ? sum->seen : sum->predicted;

	return sum->seen + sum->predicted - 2 * least < LEAST_PACKET_BYTES;
}

/*
 * Can the detector judge no sender of this kind?
 * @param ports  that something of it is predicted at
 */
static bool
is_few(const struct judge *j, uint32_t ports)
{
	const struct volumes_basis basis = { ports, j->config.scores.is_random };

	if (j->config.scores.detector == REC_DETECTOR_THRESHOLD)
		return ports != 0 && !volumes_can_judge(VOLUMES_TEST_THRESHOLD, &basis);
	return ports != 0 && !volumes_knows_noise(&basis);
}

/* Which senders' volumes can be compared: those that sent what was to come, by whatever ports. */
static void
check_senders(struct judge *j, const struct volumes_slot *slot)
{
	for (uint16_t s = 0; s < j->volumes.nsenders; s++) {
		struct volume_sample sum = { 0, 0 };
		uint32_t ports = 0;
		bool differs;

		if (j->config.relative)
			scale_prediction(j, slot, s);
		for (uint16_t port = 0; port < j->volumes.config.ports; port++) {
			struct volume_sample one = sample_at(j, slot, port, s);

			sum.predicted += one.predicted;
			sum.seen += one.seen;
			ports += one.predicted != 0;
		}
		differs = j->config.relative ? sum.seen == 0 && sum.predicted != 0
					     : detect_differs(&sum, j->config.tolerance_ppm) && !is_rounding(&sum);
		j->flaws[s] = 0;
		if (j->predict.ready && sum.predicted == 0 && sum.seen != 0)
			j->flaws[s] = VOLUMES_FLAW(REC_FLAW_UNKNOWN);
		else if (j->predict.ready && differs)
			j->flaws[s] = VOLUMES_FLAW(REC_FLAW_DEMAND);
		j->is_sound[s] = j->flaws[s] == 0;
		if (j->is_sound[s] && is_few(j, ports))
			j->flaws[s] = VOLUMES_FLAW(REC_FLAW_FEW);
	}
}

/* By the threshold: does the port lack too much, of all senders or of one? */
static bool
lacks(const struct judge *j, const struct volumes_slot *slot, uint16_t port)
{
	struct volume_sample sample = judge_port(j, slot, port);
	bool any = detect_threshold(&sample, j->config.threshold_ppm);

	for (uint16_t s = 0; s < j->volumes.nsenders && !any && !j->config.ports_alone; s++) {
		sample = sample_at(j, slot, port, s);
		any = j->is_sound[s] && detect_threshold(&sample, j->config.threshold_ppm);
	}
	return any;
}

/* By scores. @return in how many iterations together something is found to be missing at the port, at least; 0: nothing */
static uint32_t
scored(const struct judge *j, uint16_t port)
{
	uint32_t least = 0;

	for (uint16_t s = 0; s < j->volumes.nsenders; s++) {
		uint32_t pooled = j->is_sound[s] ? j->scores.pooled[volumes_cell(&j->volumes, port, s)] : 0;

		if (pooled != 0 && (least == 0 || pooled < least))
			least = pooled;
	}
	return least;
}

/*
 * A threshold takes for granted that a fault-free port sees what is predicted, but for less than it. Where a sender's noise is
 * no less, what a port lacks has to stand out from that noise; else its volumes are uneven, and no fault.
 */
static bool
stands_out(struct judge *j, const struct volumes_slot *slot, uint16_t port)
{
	uint32_t uneven = 0;

	if (scored(j, port) != 0)
		return true;
	for (uint16_t s = 0; s < j->volumes.nsenders; s++)
		if (j->is_scored[s] && j->scores.stands[volumes_cell(&j->volumes, port, s)])
			return true;
	for (uint16_t s = 0; s < j->volumes.nsenders; s++) {
		struct volume_sample sample = sample_at(j, slot, port, s);
		double threshold_bytes = (double)sample.predicted * j->config.threshold_ppm / DETECT_PPM;

		if (!j->is_scored[s] || !detect_threshold(&sample, j->config.threshold_ppm) ||
		    threshold_bytes >= (double)j->scores.noise_bytes[volumes_cell(&j->volumes, port, s)])
			continue;
		j->flaws[s] = VOLUMES_FLAW(REC_FLAW_UNEVEN);
		uneven++;
	}
	return uneven == 0;
}

/* Locates what a port lacks, by the iterations that it was found in. @return places */
static uint32_t
locate(struct judge *j, const struct volumes_slot *slot, uint16_t port, uint32_t pooled)
{
	struct volumes_slot sum = *slot;
	struct locate_grid grid = { .v = &j->volumes,
				    .slot = slot,
				    .predicted = j->expected,
				    .is_sound = j->is_sound,
				    .is_alarmed = j->is_alarmed,
				    .variance = j->scores.variance,
				    .dof = j->scores.dof,
				    .lost = j->scores.lost,
				    .iterations = 1 };

	if (pooled > 1) {
		grid.iterations = pooled < SCORES_HISTORY ? pooled : SCORES_HISTORY;
		scores_sum(&j->scores, &j->volumes, slot, j->expected, grid.iterations);
		sum.counts = j->scores.counts;
		grid.slot = &sum;
		grid.predicted = j->scores.predicted;
	}
	return locate_port(&j->locate, &grid, port);
}

/* The least that is known of the noise of the senders that an alarm is about. */
static enum rec_noise
noise_known(const struct judge *j, uint16_t port, const struct locate_place *place)
{
	enum rec_noise known = j->config.scores.is_random ? REC_NOISE_RANDOM : REC_NOISE_LEARNED;

	for (uint16_t s = 0; s < j->volumes.nsenders; s++) {
		bool is_concerned = place->sender == VOLUMES_NO_SENDER ? j->is_sound[s] : place->sender == s;

		if (is_concerned && j->expected[volumes_cell(&j->volumes, port, s)] != 0 && !j->is_scored[s])
			known = REC_NOISE_UNKNOWN;
	}
	return known;
}

static void
compare(struct judge *j, const struct volumes_slot *slot)
{
	bool by_threshold = j->config.scores.detector == REC_DETECTOR_THRESHOLD;

	if (j->config.predict.source == PREDICT_LEARNED)
		j->scores.mean_of = j->predict.learned;
	for (uint16_t s = 0; s < j->volumes.nsenders; s++)
		j->is_scored[s] = j->is_sound[s] && scores_sender(&j->scores, &j->volumes, slot, j->expected, s);
	for (uint16_t port = 0; port < j->volumes.config.ports; port++)
		j->is_alarmed[port] =
			by_threshold ? lacks(j, slot, port) && stands_out(j, slot, port) : scored(j, port) != 0;
	for (uint16_t port = 0; port < j->volumes.config.ports; port++) {
		uint32_t pooled = by_threshold ? 1 : scored(j, port);
		uint32_t places = j->is_alarmed[port] ? locate(j, slot, port, pooled) : 0;

		for (uint32_t i = 0; i < places; i++)
			j->alarms[j->nalarms++] = (struct judge_alarm){
				.port = port,
				.sample = judge_port(j, slot, port),
				.pooled = pooled,
				.place = j->locate.places[i],
				.noise = noise_known(j, port, &j->locate.places[i]),
			};
	}
}

enum judge_outcome
judge_iteration(struct judge *j, const struct volumes_slot *slot)
{
	j->nalarms = 0;
	if (slot->new_task) {
		predict_forget(&j->predict, &j->volumes);
		scores_forget(&j->scores, &j->volumes);
	}
	memset(j->is_alarmed, 0, j->volumes.config.ports * sizeof(*j->is_alarmed));
	check_senders(j, slot);
	if (slot->flaws != 0) {
		j->outcome = JUDGE_FLAWED;
	} else if (!j->predict.ready) {
		predict_learn(&j->predict, &j->volumes, slot);
		j->outcome = JUDGE_LEARNED;
	} else if (predict_relearn(&j->predict, &j->volumes, slot, j->is_sound)) {
		scores_forget(&j->scores, &j->volumes);
		j->outcome = JUDGE_RELEARNED;
	} else {
		compare(j, slot);
		j->outcome = JUDGE_COMPARED;
	}
	return j->outcome;
}
