/* SPDX-License-Identifier: BSD-3-Clause */
/* Three leaves and two spines, what their monitors report, and what the diagnoser concludes. For one test program each. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "diag/flowpulse/section.h"
#include "diag/registry.h"
#include "tests/unit/diag/records.h"

/* Leaves 0 to 2 with hosts 5 to 7 at port 0; spines 3 and 4 at ports 1 and 2 of each, whose port i is leaf i's. */
#define LEAVES 3
#define SPINE(k) (LEAVES + (k))
#define HOST(i) (LEAVES + 2 + (i))

static inline void
put_network(struct records *r)
{
	const struct rec_monitor monitor = { .threshold_ppm = 10000, .tolerance_ppm = 10000, .learn = 1 };
	struct rec_monitor put = monitor;

	records_init(r);
	records_run(r);
	for (uint32_t i = 0; i < LEAVES + 2; i++)
		records_node(r, i, (const char *[]){ "l0", "l1", "l2", "s0", "s1" }[i], false, 3);
	for (uint32_t i = 0; i < LEAVES; i++)
		records_node(r, HOST(i), (const char *[]){ "h0", "h1", "h2" }[i], true, 1);
	for (uint32_t i = 0; i < LEAVES; i++) {
		records_link(r, i, 0, false, HOST(i), 0, true);
		for (uint32_t k = 0; k < 2; k++)
			records_link(r, i, (uint16_t)(1 + k), false, SPINE(k), (uint16_t)i, false);
	}
	RECORDS_PUT(r, put, REC_MONITOR, REC_NONE, 0);
}

/* 2 % of 10 MB are missing. */
static inline struct rec_volume_alarm
alarm_of(uint16_t port, uint32_t place, uint32_t sender, uint32_t iteration)
{
	return (struct rec_volume_alarm){ .port = port,
					  .place = (uint16_t)place,
					  .sender = sender,
					  .iteration = iteration,
					  .pooled = 1,
					  .predicted = 10000000,
					  .seen = 9800000,
					  .expected = 10000000,
					  .got = 9800000,
					  .packets = 9800,
					  .drop_ppm = 20000,
					  .low_ppm = 18000,
					  .high_ppm = 22000,
					  .dispersion_ppm = 10000,
					  .noise = REC_NOISE_LEARNED };
}

/* A leaf misses 2 % of 10000 packets of 1000 B at its port from a spine, with the volumes of both its ports. */
static inline void
put_alarm(struct records *r, uint32_t leaf, uint32_t spine, uint32_t place, uint32_t sender, uint32_t iteration)
{
	uint64_t time_ps = (iteration + 1) * PS_PER_MS;
	struct rec_volume_alarm alarm = alarm_of((uint16_t)(1 + spine), place, sender, iteration);

	RECORDS_PUT(r, alarm, REC_VOLUME_ALARM, leaf, time_ps);
	for (uint16_t port = 1; port <= 2; port++) {
		struct rec_volume volume = { .port = port,
					     .sender = sender != REC_NONE ? sender : (leaf + 1) % LEAVES,
					     .iteration = iteration,
					     .predicted = 10000000,
					     .seen = port == alarm.port ? 9800000 : 10200000,
					     .packets = 10000 };

		RECORDS_PUT(r, volume, REC_VOLUME, leaf, time_ps);
	}
}

static inline void
put_end(struct records *r)
{
	for (uint32_t i = 0; i < LEAVES; i++) {
		struct rec_monitored sum = { .ports = 2, .senders = 2, .compared = 5, .alarms = 1, .bytes = 4096 };

		RECORDS_PUT(r, sum, REC_MONITORED, i, 9 * PS_PER_MS);
	}
	records_end(r, REC_END_COMPLETE, 10 * PS_PER_MS);
}

static inline struct verdict *
diagnose(struct records *r)
{
	struct verdict *v = NULL;
	struct err err = { 0 };
	struct evidence ev;

	put_end(r);
	records_evidence(r, &ev);
	if (registry_diagnose(&ev, &v, &err) != 0)
		fail_msg("%s", err.text);
	evidence_fini(&ev);
	records_report(v);
	records_shake(r);
	records_fini(r);
	return v;
}

static inline const struct flowpulse *
own_of(const struct verdict *v)
{
	assert_non_null(verdict_section(v, FLOWPULSE_NAME));
	return verdict_section(v, FLOWPULSE_NAME)->own;
}
