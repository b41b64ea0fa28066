/* SPDX-License-Identifier: BSD-3-Clause */
/* Circles of buffer dependency, of routes and of single paths. */
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
find(const char *text, const char *const *path, uint32_t *ports, uint32_t cap, char name[40])
{
	struct cfg *cfg;
	struct topo *topo = make_topo(text, &cfg);
	struct route_table *table = route_table_create(topo);
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

static void
routes_around_a_ring(void **state)
{
	uint32_t ports[8];
	char name[40];

	assert_int_equal(find(RING, NULL, ports, 8, name), 5);
	assert_int_equal(find(RING, NULL, ports, 2, name), 5);
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
		cmocka_unit_test(a_path_that_goes_up_again_closes_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
