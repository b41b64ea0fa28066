/* SPDX-License-Identifier: BSD-3-Clause */
/* The PFC watchdog: when it acts, what each action does, and that nothing happens otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "dpswitch/pipeline/watchdog.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define US PS_PER_US

/* a sends to b and c over A. A:1 leads to a, A:2 to b, A:3 to c. Windows are 1 us at most. */
#define NETWORK                                                                                                            \
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"A\" ]; "                    \
	"hosts = [ \"a\", \"b\", \"c\" ]; links = ( \"a A\", \"b A\", \"c A\" ); };\n"
#define WATCHED(action)                                                                                                    \
	NETWORK "switch = { buffer = 10000000; watchdog = { enabled = true; detection_time = \"50us\"; "                   \
		"restoration_time = \"20us\"; action = \"" action "\"; }; };\n"

enum { TO_B, TO_C, TO_A };

struct events {
	struct rec_watchdog rec[16];
	uint32_t count;
};

/* 100 frames to b and to c, and b pauses class 3 from from_us to to_us; 100 from b from 60 us on. */
static void
run(struct frig *rig, const char *network, uint64_t from_us, uint64_t to_us, struct events *events)
{
	const struct recbuf *records;

	frig_init(rig, network);
	frig_flow(rig, "a", "b", 3);
	frig_flow(rig, "a", "c", 3);
	frig_flow(rig, "b", "a", 3);
	if (frig_start(rig) < 0)
		fail_msg("%s", rig->err.text);
	frig_send(rig, TO_B, 0, 1000, 100);
	frig_send(rig, TO_C, 0, 1000, 100);
	frig_send(rig, TO_B, 70 * US, 1000, 10);
	frig_send(rig, TO_A, 70 * US, 1000, 10);
	frig_send(rig, TO_B, 300 * US, 1000, 10);
	frig_pause(rig, "b", from_us * US, 1 << 3, true);
	if (to_us != 0)
		frig_pause(rig, "b", to_us * US, 1 << 3, false);
	frig_run(rig, 500 * US);
	assert_true(frig_conserves(rig));
	records = &frig_switch(rig, "A")->node.records;
	events->count = 0;
	for (size_t at = 0; at < records->used_bytes;) {
		const struct rec_hdr *hdr = (const void *)(records->data + at);

		if (hdr->type == REC_WATCHDOG && events->count < 16)
			memcpy(&events->rec[events->count++], hdr, sizeof(struct rec_watchdog));
		at += hdr->size;
	}
}

static uint64_t
dropped(const struct frig *rig, uint16_t port)
{
	const struct node *node = &frig_switch(rig, "A")->node;

	return node->ops->dropped(node, port, REC_DROP_WATCHDOG);
}

/* What A:2's watchdog counts of a class. @return false: it does not watch it */
static bool
counted(const struct frig *rig, uint8_t prio, struct watchdog_count *count)
{
	return watchdog_count_of(frig_switch(rig, "A")->watchdog, 1, prio, count);
}

/* Since 2 us, when the PAUSE arrived: seen by 52 us, and at 200 us it is over, seen by 222 us. */
static void
drop_loses_what_is_for_the_queue_and_what_arrives_there(void **state)
{
	struct watchdog_count count;
	struct events events;
	struct frig rig;

	(void)state;
	run(&rig, WATCHED("drop"), 1, 200, &events);
	assert_int_equal(events.count, 2);
	assert_true(counted(&rig, 3, &count));
	assert_int_equal(count.detected, 1);
	assert_int_equal(count.restored, 1);
	assert_int_equal(count.packets, events.rec[1].packets);
	assert_int_equal(count.last_packets, events.rec[1].packets);
	assert_false(count.storms);
	assert_false(counted(&rig, 0, &count));
	assert_int_equal(events.rec[0].event, REC_WATCHDOG_DETECTED);
	assert_int_equal(events.rec[0].port, 1);
	assert_int_equal(events.rec[0].prio, 3);
	assert_in_range(events.rec[0].since_ps, 2 * US, 2 * US + 10000);
	assert_in_range(events.rec[0].hdr.time_ps, 52 * US, 53 * US);
	assert_int_equal(events.rec[1].event, REC_WATCHDOG_RESTORED);
	assert_in_range(events.rec[1].hdr.time_ps, 221 * US, 222 * US + 20000);
	/* 10 more were for it, and 10 arrived there. */
	assert_int_equal(events.rec[1].packets, events.rec[0].packets + 20);
	assert_int_equal(dropped(&rig, 1), events.rec[1].packets);
	assert_true(events.rec[0].packets >= 85);
	assert_int_equal(frig_host(&rig, "b")->ngot, 120 - (events.rec[0].packets + 10));
	assert_int_equal(frig_host(&rig, "c")->ngot, 100);
	assert_int_equal(frig_host(&rig, "a")->ngot, 0);
	for (uint32_t i = 0; i < frig_switch(&rig, "A")->account.nclasses * 3; i++)
		assert_int_equal(frig_switch(&rig, "A")->account.ingress[i].bytes, 0);
	frig_stop(&rig);
}

static void
forward_sends_what_is_paused(void **state)
{
	struct events events;
	struct frig rig;
	const struct frig_host *b;

	(void)state;
	run(&rig, WATCHED("forward"), 1, 200, &events);
	assert_int_equal(events.count, 2);
	assert_int_equal(dropped(&rig, 1), 0);
	b = frig_host(&rig, "b");
	assert_int_equal(b->ngot, 120);
	assert_true(b->got[109].time_ps < 100 * US); /* although it is paused to 200 us */
	assert_int_equal(frig_host(&rig, "a")->ngot, 10);
	frig_stop(&rig);
}

static void
alert_reports_alone(void **state)
{
	struct events events;
	struct frig rig;

	(void)state;
	run(&rig, WATCHED("alert"), 1, 200, &events);
	assert_int_equal(events.count, 2);
	assert_int_equal(frig_host(&rig, "b")->ngot, 120);
	assert_true(frig_host(&rig, "b")->got[20].time_ps > 200 * US);
	frig_stop(&rig);
}

/* There is nothing to restore: the storm ends with the pause, as it arrives at 201 us. */
static void
an_alert_ends_with_the_pause(void **state)
{
	struct events events;
	struct frig rig;

	(void)state;
	run(&rig, WATCHED("alert"), 1, 200, &events);
	assert_int_equal(events.count, 2);
	assert_int_equal(events.rec[1].event, REC_WATCHDOG_RESTORED);
	assert_in_range(events.rec[1].hdr.time_ps, 201 * US, 202 * US + 20000);
	frig_stop(&rig);
}

/* From 111 to 291 us, when nothing is for b: what is sent to it at 300 us is lost, as the queue works again at 311 us. */
static void
an_empty_queue_can_be_in_a_storm(void **state)
{
	struct events events;
	struct frig rig;

	(void)state;
	run(&rig, WATCHED("drop"), 110, 290, &events);
	assert_int_equal(events.count, 2);
	assert_in_range(events.rec[0].hdr.time_ps, 161 * US, 162 * US);
	assert_int_equal(events.rec[0].packets, 0);
	assert_in_range(events.rec[1].hdr.time_ps, 310 * US, 312 * US);
	assert_int_equal(events.rec[1].packets, 10);
	assert_int_equal(frig_host(&rig, "b")->ngot, 110);
	frig_stop(&rig);
}

/* Shorter pauses, a port that is not watched. */
static void
nothing_happens_otherwise(void **state)
{
	static const struct {
		const char *network;
		uint64_t from_us, to_us;
	} cases[] = {
		{ WATCHED("drop"), 1, 45 },
		{ WATCHED("drop") "ports = ( { names = [ \"A:2\" ]; watchdog = { enabled = false; }; } );", 1, 200 },
		{ WATCHED("drop") "switches = ( { names = [ \"A\" ]; watchdog = { detection_time = \"300us\"; }; } );", 1,
		  200 },
		{ NETWORK, 1, 200 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct watchdog_count count;
		struct events events;
		struct frig rig;

		run(&rig, cases[i].network, cases[i].from_us, cases[i].to_us, &events);
		assert_int_equal(events.count, 0);
		assert_int_equal(dropped(&rig, 1), 0);
		assert_int_equal(frig_host(&rig, "b")->ngot, 120);
		assert_true(!counted(&rig, 3, &count) || count.detected + count.packets == 0);
		frig_stop(&rig);
	}
}

/* A pause that never ends: no restoration; and one that begins again counts anew. */
static void
a_storm_lasts_as_long_as_the_pause(void **state)
{
	struct watchdog_count count;
	struct events events;
	struct frig rig;

	(void)state;
	run(&rig, WATCHED("drop"), 1, 0, &events);
	assert_int_equal(events.count, 1);
	assert_true(counted(&rig, 3, &count));
	assert_int_equal(count.detected, 1);
	assert_int_equal(count.restored, 0);
	assert_int_equal(count.packets, dropped(&rig, 1));
	assert_true(count.storms);
	assert_int_equal(frig_host(&rig, "c")->ngot, 100);
	assert_int_equal(dropped(&rig, 1) + frig_host(&rig, "b")->ngot, 130);
	frig_stop(&rig);
}

UNIT_TEST(watchdog)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drop_loses_what_is_for_the_queue_and_what_arrives_there),
		cmocka_unit_test(forward_sends_what_is_paused),
		cmocka_unit_test(alert_reports_alone),
		cmocka_unit_test(an_alert_ends_with_the_pause),
		cmocka_unit_test(an_empty_queue_can_be_in_a_storm),
		cmocka_unit_test(nothing_happens_otherwise),
		cmocka_unit_test(a_storm_lasts_as_long_as_the_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
