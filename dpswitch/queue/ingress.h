/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ingress accounting of a shared-buffer switch and the decision to PAUSE or RESUME the peer (IEEE 802.1Qbb).
 * Per (ingress port, lossless class): a reserve, then the pool shared by all, then headroom for frames still on the
 * wire when the PAUSE leaves. Pure functions on plain structs: no packet, no clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum pfc_model {
	PFC_DYNAMIC, /* threshold = alpha x free pool, as in shared-buffer ASICs (and the ns-3 reference: alpha 1/8) */
	PFC_STATIC,  /* threshold fixed in bytes */
};

/* Configuration of an ingress; many share one. Immutable. */
struct pfc_params {
	enum pfc_model model;
	uint32_t alpha_num, alpha_shift; /* alpha = alpha_num / 2^alpha_shift, applied in integers, floored */
	uint64_t pool_bytes;             /* buffer - all headroom - all reserves */
	uint64_t reserve_bytes;          /* per ingress */
	uint64_t xoff_bytes;             /* PFC_STATIC: threshold above the reserve */
	uint64_t xon_offset_bytes;       /* RESUME this far below the threshold */
	uint64_t xon_bytes;              /* or with no more than this above the reserve */
	uint32_t pool;                   /* which of a switch's pools: account.h */
};

/* State of one (ingress port, class). */
struct pfc_ingress {
	uint64_t bytes;          /* in reserve and pool */
	uint64_t headroom_bytes; /* in headroom */
	uint64_t headroom_limit_bytes;
	bool pausing;    /* the peer has been paused */
	uint16_t params; /* number of its struct pfc_params */
};

/* State of the pool of one switch. */
struct pfc_pool {
	uint64_t shared_bytes; /* in use beyond reserves, headroom not included */
};

/* Bytes above the reserve at which an ingress pauses its peer, as the pool stands. */
static inline uint64_t
pfc_threshold(const struct pfc_params *params, uint64_t shared_bytes)
{
	uint64_t free_bytes;

	if (params->model == PFC_STATIC)
		return params->xoff_bytes;
	free_bytes = params->pool_bytes > shared_bytes ? params->pool_bytes - shared_bytes : 0;
	return free_bytes * params->alpha_num >> params->alpha_shift;
}

/* Bytes of an ingress in the shared pool. */
static inline uint64_t
pfc_shared_used(const struct pfc_params *params, const struct pfc_ingress *in)
{
	return in->bytes > params->reserve_bytes ? in->bytes - params->reserve_bytes : 0;
}

/*
 * Charges an arriving frame.
 * @return bytes by which it overruns the headroom: 0 when it fits. It is charged all the same.
 */
static inline uint64_t
pfc_charge(const struct pfc_params *params, struct pfc_pool *pool, struct pfc_ingress *in, uint32_t frame_bytes)
{
	uint64_t after = in->bytes + frame_bytes;

	if (after <= params->reserve_bytes) {
		in->bytes = after;
		return 0;
	}
	if (after - params->reserve_bytes > pfc_threshold(params, pool->shared_bytes)) {
		in->headroom_bytes += frame_bytes;
		return in->headroom_bytes > in->headroom_limit_bytes ? in->headroom_bytes - in->headroom_limit_bytes : 0;
	}
	pool->shared_bytes += after - params->reserve_bytes - pfc_shared_used(params, in);
	in->bytes = after;
	return 0;
}

/* Releases a departing frame: out of headroom first, then out of the pool, then out of the reserve. */
static inline void
pfc_release(const struct pfc_params *params, struct pfc_pool *pool, struct pfc_ingress *in, uint32_t frame_bytes)
{
	uint64_t from_headroom = in->headroom_bytes < frame_bytes ? in->headroom_bytes : frame_bytes;
	uint64_t rest = frame_bytes - from_headroom;
	uint64_t used = pfc_shared_used(params, in);

	in->headroom_bytes -= from_headroom;
	pool->shared_bytes -= rest < used ? rest : used;
	in->bytes -= rest;
}

/* After pfc_charge(): must the peer be paused? */
static inline bool
pfc_should_pause(const struct pfc_params *params, const struct pfc_pool *pool, const struct pfc_ingress *in)
{
	return in->headroom_bytes > 0 || (in->bytes > params->reserve_bytes &&
					  pfc_shared_used(params, in) >= pfc_threshold(params, pool->shared_bytes));
}

/* After pfc_release(): may a paused peer go on? */
static inline bool
pfc_should_resume(const struct pfc_params *params, const struct pfc_pool *pool, const struct pfc_ingress *in)
{
	uint64_t used = pfc_shared_used(params, in);

	return in->headroom_bytes == 0 &&
	       (used <= params->xon_bytes || used + params->xon_offset_bytes <= pfc_threshold(params, pool->shared_bytes));
}

/*
 * Proof that no ingress can cross a threshold while at most arriving bytes enter, whatever leaves meanwhile: then
 * charges and releases commute and their order within the window does not matter.
 * @param arriving_bytes  to this ingress within the window
 * @param arriving_all_bytes  to all ingresses within the window
 */
static inline bool
pfc_cannot_cross(const struct pfc_params *params, const struct pfc_pool *pool, const struct pfc_ingress *in,
		 uint64_t arriving_bytes, uint64_t arriving_all_bytes)
{
	uint64_t most = in->bytes + arriving_bytes;

	return !in->pausing && in->headroom_bytes == 0 &&
	       (most <= params->reserve_bytes ||
		most - params->reserve_bytes < pfc_threshold(params, pool->shared_bytes + arriving_all_bytes));
}
