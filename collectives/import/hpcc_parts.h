/* SPDX-License-Identifier: BSD-3-Clause */
/* Between hpcc.c, which writes the scenario, and those who read its files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectives/import/hpcc.h"

#define HPCC_PATH 512
#define HPCC_VALUE 64
#define HPCC_RATES 16

enum hpcc_cc { HPCC_DCQCN = 1, HPCC_HPCC = 3, HPCC_TIMELY = 7, HPCC_DCTCP = 8, HPCC_PINT = 10 };

/* "RATE VALUE" pairs, as KMIN_MAP has them. */
struct hpcc_map {
	uint64_t rate_bps[HPCC_RATES];
	double value[HPCC_RATES];
	size_t count;
	int line;
};

/* As the simulator has them where config.txt says nothing. */
struct hpcc_config {
	const char *path;
	char topology[HPCC_PATH], flow[HPCC_PATH];
	int64_t qcn, cc, clamp, payload_bytes, ack_packets, fast_recovery, has_win, var_win, mi_thresh, buffer_mb;
	double alpha_us, decrease_us, timer_us, g, stop_s, target;
	char ai[HPCC_VALUE], hai[HPCC_VALUE], min_rate[HPCC_VALUE];
	struct hpcc_map kmin, kmax, pmax;
	int64_t down_us, down_a, down_b; /* down_us 0: no link goes down */
	int down_line;
};

struct hpcc_flow {
	uint32_t src, dst;
	uint32_t prio, dport, sport;
	uint64_t bytes, start_ps;
};

struct hpcc_flows {
	struct hpcc_flow *at;
	size_t count;
	uint64_t first_ps; /* start of the earliest: the scenario counts from there */
};

/* A text cut into lines of words; "{ ... }" is a comment, as in the simulator's config_doc.txt. */
struct hpcc_lines {
	char *next;
	const char *path;
	int line;
	char *words[64];
	size_t count;
};

/* @return whether there is one more line with words; its words are cut out of the text */
bool hpcc_next_line(struct hpcc_lines *lines);

/* @return 0; -EINVAL or -ENOMEM with err set */
int hpcc_read_config(const char *path, struct hpcc_config *config, struct err *err);

/* @param nodes  of the topology. @return the same; flows->at is the caller's to free */
int hpcc_read_flows(const char *path, uint32_t nodes, struct hpcc_flows *flows, struct err *err);
