/* SPDX-License-Identifier: BSD-3-Clause */
/* A rig with the reference case's frames and telemetry at its first host. For one test program each. */
#pragma once

#include <string.h>

#include "rxe-hosts/device/embedded/host.h"
#include "tests/unit/rxe-hosts/host_rig.h"

#define NS PS_PER_NS

static struct rig rig;

static const struct telem_config telemetry = { .epoch_ps = 10 * PS_PER_US, .kept = 16, .exact = true };

/* What is kept of the first host's flows, over all its NICs and epochs. */
static struct {
	uint64_t packets[RIG_MAX_FLOWS], bytes[RIG_MAX_FLOWS], depth[RIG_MAX_FLOWS], paused_packets[RIG_MAX_FLOWS];
	uint64_t held_ps[RIG_MAX_FLOWS];
	uint64_t ahead[RIG_MAX_FLOWS][RIG_MAX_FLOWS];
	uint32_t depth_max;
} seen;

static inline struct nic *
rig_nic(uint32_t host, uint16_t nic)
{
	return &host_of(rig.hosts[host].node)->nics[nic];
}

static inline void
see_epoch(const struct nic *nic, const struct epoch *epoch)
{
	for (uint32_t slot = 0; epoch != NULL && slot < nic->flows.count; slot++) {
		const struct epoch_row *row = &epoch->rows[slot];
		uint32_t flow = nic->flows.flow[slot];

		seen.packets[flow] += row->packets;
		seen.bytes[flow] += row->bytes;
		seen.depth[flow] += row->depth_sum;
		seen.paused_packets[flow] += row->paused_packets;
		seen.depth_max = row->depth_max > seen.depth_max ? row->depth_max : seen.depth_max;
		for (uint32_t other = 0; other < nic->flows.count; other++)
			seen.ahead[flow][nic->flows.flow[other]] += epoch->matrix[slot][other];
	}
}

static inline void
see(void)
{
	memset(&seen, 0, sizeof(seen));
	for (uint16_t i = 0; i < rig.nnics; i++) {
		const struct nic *nic = rig_nic(0, i);
		const struct epochs *epochs = &nic->telem.epochs;

		for (uint64_t e = epochs_oldest_kept(epochs); e <= epochs->open->index; e++)
			see_epoch(nic, epoch_at(epochs, e));
		for (uint32_t slot = 0; slot < nic->flows.count; slot++)
			seen.held_ps[nic->flows.flow[slot]] += port_truth_held(&nic->truth, slot).together_ps;
	}
}

/* 1300 + 48 B in 107 ns, ACKs of 60 B in 4 ns. */
static int
setup(void **state)
{
	rig_defaults(&rig);
	rig.params.mtu_bytes = 1300;
	rig.params.data_overhead_bytes = 48;
	rig.params.middle_bytes = 1348;
	rig.params.ack_bytes = 60;
	rig.params.control_bytes = 60;
	rig.params.quantum_ps = 1000;
	rig.telemetry[0] = &telemetry;
	return 0;
}

static int
teardown(void **state)
{
	rig_stop(&rig);
	return 0;
}
