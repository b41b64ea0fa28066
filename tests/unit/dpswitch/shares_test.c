/* SPDX-License-Identifier: BSD-3-Clause */
/* Which lcore runs which nodes: by ports at first, then by the packets that arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/array.h"
#include "dpswitch/fabric/node.h"
#include "dpswitch/fabric/shares.h"
#include "tests/unit/unit.h"

static void
heaviest_goes_to_the_lightest(void **state)
{
	uint64_t weight[] = { 1, 7, 0, 4, 4 };
	uint32_t owner[] = { 9, 9, 9, 9, 9 };

	(void)state;
	assert_int_equal(shares_assign(weight, ARRAY_LEN(weight), 2, owner), 8);
	assert_int_equal(owner[1], 0);
	assert_int_equal(owner[3], 1);
	assert_int_equal(owner[4], 1);
	assert_int_equal(owner[0], 0);
	assert_int_equal(owner[2], 9); /* nothing to do */
	assert_int_equal(weight[1], 0);
}

#define SWITCHES 4
#define NODES (2 * SWITCHES)

/* Switches 0 to 3, each with one host, 4 to 7. */
struct star {
	struct topo_node nodes[NODES];
	struct topo_port ports[NODES];
	struct topo topo;
	struct node running[NODES];
	struct node *pointers[NODES];
	struct shares shares;
};

static void
start(struct star *star)
{
	*star = (struct star){ .topo = { .nodes = star->nodes, .ports = star->ports, .nnodes = NODES, .nports = NODES } };
	for (uint32_t i = 0; i < NODES; i++) {
		star->nodes[i] =
			(struct topo_node){ .kind = i < SWITCHES ? TOPO_SWITCH : TOPO_HOST, .nports = 1, .first_port = i };
		star->ports[i] = (struct topo_port){ .node = i,
						     .peer = (i + SWITCHES) % NODES,
						     .peer_port = (i + SWITCHES) % NODES };
		star->pointers[i] = &star->running[i];
	}
	assert_int_equal(shares_init(&star->shares, &star->topo, NULL, 2), 0);
}

static void
hosts_stay_with_their_switch(void **state)
{
	struct shares_group groups[NODES];
	struct star star;
	uint32_t nodes[NODES];

	(void)state;
	start(&star);
	for (uint32_t lcore = 0; lcore < 2; lcore++) {
		assert_int_equal(shares_groups(&star.shares, lcore, nodes, groups), 2);
		for (uint32_t g = 0; g < 2; g++) {
			const uint32_t *members = &nodes[groups[g].from], node = lcore + 2 * g;

			assert_int_equal(groups[g].count, 2);
			assert_true(members[0] == node && members[1] == node + SWITCHES);
		}
	}
	shares_fini(&star.shares);
}

/* Switches 0 and 2, of one lcore, have all the work: one of them moves, and nothing more once both have as much. */
static void
busy_groups_are_divided(void **state)
{
	struct star star;

	(void)state;
	start(&star);
	star.running[0].count.rx_packets = star.running[2].count.rx_packets = 500000;
	assert_false(shares_look(&star.shares, star.pointers, SHARES_WINDOWS - 1));
	assert_true(shares_look(&star.shares, star.pointers, SHARES_WINDOWS));
	assert_int_not_equal(star.shares.owner[0], star.shares.owner[2]);
	star.running[0].count.rx_packets += 500000;
	star.running[2].count.rx_packets += 510000;
	assert_false(shares_look(&star.shares, star.pointers, 2 * SHARES_WINDOWS));
	shares_fini(&star.shares);
}

/* What was done before the last look counts no more. */
static void
latest_work_counts(void **state)
{
	struct star star;

	(void)state;
	start(&star);
	star.running[0].count.rx_packets = star.running[1].count.rx_packets = 500000;
	assert_false(shares_look(&star.shares, star.pointers, SHARES_WINDOWS));
	star.running[1].count.rx_packets += 100000;
	star.running[3].count.rx_packets += 100000;
	assert_true(shares_look(&star.shares, star.pointers, 2 * SHARES_WINDOWS));
	assert_int_not_equal(star.shares.owner[1], star.shares.owner[3]);
	shares_fini(&star.shares);
}

/* An lcore begins with what takes longest: what others take from it then is short. */
static void
heaviest_group_is_first(void **state)
{
	struct shares_group groups[NODES];
	uint32_t nodes[NODES];
	struct star star;

	(void)state;
	start(&star);
	assert_int_equal(shares_groups(&star.shares, 0, nodes, groups), 2);
	assert_true(groups[0].from == 0 && groups[0].count == 2 && nodes[0] == 0 && nodes[1] == 4);
	star.running[6].count.rx_packets = 1000;
	shares_look(&star.shares, star.pointers, SHARES_WINDOWS);
	memset(star.shares.owner, 0, NODES * sizeof(*star.shares.owner));
	assert_int_equal(shares_groups(&star.shares, 0, nodes, groups), 4);
	assert_true(groups[0].count == 2 && nodes[groups[0].from] == 2 && nodes[groups[0].from + 1] == 6);
	assert_int_equal(groups[0].weight, 1002);
	assert_int_equal(nodes[groups[1].from], 0);
	assert_int_equal(nodes[groups[3].from], 3);
	assert_int_equal(shares_groups(&star.shares, 1, nodes, groups), 0);
	shares_fini(&star.shares);
}

UNIT_TEST(shares)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heaviest_goes_to_the_lightest), cmocka_unit_test(hosts_stay_with_their_switch),
		cmocka_unit_test(busy_groups_are_divided),       cmocka_unit_test(latest_work_counts),
		cmocka_unit_test(heaviest_group_is_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
