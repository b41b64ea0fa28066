/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signatures (III-D2): each looks at the slow steps and their provenance graphs and adds what it recognizes to the
 * findings. A new signature is one file and one line of the registry.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "diag/collect/evidence.h"
#include "diag/provenance/provenance.h"
#include "diag/verdict.h"

/* Thresholds; docs/diagnosis.md says why. */
#define CAUSE_MIN_WAIT 0.02      /* packets of another flow ahead of a victim's packet, on average: less is no wait */
#define CAUSE_MIN_DEPTH 8        /* packets: a switch queue that never grew beyond is not contended */
#define CAUSE_MIN_SHARE 0.05     /* of bytes or packets: smaller parts are not followed or named */
#define CAUSE_INCAST_FLOWS 3     /* flows from as many hosts to one last-hop port */
#define CAUSE_STORM_FILL 0.5     /* of the XOFF threshold: a pausing ingress that holds less has no reason to pause */
#define CAUSE_MAX_FINDINGS 4096

struct cause_input {
	const struct evidence *ev;
	const struct verdict_step *steps; /* same indices as ev->steps */
	uint32_t nsteps;
	struct prov_graph *const *graphs; /* [nsteps] NULL: the step was not slow, or nothing was reported */
};

/* A finding being made: findings of one key are one. */
struct cause_finding {
	struct verdict_finding out;
	uint32_t key;  /* tells findings of one type and root apart */
	double best;   /* score of the sample that the evidence sentence is about */
	double *flow_score; /* [out.nflows] */
};

struct cause_set {
	const struct cause_input *in;
	struct cause_finding *findings;
	uint32_t count, cap;
	bool full;     /* CAUSE_MAX_FINDINGS reached: some are left out */
	bool no_memory;
};

typedef void cause_fn(struct cause_set *set, uint32_t step);

struct cause {
	enum verdict_type type;
	cause_fn *look; /* called for every slow or late step */
};

/* All signatures, in order of their type. */
extern const struct cause causes[];
extern const uint32_t ncauses;

/*
 * Runs every signature over every step.
 * @param findings  set to the findings, largest score first; with their arrays the caller's to free
 * @return 0, -E2BIG past CAUSE_MAX_FINDINGS, or -ENOMEM with err
 */
int cause_find(const struct cause_input *in, struct verdict_finding **findings, uint32_t *count, struct err *err);

/* ---- for signatures ---- */

/*
 * The finding of (type, root, key, collective of the step), made if there is none; the step and its flow become
 * victims.
 * @param root_port  global port id, or EV_NONE: then root says what it is
 * @return NULL when full or out of memory
 */
struct cause_finding *cause_add(struct cause_set *set, enum verdict_type type, uint32_t root_port, const char *root,
				uint32_t key, uint32_t step);
void cause_port(struct cause_set *set, struct cause_finding *finding, uint32_t port);
/* A culprit with what it did; flows sort by the sum of it. */
void cause_flow(struct cause_set *set, struct cause_finding *finding, uint32_t flow, double score);
void cause_time(struct cause_finding *finding, uint64_t start_ps, uint64_t end_ps);
/* Adds to the score. @return true if the evidence sentence should be about this sample: the strongest so far */
bool cause_score(struct cause_finding *finding, double score);

/* "17->18/10000>10000 step 2 took 70.13 ms, 39.38 ms more than expected". @return buf */
char *cause_step_text(const struct cause_input *in, uint32_t step, char *buf, size_t cap);
/* Time lost by a step in frame times of its NIC: the score where no queue is to blame. */
double cause_lost_frames(const struct cause_input *in, uint32_t step, double lost_ps);

/* Flows of CAUSE_INCAST_FLOWS or more sources that meet at this port, the last hop to their destination. */
bool cause_is_incast(const struct cause_input *in, const struct prov_graph *graph, const struct prov_port *port);
/* Is this port's own queue a reason to wait? */
bool cause_congested(const struct cause_input *in, const struct prov_port *port);

cause_fn cause_flow_contention, cause_incast, cause_pfc_backpressure, cause_pfc_storm, cause_pfc_deadlock;
cause_fn cause_forwarding_loop, cause_packet_loss, cause_link_down, cause_blackhole, cause_slow_host;
