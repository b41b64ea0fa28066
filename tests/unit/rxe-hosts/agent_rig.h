/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One host's detection agent on a scripted device: base RTT 10 us, threshold 12 us, 3 detections, 30 ms a step. For one
 * test program each.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/units.h"
#include "common/wire/detection.h"
#include "rxe-hosts/agent/agent.h"
#include "tests/unit/rxe-hosts/scripted_device.h"

#define US PS_PER_US
#define MS PS_PER_MS
#define FLOW 4
#define NOTIFY_FLOW 9

static struct scripted_device dev;
static struct detection_config config;
static struct agent agent;
static struct agent_step step;

/* @param state  the policy's number */
static int
setup(void **state)
{
	int policy = (int)(uintptr_t)*state;

	scripted_init(&dev, 13);
	config = (struct detection_config){
		.policy = policy, .detections = 3, .rtt_percent = 120, .retain_ps = 50 * US, .transfer = true
	};
	step = (struct agent_step){
		.flow = FLOW,
		.tuple.sport = 10000,
		.collective = 1,
		.iteration = 2,
		.step = 4,
		.serial = 18,
		.bytes = 1000,
		.base_rtt_ps = 10 * US,
		.least_rtt_ps = 5 * US,
		.most_rtt_ps = 30 * US,
		.expect_ps = 30 * MS,
		.start_ps = 1 * MS,
		.notify_flow = NOTIFY_FLOW,
		.waiter = 14,
	};
	return agent_init(&agent, &dev.device, &config, 13, 1);
}

static int
teardown(void **state)
{
	agent_fini(&agent);
	scripted_fini(&dev);
	return 0;
}

static void
sample(uint64_t rtt_ps, uint64_t now_ps)
{
	dev.now_ps = now_ps;
	dev.qp[FLOW].last_rtt_ps = rtt_ps;
	dev.qp[FLOW].acked_bytes++; /* what brought the sample */
	agent_rtt(&agent, 0, rtt_ps, now_ps);
}

/* The window's end while the oldest packet in flight was sent at sent_ps. */
static void
tick(uint64_t sent_ps, uint64_t now_ps)
{
	dev.now_ps = now_ps;
	dev.qp[FLOW].outstanding_bytes = 100;
	dev.qp[FLOW].oldest_unacked_ps = sent_ps;
	agent_tick(&agent, now_ps);
}

#define AGENT_TEST(name, policy)                                                                                           \
	cmocka_unit_test_prestate_setup_teardown(name, setup, teardown, (void *)(uintptr_t)(policy))
