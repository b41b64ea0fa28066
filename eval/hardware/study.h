/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab eval hardware: published measurements of real switches and NICs, beside the same experiments here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "common/err.h"
#include "twin/rerun/shard.h"

/*
 * Experiments that were published of real switches and NICs: what was measured there, and the same as a scenario. One
 * more is a row of hw_experiments.
 */

#define HW_MAX_VALUES 64

/* How the senders of a row send. */
struct hw_transport {
	const char *name; /* of its folder */
	const char *doc;
	const char *cc; /* host.cc */
	uint32_t qps;
	bool sprayed;     /* by packet, adaptive, with selective repeat */
	const char *host; /* further keys of host, and of switch, in place of the profiles'; NULL: none */
	const char *sw;
};

struct hw_row {
	const struct hw_transport *transport;
	const char *published; /* by the source, shortened; numbers in the experiment's unit */
	double low, high;      /* the same as a range; both 0: the source has no numbers */
};

struct hw_case {
	const struct hw_row *row;
	uint64_t seed;        /* of source ports and hashes, and so of paths */
	uint32_t duration_us; /* of senders that send again and again */
};

struct hw_experiment {
	const char *name, *doc, *source;
	const char *unit; /* of the values of a run */
	const char *note; /* what the source leaves open, and is assumed here; NULL: nothing */
	/* Writes the topology and the traffic. */
	void (*write)(const struct hw_case *of, FILE *file);
	/*
	 * Reads the results of a run.
	 * @param dir     of the run
	 * @param values  [HW_MAX_VALUES]
	 * @return how many there are, or negative errno with err set
	 */
	int (*measure)(const struct hw_case *of, const char *dir, double *values, struct err *err);
	const struct hw_row *rows; /* [nrows] */
	uint32_t nrows;
};

#define HW_MAX_EXPERIMENTS 8

extern const struct hw_experiment hw_experiments[];
extern const uint32_t hw_nexperiments;

/* Writes the scenario of a case: what all have in common, and the experiment's own. */
void hw_write(const struct hw_experiment *experiment, const struct hw_case *of, FILE *file);

#define HW_MAX_SEEDS 1000
#define HW_MAX_ROWS 48

/* All values of a row: of its runs one after the other. */
struct hw_result {
	double *values; /* [count] sorted once all are there */
	uint32_t count, runs;
	double mean;
};

struct hw_study {
	bool asked[HW_MAX_EXPERIMENTS]; /* of hw_experiments */
	uint64_t first;                 /* seed; others are the numbers after it */
	uint32_t seeds, duration_us, jobs;
	const struct shard *shard;
	const char *dir; /* exists; DIR/EXPERIMENT/TRANSPORT/SEED has a run */
	struct hw_result results[HW_MAX_EXPERIMENTS][HW_MAX_ROWS];
	uint32_t broken; /* runs that failed: not among the results */
};

/* @return 0; -EINTR: interrupted, finished runs stay; other negative errno with err. hw_study_fini() in any case */
int hw_study_run(struct hw_study *study, struct err *err);
void hw_study_fini(struct hw_study *study);

void hw_print(const struct hw_study *study, FILE *to);
/* @return NULL: no memory */
json_t *hw_json(const struct hw_study *study);
