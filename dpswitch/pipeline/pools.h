/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The buffer pools of a switch that is configured with some (buffer_cfg.h): ingress pools behind the thresholds of priority
 * groups, headroom that groups share, and egress pools behind the limits of queues. A switch without them has none of
 * this: struct account points to nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "dpswitch/pipeline/buffer_cfg.h"
#include "dpswitch/pipeline/switch_cfg.h"
#include "dpswitch/queue/ingress.h"

struct sw;

/* Headroom that the groups of an ingress pool share. */
struct pool_headroom {
	uint64_t limit_bytes;  /* 0: each group has its own */
	uint64_t needed_bytes; /* the groups' own limits together */
	uint64_t bytes;        /* in use */
	uint64_t peak_bytes;   /* most in use */
	uint64_t admitted;     /* of this window, to a switch where it may not suffice */
};

/* How a queue uses its pool. */
struct pool_queue {
	uint8_t pool;             /* BUFFER_POOLS: none */
	struct pfc_params params; /* its reserve, and the limit above */
};

struct pools {
	struct pfc_pool ingress[BUFFER_POOLS + 1]; /* the last: of groups without a profile, which have no limit */
	struct pool_headroom headroom[BUFFER_POOLS + 1];
	uint64_t egress_bytes[BUFFER_POOLS]; /* beyond reserves, as queues stood at the window's start */
	uint8_t *tight;                      /* [ports] bit p: lossless class p may lack headroom there, and drops then */
	struct pool_queue *queues;           /* [ports * SWITCH_CLASSES] */
	bool has_queues, limited;            /* some queue has a pool; its limits are set */
};

/* @param made  NULL: none are configured. @return 0 or -ENOMEM; pools_destroy() in any case */
int pools_create(const struct switch_config *config, uint32_t node, struct pools **made);
void pools_destroy(struct pools *pools);
/* Classes with a priority group at some port, with PFC or without: bit p, class p. */
uint8_t pools_groups(const struct switch_config *config, uint32_t node);
/*
 * Thresholds and headroom of every group, and what the queues' limits are made of.
 * @param buffer_bytes  out: what pools, reserves and headroom take together
 * @return 0, or -EINVAL with err set: a class with PFC has no profile, a threshold of one frame or less
 */
int pools_size(struct sw *sw, uint64_t *buffer_bytes, struct err *err);
/* Limits of the queues in a window, of what is free at its start. */
void pools_open(struct sw *sw);

/* Takes room in shared headroom for a frame beyond its group's threshold. @return false: there is none */
static inline bool
pool_headroom_take(struct pool_headroom *headroom, uint32_t frame_bytes)
{
	if (headroom->limit_bytes == 0)
		return true;
	if (headroom->bytes + headroom->admitted + frame_bytes > headroom->limit_bytes)
		return false;
	headroom->admitted += frame_bytes;
	return true;
}
