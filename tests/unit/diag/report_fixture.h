/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verdicts made by hand for tests of the reports, all to be freed by verdict_destroy().
 * The case: twelve switches of two pods of a K=4 fat-tree (0..11) and eight hosts (12..19), ring AllGather of seven
 * steps, 13->19 and 15->18 in its way. Step times as an independent ns-3 simulator measured them; telemetry invented.
 */
#pragma once

#include <stdint.h>

#include "diag/verdict.h"
#include "tests/unit/diag/types.h"

/* Names in the case and in nothing wrong: indices into verdict.flows. */
enum fixture_flow {
	F12_13,
	F13_14,
	F13_19, /* background */
	F14_15,
	F15_16,
	F15_18, /* background */
	F16_17,
	F17_18,
	F18_19,
	F19_12,
	FIXTURE_FLOWS
};

/* 17->18 paused by PFC in steps 1 and 2. */
struct verdict *fixture_case(void);
/* The same collective undisturbed. */
struct verdict *fixture_clean(void);
/* A collective that stalls: the last two steps of 17->18 are open, or were never started. */
struct verdict *fixture_stalled(void);
/* One tier of switches; every rank has its steps, some are slow at random. */
struct verdict *fixture_large(uint32_t ranks, uint32_t steps);

/* "6:2" -> index into verdict.ports; a name that there is not fails the test. */
uint32_t fixture_port(const struct verdict *v, const char *name);
/* Index into verdict.steps. @param rank  from 0  @param step  from 1 */
uint32_t fixture_step(const struct verdict *v, uint32_t rank, uint32_t step);
