/* SPDX-License-Identifier: BSD-3-Clause */
/* A flow's way, hop by hop: where it ends, whatever devices answer. */
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "topo/route.h"

#define NETWORK                                                                                                            \
	"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 2; rate = \"100Gbps\"; delay = "     \
	"\"1us\"; };\n"

struct rig {
	struct cfg *cfg;
	struct topo *topo;
	uint32_t src, dst; /* h0, h3 */
};

static int
set_up(void **state)
{
	static struct rig rig;

	rig.topo = make_topo(NETWORK, &rig.cfg);
	rig.src = topo_find(rig.topo, "h0");
	rig.dst = topo_find(rig.topo, "h3");
	*state = &rig;
	return 0;
}

static int
tear_down(void **state)
{
	struct rig *rig = *state;

	topo_destroy(rig->topo);
	cfg_destroy(rig->cfg);
	return 0;
}

static struct swm_egress
forwarded(const struct rig *rig, const char *port)
{
	return (struct swm_egress){ .result = SWM_FORWARDED,
				    .port = rig->topo->ports[topo_find_port(rig->topo, port)].index };
}

static void
expect_next(const struct rig *rig, const struct topo_walk *walk, const char *node, const char *in_port)
{
	assert_int_equal(walk->state, WALK_GOES_ON);
	assert_string_equal(rig->topo->nodes[walk->node].name, node);
	assert_int_equal(rig->topo->nodes[walk->node].first_port + walk->in_port, topo_find_port(rig->topo, in_port));
}

static bool
go(const struct rig *rig, struct topo_walk *walk, const char *port)
{
	struct swm_egress answer = forwarded(rig, port);

	return topo_walk_on(walk, rig->topo, &answer);
}

static void
paths_end_at_the_destination(void **state)
{
	const struct rig *rig = *state;
	struct topo_walk walk;

	topo_walk_begin(&walk, rig->topo, rig->src, 0, topo_nic_ip(rig->dst, 0));
	expect_next(rig, &walk, "l0", "l0:1");
	assert_true(go(rig, &walk, "l0:4"));
	expect_next(rig, &walk, "s1", "s1:1");
	assert_true(go(rig, &walk, "s1:2"));
	expect_next(rig, &walk, "l1", "l1:4");
	assert_false(go(rig, &walk, "l1:2"));
	assert_int_equal(walk.state, WALK_ARRIVED);
	assert_int_equal(walk.node, rig->dst);
	assert_int_equal(walk.path.hops, 4);
	assert_int_equal(walk.path.ports[3], topo_find_port(rig->topo, "l1:2"));
}

static void
paths_end_elsewhere(void **state)
{
	const struct rig *rig = *state;
	struct swm_egress drop = { .result = SWM_DROPPED, .reason = 4 }, spray = { .result = SWM_SPRAYED };
	struct swm_egress beyond = { .result = SWM_FORWARDED, .port = 4 }, unknown = { .result = SWM_NO_INGRESS };
	struct topo_walk first, walk;

	topo_walk_begin(&first, rig->topo, rig->src, 0, topo_nic_ip(rig->dst, 0));
	walk = first;
	assert_false(go(rig, &walk, "l0:2")); /* h1 */
	assert_int_equal(walk.state, WALK_LOST);
	walk = first;
	assert_false(topo_walk_on(&walk, rig->topo, &drop));
	assert_int_equal(walk.state, WALK_DROPPED);
	assert_int_equal(walk.reason, 4);
	walk = first;
	assert_false(topo_walk_on(&walk, rig->topo, &spray));
	assert_int_equal(walk.state, WALK_SPRAYED);
	walk = first;
	assert_false(topo_walk_on(&walk, rig->topo, &beyond));
	assert_int_equal(walk.state, WALK_CONTRADICTED);
	walk = first;
	assert_false(topo_walk_on(&walk, rig->topo, &unknown));
	assert_int_equal(walk.state, WALK_CONTRADICTED);
	walk = first;
	topo_walk_unanswered(&walk);
	assert_int_equal(walk.state, WALK_UNANSWERED);
	topo_walk_begin(&walk, rig->topo, rig->src, 1, topo_nic_ip(rig->dst, 0));
	assert_int_equal(walk.state, WALK_CONTRADICTED); /* it has one NIC */
	assert_int_equal(walk.path.hops, 0);
}

/*
 * Back to the host it came from: lost there, though the address is its own. Round and round: ends at the first port
 * again.
 */
static void
paths_have_no_loops(void **state)
{
	const struct rig *rig = *state;
	struct topo_walk walk;

	topo_walk_begin(&walk, rig->topo, rig->src, 0, topo_nic_ip(rig->dst, 0));
	assert_true(go(rig, &walk, "l0:3"));
	assert_true(go(rig, &walk, "s0:2"));
	assert_true(go(rig, &walk, "l1:4"));
	assert_true(go(rig, &walk, "s1:1"));
	expect_next(rig, &walk, "l0", "l0:4");
	assert_false(go(rig, &walk, "l0:3"));
	assert_int_equal(walk.state, WALK_LOOPS);
	assert_int_equal(walk.path.hops, 5);
	topo_walk_begin(&walk, rig->topo, rig->src, 0, 0x08080808); /* nobody's */
	assert_true(go(rig, &walk, "l0:3"));
	assert_true(go(rig, &walk, "s0:2"));
	assert_false(go(rig, &walk, "l1:2"));
	assert_int_equal(walk.state, WALK_LOST);
}

UNIT_TEST(walk)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(paths_end_at_the_destination),
		TEST(paths_end_elsewhere),
		TEST(paths_have_no_loops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
