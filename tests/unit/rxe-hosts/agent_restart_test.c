/* SPDX-License-Identifier: BSD-3-Clause */
/* An agent that starts again, as a scenario says it: whose, when it dies and lives again, and only where there is one. */
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
static bool stopped[8];
static uint64_t deaths;

static void
stop_agent(void *run, uint32_t node, bool stop, uint64_t now_ps)
{
	(void)run;
	assert_int_equal(now_ps, stop ? 10 * PS_PER_US : 30 * PS_PER_US);
	stopped[node] = stop;
	deaths += stop;
}

static uint64_t
agent_deaths(void *run, uint32_t node)
{
	(void)run;
	return node == 2 ? deaths : 0;
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
it_is_dead_while_it_lasts(void **state)
{
	struct fault_env env = { .stop_agent = stop_agent, .agent_deaths = agent_deaths };
	static const struct fault_work work = { .has_agents = true };
	struct fault_list list;
	struct cfg *cfg;

	(void)state;
	load(&list, &cfg,
	     "faults = ( { kind = \"agent-restart\"; host = \"2\"; start = \"10us\"; duration = \"20us\"; } );", 0);
	assert_int_equal(faults_check(&list, &work, &err), 0);
	faults_apply(&list, &env, 10 * PS_PER_US);
	assert_true(stopped[2] && !stopped[1]);
	faults_apply(&list, &env, 30 * PS_PER_US);
	assert_false(stopped[2]);
	faults_close(&list, &env);
	assert_null(fault_idle(&list.faults[0]));
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
	load(&list, &cfg, "faults = ( { kind = \"agent-restart\"; host = \"9\"; } );", -EINVAL);
	assert_non_null(strstr(err.text, "s.cfg:1"));
	faults_fini(&list);
	cfg_destroy(cfg);
	err.text[0] = '\0';
	load(&list, &cfg, "faults = ( { kind = \"agent-restart\"; host = \"2\"; } );", 0);
	assert_int_equal(faults_check(&list, &none, &err), -EINVAL);
	assert_non_null(strstr(err.text, "set pingmesh.enabled = true"));
	err.text[0] = '\0';
	assert_int_equal(faults_check(&list, &kernels, &err), -EINVAL); /* an agent that nobody reaches from here */
	assert_non_null(strstr(err.text, "is a kernel host, whose RDMA device"));
	faults_fini(&list);
	cfg_destroy(cfg);
}

UNIT_TEST(agent_restart)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_dead_while_it_lasts),
		cmocka_unit_test(it_needs_a_host_with_an_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
