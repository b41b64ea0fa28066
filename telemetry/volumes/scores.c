/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/volumes/scores.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/volumes/preconditions.h"

static bool
has_room(const struct scores *scores)
{
	return scores->history != NULL && scores->nscored != NULL && scores->counts != NULL && scores->predicted != NULL &&
	       scores->trims != NULL && scores->learned != NULL && scores->squares != NULL && scores->sums != NULL &&
	       scores->missing != NULL && scores->losses != NULL && scores->lost != NULL && scores->variance != NULL &&
	       scores->dof != NULL && scores->noise_bytes != NULL && scores->pooled != NULL && scores->half_trims != NULL &&
	       scores->half_learned != NULL && scores->half_squares != NULL && scores->stands != NULL;
}

int
scores_init(struct scores *scores, const struct scores_config *config, const struct volumes_config *volumes)
{
	size_t ports = volumes->ports, senders = volumes->senders;
	size_t pooled = config->detector == REC_DETECTOR_POOLED ? ports * senders : 0;

	memset(scores, 0, sizeof(*scores));
	scores->config = *config;
	scores->history = calloc(SCORES_HISTORY * pooled + 1, sizeof(*scores->history));
	scores->nscored = calloc(senders, sizeof(*scores->nscored));
	scores->counts = calloc(pooled + 1, sizeof(*scores->counts));
	scores->predicted = calloc(pooled + 1, sizeof(*scores->predicted));
	scores->trims = calloc(ports + 1, sizeof(*scores->trims));
	scores->learned = calloc(senders, sizeof(*scores->learned));
	scores->squares = calloc(ports * senders, sizeof(*scores->squares));
	scores->sums = calloc(ports * senders, sizeof(*scores->sums));
	scores->half_trims = calloc(ports + 1, sizeof(*scores->half_trims));
	scores->half_learned = calloc(senders, sizeof(*scores->half_learned));
	scores->half_squares = calloc(ports * senders, sizeof(*scores->half_squares));
	scores->stands = calloc(ports * senders, sizeof(*scores->stands));
	scores->missing = calloc(ports, sizeof(*scores->missing));
	scores->losses = calloc(ports, sizeof(*scores->losses));
	scores->lost = calloc(ports * senders, sizeof(*scores->lost));
	scores->variance = calloc(ports * senders, sizeof(*scores->variance));
	scores->dof = calloc(senders, sizeof(*scores->dof));
	scores->noise_bytes = calloc(ports * senders, sizeof(*scores->noise_bytes));
	scores->pooled = calloc(ports * senders, sizeof(*scores->pooled));
	if (!has_room(scores))
		return -ENOMEM;
	for (size_t s = 0; s < senders; s++) {
		scores->learned[s].squares = &scores->squares[s * ports];
		scores->half_learned[s].squares = &scores->half_squares[s * ports];
	}
	if (config->detector == REC_DETECTOR_POOLED)
		detect_cusum_limits(&scores->limits, config->rate / (double)ports);
	else
		scores->limit = detect_limit(config->rate, (uint32_t)ports);
	return 0;
}

void
scores_fini(struct scores *scores)
{
	free(scores->trims);
	free(scores->learned);
	free(scores->squares);
	free(scores->half_trims);
	free(scores->half_learned);
	free(scores->half_squares);
	free(scores->stands);
	free(scores->sums);
	free(scores->missing);
	free(scores->losses);
	free(scores->lost);
	free(scores->variance);
	free(scores->dof);
	free(scores->noise_bytes);
	free(scores->pooled);
	free(scores->history);
	free(scores->nscored);
	free(scores->counts);
	free(scores->predicted);
	memset(scores, 0, sizeof(*scores));
}

size_t
scores_bytes(const struct scores_config *config, const struct volumes_config *volumes)
{
	size_t ports = volumes->ports, senders = volumes->senders;
	size_t pooled = config->detector == REC_DETECTOR_POOLED ? ports * senders : 0;

	return (ports + 1) * 2 * sizeof(struct detect_trim) + ports * (sizeof(double) + sizeof(float)) +
	       senders * (2 * sizeof(struct detect_learned) + sizeof(uint32_t) + sizeof(double)) +
	       ports * senders * (5 * sizeof(float) + sizeof(bool) + sizeof(struct detect_cusum) + sizeof(uint32_t)) +
	       pooled * (SCORES_HISTORY * sizeof(float) + sizeof(struct volume_count) + sizeof(uint64_t));
}

/* Mean size of what came of a sender. */
static double
packet_bytes(const struct volumes *v, const struct volumes_slot *slot, uint16_t sender)
{
	uint64_t bytes = 0, packets = 0;

	for (uint16_t port = 0; port < v->config.ports; port++) {
		bytes += slot->counts[volumes_cell(v, port, sender)].bytes;
		packets += slot->counts[volumes_cell(v, port, sender)].packets;
	}
	return packets != 0 ? (double)bytes / (double)packets : 1;
}

/* Where the history has what was missing in a sender's iteration, counted from its first. */
static size_t
history_at(const struct volumes *v, uint32_t iteration, uint32_t cell)
{
	return (size_t)(iteration % SCORES_HISTORY) * v->config.ports * v->config.senders + cell;
}

static uint32_t
found(struct scores *scores, uint32_t cell, double missing, const struct detect_noise *noise)
{
	if (scores->config.detector == REC_DETECTOR_POOLED)
		return detect_cusum_add(&scores->sums[cell], &scores->limits, missing, noise);
	return detect_score(missing, noise) > scores->limit;
}

/* Gathers what is missing at a sender's ports, and what is known of their losses. @return how many it has */
static uint32_t
gather(struct scores *scores, const struct volumes *v, const struct volumes_slot *slot, const uint64_t *predicted,
       uint16_t sender, double size, struct detect_losses *losses)
{
	uint32_t ports = 0;

	*losses = (struct detect_losses){ 0 };
	for (uint16_t port = 0; port < v->config.ports; port++) {
		uint32_t cell = volumes_cell(v, port, sender);
		double packets = (double)predicted[cell] / size;

		if (predicted[cell] == 0)
			continue;
		scores->losses[ports] = scores->lost[cell];
		scores->missing[ports++] =
			detect_missing(&(struct volume_sample){ predicted[cell], slot->counts[cell].bytes }, size);
		losses->packets += packets;
		losses->variance += packets * (double)scores->lost[cell];
	}
	return ports;
}

/* As packets choose among ports by themselves, against a prediction that is off by noise of its own. */
static struct detect_noise
random_noise(const struct scores *scores, const struct detect_losses *losses, double packets)
{
	struct detect_noise noise = detect_noise_random(packets, packets / losses->packets);

	if (scores->mean_of != 0)
		noise.variance += noise.variance / scores->mean_of;
	return noise;
}

/* Scores one port. @param at  which of the sender's ports it is @param noise  of what is sent, as learned */
static void
score(struct scores *scores, const struct detect_losses *losses, const struct detect_noise *learned, uint32_t cell,
      uint32_t at, double packets, double size)
{
	struct detect_noise noise = scores->config.is_random
					    ? random_noise(scores, losses, packets)
					    : detect_noise_lossy(learned, losses, packets, (double)scores->lost[cell]);

	scores->variance[cell] = (float)learned->variance;
	scores->noise_bytes[cell] =
		(float)((scores->limit * sqrt(fmax(noise.variance, 0)) + DETECT_ROUNDING_PACKETS) * size);
	scores->pooled[cell] = found(scores, cell, scores->missing[at], &noise);
}

/*
 * Where several ports lack at a time, those that a port's noise is learned from have their faults among them, and each hides the others. But
 * as long as half of them are sound, those lie beside each other: what lacks more than their noise explains stands out, too.
 */
static void
score_by_half(struct scores *scores, const struct volumes *v, const struct detect_losses *losses, uint16_t sender,
	      uint32_t count, const uint64_t *predicted, double size)
{
	struct detect_ports ports = { count, scores->losses, scores->half_trims, true };
	struct detect_learned *learned = &scores->half_learned[sender];
	uint32_t at = 0;

	if (scores->config.detector != REC_DETECTOR_THRESHOLD ||
	    !volumes_can_judge(VOLUMES_TEST_HALF, &(struct volumes_basis){ count, scores->config.is_random }))
		return;
	detect_learn(learned, &ports, scores->missing);
	for (uint16_t port = 0; port < v->config.ports; port++) {
		uint32_t cell = volumes_cell(v, port, sender);
		struct detect_noise noise;

		if (predicted[cell] == 0)
			continue;
		noise = detect_noise_learned(learned, &ports, at);
		noise = detect_noise_lossy(&noise, losses, (double)predicted[cell] / size, (double)scores->lost[cell]);
		scores->stands[cell] = detect_score(scores->missing[at++], &noise) > scores->limit;
	}
}

/* The noise that a port's count is scored by. @param at  which of the sender's ports it is */
static struct detect_noise
noise_of(struct scores *scores, const struct detect_ports *ports, uint16_t sender, const struct detect_losses *losses,
	 uint32_t at, double packets)
{
	if (volumes_can_judge(VOLUMES_TEST_LEARNED, &(struct volumes_basis){ ports->count, false }))
		return detect_noise_learned(&scores->learned[sender], ports, at);
	return detect_noise_random(packets, packets / losses->packets);
}

bool
scores_sender(struct scores *scores, const struct volumes *v, const struct volumes_slot *slot, const uint64_t *predicted,
	      uint16_t sender)
{
	double size = packet_bytes(v, slot, sender);
	struct detect_learned *learned = &scores->learned[sender];
	struct detect_ports ports = { .lost = scores->losses, .trims = scores->trims };
	bool first = learned->iterations <= 0, learns;
	struct detect_losses losses;
	uint32_t at = 0;

	for (uint16_t port = 0; port < v->config.ports; port++) {
		scores->pooled[volumes_cell(v, port, sender)] = 0;
		scores->stands[volumes_cell(v, port, sender)] = false;
	}
	ports.count = gather(scores, v, slot, predicted, sender, size, &losses);
	scores->dof[sender] = 0;
	if (!volumes_knows_noise(&(struct volumes_basis){ ports.count, scores->config.is_random }))
		return false;
	learns = volumes_can_judge(VOLUMES_TEST_LEARNED, &(struct volumes_basis){ ports.count, false });
	if (first && learns) /* its noise is its own */
		detect_learn(learned, &ports, scores->missing);
	for (uint16_t port = 0; port < v->config.ports; port++) {
		uint32_t cell = volumes_cell(v, port, sender);
		struct detect_noise noise;

		if (predicted[cell] == 0)
			continue;
		if (scores->config.detector == REC_DETECTOR_POOLED)
			scores->history[history_at(v, scores->nscored[sender], cell)] = (float)(scores->missing[at] * size);
		noise = noise_of(scores, &ports, sender, &losses, at, (double)predicted[cell] / size);
		scores->dof[sender] = noise.dof;
		score(scores, &losses, &noise, cell, at++, (double)predicted[cell] / size, size);
	}
	if (!first && learns)
		detect_learn(learned, &ports, scores->missing);
	score_by_half(scores, v, &losses, sender, ports.count, predicted, size);
	scores->nscored[sender]++;
	return true;
}

void
scores_sum(struct scores *scores, const struct volumes *v, const struct volumes_slot *slot, const uint64_t *predicted,
	   uint32_t iterations)
{
	for (uint16_t s = 0; s < v->nsenders; s++) {
		uint32_t count = iterations < scores->nscored[s] ? iterations : scores->nscored[s];
		double size = packet_bytes(v, slot, s);

		for (uint16_t port = 0; port < v->config.ports; port++) {
			uint32_t cell = volumes_cell(v, port, s);
			double bytes = (double)(predicted[cell] * count);

			for (uint32_t i = 1; i <= count; i++)
				bytes -= (double)scores->history[history_at(v, scores->nscored[s] - i, cell)];
			scores->predicted[cell] = predicted[cell] * count;
			bytes = predicted[cell] != 0 ? fmax(bytes, 0) : 0;
			scores->counts[cell] =
				(struct volume_count){ (uint64_t)llround(bytes), (uint64_t)llround(bytes / size) };
		}
	}
}

void
scores_forget(struct scores *scores, const struct volumes *v)
{
	memset(scores->sums, 0, (size_t)v->config.ports * v->config.senders * sizeof(*scores->sums));
	memset(scores->squares, 0, (size_t)v->config.ports * v->config.senders * sizeof(*scores->squares));
	memset(scores->half_squares, 0, (size_t)v->config.ports * v->config.senders * sizeof(*scores->half_squares));
	memset(scores->dof, 0, v->config.senders * sizeof(*scores->dof));
	for (uint16_t s = 0; s < v->config.senders; s++)
		scores->learned[s].iterations = scores->half_learned[s].iterations = 0;
	memset(scores->nscored, 0, v->config.senders * sizeof(*scores->nscored));
}
