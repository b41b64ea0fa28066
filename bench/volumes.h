/* SPDX-License-Identifier: BSD-3-Clause */
/* What FlowPulse's monitors cost a sprayed fabric: a part of rocelab bench telemetry. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "common/err.h"

/* One fabric with a faulty link: without monitors, with those that tell alarms, and with those that tell all volumes. */
#define BENCH_VOLUMES_CASES 3

struct bench_volumes {
	double hop_ns[BENCH_VOLUMES_CASES]; /* processor time of the fabric, of a packet at a node; the least of all runs */
	uint64_t sent_bytes[BENCH_VOLUMES_CASES]; /* by the monitors: what is sent without them is left out */
	uint64_t port_bytes;                      /* memory of a monitor, by its ports */
};

/*
 * Runs all of them so many times, in turn.
 * @param dir       for scratch files, removed by the caller
 * @param dpswitch  its path
 * @return 0, or negative errno with err set
 */
int bench_volumes_measure(struct bench_volumes *bench, const char *dir, const char *dpswitch, int repeats, struct err *err);
void bench_volumes_print(const struct bench_volumes *bench, int repeats);
/* @return a list of rows */
json_t *bench_volumes_json(const struct bench_volumes *bench);
