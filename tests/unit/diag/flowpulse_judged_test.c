/* SPDX-License-Identifier: BSD-3-Clause */
/* What an alarm has to be borne out by before a link is named. */
#include "common/array.h"
#include "diag/flowpulse/judged.h"
#include "tests/unit/diag/flowpulse_rig.h"
#include "tests/unit/unit.h"

static void
each_precondition_holds_back_alone(void **state)
{
	/* 200 packets of 1000 B are missing. */
	struct rec_volume_alarm alarm = {
		.expected = 10000000, .got = 9800000, .packets = 9800, .noise = REC_NOISE_LEARNED, .pooled = 1
	};
	static const struct {
		uint64_t resent, undelivered_bytes, other_bytes;
		enum rec_noise noise;
		enum flowpulse_hold hold;
		double less;
	} cases[] = {
		{ 200, 0, 0, REC_NOISE_LEARNED, FLOWPULSE_JUDGED, 0 },
		{ 200, 0, 0, REC_NOISE_UNKNOWN, FLOWPULSE_JUDGED, 0 },
		{ RESENT_UNKNOWN, 0, 0, REC_NOISE_LEARNED, FLOWPULSE_JUDGED, 0 },
		{ RESENT_UNKNOWN, 0, 0, REC_NOISE_RANDOM, FLOWPULSE_JUDGED, 0 },
		{ RESENT_UNKNOWN, 0, 0, REC_NOISE_UNKNOWN, FLOWPULSE_NO_NOISE, 0 },
		{ 0, 0, 0, REC_NOISE_LEARNED, FLOWPULSE_NOT_LOST, 0 },
		{ 99, 0, 0, REC_NOISE_LEARNED, FLOWPULSE_EXCESS, 0 },
		{ 101, 0, 0, REC_NOISE_LEARNED, FLOWPULSE_JUDGED, 0 },
		{ 200, 0, 199999, REC_NOISE_LEARNED, FLOWPULSE_JUDGED, 0 },
		{ 200, 0, 200000, REC_NOISE_LEARNED, FLOWPULSE_SHARED, 0 },
		{ RESENT_UNKNOWN, 0, 200000, REC_NOISE_LEARNED, FLOWPULSE_SHARED, 0 },
		{ 200, 199999, 0, REC_NOISE_LEARNED, FLOWPULSE_JUDGED, 0 },
		{ 200, 200000, 0, REC_NOISE_LEARNED, FLOWPULSE_UNFINISHED, 0 },
		{ RESENT_UNKNOWN, 200000, 0, REC_NOISE_RANDOM, FLOWPULSE_UNFINISHED, 0 },
		{ 200, 0, 0, REC_NOISE_LEARNED, FLOWPULSE_JUDGED, 0.0099 },
		{ 200, 0, 0, REC_NOISE_LEARNED, FLOWPULSE_LESS, 0.0101 },
		{ RESENT_UNKNOWN, 0, 0, REC_NOISE_RANDOM, FLOWPULSE_LESS, 0.02 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct flowpulse_facts facts = { .resent = cases[i].resent,
						       .undelivered_bytes = cases[i].undelivered_bytes,
						       .other_bytes = cases[i].other_bytes,
						       .less = cases[i].less };

		alarm.noise = cases[i].noise;
		assert_int_equal(flowpulse_hold_of(&alarm, &facts), cases[i].hold);
	}
	for (uint32_t hold = FLOWPULSE_JUDGED + 1; hold < FLOWPULSE_HOLDS; hold++)
		assert_non_null(flowpulse_preconditions[hold].because);
}

/* One step of h0 to h1, which retransmitted a number of packets. @param end_ps  0: it is open */
static void
put_step(struct records *r, uint32_t resent, uint64_t end_ps, uint64_t acked_bytes)
{
	struct rec_step step = { .step = 1,
				 .retransmits = resent,
				 .bytes = 360000000,
				 .acked_bytes = acked_bytes,
				 .waited_collective = REC_NONE,
				 .waited_rank = REC_NONE,
				 .start_ps = PS_PER_US,
				 .end_ps = end_ps,
				 .open = end_ps == 0 };

	records_collective(r, 2, 1);
	records_schedule(r, 0, 1, HOST(0), HOST(1), REC_NONE, PS_PER_MS);
	records_schedule(r, 1, 1, HOST(1), HOST(0), REC_NONE, PS_PER_MS);
	RECORDS_PUT(r, step, REC_STEP, HOST(0), PS_PER_MS);
}

/* An alarm of l1 of what l0 sends, by what h0 reports of its step to h1. */
static void
hosts_bear_out_what_is_missing(void **state)
{
	static const struct {
		uint32_t resent;
		bool is_reported, is_open, is_shared, is_finding;
	} cases[] = {
		{ 210, true, false, false, true }, { 0, true, false, false, false }, { 20, true, false, false, false },
		{ 0, true, true, false, true }, /* it is not over: more may be sent again */
		{ 0, false, false, false, true },  { 210, true, false, true, false }
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_volume_flaw shared = {
			.sender = REC_NONE, .flaw = REC_FLAW_SHARED, .predicted = 20000000, .seen = 5000000
		};
		struct records r;
		struct verdict *v;

		put_network(&r);
		if (cases[i].is_reported)
			put_step(&r, cases[i].resent, cases[i].is_open ? 0 : PS_PER_MS / 2, 360000000);
		if (cases[i].is_shared)
			RECORDS_PUT(&r, shared, REC_VOLUME_FLAW, 0, PS_PER_MS);
		put_alarm(&r, 1, 1, REC_LOSS_PAIR, 0, 0);
		v = diagnose(&r);
		assert_int_equal(own_of(v)->nfaults, cases[i].is_finding);
		assert_int_equal(own_of(v)->held[0] == FLOWPULSE_JUDGED, cases[i].is_finding);
		verdict_destroy(v);
	}
}

/*
 * The first iteration had packets that hosts sent again, and was learned: all ports of the next ones miss them alike. A
 * link's loss arrives by the other port instead.
 */
static void
what_all_ports_miss_is_no_links_loss(void **state)
{
	static const uint64_t others_seen[] = { 10200000, 10050000, 9950000, 9900000, 9800000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others_seen); i++) {
		struct rec_volume_alarm alarm = alarm_of(1, REC_LOSS_PAIR, 0, 0);
		struct rec_volume volume = { .port = 1, .predicted = 10000000, .seen = 9800000, .packets = 9800 };
		struct records r;
		struct verdict *v;

		put_network(&r);
		RECORDS_PUT(&r, alarm, REC_VOLUME_ALARM, 1, PS_PER_MS);
		RECORDS_PUT(&r, volume, REC_VOLUME, 1, PS_PER_MS);
		volume.port = 2;
		volume.seen = others_seen[i];
		RECORDS_PUT(&r, volume, REC_VOLUME, 1, PS_PER_MS);
		v = diagnose(&r);
		assert_int_equal(own_of(v)->nfaults, i < 2);
		assert_int_equal(own_of(v)->held[0], i < 2 ? FLOWPULSE_JUDGED : FLOWPULSE_LESS);
		verdict_destroy(v);
	}
}

/*
 * Of 210 packets that h0 sent again all arrived twice, or most, by what l1 received of l0 beyond the prediction. It
 * compares such an iteration or it does not.
 */
static void
what_arrived_twice_was_not_lost(void **state)
{
	static const struct {
		uint64_t seen;
		bool is_flawed;
		enum flowpulse_hold hold;
		uint64_t resent;
	} cases[] = {
		{ 10200000, false, FLOWPULSE_JUDGED, 210 }, { 10400000, false, FLOWPULSE_EXCESS, 10 },
		{ 10410000, false, FLOWPULSE_NOT_LOST, 0 }, { 10300000, false, FLOWPULSE_JUDGED, 110 },
		{ 10410000, true, FLOWPULSE_NOT_LOST, 0 },  { 10200000, true, FLOWPULSE_JUDGED, 210 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_volume volume = { .port = 2, .predicted = 10000000, .seen = cases[i].seen, .packets = 10000 };
		struct rec_volume_flaw flaw = { .flaw = REC_FLAW_DEMAND,
						.predicted = 20000000,
						.seen = 9800000 + cases[i].seen };
		struct rec_volume_alarm alarm = alarm_of(1, REC_LOSS_PAIR, 0, 0);
		struct records r;
		struct verdict *v;

		put_network(&r);
		put_step(&r, 210, PS_PER_MS / 2, 360000000);
		RECORDS_PUT(&r, alarm, REC_VOLUME_ALARM, 1, PS_PER_MS);
		volume.flaws = cases[i].is_flawed ? 1 << REC_FLAW_DEMAND : 0;
		RECORDS_PUT(&r, volume, REC_VOLUME, 1, PS_PER_MS);
		volume.port = 1;
		volume.seen = 9800000;
		volume.packets = 9800;
		RECORDS_PUT(&r, volume, REC_VOLUME, 1, PS_PER_MS);
		if (cases[i].is_flawed)
			RECORDS_PUT(&r, flaw, REC_VOLUME_FLAW, 1, PS_PER_MS);
		v = diagnose(&r);
		assert_int_equal(own_of(v)->held[0], cases[i].hold);
		assert_int_equal(own_of(v)->resent[0], cases[i].resent);
		verdict_destroy(v);
	}
}

/*
 * An alarm of l1 at 1 ms that 200 kB of what l0 sends are missing: its step to h1 was over by then, or not. h0's link
 * has 100 Gbps, or 200 kB in 16 us.
 */
static void
what_was_not_sent_yet_is_not_lost(void **state)
{
	static const struct {
		uint64_t end_ps, acked_bytes; /* 0: it never ended */
		bool is_finding;
	} cases[] = {
		{ PS_PER_MS, 360000000, true },
		{ PS_PER_MS + 14 * PS_PER_US, 360000000, true },
		{ PS_PER_MS + 18 * PS_PER_US, 360000000, false },
		{ 0, 360000000 - 100000, true },
		{ 0, 360000000 - 200000, false },
		{ 0, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct records r;
		struct verdict *v;

		put_network(&r);
		put_step(&r, 210, cases[i].end_ps, cases[i].acked_bytes);
		put_alarm(&r, 1, 1, REC_LOSS_PAIR, 0, 0);
		v = diagnose(&r);
		assert_int_equal(own_of(v)->nfaults, cases[i].is_finding);
		assert_int_equal(own_of(v)->held[0], cases[i].is_finding ? FLOWPULSE_JUDGED : FLOWPULSE_UNFINISHED);
		verdict_destroy(v);
	}
}

/* l1 judges the iteration twice; the step to h1 began before the first time, or after it. */
static void
what_was_judged_in_parts_is_not_lost(void **state)
{
	(void)state;
	for (uint32_t before = 0; before <= 1; before++) {
		struct rec_volume_flaw first = { .sender = REC_NONE, .flaw = REC_FLAW_OVERLAP };
		struct records r;
		struct verdict *v;

		put_network(&r);
		put_step(&r, 210, PS_PER_MS, 360000000);
		RECORDS_PUT(&r, first, REC_VOLUME_FLAW, 1, before ? PS_PER_US / 2 : PS_PER_MS / 2);
		put_alarm(&r, 1, 1, REC_LOSS_PAIR, 0, 0);
		v = diagnose(&r);
		assert_int_equal(own_of(v)->held[0], before ? FLOWPULSE_JUDGED : FLOWPULSE_UNFINISHED);
		verdict_destroy(v);
	}
}

/* Hosts of both other leaves send to h1: one sends again what a link loses, and the other may, too. */
static void
what_one_sender_alone_lost_is_not_of_the_ports_link(void **state)
{
	static const struct {
		uint32_t resent[2];
		uint64_t other_bytes;
		bool is_local;
	} cases[] = {
		{ { 210, 210 }, 360000000, true }, /* both lost packets */
		{ { 210, 0 }, 360000000, false },
		{ { 210, 0 }, 900000, true }, /* 450 packets by this port: 9 would be lost */
		{ { 210, 0 }, 1100000, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct flowpulse *own;
		struct records r;
		struct verdict *v;

		put_network(&r);
		records_collective(&r, 3, 1);
		for (uint32_t host = 0; host < LEAVES; host++)
			records_schedule(&r, host, 1, HOST(host), HOST(host == 1 ? 0 : 1), REC_NONE, PS_PER_MS);
		for (uint32_t host = 0; host < LEAVES; host += 2) {
			struct rec_step step = { .step = 1,
						 .rank = host,
						 .retransmits = cases[i].resent[host / 2],
						 .bytes = host == 0 ? 360000000 : cases[i].other_bytes,
						 .waited_collective = REC_NONE,
						 .waited_rank = REC_NONE,
						 .start_ps = PS_PER_US,
						 .end_ps = PS_PER_MS / 2 };

			step.acked_bytes = step.bytes;
			RECORDS_PUT(&r, step, REC_STEP, HOST(host), PS_PER_MS);
		}
		put_alarm(&r, 1, 1, REC_LOSS_LOCAL, REC_NONE, 0);
		v = diagnose(&r);
		own = own_of(v);
		assert_int_equal(own->held[0], FLOWPULSE_JUDGED);
		assert_int_equal(own->only_sender[0], cases[i].is_local ? REC_NONE : 0);
		/* Its rate is of all senders, and places nothing else. */
		assert_int_equal(own->nfaults, cases[i].is_local);
		assert_int_equal(own->ndoubtful, !cases[i].is_local);
		verdict_destroy(v);
	}
}

/* l1 and l2 miss 200 packets of l0 each by one spine, and l1 as many by the other. h0 reports its step to h1. */
static void
what_one_link_lost_does_not_bear_out_another(void **state)
{
	static const struct {
		uint32_t resent;
		bool is_reported;
		uint32_t faults, doubtful;
	} cases[] = {
		{ 210, true, 1, 1 },                      /* those that the first link lost */
		{ 290, true, 1, 1 }, { 310, true, 2, 0 }, /* and half of the other's */
		{ 410, true, 2, 0 }, { 0, false, 2, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct records r;
		struct verdict *v;

		put_network(&r);
		if (cases[i].is_reported)
			put_step(&r, cases[i].resent, PS_PER_MS / 2, 360000000);
		put_alarm(&r, 1, 0, REC_LOSS_REMOTE, 0, 0);
		put_alarm(&r, 2, 0, REC_LOSS_REMOTE, 0, 0);
		put_alarm(&r, 1, 1, REC_LOSS_REMOTE, 0, 0);
		v = diagnose(&r);
		assert_int_equal(own_of(v)->nfaults, cases[i].faults);
		assert_int_equal(own_of(v)->ndoubtful, cases[i].doubtful);
		assert_int_equal(own_of(v)->faults[0].alarms, 2);
		verdict_destroy(v);
	}
}

/*
 * Data of others in the measured class is counted by flows that switches reported: those of hosts at the leaf that
 * sends it up, at most four by name.
 */
static void
flows_of_others_at_a_shared_leaf_are_named(void **state)
{
	static const struct {
		uint32_t here, elsewhere; /* flows of h0 at l0, and of h2 at l2 */
		const char *sentence;
	} cases[] = {
		{ 0, 1, "beside 20.0 MB measured." },
		{ 1, 1, "measured. Switches reported h0->h1/20001>20001." },
		{ 2, 0, "measured. Switches reported h0->h1/20001>20001, h0->h1/20002>20002." },
		{ 4, 2, ", h0->h1/20003>20003, h0->h1/20004>20004." },
		{ 6, 0, ", h0->h1/20003>20003, h0->h1/20004>20004 and 2 more." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_volume_flaw shared = {
			.sender = REC_NONE, .flaw = REC_FLAW_SHARED, .predicted = 20000000, .seen = 5000000
		};
		struct records r;
		struct verdict *v;
		char *text;

		put_network(&r);
		RECORDS_PUT(&r, shared, REC_VOLUME_FLAW, 0, PS_PER_MS);
		for (uint16_t n = 1; n <= cases[i].here; n++)
			records_put_flow(&r, 0,
					 records_flow_row(1, records_tuple(HOST(0), HOST(1), 20000 + n), 1, 1, 100, 0));
		for (uint16_t n = 1; n <= cases[i].elsewhere; n++)
			records_put_flow(&r, 2,
					 records_flow_row(1, records_tuple(HOST(2), HOST(1), 20000 + n), 1, 1, 100, 0));
		v = diagnose(&r);
		text = records_text(v);
		if (strstr(text, cases[i].sentence) == NULL || strstr(text, "h2->h1") != NULL)
			fail_msg("case %zu: not \"%s\" alone in: %s", i, cases[i].sentence, text);
		free(text);
		verdict_destroy(v);
	}
}

UNIT_TEST(flowpulse_judged)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_precondition_holds_back_alone),
					    cmocka_unit_test(hosts_bear_out_what_is_missing),
					    cmocka_unit_test(what_all_ports_miss_is_no_links_loss),
					    cmocka_unit_test(what_was_not_sent_yet_is_not_lost),
					    cmocka_unit_test(what_arrived_twice_was_not_lost),
					    cmocka_unit_test(what_was_judged_in_parts_is_not_lost),
					    cmocka_unit_test(what_one_sender_alone_lost_is_not_of_the_ports_link),
					    cmocka_unit_test(what_one_link_lost_does_not_bear_out_another),
					    cmocka_unit_test(flows_of_others_at_a_shared_leaf_are_named) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
