/* SPDX-License-Identifier: BSD-3-Clause */
/* An exporter with a recording, and two nodes that report. */
#pragma once

#include <stdint.h>

#include "common/record/buffer.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "emulation/recorder/exporter.h"

#define MB_A_SECOND 1000000 /* 1 byte a microsecond */

/* An exporter whose recording has no name any more, and two nodes that report. */
struct bench {
	struct exporter *exporter;
	struct recbuf bufs[2];
	struct recbuf *all[2];
	int fd;
};

/*
 * Of so many bytes a second, a burst and a queue, 0 for no limit; with an analyzer behind socket_fd, -1 for none.
 */
void bench_open(struct bench *b, uint64_t budget, uint64_t burst_bytes, uint64_t queue_bytes, int socket_fd);
void bench_open_config(struct bench *b, const struct exporter_config *config, int socket_fd);
void bench_close(struct bench *b);
/* A record of any kind by node 0 or 1, filled with what distinguishes it from its neighbours. */
void bench_report(struct bench *b, uint32_t node, uint16_t type, uint64_t time_ps);
/* What was reported goes to the exporter, and time continues. */
void bench_offer(struct bench *b, uint64_t now_ps);
/* The same, and the stream ends. @return its last record */
struct rec_end bench_finish(struct bench *b, uint64_t end_ps);
/* The recording so far, as it was sent. @return malloc'd */
uint8_t *bench_recording(const struct bench *b, size_t *size_bytes);
/* The same with the records of frames in their place. @return malloc'd */
uint8_t *bench_records(const struct bench *b, size_t *size_bytes);
/* Walks over what bench_records() gave. @return the next one, NULL after the last */
const struct rec_hdr *bench_next(const uint8_t *data, size_t size_bytes, size_t *offset);
/* The whole recording as "type@time/node" words, times in ns. */
void bench_expect(const struct bench *b, const char *expected);
/* Its end alone. */
void bench_expect_end(const struct bench *b, const char *expected);
/* Flow rows of node 0, a picosecond apart, until the budget lets one wait. */
void bench_spend(struct bench *b);
/* Reports of random size at random times, far beyond the budget. */
void bench_overload(struct bench *b, uint64_t seed, uint64_t grain_ps);
