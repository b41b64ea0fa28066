/* SPDX-License-Identifier: BSD-3-Clause */
/* ECN marking at dequeue (RFC 3168 CE, thresholds as DCQCN sets them: Zhu et al., SIGCOMM 2015, section 3). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ecn_params {
	bool enabled;
	uint64_t kmin_bytes, kmax_bytes;
	double pmax;
};

/*
 * With kmin equal to kmax a step, as DCTCP marks (Alizadeh et al., SIGCOMM 2010, section 3.1): marked iff more than that is
 * queued.
 * @param queued_bytes  data left in the egress queue behind the departing packet
 * @param unit          uniform in [0, 1)
 */
static inline bool
ecn_marks(const struct ecn_params *params, uint64_t queued_bytes, double unit)
{
	if (queued_bytes <= params->kmin_bytes)
		return false;
	if (queued_bytes > params->kmax_bytes)
		return true;
	return unit < params->pmax * (double)(queued_bytes - params->kmin_bytes) /
			      (double)(params->kmax_bytes - params->kmin_bytes);
}
