/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement: which hosts, in which order, and what is refused. */
#include "common/array.h"
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "workload/jobs/place.h"

#define FAT_TREE "topology = { kind = \"fat-tree\"; k = 4; };\n"
#define LEAF_SPINE "topology = { kind = \"leaf-spine\"; leaves = 3; spines = 1; hosts_per_leaf = 3; };\n"
#define RAIL "topology = { kind = \"rail\"; hosts = 4; nics = 2; hosts_per_group = 2; };\n"
/* Hosts in an order that is not the switches'. */
#define CUSTOM                                                                                                             \
	"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\", \"c\", \"d\" ]; switches = [ \"x\", \"y\" ];\n"         \
	" links = ( \"a x\", \"b y\", \"c x\", \"d y\", \"x y\" ); };\n"

static struct err err;

/* Where the ranks of a job "j" are, as "h0 h1 "; of a NIC but the first "h0:2". @return the error's text if refused */
static const char *
placed(const char *topology, const char *placement, const char *taken)
{
	static char text[sizeof(err.text)];
	char scenario[1024], port[40];
	struct placement config;
	struct endpoint *ranks;
	uint32_t count;
	struct topo *topo;
	struct cfg *cfg;
	bool *busy;
	int rc;

	snprintf(scenario, sizeof(scenario), "%sjobs = {\nplacement = {\n%s }; };\n", topology, placement);
	err.text[0] = text[0] = '\0';
	cfg = cfg_load_string(scenario, "s.cfg", &err);
	assert_non_null(cfg);
	assert_int_equal(topo_build(cfg, &topo, &err), 0);
	busy = calloc(topo->nnodes, sizeof(*busy));
	assert_non_null(busy);
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		snprintf(port, sizeof(port), " %s ", topo->nodes[i].name);
		busy[i] = strstr(taken, port) != NULL;
	}
	rc = cfg_bind(cfg, &placement_table, &config, &err);
	if (rc == 0)
		rc = placement_ranks(&config, &(struct placement_site){ topo, busy, 7, "j" }, &ranks, &count, &err);
	for (uint32_t r = 0; rc == 0 && r < count; r++) {
		topo_port_name(topo, topo->nodes[ranks[r].node].first_port + ranks[r].nic, port);
		if (strcmp(strchr(port, ':'), ":1") == 0)
			*strchr(port, ':') = '\0';
		sprintf(text + strlen(text), "%s%s", r != 0 ? " " : "", port);
	}
	if (rc == 0)
		free(ranks);
	else
		snprintf(text, sizeof(text), "%s", err.text);
	free(busy);
	topo_destroy(topo);
	cfg_destroy(cfg);
	return text;
}

static void
packed_fills_leaf_by_leaf(void **state)
{
	assert_string_equal(placed(FAT_TREE, "kind = \"packed\"; count = 5;", ""), "h0 h1 h2 h3 h4");
	assert_string_equal(placed(FAT_TREE, "count = 4;", " h0 h2 h3 "), "h1 h4 h5 h6");
	assert_string_equal(placed(LEAF_SPINE, "", ""), "h0 h1 h2 h3 h4 h5 h6 h7 h8");
	assert_string_equal(placed(CUSTOM, "count = 3;", ""), "a c b");
	assert_string_equal(placed(FAT_TREE, "hosts = [ \"h[8-15]\" ]; count = 2;", " h8 "), "h9 h10");
}

static void
spread_takes_one_of_each_leaf_at_a_time(void **state)
{
	assert_string_equal(placed(LEAF_SPINE, "kind = \"spread\"; count = 5;", ""), "h0 h3 h6 h1 h4");
	assert_string_equal(placed(LEAF_SPINE, "kind = \"spread\";", " h0 h4 h5 "), "h1 h3 h6 h2 h7 h8");
	assert_string_equal(placed(CUSTOM, "kind = \"spread\";", ""), "a b c d");
}

static void
one_per_leaf_takes_the_first_free_host(void **state)
{
	assert_string_equal(placed(LEAF_SPINE, "kind = \"one-per-leaf\";", ""), "h0 h3 h6");
	assert_string_equal(placed(LEAF_SPINE, "kind = \"one-per-leaf\"; count = 2;", " h0 "), "h1 h3");
	assert_string_equal(placed(LEAF_SPINE, "kind = \"one-per-leaf\";", " h3 h4 h5 "), "h0 h6");
	assert_string_equal(placed(CUSTOM, "kind = \"one-per-leaf\";", ""), "a b");
}

/* A host more or less shifts no other's draw; seeds differ. */
static void
random_draws_each_host_for_itself(void **state)
{
	char all[256], fewer[256], without[256], *at;
	const char *first;

	snprintf(all, sizeof(all), "%s", placed(FAT_TREE, "kind = \"random\";", ""));
	snprintf(fewer, sizeof(fewer), "%s", placed(FAT_TREE, "kind = \"random\"; count = 6;", ""));
	assert_memory_equal(all, fewer, strlen(fewer));
	first = strchr(all, ' ') + 1;
	snprintf(without, sizeof(without), " %.*s ", (int)(strchr(all, ' ') - all), all);
	assert_string_equal(placed(FAT_TREE, "kind = \"random\";", without), first);
	assert_string_not_equal(placed(FAT_TREE, "kind = \"random\"; seed = 8;", ""), all);
	assert_string_equal(placed(FAT_TREE, "kind = \"random\"; seed = 7;", ""), all);
	assert_string_not_equal(all, "h0 h1 h2 h3 h4 h5 h6 h7 h8 h9 h10 h11 h12 h13 h14 h15");
	for (int h = 0; h < 16; h++) {
		char name[16];

		snprintf(name, sizeof(name), "h%d", h);
		at = strstr(all, name);
		assert_non_null(at);
	}
}

static void
ranks_of_a_host_are_at_its_nics(void **state)
{
	assert_string_equal(placed(RAIL, "nics = 2; count = 4;", ""), "h0 h0:2 h1 h1:2");
	assert_string_equal(placed(RAIL, "kind = \"spread\"; nics = 2; count = 4;", " h0 "), "h1 h1:2 h2 h2:2");
}

static void
share_takes_what_others_use(void **state)
{
	assert_string_equal(placed(CUSTOM, "count = 2; share = true;", " a b c d "), "a c");
}

static void
what_cannot_be_placed_is_refused(void **state)
{
	const struct {
		const char *topology, *placement, *taken, *message;
	} cases[] = {
		{ CUSTOM, "count = 5;", "",
		  "s.cfg:5: jobs.placement.count: 5 hosts asked for; 4 are free: ask for fewer, or let it share = true "
		  "those of "
		  "other jobs" },
		{ CUSTOM, "count = 4;", " b ",
		  "s.cfg:5: jobs.placement.count: 4 hosts asked for; 3 are free: ask for fewer, or let it share = true "
		  "those of "
		  "other jobs" },
		{ CUSTOM, "count = 5; share = true;", "", "s.cfg:5: jobs.placement.count: 5 hosts asked for; 4 are free" },
		{ LEAF_SPINE, "kind = \"one-per-leaf\"; count = 4;", "",
		  "s.cfg:4: jobs.placement.count: 4 hosts asked for, one a leaf; 3 leaves have a free host" },
		{ LEAF_SPINE, "count = 3; nics = 2;", "",
		  "s.cfg:4: jobs.placement.count: 3 ranks do not fill hosts of 2 ranks each" },
		{ LEAF_SPINE, "count = 4; nics = 2;", "", "s.cfg:4: jobs.placement.nics: host \"h0\" has 1 of 2 NICs" },
		{ LEAF_SPINE, "hosts = [ \"h[7-9]\" ];", "",
		  "s.cfg:4: jobs.placement.hosts: \"h9\" is neither a host nor host:nic of this topology" },
		{ LEAF_SPINE, "hosts = [ \"l0\" ];", "",
		  "s.cfg:4: jobs.placement.hosts: \"l0\" is a switch; only hosts send and receive" },
		{ LEAF_SPINE, "count = 2;", " h0 h1 h2 h3 h4 h5 h6 h7 h8 ",
		  "s.cfg:4: jobs.placement.count: 2 hosts asked for; 0 are free: ask for fewer, or let it share = true "
		  "those of "
		  "other jobs" },
		{ LEAF_SPINE, "", " h0 h1 h2 h3 h4 h5 h6 h7 h8 ",
		  "s.cfg:3: jobs.placement.count: no host is free: let it share = true those of other jobs" },
		{ LEAF_SPINE, "kind = \"dense\";", "",
		  "s.cfg:4: jobs.placement.kind: found \"dense\"; one of packed|spread|random|one-per-leaf "
		  "would be "
		  "right" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(placed(cases[i].topology, cases[i].placement, cases[i].taken), cases[i].message);
}

UNIT_TEST(place)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_fills_leaf_by_leaf),
		cmocka_unit_test(spread_takes_one_of_each_leaf_at_a_time),
		cmocka_unit_test(one_per_leaf_takes_the_first_free_host),
		cmocka_unit_test(random_draws_each_host_for_itself),
		cmocka_unit_test(ranks_of_a_host_are_at_its_nics),
		cmocka_unit_test(share_takes_what_others_use),
		cmocka_unit_test(what_cannot_be_placed_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
