/* SPDX-License-Identifier: BSD-3-Clause */
/* A fabric, its switches and their settings where one allocation after another is refused: an error each time, no more. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/alloc.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

/* A leaf with all stages that a switch can have: pools, watchdog, samples, classes of its own. */
static const char clos[] =
	"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 2; rate = \"100Gbps\"; delay = "
	"\"1us\"; };\n"
	"switch = { sampling = 10; class_map = [ \"8:3\" ]; watchdog = { enabled = true; };\n"
	" buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = 1000000; } );\n"
	" buffer_profile = ( { name = \"p\"; pool = \"l\"; dynamic_th = 0; xoff = 100000; size = 1000; } );\n"
	" buffer_pg = ( \"3 p\" ); };\n"
	"switches = ( { names = [ \"l0\" ]; buffer = 2000000; } );\n"
	"ports = ( { names = [ \"l0:1\" ]; mtu = 1500; }, { names = [ \"l0:2\" ]; mtu = 1500; } );\n"
	"faults = ( { kind = \"loss\"; port = \"l0:3\"; rate = 0.1; }, { kind = \"delay\"; port = \"l0:3\"; extra = "
	"\"1us\"; } );\n";

struct world {
	struct frig rig;
	struct tiers tiers;
	struct volumes_params params;
	struct volumes_setup volumes;
	struct volumes_demand demand;
};

static int
begin(void **state)
{
	static struct world w;
	const struct flow *flow;

	memset(&w, 0, sizeof(w));
	frig_init(&w.rig, clos);
	flow = &w.rig.flows[frig_flow(&w.rig, "h2", "h0", 3)];
	w.params = (struct volumes_params){ .prediction = REC_PREDICTION_ANALYTICAL,
					    .threshold = 0.4,
					    .false_alarms = 1e-4,
					    .tolerance = 0.5,
					    .learn = 1,
					    .senders = 8,
					    .grace_ps = 10 * PS_PER_US,
					    .idle_ps = PS_PER_MS };
	assert_int_equal(tiers_init(&w.tiers, w.rig.topo), 0);
	w.demand = (struct volumes_demand){ w.rig.topo->nodes[flow->src_node].first_port,
					    w.rig.topo->nodes[flow->dst_node].first_port, 1000 };
	w.volumes = (struct volumes_setup){ .params = &w.params, .tiers = &w.tiers, .demand = &w.demand, .ndemand = 1 };
	w.rig.config.volumes = &w.volumes;
	if (frig_start(&w.rig) < 0)
		fail_msg("%s", w.rig.err.text);
	*state = &w;
	return 0;
}

static int
end(void **state)
{
	struct world *w = *state;

	tiers_fini(&w->tiers);
	frig_stop(&w->rig);
	return 0;
}

/* @return how many allocations a leaf needs */
static uint32_t
create_leaf(struct world *w)
{
	uint32_t id = topo_find(w->rig.topo, "l0"), refused = 0;

	FOR_EACH_REFUSED(nth)
	{
		struct err err = { 0 };
		struct node *node = NULL;
		struct sw *sw = switch_create(&w->rig.config, id, &err);
		bool was = alloc_was_refused();

		if ((sw == NULL) != was || (was && strstr(err.text, "memory") == NULL))
			fail_msg("allocation %u: \"%s\"", (unsigned)nth, err.text);
		if (!was) {
			node = &sw->node;
			node_destroy(node);
			break;
		}
		assert_int_equal(errno, ENOMEM);
		refused++;
	}
	return refused;
}

static void
a_switch_without_memory_is_refused(void **state)
{
	static const enum balance_kind kinds[] = { BALANCE_ECMP, BALANCE_RANDOM, BALANCE_ADAPTIVE };
	struct world *w = *state;
	uint32_t needed[3];

	for (size_t i = 0; i < 3; i++) {
		w->rig.config.balance.ops = balance_kinds[kinds[i]];
		needed[i] = create_leaf(w);
	}
	assert_true(needed[0] > 30 && needed[1] > needed[0] && needed[2] > needed[0]); /* sets of spread flows */
}

static void
a_fabric_without_memory_is_refused(void **state)
{
	struct world *w = *state;
	struct fabric_config config = w->rig.fabric_config;
	uint32_t refused = 0;

	config.inband = true;
	FOR_EACH_REFUSED(nth)
	{
		struct err err = { 0 };
		struct fabric *fabric = fabric_create(&config, &err);
		bool was = alloc_was_refused();

		if ((fabric == NULL) != was || (was && strstr(err.text, "out of memory for") == NULL))
			fail_msg("allocation %u: \"%s\"", (unsigned)nth, err.text);
		fabric_destroy(fabric);
		if (!was)
			break;
		assert_int_equal(errno, ENOMEM);
		refused++;
	}
	assert_true(refused > w->rig.topo->nports);
}

static void
settings_without_memory_are_refused(void **state)
{
	struct world *w = *state;
	uint32_t refused = 0;

	FOR_EACH_REFUSED(nth)
	{
		struct switch_setup setup = { 0 };
		struct err err = { 0 };
		int ret = switch_setup_load(&setup, w->rig.cfg, w->rig.topo, &err);
		bool was = alloc_was_refused();

		if (ret != (was ? -ENOMEM : 0) || (was && strstr(err.text, "memory") == NULL))
			fail_msg("allocation %u: %d, \"%s\"", (unsigned)nth, ret, err.text);
		switch_setup_fini(&setup);
		if (!was)
			break;
		refused++;
	}
	assert_true(refused > 8);
}

static void
faults_without_memory_are_refused(void **state)
{
	struct world *w = *state;
	uint32_t refused = 0;

	FOR_EACH_REFUSED(nth)
	{
		struct fault_list list = { 0 };
		struct err err = { 0 };
		int ret = faults_load(&list, switch_faults, w->rig.cfg, w->rig.topo, &err);
		bool was = alloc_was_refused();

		if (ret != (was ? -ENOMEM : 0) || (was && strstr(err.text, "memory") == NULL))
			fail_msg("allocation %u: %d, \"%s\"", (unsigned)nth, ret, err.text);
		assert_true(was || list.count == 2);
		faults_fini(&list);
		if (!was)
			break;
		refused++;
	}
	assert_true(refused >= 3);
}

UNIT_TEST(memory)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_switch_without_memory_is_refused),
		TEST(a_fabric_without_memory_is_refused),
		TEST(settings_without_memory_are_refused),
		TEST(faults_without_memory_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
