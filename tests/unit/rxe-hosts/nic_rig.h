/* SPDX-License-Identifier: BSD-3-Clause */
/* A rig with the reference case's frames and a NIC telemetry that adds up. For one test program each. */
#pragma once

#include <string.h>

#include "tests/unit/rxe-hosts/host_rig.h"

#define NS PS_PER_NS

static struct rig rig;

/* A telemetry that adds up. */
static struct {
	uint64_t packets[RIG_MAX_FLOWS], bytes[RIG_MAX_FLOWS], depth[RIG_MAX_FLOWS], paused_packets[RIG_MAX_FLOWS];
	uint64_t held_ps[RIG_MAX_FLOWS];
	uint32_t depth_max;
	uint64_t ahead[RIG_MAX_FLOWS][RIG_MAX_FLOWS];
	uint64_t paused_ps, resumed_ps;
	uint32_t rolls, reports, event, queue_packets, waiting;
	bool paused, pausing;
	uint64_t report_ps;
} seen;

static void
roll(void *ctx, struct node *node, uint64_t now_ps)
{
	seen.rolls++;
}

static void
transmitted(void *ctx, uint16_t nic, const struct nic_batch *batch)
{
	seen.packets[batch->flow] += batch->packets;
	seen.bytes[batch->flow] += batch->bytes;
	seen.depth[batch->flow] += batch->depth_sum;
	seen.paused_packets[batch->flow] += batch->paused_packets;
	seen.held_ps[batch->flow] += batch->held_ps;
	seen.depth_max = batch->depth_max > seen.depth_max ? batch->depth_max : seen.depth_max;
}

static void
ahead(void *ctx, uint16_t nic, uint32_t flow, uint32_t other)
{
	seen.ahead[flow][other]++;
}

static void
paused(void *ctx, uint16_t nic, bool now_paused, uint64_t now_ps)
{
	seen.paused = now_paused;
	*(now_paused ? &seen.paused_ps : &seen.resumed_ps) = now_ps;
}

static bool
was_paused(void *ctx, uint16_t nic)
{
	return seen.paused_ps != 0;
}

static bool
was_shared(void *ctx, uint16_t nic)
{
	return seen.depth_max != 0;
}

static bool
report(void *ctx, struct node *node, uint16_t nic, const struct nic_present *present, uint32_t event, uint64_t now_ps)
{
	seen.reports++;
	seen.event = event;
	seen.report_ps = now_ps;
	seen.queue_packets = present->queue_packets;
	seen.waiting = present->queue_packets != 0 ? present->waiting[0] : UINT32_MAX;
	seen.pausing = present->pausing;
	return true;
}

static const struct nic_telemetry telemetry = {
	.epoch_ps = 10 * PS_PER_US,
	.roll = roll,
	.transmitted = transmitted,
	.ahead = ahead,
	.paused = paused,
	.was_paused = was_paused,
	.was_shared = was_shared,
	.report = report,
};

/* 1300 + 48 B in 107 ns, ACKs of 60 B in 4 ns; telemetry at both hosts. */
static int
setup(void **state)
{
	memset(&seen, 0, sizeof(seen));
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
