/* SPDX-License-Identifier: BSD-3-Clause */
/* Two hosts back to back, an agent of R-Pingmesh on each, and a controller that lets host 0 probe host 1 by one flow. */
#pragma once

#include "common/wire/record.h"
#include "rxe-hosts/probe/agent.h"
#include "tests/unit/rxe-hosts/host_rig.h"

#define PROBE_RIG_INTERVAL_PS (200 * PS_PER_US)
#define PROBE_RIG_TIMEOUT_PS (100 * PS_PER_US)
#define PROBE_RIG_MANAGEMENT_PS (10 * PS_PER_US)

struct probe_rig {
	struct rig rig;
	uint32_t flow; /* from host 0 to host 1, of pinglists */
	struct probe_agent *agents[2];
	uint64_t cpu_ps;
	uint32_t qpns[2];
	bool traces;
	bool is_stale;     /* pinglists have another QPN */
	uint64_t slow_ps;  /* not 0: between uploads, and between pinglists */
	uint32_t left_out; /* of pinglists */
	uint32_t asked[8]; /* by enum pingmesh_type */
};

/* Makes rig and flow; what follows may be changed until probe_rig_start(). */
void probe_rig_init(struct probe_rig *probes);
void probe_rig_start(struct probe_rig *probes);
void probe_rig_stop(struct probe_rig *probes);
/* Runs whole windows until end_ps; agents are answered between them. */
void probe_rig_run(struct probe_rig *probes, uint64_t end_ps);
/* Of the records that a host reported, the n-th (from 0) of a type; NULL: there is none. */
const void *probe_rig_record(const struct probe_rig *probes, uint32_t host, uint16_t type, uint32_t n);
