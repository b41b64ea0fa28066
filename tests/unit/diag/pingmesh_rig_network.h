/* SPDX-License-Identifier: BSD-3-Clause */
/* Between pingmesh_rig.c and pingmesh_rig_network.c: where RNICs are. */
#pragma once

#include "tests/unit/diag/pingmesh_rig.h"

#define TIMEOUT_PS (500 * PS_PER_MS)
#define UPLOAD_PS (5 * PS_PER_S)
#define HOP_PS (2 * PS_PER_US) /* of a cable, as records_link() has it */

static inline uint32_t
host_of(uint32_t rnic)
{
	return rnic < RIG_HOSTS ? rnic : RIG_HOSTS - 1;
}

static inline uint32_t
leaf_of(uint32_t rnic)
{
	return host_of(rnic) / 3;
}

static inline uint16_t
leaf_port(uint32_t rnic)
{
	return rnic < RIG_HOSTS ? (uint16_t)(rnic % 3) : 5;
}

static inline uint32_t
ip_of(uint32_t rnic)
{
	return records_ip(RIG_HOST(host_of(rnic))) + (rnic < RIG_HOSTS ? 0 : 0x10000);
}

/* What is known of the network before anybody probes. */
void rig_put_network(struct records *r, uint64_t timeout_ps, bool software_times, uint16_t algorithm);
