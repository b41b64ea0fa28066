/* SPDX-License-Identifier: BSD-3-Clause */
/* An impossible guest is refused before anything starts, or its supervisor reports it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "rxe-hosts/guest/guest.h"
#include "rxe-hosts/guest/kind.h"
#include "tests/unit/unit.h"

#define WAIT_MS 20000
#define POLL_MS 10

static char dir[] = "/tmp/rocelab-guest-config-XXXXXX";
static struct guest_config good;
static const char *const kernel_files[] = { "kernel", "supervisor", "child" };

static int
setup(void **state)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	good = (struct guest_config){ .kind = "uml", .name = "h1", .dir = dir, .init = "/bin/true", .manage_fd = -1 };
	return mkdtemp(dir) == NULL;
}

static int
teardown(void **state)
{
	char log[64];

	snprintf(log, sizeof(log), "%s/h1.log", dir);
	unlink(log);
	return rmdir(dir); /* fails if anything else was left */
}

static void
refuses(const struct guest_config *config, int code, const char *word)
{
	struct guest *guest = NULL;
	struct err err = { 0 };

	assert_int_equal(guest_start(config, &guest, &err), code);
	assert_null(guest);
	if (strstr(err.text, word) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, word);
}

static void
impossible_guests_are_refused(void **state)
{
	static const char *const names[] = { "", "h 1", "../h1", "h/1", ".h", "a-name-of-more-than-31-characters" };
	struct guest_config config;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		config = good;
		config.name = names[i];
		refuses(&config, -EINVAL, "letters");
	}
	config = good;
	config.kind = "xen";
	refuses(&config, -EINVAL, "uml, qemu and netns");
	config = good;
	config.init = "/nonexistent/rxe-guest-init";
	refuses(&config, -ENOENT, "ninja");
	config = good;
	config.dir = "/nonexistent";
	refuses(&config, -ENOENT, "/nonexistent");
	config = good;
	config.nic = "/tmp/socket";
	refuses(&config, -EINVAL, "address");
	config.ip = 0x0100000a;
	config.prefix_bits = 24;
	config.mtu_bytes = 4500;
	config.nic = "/tmp/a socket";
	refuses(&config, -EINVAL, "blanks");
}

/* The supervisor finds out, and says so instead of hanging. */
static void
supervisor_reports(const char *kind, const char *kernel, const char *word)
{
	struct guest_config config = good;
	struct guest *guest;
	struct err err = { 0 };

	config.kind = kind;
	config.kernel = kernel;
	assert_int_equal(guest_start(&config, &guest, &err), 0);
	assert_int_equal(guest_wait(guest, GUEST_UP, WAIT_MS, &err), -ECONNRESET);
	assert_int_equal(guest_poll(guest)->state, GUEST_ENDED);
	assert_int_equal(guest_poll(guest)->exit_status, -1);
	if (strstr(err.text, word) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, word);
	guest_stop(guest);
}

static void
missing_kernel_is_reported(void **state)
{
	supervisor_reports("uml", NULL, "scripts/rxe-kernel");
	supervisor_reports("uml", "/nonexistent/linux", "/nonexistent/linux");
}

static void
kernel_that_ends_at_once_is_reported(void **state)
{
	supervisor_reports("uml", "/bin/false", "status 1");
}

/* Not a guest: nothing of it may be left when the supervisor gives up on it. */
static void
two_of_one_name_follow_each_other(void **state)
{
	for (int i = 0; i < 3; i++)
		supervisor_reports("uml", "/bin/false", "by itself");
}

/* @return the number in a file of the folder as soon as it has a line, or 0 after WAIT_MS */
static int
number_in(const char *name)
{
	char path[PATH_MAX], line[32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (int i = 0; i < WAIT_MS / POLL_MS; i++, clock_sleep_until_ns(clock_now_ns() + POLL_MS * 1000000ULL)) {
		FILE *file = fopen(path, "re");
		bool whole = file != NULL && fgets(line, sizeof(line), file) != NULL && strchr(line, '\n') != NULL;

		if (file != NULL)
			fclose(file);
		if (whole)
			return atoi(line);
	}
	return 0;
}

/* @return whether a process ends within WAIT_MS; whether it is waited for is not ours to say */
static bool
ends(int pid)
{
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (int i = 0; i < WAIT_MS / POLL_MS; i++, clock_sleep_until_ns(clock_now_ns() + POLL_MS * 1000000ULL)) {
		FILE *file = fopen(path, "re");
		const char *behind = file != NULL && fgets(line, sizeof(line), file) != NULL ? strrchr(line, ')') : NULL;
		bool ended = behind == NULL || behind[2] == 'Z';

		if (file != NULL)
			fclose(file);
		if (ended)
			return true;
	}
	return false;
}

/* As user-mode Linux, which wants a session of its own, and has children while it boots: no death signal reaches those. */
static void
nothing_outlives_a_supervisor_that_is_killed(void **state)
{
	static const char script[] =
		"#!/usr/bin/perl\nuse POSIX;\nPOSIX::setsid();\n$0 =~ m{(.*)/} and chdir $1;\n"
		"my $pid = fork;\nexec qw(sleep 600) if !$pid;\n"
		"for (['child', $pid], ['supervisor', getppid]) { open my $to, '>', $_->[0]; print $to "
		"\"$_->[1]\\n\"; }\nwait;\n";
	struct guest_config config = good;
	struct guest *guest;
	struct err err = { 0 };
	char kernel[PATH_MAX];
	int supervisor, child;
	FILE *file;

	snprintf(kernel, sizeof(kernel), "%s/kernel", dir);
	file = fopen(kernel, "we");
	assert_non_null(file);
	fputs(script, file);
	assert_int_equal(fchmod(fileno(file), 0700), 0);
	assert_int_equal(fclose(file), 0);
	config.kernel = kernel;
	assert_int_equal(guest_start(&config, &guest, &err), 0);
	supervisor = number_in("supervisor");
	child = number_in("child");
	assert_true(supervisor > 1 && child > 1);
	assert_false(kill(child, 0) < 0);
	assert_int_equal(kill(supervisor, SIGKILL), 0);
	assert_true(ends(child));
	assert_int_equal(guest_wait(guest, GUEST_UP, WAIT_MS, &err), -ECONNRESET);
	assert_non_null(strstr(err.text, "its supervisor was killed"));
	guest_stop(guest);
	for (size_t i = 0; i < ARRAY_LEN(kernel_files); i++) {
		snprintf(kernel, sizeof(kernel), "%s/%s", dir, kernel_files[i]);
		assert_int_equal(unlink(kernel), 0);
	}
}

static void
command_lines_have_a_limit(void **state)
{
	static struct guest_words words;
	struct err err = { 0 };

	for (int i = 0; i < GUEST_MAX_WORDS; i++)
		assert_int_equal(guest_word(&words, &err, "word%d", i), 0);
	assert_string_equal(words.word[5], "word5");
	assert_null(words.word[GUEST_MAX_WORDS]);
	assert_int_equal(guest_word(&words, &err, "one more"), -E2BIG);
	words = (struct guest_words){ 0 };
	assert_int_equal(guest_word(&words, &err, "%20000s", ""), -E2BIG);
	assert_int_equal(words.count, 0);
}

UNIT_TEST(guest_config)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(impossible_guests_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(missing_kernel_is_reported, setup, teardown),
		cmocka_unit_test_setup_teardown(kernel_that_ends_at_once_is_reported, setup, teardown),
		cmocka_unit_test_setup_teardown(two_of_one_name_follow_each_other, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_outlives_a_supervisor_that_is_killed, setup, teardown),
		cmocka_unit_test(command_lines_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
