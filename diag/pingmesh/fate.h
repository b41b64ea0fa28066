/* SPDX-License-Identifier: BSD-3-Clause */
/* How the probes of a tuple fared in one direction: what tells losses by addresses from those of links. */
#pragma once

#include "diag/pingmesh/tally.h"

#define FATE_LEAST 8 /* probes of a tuple, all of them lost, or none, that are no chance where a link loses some */

struct fate {
	uint32_t good, bad;
	bool revived;               /* one was good after one was bad */
	bool unsure;                /* of some nobody knows which way lost them */
	bool silent;                /* and nothing has come since the first of those */
	uint64_t since_ps, lost_ps; /* when the first was lost; when FATE_LEAST were */
	uint64_t well_ps;           /* when the last was good */
};

/* Counts all that take part. @param fates  [2 * ntuples] zeroed; of tuple i there at 2 * i, and back behind that */
void fates_count(const struct ballot *b, struct fate *fates);

/* Nothing is lost, of enough. */
static inline bool
fate_is_clean(const struct fate *fate)
{
	return fate->bad == 0 && !fate->unsure && fate->good >= FATE_LEAST;
}

/* Nothing came any more, of enough. */
static inline bool
fate_is_lost(const struct fate *fate)
{
	return fate->bad >= FATE_LEAST && !fate->revived;
}

/* Nothing came any more, but of too few to say so. */
static inline bool
fate_is_few(const struct fate *fate)
{
	return fate->bad != 0 && fate->bad < FATE_LEAST && !fate->revived;
}

static inline bool
fate_says_something(const struct fate *fate)
{
	return fate_is_lost(fate) || fate_is_clean(fate) || fate_is_few(fate);
}
