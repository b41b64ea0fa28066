/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads of links, what chance makes of them, and a search for better ways. */
#include <math.h>

#include "tests/unit/topo/topo_rig.h"
#include "topo/advise.h"
#include "topo/bond.h"
#include "topo/load.h"

#define TESTBED "topology = { kind = \"dual-tor\"; hosts = 16; hosts_per_rack = 8; nics = 2; spines = 4; parallel = 4; };\n"
#define FLOWS 256

struct rig {
	struct cfg *cfg;
	struct topo *topo;
	struct route_table *table;
	struct routing routing;
	struct topo_load load;
	struct flow flows[FLOWS];
};

/* FlowTracer's: eight pairs across the racks, 16 flows each way. */
static void
start(struct rig *rig, const char *text, uint64_t seed)
{
	rig->topo = make_topo(text, &rig->cfg);
	rig->table = route_table_create(rig->topo);
	rig->routing = (struct routing){ .topo = rig->topo, .table = rig->table, .seed = seed };
	assert_int_equal(topo_load_init(&rig->load, rig->topo), 0);
	for (uint32_t i = 0; rig->topo->nhosts == 16 && i < FLOWS; i++) {
		uint32_t host = i / 16, peer = (host + 8) % 16;
		struct flow *flow = &rig->flows[i];

		*flow = (struct flow){
			.src_node = host,
			.dst_node = peer,
			.src_ip = topo_nic_ip(host, 0),
			.dst_ip = topo_nic_ip(peer, 0),
			.sport = (uint16_t)(49152 + i % 16),
			.dport = 4791,
		};
		bond_place(&rig->routing, flow);
	}
}

static void
stop(struct rig *rig)
{
	topo_load_fini(&rig->load);
	route_table_destroy(rig->table);
	topo_destroy(rig->topo);
	cfg_destroy(rig->cfg);
}

static uint16_t
group_named(const struct rig *rig, const char *name)
{
	char buf[40];

	for (uint16_t g = 0; g < rig->load.ngroups; g++)
		if (strcmp(topo_load_name(&rig->load, g, buf), name) == 0 &&
		    topo_load_fim((struct topo_load *)&rig->load, g).links)
			return g;
	fail_msg("no group %s", name);
	return 0;
}

static void
load_hashed(struct rig *rig, int by)
{
	for (uint32_t i = 0; i < FLOWS; i++) {
		struct route_path path;

		assert_int_equal(route_flow_path(&rig->routing, &rig->flows[i], false, &path), 0);
		topo_load_add(&rig->load, &path, by);
	}
}

static void
every_layer_has_its_links(void **state)
{
	struct rig rig;

	start(&rig, TESTBED, 1);
	load_hashed(&rig, 1);
	for (int i = 0; i < 4; i++) {
		const char *const names[] = { "host-to-leaf", "leaf-to-spine", "spine-to-leaf", "leaf-to-host" };
		struct fim fim = topo_load_fim(&rig.load, group_named(&rig, names[i]));

		assert_int_equal(fim.links, 64);
		assert_true(fim.ideal == 4 && fim.percent > 20 && fim.percent < 55);
	}
	assert_int_equal(topo_load_fim(&rig.load, FIM_ALL).links, 256);
	load_hashed(&rig, -1);
	assert_int_equal(topo_load_fim(&rig.load, FIM_ALL).links, 0);
	stop(&rig);
}

/* Means of 400 seeds against the closed form: a seed's deviates by about 3 points in a layer, its mean by 0.15. */
static void
chance_is_as_expected(void **state)
{
	enum { SEEDS = 400 };
	double sums[FIM_MAX_GROUPS] = { 0 }, expected[FIM_MAX_GROUPS], all, switches;
	struct rig rig;

	start(&rig, TESTBED, 1);
	assert_int_equal(topo_load_expect(&rig.load, rig.table, rig.flows, FLOWS, expected, &all, &switches), 0);
	load_hashed(&rig, 1);
	assert_float_equal(expected[group_named(&rig, "leaf-to-spine")], fim_expected(128, 32), 1e-9);
	assert_float_equal(expected[group_named(&rig, "spine-to-leaf")], fim_expected(128, 32), 1e-9);
	assert_float_equal(expected[group_named(&rig, "leaf-to-host")], fim_expected(16, 4), 1e-9);
	assert_float_equal(switches, (2 * fim_expected(128, 32) + fim_expected(16, 4)) / 3, 1e-9);
	assert_float_equal(all, (fim_expected(128, 32) + fim_expected(16, 4)) / 2, 1e-9);
	stop(&rig);
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		start(&rig, TESTBED, seed);
		load_hashed(&rig, 1);
		for (uint16_t g = 0; g < rig.load.ngroups; g++)
			sums[g] += topo_load_fim(&rig.load, g).percent / SEEDS;
		stop(&rig);
	}
	for (uint16_t g = 0; g < FIM_MAX_GROUPS && sums[g] != 0; g++)
		assert_float_equal(sums[g], expected[g], 0.8);
}

/* A leaf with one more link to one spine than to the other: its spines' links are not alike, and have no closed form. */
static void
no_closed_form_is_said(void **state)
{
	double expected[FIM_MAX_GROUPS], all, switches;
	struct rig rig;

	start(&rig,
	      "topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"l\", \"m\", \"s\", \"t\" ];\n"
	      " links = ( \"a l\", \"b m\", \"l s\", \"l s\", \"l t\", \"s m\", \"t m\" ); };",
	      1);
	rig.flows[0] = (struct flow){ .src_node = 0, .dst_node = 1 };
	rig.flows[1] = (struct flow){ .src_node = 0, .dst_node = 1, .sport = 1 };
	assert_int_equal(topo_load_expect(&rig.load, rig.table, rig.flows, 2, expected, &all, &switches), 0);
	assert_true(isnan(all) && isnan(switches));
	stop(&rig);
}

static void
check_advice(struct rig *rig, enum advise_by by, double most_percent)
{
	double before;
	struct advice advice;

	load_hashed(rig, 1);
	before = topo_load_fim(&rig->load, FIM_ALL).percent;
	load_hashed(rig, -1);
	assert_int_equal(advise(&rig->routing, rig->flows, FLOWS, by, NULL, &advice), 0);
	assert_true(advice.rounds <= ADVISE_ROUNDS);
	for (uint32_t i = 0; i < FLOWS; i++) {
		const struct route_path *path = &advice.paths[i];

		assert_int_equal(rig->topo->ports[path->ports[0]].node, rig->flows[i].src_node);
		assert_int_equal(rig->topo->ports[path->ports[path->hops - 1]].peer, rig->flows[i].dst_node);
		assert_int_equal(advice.flows[i].src_nic, rig->topo->ports[path->ports[0]].index);
		for (uint32_t k = 1; k < path->hops; k++)
			assert_int_equal(rig->topo->ports[path->ports[k - 1]].peer, rig->topo->ports[path->ports[k]].node);
		for (uint32_t k = 0; k < i; k++)
			assert_false(rig->flows[i].src_node == rig->flows[k].src_node &&
				     advice.flows[i].sport == advice.flows[k].sport);
		topo_load_add(&rig->load, path, 1);
	}
	assert_true(before > 30);
	assert_true(topo_load_fim(&rig->load, FIM_ALL).percent <= most_percent);
	advice_fini(&advice);
}

static void
paths_can_be_even(void **state)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct rig rig;

		start(&rig, TESTBED, seed);
		check_advice(&rig, ADVISE_PATHS, 0);
		stop(&rig);
	}
}

static void
source_ports_alone_help(void **state)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct rig rig;

		start(&rig, TESTBED, seed);
		check_advice(&rig, ADVISE_PORTS_ALONE, 2);
		stop(&rig);
	}
}

/* Flows begin where they were seen, and go where somebody said that there is a way; one of no known way stays. */
static void
what_was_seen_counts(void **state)
{
	struct route_path seen[FLOWS] = { { .hops = 0 } };
	struct advice advice;
	struct rig rig;
	bool *usable;

	start(&rig, TESTBED, 1);
	usable = calloc(rig.topo->nports, sizeof(*usable));
	assert_non_null(usable);
	for (uint32_t i = 1; i < FLOWS; i++) {
		struct flow flow = rig.flows[i];

		flow.sport = 7; /* all flows of a host on one way, as no hash of theirs has it */
		bond_place(&rig.routing, &flow);
		assert_int_equal(route_flow_path(&rig.routing, &flow, false, &seen[i]), 0);
		rig.flows[i].src_nic = flow.src_nic;
	}
	for (uint32_t p = 0; p < rig.topo->nports; p++)
		usable[p] = rig.topo->nodes[rig.topo->ports[p].node].kind == TOPO_HOST ||
			    rig.topo->nodes[rig.topo->ports[p].peer].kind == TOPO_HOST || rig.topo->ports[p].index % 2 == 0;
	for (int by = ADVISE_PATHS; by <= ADVISE_PORTS_ALONE; by++) {
		uint32_t moved = 0;

		assert_int_equal(advise(&rig.routing, rig.flows, FLOWS, (enum advise_by)by,
					&(struct advise_seen){ seen, usable }, &advice),
				 0);
		assert_int_equal(advice.paths[0].hops, 0);
		assert_false(advice.moved[0]);
		for (uint32_t i = 1; i < FLOWS; i++) {
			moved += advice.moved[i];
			for (uint32_t k = 0; advice.moved[i] && k < advice.paths[i].hops; k++)
				assert_true(usable[advice.paths[i].ports[k]]);
		}
		assert_true(moved > FLOWS / 2);
		advice_fini(&advice);
	}
	free(usable);
	stop(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layer_has_its_links), cmocka_unit_test(chance_is_as_expected),
		cmocka_unit_test(no_closed_form_is_said),    cmocka_unit_test(paths_can_be_even),
		cmocka_unit_test(source_ports_alone_help),   cmocka_unit_test(what_was_seen_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
