/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting DPDK's lcores, which a process does once: each test in a child of its own. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/wait.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include <cmocka.h>

#include "dpswitch/lcore/launch.h"
#include "tests/unit/unit.h"

/* In a child: what is not so ends it, with a line of standard output that says what. */
#define EXPECT(is)                                                                                                         \
	do {                                                                                                               \
		if (!(is)) {                                                                                               \
			printf("%s:%d: not so: %s\n", __func__, __LINE__, #is);                                            \
			exit(1);                                                                                           \
		}                                                                                                          \
	} while (0)

static void
in_child(void (*body)(void))
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		body();
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
refuse(const struct lcore_config *config, const char *text)
{
	struct err err = { 0 };

	EXPECT(lcore_init(config, &err) < 0);
	if (strstr(err.text, text) == NULL) {
		printf("not \"%s\": %s\n", text, err.text);
		exit(1);
	}
}

static void
numbers_out_of_bounds(void)
{
	refuse(&(struct lcore_config){ .lcores = 0 }, "--lcores 0: give 1 to");
	refuse(&(struct lcore_config){ .lcores = FABRIC_MAX_LCORES + 1 }, "give 1 to");
	/* with nothing of the user's, the reason is EAL's alone: it cannot hold as many MB */
	refuse(&(struct lcore_config){ .lcores = 1, .memory_mb = 1u << 30 },
	       "DPDK's EAL does not start with 1073741824 MB: ");
}

static void
bad_numbers_are_refused(void **state)
{
	(void)state;
	in_child(numbers_out_of_bounds);
}

static cpu_set_t found;

static int
find_cpus(void *arg)
{
	(void)arg;
	sched_getaffinity(0, sizeof(found), &found);
	return 0;
}

/* All lcores have all CPUs of the process, and a thread that is none keeps them while it is not pinned. */
static void
lcores_on_all_cpus(void)
{
	cpu_set_t all, mine;
	struct err err = { 0 };

	EXPECT(sched_getaffinity(0, sizeof(all), &all) == 0);
	EXPECT(lcore_init(&(struct lcore_config){ .lcores = 2, .floats = true }, &err) == 0);
	EXPECT(lcore_process_cpus() == (uint32_t)CPU_COUNT(&all));
	EXPECT(rte_eal_remote_launch(find_cpus, NULL, 1) == 0 && rte_eal_wait_lcore(1) == 0);
	EXPECT(CPU_EQUAL(&found, &all));
	EXPECT(sched_getaffinity(0, sizeof(mine), &mine) == 0 && CPU_EQUAL(&mine, &all));
	lcore_fini();
}

static void
lcores_on_a_cpu_each(void)
{
	cpu_set_t all, mine;
	struct err err = { 0 };

	EXPECT(sched_getaffinity(0, sizeof(all), &all) == 0);
	EXPECT(lcore_init(&(struct lcore_config){ .lcores = 2 }, &err) == 0);
	EXPECT(rte_eal_remote_launch(find_cpus, NULL, 1) == 0 && rte_eal_wait_lcore(1) == 0);
	EXPECT(CPU_COUNT(&found) == 1);
	EXPECT(sched_getaffinity(0, sizeof(mine), &mine) == 0 && CPU_COUNT(&mine) == 1 && !CPU_EQUAL(&mine, &found));
	lcore_unpin();
	EXPECT(sched_getaffinity(0, sizeof(found), &found) == 0 && CPU_EQUAL(&found, &all));
	lcore_pin();
	EXPECT(sched_getaffinity(0, sizeof(found), &found) == 0 && CPU_EQUAL(&found, &mine));
	lcore_fini();
}

static atomic_bool released;

static int
stay(void *arg)
{
	(void)arg;
	while (!atomic_load(&released))
		sched_yield();
	return 0;
}

/* An lcore that has other work does not start: reported, and nothing of the fabric has run. */
static void
lcore_that_is_busy(void)
{
	struct err err = { 0 };

	EXPECT(lcore_init(&(struct lcore_config){ .lcores = 2, .floats = true }, &err) == 0);
	EXPECT(rte_eal_remote_launch(stay, NULL, 1) == 0);
	EXPECT(lcore_run(NULL, &err) == -EIO);
	EXPECT(strcmp(err.text, "lcore 1 does not start") == 0);
	atomic_store(&released, true);
	EXPECT(rte_eal_wait_lcore(1) == 0);
	lcore_fini();
}

static void
lcores_have_their_cpus(void **state)
{
	cpu_set_t cpus;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	if (CPU_COUNT(&cpus) < 2)
		skip();
	in_child(lcores_on_all_cpus);
	in_child(lcores_on_a_cpu_each);
	in_child(lcore_that_is_busy);
}

static void
hops_are_timed(void)
{
	struct err err = { 0 };
	double ns;

	EXPECT(lcore_init(&(struct lcore_config){ .lcores = 1 }, &err) == 0);
	ns = calibration_macswap_ns(100000, &err);
	EXPECT(ns > 0.1 && ns < 1e6);
	lcore_fini();
}

static void
calibration(void **state)
{
	(void)state;
	in_child(hops_are_timed);
}

UNIT_TEST(lcore)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_numbers_are_refused),
		cmocka_unit_test(lcores_have_their_cpus),
		cmocka_unit_test(calibration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
