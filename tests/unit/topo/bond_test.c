/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts whose ports are one bond: routes to them, their own choice, pins that name a member, and members that go down. */
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "topo/convergence.h"
#include "topo/pins.h"
#include "topo/route.h"
#include "topo/topo.h"

/*
 * Leaves have their two hosts' bonds on ports 1 to 4, then two links to each of two spines. A spine has leaf i on 2i+1,
 * 2i+2.
 */
#define RACKS "topology = { kind = \"dual-tor\"; hosts = 4; hosts_per_rack = 2; nics = 2; spines = 2; parallel = 2; };\n"

static uint32_t
hops_of(const struct topo *topo, const struct route_table *table, const char *node, const char *dst, char text[256])
{
	const uint8_t *ports;
	uint32_t count = route_next_hops(table, topo_find(topo, node), topo_find(topo, dst), 0, &ports);

	text[0] = '\0';
	for (uint32_t i = 0; i < count; i++)
		snprintf(text + strlen(text), 256 - strlen(text), "%s%u", i != 0 ? " " : "", ports[i] + 1u);
	return count;
}

static void
assert_hops(const struct topo *topo, const struct route_table *table, const char *node, const char *dst,
	    const char *expected)
{
	char text[256];

	hops_of(topo, table, node, dst, text);
	assert_string_equal(text, expected);
}

static struct flow
flow_of(const struct topo *topo, const char *src, const char *dst, uint16_t sport)
{
	uint32_t s = topo_find(topo, src), d = topo_find(topo, dst);

	return (struct flow){
		.src_node = s,
		.dst_node = d,
		.src_ip = topo_nic_ip(s, 0),
		.dst_ip = topo_nic_ip(d, 0),
		.sport = sport,
		.dport = 4791,
	};
}

static void
a_rack_is_wired_as_described(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo(RACKS, &cfg);
	char name[40];

	assert_int_equal(topo->nbonds, 4);
	assert_string_equal(peer_of(topo, "h0:1", name), "l0:1");
	assert_string_equal(peer_of(topo, "h0:2", name), "l1:1");
	assert_string_equal(peer_of(topo, "h0:3", name), "l0:2");
	assert_string_equal(peer_of(topo, "h3:4", name), "l3:4");
	assert_string_equal(peer_of(topo, "l2:7", name), "s1:5");
	assert_int_equal(topo_host_ip(topo, 1, 3), topo_nic_ip(1, 0));
	topo_destroy(topo);
	cfg_destroy(cfg);
}

static void
routes_lead_to_every_member(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo(RACKS, &cfg);
	struct route_table *table = route_table_create(topo, ROUTE_SHORTEST);

	assert_hops(topo, table, "l0", "h0", "1 2");
	assert_hops(topo, table, "l1", "h1", "3 4");
	assert_hops(topo, table, "l0", "h3", "5 6 7 8");
	assert_hops(topo, table, "s0", "h3", "5 6 7 8"); /* both leaves of the rack */
	assert_hops(topo, table, "s1", "h1", "1 2 3 4");
	route_table_destroy(table);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

/* A leaf that has lost all members of a bond goes round by the other one, and nobody sends there; of other bonds all do. */
static void
cut_members_are_avoided(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo(RACKS, &cfg);
	struct convergence *convergence = convergence_create(topo, ROUTE_SHORTEST, 100, NULL);
	const struct route_table *table = convergence_routes(convergence);
	uint32_t one = topo->ports[topo_find_port(topo, "h2:1")].link,
		 other = topo->ports[topo_find_port(topo, "h2:3")].link;

	convergence_link_changed(convergence, one, true, 0);
	assert_int_equal(convergence_apply(convergence, 100), 1);
	assert_hops(topo, table, "l2", "h2", "2");
	assert_hops(topo, table, "s0", "h2", "5 6 7 8");
	convergence_link_changed(convergence, other, true, 200);
	assert_int_equal(convergence_apply(convergence, 299), 0);
	assert_int_equal(convergence_apply(convergence, 300), 1);
	assert_hops(topo, table, "l2", "h2", "5 6 7 8");
	assert_hops(topo, table, "s0", "h2", "7 8");
	assert_hops(topo, table, "s0", "h3", "5 6 7 8");
	assert_hops(topo, table, "l3", "h2", "1 2");
	/* All are cut: there is no better way than the one there was. */
	convergence_link_changed(convergence, topo->ports[topo_find_port(topo, "h2:2")].link, true, 400);
	convergence_link_changed(convergence, topo->ports[topo_find_port(topo, "h2:4")].link, true, 400);
	assert_int_equal(convergence_apply(convergence, 500), 1);
	assert_hops(topo, table, "l2", "h2", "1 2");
	assert_hops(topo, table, "s0", "h2", "5 6 7 8");
	convergence_link_changed(convergence, one, false, 600);
	assert_int_equal(convergence_apply(convergence, 700), 1);
	assert_hops(topo, table, "s0", "h2", "5 6");
	convergence_destroy(convergence);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

/*
 * Every member has its share of flows; ACKs are hashed by themselves; who is down gets none, and others keep theirs or
 * not.
 */
static void
a_host_spreads_its_flows(void **state)
{
	enum { FLOWS = 4000 };
	struct cfg *cfg;
	struct topo *topo = make_topo(RACKS, &cfg);
	const bool is_down[4] = { true, false, false, true }, all_down[4] = { true, true, true, true };
	uint32_t data[4] = { 0 }, ack[4] = { 0 }, left[4] = { 0 }, alike = 0, seeds = 0;

	for (uint16_t i = 0; i < FLOWS; i++) {
		struct flow flow = flow_of(topo, "h0", "h3", (uint16_t)(49152 + i));
		uint16_t by = bond_member(topo, 1, flow.src_node, &flow, false, NULL);
		uint16_t back = bond_member(topo, 1, flow.dst_node, &flow, true, NULL);

		data[by]++;
		ack[back]++;
		alike += by == back;
		seeds += by == bond_member(topo, 2, flow.src_node, &flow, false, NULL);
		left[bond_member(topo, 1, flow.src_node, &flow, false, is_down)]++;
		assert_int_equal(bond_member(topo, 1, flow.src_node, &flow, false, all_down), by);
	}
	for (uint32_t m = 0; m < 4; m++) /* 1000 +- 27 */
		assert_true(data[m] > 850 && data[m] < 1150 && ack[m] > 850 && ack[m] < 1150);
	assert_true(alike > 850 && alike < 1150 && seeds > 850 && seeds < 1150);
	assert_true(left[0] == 0 && left[3] == 0 && left[1] > 1800 && left[2] > 1800);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

static void
a_path_names_the_member(void **state)
{
	struct cfg *cfg;
	struct topo *topo =
		make_topo(RACKS "paths = ( { src = \"h0\"; dst = \"h3\"; sport = 7; data = [ \"h0:4\", \"l1:8\", \"s1:8\", "
				"\"l3:3\" ]; ack = [ \"h3:1\" ]; } );",
			  &cfg);
	struct route_table *table = route_table_create(topo, ROUTE_SHORTEST);
	struct route_pins *pins;
	struct err err = { "" };
	struct route_path path;
	char name[40];

	assert_int_equal(route_pins_create(cfg, topo, &pins, &err), 0);
	const struct routing routing = { topo, table, pins, 1, { 0 } };
	struct flow flow = flow_of(topo, "h0", "h3", 7);

	bond_place(&routing, &flow);
	assert_int_equal(flow.src_nic, 3);
	assert_int_equal(flow.dst_nic, 0);
	assert_int_equal(route_flow_path(&routing, &flow, false, &path), 0);
	assert_int_equal(path.hops, 4);
	assert_string_equal(topo_port_name(topo, path.ports[0], name), "h0:4");
	assert_string_equal(topo_port_name(topo, path.ports[3], name), "l3:3");
	assert_int_equal(route_flow_path(&routing, &flow, true, &path), 0);
	assert_string_equal(topo_port_name(topo, path.ports[0], name), "h3:1");
	route_pins_destroy(pins);
	route_table_destroy(table);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

static void
refuse_path(const char *path, const char *message)
{
	char text[512];
	struct cfg *cfg;
	struct topo *topo;
	struct route_pins *pins;
	struct err err = { "" };

	snprintf(text, sizeof(text), RACKS "paths = ( { src = \"h0\"; dst = \"h3\"; data = [ %s ]; } );", path);
	topo = make_topo(text, &cfg);
	assert_int_equal(route_pins_create(cfg, topo, &pins, &err), -EINVAL);
	assert_string_equal(err.text, message);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

/* What is written of a topology makes it again. */
static void
a_bond_is_written(void **state)
{
	struct cfg *cfg, *again;
	struct topo *topo = make_topo(RACKS, &cfg), *same;
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	topo_show_scenario(topo, to);
	fclose(to);
	same = make_topo(text, &again);
	assert_int_equal(same->nbonds, 4);
	assert_int_equal(same->nlinks, topo->nlinks);
	for (uint32_t i = 0; i < topo->nports; i++)
		assert_int_equal(same->ports[i].peer_port, topo->ports[i].peer_port);
	free(text);
	topo_destroy(topo);
	topo_destroy(same);
	cfg_destroy(cfg);
	cfg_destroy(again);
}

static void
wrong_input_is_refused(void **state)
{
	refuse_path("\"h0:4\", \"l0:8\"",
		    "t.cfg:2: paths.[0].data: \"l0:8\": port 4 of h0, where the path begins, does not lead to l0");
	refuse_path("\"h1:1\"", "t.cfg:2: paths.[0].data: \"h1:1\" is no switch:port of this topology");
	expect_topo_error(
		"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"s\" ]; bonds = [ \"a\" ];\n"
		" links = ( \"a s\", \"b s\" ); };",
		"t.cfg:1: topology: the bond of host \"a\" has 1 link; two and more would be right");
	expect_topo_error(
		"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"s\" ]; bonds = [ \"s\" ];\n"
		" links = ( \"a s\", \"b s\" ); };",
		"t.cfg:1: topology.bonds: \"s\" is not among topology.hosts");
	expect_topo_error(
		"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"s\" ]; bonds = [ \"a\" ];\n"
		" links = ( \"a s\", \"a s 10Gbps\", \"b s\" ); };",
		"t.cfg:1: topology: the bond of host \"a\" has links of 100Gbps and of 10Gbps; one rate would be right");
	expect_topo_error(
		"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"s\" ]; bonds = [ \"a\" ];\n"
		" links = ( \"a s\", \"a b\", \"b s\" ); };",
		"t.cfg:1: topology: the bond of host \"a\" has a link to host \"b\"; links to switches would be right");
	expect_topo_error(
		"topology = { kind = \"dual-tor\"; hosts = 4; hosts_per_rack = 3; spines = 1; };",
		"t.cfg:1: topology.hosts_per_rack: 4 hosts do not divide into racks of 3; a divisor would be right");
	expect_topo_error("topology = { kind = \"dual-tor\"; hosts = 4; hosts_per_rack = 2; nic_ports = 3; spines = 1; };",
			  "t.cfg:1: topology.nic_ports: 3 ports of a NIC cannot lead to different ones of 2 leaves; at "
			  "most that many "
			  "would be right");
}

UNIT_TEST(bond)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rack_is_wired_as_described), cmocka_unit_test(routes_lead_to_every_member),
		cmocka_unit_test(cut_members_are_avoided),      cmocka_unit_test(a_host_spreads_its_flows),
		cmocka_unit_test(a_path_names_the_member),      cmocka_unit_test(a_bond_is_written),
		cmocka_unit_test(wrong_input_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
