/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of rocelab bench scale: bench/scale.c makes them, bench/scale_report.c fits the model and prints all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "eval/study.h"

/*
 * A model of a run's time, fitted to runs: work of hops and of nodes in a window, against what a window costs where several
 * lcores or machines meet at its end. Pure.
 */

/* One run on one lcore. */
struct scale_sample {
	double hops, windows, nodes, flows; /* a hop: a packet that arrives at a node */
	double cpu_s;
};

/* Terms of the processor time on one lcore, in the order of scale_model.ns. */
enum scale_term {
	SCALE_HOP,    /* a hop */
	SCALE_SPREAD, /* a hop, times the binary logarithm of the nodes: what no near cache holds */
	SCALE_NODE,   /* a node in a window, whether it has packets or not */
	SCALE_BUILD,  /* a node, once */
	SCALE_FLOW,   /* a flow, once */
	SCALE_TERMS
};

struct scale_model {
	double ns[SCALE_TERMS]; /* none is negative */
};

/*
 * Least squares of relative errors. A term that would be negative, or that runs do not tell from others, is 0.
 * @return 0; -ENODATA: too few runs
 */
int scale_model_fit(const struct scale_sample *samples, size_t count, struct scale_model *model);

/* @return processor time on one lcore, in seconds; cpu_s of the sample is not read */
double scale_model_time(const struct scale_model *model, const struct scale_sample *sample);

/* Machines that share a fabric. Every member but the model's is an assumption or a measurement of one machine. */
struct scale_cluster {
	uint32_t machines, cores; /* cores of each */
	double efficiency;        /* of these cores together, 0 to 1 */
	double sync_ns;           /* a window's exchange between machines: latency, and waiting for the slowest */
	double message_ns;        /* a packet that crosses to another machine, at both ends */
	double crossing;          /* of the hops, those to another machine, if there were infinitely many */
};

struct scale_forecast {
	double work_s, sync_s, message_s; /* their sum is the run's time */
};

/* @param work  of the whole fabric. @return the forecast for these machines */
struct scale_forecast scale_model_forecast(const struct scale_model *model, const struct scale_sample *work,
					   const struct scale_cluster *cluster);

/* ---- rows ---- */

#define SCALE_MAX_VALUES 16
#define SCALE_MAX_ROWS 1024
#define SCALE_RESULTS "scale.json"
#define SCALE_TABLE "scale.csv"
#define SCALE_MODEL_GBPS 100

#define SCALE_PATTERNS 3
enum scale_pattern { SCALE_RING, SCALE_ALLTOALL, SCALE_PERMUTATION };
extern const char *const scale_patterns[SCALE_PATTERNS];

/* FIRST and SECOND run side by side; CABLE: of the model alone, with a cable of another delay than the table's */
enum scale_part { SCALE_ALONE, SCALE_FIRST, SCALE_SECOND, SCALE_CABLE };
enum scale_state { SCALE_WAITING, SCALE_DONE, SCALE_REFUSED, SCALE_ABSENT, SCALE_BROKEN };

struct scale_row {
	enum scale_pattern pattern;
	uint32_t hosts, gbps, lcores, processes, delay_ns;
	enum scale_part part;
	enum scale_state state;
	char why[160]; /* SCALE_REFUSED, SCALE_ABSENT */
	double packets, wall_s, rss_bytes;
	struct scale_sample sample;
};

struct scale_values {
	uint32_t at[SCALE_MAX_VALUES], count;
};

struct scale {
	struct study_args args;
	bool has_processes;
	uint32_t mhops;
	double sync_ns, message_ns;
	struct scale_values hosts, gbps, lcores, processes;
	bool asked[SCALE_PATTERNS];
	struct scale_row *rows; /* [nrows] */
	uint32_t nrows, next, done, missing, broken, running;
	uint32_t slots[2];
	bool model_there;
	struct scale_model model;
	double efficiency; /* median of two lcores, of what two runs side by side do; 0: not measured */
};

/* @return bytes of a message of a row: a run of about so many hops */
uint64_t scale_message_bytes(const struct scale *b, const struct scale_row *row);

/* Fits the model, writes the files, prints the tables or JSON. @return 0 or negative errno with err set */
int scale_report(struct scale *b, struct err *err);
