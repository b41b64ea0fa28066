/* SPDX-License-Identifier: BSD-3-Clause */
/* Good and lost probes of a tuple in one direction: they separate losses by addresses from those of links. */
#pragma once

#include "diag/pingmesh/ballot.h"

#define TUPLE_LOSS_LEAST 8 /* probes of a tuple, all of them lost, or none, that are no chance where a link loses some */

struct tuple_loss {
	uint32_t good, bad;
	bool revived;               /* one was good after one was bad */
	bool unsure;                /* of some the direction of loss is unknown */
	bool silent;                /* and none has arrived since the first of those */
	uint64_t since_ps, lost_ps; /* when the first was lost; when TUPLE_LOSS_LEAST were */
	uint64_t well_ps;           /* when the last was good */
};

/*
 * Counts all that take part. @param tuple_losses  [2 * ntuples] zeroed; of tuple i, forward at 2 * i, and back behind
 * that
 */
void tuple_losses_count(const struct ballot *b, struct tuple_loss *tuple_losses);

/* No probe is lost, out of enough. */
static inline bool
tuple_loss_is_clean(const struct tuple_loss *loss)
{
	return loss->bad == 0 && !loss->unsure && loss->good >= TUPLE_LOSS_LEAST;
}

/* No probe arrived any more, out of enough. */
static inline bool
tuple_loss_is_lost(const struct tuple_loss *loss)
{
	return loss->bad >= TUPLE_LOSS_LEAST && !loss->revived;
}

/* No probe arrived any more, but out of too few to be significant. */
static inline bool
tuple_loss_is_few(const struct tuple_loss *loss)
{
	return loss->bad != 0 && loss->bad < TUPLE_LOSS_LEAST && !loss->revived;
}

static inline bool
tuple_loss_is_decided(const struct tuple_loss *loss)
{
	return tuple_loss_is_lost(loss) || tuple_loss_is_clean(loss) || tuple_loss_is_few(loss);
}
