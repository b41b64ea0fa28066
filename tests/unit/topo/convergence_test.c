/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/units.h"
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "topo/convergence.h"

/* Leaves l0..l2 with a host each on port 1, spines s0..s3 on ports 2 to 5; a spine has leaf i on port i + 1. */
#define LEAVES "topology = { kind = \"leaf-spine\"; leaves = 3; spines = 4; hosts_per_leaf = 1; };\n"

struct rig {
	struct cfg *cfg;
	struct topo *topo;
	struct convergence *convergence;
};

static void
start(struct rig *rig, const char *text, uint64_t after_ps)
{
	rig->topo = make_topo(text, &rig->cfg);
	rig->convergence = convergence_create(rig->topo, ROUTE_SHORTEST, after_ps, NULL);
	assert_non_null(rig->convergence);
}

static void
stop(struct rig *rig)
{
	convergence_destroy(rig->convergence);
	topo_destroy(rig->topo);
	cfg_destroy(rig->cfg);
}

static void
set_link(struct rig *rig, const char *port, bool down, uint64_t now_ps)
{
	convergence_link_changed(rig->convergence, rig->topo->ports[topo_find_port(rig->topo, port)].link, down, now_ps);
}

static void
assert_hops(const struct rig *rig, const char *node, const char *dst, const char *expected)
{
	const uint8_t *ports;
	char text[64] = "";
	uint32_t count = route_next_hops(convergence_routes(rig->convergence), topo_find(rig->topo, node),
					 topo_find(rig->topo, dst), 0, &ports);

	for (uint32_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u", i != 0 ? " " : "", ports[i] + 1u);
	assert_string_equal(text, expected);
}

/* One that is known to be cut is in no route from the start, and returns like any other. */
static void
a_known_cut_is_withdrawn_from_the_start(void **state)
{
	bool withdrawn[32] = { false };
	struct rig rig;

	(void)state;
	start(&rig, LEAVES, 100);
	convergence_destroy(rig.convergence);
	withdrawn[rig.topo->ports[topo_find_port(rig.topo, "s1:2")].link] = true;
	rig.convergence = convergence_create(rig.topo, ROUTE_SHORTEST, 100, withdrawn);
	assert_non_null(rig.convergence);
	assert_hops(&rig, "l0", "h1", "2 4 5");
	assert_hops(&rig, "l1", "h0", "2 4 5");
	assert_hops(&rig, "l0", "h2", "2 3 4 5");
	set_link(&rig, "s1:2", true, 0); /* nothing new */
	assert_true(convergence_next_ps(rig.convergence, 0) == UINT64_MAX);
	set_link(&rig, "s1:2", false, 1000);
	assert_int_equal(convergence_apply(rig.convergence, 1100), 1);
	assert_hops(&rig, "l0", "h1", "2 3 4 5");
	stop(&rig);
}

/* A cable that stays cut is withdrawn everywhere after the time, and returns the same time after it is mended. */
static void
a_dead_cable_is_withdrawn_and_restored(void **state)
{
	struct rig rig;

	(void)state;
	start(&rig, LEAVES, 100);
	assert_true(convergence_next_ps(rig.convergence, 0) == UINT64_MAX);
	set_link(&rig, "s1:2", true, 1000);
	assert_int_equal(convergence_next_ps(rig.convergence, 1001), 1100);
	assert_int_equal(convergence_apply(rig.convergence, 1099), 0);
	assert_hops(&rig, "l0", "h1", "2 3 4 5");
	assert_int_equal(convergence_apply(rig.convergence, 1100), 1);
	assert_true(convergence_next_ps(rig.convergence, 1101) == UINT64_MAX);
	assert_hops(&rig, "l0", "h1", "2 4 5");
	assert_hops(&rig, "l0", "h2", "2 3 4 5"); /* others still go by s1 */
	assert_hops(&rig, "l1", "h0", "2 4 5");
	assert_hops(&rig, "l1", "h1", "1");
	assert_hops(&rig, "s1", "h1", "1 3"); /* the long way round */
	assert_hops(&rig, "h0", "h1", "1");

	set_link(&rig, "l1:3", false, 2000); /* its other end */
	assert_int_equal(convergence_apply(rig.convergence, 2099), 0);
	assert_hops(&rig, "l0", "h1", "2 4 5");
	assert_int_equal(convergence_apply(rig.convergence, 2100), 1);
	assert_hops(&rig, "l0", "h1", "2 3 4 5");
	assert_hops(&rig, "s1", "h1", "2");
	stop(&rig);
}

/* What does not last is never known. */
static void
a_flap_that_is_shorter_is_not_seen(void **state)
{
	struct rig rig;

	(void)state;
	start(&rig, LEAVES, 100);
	for (uint64_t now_ps = 0; now_ps < 1000; now_ps += 50)
		set_link(&rig, "s1:2", now_ps % 100 == 0, now_ps);
	assert_true(convergence_next_ps(rig.convergence, 1000) == UINT64_MAX);
	assert_int_equal(convergence_apply(rig.convergence, 5000), 0);
	set_link(&rig, "s1:2", true, 6000);
	set_link(&rig, "s1:2", true, 6050); /* no news */
	assert_int_equal(convergence_next_ps(rig.convergence, 6050), 6100);
	stop(&rig);
}

static void
cables_are_known_one_by_one(void **state)
{
	struct rig rig;

	(void)state;
	start(&rig, LEAVES, 100);
	set_link(&rig, "s1:2", true, 1000);
	set_link(&rig, "s2:2", true, 1040);
	assert_int_equal(convergence_apply(rig.convergence, 1100), 1);
	assert_hops(&rig, "l0", "h1", "2 4 5");
	assert_int_equal(convergence_next_ps(rig.convergence, 1101), 1140);
	assert_int_equal(convergence_apply(rig.convergence, 1140), 1);
	assert_hops(&rig, "l0", "h1", "2 5");
	stop(&rig);

	start(&rig, LEAVES, 0); /* at once */
	set_link(&rig, "s1:2", true, 1000);
	assert_int_equal(convergence_apply(rig.convergence, 1000), 1);
	assert_hops(&rig, "l0", "h1", "2 4 5");
	stop(&rig);
}

static void
a_leaf_without_uplinks_is_not_reached(void **state)
{
	const char *uplinks[] = { "l1:2", "l1:3", "l1:4", "l1:5" };
	struct rig rig;

	(void)state;
	start(&rig, LEAVES, 0);
	for (size_t i = 0; i < 4; i++)
		set_link(&rig, uplinks[i], true, 0);
	assert_int_equal(convergence_apply(rig.convergence, 0), 1);
	assert_hops(&rig, "l0", "h1", "");
	assert_hops(&rig, "s0", "h1", "");
	assert_hops(&rig, "l1", "h0", "");
	assert_hops(&rig, "l1", "h1", "1");
	assert_hops(&rig, "l0", "h2", "2 3 4 5");
	/* one that returns is the only way, for spines as well */
	set_link(&rig, "l1:5", false, 10);
	assert_int_equal(convergence_apply(rig.convergence, 10), 1);
	assert_hops(&rig, "l0", "h1", "5");
	assert_hops(&rig, "s0", "h1", "1 3");
	assert_hops(&rig, "l1", "h0", "5");
	stop(&rig);
}

/* A host's cable is nobody else's matter; of two cables between switches one stays. */
static void
hosts_and_parallel_cables(void **state)
{
	struct rig rig;

	(void)state;
	start(&rig, LEAVES, 0);
	set_link(&rig, "l1:1", true, 0);
	set_link(&rig, "h0:1", true, 0);
	assert_true(convergence_next_ps(rig.convergence, 0) == UINT64_MAX);
	assert_int_equal(convergence_apply(rig.convergence, 0), 0);
	assert_hops(&rig, "l0", "h1", "2 3 4 5");
	stop(&rig);

	start(&rig,
	      "topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"s\", \"t\", \"u\" ];\n"
	      " links = ( \"a s\", \"s t\", \"s u\", \"s t\", \"u t\", \"t b\" ); };",
	      0);
	set_link(&rig, "s:2", true, 0);
	assert_int_equal(convergence_apply(rig.convergence, 0), 1);
	assert_hops(&rig, "s", "b", "4");
	set_link(&rig, "t:2", true, 0);
	assert_int_equal(convergence_apply(rig.convergence, 0), 1);
	assert_hops(&rig, "s", "b", "3"); /* the long way, now that it is the shortest */
	stop(&rig);
}

UNIT_TEST(convergence)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_known_cut_is_withdrawn_from_the_start),
		cmocka_unit_test(a_dead_cable_is_withdrawn_and_restored),
		cmocka_unit_test(a_flap_that_is_shorter_is_not_seen),
		cmocka_unit_test(cables_are_known_one_by_one),
		cmocka_unit_test(a_leaf_without_uplinks_is_not_reached),
		cmocka_unit_test(hosts_and_parallel_cables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
