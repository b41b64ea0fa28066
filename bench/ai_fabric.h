/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of `rocelab bench ai-fabric`, after draft-calabria-bmwg-ai-fabric-training-bench: what their cases send, which runs
 * a row needs, and what its figure is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "scenario/scenario.h"

#define AI_MAX_VALUES 8
#define AI_MAX_PARTS 32 /* runs of a row */
#define AI_TEXT 96
#define AI_NOTE 320
#define AI_PROBE_SPORT 20000  /* source ports of flows whose latency counts */
#define AI_DATA_SPORT 49152   /* and of all others */
#define AI_MAX_SAMPLES 128    /* of latency, in a run */
#define AI_MAX_ITERATIONS 128 /* of a soak */
#define AI_MAX_FLOWS 512      /* whose bytes count, in a run */

enum ai_outcome { AI_PASS, AI_FAIL, AI_REPORTED, AI_UNKNOWN, AI_BROKEN, AI_OUTCOMES };

/* The fabric under test. */
struct ai_fabric {
	const struct scenario *scenario;
	uint32_t hosts;
	uint32_t frame_bytes;   /* a full data packet on the wire, inside of a message */
	double rate_bps;        /* of the slowest NIC, in payload of such packets */
	bool has_links;         /* between switches */
	struct cc_params dcqcn; /* of its hosts, with whatever control they have */
};

/* Results of a run. */
struct ai_figures {
	double job_ns[2]; /* of jobs by number, their time */
	uint32_t njobs;
	double most_ns; /* longest completion time of a flow */
	uint32_t flows;
	double rates, squares; /* sums over flows of their goodput in Gbps */
	double least_gbps, most_gbps;
	double acked_bytes[AI_MAX_FLOWS]; /* of the first flows */
	uint32_t samples;                 /* completion times of probes: */
	double p50_ns, p99_ns, max_ns;    /* by nearest rank */
	double ideal_ns;                  /* the largest of an idle fabric */
	uint64_t drops, retransmits, timeouts, pauses, cnps;
	double loss_ns; /* from the first packet that a dead link lost to the last */
	uint64_t lost;  /* packets that it lost */
	/* Egress queues of switches: */
	uint64_t peak_bytes, peak_marked; /* of the longest: watermark, packets marked */
	uint64_t unmarked_bytes;          /* largest watermark of one that marked nothing */
	uint64_t marked_bytes;            /* least watermark of one that marked; 0: none did */
	/* Uplinks of switches with hosts, what they sent: */
	uint32_t uplinks;
	double uplink_sum, uplink_squares, uplink_most;
	uint32_t busiest; /* which sent most: a port's global id, where uplink_most is not 0 */
	double iterations_ns[AI_MAX_ITERATIONS];
	uint32_t niterations;
	bool complete;
};

struct ai_test;

/* A row of the table: a test and its parameter. */
struct ai_row {
	const struct ai_test *test;
	uint32_t value, nparts;
	uint64_t sizes[AI_MAX_PARTS];            /* [nparts] of a search: packets of each sender; of rates: windows */
	struct ai_figures figures[AI_MAX_PARTS]; /* [nparts] */
	bool broken;                             /* a run left nothing */
};

struct ai_result {
	double figure;
	enum ai_outcome outcome;
	char note[AI_NOTE];
};

struct ai_test {
	const char *name, *doc;
	const char *unit, *figure, *rule;
	uint32_t values[AI_MAX_VALUES]; /* ascending, up to a 0 */
	uint32_t parts;                 /* runs of a row, at least */
	/* @return the nth key of its cases, in text; false: there are no more. NULL: it sets none */
	bool (*set)(const struct ai_row *row, uint32_t nth, char text[AI_TEXT]);
	bool (*fits)(const struct ai_fabric *f, uint32_t value);
	/* A search: is there a further run, and of which size? After all runs before it. NULL: its parts are all */
	bool (*next)(const struct ai_fabric *f, const struct ai_row *row, uint64_t *size);
	void (*write)(const struct ai_fabric *f, const struct ai_row *row, uint32_t part, FILE *to);
	/* Figure and note of a row whose runs are all there. */
	void (*measure)(const struct ai_fabric *f, const struct ai_row *row, struct ai_result *result);
};

extern const struct ai_test ai_tests[];
extern const size_t ai_ntests;
