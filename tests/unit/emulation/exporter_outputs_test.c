/* SPDX-License-Identifier: BSD-3-Clause */
/* The recording and the analyzer behind one exporter: each gets the whole stream, and neither is hurt by the other. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/spool.h"
#include "common/units.h"
#include "emulation/recorder/exporter.h"
#include "tests/unit/emulation/exporter_rig.h"
#include "tests/unit/unit.h"

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
	bench_overload(&b, 3, PS_PER_US);
	close(fds[0]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	data = bench_recording(&b, &size_bytes);
	assert_int_equal(sink_stats(exporter_outputs(b.exporter), &output_analyzer).error, 0);
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
	bench_overload(&alone, 5, PS_PER_US);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	bench_open(&orphan, 0, 0, 0, fds[0]);
	close(fds[1]);
	bench_overload(&orphan, 5, PS_PER_US);
	assert_int_equal(sink_stats(exporter_outputs(orphan.exporter), &output_analyzer).error, EPIPE);
	assert_int_equal(sink_stats(exporter_outputs(orphan.exporter), &output_recording).error, 0);
	assert_null(sink_stats(exporter_outputs(alone.exporter), &output_analyzer).ops);
	alone_data = bench_recording(&alone, &alone_bytes);
	orphan_data = bench_recording(&orphan, &orphan_bytes);
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

/* What the exporter says that it sent. */
static uint64_t
stream_bytes(const struct bench *b)
{
	struct exporter_stats stats;

	exporter_stats(b->exporter, &stats);
	assert_true(stats.frames > 0);
	return stats.stream_bytes;
}

static void
what_was_sent_soon_outlives_the_exporter(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, 0, 0, 0, -1);
	bench_report(&b, 0, REC_NOTIFY, 5);
	bench_offer(&b, 6);
	assert_true(grows_to(&b, (off_t)stream_bytes(&b)));
	bench_close(&b);
}

/* Without it each of the records would wait for SPOOL_GATHER_NS. */
static void
what_is_flushed_does_not_wait(void **state)
{
	uint64_t start_ns = clock_now_ns();
	struct bench b;

	(void)state;
	bench_open(&b, 0, 0, 0, -1);
	for (uint32_t i = 1; i <= 8; i++) {
		bench_report(&b, 0, REC_NOTIFY, 2 * i);
		bench_offer(&b, 2 * i + 1);
		exporter_flush(b.exporter);
		assert_true(grows_to(&b, (off_t)stream_bytes(&b)));
	}
	assert_true(clock_now_ns() - start_ns < 4 * SPOOL_GATHER_NS);
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
	bench_offer(&b, 6);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	bench_report(&b, 0, REC_NOTIFY, 7); /* what came before may have been written by now */
	bench_offer(&b, 8);
	exporter_finish(b.exporter, &end);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(sink_stats(exporter_outputs(b.exporter), &output_recording).error, EFBIG);
	assert_string_equal(output_why(EFBIG), "File too large");
	assert_string_equal(output_why(ETIMEDOUT), "it took nothing for long: stopped, or stuck");
	assert_int_equal(end.recording_errno, EFBIG); /* for who gets the stream by the socket */
	bench_close(&b);
}

UNIT_TEST(exporter_outputs)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(analyzer_gets_what_is_recorded),
		cmocka_unit_test(a_dead_analyzer_leaves_the_recording_whole),
		cmocka_unit_test(what_was_sent_soon_outlives_the_exporter),
		cmocka_unit_test(what_is_flushed_does_not_wait),
		cmocka_unit_test(a_full_disk_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
