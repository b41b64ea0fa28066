/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Load balancing in a fabric, every kind of it: where packets spread and where they must not, that nothing is lost, that
 * lcores change nothing, and what a cut cable leaves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define US PS_PER_US
#define LEAVES 4
#define SPINES 4
#define PACKETS 1000

/* Leaf i has hosts h(2i) and h(2i+1) on its ports 0 and 1, spine k on port 2 + k; a spine has leaf i on port i. */
static const char clos[] = "topology = { kind = \"leaf-spine\"; leaves = 4; spines = 4; hosts_per_leaf = 2; rate = "
			   "\"100Gbps\"; delay = \"1us\"; };";

/* With parameters as they are by default, but that every packet is a flowlet. */
static void
init(struct frig *rig, const char *scenario, enum balance_kind kind)
{
	struct cfg *cfg;
	char text[128];

	frig_init(rig, scenario);
	snprintf(text, sizeof(text), "load_balancing = { kind = \"%s\"; flowlet = { gap = \"0us\"; }; };",
		 balance_kinds[kind]->name);
	cfg = cfg_load_string(text, "test.cfg", &rig->err);
	if (cfg == NULL || balance_bind(&rig->config.balance, cfg, &rig->err) < 0)
		fail_msg("%s", rig->err.text);
	cfg_destroy(cfg);
	rig->setup.all.params.lossy_queue_bytes = 10000000;
	rig->setup.all.pfc.headroom_bytes = 100000;
}

static void
start(struct frig *rig)
{
	if (frig_start(rig) < 0)
		fail_msg("%s", rig->err.text);
}

/* Every host sends to one of the next leaf. */
static void
start_ring(struct frig *rig)
{
	char src[16], dst[16];

	for (int i = 0; i < 2 * LEAVES; i++) {
		snprintf(src, sizeof(src), "h%d", i);
		snprintf(dst, sizeof(dst), "h%d", (i + 2) % (2 * LEAVES));
		frig_flow(rig, src, dst, 3);
	}
	start(rig);
	for (uint32_t i = 0; i < 2 * LEAVES; i++)
		frig_send(rig, i, 0, 1000, PACKETS);
}

/* Frames that a node's port has sent, of all windows taken in. */
static uint64_t
sent_by(const struct frig *rig, const char *port)
{
	return frig_link(rig, port)->sent_frames;
}

/* Nothing else reaches hosts than what was sent to them, all of it. */
static void
expect_delivery(struct frig *rig, uint32_t packets)
{
	for (uint32_t i = 0; i < rig->topo->nhosts; i++) {
		const struct frig_host *host = rig->hosts[rig->topo->hosts[i]];

		assert_int_equal(host->ngot, packets);
		for (size_t k = 0; k < host->ngot; k++)
			assert_int_equal(rig->flows[host->got[k].flow].dst_node, host->node.id);
	}
	assert_true(frig_conserves(rig));
}

static bool
in_order(const struct frig *rig)
{
	for (uint32_t i = 0; i < rig->topo->nhosts; i++) {
		const struct frig_host *host = rig->hosts[rig->topo->hosts[i]];

		for (size_t k = 1; k < host->ngot; k++)
			if (host->got[k].psn < host->got[k - 1].psn)
				return false;
	}
	return true;
}

static void
packets_spread_over_the_uplinks_alone(void **state)
{
	int overtaken = 0;

	for (int kind = 0; kind < BALANCE_COUNT; kind++) {
		struct frig rig;
		char port[32];

		if (!balance_is_on(&(struct balance_params){ .ops = balance_kinds[kind] }))
			continue;
		init(&rig, clos, (enum balance_kind)kind);
		start_ring(&rig);
		frig_run(&rig, 400 * US);
		for (int leaf = 0; leaf < LEAVES; leaf++)
			for (int spine = 0; spine < SPINES; spine++) {
				snprintf(port, sizeof(port), "l%d:%d", leaf, 3 + spine);
				/* 2000 by 4 ports: 500 +- 19 by chance */
				assert_in_range(sent_by(&rig, port), 500 - 100, 500 + 100);
			}
		expect_delivery(&rig, PACKETS);
		assert_true(balance_kinds[kind]->reorders || in_order(&rig));
		overtaken += !in_order(&rig);
		frig_stop(&rig);
	}
	assert_true(overtaken > 0);
}

static uint64_t
digest_of(enum balance_kind kind, uint32_t lcores, uint64_t seed, uint32_t run_us)
{
	struct frig rig;
	uint64_t digest;

	init(&rig, clos, kind);
	rig.config.seed = rig.config.hash_seed = seed;
	rig.fabric_config.lcores = lcores;
	start_ring(&rig);
	for (int i = 0; i < 20; i++)
		frig_pause(&rig, "h0", (uint64_t)(10 + 5 * i) * US, 1 << 3, i % 2 == 0);
	frig_run(&rig, run_us * US);
	digest = fabric_digest(rig.fabric);
	frig_stop(&rig);
	return digest;
}

static void
lcores_change_nothing(void **state)
{
	const uint32_t run_us = unit_wide(60, 1000, "microseconds of each balance on several lcores");

	for (int kind = 0; kind < BALANCE_COUNT; kind++) {
		uint64_t digest = digest_of((enum balance_kind)kind, 1, 1, run_us);

		assert_int_equal(digest_of((enum balance_kind)kind, 2, 1, run_us), digest);
		assert_int_equal(digest_of((enum balance_kind)kind, 3, 1, run_us), digest);
		assert_int_not_equal(digest_of((enum balance_kind)kind, 1, 2, run_us), digest);
	}
}

/* Spine s1 has lost its cable to l0 for a while: leaf 0 uses the other three, and all of them again later. */
static void
a_cut_cable_is_left_out(void **state)
{
	static const char cut[] =
		"faults = ( { kind = \"link-down\"; port = \"l0:4\"; start = \"0us\"; duration = \"100us\"; } );";
	char scenario[512];

	snprintf(scenario, sizeof(scenario), "%s\n%s", clos, cut);
	for (int kind = 0; kind < BALANCE_COUNT; kind++) {
		struct frig rig;
		uint32_t there;

		if (!balance_is_on(&(struct balance_params){ .ops = balance_kinds[kind] }))
			continue;
		init(&rig, scenario, (enum balance_kind)kind);
		there = frig_flow(&rig, "h0", "h2", 3);
		start(&rig);
		frig_send(&rig, there, 10 * US, 1000, 300);
		frig_send(&rig, there, 200 * US, 1000, 400);
		frig_run(&rig, 400 * US);
		assert_in_range(sent_by(&rig, "l0:3"), 200 - 60, 200 + 60);
		assert_in_range(sent_by(&rig, "l0:4"), 100 - 50, 100 + 50);
		assert_in_range(sent_by(&rig, "l0:5"), 200 - 60, 200 + 60);
		assert_int_equal(frig_host(&rig, "h2")->ngot, 700);
		assert_true(frig_conserves(&rig));
		frig_stop(&rig);
	}
}

/* Two cables between the same two switches are two members. */
static void
parallel_cables_are_members(void **state)
{
	static const char parallel[] =
		"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"S1\", \"S2\" ]; "
		"hosts = [ \"a\", \"b\" ]; links = ( \"a S1\", \"S1 S2\", \"S1 S2\", \"b S2\" ); };";

	for (int kind = 0; kind < BALANCE_COUNT; kind++) {
		struct frig rig;
		uint32_t there;

		if (!balance_is_on(&(struct balance_params){ .ops = balance_kinds[kind] }))
			continue;
		init(&rig, parallel, (enum balance_kind)kind);
		there = frig_flow(&rig, "a", "b", 3);
		start(&rig);
		frig_send(&rig, there, 0, 1000, 400);
		frig_run(&rig, 400 * US);
		assert_in_range(sent_by(&rig, "S1:2"), 200 - 50, 200 + 50);
		assert_int_equal(sent_by(&rig, "S1:2") + sent_by(&rig, "S1:3"), 400);
		assert_int_equal(frig_host(&rig, "b")->ngot, 400);
		frig_stop(&rig);
	}
}

/*
 * Two senders of a leaf, frames of two lengths and answers of class 0 the other way, all kinds that look at what went
 * before: shares of a class differ by a frame or two, for as long as one likes.
 */
static void
an_idle_fabric_is_shared_to_a_packet(void **state)
{
	static const enum balance_kind even[] = { BALANCE_ROUND_ROBIN, BALANCE_ADAPTIVE };

	for (size_t k = 0; k < 2; k++) {
		uint64_t sum = 0, least = UINT64_MAX, most = 0;
		struct frig rig;
		uint32_t flows[3];

		init(&rig, clos, even[k]);
		flows[0] = frig_flow(&rig, "h0", "h2", 3);
		flows[1] = frig_flow(&rig, "h1", "h3", 3);
		flows[2] = frig_flow(&rig, "h0", "h4", 0);
		start(&rig);
		for (uint32_t i = 0; i < PACKETS; i++) { /* 60 and 50 % of the leaf's uplinks each at most, at odd times */
			frig_send(&rig, flows[0], i * 131000, 1000, 1);
			frig_send(&rig, flows[1], i * 97000, even[k] == BALANCE_ADAPTIVE && i % 3 == 0 ? 700 : 1000, 1);
			frig_send(&rig, flows[2], i * 210000, 84, 1);
		}
		frig_run(&rig, 400 * US);
		for (int spine = 0; spine < SPINES; spine++) {
			uint64_t bytes;
			char name[16];

			snprintf(name, sizeof(name), "s%d", spine);
			bytes = frig_switch(&rig, name)->ports[1].egress.sent_bytes; /* to l1: answers go to l2 */
			sum += bytes;
			least = bytes < least ? bytes : least;
			most = bytes > most ? bytes : most;
		}
		assert_int_equal(sum, 2 * PACKETS * 1000 - (even[k] == BALANCE_ADAPTIVE ? (PACKETS + 2) / 3 * 300 : 0));
		assert_in_range(most - least, 0, 2000);
		frig_stop(&rig);
	}
}

/* A packet that is sent again is drawn for anew; the same packet at the same place never. */
static void
a_packet_is_drawn_for_by_its_name(void **state)
{
	struct flow flow = { .src_ip = 1, .dst_ip = 2, .sport = 3, .dport = 4 };
	const struct flow_table flows = { .flows = &flow, .count = 1 };
	const struct balance balance = { .flows = &flows, .stream = 7 };
	uint32_t moved = 0;

	for (uint32_t psn = 0; psn < 1000; psn++) {
		struct pkt p = { .psn = psn, .type = PKT_DATA, .ttl = 60, .time_ps = psn };
		uint32_t first = balance_draw(&balance, &p, 4);

		p.time_ps += 12345;
		assert_int_equal(balance_draw(&balance, &p, 4), first);
		p.flags |= PKT_RETRANSMIT;
		moved += balance_draw(&balance, &p, 4) != first;
	}
	assert_in_range(moved, 750 - 60, 750 + 60);
}

UNIT_TEST(spray)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_spread_over_the_uplinks_alone),
		cmocka_unit_test(lcores_change_nothing),
		cmocka_unit_test(a_cut_cable_is_left_out),
		cmocka_unit_test(parallel_cables_are_members),
		cmocka_unit_test(an_idle_fabric_is_shared_to_a_packet),
		cmocka_unit_test(a_packet_is_drawn_for_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
