/* SPDX-License-Identifier: BSD-3-Clause */
/* The monitor of one switch as a whole: an iteration that is over is compared with its prediction, and what it lacks located. */
#pragma once

#include "telemetry/volumes/locate.h"
#include "telemetry/volumes/scores.h"

struct judge_config {
	struct volumes_config volumes;
	struct predict_config predict; /* its threshold is this one's */
	uint32_t threshold_ppm;        /* of what is predicted: what is missing beyond that is an alarm */
	uint32_t tolerance_ppm;        /* of a sender's volume: what differs beyond that is another demand */
	struct scores_config scores;   /* of other detectors than that threshold */
	bool ports_alone;              /* compare whole ports, as the paper does; else each sender at each port, too */
	/*
	 * Of a switch that not all comes by: in three tiers an aggregation has what edges send by it, and what others than itself
	 * lose comes by it, too. Its ports are compared with the one that brings most of its prediction, of each sender.
	 */
	bool relative;
};

/* A port with too little, and one of the links that may have lost it. */
struct judge_alarm {
	uint16_t port;
	struct volume_sample sample; /* of the whole port, of senders that can be compared */
	struct locate_place place;
	uint32_t pooled; /* found in so many of the latest iterations together, this one included */
	enum rec_noise noise;
};

enum judge_outcome {
	JUDGE_FLAWED,    /* an assumption does not hold for any of it */
	JUDGE_LEARNED,   /* it went into the prediction */
	JUDGE_RELEARNED, /* it is the prediction now */
	JUDGE_COMPARED,
};

struct judge {
	struct judge_config config;
	struct volumes volumes;
	struct predict predict;
	struct locate locate;
	struct scores scores;
	/* of the last iteration judged */
	enum judge_outcome outcome;
	const uint64_t *expected;   /* [ports * senders] bytes that volumes were compared with */
	uint64_t *scaled;           /* the same, of a relative one; else NULL */
	uint32_t *flaws;            /* [senders] VOLUMES_FLAW() of them, of the sender alone */
	bool *is_sound;             /* [senders] */
	bool *is_scored;            /* [senders] their noise is known */
	bool *is_alarmed;           /* [ports] */
	struct judge_alarm *alarms; /* [nalarms], by port */
	uint32_t nalarms;
};

/* @return bytes that a monitor holds, whatever happens */
size_t judge_bytes(const struct judge_config *config);
/* @return 0 or -ENOMEM */
int judge_init(struct judge *j, const struct judge_config *config);
/* Also of one that is zero. */
void judge_fini(struct judge *j);

/* Compares an iteration that is over, of j->volumes. @return its outcome, kept in j with the alarms until the next */
enum judge_outcome judge_iteration(struct judge *j, const struct volumes_slot *slot);
/* @return a port's volumes of all senders that can be compared */
struct volume_sample judge_port(const struct judge *j, const struct volumes_slot *slot, uint16_t port);
