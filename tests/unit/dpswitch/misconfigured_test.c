/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches that are configured wrongly: a missing route, an ACL, uneven ECMP, PFC without headroom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define US PS_PER_US
#define FLOWS 16

/* Two leaves, two spines: A:1 and A:2 lead to S and T, A:3 to a; likewise B and b. */
#define NETWORK                                                                                                            \
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; "                                          \
	"switches = [ \"A\", \"B\", \"S\", \"T\" ]; hosts = [ \"a\", \"b\" ]; "                                            \
	"links = ( \"A S\", \"A T\", \"a A\", \"B S\", \"B T\", \"b B\" ); };"
/* b takes in a tenth of what a sends. */
#define FUNNEL                                                                                                             \
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"A\" ]; "                    \
	"hosts = [ \"a\", \"b\" ]; links = ( \"a A\", \"b A 10Gbps\" ); };"

static void
init(struct frig *rig, const char *network, const char *fault)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s\nfaults = ( { %s } );", network, fault);
	frig_init(rig, text);
	for (uint32_t i = 0; i < FLOWS; i++)
		frig_flow(rig, "a", "b", 3);
}

static void
start(struct frig *rig, const char *network, const char *fault)
{
	init(rig, network, fault);
	if (frig_start(rig) < 0)
		fail_msg("%s", rig->err.text);
}

static uint64_t
dropped(const struct frig *rig, const char *sw, enum rec_drop reason)
{
	const struct node *node = &frig_switch(rig, sw)->node;
	uint64_t packets = 0;

	for (uint16_t p = 0; p < node->nports; p++)
		packets += node->ops->dropped(node, p, reason);
	return packets;
}

static void
a_missing_route_drops_by_name(void **state)
{
	struct frig rig;

	(void)state;
	start(&rig, NETWORK,
	      "kind = \"missing-route\"; switch = \"A\"; dst = \"b\"; start = \"20us\"; duration = \"8us\";");
	frig_send(&rig, 0, 0, 1000, 1000);
	frig_run(&rig, 200 * US);
	/* 8 us / 80 ns, at the port by which they would have left */
	assert_int_equal(dropped(&rig, "A", REC_DROP_NO_ROUTE), 100);
	assert_int_equal(frig_switch(&rig, "A")->node.ops->dropped(&frig_switch(&rig, "A")->node, 2, REC_DROP_NO_ROUTE), 0);
	assert_int_equal(frig_host(&rig, "b")->ngot, 900);
	assert_null(fault_idle(&rig.faults.faults[0]));
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* Whoever is named as a host, by a NIC or by addresses; the other direction passes. */
static void
an_acl_denies_in_one_direction(void **state)
{
	static const struct {
		const char *rule;
		bool denies;
	} rules[] = {
		{ "src = \"a\";", true },
		{ "src = \"a:1\"; dst = \"b:1\";", true },
		{ "dst = \"10.0.0.0/8\";", true },
		{ "dst = \"10.0.0.0/32\";", false },
		{ "src = \"b\";", false },
		{ "src = \"a\"; dst = \"a\";", false },
		{ "", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		char fault[256];
		struct frig rig;

		snprintf(fault, sizeof(fault), "kind = \"acl\"; switch = \"A\"; %s start = \"20us\"; duration = \"8us\";",
			 rules[i].rule);
		start(&rig, NETWORK, fault);
		frig_send(&rig, 0, 0, 1000, 1000);
		frig_run(&rig, 200 * US);
		assert_int_equal(frig_host(&rig, "b")->ngot, rules[i].denies ? 900 : 1000);
		for (uint32_t reason = 0; reason < REC_DROP_REASONS; reason++)
			assert_int_equal(dropped(&rig, "A", reason), 0);
		assert_true(frig_conserves(&rig));
		frig_stop(&rig);
	}
}

static uint32_t
by_first_path(const char *fault)
{
	struct frig rig;
	uint32_t frames;

	start(&rig, NETWORK, fault);
	for (uint32_t i = 0; i < FLOWS; i++)
		frig_send(&rig, i, i * US, 1000, 1);
	frig_run(&rig, 100 * US);
	assert_int_equal(frig_host(&rig, "b")->ngot, FLOWS);
	frames = (uint32_t)frig_link(&rig, "A:1")->received_frames;
	frig_stop(&rig);
	return frames;
}

static void
uneven_ecmp_takes_its_share(void **state)
{
	uint32_t even = by_first_path("kind = \"ecmp-imbalance\"; port = \"A:1\"; share = 0.0;");
	uint32_t most = by_first_path("kind = \"ecmp-imbalance\"; port = \"A:1\"; share = 0.7;");

	(void)state;
	assert_in_range(even, 1, FLOWS - 1);
	assert_in_range(most, even + 1, FLOWS - 1);
	assert_int_equal(by_first_path("kind = \"ecmp-imbalance\"; port = \"A:1\";"), FLOWS);
	assert_int_equal(by_first_path("kind = \"ecmp-imbalance\"; port = \"A:2\";"), 0);
	/* over: as it was */
	assert_int_equal(by_first_path("kind = \"ecmp-imbalance\"; port = \"A:1\"; duration = \"1ns\";"), even);
}

/* @return frames that were dropped at A:1, by name */
static uint64_t
through_the_funnel(const char *fault, bool *pauses)
{
	struct frig rig;
	uint64_t lost;

	init(&rig, FUNNEL, fault);
	rig.setup.all.pfc.model = PFC_STATIC;
	rig.setup.all.pfc.reserve_bytes = 2000;
	rig.setup.all.pfc.xoff_bytes = 10000;
	assert_int_equal(frig_start(&rig), 0);
	frig_send(&rig, 0, 0, 1000, 500);
	frig_run(&rig, 2 * PS_PER_MS);
	lost = dropped(&rig, "A", REC_DROP_NO_BUFFER);
	assert_int_equal(lost,
			 frig_switch(&rig, "A")->node.ops->dropped(&frig_switch(&rig, "A")->node, 0, REC_DROP_NO_BUFFER));
	assert_int_equal(frig_host(&rig, "b")->ngot, 500 - lost);
	assert_int_not_equal(frig_switch(&rig, "A")->node.status, NODE_NO_BUFFER);
	assert_int_equal(frig_switch(&rig, "A")->node.count.pause_errors, 0);
	*pauses = frig_host(&rig, "a")->npauses != 0;
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
	return lost;
}

static void
without_headroom_frames_are_dropped_by_name(void **state)
{
	uint64_t short_of, without;
	bool pauses;

	(void)state;
	assert_int_equal(through_the_funnel("kind = \"pfc-headroom\"; port = \"A:1\"; headroom = \"100KB\";", &pauses), 0);
	assert_true(pauses);
	short_of = through_the_funnel("kind = \"pfc-headroom\"; port = \"A:1\";", &pauses);
	assert_true(short_of > 0);
	assert_true(pauses);
	without = through_the_funnel("kind = \"pfc-headroom\"; port = \"A:1\"; pfc = false;", &pauses);
	assert_false(pauses);
	/* 40 us of arrivals, a tenth of which leaves, and 12 frames of room */
	assert_in_range(without, 420, 450);
	assert_true(short_of < without);
}

static void
refused(const char *fault, const char *why)
{
	struct frig rig;

	init(&rig, NETWORK, fault);
	assert_int_equal(frig_start(&rig), -1);
	assert_non_null(strstr(rig.err.text, "test.cfg:2"));
	if (strstr(rig.err.text, why) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", why, rig.err.text);
	frig_stop(&rig);
}

static void
what_cannot_be_is_refused(void **state)
{
	(void)state;
	refused("kind = \"missing-route\"; switch = \"a\"; dst = \"b\";", "\"a\" is no switch");
	refused("kind = \"missing-route\"; switch = \"S\"; dst = \"T\";", "\"T\" is no host");
	refused("kind = \"acl\"; switch = \"a\";", "\"a\" is no switch");
	refused("kind = \"acl\"; switch = \"A\"; src = \"S\";", "\"S\" is no host");
	refused("kind = \"acl\"; switch = \"A\"; dst = \"10.0.0.0/33\";", "10.0.0.0/24");
	refused("kind = \"acl\"; switch = \"A\"; dst = \"10.0.0/24\";", "10.0.0.0/24");
	refused("kind = \"acl\"; switch = \"A\"; dst = \"A:1\";", "no NIC of one");
	refused("kind = \"ecmp-imbalance\"; port = \"a:1\";", "only switches choose");
	refused("kind = \"ecmp-imbalance\"; port = \"A:1\"; share = 1.5;", "1.5");
	refused("kind = \"pfc-headroom\"; port = \"b:1\";", "name the switch's end");
}

UNIT_TEST(misconfigured)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_route_drops_by_name),
		cmocka_unit_test(an_acl_denies_in_one_direction),
		cmocka_unit_test(uneven_ecmp_takes_its_share),
		cmocka_unit_test(without_headroom_frames_are_dropped_by_name),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
