/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of rocelab bench scale: bench/scale.c makes them, bench/scale_report.c fits the model and prints all. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bench/scale_model.h"
#include "common/err.h"
#include "twin/rerun/shard.h"

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
	const char *dir;
	bool json, has_processes;
	uint32_t mhops;
	double sync_ns, message_ns;
	struct scale_values hosts, gbps, lcores, processes;
	bool asked[SCALE_PATTERNS];
	struct shard shard;
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
