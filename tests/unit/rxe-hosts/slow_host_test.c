/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of hosts as a scenario says them: whom, at which step, how long. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/units.h"
#include "rxe-hosts/faults/host_faults.h"
#include "tests/unit/rxe-hosts/star.h"
#include "tests/unit/unit.h"

static struct star star;
static struct err err;

static int
setup(void **state)
{
	star_init(&star, 4);
	err.text[0] = '\0';
	return 0;
}

/* @return what faults_load() does with the host faults of a text */
static int
load_faults(struct fault_list *list, struct cfg **cfg, const char *text)
{
	*list = (struct fault_list){ 0 };
	*cfg = cfg_load_string(text, "s.cfg", &err);
	assert_non_null(*cfg);
	return faults_load(list, host_faults, *cfg, &star.topo, &err);
}

static void
slow_hosts_add_up(void **state)
{
	struct fault_list list;
	struct cfg *cfg;

	assert_int_equal(load_faults(&list, &cfg,
				     "faults = ( { kind = \"slow-host\"; host = \"2\"; delay = \"5us\"; }, { kind = "
				     "\"slow-host\"; host = \"2\"; step = 3; collective = 1; delay = \"1us\"; } );"),
			 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(faults_start_delay_ps(&list, 2, 0, 1), 5 * PS_PER_US);
	assert_int_equal(faults_start_delay_ps(&list, 2, 1, 3), 6 * PS_PER_US);
	assert_int_equal(faults_start_delay_ps(&list, 2, 0, 3), 5 * PS_PER_US);
	assert_int_equal(faults_start_delay_ps(&list, 1, 1, 3), 0);
	assert_int_equal(faults_next_ps(&list, 0), TIME_NEVER); /* hosts ask; nothing is switched */
	faults_fini(&list);
	cfg_destroy(cfg);
}

static void
slow_hosts_need_a_host_and_a_step(void **state)
{
	static const uint32_t steps[] = { 4, 2 };
	static const struct fault_work work = { .steps = steps, .ncollectives = 2 };
	struct fault_list list;
	struct cfg *cfg;

	assert_int_equal(load_faults(&list, &cfg, "faults = ( { kind = \"slow-host\"; host = \"4\"; delay = \"1us\"; } );"),
			 -EINVAL); /* a switch */
	assert_non_null(strstr(err.text, "s.cfg:1"));
	faults_fini(&list);
	cfg_destroy(cfg);
	err.text[0] = '\0';
	assert_int_equal(
		load_faults(&list, &cfg,
			    "faults = ( { kind = \"slow-host\"; host = \"2\"; step = 4; delay = \"1us\"; }, { kind = "
			    "\"slow-host\"; host = \"2\"; step = 3; collective = 1; delay = \"1us\"; } );"),
		0);
	assert_int_equal(faults_check(&list, &work, &err), -EINVAL); /* collective 1 has two */
	assert_non_null(strstr(err.text, "3: a rank has steps 1 to 2"));
	list.count = 1;
	assert_int_equal(faults_check(&list, &work, &err), 0);
	faults_fini(&list);
	cfg_destroy(cfg);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

UNIT_TEST(slow_host)
{
	const struct CMUnitTest tests[] = {
		TEST(slow_hosts_add_up),
		TEST(slow_hosts_need_a_host_and_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
