/* SPDX-License-Identifier: BSD-3-Clause */
/* Several hosts' step engines on scripted devices in one star, and a clockwork that can run them to the end. */
#pragma once

#include "common/wire/detection.h"
#include "rxe-hosts/steps/engine.h"
#include "tests/unit/rxe-hosts/scripted_device.h"
#include "tests/unit/rxe-hosts/star.h"

struct steps_rig {
	struct star star;
	struct cfg *cfg;
	struct workload *workload;
	struct plan *plan;
	struct detection_config detection;
	struct scripted_device dev[STAR_MAX_HOSTS];
	struct step_engine *engine[STAR_MAX_HOSTS];
	uint32_t hosts;
};

/*
 * Makes plan and engines from a scenario's lists ("collectives", "flows") and starts them; every flow gets a base RTT
 * of 10 us and every step an expected time of 30 ms. Asserts that all of it works.
 * @param delay_ps  start hook, NULL: none
 */
void steps_rig_init(struct steps_rig *rig, uint32_t hosts, enum rec_policy policy, const char *scenario,
		    uint64_t (*delay_ps)(const void *ctx, uint32_t node, uint32_t collective, uint32_t step),
		    const void *delay_ctx);
void steps_rig_fini(struct steps_rig *rig);

/* All hosts' timers that are due, and the host's latest post: arrival, last ACK. */
void steps_rig_timers(struct steps_rig *rig, uint64_t now_ps);
void steps_rig_deliver(struct steps_rig *rig, uint32_t host, uint64_t now_ps);
void steps_rig_ack(struct steps_rig *rig, uint32_t host, uint64_t now_ps);
/* Brings a host's latest notification packet to its receiver. */
void steps_rig_notify(struct steps_rig *rig, uint32_t host, uint64_t now_ps);

/* How long a message takes to arrive; its last ACK comes STEPS_RIG_ACK_PS later. */
typedef uint64_t (*steps_rig_time)(uint32_t host, uint32_t flow, uint32_t imm, uint64_t bytes);
#define STEPS_RIG_ACK_PS 4000000ull

/* Runs until nothing is left to happen. @return the time of the last event */
uint64_t steps_rig_run(struct steps_rig *rig, steps_rig_time takes_ps);
