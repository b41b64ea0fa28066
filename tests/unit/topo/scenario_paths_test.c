/* SPDX-License-Identifier: BSD-3-Clause */
/* The paths that the reference scenario pins against those that its flows took (tests/data/). */
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "topo/pins.h"
#include "topo/route.h"

#define MAX_LINE 256

static uint32_t
host(const struct topo *topo, const char *name)
{
	uint32_t node = topo_find(topo, name);

	assert_int_not_equal(node, TOPO_NONE);
	assert_int_equal(topo->nodes[node].kind, TOPO_HOST);
	return node;
}

/* The path as the file writes it: switches only, without the sender's NIC. */
static void
assert_path(const struct routing *routing, const struct flow *flow, bool reverse, const char *expected)
{
	struct route_path path;
	char text[MAX_LINE] = "", name[40];

	assert_int_equal(route_flow_path(routing, flow, reverse, &path), 0);
	for (uint32_t i = 1; i < path.hops; i++) {
		strcat(text, i != 1 ? " " : "");
		strcat(text, topo_port_name(routing->topo, path.ports[i], name));
	}
	assert_string_equal(text, expected);
}

static void
assert_line(const struct routing *routing, char *line)
{
	char *field[6], *rest = line;
	struct flow flow = { 0 };

	for (int i = 0; i < 6; i++) {
		field[i] = strsep(&rest, ",\n");
		assert_non_null(field[i]);
	}
	flow.src_node = host(routing->topo, field[0]);
	flow.dst_node = host(routing->topo, field[1]);
	flow.sport = (uint16_t)atoi(field[2]);
	flow.dport = (uint16_t)atoi(field[3]);
	assert_path(routing, &flow, false, field[4]);
	assert_path(routing, &flow, true, field[5]);
}

static void
test_reference(void **state)
{
	FILE *file = fopen(TEST_DATA "/ns3-allgather-100g-paths.csv", "r");
	struct err err = { "" };
	struct cfg *cfg = cfg_load(TEST_DATA "/../../topo/scenarios/ns3-allgather-100g.cfg", &err);
	struct routing routing = { .seed = 1 };
	struct route_pins *pins = NULL;
	struct route_table *table;
	char line[MAX_LINE];
	struct topo *topo = NULL;
	int lines = 0;

	if (cfg == NULL || topo_build(cfg, &topo, &err) != 0 || route_pins_create(cfg, topo, &pins, &err) != 0)
		fail_msg("%s", err.text);
	assert_non_null(file);
	assert_int_equal(topo->nswitches, 12);
	assert_int_equal(topo->nhosts, 8);
	assert_int_equal(topo->nlinks, 24);
	table = route_table_create(topo, ROUTE_SHORTEST);
	routing.topo = topo;
	routing.table = table;
	routing.pins = pins;
	while (fgets(line, sizeof(line), file) != NULL) {
		if (line[0] == '#' || strncmp(line, "src,", 4) == 0)
			continue;
		assert_line(&routing, line);
		lines++;
	}
	assert_int_equal(lines, 10); /* eight of the ring, two of the background */
	fclose(file);
	route_table_destroy(table);
	route_pins_destroy(pins);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

UNIT_TEST(scenario_paths)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_reference) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
