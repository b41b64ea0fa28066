/* SPDX-License-Identifier: BSD-3-Clause */
/* The stream's two ends when one of them is stopped: an end that cannot wait does not, and what is lost is reported. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/record/frame.h"
#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "emulation/recorder/output.h"
#include "tests/unit/unit.h"

#define BUFFER_BYTES (1024 * 1024u)                     /* far more than a socket holds */
#define DISK_BYTES (2 * BUFFER_BYTES)                   /* than a pipe */
#define FRAME_BYTES (sizeof(struct rec_hdr) + 2)        /* of a poll without anything to report */
#define DISK_RECORDS (5 * DISK_BYTES / 4 / FRAME_BYTES) /* more than waits for a disk */
#define RECORDS (3 * BUFFER_BYTES / FRAME_BYTES)
#define STUCK_S 25 /* a call that waits for what is stopped ends the test */

static const struct rec_stream head = { .magic = REC_MAGIC, .version = REC_VERSION, .size = sizeof(head) };

/* The program's own rows, with less in their buffers. */
static struct output_ops analyzer, recording;

enum { FILE_AT, PEER_AT };

struct bench {
	struct sink sink;
	int file_fd, sockets[2];
	uint32_t put;
};

static void
bench_open(struct bench *b)
{
	char dir[] = "/tmp/rocelab-sink-XXXXXX", path[sizeof(dir) + 16];
	struct output_target targets[] = { [FILE_AT].ops = &recording, [PEER_AT].ops = &analyzer };
	struct err err = { "" };

	*b = (struct bench){ .file_fd = -1 };
	analyzer = output_analyzer;
	analyzer.cap_bytes = BUFFER_BYTES;
	recording = output_recording;
	recording.cap_bytes = DISK_BYTES;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/recording", dir);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, b->sockets), 0);
	targets[FILE_AT].path = path;
	targets[PEER_AT].fd = b->sockets[0];
	assert_int_equal(sink_init(&b->sink, targets, 2, &head, &err), 0);
	b->file_fd = open(path, O_RDONLY);
	assert_true(b->file_fd >= 0);
	unlink(path);
	rmdir(dir);
	alarm(STUCK_S);
}

static void
bench_close(struct bench *b)
{
	sink_fini(&b->sink);
	close(b->sockets[0]);
	close(b->sockets[1]);
	close(b->file_fd);
	alarm(0);
}

static void
put_polls(struct bench *b, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, b->put++) {
		const struct rec_poll poll = {
			.hdr = { .type = REC_POLL, .size = sizeof(poll), .time_ps = b->put, .seq = b->put }
		};
		static struct recframe frame;

		recframe_begin(&frame, b->put);
		assert_true(recframe_put(&frame, &poll.hdr));
		sink_put(&b->sink, recframe_end(&frame));
	}
}

static void
put_end(struct bench *b)
{
	const struct rec_end end = {
		.hdr = { .type = REC_END, .size = sizeof(end), .node = REC_NONE, .time_ps = b->put },
		.sent_records = b->put,
		.sent_bytes = b->put * FRAME_BYTES,
	};

	sink_put(&b->sink, &end.hdr);
}

/* What a reader of a stream found in it. */
struct found {
	uint64_t polls, reported, end_sent, end_dropped;
	bool ended;
};

/* Every record is whole, those that are missing were reported before the next one. */
static struct found
read_stream(const uint8_t *data, size_t size)
{
	struct found found = { 0 };
	uint64_t next = 0;

	assert_true(size >= sizeof(head));
	assert_memory_equal(data, &head, sizeof(head));
	for (size_t at = sizeof(head); at < size;) {
		uint8_t held[256] __attribute__((aligned(8)));
		const struct rec_hdr *hdr = (const struct rec_hdr *)(const void *)held;

		assert_true(size - at >= sizeof(*hdr));
		memcpy(held, data + at, sizeof(*hdr));
		assert_true(size - at >= hdr->size && hdr->size <= sizeof(held));
		memcpy(held, data + at, hdr->size);
		at += hdr->size;
		if (hdr->type == REC_GAP) {
			const struct rec_gap *gap = (const struct rec_gap *)(const void *)hdr;

			assert_int_equal(gap->kind, REC_POLL);
			assert_int_equal(gap->from_ps, next);
			assert_int_equal(gap->to_ps - gap->from_ps + 1, gap->dropped);
			next += gap->dropped;
			found.reported += gap->dropped;
		} else if (hdr->type == REC_FRAME) {
			assert_int_equal(hdr->size, FRAME_BYTES);
			assert_int_equal(hdr->seq, next++);
			found.polls++;
		} else {
			const struct rec_end *end = (const struct rec_end *)(const void *)hdr;

			assert_int_equal(hdr->type, REC_END);
			found.end_sent = end->sent_records;
			found.end_dropped = end->dropped_records;
			found.ended = true;
		}
	}
	return found;
}

static struct found
read_recording(const struct bench *b)
{
	struct found found;
	struct stat status;
	void *data;

	assert_int_equal(fstat(b->file_fd, &status), 0);
	data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, b->file_fd, 0);
	assert_true(data != MAP_FAILED);
	found = read_stream(data, (size_t)status.st_size);
	munmap(data, (size_t)status.st_size);
	return found;
}

/* An analyzer that continues reading. */
struct reader {
	pthread_t thread;
	int fd;
	uint8_t *data;
	size_t size;
};

static void *
read_on(void *arg)
{
	struct reader *reader = arg;
	ssize_t got;

	while ((got = read(reader->fd, reader->data + reader->size, 4096)) > 0)
		reader->size += (size_t)got;
	return NULL;
}

static void
reader_start(struct reader *reader, int fd)
{
	*reader = (struct reader){ .fd = fd, .data = malloc(4 * BUFFER_BYTES + 2 * DISK_BYTES) };
	assert_non_null(reader->data);
	assert_int_equal(pthread_create(&reader->thread, NULL, read_on, reader), 0);
}

static struct found
reader_end(struct reader *reader, struct bench *b)
{
	struct found found;

	shutdown(b->sockets[0], SHUT_WR);
	pthread_join(reader->thread, NULL);
	found = read_stream(reader->data, reader->size);
	free(reader->data);
	return found;
}

static void
in_real_time_a_stopped_analyzer_loses_whole_records(void **state)
{
	struct reader reader;
	struct found found;
	struct bench b;
	uint64_t lost;

	(void)state;
	bench_open(&b);
	sink_set_clock(&b.sink, true, NULL);
	put_polls(&b, RECORDS);
	lost = b.sink.outputs[PEER_AT].dropped_records;
	assert_true(lost > RECORDS / 2 && lost < RECORDS);
	reader_start(&reader, b.sockets[1]);
	assert_int_equal(spool_wait(b.sink.outputs[PEER_AT].spool, BUFFER_BYTES / 2, analyzer.give_up_ns,
				    &(struct spool_waiter){ 0 }),
			 0);
	put_polls(&b, 1000);
	put_end(&b);
	sink_fini(&b.sink);
	assert_int_equal(b.sink.outputs[PEER_AT].error, 0);
	assert_int_equal(b.sink.outputs[PEER_AT].dropped_records, lost);
	found = reader_end(&reader, &b);
	assert_int_equal(found.reported, lost);
	assert_int_equal(found.polls, RECORDS + 1000 - lost);
	assert_int_equal(found.end_sent, found.polls);
	assert_int_equal(found.end_dropped, lost);
	assert_int_equal(b.sink.outputs[FILE_AT].error, 0);
	found = read_recording(&b);
	assert_int_equal(found.polls + found.reported, RECORDS + 1000);
	assert_int_equal(found.end_sent, found.polls);
	bench_close(&b);
}

static void
in_virtual_time_a_slow_analyzer_is_waited_for(void **state)
{
	struct reader reader;
	struct bench b;

	(void)state;
	bench_open(&b);
	reader_start(&reader, b.sockets[1]);
	put_polls(&b, RECORDS);
	put_end(&b);
	sink_fini(&b.sink);
	assert_int_equal(b.sink.outputs[PEER_AT].error, 0);
	assert_int_equal(reader_end(&reader, &b).polls, RECORDS);
	assert_int_equal(read_recording(&b).polls, RECORDS);
	bench_close(&b);
}

static void
in_virtual_time_a_stopped_analyzer_is_given_up(void **state)
{
	struct found found;
	struct bench b;

	(void)state;
	bench_open(&b);
	b.sink.outputs[PEER_AT].give_up_ns = 100000000;
	put_polls(&b, RECORDS);
	assert_int_equal(b.sink.outputs[PEER_AT].error, ETIMEDOUT);
	put_end(&b);
	sink_fini(&b.sink);
	assert_int_equal(b.sink.outputs[FILE_AT].error, 0);
	found = read_recording(&b);
	assert_int_equal(found.polls, RECORDS);
	assert_true(found.ended);
	bench_close(&b);
}

static uint32_t asked;

static bool
hurried(void)
{
	asked++;
	return true;
}

/* It is asked once a millisecond at most: questions of a tenth of the time, not of all of it. */
static void
an_interrupt_shortens_the_wait(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b);
	sink_set_clock(&b.sink, false, hurried);
	b.sink.outputs[PEER_AT].give_up_ns = 3000000000;
	asked = 0;
	put_polls(&b, RECORDS);
	assert_int_equal(b.sink.outputs[PEER_AT].error, ETIMEDOUT);
	assert_true(asked > 0 && asked < 900);
	bench_close(&b);
}

/* The disk becomes a pipe that nobody reads. */
static void
in_real_time_a_stopped_disk_delays_no_output(void **state)
{
	struct reader reader;
	struct found found;
	struct bench b;
	int pipes[2];

	(void)state;
	bench_open(&b);
	sink_set_clock(&b.sink, true, NULL);
	assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
	assert_int_equal(dup2(pipes[1], b.sink.outputs[FILE_AT].fd), b.sink.outputs[FILE_AT].fd);
	b.sink.outputs[FILE_AT].give_up_ns = 100000000;
	reader_start(&reader, b.sockets[1]);
	put_polls(&b, DISK_RECORDS);
	assert_true(b.sink.outputs[FILE_AT].dropped_records > 0);
	put_end(&b);
	sink_fini(&b.sink);
	assert_int_equal(b.sink.outputs[FILE_AT].error, ETIMEDOUT);
	assert_int_equal(b.sink.outputs[PEER_AT].error, 0);
	found = reader_end(&reader, &b);
	assert_int_equal(found.polls + found.reported, DISK_RECORDS);
	assert_true(found.ended);
	close(pipes[0]);
	close(pipes[1]);
	bench_close(&b);
}

/* The end of a pipe that a test reads, at its leisure: a row of its own. */
static int
take_fd(const struct output_target *target, struct err *err)
{
	(void)err;
	return target->fd;
}

static const struct output_ops output_page = {
	.name = "page",
	.what = "the page",
	.cap_bytes = 64 * 1024,
	.give_up_ns = 1000000000,
	.on_full = { OUTPUT_DROP, OUTPUT_DROP },
	.open = take_fd,
};

static void
an_output_that_drops_holds_up_no_run_in_virtual_time(void **state)
{
	struct output_target target = { .ops = &output_page };
	struct reader reader;
	struct found found;
	struct bench b = { .file_fd = -1, .sockets = { -1, -1 } };
	struct err err = { "" };
	uint64_t dropped;
	int pipes[2];

	(void)state;
	assert_int_equal(pipe2(pipes, 0), 0);
	target.fd = pipes[1];
	assert_int_equal(sink_init(&b.sink, &target, 1, &head, &err), 0);
	alarm(STUCK_S);
	put_polls(&b, RECORDS);
	dropped = sink_stats(&b.sink, &output_page).dropped_records;
	assert_true(dropped > RECORDS / 2 && dropped < RECORDS);
	assert_int_equal(sink_settle(&b.sink), 0); /* nobody keeps it: it is not waited for */
	reader_start(&reader, pipes[0]);
	put_end(&b);
	sink_fini(&b.sink);
	assert_int_equal(sink_stats(&b.sink, &output_page).error, 0);
	close(pipes[1]);
	pthread_join(reader.thread, NULL);
	found = read_stream(reader.data, reader.size);
	assert_int_equal(found.polls, RECORDS - dropped);
	assert_int_equal(found.reported, dropped);
	assert_int_equal(found.end_dropped, dropped);
	assert_null(sink_stats(&b.sink, &output_analyzer).ops);
	free(reader.data);
	close(pipes[0]);
	alarm(0);
}

UNIT_TEST(sink)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_real_time_a_stopped_analyzer_loses_whole_records),
		cmocka_unit_test(in_virtual_time_a_slow_analyzer_is_waited_for),
		cmocka_unit_test(in_virtual_time_a_stopped_analyzer_is_given_up),
		cmocka_unit_test(an_interrupt_shortens_the_wait),
		cmocka_unit_test(in_real_time_a_stopped_disk_delays_no_output),
		cmocka_unit_test(an_output_that_drops_holds_up_no_run_in_virtual_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
