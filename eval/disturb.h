/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random cases for the counterfactual evaluation: a collective on a random fabric, and three or four causes that may slow it,
 * wherever chance puts them. Nothing is chosen to suit anybody: the collective may collide with itself, causes may do nothing.
 * A fabric and a kind of cause are a row each in disturb.c.
 */
#pragma once

#include "common/err.h"
#include "common/prng.h"
#include "scenario/scenario.h"

#define DISTURB_MIN 3
#define DISTURB_MAX 4
#define DISTURB_TEXT 256

struct disturb_fabric {
	const char *name;
	const char *topology; /* the scenario's group */
	uint32_t hosts, nics;
};

extern const struct disturb_fabric disturb_fabrics[]; /* a NULL name ends it */

/* The fabric of a case: they take turns. */
const struct disturb_fabric *disturb_fabric_of(uint32_t index);

/* A case while it is made. */
struct disturb_case {
	uint64_t seed;
	uint32_t index;
	const struct disturb_fabric *fabric;
	struct prng prng;
	struct {
		char flows[DISTURB_MAX][DISTURB_TEXT], jobs[DISTURB_MAX][DISTURB_TEXT], faults[DISTURB_MAX][DISTURB_TEXT];
		uint32_t nflows, njobs, nfaults;
	} groups;                     /* of the scenario's lists */
	const struct scenario *quiet; /* the collective alone: whose paths causes may lie on */
	uint64_t quiet_ns;            /* how long it is expected to take */
};

/*
 * Writes DIR/case.cfg: a scenario that runs by itself, the same of the same seed and index.
 * @return 0, or negative errno with err set
 */
int disturb_write(uint64_t seed, uint32_t index, const char *dir, struct err *err);
