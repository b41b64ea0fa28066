/* SPDX-License-Identifier: BSD-3-Clause */
/* The analyzer's end of the socket, for rocelab bench telemetry: takes a run's records in as the analyzer does, and counts. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

/* Bytes up to here were with the evidence by then. */
struct tap_portion {
	size_t end_bytes;
	uint64_t taken_ns; /* clock_now_ns() */
};

/* What came over the socket. Zero-initialise. */
struct bench_tap {
	uint8_t *data;
	size_t used_bytes, cap_bytes;
	struct tap_portion *portions;
	size_t nportions, cap_portions;
	uint64_t begun_ns;   /* clock_now_ns() at the first byte */
	uint64_t take_in_ns; /* processor time */
};

/* From an epoch's end to when its row was known, of all epochs that were told of. */
struct tap_lag {
	double p50_us, p99_us, max_us;
};

struct tap_counts {
	uint64_t made;               /* records, by the run's own account (REC_END) */
	uint64_t on_time, held_back; /* that came: sent at their own time, or later */
	uint64_t dropped;            /* that gaps tell of */
	uint64_t bytes;              /* of frames and gaps */
	uint64_t frames, epochs;
	struct tap_lag run;  /* in the run's time, until the budget let the row go */
	struct tap_lag wall; /* until the evidence had it; 0 without a zero_ns */
};

/*
 * Takes in a stream to its end, from whoever connects.
 * @param listener  of unix_listen()
 * @param sender    the process that is to connect
 * @return 0, or negative errno with err set: it ended without connecting, or the stream is none
 */
int bench_tap_read(struct bench_tap *tap, int listener, pid_t sender, struct err *err);

/*
 * Counts what came, and holds it against what the run says that it made.
 * @param zero_ns  clock_now_ns() at the run's time 0; 0: the run's time is virtual
 * @return 0, or -EPROTO with err set: made is not what came and what was dropped
 */
int bench_tap_count(const struct bench_tap *tap, uint64_t zero_ns, struct tap_counts *counts, struct err *err);

void bench_tap_fini(struct bench_tap *tap);
