/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads of links, what chance makes of them, and a search for better ways. */
#include <math.h>

#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "topo/advise.h"
#include "topo/route.h"

#define TESTBED "topology = { kind = \"dual-tor\"; hosts = 16; hosts_per_rack = 8; nics = 2; spines = 4; parallel = 4; };\n"
#define FLOWS 256

struct rig {
	struct cfg *cfg;
	struct topo *topo;
	struct route_table *table;
	struct routing routing;
	struct topo_load load;
	struct flow flows[FLOWS];
	uint32_t nflows;
};

/* FlowTracer's: eight pairs across the racks, so many flows each way. */
static void
start_pairs(struct rig *rig, const char *text, uint64_t seed, uint32_t a_pair)
{
	rig->nflows = 16 * a_pair;
	rig->topo = make_topo(text, &rig->cfg);
	rig->table = route_table_create(rig->topo, ROUTE_SHORTEST);
	rig->routing = (struct routing){ .topo = rig->topo, .table = rig->table, .seed = seed };
	for (uint32_t i = 0; rig->topo->nhosts == 16 && i < rig->nflows; i++) {
		uint32_t host = i / a_pair, peer = (host + 8) % 16;
		struct flow *flow = &rig->flows[i];

		*flow = (struct flow){
			.src_node = host,
			.dst_node = peer,
			.src_ip = topo_nic_ip(host, 0),
			.dst_ip = topo_nic_ip(peer, 0),
			.sport = (uint16_t)(49152 + i % a_pair),
			.dport = 4791,
		};
		bond_place(&rig->routing, flow);
	}
	assert_int_equal(topo_load_init(&rig->load, rig->topo, NULL), 0);
	assert_int_equal(topo_load_offer(&rig->load, rig->flows, NULL, rig->topo->nhosts == 16 ? rig->nflows : 0), 0);
}

static void
start(struct rig *rig, const char *text, uint64_t seed)
{
	start_pairs(rig, text, seed, FLOWS / 16);
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

	for (uint16_t g = 0; g < rig->load.fabric.nlayers; g++)
		if (strcmp(topo_load_name(&rig->load, g, buf), name) == 0)
			return g;
	fail_msg("no group %s", name);
	return 0;
}

static void
load_hashed(struct rig *rig, int by)
{
	for (uint32_t i = 0; i < rig->nflows; i++) {
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
		const char *const names[] = { "host to leaf", "leaf to spine", "spine to leaf", "leaf to host" };
		struct fim fim = fim_fabric_metric(&rig.load.fabric, group_named(&rig, names[i]));

		assert_int_equal(fim.links, 64);
		assert_true(fim.ideal == 4 && fim.percent > 20 && fim.percent < 55);
	}
	assert_int_equal(fim_fabric_metric(&rig.load.fabric, FIM_ALL).links, 256);
	load_hashed(&rig, -1);
	assert_int_equal(fim_fabric_metric(&rig.load.fabric, FIM_ALL).links, 0);
	stop(&rig);
}

/* Means of seeds against the closed form: a seed's deviates by about 3 points in a layer, a mean of 400 by 0.15. */
static void
chance_is_as_expected(void **state)
{
	const uint32_t seeds = unit_wide(100, 400, "seeds of expected imbalance");
	/* De Moivre: E|X - np| of binomial (128, 1/32) and (16, 1/4) about 4 */
	const double spines = 38.457188, ports = 33.779861;
	double sums[FIM_MAX_GROUPS] = { 0 }, expected[FIM_MAX_GROUPS];
	struct rig rig;

	start(&rig, TESTBED, 1);
	load_hashed(&rig, 1);
	fim_fabric_metric(&rig.load.fabric, FIM_ALL);
	for (uint16_t g = 0; g < rig.load.fabric.nlayers; g++)
		expected[g] = fim_fabric_expected(&rig.load.fabric, g);
	assert_float_equal(expected[group_named(&rig, "host to leaf")], ports, 1e-5);
	assert_float_equal(expected[group_named(&rig, "leaf to spine")], spines, 1e-5);
	assert_float_equal(expected[group_named(&rig, "spine to leaf")], spines, 1e-5);
	assert_float_equal(expected[group_named(&rig, "leaf to host")], ports, 1e-5);
	assert_float_equal(fim_fabric_expected(&rig.load.fabric, FIM_SWITCHES), (2 * spines + ports) / 3, 1e-5);
	assert_float_equal(fim_fabric_expected(&rig.load.fabric, FIM_ALL), (spines + ports) / 2, 1e-5);
	stop(&rig);
	for (uint32_t seed = 0; seed < seeds; seed++) {
		start(&rig, TESTBED, seed);
		load_hashed(&rig, 1);
		for (uint16_t g = 0; g < rig.load.fabric.nlayers; g++)
			sums[g] += fim_fabric_metric(&rig.load.fabric, g).percent / seeds;
		stop(&rig);
	}
	for (uint16_t g = 0; g < FIM_MAX_GROUPS && sums[g] != 0; g++)
		assert_float_equal(sums[g], expected[g], 0.8);
}

/*
 * A leaf with one more link to one spine than to the other: two flows take each uplink with 1/3, s to m with 2/3 and t
 * to m with 1/3, where the ideal is 2/3 and 1. E|X - 2/3| of (2, 1/3) is (4 * 2/3 + 4 * 1/3 + 4/3) / 9 = 16/27; E|X -
 * 1| of (2, 2/3) and (2, 1/3) is (1 + 4) / 9.
 */
static void
layers_need_not_be_alike(void **state)
{
	struct rig rig;

	start(&rig,
	      "topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"l\", \"m\", \"s\", \"t\" ];\n"
	      " links = ( \"a l\", \"b m\", \"l s\", \"l s\", \"l t\", \"s m\", \"t m\" ); };",
	      1);
	rig.flows[0] = (struct flow){ .src_node = 0, .dst_node = 1 };
	rig.flows[1] = (struct flow){ .src_node = 0, .dst_node = 1, .sport = 1 };
	assert_int_equal(topo_load_offer(&rig.load, rig.flows, NULL, 2), 0);
	rig.load.fabric.links[topo_find_port(rig.topo, "l:2")].flows = 2;
	rig.load.fabric.links[topo_find_port(rig.topo, "s:3")].flows = 2;
	assert_float_equal(fim_fabric_metric(&rig.load.fabric, group_named(&rig, "leaf to spine")).percent,
			   100 * (2 + 1 + 1) / 3.0, 1e-9);
	assert_float_equal(fim_fabric_metric(&rig.load.fabric, group_named(&rig, "spine to leaf")).percent, 100, 1e-9);
	assert_float_equal(fim_fabric_expected(&rig.load.fabric, group_named(&rig, "leaf to spine")),
			   100 * 16 / 27.0 / (2 / 3.0), 1e-9);
	assert_float_equal(fim_fabric_expected(&rig.load.fabric, group_named(&rig, "spine to leaf")), 500 / 9.0, 1e-9);
	stop(&rig);
}

/*
 * Links at 400 and 100 Gbps: ideals of 4 and 1 of five flows; a leaf that no flow crosses has no part; what is down has
 * none.
 */
static void
rates_and_what_is_up_count(void **state)
{
	struct topo_load load;
	struct rig rig;
	bool *usable;
	struct fim fim;

	start(&rig,
	      "topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\" ];\n"
	      " switches = [ \"l\", \"m\", \"n\", \"s\", \"t\" ]; links = ( \"a l\", \"b m\", \"c n\",\n"
	      " { a = \"l\"; b = \"s\"; rate = \"400Gbps\"; }, { a = \"l\"; b = \"t\"; rate = \"100Gbps\"; },\n"
	      " \"m s\", \"m t\", \"n s\", \"n t\" ); };",
	      1);
	for (uint32_t i = 0; i < 5; i++)
		rig.flows[i] = (struct flow){ .src_node = 0, .dst_node = 1, .sport = (uint16_t)i };
	assert_int_equal(topo_load_offer(&rig.load, rig.flows, NULL, 5), 0);
	rig.load.fabric.links[topo_find_port(rig.topo, "l:2")].flows = 3;
	rig.load.fabric.links[topo_find_port(rig.topo, "l:3")].flows = 2;
	fim = fim_fabric_metric(&rig.load.fabric, group_named(&rig, "leaf to spine"));
	assert_int_equal(fim.links, 2);
	assert_float_equal(fim.percent, 100 * (1 / 4.0 + 1) / 2, 1e-9);
	usable = calloc(rig.topo->nports, sizeof(*usable));
	assert_non_null(usable);
	for (uint32_t p = 0; p < rig.topo->nports; p++)
		usable[p] = p != topo_find_port(rig.topo, "t:2"); /* t to m: no shortest path by t is left */
	assert_int_equal(topo_load_init(&load, rig.topo, usable), 0);
	assert_int_equal(topo_load_offer(&load, rig.flows, NULL, 5), 0);
	load.fabric.links[topo_find_port(rig.topo, "l:2")].flows = 5;
	fim = fim_fabric_metric(&load.fabric, group_named(&rig, "leaf to spine"));
	assert_true(fim.links == 1 && fim.percent == 0 && fim.ideal == 5);
	topo_load_fini(&load);
	free(usable);
	stop(&rig);
}

/* A flow that is known over two links only may take no third. */
static void
what_is_known_counts(void **state)
{
	const uint32_t hops[] = { 2 };
	struct rig rig;

	start(&rig, TESTBED, 1);
	assert_int_equal(topo_load_offer(&rig.load, rig.flows, hops, 1), 0);
	rig.load.fabric.links[rig.topo->nodes[0].first_port].flows = 1;
	rig.load.fabric.links[rig.topo->nodes[16].first_port + rig.topo->nodes[16].nports - 1u].flows = 1;
	assert_int_equal(fim_fabric_metric(&rig.load.fabric, group_named(&rig, "host to leaf")).links, 4);
	assert_int_equal(fim_fabric_metric(&rig.load.fabric, FIM_ALL).links, 4 + 32);
	assert_int_equal(fim_fabric_metric(&rig.load.fabric, FIM_SWITCHES).links, 32);
	stop(&rig);
}

/*
 * Flows on a cable that is to be down leave it, though others are fuller; the source's own stays where there is no
 * other.
 */
static void
unusable_links_are_left(void **state)
{
	struct advice advice;
	struct rig rig;
	bool *usable;
	uint32_t was = 0;

	start(&rig, TESTBED, 1);
	usable = calloc(rig.topo->nports, sizeof(*usable));
	assert_non_null(usable);
	for (uint32_t p = 0; p < rig.topo->nports; p++)
		usable[p] = rig.topo->ports[p].link % 16 != 3;
	for (int by = ADVISE_PATHS; by <= ADVISE_PORTS_ALONE; by++) {
		assert_int_equal(advise(&rig.routing, rig.flows, FLOWS / 8, (enum advise_by)by,
					&(struct advise_seen){ NULL, usable }, &advice),
				 0);
		for (uint32_t i = 0; i < FLOWS / 8; i++)
			for (uint32_t k = 0; k < advice.paths[i].hops; k++)
				assert_true(usable[advice.paths[i].ports[k]]);
		for (uint32_t i = 0; i < FLOWS / 8; i++)
			was += advice.moved[i];
		advice_fini(&advice);
	}
	assert_true(was > 0);
	free(usable);
	stop(&rig);
}

static void
check_advice(struct rig *rig, enum advise_by by, double most_percent)
{
	double before;
	struct advice advice;

	load_hashed(rig, 1);
	before = fim_fabric_metric(&rig->load.fabric, FIM_ALL).percent;
	load_hashed(rig, -1);
	assert_int_equal(advise(&rig->routing, rig->flows, rig->nflows, by, NULL, &advice), 0);
	assert_true(advice.rounds <= ADVISE_ROUNDS);
	for (uint32_t i = 0; i < rig->nflows; i++) {
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
	assert_true(fim_fabric_metric(&rig->load.fabric, FIM_ALL).percent <= most_percent);
	advice_fini(&advice);
}

static void
paths_can_be_even(void **state)
{
	const uint32_t seeds = unit_wide(1, 8, "advice by paths");

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct rig rig;

		start(&rig, TESTBED, seed);
		check_advice(&rig, ADVISE_PATHS, 0);
		stop(&rig);
	}
}

static void
source_ports_alone_help(void **state)
{
	const uint32_t seeds = unit_wide(1, 4, "advice by source ports alone");
	const uint32_t a_pair = unit_wide(8, 16, "flows of a pair whose source ports are advised");
	struct rig rig;

	(void)state;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		start_pairs(&rig, TESTBED, seed, a_pair);
		check_advice(&rig, ADVISE_PORTS_ALONE, 2);
		stop(&rig);
	}
}

/* Flows begin where they were seen, and go where somebody said that there is a way; one of no known way stays. */
static void
what_was_seen_counts(void **state)
{
	const uint32_t flows = unit_wide(FLOWS / 4, FLOWS, "flows that were seen elsewhere");
	struct route_path seen[FLOWS] = { { .hops = 0 } };
	struct advice advice;
	struct rig rig;
	bool *usable;

	start(&rig, TESTBED, 1);
	usable = calloc(rig.topo->nports, sizeof(*usable));
	assert_non_null(usable);
	for (uint32_t i = 1; i < flows; i++) {
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

		assert_int_equal(advise(&rig.routing, rig.flows, flows, (enum advise_by)by,
					&(struct advise_seen){ seen, usable }, &advice),
				 0);
		assert_int_equal(advice.paths[0].hops, 0);
		assert_false(advice.moved[0]);
		for (uint32_t i = 1; i < flows; i++) {
			moved += advice.moved[i];
			for (uint32_t k = 0; advice.moved[i] && k < advice.paths[i].hops; k++)
				assert_true(usable[advice.paths[i].ports[k]]);
		}
		assert_true(moved > flows / 2);
		advice_fini(&advice);
	}
	free(usable);
	stop(&rig);
}

UNIT_TEST(advise)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layer_has_its_links), cmocka_unit_test(chance_is_as_expected),
		cmocka_unit_test(layers_need_not_be_alike),  cmocka_unit_test(rates_and_what_is_up_count),
		cmocka_unit_test(what_is_known_counts),      cmocka_unit_test(paths_can_be_even),
		cmocka_unit_test(unusable_links_are_left),   cmocka_unit_test(source_ports_alone_help),
		cmocka_unit_test(what_was_seen_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
