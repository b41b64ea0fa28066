/* SPDX-License-Identifier: BSD-3-Clause */
/* When faults act, what they refuse, and what each does to a small fabric. */
#include <errno.h>
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
#define PAUSE_PS 6720 /* 84 B at 100 Gbps */

/* Two leaves, two spines: A:1 and A:2 lead to S and T, A:3 to a; likewise B and b. */
#define NETWORK                                                                                                            \
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; "                                          \
	"switches = [ \"A\", \"B\", \"S\", \"T\" ]; hosts = [ \"a\", \"b\" ]; "                                            \
	"links = ( \"A S\", \"A T\", \"a A\", \"B S\", \"B T\", \"b B\" ); };"

static void
start(struct frig *rig, const char *faults)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s faults = ( %s );", NETWORK, faults);
	frig_init(rig, text);
	frig_flow(rig, "a", "b", 3);
	if (frig_start(rig) < 0)
		fail_msg("%s", rig->err.text);
}

/* Loads faults that must be refused and looks for a text in the message. */
static void
refused(const char *faults, const char *why)
{
	char text[2048];
	struct frig rig;

	snprintf(text, sizeof(text), "%s\nfaults = ( %s );", NETWORK, faults);
	frig_init(&rig, text);
	frig_flow(&rig, "a", "b", 3);
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
	refused("{ kind = \"loss\"; port = \"A:9\"; rate = 0.1; }", "\"A:9\" is no port");
	refused("{ kind = \"loss\"; port = \"A:1\"; rate = 1.5; }", "1.5");
	refused("{ kind = \"loss\"; rate = 0.5; }", "port");
	refused("{ kind = \"link-rate\"; port = \"A:1\"; rate = \"100Gbps\"; }",
		"100Gbps is no less than the cable's 100Gbps");
	refused("{ kind = \"blackhole\"; switch = \"a\"; dst = \"b\"; }", "\"a\" is no switch");
	refused("{ kind = \"blackhole\"; switch = \"S\"; dst = \"T\"; }", "\"T\" is no host");
	refused("{ kind = \"misroute\"; dst = \"b\"; port = \"a:1\"; }",
		"faults.[0].port: \"a:1\" belongs to a host; only switches route");
	refused("{ kind = \"link-down\"; port = \"A:1\"; period = \"10us\"; }", "a period needs a duration");
	refused("{ kind = \"link-down\"; port = \"A:1\"; duration = \"10us\"; period = \"10us\"; }",
		"a period needs a duration");
	refused("{ kind = \"pfc-storm\"; port = \"A:1\"; priority = 8; }", "8");
	refused("{ kind = \"link-down\"; port = \"A:1\"; start = \"1us\"; known = true; }", "from the start");
	refused("{ kind = \"link-down\"; port = \"A:1\"; duration = \"1us\"; period = \"2us\"; known = true; }",
		"from the start");
	refused("{ kind = \"link-down\"; port = \"A:3\"; known = true; }", "\"A:3\" leads to a host");
	refused("{ kind = \"link-down\"; port = \"b:1\"; known = true; }", "\"b:1\" leads to a host");
}

/*
 * 100 Gbps, but 25 from 10 to 50 us. a sends 1000 frames of 80 ns; at b's cable they leave every 80 ns to 10 us, every
 * 320 ns to 50 us, and then every 80 ns again.
 */
static void
a_cable_has_a_lower_rate_for_a_while(void **state)
{
	const struct frig_host *b;
	uint32_t slow = 0;
	struct frig rig;

	(void)state;
	start(&rig, "{ kind = \"link-rate\"; port = \"b:1\"; rate = \"25Gbps\"; start = \"10us\"; duration = \"40us\"; }");
	frig_send(&rig, 0, 0, 1000, 1000);
	frig_run(&rig, 300 * US);
	b = frig_host(&rig, "b");
	assert_int_equal(b->ngot, 1000);
	for (size_t i = 1; i < b->ngot; i++) {
		uint64_t gap_ps = b->got[i].time_ps - b->got[i - 1].time_ps;

		assert_true(gap_ps == 80000 || gap_ps == 320000);
		slow += gap_ps == 320000;
	}
	assert_in_range(slow, 124, 126); /* 40 us / 320 ns */
	assert_null(fault_idle(&rig.faults.faults[0]));
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* What is known to be cut is withdrawn, at whichever end it is named; neither other faults nor disabled ones are. */
static void
known_cuts_are_withdrawn(void **state)
{
	bool withdrawn[6] = { false };
	struct frig rig;

	(void)state;
	start(&rig,
	      "{ kind = \"link-down\"; port = \"A:1\"; }, { kind = \"loss\"; port = \"A:2\"; rate = 1.0; known = true; },"
	      "{ kind = \"link-down\"; port = \"B:1\"; known = true; enabled = false; }");
	assert_false(faults_withdraw(&rig.faults, rig.topo, withdrawn));
	frig_stop(&rig);
	start(&rig, "{ kind = \"link-down\"; port = \"T:1\"; known = true; }");
	assert_true(faults_withdraw(&rig.faults, rig.topo, withdrawn));
	for (uint32_t link = 0; link < 6; link++)
		assert_int_equal(withdrawn[link], link == rig.topo->ports[topo_find_port(rig.topo, "A:2")].link);
	frig_stop(&rig);
}

/*
 * A:1 is down from 10 to 15 us, A:2 from 20 us on for 2 us of every 10, B:1 never, and B:2 from 40 us on; A:3 loses
 * packets.
 */
static void
cables_are_down_at_times(void **state)
{
	static const struct {
		uint64_t from_us, to_us;
		const char *down; /* of A:1, A:2, B:1, B:2 */
	} spans[] = { { 0, 9, "----" },   { 9, 10, "x---" },  { 14, 14, "x---" }, { 15, 15, "----" },
		      { 20, 21, "-x--" }, { 22, 29, "----" }, { 22, 30, "-x--" }, { 31, 31, "-x--" },
		      { 40, 40, "-x-x" }, { 45, 45, "---x" }, { 0, 1000, "xx-x" } };
	static const char *const ports[] = { "A:1", "A:2", "B:1", "B:2" };
	struct frig rig;

	(void)state;
	start(&rig, "{ kind = \"link-down\"; port = \"A:1\"; start = \"10us\"; duration = \"5us\"; },"
		    "{ kind = \"link-down\"; port = \"T:1\"; start = \"20us\"; duration = \"2us\"; period = \"10us\"; },"
		    "{ kind = \"link-down\"; port = \"B:1\"; enabled = false; },"
		    "{ kind = \"link-down\"; port = \"B:2\"; start = \"40us\"; },"
		    "{ kind = \"loss\"; port = \"A:3\"; rate = 1.0; }");
	for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
		bool down[6] = { false };
		uint32_t count =
			faults_cables_down(&rig.faults, rig.topo, spans[i].from_us * US, spans[i].to_us * US, down);

		for (size_t p = 0; p < ARRAY_LEN(ports); p++) {
			bool is_down = down[rig.topo->ports[topo_find_port(rig.topo, ports[p])].link];

			if (is_down != (spans[i].down[p] == 'x'))
				fail_msg("%s, span %zu", ports[p], i);
			count -= is_down;
		}
		assert_int_equal(count, 0);
	}
	frig_stop(&rig);
}

static void
schedules_are_exact(void **state)
{
	static const uint64_t expected_us[] = { 5, 7, 20, 24, 27, 29, 49, 51, 71 };
	struct frig rig;
	uint64_t now_ps = 0;

	(void)state;
	/* 20..29 us once; 5..7 us, then every 22 us: 27..29, 49..51, ...; and 24 us to the end */
	start(&rig, "{ kind = \"loss\"; port = \"A:1\"; rate = 0.1; start = \"20us\"; duration = \"9us\"; },"
		    "{ kind = \"link-down\"; port = \"A:2\"; start = \"5us\"; duration = \"2us\"; period = \"22us\"; },"
		    "{ kind = \"corruption\"; port = \"A:3\"; rate = 0.5; start = \"24us\"; }");
	for (uint32_t i = 0; i < ARRAY_LEN(expected_us); i++) {
		uint64_t next_ps = faults_next_ps(&rig.faults, now_ps);
		uint64_t us = next_ps / US;

		assert_int_equal(next_ps, expected_us[i] * US);
		faults_apply(&rig.faults, &rig.env, next_ps);
		assert_int_equal(frig_link(&rig, "A:1")->loss != 0, us >= 20 && us < 29);
		assert_int_equal(frig_link(&rig, "A:2")->down, us == 5 || us == 27 || us == 49 || us == 71);
		assert_int_equal(frig_link(&rig, "T:1")->down, us == 5 || us == 27 || us == 49 || us == 71);
		assert_int_equal(frig_link(&rig, "A:3")->corruption != 0, us >= 24);
		assert_true(frig_link(&rig, "S:1")->loss == 0);
		now_ps = next_ps + 1;
	}
	/* asked at the very instant, it is now */
	assert_int_equal(faults_next_ps(&rig.faults, 73 * US), 73 * US);
	frig_stop(&rig);
}

/* A fault that is over before it was ever looked at leaves nothing behind. */
static void
a_skipped_fault_does_nothing(void **state)
{
	struct frig rig;

	(void)state;
	start(&rig, "{ kind = \"link-down\"; port = \"A:2\"; start = \"5us\"; duration = \"2us\"; }");
	faults_apply(&rig.faults, &rig.env, 8 * US);
	assert_false(frig_link(&rig, "A:2")->down);
	assert_int_equal(faults_next_ps(&rig.faults, 8 * US), TIME_NEVER);
	frig_stop(&rig);
}

static uint64_t
dropped(const struct frig *rig, const char *sw, enum rec_drop reason)
{
	const struct sw *s = frig_switch(rig, sw);
	uint64_t packets = 0;

	for (uint16_t p = 0; p < s->node.nports; p++)
		packets += s->ports[p].telem.drops->of[reason].packets;
	return packets;
}

static void
a_cut_cable_is_avoided_and_mended(void **state)
{
	uint64_t lost;
	struct frig rig;

	(void)state;
	/* one of the spines' cables at a time: whichever ECMP chose is cut once */
	start(&rig, "{ kind = \"link-down\"; port = \"A:1\"; start = \"20us\"; duration = \"20us\"; },"
		    "{ kind = \"link-down\"; port = \"A:2\"; start = \"60us\"; duration = \"20us\"; }");
	frig_send(&rig, 0, 0, 1000, 1000);
	frig_run(&rig, 200 * US);
	lost = frig_link(&rig, "A:1")->down_packets + frig_link(&rig, "A:2")->down_packets +
	       dropped(&rig, "A", REC_DROP_LINK_DOWN);
	/* lost is what was in flight on 1 us of cable, 12 or 13 frames, and what the switch had not sent yet */
	assert_in_range(lost, 12, 15);
	assert_int_equal(frig_host(&rig, "b")->ngot, 1000 - lost);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

static void
without_another_path_drops_are_named(void **state)
{
	struct frig rig;

	(void)state;
	start(&rig, "{ kind = \"link-down\"; port = \"A:1\"; start = \"20us\"; },"
		    "{ kind = \"link-down\"; port = \"A:2\"; start = \"20us\"; }");
	frig_send(&rig, 0, 0, 1000, 1000);
	frig_run(&rig, 200 * US);
	/* with A by 20 us: (20 - 1) us / 80 ns = 237 frames; the others have no way */
	assert_int_equal(dropped(&rig, "A", REC_DROP_LINK_DOWN), 1000 - 237);
	assert_in_range(frig_host(&rig, "b")->ngot, 220, 226);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

static void
a_blackhole_swallows_and_lets_go(void **state)
{
	struct frig rig;

	(void)state;
	start(&rig, "{ kind = \"blackhole\"; switch = \"A\"; dst = \"b\"; start = \"20us\"; duration = \"8us\"; }");
	frig_send(&rig, 0, 0, 1000, 1000);
	frig_run(&rig, 200 * US);
	/* 8 us / 80 ns */
	assert_int_equal(dropped(&rig, "A", REC_DROP_BLACKHOLE), 100);
	assert_int_equal(frig_host(&rig, "b")->ngot, 900);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* Two kinds at one place: the one that ends first takes nothing of the other's time. */
static void
one_fault_does_not_end_another(void **state)
{
	struct frig rig;

	(void)state;
	start(&rig, "{ kind = \"blackhole\"; switch = \"A\"; dst = \"b\"; start = \"20us\"; duration = \"20us\"; }, "
		    "{ kind = \"missing-route\"; switch = \"A\"; dst = \"b\"; start = \"24us\"; duration = \"8us\"; }");
	frig_send(&rig, 0, 0, 1000, 1000);
	frig_run(&rig, 200 * US);
	assert_int_equal(dropped(&rig, "A", REC_DROP_NO_ROUTE), 100);
	assert_int_equal(dropped(&rig, "A", REC_DROP_BLACKHOLE), 150);
	assert_int_equal(frig_host(&rig, "b")->ngot, 750);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* S sends packets for b back to A, A to S again: the 64th switch, S, drops them, 64 times 80 ns + 1 us after they left. */
static void
two_misroutes_make_a_loop_that_ttl_ends(void **state)
{
	const struct drop_count *drops;
	struct frig rig;

	(void)state;
	start(&rig, "{ kind = \"misroute\"; dst = \"b\"; port = \"A:1\"; start = \"10us\"; },"
		    "{ kind = \"misroute\"; dst = \"b\"; port = \"S:1\"; start = \"10us\"; }");
	frig_send(&rig, 0, 9 * US, 1000, 5);
	frig_send(&rig, 0, 12 * US, 1000, 10);
	frig_run(&rig, 300 * US);
	assert_int_equal(frig_host(&rig, "b")->ngot, 0);
	assert_int_equal(dropped(&rig, "A", REC_DROP_TTL), 0);
	assert_int_equal(dropped(&rig, "S", REC_DROP_TTL), 15);
	drops = &frig_switch(&rig, "S")->ports[0].telem.drops->of[REC_DROP_TTL];
	assert_int_equal(drops->first_ps, 9 * US + 64 * 1080000ULL);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

static void
a_loop_that_is_mended_lets_packets_out(void **state)
{
	struct frig_host *b;
	struct frig rig;

	(void)state;
	start(&rig, "{ kind = \"misroute\"; dst = \"b\"; port = \"A:1\"; start = \"10us\"; duration = \"4us\"; },"
		    "{ kind = \"misroute\"; dst = \"b\"; port = \"S:1\"; start = \"10us\"; duration = \"4us\"; }");
	frig_send(&rig, 0, 9 * US, 1000, 5);
	frig_run(&rig, 300 * US);
	b = frig_host(&rig, "b");
	assert_int_equal(b->ngot, 5);
	/* A at 10.08, S, A, S at 13.32 us send them round; A at 14.4 us and two more switches on */
	assert_int_equal(b->got[0].ttl, PKT_TTL_INIT - 7);
	assert_int_equal(b->got[0].time_ps, 9 * US + 8 * 1080000ULL);
	frig_stop(&rig);
}

/* PAUSE at the start and every interval, RESUME once at the end. */
static void
a_storm_pauses_every_interval_and_ends_with_one_resume(void **state)
{
	struct frig_host *a;
	struct frig rig;

	(void)state;
	start(&rig,
	      "{ kind = \"pfc-storm\"; port = \"A:3\"; start = \"30us\"; duration = \"100us\"; interval = \"40us\"; }");
	frig_send(&rig, 0, 0, 1000, 2000);
	frig_run(&rig, 400 * US);
	a = frig_host(&rig, "a");
	assert_int_equal(a->npauses, 4);
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t sent_us = i < 3 ? 30 + 40 * i : 130;

		assert_int_equal(a->pauses[i].time_ps, sent_us * US + PAUSE_PS + US);
		assert_int_equal(a->pauses[i].xoff, i < 3);
		assert_int_equal(a->pauses[i].prio_mask, 1 << 3);
	}
	/* nothing left a while it was paused */
	for (size_t i = 0; i < a->nsent; i++) {
		uint64_t left_ps = a->sent[i].time_ps - US - 80000;

		assert_true(left_ps < a->pauses[0].time_ps || left_ps >= a->pauses[3].time_ps);
	}
	assert_int_equal(frig_host(&rig, "b")->ngot, 2000);
	frig_stop(&rig);
}

/* The switch's own accounting wants to RESUME during the storm: that frame must not go out before the end. */
static void
a_storm_suppresses_its_ports_own_resumes(void **state)
{
	struct frig_host *a;
	struct frig rig;

	(void)state;
	frig_init(&rig, "topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"A\" ]; "
			"hosts = [ \"a\", \"b\" ]; links = ( \"a A\", \"b A 10Gbps\" ); };"
			"faults = ( { kind = \"pfc-storm\"; port = \"A:1\"; start = \"3us\"; duration = \"97us\"; "
			"interval = \"1ms\"; } );");
	rig.setup.all.pfc.model = PFC_STATIC;
	rig.setup.all.pfc.reserve_bytes = 2000;
	rig.setup.all.pfc.xoff_bytes = 10000;
	frig_flow(&rig, "a", "b", 3);
	assert_int_equal(frig_start(&rig), 0);
	frig_send(&rig, 0, 0, 1000, 200);
	frig_run(&rig, PS_PER_MS);
	a = frig_host(&rig, "a");
	/* its own XOFF at 2.12 us, the storm's at 3 us, then the end's XON: the queue was empty long before */
	assert_true(a->npauses >= 3);
	assert_true(a->pauses[0].xoff);
	assert_int_equal(a->pauses[0].time_ps, 2120000 + PAUSE_PS + US);
	assert_true(a->pauses[1].xoff);
	assert_int_equal(a->pauses[1].time_ps, 3 * US + PAUSE_PS + US);
	assert_false(a->pauses[2].xoff);
	assert_int_equal(a->pauses[2].time_ps, 100 * US + PAUSE_PS + US);
	assert_int_equal(frig_host(&rig, "b")->ngot, 200);
	assert_int_equal(frig_switch(&rig, "A")->node.count.pause_errors, 0);
	frig_stop(&rig);
}

/*
 * Of every kind, on its own example: truth.json has its place as the scenario names it, and the share of the packets that
 * it loses; it acts on flows of class 3; and where the run ends before it begins, that is the reason why it did nothing.
 */
static void
each_kind_describes_itself(void **state)
{
	static const char clos[] = "topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 2; "
				   "rate = \"100Gbps\"; delay = \"1us\"; };";

	(void)state;
	for (const struct fault_ops *const *ops = switch_faults; *ops != NULL; ops++) {
		struct fault_work work = { 0 };
		char text[1024], place[64], quoted[80];
		const struct fault *fault;
		struct frig rig;

		snprintf(text, sizeof(text), "%s faults = ( { %s } );", clos, (*ops)->example);
		frig_init(&rig, text);
		frig_flow(&rig, "h0", "h2", 3);
		if (frig_start(&rig) < 0)
			fail_msg("%s", rig.err.text);
		fault = &rig.faults.faults[0];
		fault->ops->target(fault->params, rig.topo, place);
		snprintf(quoted, sizeof(quoted), "= \"%s\";", place);
		if (strstr((*ops)->example, quoted) == NULL)
			fail_msg("%s: \"%s\" is not where \"%s\" is", (*ops)->kind, place, (*ops)->example);
		if ((*ops)->rate != NULL && strstr((*ops)->example, "rate = 0.1;") != NULL)
			assert_true((*ops)->rate(fault->params) == 0.1);
		else if ((*ops)->rate != NULL)
			assert_true((*ops)->rate(fault->params) == 1);
		work.flows = &rig.table;
		assert_int_equal(faults_check(&rig.faults, &work, &rig.err), 0);
		assert_int_equal(faults_take_cables_down(&rig.faults), strcmp((*ops)->kind, "link-down") == 0);
		if ((*ops)->set != NULL)
			assert_string_equal(fault_idle(fault), "the run ended before it began");
		frig_stop(&rig);
	}
}

static void
a_storm_of_a_class_without_flows_is_refused(void **state)
{
	struct fault_work work = { 0 };
	struct frig rig;

	(void)state;
	start(&rig, "{ kind = \"pfc-storm\"; port = \"A:1\"; priority = 5; }");
	frig_flow(&rig, "b", "a", 2);
	work.flows = &rig.table;
	assert_int_equal(faults_check(&rig.faults, &work, &rig.err), -EINVAL);
	assert_non_null(
		strstr(rig.err.text, "no flow is in class 5, so this storm would pause nothing; flows are in class 2, 3"));
	frig_stop(&rig);
}

/* Why the nth fault of a kind did nothing. */
static const char *
idle(const struct frig *rig, const char *kind, uint32_t nth)
{
	for (uint32_t i = 0; i < rig->faults.count; i++)
		if (strcmp(rig->faults.faults[i].ops->kind, kind) == 0 && nth-- == 0)
			return fault_idle(&rig->faults.faults[i]);
	return "no such fault";
}

/* The first frame of a to b arrives this much later; headroom is planned for the longest cable. */
static void
a_longer_cable_delays_and_what_did_nothing_is_named(void **state)
{
	uint64_t first_ps[2];
	struct frig rig;

	(void)state;
	for (int delayed = 0; delayed < 2; delayed++) {
		start(&rig, delayed ? "{ kind = \"delay\"; port = \"a:1\"; extra = \"20us\"; },"
				      "{ kind = \"delay\"; port = \"b:1\"; extra = \"5us\"; jitter = \"25us\"; },"
				      "{ kind = \"loss\"; port = \"b:1\"; rate = 0.5; known = true; },"
				      "{ kind = \"loss\"; port = \"b:1\"; rate = 0.5; start = \"1s\"; }"
				    : "");
		assert_int_equal(faults_extra_delay_ps(&rig.faults), delayed ? 30 * US : 0);
		frig_send(&rig, 0, 0, 1000, 10);
		frig_run(&rig, 100 * US);
		faults_close(&rig.faults, &rig.env);
		assert_int_equal(frig_host(&rig, "b")->ngot, 10);
		first_ps[delayed] = frig_host(&rig, "b")->got[0].time_ps;
		if (delayed) {
			assert_null(idle(&rig, "delay", 0));
			assert_string_equal(idle(&rig, "delay", 1), "no frame crossed the cable");
			assert_null(idle(&rig, "loss", 0)); /* of what operators know it is not checked */
			assert_string_equal(idle(&rig, "loss", 1), "the run ended before it began");
		}
		assert_true(frig_conserves(&rig));
		frig_stop(&rig);
	}
	assert_int_equal(first_ps[1] - first_ps[0], 20 * US);
}

UNIT_TEST(fault)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(a_cable_has_a_lower_rate_for_a_while),
		cmocka_unit_test(known_cuts_are_withdrawn),
		cmocka_unit_test(cables_are_down_at_times),
		cmocka_unit_test(schedules_are_exact),
		cmocka_unit_test(a_skipped_fault_does_nothing),
		cmocka_unit_test(a_cut_cable_is_avoided_and_mended),
		cmocka_unit_test(without_another_path_drops_are_named),
		cmocka_unit_test(a_blackhole_swallows_and_lets_go),
		cmocka_unit_test(one_fault_does_not_end_another),
		cmocka_unit_test(two_misroutes_make_a_loop_that_ttl_ends),
		cmocka_unit_test(a_loop_that_is_mended_lets_packets_out),
		cmocka_unit_test(a_storm_pauses_every_interval_and_ends_with_one_resume),
		cmocka_unit_test(each_kind_describes_itself),
		cmocka_unit_test(a_storm_of_a_class_without_flows_is_refused),
		cmocka_unit_test(a_longer_cable_delays_and_what_did_nothing_is_named),
		cmocka_unit_test(a_storm_suppresses_its_ports_own_resumes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
