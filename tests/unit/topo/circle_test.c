/* SPDX-License-Identifier: BSD-3-Clause */
/* Circles of buffer dependency, of routes and of single paths. */
#include "common/prng.h"
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "topo/circle.h"

#define RING                                                                                                               \
	"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\", \"d\", \"e\" ]; switches = [ \"s\", \"t\", "     \
	"\"u\", \"v\", \"w\" ]; links = ( \"a s\", \"b t\", \"c u\", \"d v\", \"e w\", \"s t\", \"t u\", \"u v\", "        \
	"\"v w\", \"w s\" ); };\n"
#define LINE                                                                                                               \
	"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\" ]; switches = [ \"s\", \"t\", \"u\" ]; links = "  \
	"( "                                                                                                               \
	"\"a s\", \"b t\", \"c u\", \"s t\", \"t u\" ); };\n"

/* @param path  of egress ports by name, ended by NULL; NULL: none */
static int
find_by(enum route_rule rule, const char *text, const char *const *path, uint32_t *ports, uint32_t cap, char name[40])
{
	struct cfg *cfg;
	struct topo *topo = make_topo(text, &cfg);
	struct route_table *table = route_table_create(topo, rule);
	struct dependencies *d = dependencies_create(topo);
	struct route_path pinned = { .hops = 0 };
	int count;

	assert_int_equal(dependencies_add_routes(d, table), 0);
	for (; path != NULL && *path != NULL; path++)
		pinned.ports[pinned.hops++] = topo_find_port(topo, *path);
	dependencies_add_path(d, &pinned);
	count = dependencies_circle(d, ports, cap);
	if (count > 0)
		topo_port_name(topo, ports[0], name);
	/* Each leads to the switch that the next is a port of. */
	for (int i = 0; i < count && (uint32_t)count <= cap; i++)
		assert_int_equal(topo->ports[ports[i]].peer, topo->ports[ports[(i + 1) % count]].node);
	dependencies_destroy(d);
	route_table_destroy(table);
	topo_destroy(topo);
	cfg_destroy(cfg);
	return count;
}

static int
find(const char *text, const char *const *path, uint32_t *ports, uint32_t cap, char name[40])
{
	return find_by(ROUTE_SHORTEST, text, path, ports, cap, name);
}

static void
routes_around_a_ring(void **state)
{
	uint32_t ports[8];
	char name[40];

	assert_int_equal(find(RING, NULL, ports, 8, name), 5);
	assert_int_equal(find(RING, NULL, ports, 2, name), 5);
	assert_int_equal(find_by(ROUTE_UP_DOWN, RING, NULL, ports, 8, name), 0);
}

#define SWITCHES 9
#define GRAPHS 60

/* A tree of switches with a host each, and cables between others at random, some of them doubled. */
static void
draw(struct prng *prng, char *text, size_t size)
{
	uint32_t more = (uint32_t)prng_below(prng, 12);

	snprintf(text, size, "topology = { kind = \"explicit\"; hosts = [ \"h0\"");
	for (int i = 1; i < SWITCHES; i++)
		snprintf(text + strlen(text), size - strlen(text), ", \"h%d\"", i);
	snprintf(text + strlen(text), size - strlen(text), " ]; switches = [ \"s0\"");
	for (int i = 1; i < SWITCHES; i++)
		snprintf(text + strlen(text), size - strlen(text), ", \"s%d\"", i);
	snprintf(text + strlen(text), size - strlen(text), " ]; links = ( \"h0 s0\"");
	for (uint32_t i = 1; i < SWITCHES; i++) /* hosts at some of the switches, so that there are tiers */
		snprintf(text + strlen(text), size - strlen(text), ", \"h%u s%u\", \"s%u s%u\"", i,
			 (uint32_t)prng_below(prng, SWITCHES), i, (uint32_t)prng_below(prng, i));
	for (uint32_t i = 0; i < more; i++) {
		uint32_t a = (uint32_t)prng_below(prng, SWITCHES),
			 b = (a + 1 + (uint32_t)prng_below(prng, SWITCHES - 1)) % SWITCHES;

		snprintf(text + strlen(text), size - strlen(text), ", \"s%u s%u\"", a, b);
	}
	snprintf(text + strlen(text), size - strlen(text), " ); };\n");
}

/* From a node on, whichever port of equal cost is taken. */
static void
assert_arrives(const struct topo *topo, const struct route_table *table, uint32_t node, uint32_t dst, uint32_t hops)
{
	const uint8_t *ports;
	uint32_t count;

	if (node == dst)
		return;
	assert_true(hops <= 2 * SWITCHES);
	count = route_next_hops(table, node, dst, 0, &ports);
	assert_true(count != 0);
	for (uint32_t i = 0; i < count; i++)
		assert_arrives(topo, table, topo_port_of(topo, node, ports[i])->peer, dst, hops + 1);
}

/* Nodes that cables that are not withdrawn lead to. */
static void
spread(const struct topo *topo, const bool *withdrawn, uint32_t from, bool *reached)
{
	reached[from] = true;
	for (uint16_t i = 0; i < topo->nodes[from].nports; i++) {
		const struct topo_port *port = topo_port_of(topo, from, i);

		if (!withdrawn[port->link] && !reached[port->peer])
			spread(topo, withdrawn, port->peer, reached);
	}
}

static void
assert_up_and_down(const struct topo *topo, const struct route_table *table, const bool *withdrawn)
{
	struct dependencies *d = dependencies_create(topo);
	uint32_t ports[8];

	assert_int_equal(dependencies_add_routes(d, table), 0);
	assert_int_equal(dependencies_circle(d, ports, 8), 0);
	dependencies_destroy(d);
	for (uint32_t a = 0; a < topo->nhosts; a++) {
		bool reached[64] = { false };

		spread(topo, withdrawn, topo->hosts[a], reached);
		for (uint32_t b = 0; b < topo->nhosts; b++) {
			const uint8_t *hops;

			if (reached[topo->hosts[b]])
				assert_arrives(topo, table, topo->hosts[a], topo->hosts[b], 0);
			else
				assert_int_equal(route_next_hops(table, topo_port_of(topo, topo->hosts[a], 0)->peer,
								 topo->hosts[b], 0, &hops),
						 0);
		}
	}
}

/* In any network, with cables that go down: whatever is connected is reached, and no buffer waits for itself. */
static void
up_down_routes_of_any_network_have_none(void **state)
{
	struct prng prng;
	uint32_t circles = 0;

	(void)state;
	prng_init(&prng, 31, 0);
	for (int i = 0; i < GRAPHS; i++) {
		struct cfg *cfg;
		char text[4096], name[40];
		bool withdrawn[128] = { false };
		uint32_t ports[8];
		struct topo *topo;
		struct route_table *table;

		draw(&prng, text, sizeof(text));
		circles += find(text, NULL, ports, 8, name) > 0;
		topo = make_topo(text, &cfg);
		table = route_table_create(topo, ROUTE_UP_DOWN);
		assert_true(topo->nlinks < 128 && topo->nnodes <= 64);
		assert_up_and_down(topo, table, withdrawn);
		for (uint32_t l = 0; l < topo->nlinks; l++) {
			const struct topo_port *end = &topo->ports[topo->links[l].port[0]];

			withdrawn[l] = topo->nodes[end->node].kind == TOPO_SWITCH &&
				       topo->nodes[end->peer].kind == TOPO_SWITCH && prng_below(&prng, 4) == 0;
		}
		assert_int_equal(route_table_update(table, withdrawn), 0);
		assert_up_and_down(topo, table, withdrawn);
		route_table_destroy(table);
		topo_destroy(topo);
		cfg_destroy(cfg);
	}
	assert_true(circles > GRAPHS / 4); /* of shortest paths: the rule has something to do */
}

/* Where tiers connect all hosts, the shortest paths go up and down already, and are the routes. */
static void
up_down_routes_of_tiers_are_the_shortest(void **state)
{
	static const char *const kinds[] = {
		"topology = { kind = \"fat-tree\"; k = 4; };",
		"topology = { kind = \"leaf-spine\"; leaves = 3; spines = 4; hosts_per_leaf = 2; };",
		"topology = { kind = \"rail\"; hosts = 4; nics = 2; hosts_per_group = 2; };",
		"topology = { kind = \"dual-tor\"; hosts = 8; hosts_per_rack = 4; nics = 2; spines = 2; };",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct cfg *cfg;
		struct topo *topo = make_topo(kinds[i], &cfg);
		struct route_table *shortest = route_table_create(topo, ROUTE_SHORTEST),
				   *up_down = route_table_create(topo, ROUTE_UP_DOWN);

		for (uint32_t h = 0; h < topo->nhosts; h++)
			for (uint32_t node = 0; node < topo->nnodes; node++)
				for (uint16_t nic = 0; nic < topo->nodes[topo->hosts[h]].nports; nic++) {
					const uint8_t *a, *b;
					uint32_t count = route_next_hops(shortest, node, topo->hosts[h], nic, &a);

					assert_int_equal(route_next_hops(up_down, node, topo->hosts[h], nic, &b), count);
					if (count != 0)
						assert_memory_equal(a, b, count);
				}
		route_table_destroy(shortest);
		route_table_destroy(up_down);
		topo_destroy(topo);
		cfg_destroy(cfg);
	}
}

static void
routes_up_and_down_have_none(void **state)
{
	uint32_t ports[8];
	char name[40];

	assert_int_equal(find(LINE, NULL, ports, 8, name), 0);
	assert_int_equal(find("topology = { kind = \"fat-tree\"; k = 4; };", NULL, ports, 8, name), 0);
	assert_int_equal(find("topology = { kind = \"dual-tor\"; hosts = 8; hosts_per_rack = 4; nics = 2; spines = 2; };",
			      NULL, ports, 8, name),
			 0);
}

/* Two pinned paths, each down and up again: l0 s0 l1 s1 l2, and back by the same spines the other way round. */
static void
a_path_that_goes_up_again_closes_one(void **state)
{
	const char *const path[] = { "h0:1", "l0:2", "s0:2", "l1:3", "s1:1", "l0:2", "s0:2", "l1:1", NULL };
	uint32_t ports[8];
	char name[40];

	assert_int_equal(find("topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 1; };", path,
			      ports, 8, name),
			 4);
}

UNIT_TEST(circle)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_around_a_ring),
		cmocka_unit_test(routes_up_and_down_have_none),
		cmocka_unit_test(up_down_routes_of_any_network_have_none),
		cmocka_unit_test(up_down_routes_of_tiers_are_the_shortest),
		cmocka_unit_test(a_path_that_goes_up_again_closes_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
