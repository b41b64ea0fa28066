/* SPDX-License-Identifier: BSD-3-Clause */
/* What is spooled arrives whole and in order, and whoever spools never waits for who does not take it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/spool.h"
#include "tests/unit/unit.h"

#define CAP_BYTES 10000
#define UNIT_BYTES 24
#define UNITS 20000
#define WAIT_NS 20000000000ULL
#define STUCK_S 25

static const struct spool_waiter patient;

static struct spool *
make(int fd)
{
	const struct spool_config config = { .fd = fd, .cap_bytes = CAP_BYTES };
	struct err err = { 0 };
	struct spool *spool = spool_create(&config, "a test", &err);

	if (spool == NULL)
		fail_msg("%s", err.text);
	alarm(STUCK_S);
	return spool;
}

static void
put_unit(struct spool *spool, uint32_t n)
{
	uint8_t unit[UNIT_BYTES];

	memset(unit, (int)(n % 251), sizeof(unit));
	spool_put(spool, unit, 10); /* in parts */
	spool_put(spool, unit + 10, sizeof(unit) - 10);
	spool_commit(spool);
}

static size_t
size_of(int fd)
{
	return (size_t)lseek(fd, 0, SEEK_END);
}

static void
all_of_it_arrives_in_order(void **state)
{
	int fd = memfd_create("file", 0);
	struct spool *spool = make(fd);
	uint8_t unit[UNIT_BYTES];

	(void)state;
	for (uint32_t n = 0; n < UNITS; n++) {
		assert_int_equal(spool_wait(spool, UNIT_BYTES, WAIT_NS, &patient), 0);
		put_unit(spool, n);
	}
	assert_int_equal(spool_wait(spool, CAP_BYTES, WAIT_NS, &patient), 0);
	assert_int_equal(spool_close(spool), 0);
	assert_int_equal(size_of(fd), UNITS * UNIT_BYTES);
	for (uint32_t n = 0; n < UNITS; n++) {
		assert_int_equal(pread(fd, unit, sizeof(unit), n * UNIT_BYTES), UNIT_BYTES);
		for (uint32_t i = 0; i < UNIT_BYTES; i++)
			assert_int_equal(unit[i], n % 251);
	}
	close(fd);
}

/* What is not committed is nobody's; what is, is written without anybody asking. */
static void
what_is_committed_is_soon_written(void **state)
{
	int fd = memfd_create("file", 0);
	struct spool *spool = make(fd);

	(void)state;
	put_unit(spool, 0);
	spool_put(spool, "more", 4);
	for (uint32_t i = 0; i < 20000 && size_of(fd) == 0; i++)
		clock_sleep_until_ns(clock_now_ns() + 1000000);
	assert_int_equal(size_of(fd), UNIT_BYTES);
	assert_int_equal(spool_close(spool), 0);
	assert_int_equal(size_of(fd), UNIT_BYTES);
	close(fd);
}

/* A mark's delay ends when its bytes are written, not before, and no mark is missed. */
static void
marks_are_measured_once_written(void **state)
{
	int fd = memfd_create("file", 0);
	struct spool *spool = make(fd);
	uint64_t begun_ns = clock_now_ns(), written_ns;
	struct delays delays;

	(void)state;
	for (uint32_t n = 0; n < 100; n++) {
		spool_mark(spool, n == 0 ? begun_ns : UINT64_MAX); /* the others' moment is yet to come */
		put_unit(spool, n);
	}
	assert_int_equal(spool_wait(spool, CAP_BYTES, WAIT_NS, &patient), 0);
	written_ns = clock_now_ns() - begun_ns;
	delays = *spool_delays(spool);
	assert_int_equal(delays.count, 100);
	assert_in_range(delays.max_ns, 1, written_ns);
	assert_int_equal(delays.sum_ns, delays.max_ns);
	assert_int_equal(spool_close(spool), 0);
	close(fd);
}

/* Each is put once the one before was written; wakes that find the thread at work are not missed. */
static void
a_woken_thread_writes(void **state)
{
	int fd = memfd_create("file", 0);
	struct spool *spool = make(fd);

	(void)state;
	for (uint32_t n = 0; n < 50; n++) {
		put_unit(spool, n);
		spool_wake(spool);
		while (spool_room(spool) < CAP_BYTES)
			clock_sleep_until_ns(clock_now_ns() + 20000);
		assert_int_equal(size_of(fd), (n + 1) * UNIT_BYTES);
	}
	assert_int_equal(spool_close(spool), 0);
	close(fd);
}

/* A spool that is full, of a pipe that holds less. */
static struct spool *
make_full(int pipes[2])
{
	struct spool *spool;
	uint32_t n = 0;

	assert_int_equal(pipe(pipes), 0);
	fcntl(pipes[1], F_SETPIPE_SZ, 4096);
	spool = make(pipes[1]);
	while (spool_room(spool) >= UNIT_BYTES)
		put_unit(spool, n++);
	assert_true(n >= CAP_BYTES / UNIT_BYTES);
	return spool;
}

static void
who_does_not_take_it_is_given_up(void **state)
{
	int pipes[2];
	struct spool *spool = make_full(pipes);

	(void)state;
	assert_int_equal(spool_wait(spool, CAP_BYTES, 200000000, &patient), ETIMEDOUT);
	assert_int_equal(spool_close(spool), ETIMEDOUT);
	close(pipes[0]);
	close(pipes[1]);
}

/* A reader that waits for something else first. */
struct other_end {
	int fd;
	uint32_t calls;
	size_t got;
};

static void
read_at_last(void *ctx)
{
	struct other_end *other = ctx;
	uint8_t bytes[CAP_BYTES];
	ssize_t got = ++other->calls >= 3 ? read(other->fd, bytes, sizeof(bytes)) : 0;

	other->got += got > 0 ? (size_t)got : 0;
}

static void
the_other_end_is_served_meanwhile(void **state)
{
	struct other_end other = { 0 };
	const struct spool_waiter waiter = { .meanwhile = read_at_last, .ctx = &other };
	int pipes[2];
	struct spool *spool = make_full(pipes);

	(void)state;
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	other.fd = pipes[0];
	assert_int_equal(spool_wait(spool, CAP_BYTES, WAIT_NS, &waiter), 0);
	assert_true(other.got >= CAP_BYTES - UNIT_BYTES - 4096);
	assert_int_equal(spool_close(spool), 0);
	close(pipes[0]);
	close(pipes[1]);
}

/* A file that takes only a part of what was committed together keeps none of it. */
static void
a_full_disk_keeps_wholes(void **state)
{
	const struct rlimit little = { 2 * UNIT_BYTES + 5, RLIM_INFINITY };
	char path[] = "/tmp/rocelab-spool-XXXXXX";
	int fd = mkstemp(path);
	struct spool *spool = make(fd);
	struct rlimit before;

	(void)state;
	unlink(path);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	put_unit(spool, 0);
	assert_int_equal(spool_wait(spool, CAP_BYTES, WAIT_NS, &patient), 0);
	for (uint32_t n = 1; n < 4; n++)
		put_unit(spool, n);
	assert_int_equal(spool_wait(spool, CAP_BYTES, WAIT_NS, &patient), EFBIG);
	assert_int_equal(spool_close(spool), EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_true(size_of(fd) % UNIT_BYTES == 0 && size_of(fd) >= UNIT_BYTES);
	close(fd);
}

UNIT_TEST(spool)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_it_arrives_in_order),        cmocka_unit_test(what_is_committed_is_soon_written),
		cmocka_unit_test(marks_are_measured_once_written),   cmocka_unit_test(a_woken_thread_writes),
		cmocka_unit_test(who_does_not_take_it_is_given_up),  cmocka_unit_test(a_full_disk_keeps_wholes),
		cmocka_unit_test(the_other_end_is_served_meanwhile), cmocka_unit_test(a_full_disk_keeps_wholes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
