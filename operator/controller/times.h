/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol's times (R-Pingmesh 5). All of them may be shrunk by one factor. */
#pragma once

#include <stdint.h>

#include "common/units.h"

#define PINGMESH_PPM 1000000u

struct pingmesh_times {
	uint64_t tor_mesh_ps; /* between ToR-mesh probes of an RNIC: 10 a second */
	uint64_t
		inter_tor_ps; /* between probes of one inter-ToR tuple: more than 10 a second on each link that it covers */
	uint64_t service_ps;  /* between service tracing probes of an RNIC */
	uint64_t timeout_ps;  /* of a probe */
	uint64_t upload_ps;   /* between an agent's uploads */
	uint64_t period_ps;   /* of analysis */
	uint64_t pinglist_ps; /* between two pulls of pinglists */
	uint64_t rotate_ps;   /* after which a fifth of the inter-ToR tuples is new */
};

/* @param factor_ppm  PINGMESH_PPM: as in the paper */
static inline struct pingmesh_times
pingmesh_times(uint32_t factor_ppm)
{
#define TIME(ms) ((ms)*PS_PER_MS / PINGMESH_PPM * factor_ppm)
	return (struct pingmesh_times){ .tor_mesh_ps = TIME(100),
					.inter_tor_ps = TIME(90),
					.service_ps = TIME(10),
					.timeout_ps = TIME(500),
					.upload_ps = TIME(5000),
					.period_ps = TIME(20000),
					.pinglist_ps = TIME(300000),
					.rotate_ps = TIME(3600000) };
#undef TIME
}
