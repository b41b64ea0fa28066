/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of single switches and ports: what they have in place of those of all, and what switches make of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define US PS_PER_US

/* a and c send to b over A and B; b takes in a tenth. A:1 leads to a, A:2 to c, A:3 to B:1, B:2 to b. */
#define NETWORK                                                                                                            \
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"A\", \"B\" ]; "             \
	"hosts = [ \"a\", \"b\", \"c\" ]; links = ( \"a A\", \"c A\", \"A B\", \"B b 10Gbps\" ); };\n"

static void
init(struct frig *rig, const char *more)
{
	char text[2048];

	snprintf(text, sizeof(text), NETWORK "%s", more);
	frig_init(rig, text);
}

static const struct switch_settings *
at(const struct frig *rig, const char *port)
{
	return switch_settings_at(&rig->setup, rig->topo, topo_find_port(rig->topo, port));
}

static void
keys_override_those_of_all_by_the_nearest(void **state)
{
	struct frig rig;

	(void)state;
	init(&rig,
	     "switch = { lossy_queue = 7000; pfc = { alpha = 0.5; reserve = 5000; }; ecn = { kmin = 10; kmax = 20; };\n"
	     " wred = ( \"5 1 2\" ); };\n"
	     "switches = ( { names = [ \"B\" ]; buffer = 9000000; pfc = { reserve = 6000; }; ecn = { kmin = 11; };\n"
	     " wred = ( \"5 3 4\", \"6 5 6\" ); } );\n"
	     "ports = ( { names = [ \"B:1\", \"A:1\" ]; lossy_queue = 8000; mtu = 1500; pfc = { alpha = 0.25; }; } );\n");
	assert_int_equal(switch_settings_of(&rig.setup, topo_find(rig.topo, "A"))->params.buffer_bytes, 0);
	assert_int_equal(at(&rig, "A:2")->pfc.reserve_bytes, 5000);
	assert_int_equal(at(&rig, "B:2")->pfc.reserve_bytes, 6000);
	assert_true(at(&rig, "B:2")->pfc.alpha == 0.5);
	assert_int_equal(at(&rig, "B:2")->params.buffer_bytes, 9000000);
	assert_int_equal(at(&rig, "B:2")->params.lossy_queue_bytes, 7000);
	assert_int_equal(at(&rig, "B:2")->ecn.kmin_bytes, 11);
	assert_int_equal(at(&rig, "B:2")->ecn.kmax_bytes, 20);
	assert_int_equal(at(&rig, "B:2")->nwreds, 2);
	assert_int_equal(at(&rig, "B:2")->wreds[0].kmin_bytes, 3);
	assert_int_equal(at(&rig, "A:1")->nwreds, 1);
	assert_int_equal(at(&rig, "A:1")->wreds[0].kmin_bytes, 1);
	assert_int_equal(at(&rig, "B:1")->params.lossy_queue_bytes, 8000);
	assert_int_equal(at(&rig, "B:1")->mtu_bytes, 1500);
	assert_true(at(&rig, "B:1")->pfc.alpha == 0.25);
	assert_int_equal(at(&rig, "B:1")->pfc.reserve_bytes, 6000);
	assert_int_equal(at(&rig, "A:1")->pfc.reserve_bytes, 5000);
	frig_stop(&rig);
}

static void
wrong_names_and_rows_are_errors(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "switches = ( { names = [ \"X\" ]; } );", "t.cfg:1: switches.[0].names: \"X\" is no switch" },
		{ "switches = ( { names = [ \"a\" ]; } );", "\"a\" is no switch of this topology" },
		{ "switches = ( { names = [ \"A\" ]; },\n { names = [ \"A\" ]; } );",
		  "t.cfg:2: switches.[1].names: \"A\" is named already" },
		{ "switches = ( { names = [ ]; } );", "names of switches would be right" },
		{ "switches = ( { buffer = 1; } );", "names is missing" },
		{ "switches = ( { names = [ \"A\" ]; pfc = { alpha = 100; }; } );", "switches.[0].pfc.alpha: found 100" },
		{ "switch = { wred = ( \"5 1 2\", \"5 1 2\" ); };", "5 is in an earlier row" },
		{ "ports = ( { names = [ \"A:1\" ]; class_map = [ \"24\" ]; } );",
		  "t.cfg:1: ports.[0].class_map: \"24\": \"DSCP:class\"" },
		{ "switch = { class_map = [ \"24:0\" ]; };", "class 1 to 7" },
		{ "switch = { class_map = [ \"26:3\" ]; };", "no host marks data with DSCP 26" },
		{ "ports = ( { names = [ \"A:1\" ]; class_map = [ \"24:1\", \"24:2\" ]; } );",
		  "t.cfg:1: ports.[0].class_map: \"24:2\": DSCP 24 leads to class 1 already" },
		{ "switches = ( { names = [ \"A\" ]; weights = [ \"3:1\", \"4:2\", \"3:5\" ]; } );",
		  "t.cfg:1: switches.[0].weights: \"3:5\": class 3 has a weight of 1 already" },
		{ "ports = ( { names = [ \"A:1\" ]; weights = [ \"3:65\" ]; } );",
		  "t.cfg:1: ports.[0].weights: \"3:65\": \"class:weight\"" },
		{ "ports = ( { names = [ \"A:1\" ]; pfc = { headrooms = [ \"100Gbps 5m 9\", \"100Gbps 5m 10\" ]; }; } );",
		  "t.cfg:1: ports.[0].pfc.headrooms: \"100Gbps 5m 9\" and \"100Gbps 5m 10\" are of one rate and length" },
		{ "switch = { pfc = { headrooms = [ \"10Gbps 5 9\" ]; }; };",
		  "t.cfg:1: switch.pfc.headrooms: \"10Gbps 5 9\" is no row" }, /* which no port uses */
		{ "ports = ( { names = [ \"A\" ]; } );", "\"A\" is no port" },
		{ "ports = ( { names = [ \"A:9\" ]; } );", "\"A:9\" is no port" },
		{ "ports = ( { names = [ \"a:1\" ]; } );", "name the switch's end of its cable" },
		{ "ports = ( { names = [ \"A:1\", \"A:1\" ]; } );", "\"A:1\" is named already" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct switch_setup setup = { 0 };
		struct err err = { "" };
		struct cfg *network = cfg_load_string(NETWORK, "network", &err);
		struct cfg *cfg = cfg_load_string(cases[i].text, "t.cfg", &err);
		struct topo *topo;

		assert_int_equal(topo_build(network, &topo, &err), 0);
		assert_non_null(cfg);
		assert_true(switch_setup_load(&setup, cfg, topo, &err) < 0);
		if (strstr(err.text, cases[i].message) == NULL)
			fail_msg("%s\nexpected %s", err.text, cases[i].message);
		switch_setup_fini(&setup);
		topo_destroy(topo);
		cfg_destroy(cfg);
		cfg_destroy(network);
	}
}

/* Counts of a run in which a sends 400 frames of class 3 to b, and c as many. */
struct counts {
	uint32_t arrived, marked;
	uint64_t mtu, no_buffer, queue_full, pauses; /* of both switches; PAUSE that a and c received */
};

static struct counts
run(const char *more)
{
	static const char *const switches[] = { "A", "B" };
	struct counts counts = { 0 };
	struct frig rig;

	init(&rig, more);
	frig_flow(&rig, "a", "b", 3);
	frig_flow(&rig, "c", "b", 3);
	rig.setup.all.pfc.headroom_bytes = 100000; /* generators go on sending */
	if (frig_start(&rig) < 0)
		fail_msg("%s", rig.err.text);
	frig_send(&rig, 0, 0, 1000, 400);
	frig_send(&rig, 1, 0, 1000, 400);
	frig_run(&rig, 2000 * US);
	assert_true(frig_conserves(&rig));
	counts.arrived = frig_host(&rig, "b")->ngot;
	for (uint32_t i = 0; i < counts.arrived; i++)
		counts.marked += (frig_host(&rig, "b")->got[i].flags & PKT_CE) != 0;
	for (size_t s = 0; s < ARRAY_LEN(switches); s++) {
		const struct node *node = &frig_switch(&rig, switches[s])->node;

		for (uint16_t p = 0; p < node->nports; p++) {
			counts.mtu += node->ops->dropped(node, p, REC_DROP_MTU);
			counts.no_buffer += node->ops->dropped(node, p, REC_DROP_NO_BUFFER);
			counts.queue_full += node->ops->dropped(node, p, REC_DROP_QUEUE_FULL);
		}
	}
	counts.pauses = frig_host(&rig, "a")->npauses + frig_host(&rig, "c")->npauses;
	frig_stop(&rig);
	return counts;
}

#define BASE "switch = { buffer = 2000000; ecn = { enabled = false; }; };\n"

static void
one_switch_marks_by_its_own_thresholds(void **state)
{
	struct counts none, some;

	(void)state;
	none = run(BASE);
	some = run(BASE "switches = ( { names = [ \"B\" ]; ecn = { enabled = true; kmin = 1000; kmax = 1000; }; } );");
	assert_int_equal(none.arrived, 800);
	assert_int_equal(none.marked, 0);
	assert_int_equal(some.arrived, 800);
	assert_true(some.marked > 700);
	/* A's queue is no place where anything waits for b's rate. */
	some = run(BASE "switches = ( { names = [ \"A\" ]; ecn = { enabled = true; kmin = 600000; kmax = 600000; }; } );");
	assert_int_equal(some.marked, 0);
}

static void
frames_larger_than_an_mtu_are_dropped_where_they_arrive_or_leave(void **state)
{
	struct counts c;

	(void)state;
	c = run(BASE "ports = ( { names = [ \"A:1\" ]; mtu = 900; } );");
	assert_int_equal(c.mtu, 400);
	assert_int_equal(c.arrived, 400);
	c = run(BASE "ports = ( { names = [ \"B:2\" ]; mtu = 961; } );");
	assert_int_equal(c.mtu, 800);
	assert_int_equal(c.arrived, 0);
	c = run(BASE "ports = ( { names = [ \"A:1\", \"B:2\" ]; mtu = 962; } );");
	assert_int_equal(c.mtu, 0);
	assert_int_equal(c.arrived, 800);
}

/* B has no PFC: its queue overflows. A, whose peer asks for nothing, pauses nobody. */
static void
a_switch_without_pfc_loses_what_its_queue_cannot_hold(void **state)
{
	struct counts c;

	(void)state;
	c = run(BASE "switches = ( { names = [ \"B\" ]; lossy_queue = 50000; pfc = { enabled = false; }; } );");
	assert_true(c.queue_full > 0);
	assert_int_equal(c.arrived + c.queue_full, 800);
}

/* PFC is off at one port: what arrives there and does not fit is lost; the others lose nothing. */
static void
a_port_without_pfc_loses_what_does_not_fit(void **state)
{
	struct counts c;

	(void)state;
	c = run("switch = { buffer = 1000000; pfc = { alpha = 0.0625; }; ecn = { enabled = false; }; };\n"
		"ports = ( { names = [ \"B:1\" ]; pfc = { enabled = false; }; } );");
	assert_true(c.no_buffer > 0);
	assert_int_equal(c.arrived + c.no_buffer, 800);
}

/* B takes what A sends it for lossy class 1: its queue overflows, and nobody is paused. */
static void
a_wrong_map_leads_lossless_data_into_a_lossy_queue(void **state)
{
	struct counts c;

	(void)state;
	c = run(BASE "switches = ( { names = [ \"B\" ]; lossy_queue = 50000; class_map = [ \"24:1\" ]; } );");
	assert_true(c.queue_full > 0);
	assert_int_equal(c.arrived + c.queue_full, 800);
	/* The same at the one port by which it enters; by another it does nothing. */
	c = run(BASE "ports = ( { names = [ \"B:1\" ]; class_map = [ \"24:1\" ]; } );\n"
		     "switches = ( { names = [ \"B\" ]; lossy_queue = 50000; } );");
	assert_true(c.queue_full > 0);
	c = run(BASE "ports = ( { names = [ \"B:2\" ]; class_map = [ \"24:1\" ]; } );\n"
		     "switches = ( { names = [ \"B\" ]; lossy_queue = 50000; } );");
	assert_int_equal(c.queue_full, 0);
	assert_int_equal(c.arrived, 800);
}

/*
 * One switch has class 4 for class 3, which the other does not mark. Both are lossless, but what is paused waits in no
 * queue of that class.
 */
static void
a_map_is_of_one_switch(void **state)
{
	static const char *const maps[] = { "A", "B" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
		struct counts c;
		char text[512];

		snprintf(text, sizeof(text),
			 "switch = { buffer = 1000000; pfc = { priorities = [ \"3\", \"4\" ]; alpha = 0.0625; }; ecn = { "
			 "enabled = false; }; };\nswitches = ( { names = [ \"%s\" ]; class_map = [ \"24:4\" ]; }, "
			 "{ names = [ \"%s\" ]; wred = ( \"4 1000 1000\" ); } );",
			 maps[i], maps[1 - i]);
		c = run(text);
		assert_true(c.no_buffer > 0);
		assert_int_equal(c.arrived + c.no_buffer, 800);
		assert_int_equal(c.marked, 0);
	}
}

/* b pauses class 3, which has no PFC at B:2: a port that is asymmetric obeys. */
static void
an_asymmetric_port_obeys_all_classes(void **state)
{
	(void)state;
	for (int asymmetric = 0; asymmetric < 2; asymmetric++) {
		struct frig rig;
		char text[256];

		snprintf(text, sizeof(text),
			 "ports = ( { names = [ \"B:2\" ]; pfc = { priorities = [ \"4\" ]; asymmetric = %s; }; } );",
			 asymmetric ? "true" : "false");
		init(&rig, text);
		frig_flow(&rig, "a", "b", 3);
		if (frig_start(&rig) < 0)
			fail_msg("%s", rig.err.text);
		frig_pause(&rig, "b", 0, 1 << 3, true);
		frig_send(&rig, 0, 5 * US, 1000, 10);
		frig_run(&rig, 100 * US);
		assert_int_equal(frig_host(&rig, "b")->ngot, asymmetric ? 0 : 10);
		frig_stop(&rig);
	}
}

UNIT_TEST(settings)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_override_those_of_all_by_the_nearest),
		cmocka_unit_test(wrong_names_and_rows_are_errors),
		cmocka_unit_test(one_switch_marks_by_its_own_thresholds),
		cmocka_unit_test(frames_larger_than_an_mtu_are_dropped_where_they_arrive_or_leave),
		cmocka_unit_test(a_switch_without_pfc_loses_what_its_queue_cannot_hold),
		cmocka_unit_test(a_port_without_pfc_loses_what_does_not_fit),
		cmocka_unit_test(a_wrong_map_leads_lossless_data_into_a_lossy_queue),
		cmocka_unit_test(a_map_is_of_one_switch),
		cmocka_unit_test(an_asymmetric_port_obeys_all_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
