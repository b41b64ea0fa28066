/* SPDX-License-Identifier: BSD-3-Clause */
/* What tasks waited for a processor, as the kernel counts it; skipped where it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/run_delay.h"
#include "tests/unit/unit.h"

#define MS_NS 1000000ULL
#define MOST_NS (5000 * MS_NS) /* a wait this test gives up after */

/* A process that never sleeps, on one CPU. */
static pid_t
spin_on(int cpu)
{
	pid_t pid = fork();
	cpu_set_t set;

	if (pid != 0)
		return pid;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (uint64_t end_ns = clock_now_ns() + 2 * MOST_NS; clock_now_ns() < end_ns;)
		;
	unit_exit(0);
}

static int
first_cpu(void)
{
	cpu_set_t set;
	int cpu = 0;

	sched_getaffinity(0, sizeof(set), &set);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	return cpu;
}

static void
end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Of two on one CPU each waits for half of the time; both are descendants of this process. */
static void
test_two_on_one_processor_wait(void **state)
{
	uint64_t waited_ns = 0, more_ns, begin_ns = clock_now_ns(), took_ns;
	pid_t one, other;
	struct run_delay delay, all;

	if (!run_delay_available())
		skip();
	one = spin_on(first_cpu());
	other = spin_on(first_cpu());
	assert_int_equal(run_delay_tree(&delay, one), 0);
	assert_int_equal(run_delay_tree(&all, getpid()), 0);
	assert_int_equal(delay.ntasks, 1);
	assert_int_equal(all.ntasks, 3);
	while (waited_ns < 20 * MS_NS && clock_now_ns() - begin_ns < MOST_NS) {
		clock_sleep_until_ns(clock_now_ns() + 5 * MS_NS);
		assert_int_equal(run_delay_read(&delay, &more_ns), 0);
		waited_ns += more_ns;
	}
	took_ns = clock_now_ns() - begin_ns;
	assert_in_range(waited_ns, 20 * MS_NS, took_ns);
	assert_int_equal(run_delay_read(&all, &more_ns), 0);
	assert_true(more_ns >= waited_ns);
	end(one);
	end(other);
	assert_int_equal(run_delay_read(&delay, &more_ns), -ESRCH);
	for (int i = 0; i < 20; i++) /* those that have ended are none of its tasks any more */
		assert_int_equal(run_delay_read(&all, &more_ns), 0);
	assert_int_equal(all.ntasks, 1);
	run_delay_fini(&delay);
	run_delay_fini(&all);
}

static void
test_a_thread_of_its_own(void **state)
{
	struct run_delay delay;
	uint64_t waited_ns;

	if (!run_delay_available())
		skip();
	assert_int_equal(run_delay_thread(&delay, getpid()), 0);
	assert_int_equal(run_delay_read(&delay, &waited_ns), 0);
	run_delay_fini(&delay);
}

static void
test_no_process(void **state)
{
	pid_t gone = fork();
	struct run_delay delay;

	if (gone == 0)
		unit_exit(0);
	waitpid(gone, NULL, 0);
	assert_int_equal(run_delay_tree(&delay, gone), -ESRCH);
	assert_int_equal(run_delay_thread(&delay, gone), -ESRCH);
}

UNIT_TEST(run_delay)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_on_one_processor_wait),
		cmocka_unit_test(test_a_thread_of_its_own),
		cmocka_unit_test(test_no_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
