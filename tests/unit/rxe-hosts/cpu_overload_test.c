/* SPDX-License-Identifier: BSD-3-Clause */
/* An overloaded CPU as a scenario says it: whose, when, and only where there is an agent to be late. */
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
static uint64_t load_ps[8], handled;

static void
load_cpu(void *run, uint32_t node, uint64_t ps)
{
	(void)run;
	load_ps[node] = ps;
}

static uint64_t
overloaded(void *run, uint32_t node)
{
	(void)run;
	return node == 2 ? handled : 0;
}

static void
load(struct fault_list *list, struct cfg **cfg, const char *text, int as)
{
	*list = (struct fault_list){ 0 };
	star_init(&star, 4);
	*cfg = cfg_load_string(text, "s.cfg", &err);
	assert_non_null(*cfg);
	assert_int_equal(faults_load(list, host_faults, *cfg, &star.topo, &err), as);
}

static void
it_is_late_while_it_lasts(void **state)
{
	struct fault_env env = { .load_cpu = load_cpu, .cpu_overloaded = overloaded };
	static const struct fault_work work = { .has_agents = true };
	struct fault_list list;
	struct cfg *cfg;

	(void)state;
	load(&list, &cfg,
	     "faults = ( { kind = \"cpu-overload\"; host = \"2\"; delay = \"3ms\"; start = \"10us\"; duration = \"20us\"; "
	     "} );",
	     0);
	assert_int_equal(faults_check(&list, &work, &err), 0);
	assert_int_equal(faults_next_ps(&list, 0), 10 * PS_PER_US);
	faults_apply(&list, &env, 10 * PS_PER_US);
	assert_int_equal(load_ps[2], 3 * PS_PER_MS);
	assert_int_equal(load_ps[1], 0);
	handled = 5;
	faults_apply(&list, &env, 30 * PS_PER_US);
	assert_int_equal(load_ps[2], 0);
	faults_close(&list, &env);
	assert_null(fault_idle(&list.faults[0]));
	faults_fini(&list);
	cfg_destroy(cfg);
}

/* Steps of its ranks, if it is asked to, as long as it lasts. */
static void
steps_start_later_meanwhile(void **state)
{
	struct fault_env env = { .load_cpu = load_cpu, .cpu_overloaded = overloaded };
	struct fault_list list;
	struct cfg *cfg;

	(void)state;
	load(&list, &cfg,
	     "faults = ( { kind = \"cpu-overload\"; host = \"2\"; delay = \"3ms\"; steps = true; start = \"10us\"; "
	     "duration = \"20us\"; }, { kind = \"cpu-overload\"; host = \"1\"; delay = \"3ms\"; } );",
	     0);
	assert_int_equal(faults_start_delay_ps(&list, 2, 0, 1), 0);
	faults_apply(&list, &env, 10 * PS_PER_US);
	assert_int_equal(faults_start_delay_ps(&list, 2, 0, 1), 3 * PS_PER_MS);
	assert_int_equal(faults_start_delay_ps(&list, 1, 0, 1), 0);
	faults_apply(&list, &env, 30 * PS_PER_US);
	assert_int_equal(faults_start_delay_ps(&list, 2, 0, 1), 0);
	faults_fini(&list);
	cfg_destroy(cfg);
}

static void
it_needs_a_host_with_an_agent(void **state)
{
	static const bool own_kernel[8] = { true, true, true, true, true, true, true, true };
	static const struct fault_work none = { 0 }, kernels = { .has_agents = true, .own_kernel = own_kernel };
	struct fault_list list;
	struct cfg *cfg;

	(void)state;
	load(&list, &cfg, "faults = ( { kind = \"cpu-overload\"; host = \"9\"; delay = \"3ms\"; } );", -EINVAL);
	assert_non_null(strstr(err.text, "s.cfg:1"));
	faults_fini(&list);
	cfg_destroy(cfg);
	err.text[0] = '\0';
	load(&list, &cfg, "faults = ( { kind = \"cpu-overload\"; host = \"2\"; delay = \"3ms\"; } );", 0);
	assert_int_equal(faults_check(&list, &none, &err), -EINVAL);
	assert_non_null(strstr(err.text, "set pingmesh.enabled = true"));
	err.text[0] = '\0';
	assert_int_equal(faults_check(&list, &kernels, &err), -EINVAL); /* an agent that nobody reaches from here */
	assert_non_null(strstr(err.text, "is a kernel host, whose RDMA device"));
	faults_fini(&list);
	cfg_destroy(cfg);
}

UNIT_TEST(cpu_overload)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_late_while_it_lasts),
		cmocka_unit_test(steps_start_later_meanwhile),
		cmocka_unit_test(it_needs_a_host_with_an_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
