/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is to come in an iteration by each monitored port of each sender (5.2): declared, by the analytical model or by a
 * simulation that was run before; the analytical model of the demand measured in the first iterations; or learned, the volumes
 * of the first iterations themselves.
 */
#pragma once

#include "telemetry/volumes/detect.h"
#include "telemetry/volumes/volumes.h"

enum predict_source {
	PREDICT_DECLARED, /* whoever sets bytes[] */
	PREDICT_MEASURED, /* d / (s - f): d as the first iterations had it */
	PREDICT_LEARNED,  /* as the first iterations had it */
};

struct predict_config {
	enum predict_source source;
	uint32_t learn;         /* iterations that are learned from, at least 1 */
	uint32_t threshold_ppm; /* a port that differs from what was learned by more may have healed */
};

/* A share of a sender's bytes: the whole is PREDICT_WHOLE. */
#define PREDICT_WHOLE (UINT64_C(1) << 32)

struct predict {
	struct predict_config config;
	uint64_t *bytes; /* [ports * senders] of an iteration, as volumes_cell() counts */
	uint64_t *share; /* [ports * senders] of what one sender sends here, by each port: 1 / (s - f) in PREDICT_WHOLE */
	uint64_t *sum;   /* [ports * senders] of the iterations learned from */
	uint32_t learned;
	bool ready;
};

/* @return 0 or -ENOMEM */
int predict_init(struct predict *p, const struct predict_config *config, const struct volumes_config *volumes);
/* Also of one that is zero. */
void predict_fini(struct predict *p);

/* d / (s - f). @param share  of it, in PREDICT_WHOLE */
static inline uint64_t
predict_of_demand(uint64_t demand_bytes, uint64_t share)
{
	return (uint64_t)((unsigned __int128)demand_bytes * share >> 32);
}

/* Takes in an iteration that nothing was predicted of. */
void predict_learn(struct predict *p, const struct volumes *v, const struct volumes_slot *slot);
/* Another task begins: what was learned is forgotten, what was declared stays. */
void predict_forget(struct predict *p, const struct volumes *v);
/* Nothing is predicted, until somebody declares it again. */
void predict_clear(struct predict *p, const struct volumes *v);
/* Shares are other ones than they were, as routes are: what was measured is split again, what was learned forgotten. */
void predict_split(struct predict *p, const struct volumes *v);
/*
 * Fig. 3: a fault that was there when the loads were learned is gone. At ports where a load differs from what was learned,
 * loads are more even now than they were, measured against an even split: then the iteration is what is predicted from now on.
 * @param is_sound  [senders] whose volumes can be compared
 * @return whether it was replaced
 */
bool predict_relearn(struct predict *p, const struct volumes *v, const struct volumes_slot *slot, const bool *is_sound);
