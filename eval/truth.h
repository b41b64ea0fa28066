/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The truth of a case: its generator's anomalies (case.json) and the fabric's record (truth.json of a run). The
 * analyzer sees neither.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "common/err.h"
#include "twin/rerun/text.h"

/*
 * The least effect: from this part of a step's time on, and for a base RTT at least, two flows share a queue, or a
 * port is paused. A shorter time cannot have cost more, and a cause that costs less than either is without effect. A
 * cause below it may be reported, but need not be found. The diagnosis has thresholds of its own, for reasons of its
 * own.
 */
#define TRUTH_MIN_SHARE 0.005
/*
 * And the queue is one: packets in it on average. Flows that arrive no faster than the port sends share it too, but
 * each has no more than the packet that it arrived with: two of them, two packets. A deeper queue stands because more
 * arrives.
 */
#define TRUTH_MIN_DEPTH 2.0

struct truth {
	json_t *meaning, *fabric;
	json_t *anomalies;        /* of meaning */
	json_t *collective_flows; /* of meaning: names */
	double earnest_ns;        /* TRUTH_MIN_SHARE of a step, or a base RTT */
};

/* Takes references to both. @return 0 or -EINVAL with err set: something is missing */
int truth_init(struct truth *truth, json_t *meaning, json_t *fabric, struct err *err);
/* DIR/case.json and DIR/RUN/truth.json. @return 0 or -EINVAL with err set */
int truth_load(struct truth *truth, const char *dir, const char *run, struct err *err);
void truth_fini(struct truth *truth);

bool truth_is_collective(const struct truth *truth, const char *flow);

/*
 * Did two flows share a queue?
 * @param port  NULL: in any
 * @param other  NULL: any other flow
 */
bool truth_contended(const struct truth *truth, const char *port, const char *flow, const char *other);
/*
 * Did a flow and one of the collective share a queue for at least the least effect? Of a flow of the collective: with
 * another of it.
 */
bool truth_collided(const struct truth *truth, const char *flow);
/* Did any two data flows share a queue for at least the least effect? */
bool truth_any_shared(const struct truth *truth);

/*
 * Did frames of class 0 of a flow's, its data or its ACKs, go ahead of data that waited at a port?
 * @param flow  NULL: any that is not the collective's
 */
bool truth_overtook(const struct truth *truth, const char *port, const char *flow);

/* Does the fabric know all contentions? At a port that more flows send by than it has room for it does not. */
bool truth_is_whole(const struct truth *truth);

/* How long a port was paused by its peer. */
double truth_paused_ns(const struct truth *truth, const char *port);
/* How long it held up a flow of the collective then, at most. */
double truth_held_ns(const struct truth *truth, const char *port);
/* @return whether the port was still paused when the run ended */
bool truth_paused_at_end(const struct truth *truth, const char *port);
/* Was one of these ports (array of names) paused for at least the least effect? */
bool truth_any_paused(const struct truth *truth, const json_t *ports);

/*
 * Do pauses lead from a switch to one of these ports? The switch pauses ports that send to it, their switches others
 * that send to them, and so on; the last is one of the ports, and held up a flow of the collective for at least the
 * least effect, while flows shared the root.
 * @param root  a port of the switch
 */
bool truth_pauses_lead(const struct truth *truth, const char *root, const json_t *ports);
