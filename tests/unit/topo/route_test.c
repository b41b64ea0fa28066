/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/units.h"
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "topo/pins.h"
#include "topo/route.h"

/* Two pods of a K=4 fat-tree, as in VEDRFOLNIR's Fig. 2: edges 0-3, aggregations 4-7, cores 8-11, hosts 12-19. */
#define TWO_PODS                                                                                                           \
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"2us\";\n"                                         \
	" switches = [ \"0\", \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\", \"10\", \"11\" ];\n"          \
	" hosts = [ \"12\", \"13\", \"14\", \"15\", \"16\", \"17\", \"18\", \"19\" ];\n"                                   \
	" links = ( \"12 0\", \"13 0\", \"14 1\", \"15 1\", \"16 2\", \"17 2\", \"18 3\", \"19 3\", \"0 4\", \"0 5\", "    \
	"\"1 4\", \"1 5\", \"2 6\", \"2 7\", \"3 6\", \"3 7\", \"4 8\", \"4 9\", \"5 10\", \"5 11\", \"6 8\", \"6 9\", "   \
	"\"7 10\", \"7 11\" ); };\n"

static struct flow
flow_between(const struct topo *topo, const char *src, uint16_t src_nic, const char *dst, uint16_t dst_nic, uint16_t sport)
{
	uint32_t s = topo_find(topo, src), d = topo_find(topo, dst);

	return (struct flow){ .src_node = s,
			      .dst_node = d,
			      .src_nic = src_nic,
			      .dst_nic = dst_nic,
			      .src_ip = topo_nic_ip(s, src_nic),
			      .dst_ip = topo_nic_ip(d, dst_nic),
			      .sport = sport,
			      .dport = 4791 };
}

static void
assert_hops(const struct topo *topo, const struct route_table *table, const char *node, const char *dst, uint16_t nic,
	    const char *expected)
{
	const uint8_t *ports;
	char text[256] = "";
	uint32_t count = route_next_hops(table, topo_find(topo, node), topo_find(topo, dst), nic, &ports);

	for (uint32_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u", i != 0 ? " " : "", ports[i] + 1u);
	assert_string_equal(text, expected);
}

static void
assert_path(const struct routing *routing, const struct flow *flow, bool reverse, const char *expected)
{
	struct route_path path;
	char text[512] = "", name[40];

	assert_int_equal(route_flow_path(routing, flow, reverse, &path), 0);
	for (uint32_t i = 0; i < path.hops; i++) {
		strcat(text, i != 0 ? " " : "");
		strcat(text, topo_port_name(routing->topo, path.ports[i], name));
	}
	assert_string_equal(text, expected);
}

static void
test_next_hops(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo(TWO_PODS, &cfg);
	struct route_table *table = route_table_create(topo, ROUTE_SHORTEST);

	assert_hops(topo, table, "0", "12", 0, "1");
	assert_hops(topo, table, "0", "14", 0, "3 4"); /* over 4 or 5 */
	assert_hops(topo, table, "0", "19", 0, "3 4");
	assert_hops(topo, table, "4", "19", 0, "3 4"); /* cores 8 and 9 */
	assert_hops(topo, table, "4", "14", 0, "2");
	assert_hops(topo, table, "8", "19", 0, "2");
	assert_hops(topo, table, "6", "19", 0, "2");
	assert_hops(topo, table, "12", "19", 0, "1");
	assert_hops(topo, table, "10", "12", 0, "1");
	assert_hops(topo, table, "12", "12", 0, "");
	assert_hops(topo, table, "0", "12", 1, ""); /* no such NIC */
	route_table_destroy(table);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

/* Two cables between the switches are two members; a third, longer way is none. */
static void
test_parallel(void **state)
{
	struct cfg *cfg;
	struct topo *topo =
		make_topo("topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"s\", \"t\", "
			  "\"u\" ];\n links = ( \"a s\", \"s t\", \"s u\", \"s t\", \"u t\", \"t b\" ); };",
			  &cfg);
	struct route_table *table = route_table_create(topo, ROUTE_SHORTEST);

	assert_hops(topo, table, "s", "b", 0, "2 4");
	assert_hops(topo, table, "t", "a", 0, "1 2");
	assert_hops(topo, table, "u", "a", 0, "1");
	route_table_destroy(table);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

/* A host with two NICs is no way through, and each NIC has routes of its own. */
static void
test_nics(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo("topology = { kind = \"rail\"; hosts = 4; nics = 2; hosts_per_group = 2; };", &cfg);
	struct route_table *table = route_table_create(topo, ROUTE_SHORTEST);
	struct routing routing = { .topo = topo, .table = table, .seed = 1 };
	struct flow flow = flow_between(topo, "h0", 1, "h3", 1, 7);

	assert_hops(topo, table, "g0r0", "h1", 0, "2");
	assert_hops(topo, table, "g0r0", "h1", 1, "3"); /* the other rail of the group: over the spine */
	assert_hops(topo, table, "s0", "h3", 1, "4");
	assert_hops(topo, table, "h0", "h3", 1, "1 2");
	assert_path(&routing, &flow, false, "h0:2 g0r1:3 s0:4 g1r1:2");
	assert_path(&routing, &flow, true, "h3:2 g1r1:3 s0:2 g0r1:1");
	flow = flow_between(topo, "h0", 0, "h1", 1, 7);
	assert_path(&routing, &flow, false, "h0:1 g0r0:3 s0:2 g0r1:2");
	flow = flow_between(topo, "h0", 0, "h0", 1, 7);
	assert_path(&routing, &flow, false, "h0:1 g0r0:3 s0:2 g0r1:1"); /* between the NICs of one host */
	assert_path(&routing, &flow, true, "h0:2 g0r1:3 s0:1 g0r0:1");
	route_table_destroy(table);
	topo_destroy(topo);
	cfg_destroy(cfg);

	topo = make_topo("topology = { kind = \"rail\"; hosts = 2; nics = 2; hosts_per_group = 2; spines = 0; };", &cfg);
	table = route_table_create(topo, ROUTE_SHORTEST);
	routing.topo = topo;
	routing.table = table;
	flow = flow_between(topo, "h0", 0, "h1", 1, 7);
	struct route_path path;

	assert_int_equal(route_flow_path(&routing, &flow, false, &path), -EHOSTUNREACH);
	flow = flow_between(topo, "h0", 5, "h1", 1, 7);
	assert_int_equal(route_flow_path(&routing, &flow, false, &path), -EHOSTUNREACH);
	route_table_destroy(table);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

static void
test_back_to_back(void **state)
{
	struct cfg *cfg;
	struct topo *topo =
		make_topo("topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ];\n links = ( \"a b\" ); };", &cfg);
	struct route_table *table = route_table_create(topo, ROUTE_SHORTEST);
	struct routing routing = { .topo = topo, .table = table, .seed = 1 };
	struct flow flow = flow_between(topo, "a", 0, "b", 0, 7);

	assert_hops(topo, table, "a", "b", 0, "1");
	assert_path(&routing, &flow, false, "a:1");
	assert_path(&routing, &flow, true, "b:1");
	route_table_destroy(table);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

/*
 * 4096 source ports over 4 members: each gets 1024 on average with a standard deviation of 28; and the choices of two
 * switches in a row are independent: each pair 256 with a deviation of 16.
 */
static void
test_ecmp_spread(void **state)
{
	const struct route_hashing usual = { 0 };
	const struct route_tuple there = { 1, 2, 3, 4 }, back = { 2, 1, 4, 3 };
	uint32_t count[4] = { 0 }, pair[4][4] = { { 0 } }, moved = 0;

	for (uint16_t sport = 0; sport < 4096; sport++) {
		const struct route_tuple tuple = { 0x0a000001, 0x0a000002, sport, 4791 };
		uint32_t first = route_select(&usual, 42, 3, &tuple, 4);
		uint32_t second = route_select(&usual, 42, 4, &tuple, 4);

		assert_true(first < 4 && second < 4);
		count[first]++;
		pair[first][second]++;
		moved += first != route_select(&usual, 43, 3, &tuple, 4);
	}
	for (int i = 0; i < 4; i++) {
		assert_in_range(count[i], 1024 - 140, 1024 + 140);
		for (int j = 0; j < 4; j++)
			assert_in_range(pair[i][j], 256 - 80, 256 + 80);
	}
	assert_in_range(moved, 3072 - 140, 3072 + 140); /* another seed: 3 of 4 choose anew */
	assert_int_equal(route_select(&usual, 42, 3, &there, 1), 0);
	assert_int_not_equal(route_hash(&usual, &there, 5), route_hash(&usual, &back, 5));
}

/* Every path of every pair in a K=4 fat-tree is a shortest one and ends where it should; ACKs have paths of their own. */
static void
test_paths(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo("topology = { kind = \"fat-tree\"; k = 4; };", &cfg);
	struct route_table *table = route_table_create(topo, ROUTE_SHORTEST);
	struct routing routing = { .topo = topo, .table = table, .seed = 7 };
	uint32_t differ = 0;

	for (uint32_t a = 0; a < topo->nhosts; a++)
		for (uint32_t b = 0; b < topo->nhosts; b++) {
			struct flow flow = flow_between(topo, topo->nodes[a].name, 0, topo->nodes[b].name, 0, 100);
			struct route_path there, back;
			uint32_t hops = a / 2 == b / 2 ? 2 : a / 4 == b / 4 ? 4 : 6;

			if (a == b)
				continue;
			assert_int_equal(route_flow_path(&routing, &flow, false, &there), 0);
			assert_int_equal(route_flow_path(&routing, &flow, true, &back), 0);
			assert_int_equal(there.hops, hops);
			assert_int_equal(back.hops, hops);
			assert_int_equal(topo->ports[there.ports[0]].node, a);
			assert_int_equal(topo->ports[there.ports[hops - 1]].peer, b);
			assert_int_equal(topo->ports[back.ports[hops - 1]].peer, a);
			for (uint32_t i = 1; i < hops; i++)
				assert_int_equal(topo->ports[there.ports[i - 1]].peer, topo->ports[there.ports[i]].node);
			differ += topo->ports[there.ports[hops / 2]].node != topo->ports[back.ports[hops / 2]].node;
		}
	assert_true(differ > 50); /* of 240 */
	route_table_destroy(table);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

static struct route_pins *
make_pins(const struct cfg *cfg, const struct topo *topo)
{
	struct err err = { "" };
	struct route_pins *pins;

	if (route_pins_create(cfg, topo, &pins, &err) != 0)
		fail_msg("%s", err.text);
	return pins;
}

static bool
nothing_is_quiet(const void *of, uint32_t src_node, uint32_t dst_node)
{
	(void)of;
	(void)src_node;
	(void)dst_node;
	return false;
}

static void
test_pins(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo(TWO_PODS "paths = (\n { src = \"13\"; dst = \"19\"; sport = 10001; data = [ \"0:3\", "
					       "\"4:4\", \"9:2\", \"6:2\", \"3:2\" ]; ack = [ \"3:4\", \"7:4\", \"11:1\", "
					       "\"5:1\", \"0:2\" ]; },\n { src = \"13\"; dst = \"19\"; data = [ \"0:4\", "
					       "\"5:4\", \"11:2\", \"7:2\", \"3:2\" ]; } );",
				      &cfg);
	struct route_table *table = route_table_create(topo, ROUTE_SHORTEST);
	struct route_pins *pins = make_pins(cfg, topo);
	struct routing routing = { .topo = topo, .table = table, .pins = pins, .seed = 1 };
	struct flow flows[] = { flow_between(topo, "13", 0, "19", 0, 10001), flow_between(topo, "13", 0, "19", 0, 5),
				flow_between(topo, "12", 0, "19", 0, 10001) };
	struct flow_table all = { .flows = flows, .count = 3 }, few = { .flows = flows, .count = 1 };
	struct route_choice choice;
	struct err err = { "" };

	assert_path(&routing, &flows[0], false, "13:1 0:3 4:4 9:2 6:2 3:2");
	assert_path(&routing, &flows[0], true, "19:1 3:4 7:4 11:1 5:1 0:2");
	assert_path(&routing, &flows[1], false, "13:1 0:4 5:4 11:2 7:2 3:2");

	assert_int_equal(route_pins_attach(pins, &all, nothing_is_quiet, NULL, &err), 0);
	assert_int_equal(route_pinned_egress(pins, topo_find(topo, "6"), 0, false), 1);
	assert_int_equal(route_pinned_egress(pins, topo_find(topo, "6"), 0, true), -1);
	assert_int_equal(route_pinned_egress(pins, topo_find(topo, "7"), 0, true), 3);
	assert_int_equal(route_pinned_egress(pins, topo_find(topo, "0"), 1, false), 3);
	assert_int_equal(route_pinned_egress(pins, topo_find(topo, "3"), 1, true), -1);
	assert_int_equal(route_pinned_egress(pins, topo_find(topo, "0"), 2, false), -1);
	assert_int_equal(route_pinned_egress(NULL, 0, 0, false), -1);
	assert_int_equal(route_pins_attach(pins, &few, nothing_is_quiet, NULL, &err), -EINVAL);
	assert_string_equal(err.text, "t.cfg:7: paths.[1]: no flow of this scenario goes from 13 to 19 with these ports");

	assert_int_equal(route_choose(&routing, topo_find(topo, "4"), &flows[0], false, &choice), 0);
	assert_true(choice.is_pinned);
	assert_int_equal(choice.port, 3);
	assert_int_equal(choice.nmembers, 2);
	assert_int_equal(choice.pin.line, 6);
	assert_int_equal(route_choose(&routing, topo_find(topo, "4"), &flows[2], false, &choice), 0);
	assert_false(choice.is_pinned);
	assert_int_equal(choice.hash, route_hash(&routing.hashing,
						 &(struct route_tuple){ flows[2].src_ip, flows[2].dst_ip, 10001, 4791 },
						 route_switch_seed(&routing.hashing, 1, topo_find(topo, "4"))));
	assert_int_equal(choice.port, choice.members[route_hash_index(choice.hash, 2)]);
	route_pins_destroy(pins);
	route_table_destroy(table);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

/* TWO_PODS ends on line 4; the pin is on line 5. */
static void
expect_pin_error(const char *paths, const char *message)
{
	char text[4096];
	struct err err = { "" };
	struct route_pins *pins;
	struct topo *topo;
	struct cfg *cfg;

	snprintf(text, sizeof(text), TWO_PODS "paths = ( %s );", paths);
	topo = make_topo(text, &cfg);
	assert_int_equal(route_pins_create(cfg, topo, &pins, &err), -EINVAL);
	assert_string_equal(err.text, message);
	assert_null(pins);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

static void
test_pin_errors(void **state)
{
	expect_pin_error("{ src = \"12\"; dst = \"0\"; }", "t.cfg:5: paths.[0].dst: \"0\" is no host of this topology");
	expect_pin_error("{ src = \"12\"; dst = \"12\"; }", "t.cfg:5: paths.[0].dst: \"12\" is the source as well");
	expect_pin_error("{ src = \"12\"; dst = \"13\";\n data = [ \"0:9\" ]; }",
			 "t.cfg:6: paths.[0].data: \"0:9\" is no switch:port of this topology");
	expect_pin_error("{ src = \"12\"; dst = \"13\"; data = [ \"12:1\" ]; }",
			 "t.cfg:5: paths.[0].data: \"12:1\" is no switch:port of this topology");
	expect_pin_error("{ src = \"12\"; dst = \"14\"; data = [ \"1:1\" ]; }",
			 "t.cfg:5: paths.[0].data: \"1:1\": switch 1 has no link to 12, where the path begins");
	expect_pin_error("{ src = \"12\"; dst = \"14\"; data = [ \"0:3\", \"5:2\", \"1:1\" ]; }",
			 "t.cfg:5: paths.[0].data: \"5:2\": 0:3 leads to 4, not to 5; a port of 4 would be right");
	expect_pin_error("{ src = \"12\"; dst = \"14\"; data = [ \"0:3\", \"4:2\", \"1:2\" ]; }",
			 "t.cfg:5: paths.[0].data: \"1:2\" leads to 15; the last port must lead to 14");
	expect_pin_error("{ src = \"12\"; dst = \"14\"; data = [ \"0:3\", \"4:1\", \"0:4\" ]; }",
			 "t.cfg:5: paths.[0].data: routing loop: \"0:4\" returns to switch 0; every switch may occur once");
	expect_pin_error("{ src = \"12\"; dst = \"13\"; ack = [ \"0:2\" ]; }",
			 "t.cfg:5: paths.[0].ack: \"0:2\" leads to 13; the last port must lead to 12");
	expect_pin_error(
		"{ src = \"12\"; dst = \"13\"; data = [ \"0:2\" ]; },\n { src = \"12\"; dst = \"13\"; sport = 5; data = "
		"[ \"0:2\" ]; }",
		"t.cfg:6: paths.[1]: every flow that fits is pinned already at t.cfg:5");
	expect_pin_error("{ src = \"12\"; dst = \"13\"; sport = 70000; }",
			 "t.cfg:5: paths.[0].sport: found 70000; 0 to 65535 would be right");
}

/*
 * Between switches a and b cables, then hosts at a, then more cables: ports of equal cost far from each other. Their parts
 * have each of them once, in order.
 */
static void
assert_parts(uint32_t first, uint32_t hosts, uint32_t cables, uint32_t parts, uint32_t begins)
{
	struct cfg *cfg;
	struct topo *topo;
	struct route_table *table;
	char text[8192] = "topology = { kind = \"explicit\"; switches = [ \"a\", \"b\" ];\nhosts = [ \"x\"";
	const uint8_t *ports;
	uint32_t count, next = 0, found = 0, seen = 0;

	for (uint32_t i = 0; i < hosts; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", \"h%u\"", i);
	strcat(text, " ];\nlinks = ( \"x b\"");
	for (uint32_t i = 0; i < first; i++)
		strcat(text, ", \"a b\"");
	for (uint32_t i = 0; i < hosts; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", \"h%u a\"", i);
	for (uint32_t i = first; i < cables; i++)
		strcat(text, ", \"a b\"");
	strcat(text, " ); };");
	topo = make_topo(text, &cfg);
	table = route_table_create(topo, ROUTE_SHORTEST);
	count = route_next_hops(table, topo_find(topo, "a"), topo_find(topo, "x"), 0, &ports);
	assert_int_equal(count, cables);
	do {
		struct route_set_part part;

		next = route_set_part(ports, count, next, &part);
		if (found++ == 0)
			assert_int_equal(part.first, begins);
		for (uint32_t bit = 0; bit < ROUTE_SET_SPAN; bit++)
			if ((part.bits[bit / 64] >> bit % 64 & 1) != 0)
				assert_int_equal(part.first + bit, ports[seen++]);
		assert_int_equal(seen, next);
	} while (next < count);
	assert_int_equal(found, parts);
	route_table_destroy(table);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

static void
test_wide_sets(void **state)
{
	struct route_set_part part;

	(void)state;
	assert_parts(0, 128, 120, 1, 128); /* 248 ports, the last 120 of equal cost */
	assert_parts(1, 126, 2, 1, 0);
	assert_parts(1, 127, 2, 2, 0);
	assert_parts(0, 3, 2, 1, 0);
	assert_parts(200, 0, 200, 2, 0);
	assert_parts(0, 48, 200, 2, 48);
	assert_parts(2, 140, 100, 2, 0);
	assert_int_equal(route_set_part(NULL, 0, 0, &part), 0); /* no ports: one part without any */
	assert_int_equal(part.first | part.bits[0] | part.bits[1], 0);
}

/*
 * 12 -> 13 over one switch at 100 Gbps, 2 us a link: data 2 x (2 us + 107.84 ns), ACK 2 x (2 us + 4.8 ns). With a
 * quantum of 1 ns 107 and 4 ns; a pipeline of 600 ns counts at all four receivers.
 */
static void
test_rtt(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo(TWO_PODS, &cfg);
	struct route_table *table = route_table_create(topo, ROUTE_SHORTEST);
	struct routing routing = { .topo = topo, .table = table, .seed = 1 };
	struct flow flow = flow_between(topo, "12", 0, "13", 0, 1);
	struct route_path there, back;

	assert_int_equal(route_flow_path(&routing, &flow, false, &there), 0);
	assert_int_equal(route_flow_path(&routing, &flow, true, &back), 0);
	assert_int_equal(route_rtt_ps(topo, &there, &back, 1348, 60, 0, 0), 8000000 + 2 * 107840 + 2 * 4800);
	assert_int_equal(route_rtt_ps(topo, &there, &back, 1348, 60, 0, PS_PER_NS), 8000000 + 2 * 107000 + 2 * 4000);
	assert_int_equal(route_rtt_ps(topo, &there, &back, 1348, 60, 600000, 0), 8000000 + 4 * 600000 + 225280);
	route_table_destroy(table);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

UNIT_TEST(route)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next_hops),    cmocka_unit_test(test_parallel),    cmocka_unit_test(test_nics),
		cmocka_unit_test(test_back_to_back), cmocka_unit_test(test_ecmp_spread), cmocka_unit_test(test_paths),
		cmocka_unit_test(test_pins),         cmocka_unit_test(test_pin_errors),  cmocka_unit_test(test_rtt),
		cmocka_unit_test(test_wide_sets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
