/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/volumes/scores.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int
scores_init(struct scores *scores, const struct scores_config *config, const struct volumes_config *volumes)
{
	size_t ports = volumes->ports, senders = volumes->senders;
	size_t pooled = config->detector == REC_DETECTOR_POOLED ? ports * senders : 0;

	memset(scores, 0, sizeof(*scores));
	scores->config = *config;
	scores->noise = calloc(senders, sizeof(*scores->noise));
	scores->history = calloc(SCORES_HISTORY * pooled + 1, sizeof(*scores->history));
	scores->nscored = calloc(senders, sizeof(*scores->nscored));
	scores->counts = calloc(pooled + 1, sizeof(*scores->counts));
	scores->predicted = calloc(pooled + 1, sizeof(*scores->predicted));
	scores->trims = calloc(ports + 1, sizeof(*scores->trims));
	scores->learned = calloc(senders, sizeof(*scores->learned));
	scores->sums = calloc(ports * senders, sizeof(*scores->sums));
	scores->missing = calloc(2 * ports, sizeof(*scores->missing));
	scores->noise_bytes = calloc(senders, sizeof(*scores->noise_bytes));
	scores->pooled = calloc(ports * senders, sizeof(*scores->pooled));
	if (scores->trims == NULL || scores->learned == NULL || scores->sums == NULL || scores->missing == NULL ||
	    scores->noise_bytes == NULL || scores->pooled == NULL || scores->noise == NULL || scores->history == NULL ||
	    scores->nscored == NULL || scores->counts == NULL || scores->predicted == NULL)
		return -ENOMEM;
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
	free(scores->sums);
	free(scores->missing);
	free(scores->noise_bytes);
	free(scores->pooled);
	free(scores->noise);
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

	return ports * (sizeof(struct detect_trim) + 2 * sizeof(double)) +
	       senders * (sizeof(struct detect_learned) + sizeof(struct detect_noise) + sizeof(uint32_t) + sizeof(double)) +
	       ports * senders * (sizeof(struct detect_cusum) + sizeof(uint32_t)) +
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

/* The noise of a sender as known before an iteration, which it then learns from. */
static struct detect_noise
noise_before(struct scores *scores, uint16_t sender, uint32_t ports)
{
	struct detect_learned *learned = &scores->learned[sender];
	struct detect_trim *trim = &scores->trims[ports];
	double *room = scores->missing + ports;

	if (trim->ports == 0)
		detect_trim_init(trim, ports);
	memcpy(room, scores->missing, ports * sizeof(*room));
	return detect_noise_before(learned, trim, room);
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

bool
scores_sender(struct scores *scores, const struct volumes *v, const struct volumes_slot *slot, const uint64_t *predicted,
	      uint16_t sender)
{
	double size = packet_bytes(v, slot, sender);
	struct detect_noise noise;
	uint32_t ports = 0, at = 0;

	for (uint16_t port = 0; port < v->config.ports; port++) {
		uint32_t cell = volumes_cell(v, port, sender);

		scores->pooled[cell] = 0;
		if (predicted[cell] != 0)
			scores->missing[ports++] =
				detect_missing(&(struct volume_sample){ predicted[cell], slot->counts[cell].bytes }, size);
	}
	if (ports < DETECT_MIN_PORTS || ports > DETECT_MAX_PORTS)
		return false;
	noise = scores->noise[sender] = noise_before(scores, sender, ports);
	scores->noise_bytes[sender] = (scores->limit * sqrt(fmax(noise.variance, 0)) + DETECT_ROUNDING_PACKETS) * size;
	for (uint16_t port = 0; port < v->config.ports; port++) {
		uint32_t cell = volumes_cell(v, port, sender);

		if (predicted[cell] == 0)
			continue;
		if (scores->config.detector == REC_DETECTOR_POOLED)
			scores->history[history_at(v, scores->nscored[sender], cell)] = (float)(scores->missing[at] * size);
		scores->pooled[cell] = found(scores, cell, scores->missing[at++], &noise);
	}
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
	memset(scores->learned, 0, v->config.senders * sizeof(*scores->learned));
	memset(scores->noise, 0, v->config.senders * sizeof(*scores->noise));
	memset(scores->nscored, 0, v->config.senders * sizeof(*scores->nscored));
}
