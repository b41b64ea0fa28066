/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives and background flows as bound from the scenario's tables; names are not resolved yet. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collectives/data.h"
#include "collectives/schedule.h"
#include "common/cfg/cfg.h"

enum collective_payload { PAYLOAD_SYNTHETIC, PAYLOAD_REAL };
enum collective_qp { QP_PERSISTENT, QP_PER_STEP };
enum collective_phase { PHASE_NONE, PHASE_FORWARD, PHASE_BACKWARD };
enum background_mode { BACKGROUND_ONCE, BACKGROUND_REPEAT };

/* One group of "collectives", or of the "collectives" of a job, which lacks some and has others. */
struct collective_config {
	struct cfg_where where;
	const char *name;
	int op, algorithm, type;    /* enum coll_op, coll_algorithm, coll_type */
	struct cfg_strings ranks;   /* empty: every host, at its first NIC */
	uint64_t bytes, step_bytes; /* one of them is 0 */
	int payload, qp;
	int64_t root, chunks, channels;    /* chunks, channels: 0: the algorithm's number, 1 */
	bool all_nics;                     /* channels take the NICs of their rank's host in turn */
	double skew;                       /* AllToAllv: greatest demand over least */
	bool back;                         /* AllToAllv: the reverse exchange */
	int64_t stride;                    /* of the places of a group among its ranks */
	struct cfg_strings pairs;          /* SendRecv: "0 1" */
	bool measured;                     /* its data has tags (common/tag.h) */
	struct cfg_strings measured_pairs; /* of these ranks of the job alone: "0 1"; empty: all of it */
	int64_t iterations;
	uint64_t start_ps, gap_ps;
	bool enabled;         /* its job */
	int64_t sport, dport; /* sport 0: chosen */
	bool verify;
	/* Fields of a job's collectives: */
	const char *group;        /* dims of the job, "tensor" or "tensor+data"; NULL: all its ranks */
	struct cfg_strings after; /* names of the collectives that it follows */
	bool has_after;           /* they were given; else it follows the previous one */
	int phase;                /* enum collective_phase */
	uint64_t compute_ps;
};

/* One group of "flows". */
struct background_config {
	struct cfg_where where;
	bool enabled;
	const char *src, *dst; /* host or host:nic */
	int64_t sport, dport;
	uint64_t bytes; /* of one message */
	uint64_t start_ps;
	int64_t prio; /* -1: that of the collectives */
	int mode;
	uint64_t until_ps;
	int64_t depth; /* messages outstanding at a time */
	int64_t qps;   /* queue pairs that send at the same time, each with a source port of its own */
};

#define BACKGROUND_MAX_DEPTH 128 /* perftest: --tx-depth of ib_write_bw */
#define BACKGROUND_MAX_QPS 64

extern const struct cfg_table collective_table, job_collective_table, background_table;

/* Checks one group by itself. @return 0 or -EINVAL with err naming file:line, value and remedy */
int collective_config_check(const struct collective_config *config, struct err *err);
int background_config_check(const struct background_config *config, struct err *err);

/* Collectives whose schedule is in a file: the group "schedule" of a collective. */

/* Tables of its kinds, for cfg_check(). Fills up to cap. @return how many there are */
size_t plan_file_tables(struct cfg_known *known, size_t cap);

/* @return whether the collective has one */
bool plan_has_file(const struct collective_config *config);

/*
 * Reads the file that the group names.
 * @param cfg    configuration of the collective
 * @param ranks  number of ranks that the schedule must have
 * @param type   out: elements are bytes where the file counts in bytes; else unchanged
 * @return NULL with err set
 */
struct coll_schedule *plan_file_read(const struct cfg *cfg, const struct collective_config *config, uint32_t ranks,
				     enum coll_type *type, struct err *err);

/* Jobs as bound from the scenario's tables; ranks are not placed yet. */

/* One group of "jobs". */
struct work_job_config {
	struct cfg_where where;
	const char *name;
	struct cfg_strings ranks; /* empty: a placement's, or every host at its first NIC */
	uint64_t start_ps, gap_ps, compute_ps;
	int64_t iterations;
	bool enabled;
	bool measured; /* all its collectives are */
};

enum pipeline_schedule { PIPELINE_1F1B, PIPELINE_GPIPE };

/* The group "pipeline" of a job. */
struct pipeline_config {
	struct cfg_where where;
	const char *dim; /* of the job's dims: its places are the stages */
	int64_t micro_batches;
	int order;      /* enum pipeline_schedule */
	uint64_t bytes; /* of activations, and of gradients, of a micro-batch between two ranks */
};

extern const struct cfg_table job_table, pipeline_table;

/* The order in which a stage of a pipeline works on its micro-batches. Pure. */

/* A stage's unit of work: one micro-batch, forward or backward. */
struct pipeline_turn {
	uint32_t micro_batch;
	bool backward;
};

/*
 * The turn number i, from 0 to 2 * micro_batches - 1, of a stage.
 * 1f1b: stages - stage - 1 forward, or all if there are fewer; then one forward and one backward in turns; then the
 * backward ones that remain. gpipe: all forward, then all backward.
 */
struct pipeline_turn pipeline_turn(enum pipeline_schedule schedule, uint32_t stages, uint32_t stage, uint32_t micro_batches,
				   uint32_t i);
