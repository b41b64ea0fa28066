/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting programs and ending them. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/child.h"
#include "common/clock.h"
#include "tests/unit/unit.h"

#define STARTS 200 /* a signal that comes too early is lost in most of them */

static void
on_signal(int signal)
{
	(void)signal;
}

/* However early a signal comes, even before the child is another program: it ends it. */
static void
early_signal_is_not_lost(void **state)
{
	const struct sigaction action = { .sa_handler = on_signal };
	const struct child_args args = { .argv = { "sleep", "20" }, .count = 2 };
	struct sigaction before;
	struct err err = { 0 };

	(void)state;
	sigaction(SIGTERM, &action, &before);
	for (int i = 0; i < STARTS; i++) {
		pid_t pid = child_start("/bin/sleep", &args, false, &err);

		assert_true(pid > 0);
		kill(pid, SIGTERM);
		assert_int_equal(child_wait(pid), CHILD_KILLED + SIGTERM);
	}
	sigaction(SIGTERM, &before, NULL);
}

/* What a parent blocks or ignores before it starts a program stays as it was, on both sides. */
static void
blocked_signals_return(void **state)
{
	const struct child_args args = { .argv = { "sh", "-c", "kill -TERM $$; exit 3" }, .count = 3 };
	struct err err = { 0 };
	sigset_t set;
	pid_t pid;

	(void)state;
	pid = child_start("/bin/sh", &args, false, &err);
	assert_int_equal(child_wait(pid), CHILD_KILLED + SIGTERM);
	sigprocmask(SIG_BLOCK, NULL, &set);
	assert_false(sigismember(&set, SIGTERM));
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pid = child_start("/bin/sh", &args, false, &err);
	assert_int_equal(child_wait(pid), 3);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void
interrupts_can_be_ignored(void **state)
{
	const struct child_args args = { .argv = { "sh", "-c", "kill -INT $$; exit 3" }, .count = 3 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(child_wait(child_start("/bin/sh", &args, true, &err)), 3);
	assert_int_equal(child_wait(child_start("/bin/sh", &args, false, &err)), CHILD_KILLED + SIGINT);
}

#define LOOKS 3000
#define LOOK_NS 10000000ULL
#define IDLE_NS 300000000ULL

/* Looks at a child until it has been idle for so long. @return whether it has, within LOOKS looks */
static bool
falls_idle(pid_t pid, uint32_t looks)
{
	struct child_watch watch = { .pid = pid };

	for (uint32_t i = 0; i < looks; i++) {
		if (child_idle_ns(&watch) >= IDLE_NS)
			return true;
		clock_sleep_until_ns(clock_now_ns() + LOOK_NS);
	}
	return false;
}

/* One that computes is busy however little of a processor it gets; one that is stopped is not, and hears no SIGTERM. */
static void
a_stopped_child_is_idle_and_can_be_ended(void **state)
{
	const struct child_args args = { .argv = { "sh", "-c", "while :; do :; done" }, .count = 3 };
	struct err err = { 0 };
	pid_t pid = child_start("/bin/sh", &args, false, &err);

	(void)state;
	assert_true(pid > 0);
	assert_false(falls_idle(pid, 40));
	kill(pid, SIGSTOP);
	assert_true(falls_idle(pid, LOOKS));
	assert_int_equal(child_end(pid), CHILD_KILLED + SIGKILL);
	pid = child_start("/bin/sh", &args, false, &err);
	assert_int_equal(child_end(pid), CHILD_KILLED + SIGTERM);
}

/* Time between two looks that are far apart counts as little: whoever looked was stopped, or asleep. */
static void
a_stall_timer_counts_running_time(void **state)
{
	struct stall_timer stall_timer = { 0 };

	(void)state;
	assert_int_equal(stall_timer_look(&stall_timer, 5 * STALL_TIMER_SLICE_NS), 0);
	assert_int_equal(stall_timer_look(&stall_timer, 5 * STALL_TIMER_SLICE_NS + 7), 7);
	assert_int_equal(stall_timer_look(&stall_timer, 900 * STALL_TIMER_SLICE_NS), 7 + STALL_TIMER_SLICE_NS);
	stall_timer_renew(&stall_timer);
	assert_int_equal(stall_timer_look(&stall_timer, 900 * STALL_TIMER_SLICE_NS + 3), 3);
}

UNIT_TEST(child)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(early_signal_is_not_lost),
		cmocka_unit_test(blocked_signals_return),
		cmocka_unit_test(interrupts_can_be_ignored),
		cmocka_unit_test(a_stopped_child_is_idle_and_can_be_ended),
		cmocka_unit_test(a_stall_timer_counts_running_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
