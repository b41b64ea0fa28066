/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/prng.h"
#include "common/record/kinds.h"
#include "common/units.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "emulation/recorder/bucket.h"
#include "emulation/recorder/exporter.h"

#define MB_A_SECOND 1000000 /* 1 byte a microsecond */

/* An exporter whose recording has no name any more, and two nodes that report. */
struct bench {
	struct exporter *exporter;
	struct recbuf bufs[2];
	struct recbuf *all[2];
	int fd;
};

static void
bench_open(struct bench *b, uint64_t budget, uint64_t burst_bytes, uint64_t queue_bytes, int socket_fd)
{
	struct exporter_config config = { .budget = budget, .burst_bytes = burst_bytes, .queue_bytes = queue_bytes };
	struct output_target targets[] = { { .ops = &output_recording }, { .ops = &output_analyzer, .fd = socket_fd } };
	struct err err = { "" };
	char dir[] = "/tmp/exporter-test-XXXXXX", path[sizeof(dir) + 16];

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/recording", dir);
	targets[0].path = path;
	b->exporter = exporter_create(&config, targets, socket_fd >= 0 ? 2 : 1, &err);
	assert_string_equal(err.text, "");
	assert_non_null(b->exporter);
	b->fd = open(path, O_RDONLY);
	assert_true(b->fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	for (uint32_t i = 0; i < 2; i++) {
		recbuf_init(&b->bufs[i], 10 + i);
		b->all[i] = &b->bufs[i];
	}
}

static void
bench_close(struct bench *b)
{
	exporter_destroy(b->exporter);
	for (uint32_t i = 0; i < 2; i++)
		recbuf_fini(&b->bufs[i]);
	close(b->fd);
}

static size_t
kind_bytes(uint16_t type)
{
	switch (type) {
	case REC_STEP:
		return sizeof(struct rec_step);
	case REC_TRIGGER:
		return sizeof(struct rec_trigger);
	case REC_POLL:
		return sizeof(struct rec_poll);
	case REC_PORT_ROW:
		return sizeof(struct rec_port_row);
	case REC_DROP_ROW:
		return sizeof(struct rec_drop_row);
	case REC_FLOW_ROW:
		return sizeof(struct rec_flow_row);
	case REC_METER_ROW:
		return sizeof(struct rec_meter_row);
	case REC_NOTIFY:
		return sizeof(struct rec_notify);
	default:
		return sizeof(struct rec_matrix_row);
	}
}

static void
report(struct bench *b, uint32_t node, uint16_t type, uint64_t time_ps)
{
	union {
		struct rec_hdr hdr;
		uint8_t bytes[256];
	} rec = { .bytes = { 0 } };

	memset(rec.bytes + sizeof(rec.hdr), (int)(b->bufs[node].seq % 251 + 1), sizeof(rec.bytes) - sizeof(rec.hdr));
	recbuf_put(&b->bufs[node], &rec, type, kind_bytes(type), time_ps);
}

static void
offer(struct bench *b, uint64_t now_ps)
{
	exporter_collect(b->exporter, b->all, 2);
	exporter_advance(b->exporter, now_ps);
}

static struct rec_end
finish(struct bench *b, uint64_t end_ps)
{
	struct rec_end end = { .reason = REC_END_COMPLETE, .at_node = REC_NONE, .end_ps = end_ps };

	exporter_collect(b->exporter, b->all, 2);
	exporter_finish(b->exporter, &end);
	return end;
}

/* The recording so far. @return malloc'd */
static uint8_t *
recording(const struct bench *b, size_t *size_bytes)
{
	struct stat st;
	uint8_t *data;

	assert_int_equal(fstat(b->fd, &st), 0);
	*size_bytes = (size_t)st.st_size;
	data = malloc(*size_bytes + 1);
	assert_non_null(data);
	assert_int_equal(pread(b->fd, data, *size_bytes, 0), st.st_size);
	return data;
}

/* Walks over a recording's records. @return the next one, NULL after the last */
static const struct rec_hdr *
next(const uint8_t *data, size_t size_bytes, size_t *offset)
{
	const struct rec_hdr *hdr = (const struct rec_hdr *)(const void *)(data + *offset);

	if (*offset == size_bytes)
		return NULL;
	assert_true(size_bytes - *offset >= sizeof(*hdr));
	assert_true(hdr->size <= size_bytes - *offset);
	*offset += hdr->size;
	return hdr;
}

/* The whole recording as "type@time/node" words, times in ns. */
static void
assert_stream(const struct bench *b, const char *expected)
{
	char text[4096] = "";
	size_t size_bytes, offset = sizeof(struct rec_stream), used = 0;
	uint8_t *data = recording(b, &size_bytes);
	const struct rec_hdr *hdr;

	while ((hdr = next(data, size_bytes, &offset)) != NULL && used < sizeof(text)) {
		int node = hdr->node == REC_NONE ? -1 : (int)hdr->node;

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u@%llu/%d", used > 0 ? " " : "", hdr->type,
					 (unsigned long long)(hdr->time_ps / PS_PER_NS), node);
	}
	free(data);
	assert_string_equal(text, expected);
}

static void
bucket_counts_exactly(void **state)
{
	struct bucket bucket;

	bucket_init(&bucket, 3, 100); /* 3 B/s: one byte every 333 333 333 333.3 ps */
	assert_int_equal(bucket_bytes(&bucket), 100);
	assert_int_equal(bucket_ready_ps(&bucket, 100), 0);
	bucket_take(&bucket, 100);
	assert_int_equal(bucket_ready_ps(&bucket, 1), 333333333334);
	assert_int_equal(bucket_ready_ps(&bucket, 3), PS_PER_S);
	assert_true(bucket_ready_ps(&bucket, 101) == TIME_NEVER);
	bucket_fill(&bucket, 333333333333);
	assert_int_equal(bucket_bytes(&bucket), 0);
	bucket_fill(&bucket, 333333333334);
	assert_int_equal(bucket_bytes(&bucket), 1);
	/* Thirds are not lost: whole again after a second. */
	bucket_fill(&bucket, PS_PER_S);
	assert_int_equal(bucket_bytes(&bucket), 3);
	bucket_fill(&bucket, 10); /* has passed */
	assert_int_equal(bucket_bytes(&bucket), 3);
	bucket_fill(&bucket, 1000 * PS_PER_S);
	assert_int_equal(bucket_bytes(&bucket), 100);
}

static void
records_merge_by_time_node_sequence(void **state)
{
	struct bench b;

	bench_open(&b, 0, 0, 0, -1);
	report(&b, 1, REC_POLL, 3000);
	report(&b, 1, REC_STEP, 5000);
	report(&b, 1, REC_METER_ROW, 5000);
	report(&b, 1, REC_POLL, 2000); /* out of its node's order */
	report(&b, 0, REC_FLOW_ROW, 5000);
	report(&b, 1, REC_PORT_ROW, 7000);
	offer(&b, 7000);
	/* What is stamped at the end of the window waits: a node with a lower number may still report that time. */
	report(&b, 1, REC_TRIGGER, 7000);
	report(&b, 0, REC_NOTIFY, 7000);
	offer(&b, 8000);
	finish(&b, 9000);
	assert_stream(&b, "32@2/11 32@3/11 34@5/10 16@5/11 35@5/11 18@7/10 33@7/11 17@7/11 49@9/-1");
	bench_close(&b);
}

static void
without_a_budget_everything_passes_unchanged(void **state)
{
	static const uint16_t types[] = { REC_STEP, REC_FLOW_ROW, REC_PORT_ROW, REC_MATRIX_ROW, REC_DROP_ROW };
	struct bench b;
	struct rec_run run = { .hdr.node = REC_NONE, .name = "run" };
	uint8_t expected[8192];
	size_t used = 0, size_bytes;
	uint8_t *data;
	struct rec_end end;

	bench_open(&b, 0, 0, 0, -1);
	exporter_header(b.exporter, &run, REC_RUN, sizeof(run));
	for (uint32_t i = 0; i < 50; i++)
		report(&b, 0, types[i % 5], i * 1000);
	memcpy(expected, b.bufs[0].data, b.bufs[0].used_bytes);
	used = b.bufs[0].used_bytes;
	end = finish(&b, PS_PER_US);
	data = recording(&b, &size_bytes);
	/* 16 + 112 + 10 * (96 + 88 + 160 + 80 + 80) + 160 */
	assert_int_equal(used, 5040);
	assert_int_equal(size_bytes, 5328);
	assert_memory_equal(data + 16, &run, sizeof(run));
	assert_memory_equal(data + 128, expected, used);
	assert_memory_equal(data + 5168, &end, sizeof(end));
	assert_int_equal(end.offered_bytes, 5040);
	assert_int_equal(end.sent_bytes, 5040);
	assert_int_equal(end.sent_records, 50);
	assert_int_equal(end.deferred_records, 0);
	assert_int_equal(end.dropped_records, 0);
	free(data);
	bench_close(&b);
}

static void
budget_defers_to_the_picosecond(void **state)
{
	struct exporter_stats stats;
	struct bench b;

	/* 20 polls of 56 B against 1024 B: 18 leave at once, 16 B stay; the others are 40 B and 56 B short. */
	bench_open(&b, MB_A_SECOND, 1024, 4096, -1);
	for (int i = 0; i < 20; i++)
		report(&b, 0, REC_POLL, 0);
	offer(&b, 40 * PS_PER_US - 1);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 18);
	assert_int_equal(stats.waiting_records, 2);
	assert_int_equal(stats.waiting_bytes, 112);
	offer(&b, 40 * PS_PER_US);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 19);
	offer(&b, 96 * PS_PER_US - 1);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 19);
	offer(&b, 96 * PS_PER_US);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 20);
	assert_int_equal(stats.all.sent_bytes, 1120);
	assert_int_equal(stats.all.deferred_records, 2);
	assert_int_equal(stats.all.dropped_records, 0);
	assert_int_equal(stats.gap_records, 0);
	finish(&b, PS_PER_MS);
	bench_close(&b);
}

static void
relevant_records_leave_first(void **state)
{
	struct bench b;

	bench_open(&b, MB_A_SECOND, 1024, 4096, -1);
	for (int i = 0; i < 11; i++)
		report(&b, 0, REC_FLOW_ROW, 0); /* 968 of 1024 B, within the budget */
	offer(&b, 1);
	report(&b, 0, REC_MATRIX_ROW, 1000);
	report(&b, 0, REC_NOTIFY, 1000);
	report(&b, 0, REC_METER_ROW, 1000);
	report(&b, 0, REC_FLOW_ROW, 1000);
	report(&b, 0, REC_DROP_ROW, 1000);
	report(&b, 0, REC_PORT_ROW, 1000);
	report(&b, 0, REC_POLL, 1000);
	report(&b, 1, REC_STEP, 1000);
	offer(&b, PS_PER_US);
	report(&b, 1, REC_TRIGGER, 2 * PS_PER_US);
	offer(&b, PS_PER_S);
	finish(&b, PS_PER_S);
	/* Steps first; then triggers, polls and ports in order of arrival; then the rest. */
	assert_stream(&b, "34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 34@0/10 "
			  "16@1/11 37@1/10 33@1/10 32@1/10 17@2000/11 34@1/10 35@1/10 36@1/10 18@1/10 "
			  "49@1000000000/-1");
	bench_close(&b);
}

static void
a_small_record_does_not_overtake_a_more_relevant_one(void **state)
{
	struct exporter_stats stats;
	struct bench b;

	/* Six port rows of 160 B leave, 64 B stay: too few for the seventh, enough for the 48 B of the other. */
	bench_open(&b, MB_A_SECOND, 1024, 4096, -1);
	for (int i = 0; i < 7; i++)
		report(&b, 0, REC_PORT_ROW, 0);
	report(&b, 0, REC_NOTIFY, 1000);
	offer(&b, PS_PER_US);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 6);
	finish(&b, PS_PER_MS);
	assert_stream(&b, "33@0/10 33@0/10 33@0/10 33@0/10 33@0/10 33@0/10 33@0/10 18@1/10 49@1000000/-1");
	bench_close(&b);
}

static void
no_more_waits_than_the_queue_holds(void **state)
{
	struct exporter_stats stats;
	struct bench b;

	bench_open(&b, MB_A_SECOND, 1024, 159, -1);
	for (int i = 0; i < 7; i++)
		report(&b, 0, REC_PORT_ROW, 0);
	offer(&b, 1);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 6);
	assert_int_equal(stats.waiting_records, 0);
	assert_int_equal(stats.all.dropped_records, 1);
	/* 64 B are left: enough for 48 B, but not with the 56 B that tell of the loss. */
	report(&b, 0, REC_NOTIFY, 1000);
	offer(&b, 1001);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 6);
	assert_int_equal(stats.waiting_records, 1);
	finish(&b, 40 * PS_PER_US); /* 104 - 64 B more */
	assert_stream(&b, "33@0/10 33@0/10 33@0/10 33@0/10 33@0/10 33@0/10 48@40000/-1 18@1/10 49@40000/-1");
	bench_close(&b);
}

static void
what_the_queue_cannot_hold_is_told(void **state)
{
	struct exporter_stats stats;
	const struct rec_gap *gap;
	const struct rec_hdr *hdr;
	struct bench b;
	size_t size_bytes, offset = sizeof(struct rec_stream);
	uint8_t *data;

	/* 12 * 80 + 56 = 1016 of 1024 B leave, then 8 B and a queue of 176 B: two flow rows. */
	bench_open(&b, MB_A_SECOND, 1024, 176, -1);
	for (int i = 0; i < 12; i++)
		report(&b, 0, REC_TRIGGER, 0);
	report(&b, 0, REC_POLL, 0);
	report(&b, 0, REC_FLOW_ROW, 1000);
	report(&b, 0, REC_FLOW_ROW, 2000);
	report(&b, 0, REC_FLOW_ROW, 3000);  /* pushes the row of 1000 ps out */
	report(&b, 0, REC_POLL, 4000);      /* 56 B push the row of 2000 ps out */
	report(&b, 0, REC_METER_ROW, 5000); /* less relevant than what waits: lost itself */
	offer(&b, 6000);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 13);
	assert_int_equal(stats.waiting_records, 2);
	assert_int_equal(stats.waiting_bytes, 88 + 56);
	assert_int_equal(stats.all.dropped_records, 3);
	assert_int_equal(stats.all.dropped_bytes, 88 + 56 + 88);
	/* The next to leave is the poll, with two gaps: 168 B, of which 8 B are there. */
	offer(&b, 160 * PS_PER_US - 1);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 13);
	assert_int_equal(stats.gap_records, 0);
	offer(&b, 160 * PS_PER_US);
	exporter_stats(b.exporter, &stats);
	assert_int_equal(stats.all.sent_records, 14);
	assert_int_equal(stats.gap_records, 2);
	finish(&b, 200 * PS_PER_US); /* the row of 3000 ps still waits: lost at the end */

	data = recording(&b, &size_bytes);
	for (int i = 0; i < 13; i++)
		next(data, size_bytes, &offset);
	gap = (const struct rec_gap *)(const void *)next(data, size_bytes, &offset);
	assert_int_equal(gap->hdr.type, REC_GAP);
	assert_int_equal(gap->hdr.time_ps, 160 * PS_PER_US);
	assert_int_equal(gap->kind, REC_FLOW_ROW);
	assert_int_equal(gap->dropped, 2);
	assert_int_equal(gap->dropped_bytes, 176);
	assert_int_equal(gap->from_ps, 1000);
	assert_int_equal(gap->to_ps, 2000);
	gap = (const struct rec_gap *)(const void *)next(data, size_bytes, &offset);
	assert_int_equal(gap->kind, REC_METER_ROW);
	assert_int_equal(gap->dropped, 1);
	assert_int_equal(gap->dropped_bytes, 56);
	assert_int_equal(gap->from_ps, 5000);
	assert_int_equal(gap->to_ps, 5000);
	hdr = next(data, size_bytes, &offset);
	assert_int_equal(hdr->type, REC_POLL);
	gap = (const struct rec_gap *)(const void *)next(data, size_bytes, &offset);
	assert_int_equal(gap->kind, REC_FLOW_ROW);
	assert_int_equal(gap->dropped, 1);
	assert_int_equal(gap->from_ps, 3000);
	hdr = next(data, size_bytes, &offset);
	assert_int_equal(hdr->type, REC_END);
	assert_null(next(data, size_bytes, &offset));
	free(data);
	bench_close(&b);
}

/* Reports of random size at random times, far beyond the budget. */
static void
overload(struct bench *b, uint64_t seed, uint64_t grain_ps)
{
	struct prng prng;
	uint64_t time_ps = 0, next_ps = grain_ps;

	prng_init(&prng, seed, 0);
	for (int i = 0; i < 3000; i++) {
		static const uint16_t types[] = { REC_STEP,     REC_TRIGGER,   REC_NOTIFY,     REC_POLL,    REC_PORT_ROW,
						  REC_FLOW_ROW, REC_METER_ROW, REC_MATRIX_ROW, REC_DROP_ROW };
		uint32_t node = (uint32_t)prng_below(&prng, 2);

		if (prng_below(&prng, 4) == 0)
			time_ps += prng_below(&prng, 20) * PS_PER_US;
		while (time_ps >= next_ps) {
			offer(b, next_ps);
			next_ps += grain_ps;
		}
		report(b, node, types[prng_below(&prng, 9)], time_ps);
	}
	finish(b, time_ps + 1);
}

static void
nothing_is_lost_uncounted(void **state)
{
	static const uint64_t budgets[] = { 0, MB_A_SECOND / 10, MB_A_SECOND, 10 * MB_A_SECOND, 1000 * MB_A_SECOND };

	for (size_t i = 0; i < ARRAY_LEN(budgets); i++) {
		struct exporter_stats stats;
		struct bench b;
		uint64_t sent[64] = { 0 }, lost[64] = { 0 }, lost_bytes[64] = { 0 }, gap_bytes = 0, run_bytes = 0;
		size_t size_bytes, offset = sizeof(struct rec_stream);
		const struct rec_hdr *hdr;
		uint8_t *data;

		bench_open(&b, budgets[i], 2048, 10000, -1);
		overload(&b, 7, 3 * PS_PER_US);
		exporter_stats(b.exporter, &stats);
		data = recording(&b, &size_bytes);
		while ((hdr = next(data, size_bytes, &offset)) != NULL) {
			const struct rec_gap *gap = (const struct rec_gap *)(const void *)hdr;

			assert_true(hdr->type < 64);
			sent[hdr->type]++;
			if (hdr->type == REC_GAP) {
				lost[gap->kind] += gap->dropped;
				lost_bytes[gap->kind] += gap->dropped_bytes;
				gap_bytes += hdr->size;
				assert_true(gap->from_ps <= gap->to_ps && gap->to_ps <= hdr->time_ps);
			}
			run_bytes = hdr->type == REC_END ? hdr->time_ps / PS_PER_US : 0;
		}
		assert_int_equal(sent[REC_END], 1);
		assert_int_equal(stats.stream_bytes, size_bytes);
		assert_int_equal(stats.waiting_records, 0);
		assert_int_equal(stats.all.offered_records, 3000);
		assert_int_equal(stats.gap_bytes, gap_bytes);
		for (uint32_t kind = 0; kind < RECORD_KINDS; kind++) {
			const struct exporter_count *count = &stats.kinds[kind];

			if (!record_is_report(kind))
				continue;
			assert_int_equal(sent[kind], count->sent_records);
			assert_int_equal(lost[kind], count->dropped_records);
			assert_int_equal(lost_bytes[kind], count->dropped_bytes);
			assert_int_equal(count->offered_records, count->sent_records + count->dropped_records);
			assert_int_equal(count->offered_bytes, count->sent_bytes + count->dropped_bytes);
		}
		assert_true(gap_bytes <= 1024 + stats.all.sent_bytes / 8 + REC_REPORT_KINDS * sizeof(struct rec_gap));
		if (budgets[i] == MB_A_SECOND) {
			assert_true(stats.all.dropped_records > 0 && stats.all.deferred_records > 0);
			/* Never more than burst + rate * time; what is told at the end is not paid for. */
			assert_true(stats.all.sent_bytes + gap_bytes <= 2048 + run_bytes + REC_REPORT_KINDS * 56);
			assert_true(stats.all.sent_bytes + gap_bytes >= run_bytes * 9 / 10);
		}
		if (budgets[i] == 0 || budgets[i] == 1000 * MB_A_SECOND)
			assert_int_equal(stats.all.dropped_records, 0);
		free(data);
		bench_close(&b);
	}
}

static void
stream_does_not_depend_on_the_grain_of_calls(void **state)
{
	static const uint64_t grains_ps[] = { PS_PER_US, 7 * PS_PER_US, 1000 * PS_PER_MS };
	uint8_t *first = NULL;
	size_t first_bytes = 0;

	for (size_t i = 0; i < 3; i++) {
		struct bench b;
		size_t size_bytes;
		uint8_t *data;

		bench_open(&b, MB_A_SECOND, 2048, 10000, -1);
		overload(&b, 11, grains_ps[i]);
		data = recording(&b, &size_bytes);
		bench_close(&b);
		if (i == 0) {
			first = data;
			first_bytes = size_bytes;
			continue;
		}
		assert_int_equal(size_bytes, first_bytes);
		assert_memory_equal(data, first, first_bytes);
		free(data);
	}
	free(first);
}

static void
peak_is_the_fullest_millisecond(void **state)
{
	struct bench b;

	bench_open(&b, MB_A_SECOND, 1024, 0, -1);
	assert_int_equal(exporter_peak(b.exporter), 0);
	report(&b, 0, REC_POLL, 0);
	report(&b, 0, REC_POLL, PS_PER_MS - 1);
	report(&b, 0, REC_PORT_ROW, PS_PER_MS);
	report(&b, 0, REC_METER_ROW, 2 * PS_PER_MS - 1);
	report(&b, 0, REC_FLOW_ROW, 2 * PS_PER_MS);
	finish(&b, 3 * PS_PER_MS);
	assert_int_equal(exporter_peak(b.exporter), (160 + 56) * 1000);
	bench_close(&b);
}

struct reader {
	int fd;
	uint8_t *data;
	size_t size_bytes;
};

static void *
read_all(void *arg)
{
	struct reader *reader = arg;
	ssize_t got;

	while ((got = read(reader->fd, reader->data + reader->size_bytes, 1000)) > 0)
		reader->size_bytes += (size_t)got;
	return NULL;
}

static void
analyzer_gets_what_is_recorded(void **state)
{
	struct reader reader = { .data = malloc(4 << 20) };
	struct bench b;
	pthread_t thread;
	size_t size_bytes;
	uint8_t *data;
	int fds[2], small = 4096;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	reader.fd = fds[1];
	assert_int_equal(pthread_create(&thread, NULL, read_all, &reader), 0);
	bench_open(&b, 0, 0, 0, fds[0]);
	overload(&b, 3, PS_PER_US);
	close(fds[0]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	data = recording(&b, &size_bytes);
	assert_int_equal(exporter_output(b.exporter, &output_analyzer).error, 0);
	assert_true(size_bytes > 200000);
	assert_int_equal(reader.size_bytes, size_bytes);
	assert_memory_equal(reader.data, data, size_bytes);
	free(data);
	free(reader.data);
	close(fds[1]);
	bench_close(&b);
}

static void
a_dead_analyzer_leaves_the_recording_whole(void **state)
{
	struct bench alone, orphan;
	size_t alone_bytes, orphan_bytes;
	uint8_t *alone_data, *orphan_data;
	int fds[2];

	bench_open(&alone, 0, 0, 0, -1);
	overload(&alone, 5, PS_PER_US);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	bench_open(&orphan, 0, 0, 0, fds[0]);
	close(fds[1]);
	overload(&orphan, 5, PS_PER_US);
	assert_int_equal(exporter_output(orphan.exporter, &output_analyzer).error, EPIPE);
	assert_int_equal(exporter_output(orphan.exporter, &output_recording).error, 0);
	assert_null(exporter_output(alone.exporter, &output_analyzer).ops);
	alone_data = recording(&alone, &alone_bytes);
	orphan_data = recording(&orphan, &orphan_bytes);
	assert_int_equal(alone_bytes, orphan_bytes);
	assert_memory_equal(alone_data, orphan_data, alone_bytes);
	free(alone_data);
	free(orphan_data);
	close(fds[0]);
	bench_close(&alone);
	bench_close(&orphan);
}

/* What the file has within a generous time. */
static bool
grows_to(const struct bench *b, off_t size_bytes)
{
	struct stat status;

	for (uint32_t i = 0; i < 20000; i++) {
		assert_int_equal(fstat(b->fd, &status), 0);
		if (status.st_size == size_bytes)
			return true;
		clock_sleep_until_ns(clock_now_ns() + 1000000);
	}
	return false;
}

static void
what_was_sent_soon_outlives_the_exporter(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, 0, 0, 0, -1);
	report(&b, 0, REC_NOTIFY, 5);
	offer(&b, 6);
	assert_true(grows_to(&b, sizeof(struct rec_stream) + sizeof(struct rec_notify)));
	report(&b, 0, REC_NOTIFY, 7);
	offer(&b, 8);
	exporter_flush(b.exporter);
	assert_true(grows_to(&b, sizeof(struct rec_stream) + 2 * sizeof(struct rec_notify)));
	bench_close(&b);
}

static void
a_full_disk_is_remembered(void **state)
{
	struct rec_end end = { .end_ps = 1 };
	const struct rlimit little = { 10, RLIM_INFINITY };
	struct rlimit before;
	struct bench b;

	bench_open(&b, 0, 0, 0, -1);
	offer(&b, 6);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	report(&b, 0, REC_NOTIFY, 7); /* what came before may have been written by now */
	offer(&b, 8);
	exporter_finish(b.exporter, &end);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(exporter_output(b.exporter, &output_recording).error, EFBIG);
	assert_int_equal(end.recording_errno, EFBIG); /* for who gets the stream by the socket */
	bench_close(&b);
}

static void
bad_configuration_is_refused(void **state)
{
	struct exporter_config config = { .where = { .file = "a.cfg", .line = 7 }, .budget = 1000, .burst_bytes = 1023 };
	const struct output_target nowhere = { .ops = &output_recording, .path = "/nonexistent/stream.rec" };
	struct err err = { "" };

	assert_null(exporter_create(&config, NULL, 0, &err));
	assert_int_equal(errno, EINVAL);
	assert_string_equal(err.text, "a.cfg:7: exporter.burst = 1023 B holds no record: "
				      "at least 1024, or 0 for a default");
	config.burst_bytes = 1024;
	err.text[0] = '\0';
	assert_null(exporter_create(&config, &nowhere, 1, &err));
	assert_int_equal(errno, ENOENT);
	assert_string_equal(err.text, "/nonexistent/stream.rec: cannot write the recording: "
				      "No such file or directory");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bucket_counts_exactly),
		cmocka_unit_test(records_merge_by_time_node_sequence),
		cmocka_unit_test(without_a_budget_everything_passes_unchanged),
		cmocka_unit_test(budget_defers_to_the_picosecond),
		cmocka_unit_test(relevant_records_leave_first),
		cmocka_unit_test(a_small_record_does_not_overtake_a_more_relevant_one),
		cmocka_unit_test(no_more_waits_than_the_queue_holds),
		cmocka_unit_test(what_the_queue_cannot_hold_is_told),
		cmocka_unit_test(nothing_is_lost_uncounted),
		cmocka_unit_test(stream_does_not_depend_on_the_grain_of_calls),
		cmocka_unit_test(peak_is_the_fullest_millisecond),
		cmocka_unit_test(analyzer_gets_what_is_recorded),
		cmocka_unit_test(a_dead_analyzer_leaves_the_recording_whole),
		cmocka_unit_test(what_was_sent_soon_outlives_the_exporter),
		cmocka_unit_test(a_full_disk_is_remembered),
		cmocka_unit_test(bad_configuration_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
