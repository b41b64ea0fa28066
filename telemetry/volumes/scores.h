/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scores of a switch's senders at its ports, against noise that the switch learns of each sender from its own ports: what the
 * tests beside the paper's threshold go by (detect_noise.h, detect_cusum.h), and what tells whether a threshold means anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "telemetry/volumes/detect_cusum.h"
#include "telemetry/volumes/detect_noise.h"
#include "telemetry/volumes/volumes.h"

#define SCORES_HISTORY 32 /* iterations that one alarm is located by, at most */

struct scores_config {
	enum rec_detector detector;
	double rate;    /* of false alarms an iteration, over all ports, of each sender */
	bool is_random; /* packets choose among ports by themselves, and noise is known */
};

struct scores {
	struct scores_config config;
	struct detect_trim *trims;      /* [ports + 1] */
	struct detect_learned *learned; /* [senders] */
	float *squares;                 /* [senders * ports] of them */
	/* Of detector threshold: the same of the half of the ports that differ least. */
	struct detect_trim *half_trims;
	struct detect_learned *half_learned;
	float *half_squares;
	bool *stands;              /* [ports * senders] more is missing than that noise explains */
	struct detect_cusum *sums; /* [ports * senders] */
	struct detect_cusum_limits limits;
	double limit;     /* of one score */
	uint32_t mean_of; /* iterations that what is predicted is the mean of, with their noise; 0: it has none */
	double *missing;  /* [ports] room */
	float *losses;    /* [ports] room */
	float *lost; /* [ports * senders] share of what is sent so that is known to be lost: whoever predicts sets it */
	/* Of the iteration scored last, as known before it. */
	float *variance;    /* [ports * senders] packets^2, of what is sent so as far as spraying goes */
	double *dof;        /* [senders] degrees of freedom of that; 0: it is not known */
	float *noise_bytes; /* [ports * senders] less than it is missing without a fault, at the rate */
	/* Of detector pooled: what was missing in the latest iterations of each sender, and their sum. */
	float *history;              /* [SCORES_HISTORY * ports * senders] bytes */
	uint32_t *nscored;           /* [senders] iterations */
	struct volume_count *counts; /* [ports * senders] */
	uint64_t *predicted;         /* [ports * senders] */
	uint32_t *pooled; /* [ports * senders] iterations that something was found in, this one the last; 0: nothing */
};

/* @return 0 or -ENOMEM */
int scores_init(struct scores *scores, const struct scores_config *config, const struct volumes_config *volumes);
/* Also of one that is zero. */
void scores_fini(struct scores *scores);
/* @return bytes that it holds */
size_t scores_bytes(const struct scores_config *config, const struct volumes_config *volumes);

/*
 * Scores an iteration of one sender, and learns from it: of the very first, the noise is its own.
 * @param predicted  [ports * senders] scores->pooled of the sender is set
 * @return false: its noise is not known (preconditions.h), and nothing is scored
 */
bool scores_sender(struct scores *scores, const struct volumes *v, const struct volumes_slot *slot,
		   const uint64_t *predicted, uint16_t sender);
/*
 * Detector pooled: sets scores->counts and scores->predicted to the sums over so many of the latest iterations of each sender.
 * @param predicted   of one iteration
 * @param iterations  at most SCORES_HISTORY; senders with fewer have those
 */
void scores_sum(struct scores *scores, const struct volumes *v, const struct volumes_slot *slot, const uint64_t *predicted,
		uint32_t iterations);
/* What is predicted has changed: sums of what was missing before mean nothing. */
void scores_forget(struct scores *scores, const struct volumes *v);
