/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a rank computes: what the scenario plans, and what becomes of it. Pure. */
#pragma once

#include "common/cfg/cfg.h"

enum jitter_kind { JITTER_NONE, JITTER_UNIFORM, JITTER_NORMAL };

/* The group "jitter" of a job. */
struct jitter {
	struct cfg_where where;
	int kind;           /* enum jitter_kind */
	uint64_t spread_ps; /* uniform: the most; normal: standard deviation */
};

/* One group of "delays" of a job: a straggler. */
struct straggler {
	struct cfg_where where;
	int64_t rank;
	uint64_t delay_ps;
	const char *collective; /* name; NULL: before every collective of the job */
	int64_t iteration;      /* from 0; -1: every one */
};

extern const struct cfg_table jitter_table, straggler_table;

/* Everything that the time a rank computes before a collective depends on. */
struct compute {
	uint64_t seed;                /* the run's */
	const char *job, *collective; /* names */
	struct jitter jitter;
	const struct straggler *stragglers; /* of the job */
	size_t nstragglers;
};

/*
 * The time that a rank really computes: the planned one with its jitter, and what stragglers are late.
 * uniform adds what is drawn from [0, spread); normal adds a draw of mean 0 and standard deviation spread, the sum of
 * twelve uniform ones (Irwin-Hall, within 6 deviations), and never goes below 0.
 * @return ps
 */
uint64_t compute_actual_ps(const struct compute *compute, uint32_t rank, uint32_t iteration, uint64_t planned_ps);

/* Whether a rank computes before the collective in any iteration, planned or not: whether it needs a step for it. */
bool compute_any(const struct compute *compute, uint32_t rank, uint64_t planned_ps);
