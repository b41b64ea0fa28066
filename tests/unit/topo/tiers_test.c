/* SPDX-License-Identifier: BSD-3-Clause */
/* Tiers, and where packets come by that are spread evenly. */
#include <math.h>

#include "common/units.h"
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "topo/route.h"
#include "topo/tiers.h"

#define FAT_TREE "topology = { kind = \"fat-tree\"; k = 4; rate = \"100Gbps\"; delay = \"1us\"; };"
#define CLOS                                                                                                               \
	"topology = { kind = \"leaf-spine\"; leaves = 3; spines = 4; hosts_per_leaf = 1; rate = \"100Gbps\"; delay = "     \
	"\"1us\"; };"

/* Switches of each tier. */
static void
count_tiers(const struct topo *topo, const struct tiers *tiers, uint32_t count[TIERS_MAX + 1])
{
	memset(count, 0, (TIERS_MAX + 1) * sizeof(*count));
	for (uint32_t i = 0; i < topo->nnodes; i++)
		count[tiers->of[i]]++;
}

static void
leaves_stand_for_themselves(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo(CLOS, &cfg);
	uint32_t count[TIERS_MAX + 1], leaf = topo_find(topo, "l1"), spine = topo_find(topo, "s0");
	struct tiers tiers;

	(void)state;
	assert_int_equal(tiers_init(&tiers, topo), 0);
	count_tiers(topo, &tiers, count);
	assert_int_equal(tiers.most, 2);
	assert_int_equal(count[0], 3);
	assert_int_equal(count[1], 3);
	assert_int_equal(count[2], 4);
	assert_int_equal(tiers.group[0][leaf], leaf);
	assert_int_equal(tiers.group[0][spine], TOPO_NONE);
	assert_int_equal(tiers.group[1][leaf], tiers.group[1][spine]);
	assert_false(tiers_is_uplink(&tiers, topo_port_of(topo, leaf, 0)));
	assert_true(tiers_is_uplink(&tiers, topo_port_of(topo, leaf, 1)));
	assert_false(tiers_is_uplink(&tiers, topo_port_of(topo, spine, 0)));
	assert_int_equal(tiers_group_of(&tiers, topo, 1, topo->nodes[topo_find(topo, "h1")].first_port), leaf);
	tiers_fini(&tiers);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

/* Edges of a pod are one group to its aggregations, and each its own to edges. */
static void
pods_are_groups(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo(FAT_TREE, &cfg);
	uint32_t count[TIERS_MAX + 1], groups = 0;
	struct tiers tiers;

	(void)state;
	assert_int_equal(tiers_init(&tiers, topo), 0);
	count_tiers(topo, &tiers, count);
	assert_int_equal(tiers.most, 3);
	assert_int_equal(count[1], 8);
	assert_int_equal(count[2], 8);
	assert_int_equal(count[3], 4);
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		if (tiers.of[i] == 1)
			assert_int_equal(tiers.group[0][i], i);
		if (tiers.of[i] == 1 || tiers.of[i] == 2)
			assert_int_equal(tiers.of[tiers.group[1][i]], 2); /* an aggregation stands for its pod */
		groups += tiers.group[1][i] == i;
	}
	assert_int_equal(groups, 4);
	tiers_fini(&tiers);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

/* d / (s - f): every spine that connects both leaves. */
static void
a_cut_link_leaves_its_share_to_the_others(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo(CLOS, &cfg);
	struct route_table *routes = route_table_create(topo, ROUTE_SHORTEST);
	uint32_t from = topo_find(topo, "l0"), at = topo_find(topo, "l2"), dst = topo_find(topo, "h2");
	double share[TOPO_MAX_PORTS] = { 0 };
	bool withdrawn[64] = { false };

	(void)state;
	assert_non_null(routes);
	spread_add(topo, routes, NULL, from, dst, 0, at, share, NULL);
	for (uint32_t i = 0; i < 4; i++)
		assert_true(share[1 + i] == 0.25);
	withdrawn[topo_port_of(topo, from, 1)->link] = true; /* to s0 */
	withdrawn[topo_port_of(topo, at, 4)->link] = true;   /* from s3 */
	assert_int_equal(route_table_update(routes, withdrawn), 0);
	memset(share, 0, sizeof(share));
	spread_add(topo, routes, NULL, from, dst, 0, at, share, NULL);
	assert_true(share[1] == 0 && share[2] == 0.5 && share[3] == 0.5 && share[4] == 0);
	memset(share, 0, sizeof(share));
	spread_add(topo, routes, NULL, at, dst, 0, at, share, NULL); /* does not come down to it */
	assert_true(share[0] + share[1] + share[2] == 0);
	route_table_destroy(routes);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

/* What a way loses is sent again by all: w over the sum of w, of what arrives. */
static void
a_known_loss_lowers_a_share(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo(CLOS, &cfg);
	struct route_table *routes = route_table_create(topo, ROUTE_SHORTEST);
	uint32_t from = topo_find(topo, "l0"), at = topo_find(topo, "l2"), dst = topo_find(topo, "h2");
	double share[TOPO_MAX_PORTS] = { 0 }, again[TOPO_MAX_PORTS] = { 0 }, kept[128];

	(void)state;
	assert_true(topo->nports <= 128);
	for (uint32_t i = 0; i < topo->nports; i++)
		kept[i] = 1;
	kept[topo->nodes[from].first_port + 1] = 0.9;                  /* up to s0 */
	kept[topo->nodes[topo_find(topo, "s1")].first_port + 2] = 0.5; /* down from s1 */
	kept[topo->nodes[topo_find(topo, "s2")].first_port + 1] = 0.5; /* to another leaf */
	spread_add(topo, routes, kept, from, dst, 0, at, share, again);
	assert_true(fabs(again[1] / share[1] - 0.9) < 1e-12 && fabs(again[2] / share[2] - 0.5) < 1e-12);
	assert_true(again[3] == share[3]);
	assert_true(fabs(share[1] - 0.9 / 3.4) < 1e-12);
	assert_true(fabs(share[2] - 0.5 / 3.4) < 1e-12);
	assert_true(fabs(share[3] - 1 / 3.4) < 1e-12 && fabs(share[4] - 1 / 3.4) < 1e-12);
	/* What the last link loses comes by every port once more. */
	kept[topo->nodes[at].first_port] = 0.8;
	memset(share, 0, sizeof(share));
	spread_add(topo, routes, kept, from, dst, 0, at, share, NULL);
	assert_true(fabs(share[4] - 1 / 3.4 / 0.8) < 1e-12);
	route_table_destroy(routes);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

/* Between pods each of four cores brings a quarter: half of it to each aggregation, by two ports. */
static void
three_tiers_split_twice(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo(FAT_TREE, &cfg);
	struct route_table *routes = route_table_create(topo, ROUTE_SHORTEST);
	uint32_t src = topo->hosts[0], dst = topo->hosts[topo->nhosts - 1];
	uint32_t from = topo->ports[topo->nodes[src].first_port].peer, edge = topo->ports[topo->nodes[dst].first_port].peer;
	double share[TOPO_MAX_PORTS] = { 0 }, sum = 0;
	struct tiers tiers;

	(void)state;
	assert_non_null(routes);
	assert_int_equal(tiers_init(&tiers, topo), 0);
	spread_add(topo, routes, NULL, from, dst, 0, edge, share, NULL);
	for (uint16_t i = 0; i < topo->nodes[edge].nports; i++) {
		const struct topo_port *port = topo_port_of(topo, edge, i);
		double part[TOPO_MAX_PORTS] = { 0 };

		assert_true(share[i] == (tiers_is_uplink(&tiers, port) ? 0.5 : 0));
		if (!tiers_is_uplink(&tiers, port))
			continue;
		spread_add(topo, routes, NULL, from, dst, 0, port->peer, part, NULL);
		for (uint16_t k = 0; k < topo->nodes[port->peer].nports; k++) {
			assert_true(part[k] == 0 || part[k] == 0.25);
			sum += part[k];
		}
	}
	assert_true(sum == 1);
	tiers_fini(&tiers);
	route_table_destroy(routes);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

UNIT_TEST(tiers)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_stand_for_themselves),
		cmocka_unit_test(pods_are_groups),
		cmocka_unit_test(a_cut_link_leaves_its_share_to_the_others),
		cmocka_unit_test(a_known_loss_lowers_a_share),
		cmocka_unit_test(three_tiers_split_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
