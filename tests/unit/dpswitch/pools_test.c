/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches with buffer pools and profiles as SONiC has them: thresholds, shared headroom, lossy queues and groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/minmax.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define US PS_PER_US

/* a, c and e send to b, which takes in a tenth: B:1 to B:3 lead to them, B:4 to b, B:5 to d. */
#define NETWORK                                                                                                            \
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"B\" ]; "                    \
	"hosts = [ \"a\", \"b\", \"c\", \"d\", \"e\" ]; "                                                                  \
	"links = ( \"a B\", \"c B\", \"e B\", \"b B 10Gbps\", \"d B 10Gbps\" ); };\n"

struct outcome {
	uint64_t digest, no_buffer, queue_full, pauses, peaks[2]; /* longest queues to b and d */
	uint64_t headroom_peak;                                   /* most of one ingress */
	uint64_t shared_peak;                                     /* most of all ingresses together, in the first pool */
	uint32_t got[2];                                          /* by b and d */
	bool failed;                                              /* a lossless class overran its headroom */
};

static bool both_queues; /* a sends as many to d */

/* a, c and e send 400 frames each of a class to b. */
static struct outcome
run(const char *more, uint8_t prio, uint64_t headroom_bytes)
{
	static const char *const senders[] = { "a", "c", "e" };
	struct outcome out = { 0 };
	struct sw *sw;
	struct frig rig;
	char text[4096];

	snprintf(text, sizeof(text), NETWORK "%s", more);
	frig_init(&rig, text);
	for (size_t i = 0; i < ARRAY_LEN(senders); i++)
		frig_flow(&rig, senders[i], "b", prio);
	frig_flow(&rig, "a", "d", prio);
	rig.setup.all.pfc.headroom_bytes = headroom_bytes;
	if (frig_start(&rig) < 0)
		fail_msg("%s", rig.err.text);
	for (uint32_t i = 0; i < ARRAY_LEN(senders); i++)
		frig_send(&rig, i, 0, 1000, 400);
	if (both_queues)
		frig_send(&rig, 3, 0, 1000, 400);
	frig_run(&rig, 4000 * US);
	assert_true(frig_conserves(&rig));
	sw = frig_switch(&rig, "B");
	for (uint16_t p = 0; p < sw->node.nports; p++) {
		out.no_buffer += sw->node.ops->dropped(&sw->node, p, REC_DROP_NO_BUFFER);
		out.queue_full += sw->node.ops->dropped(&sw->node, p, REC_DROP_QUEUE_FULL);
		out.headroom_peak = max_u64(out.headroom_peak, sw->account.peaks[p].headroom_bytes);
	}
	for (size_t i = 0; i < ARRAY_LEN(senders); i++)
		out.pauses += frig_host(&rig, senders[i])->npauses;
	out.digest = sw->node.digest;
	out.peaks[0] = sw->ports[3].counts.peak_bytes[prio];
	out.peaks[1] = sw->ports[4].counts.peak_bytes[prio];
	out.got[0] = frig_host(&rig, "b")->ngot;
	out.got[1] = frig_host(&rig, "d")->ngot;
	out.failed = sw->node.status == NODE_NO_BUFFER;
	out.shared_peak = sw->account.pools != NULL ? sw->account.pools->headroom[0].peak_bytes : 0;
	for (uint32_t i = 0; sw->account.pools != NULL && i < BUFFER_POOLS; i++) {
		assert_int_equal(sw->account.pools->ingress[i].shared_bytes, 0);
		assert_int_equal(sw->account.pools->headroom[i].bytes, 0);
	}
	frig_stop(&rig);
	return out;
}

/* What switch.buffer and switch.pfc say is what a pool and a profile say: one digest. */
static void
a_pool_of_the_same_sizes_is_the_same_switch(void **state)
{
	struct outcome plain, pools;

	(void)state;
	/* 5 ports: 5 x 100,000 of headroom and 5 x 4,096 of reserves leave 479,520 B */
	plain = run("switch = { buffer = 1000000; pfc = { alpha = 0.25; }; };", 3, 100000);
	pools = run("switch = { buffer_pool = ( { name = \"lossless\"; type = \"ingress\"; size = 479520; } ); "
		    "buffer_profile = ( { name = \"p\"; pool = "
		    "\"lossless\"; size = 4096; xoff = 100000; xon_offset = 3072; dynamic_th = -2; } ); "
		    "buffer_pg = ( \"3 p\" ); };",
		    3, 0);
	assert_true(plain.pauses > 10);
	assert_int_equal(pools.pauses, plain.pauses);
	assert_int_equal(pools.digest, plain.digest);
	assert_int_equal(pools.headroom_peak, plain.headroom_peak);
	assert_int_equal(pools.got[0], 1200);
	/* and it is no accident */
	pools = run("switch = { buffer_pool = ( { name = \"lossless\"; type = \"ingress\"; size = 479520; } ); "
		    "buffer_profile = ( { name = \"p\"; pool = "
		    "\"lossless\"; size = 4096; xoff = 100000; xon_offset = 3072; dynamic_th = -3; } ); "
		    "buffer_pg = ( \"3 p\" ); };",
		    3, 0);
	assert_int_not_equal(pools.digest, plain.digest);
}

#define LOSSLESS(pool, profile)                                                                                            \
	"switch = { buffer_pool = ( " pool " ); buffer_profile = ( { name = \"p\"; pool = \"l\"; " profile " } ); "        \
	"buffer_pg = ( \"3 p\" ); };"

/* Static: paused at 20,000 B above the reserve, whatever else the pool holds. */
static void
a_static_pool_pauses_at_its_threshold(void **state)
{
	struct outcome out;

	(void)state;
	out = run(LOSSLESS("{ name = \"l\"; type = \"ingress\"; size = 1000000; mode = \"static\"; }",
			   "xoff = 60000; static_th = 20000;"),
		  3, 0);
	assert_int_equal(out.got[0], 1200);
	assert_in_range(out.headroom_peak, 10000, 60000);
	assert_int_equal(out.no_buffer, 0);
	assert_false(out.failed);
}

/* A profile's own mode overrides its pool's (SAI, THRESHOLD_MODE), and a static threshold of 0 is the pool's size. */
static void
the_mode_of_a_profile_overrides_its_pools(void **state)
{
	struct outcome own, pools;

	(void)state;
	pools = run(LOSSLESS("{ name = \"l\"; type = \"ingress\"; size = 1000000; mode = \"static\"; }",
			     "xoff = 60000; static_th = 20000;"),
		    3, 0);
	own = run(LOSSLESS("{ name = \"l\"; type = \"ingress\"; size = 1000000; mode = \"dynamic\"; }",
			   "xoff = 60000; static_th = 20000; mode = \"static\";"),
		  3, 0);
	assert_true(own.pauses > 0);
	assert_int_equal(own.digest, pools.digest);
	own = run(LOSSLESS("{ name = \"l\"; type = \"ingress\"; size = 10000000; mode = \"static\"; }", "xoff = 60000;"), 3,
		  0);
	assert_int_equal(own.pauses, 0);
	assert_int_equal(own.got[0], 1200);
}

/* With xon the peer goes on sooner than xon_offset alone lets it: more and shorter pauses. */
static void
xon_resumes_whatever_the_threshold_is(void **state)
{
	struct outcome by_offset, by_xon;

	(void)state;
	by_offset = run(LOSSLESS("{ name = \"l\"; type = \"ingress\"; size = 1000000; mode = \"static\"; }",
				 "xoff = 60000; static_th = 20000; xon_offset = 19000;"),
			3, 0);
	by_xon = run(LOSSLESS("{ name = \"l\"; type = \"ingress\"; size = 1000000; mode = \"static\"; }",
			      "xoff = 60000; static_th = 20000; xon_offset = 19000; xon = 15000;"),
		     3, 0);
	assert_int_equal(by_xon.got[0], 1200);
	assert_true(by_xon.pauses > by_offset.pauses);
}

/* Three groups are paused at once. Headroom of their own or shared in full: nothing is lost; too little: drops, counted. */
static void
shared_headroom_that_does_not_suffice_drops(void **state)
{
	struct outcome own, enough, less;

	(void)state;
	own = run(LOSSLESS("{ name = \"l\"; type = \"ingress\"; size = 100000; }", "xoff = 60000; dynamic_th = -1;"), 3, 0);
	enough = run(LOSSLESS("{ name = \"l\"; type = \"ingress\"; size = 100000; mode = \"dynamic\"; xoff = 300000; }",
			      "xoff = 60000; dynamic_th = -1;"),
		     3, 0);
	less = run(LOSSLESS("{ name = \"l\"; type = \"ingress\"; size = 100000; mode = \"dynamic\"; xoff = 50000; }",
			    "xoff = 60000; dynamic_th = -1;"),
		   3, 0);
	assert_int_equal(own.got[0], 1200);
	assert_int_equal(own.no_buffer, 0);
	assert_int_equal(enough.digest, own.digest);
	assert_in_range(enough.shared_peak, enough.headroom_peak + 1, 3 * enough.headroom_peak); /* three at once */
	assert_in_range(less.shared_peak, 40000, 50000);
	assert_true(less.no_buffer > 0);
	assert_int_equal(less.got[0] + less.no_buffer, 1200);
	assert_false(less.failed);
}

/* A profile whose xoff is short for its cable loses frames, and the run goes on. */
static void
headroom_that_is_short_for_a_cable_drops(void **state)
{
	struct outcome out;

	(void)state;
	out = run(LOSSLESS("{ name = \"l\"; type = \"ingress\"; size = 100000; }", "xoff = 5000; dynamic_th = -1;"), 3, 0);
	assert_true(out.no_buffer > 0);
	assert_int_equal(out.got[0] + out.no_buffer, 1200);
	assert_false(out.failed);
}

#define LOSSY_OF(th, more)                                                                                                 \
	"switch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = 1000000; }, { name = \"x\"; type = "        \
	"\"egress\"; size = 200000; }, { name = \"i\"; type = \"ingress\"; size = 90000; mode = \"static\"; } ); "         \
	"buffer_profile = ( { name = \"p\"; pool = \"l\"; xoff = 100000; }, { name = \"q\"; pool = \"x\"; size = 1000; "   \
	"dynamic_th = " th "; }, { name = \"r\"; pool = \"i\"; static_th = 30000; } ); " more " };"
#define QUEUE_ALONE "buffer_pg = ( \"3 p\" ); buffer_queue = ( \"5 q\" );"
#define WINDOW_BYTES (3 * 12500) /* that arrive within 1 us */

/*
 * Lossy queues share a pool: alone, one of alpha 1 has half of it; two have a third each (Choudhury and Hahne, 1998).
 * Limits are of the window's start: a window's arrivals may be beyond.
 */
static void
lossy_queues_are_bounded_by_alpha(void **state)
{
	struct outcome out;

	(void)state;
	out = run(LOSSY_OF("0", QUEUE_ALONE), 5, 0);
	assert_true(out.queue_full > 0);
	assert_int_equal(out.got[0] + out.got[1] + out.queue_full, 1200);
	assert_in_range(out.peaks[0], 100000, 101000 + WINDOW_BYTES);
	out = run(LOSSY_OF("-3", QUEUE_ALONE), 5, 0);
	assert_in_range(out.peaks[0], 22000, 24000 + WINDOW_BYTES);
	both_queues = true;
	out = run(LOSSY_OF("0", QUEUE_ALONE), 5, 0);
	both_queues = false;
	assert_int_equal(out.got[0] + out.got[1] + out.queue_full, 1600);
	assert_in_range(out.peaks[0] + out.peaks[1], 134000, 134000 + 2 * WINDOW_BYTES);
}

/* A priority group of a class without PFC drops at its ingress, and pauses nobody. */
static void
a_lossy_group_drops_at_its_ingress(void **state)
{
	struct outcome out;

	(void)state;
	out = run(LOSSY_OF("0", "buffer_pg = ( \"3 p\", \"5 r\" );"), 5, 0);
	assert_true(out.no_buffer > 0);
	assert_int_equal(out.got[0] + out.no_buffer, 1200);
	assert_in_range(out.peaks[0], 60000, 90000);
	assert_int_equal(out.pauses, 0);
	assert_false(out.failed);
}

/* A lossless class whose egress pool is too small drops, and its ingress is not charged for what is gone. */
static void
a_lossless_queue_may_have_a_limit(void **state)
{
	struct outcome out;

	(void)state;
	out = run("switch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = 1000000; }, { name = \"x\"; type "
		  "= \"egress\"; size = 50000; mode = \"static\"; } ); buffer_profile = ( "
		  "{ name = \"p\"; pool = \"l\"; xoff = 100000; }, { name = \"q\"; pool = \"x\"; static_th = 50000; } ); "
		  "buffer_pg = ( \"3 p\" ); buffer_queue = ( \"3 q\" ); };",
		  3, 0);
	assert_true(out.queue_full > 0);
	assert_int_equal(out.got[0] + out.queue_full, 1200);
	assert_in_range(out.peaks[0], 49000, 50000);
}

static void
single_switches_and_ports_have_their_own(void **state)
{
	const struct switch_settings *all, *one;
	struct frig rig;

	(void)state;
	frig_init(&rig, NETWORK
		  "switch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = 1000000; } ); buffer_profile = ( "
		  "{ name = \"p\"; pool = \"l\"; "
		  "xoff = 1; }, "
		  "{ name = \"r\"; pool = \"l\"; xoff = 2; } ); buffer_pg = ( \"3 p\" ); };\n"
		  "switches = ( { names = [ \"B\" ]; buffer_profile = ( { name = \"p\"; pool = \"l\"; xoff = 3; } ); } );\n"
		  "ports = ( { names = [ \"B:2\" ]; buffer_pg = ( \"3 r\", \"4 p\" ); } );\n");
	all = switch_settings_of(&rig.setup, topo_find(rig.topo, "B"));
	one = switch_settings_at(&rig.setup, rig.topo, topo_find_port(rig.topo, "B:2"));
	assert_int_equal(all->buffers->npools, 1);
	assert_int_equal(all->buffers->profiles[buffer_row_of(&all->groups, 3)->profile].xoff_bytes, 3);
	assert_null(buffer_row_of(&all->groups, 4));
	assert_int_equal(one->buffers->profiles[buffer_row_of(&one->groups, 3)->profile].xoff_bytes, 2);
	assert_int_equal(one->buffers->profiles[buffer_row_of(&one->groups, 4)->profile].xoff_bytes, 3);
	assert_int_equal(rig.setup.all.buffers->profiles[0].xoff_bytes, 1);
	frig_stop(&rig);
}

#define POOL(name) " { name = \"" name "\"; type = \"ingress\"; size = 1; }"

/* Refused as it is loaded. */
static void
expect_wrong(const char *text, const char *message)
{
	struct switch_setup setup = { 0 };
	struct err err = { "" };
	struct cfg *network = cfg_load_string(NETWORK, "network", &err);
	struct cfg *cfg = cfg_load_string(text, "t.cfg", &err);
	struct topo *topo;

	assert_int_equal(topo_build(network, &topo, &err), 0);
	assert_non_null(cfg);
	assert_true(switch_setup_load(&setup, cfg, topo, &err) < 0);
	if (strstr(err.text, message) == NULL)
		fail_msg("%s\nexpected %s", err.text, message);
	switch_setup_fini(&setup);
	topo_destroy(topo);
	cfg_destroy(cfg);
	cfg_destroy(network);
}

static void
wrong_pools_are_errors(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "switch = { buffer_pg = ( \"3 p\" ); };",
		  "t.cfg:1: switch.buffer_pg.[0].profile: \"p\" is no buffer_profile" },
		{ "switch = { buffer_profile = ( { name = \"p\"; pool = \"l\"; } ); };", "\"l\" is no buffer_pool" },
		{ "switch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = 9000; mode = \"static\"; } ); "
		  "buffer_profile = ( { name = \"p\"; pool = \"l\"; size = 10; static_th = 100; xon = 111; } ); };",
		  "buffer_profile.[0].xon: found 111 B, and the group pauses at size + static_th, 110 B" },
		{ "switch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = 9000; mode = \"static\"; } ); "
		  "buffer_profile = ( { name = \"p\"; pool = \"l\"; size = 10; static_th = 100; xon_offset = 111; } ); };",
		  "buffer_profile.[0].xon_offset: found 111 B" },
		{ "switch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = 1; }, { name = \"l\"; type = "
		  "\"egress\"; size = 1; } ); };",
		  "\"l\" is an earlier pool" },
		{ "switch = { buffer_pool = ( { name = \"l\"; type = \"egress\"; size = 1; mode = \"static\"; xoff = 1; } "
		  "); };",
		  "leave it out of an egress pool" },
		{ "switch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = 1; } ); buffer_profile = ( { name "
		  "= \"p\"; pool = \"l\"; }, "
		  "{ name = \"p\"; pool = \"l\"; } ); };",
		  "\"p\" is an earlier profile" },
		{ "switch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = 1; } ); buffer_profile = ( { name "
		  "= \"p\"; pool = \"l\"; } ); "
		  "buffer_queue = ( \"3 p\" ); };",
		  "a profile of an egress pool would be right" },
		{ "switch = { buffer_pool = ( { name = \"l\"; type = \"egress\"; size = 1; } ); buffer_profile = ( { name "
		  "= \"p\"; pool = \"l\"; } ); "
		  "buffer_pg = ( \"3 p\" ); };",
		  "a profile of an ingress pool would be right" },
		{ "switch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = 1; } ); buffer_profile = ( { name "
		  "= \"p\"; pool = \"l\"; } ); "
		  "buffer_pg = ( \"3 p\", \"3 p\" ); };",
		  "3 is in an earlier row" },
		{ "switch = { buffer_pool = ( " POOL("a") "," POOL("b") "," POOL("c") "," POOL("d") "," POOL("e") "," POOL(
			  "f") "," POOL("g") "," POOL("h") "," POOL("i") " ); };",
		  "\"i\": a switch has 8 pools at most" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		expect_wrong(cases[i].text, cases[i].message);
}

/* Keys of a profile that would do nothing. */
static void
profiles_have_nothing_idle(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "switch = { buffer_pool = ( { name = \"l\"; type = \"egress\"; size = 1; } ); buffer_profile = ( { name "
		  "= \"p\"; pool = \"l\"; xoff = 1; } ); };",
		  "t.cfg:1: switch.buffer_profile.[0].xoff: PFC is of ingress, and pool \"l\" is of egress" },
		{ "switch = { buffer_pool = ( { name = \"l\"; type = \"egress\"; size = 1; } ); buffer_profile = ( { name "
		  "= \"p\"; pool = \"l\"; xon_offset = 1; } ); };",
		  "buffer_profile.[0].xon_offset: PFC is of ingress" },
		{ "switch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = 1; } ); buffer_profile = ( { name "
		  "= \"p\"; pool = \"l\"; static_th = 5; } ); };",
		  "t.cfg:1: switch.buffer_profile.[0].static_th: found 5 B, and its pool has mode = \"dynamic\"" },
		{ "switch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = 1; } ); buffer_profile = ( { name "
		  "= \"p\"; pool = \"l\"; mode = \"static\"; dynamic_th = 1; } ); };",
		  "buffer_profile.[0].dynamic_th: found 1, and the profile has mode = \"static\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		expect_wrong(cases[i].text, cases[i].message);
}

/* Found when the switch is made. */
static void
a_class_with_pfc_needs_a_profile_that_fits_a_frame(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "switch = { buffer_pool = ( { name = \"l\"; type = \"ingress\"; size = 1000000; } ); };",
		  "switch.buffer_pool.[0]: class 3 has PFC at B:1 and no row in buffer_pg" },
		{ LOSSLESS("{ name = \"l\"; type = \"ingress\"; size = 1000000; mode = \"static\"; }",
			   "xoff = 60000; static_th = 900;"),
		  "\"p\" pauses class 3 at 900 B, no more than one frame of 1000 B" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct frig rig;
		char text[2048];

		snprintf(text, sizeof(text), NETWORK "%s", cases[i].text);
		frig_init(&rig, text);
		assert_true(frig_start(&rig) < 0);
		if (strstr(rig.err.text, cases[i].message) == NULL)
			fail_msg("%s\nexpected %s", rig.err.text, cases[i].message);
		frig_stop(&rig);
	}
}

UNIT_TEST(pools)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_of_the_same_sizes_is_the_same_switch),
		cmocka_unit_test(a_static_pool_pauses_at_its_threshold),
		cmocka_unit_test(the_mode_of_a_profile_overrides_its_pools),
		cmocka_unit_test(xon_resumes_whatever_the_threshold_is),
		cmocka_unit_test(shared_headroom_that_does_not_suffice_drops),
		cmocka_unit_test(headroom_that_is_short_for_a_cable_drops),
		cmocka_unit_test(lossy_queues_are_bounded_by_alpha),
		cmocka_unit_test(a_lossy_group_drops_at_its_ingress),
		cmocka_unit_test(a_lossless_queue_may_have_a_limit),
		cmocka_unit_test(single_switches_and_ports_have_their_own),
		cmocka_unit_test(wrong_pools_are_errors),
		cmocka_unit_test(profiles_have_nothing_idle),
		cmocka_unit_test(a_class_with_pfc_needs_a_profile_that_fits_a_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
