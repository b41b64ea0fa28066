/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor of one switch as a whole: an iteration that is over is compared with its prediction, and missing packets
 * located.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/volume.h"
#include "telemetry/volumes/detect.h"
#include "telemetry/volumes/volumes.h"

/*
 * Which link lost packets: senders at one port compared (5.3, Fig. 4). If all of them lack the same share, it is the
 * link that ends at this port; if one does, the link from its leaf to that spine. With one sender the two look the
 * same.
 *
 * A sender's volume is compared with what its volumes at other ports make of the prediction, so that neither repeated
 * packets nor a demand that is somewhat off count. What spraying alone makes volumes differ is measured at those ports
 * too, and has been learned in iterations before: dispersion is the variance of a count over its mean, 1 for random
 * spraying, less for adaptive. A port with a known loss varies by that, too, and is not measured. Then the hypotheses
 * are compared by their likelihood, each further faulty link being LOCATE_ODDS times less likely than none:
 *
 *   local     all senders lack one share
 *   remote k  the k senders that lack most each lack a share of their own, the others nothing
 */

#define LOCATE_ODDS 10000.0     /* of a link that is well to one that is not */
#define LOCATE_LEAST_ODDS 100.0 /* likelihood ratio above which the better hypothesis is named alone */
#define LOCATE_Z95 1.959964     /* standard deviations that hold 95 % of a normal distribution */

struct locate_part;

/* One iteration at a switch, or the sum of several. */
struct locate_grid {
	const struct volumes *v;
	const struct volumes_slot *slot;
	const uint64_t *predicted; /* [ports * senders] */
	const bool *is_sound;      /* [senders] whose volumes can be compared */
	const bool *is_alarmed;    /* [ports] */
	const float *variance;     /* [ports * senders] of a count in one iteration, as far as spraying goes */
	const double *dof;         /* [senders] degrees of freedom of that; 0: not learned */
	const float *lost;         /* [ports * senders] share that is known to be lost before it is counted */
	uint32_t iterations;       /* in slot and predicted */
};

/* One link, or pair of links, and its lost packets. */
struct locate_place {
	enum rec_loss_place where;
	uint16_t sender; /* VOLUMES_NO_SENDER: local */
	/* Packets and bytes of the senders concerned; the expected ones derive from the counts of other ports. */
	double expected_packets, got_packets;
	double expected_bytes, got_bytes;
	double dispersion;                /* of counts, as other ports have it */
	double reference_packets;         /* counted at other ports */
	double drop, drop_low, drop_high; /* share of packets lost, and its interval at 95 % */
};

/*
 * State of locating losses at a switch: the counts of an iteration at ports without an alarm, and scratch memory to
 * compare senders.
 */
struct locate {
	bool *refers;  /* [ports] those that the others are compared with */
	double *scale; /* [senders] seen over predicted */
	double dispersion;
	double packets;              /* counted there */
	struct locate_part *parts;   /* [senders] */
	struct locate_place *places; /* [senders] */
};

/* @return bytes of a sender */
size_t locate_bytes(void);
/* @return 0 or -ENOMEM */
int locate_init(struct locate *l, uint16_t ports, uint16_t senders);
/* Also for a zeroed struct. */
void locate_fini(struct locate *l);

/* @return how many links of those that a port depends on lost packets: set in places; 0: no sender lacks anything */
uint32_t locate_port(struct locate *l, const struct locate_grid *grid, uint16_t port);

/*
 * Preconditions of the tests of a sender's volumes. A test whose precondition does not hold is silent, and the monitor
 * reports the row's reason for not judging. docs/flowpulse.md, "What a test needs".
 */

enum volumes_test {
	VOLUMES_TEST_THRESHOLD, /* less than predicted by a share (5.3) */
	VOLUMES_TEST_RANDOM,    /* less than binomial noise explains */
	VOLUMES_TEST_LEARNED,   /* less than the noise of the sender's other ports explains */
	VOLUMES_TEST_HALF,      /* less than the noise of the nearer half of them explains */
	VOLUMES_TESTS
};

/* Facts about a sender that decide which tests can judge it. */
struct volumes_basis {
	uint32_t ports; /* that something of it is predicted at */
	bool is_random; /* its packets choose among them by themselves, and the noise of the prediction is known */
};

struct volumes_precondition {
	const char *name;
	uint32_t least_ports, most_ports;
	bool needs_random, needs_learning; /* noise is known beforehand; it has to be learned */
	enum rec_flaw otherwise;
};

extern const struct volumes_precondition volumes_preconditions[VOLUMES_TESTS];

/* @return whether a test can judge a sender */
bool volumes_can_judge(enum volumes_test test, const struct volumes_basis *basis);
/* @return whether the noise of a sender's counts can be known, by either of the tests of noise */
bool volumes_knows_noise(const struct volumes_basis *basis);

/*
 * The predicted bytes of an iteration by each monitored port of each sender (5.2): declared, by the analytical model or
 * by a simulation that was run before; the analytical model of the demand measured in the first iterations; or learned,
 * the volumes of the first iterations themselves.
 */

enum predict_source {
	PREDICT_DECLARED, /* the caller that sets bytes[] */
	PREDICT_MEASURED, /* d / (s - f): d as the first iterations had it */
	PREDICT_LEARNED,  /* as the first iterations had it */
};

struct predict_config {
	enum predict_source source;
	uint32_t learn;         /* iterations that are learned from, at least 1 */
	uint32_t threshold_ppm; /* a port whose load differs by more from the learned one may have healed */
};

/* A share of a sender's bytes: the whole is PREDICT_WHOLE. */
#define PREDICT_WHOLE (UINT64_C(1) << 32)

struct predict {
	void *block; /* of the arrays below */
	struct predict_config config;
	uint64_t *bytes; /* [ports * senders] of an iteration, as volumes_cell() counts */
	uint64_t *share; /* [ports * senders] of what one sender sends here, by each port: 1 / (s - f) in PREDICT_WHOLE */
	uint64_t *sum;   /* [ports * senders] of the iterations learned from */
	uint32_t learned;
	bool ready;
};

/* @return 0 or -ENOMEM */
int predict_init(struct predict *p, const struct predict_config *config, const struct volumes_config *volumes);
/* Also for a zeroed struct. */
void predict_fini(struct predict *p);

/* d / (s - f). @param share  of it, in PREDICT_WHOLE */
static inline uint64_t
predict_of_demand(uint64_t demand_bytes, uint64_t share)
{
	return (uint64_t)((unsigned __int128)demand_bytes * share >> 32);
}

/* Takes in an iteration that nothing was predicted of. */
void predict_learn(struct predict *p, const struct volumes *v, const struct volumes_slot *slot);
/* Prepares for the next task: forgets learned loads, keeps declared ones. */
void predict_forget(struct predict *p, const struct volumes *v);
/* Clears the prediction until the next declaration. */
void predict_clear(struct predict *p, const struct volumes *v);
/* The shares have changed with the routes: measured demand is split again, learned loads are forgotten. */
void predict_split(struct predict *p, const struct volumes *v);
/*
 * Fig. 3: a fault that was there when the loads were learned is gone. At ports where a load differs from the learned
 * one, loads are more even now than they were, compared with an even split: then this iteration is the prediction from
 * now on.
 * @param is_sound  [senders] whose volumes can be compared
 * @return whether it was replaced
 */
bool predict_relearn(struct predict *p, const struct volumes *v, const struct volumes_slot *slot, const bool *is_sound);

/*
 * Scores of a switch's senders at its ports, against noise that the switch learns of each sender from its own ports:
 * what the tests beside the paper's threshold use (detect.h), and the check whether a threshold means anything.
 */

#define SCORES_HISTORY 32 /* iterations that one alarm is located by, at most */

struct scores_config {
	enum rec_detector detector;
	double rate;    /* of false alarms an iteration, over all ports, of each sender */
	bool is_random; /* packets choose among ports by themselves, and noise is known */
};

struct scores {
	struct scores_config config;
	void *block;                    /* of the arrays below */
	struct detect_trim *trims;      /* [ports + 1] */
	struct detect_learned *learned; /* [senders] */
	float *squares;                 /* [senders * ports] of them */
	/* For detector threshold: trims, learned and squares for the half of the ports that differ least. */
	struct detect_trim *half_trims;
	struct detect_learned *half_learned;
	float *half_squares;
	bool *stands;              /* [ports * senders] more is missing than that noise explains */
	struct detect_cusum *sums; /* [ports * senders] */
	struct detect_cusum_limits limits;
	double limit;     /* of one score */
	uint32_t mean_of; /* iterations that the prediction is the mean of, with their noise; 0: it has none */
	double *missing;  /* [ports] room */
	float *losses;    /* [ports] room */
	float *lost;      /* [ports * senders] known lost share of the bytes sent by each, set with the prediction */
	/* State of the iteration scored last, as known before it was learned from. */
	float *variance;    /* [ports * senders] packets^2, of the bytes sent by each, from spraying alone */
	double *dof;        /* [senders] degrees of freedom of that; 0: it is not known */
	float *noise_bytes; /* [ports * senders] less than it is missing without a fault, at the rate */
	/* For detector pooled: missing packets of each sender's latest iterations, and their sum. */
	float *history;              /* [SCORES_HISTORY * ports * senders] bytes */
	uint32_t *nscored;           /* [senders] iterations */
	struct volume_count *counts; /* [ports * senders] */
	uint64_t *predicted;         /* [ports * senders] */
	uint32_t *pooled; /* [ports * senders] iterations that something was found in, this one the last; 0: nothing */
};

/* @return 0 or -ENOMEM */
int scores_init(struct scores *scores, const struct scores_config *config, const struct volumes_config *volumes);
/* Also for a zeroed struct. */
void scores_fini(struct scores *scores);
/* @return bytes that it holds */
size_t scores_bytes(const struct scores_config *config, const struct volumes_config *volumes);

/*
 * Scores an iteration of one sender, and learns from it: of the very first, the noise is its own.
 * @param predicted  [ports * senders] scores->pooled of the sender is set
 * @return false: its noise is not known (volumes_knows_noise()), and nothing is scored
 */
bool scores_sender(struct scores *scores, const struct volumes *v, const struct volumes_slot *slot,
		   const uint64_t *predicted, uint16_t sender);
/*
 * Detector pooled: sets scores->counts and scores->predicted to the sums over the latest iterations of each sender.
 * @param predicted   of one iteration
 * @param iterations  at most SCORES_HISTORY; senders with fewer have those
 */
void scores_sum(struct scores *scores, const struct volumes *v, const struct volumes_slot *slot, const uint64_t *predicted,
		uint32_t iterations);
/* The prediction has changed: sums of missing packets before the change mean nothing. */
void scores_forget(struct scores *scores, const struct volumes *v);

struct judge_config {
	struct volumes_config volumes;
	struct predict_config predict; /* its threshold is this one's */
	uint32_t threshold_ppm;        /* of the prediction: more missing packets are an alarm */
	uint32_t tolerance_ppm;        /* of a sender's volume: what differs beyond that is another demand */
	struct scores_config scores;   /* of other detectors than that threshold */
	bool ports_alone;              /* compare whole ports, as the paper does; else each sender at each port, too */
	/*
	 * Of a switch that only some of the traffic passes: in three tiers an aggregation gets the packets that edges
	 * send by it, and the retransmissions of losses elsewhere reach it, too. Its ports are compared with the one
	 * that carries most of its prediction, of each sender.
	 */
	bool relative;
};

/* A port with too little, and one of the links that may have lost it. */
struct judge_alarm {
	uint16_t port;
	struct volume_sample sample; /* of the whole port, of senders that can be compared */
	struct locate_place place;
	uint32_t pooled; /* found in this number of the latest iterations together, this one included */
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
	void *block; /* of the arrays below */
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
/* Also for a zeroed struct. */
void judge_fini(struct judge *j);

/* Compares an iteration that is over, of j->volumes. @return its outcome, kept in j with the alarms until the next */
enum judge_outcome judge_iteration(struct judge *j, const struct volumes_slot *slot);
/* @return a port's volumes of all senders that can be compared */
struct volume_sample judge_port(const struct judge *j, const struct volumes_slot *slot, uint16_t port);
