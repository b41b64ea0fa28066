/* SPDX-License-Identifier: BSD-3-Clause */
/* Each signature on the least evidence that shows it, and on evidence that only looks like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/drop.h"
#include "common/wire/record.h"
#include "common/wire/record_paths.h"
#include "diag/vedrfolnir/section.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

static void
check_storm(const struct records *r, const char *root, const char *paused)
{
	struct verdict *v = case_diagnose(r);
	const struct finding *storm = case_find(v, FINDING_PFC_STORM, root, NULL);

	if (storm == NULL)
		fail_msg("no storm at %s: %s", root, case_reason(v));
	assert_true(case_has_port(v, storm, paused));
	assert_int_equal(v->nfindings, 1);
	assert_false(verdict_claim(v)->innocent);
	assert_true(storm->score > 0);
	verdict_destroy(v);
}

static void
test_storm(void **state)
{
	struct rec_poll early = { .victim = F17, .in_port = 1, .out_port = 2, .flags = 3, .out_paused = 1, .ttl = 60 };
	struct rec_port_row row = records_port_row(0, 19, 19, 0, 0, 0);
	struct records r;
	struct verdict *v;

	/* The port that pauses is seen pausing, with nothing held. */
	case_stormy(&r);
	row.pausing = 1;
	row.pausing_since_ps = MS;
	row.ingress_xoff_bytes = 90000;
	records_put_port(&r, SW6, row);
	records_end(&r, REC_END_STALL, 80 * MS);
	check_storm(&r, "6:1", "2:3");
	records_fini(&r);

	/* Its switch was asked, and answered that it had nothing to show. */
	case_stormy(&r);
	row.pausing = 0;
	row.hdr.event = STORMY_EVENT;
	records_put_port(&r, SW6, row);
	records_end(&r, REC_END_STALL, 80 * MS);
	check_storm(&r, "6:1", "2:3");
	records_fini(&r);

	/* It was asked before it paused. */
	case_stormy(&r);
	row.hdr.event = 3;
	row.epoch_first = row.epoch_last = 0;
	row.from_ps = row.to_ps = 0;
	early.hdr.event = 3;
	RECORDS_PUT(&r, row, REC_PORT_ROW, SW6, MS / 2);
	RECORDS_PUT(&r, early, REC_POLL, SW2, MS / 2);
	records_end(&r, REC_END_STALL, 80 * MS);
	v = case_diagnose(&r);
	assert_int_equal(v->nfindings, 0);
	verdict_destroy(v);
	records_fini(&r);

	/* The answer was thrown away: nobody knows. */
	case_stormy(&r);
	records_end(&r, REC_END_STALL, 80 * MS);
	v = case_diagnose(&r);
	assert_int_equal(v->nfindings, 0);
	verdict_destroy(v);
	records_fini(&r);
}

/* A host's NIC that pauses its switch; the flow is paused one switch before it. */
static void
test_storm_of_host(void **state)
{
	struct rec_port_row last = records_port_row(0, 10, 29, 100, 0, 1);
	struct rec_port_row before = records_port_row(1, 10, 29, 100, 0, 1);
	struct records r;

	case_fabric(&r);
	records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
	last.pause_ps = before.pause_ps = 19 * MS;
	records_put_port(&r, SW3, last);
	records_put_port(&r, SW6, before);
	records_put_flow(&r, SW6, records_flow_row(1, F17, 10, 29, 100, 0));
	records_put_meter(&r, SW3, records_meter_row(2, 0, 10, 29, 134800));
	records_end(&r, REC_END_COMPLETE, 80 * MS);
	check_storm(&r, "18:1", "6:2");
	records_fini(&r);
}

static void
test_incast(void **state)
{
	static const uint32_t sources[] = { H13, H15, H16 };
	const struct finding *incast;
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	records_step(&r, 1, H17, REC_NONE, 0, 120 * MS);
	records_put_port(&r, SW3, records_port_row(0, 0, 119, 400000, 40000000, 300));
	/* one with a fortieth of the packets is a culprit as the others are, one with next to none is not */
	case_flow(&r, SW3, 0, 1, records_tuple(H19, H18, 91), 0, 119, 10000, 1000000);
	case_flow(&r, SW3, 0, 1, records_tuple(H19, H18, 92), 0, 119, 50, 5000);
	case_flow(&r, SW3, 0, 2, F17, 0, 119, 100000, 10000000);
	for (uint32_t i = 0; i < 3; i++)
		case_flow(&r, SW3, 0, 2, records_tuple(sources[i], H18, 90), 0, 119, 100000, 10000000);
	records_end(&r, REC_END_COMPLETE, 120 * MS);
	v = case_diagnose(&r);
	incast = case_find(v, FINDING_INCAST, "3:1", NULL);
	assert_non_null(incast);
	assert_int_equal(v->nfindings, 1);
	assert_int_equal(incast->nflows, 4);
	/* 10^7 packet-waits * packets / all packets */
	assert_float_equal((float)incast->score, 1e7f * 310000 / 410050, 2.0f);
	assert_int_equal(vedrfolnir_of(v)->ncontributors, 5);
	verdict_destroy(v);
	records_fini(&r);
}

/*
 * A flow of the collective that was over before sent most of the port's packets, in the same rows: it takes nobody's
 * part.
 */
static void
test_incast_is_of_those_at_once(void **state)
{
	static const uint32_t sources[] = { H13, H19, H16 };
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	records_step(&r, 1, H15, REC_NONE, 0, MS);
	records_step(&r, 2, H15, REC_NONE, MS, 2 * MS);
	records_step(&r, 1, H17, REC_NONE, 0, 160 * MS);
	records_put_port(&r, SW3, records_port_row(0, 0, 159, 3400000, 340000000, 300));
	case_flow(&r, SW3, 0, 2, F15, 0, 159, 3000000, 300000000);
	case_flow(&r, SW3, 0, 2, F17, 0, 159, 100000, 10000000);
	for (uint32_t i = 0; i < 3; i++)
		case_flow(&r, SW3, 0, 2, records_tuple(sources[i], H18, 90), 0, 159, 100000, 10000000);
	records_end(&r, REC_END_COMPLETE, 160 * MS);
	v = case_diagnose(&r);
	assert_non_null(case_find(v, FINDING_INCAST, "3:1", NULL));
	assert_int_equal(v->nfindings, 1);
	verdict_destroy(v);
	records_fini(&r);
}

/* Switch 0 with hosts 1 to 14; a step of 1->14. */
static void
one_switch(struct records *r)
{
	static const char *const names[] = {
		"s", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14"
	};
	static const uint32_t path[][2] = { { 1, 0 }, { 0, 13 } };

	records_init(r);
	records_run(r);
	for (uint32_t n = 0; n <= 14; n++)
		records_node(r, n, names[n], n != 0, n != 0 ? 1 : 14);
	for (uint32_t n = 1; n <= 14; n++)
		records_link(r, 0, (uint16_t)(n - 1), false, n, 0, true);
	records_collective(r, 1, 1);
	records_schedule(r, 0, 1, 1, 14, REC_NONE, EXPECT);
	records_route(r, records_tuple(1, 14, 10000), path, 2);
}

/* Thirteen hosts send to one, all but one two flows each: no flow has a twentieth of the queue, and no host a tenth. */
static void
test_incast_of_many(void **state)
{
	const struct finding *incast;
	struct records r;
	struct verdict *v;

	one_switch(&r);
	records_step(&r, 1, 1, REC_NONE, 0, 120 * MS);
	records_put_port(&r, 0, records_port_row(13, 0, 119, 520000, 52000000, 300));
	case_flow(&r, 0, 13, 0, records_tuple(1, 14, 10000), 0, 119, 40000, 4000000);
	for (uint16_t host = 2; host <= 13; host++)
		for (uint16_t sport = 90; sport < 92; sport++)
			case_flow(&r, 0, 13, host - 1, records_tuple(host, 14, sport), 0, 119, 20000, 2000000);
	records_end(&r, REC_END_COMPLETE, 120 * MS);
	v = case_diagnose(&r);
	incast = case_find(v, FINDING_INCAST, "s:14", NULL);
	assert_non_null(incast);
	assert_int_equal(v->nfindings, 1);
	assert_int_equal(incast->nflows, 24);
	verdict_destroy(v);
	records_fini(&r);
}

/*
 * Two flows to 18 contend with 17->18 at 6:2 already, before the last hop, 3:1, of the same rate: one cause, at the last
 * hop. One that ends elsewhere is a cause of its own at 6:2.
 */
static void
test_incast_has_contention_before_the_last_hop(void **state)
{
	static const uint32_t sources[] = { H13, H15 };

	for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
		const struct finding *incast;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 120 * MS);
		records_put_port(&r, SW6, records_port_row(1, 0, 119, 350000, 35000000, 300));
		records_put_port(&r, SW3, records_port_row(0, 0, 119, 400000, 40000000, 300));
		case_flow(&r, SW6, 1, 0, F17, 0, 119, 100000, 10000000);
		case_flow(&r, SW3, 0, 2, F17, 0, 119, 100000, 10000000);
		for (uint32_t i = 0; i < 2; i++) {
			case_flow(&r, SW6, 1, 2, records_tuple(sources[i], H18, 90), 0, 119, 100000, 10000000);
			case_flow(&r, SW3, 0, 2, records_tuple(sources[i], H18, 90), 0, 119, 100000, 10000000);
		}
		case_flow(&r, SW3, 0, 1, records_tuple(H19, H18, 90), 0, 119, 100000, 10000000);
		if (elsewhere)
			case_flow(&r, SW6, 1, 2, BF2, 0, 119, 50000, 5000000);
		records_end(&r, REC_END_COMPLETE, 120 * MS);
		v = case_diagnose(&r);
		incast = case_find(v, FINDING_INCAST, "3:1", NULL);
		assert_non_null(incast);
		assert_int_equal(v->nfindings, 1 + elsewhere);
		assert_int_equal(incast->nflows, 3);
		assert_true((case_find(v, FINDING_FLOW_CONTENTION, "6:2", "13->19/78>78") != NULL) == (elsewhere != 0));
		verdict_destroy(v);
		records_fini(&r);
	}
}

static void
test_slow_host(void **state)
{
	const struct finding *slow;
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	records_step(&r, 1, H15, REC_NONE, 0, EXPECT);
	records_step(&r, 1, H17, REC_NONE, 0, EXPECT);
	records_step(&r, 2, H15, REC_NONE, EXPECT, 2 * EXPECT);
	records_step(&r, 2, H17, REC_NONE, EXPECT + 20 * MS, 2 * EXPECT + 20 * MS);
	records_end(&r, REC_END_COMPLETE, 2 * EXPECT + 20 * MS);
	v = case_diagnose(&r);
	slow = case_find(v, FINDING_SLOW_HOST, "17", NULL);
	assert_non_null(slow);
	assert_int_equal(v->nfindings, 1);
	assert_int_equal(v->run.steps[1].late_ps, 20 * MS);
	assert_int_equal(slow->end_ps - slow->start_ps, 20 * MS);
	/* 20 ms of 100 Gbps in frames of 1348 B */
	assert_float_equal((float)slow->score, 20e-3f * 100e9f / (1348 * 8), 1.0f);
	assert_true(verdict_claim(v)->innocent);
	assert_non_null(strstr(case_reason(v), "hosts: 17"));
	verdict_destroy(v);
	records_fini(&r);
}

static void
test_drops(void **state)
{
	static const struct {
		uint16_t reason;
		const struct finding_type *type;
	} cases[] = {
		{ REC_DROP_LINK_DOWN, FINDING_LINK_DOWN }, { REC_DROP_TTL, FINDING_FORWARDING_LOOP },
		{ REC_DROP_NO_ROUTE, FINDING_BLACKHOLE },  { REC_DROP_BLACKHOLE, FINDING_BLACKHOLE },
		{ REC_DROP_CORRUPT, FINDING_PACKET_LOSS }, { REC_DROP_NO_BUFFER, FINDING_PACKET_LOSS },
		{ REC_DROP_MTU, FINDING_PACKET_LOSS },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_drop_row drop = { .last = F17,
					     .port = 1,
					     .reason = cases[i].reason,
					     .packets = 9,
					     .bytes = 9 * 1348,
					     .first_ps = 10 * MS,
					     .last_ps = 12 * MS };
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		RECORDS_PUT(&r, drop, REC_DROP_ROW, SW6, 13 * MS);
		records_end(&r, REC_END_COMPLETE, 80 * MS);
		v = case_diagnose(&r);
		assert_non_null(case_find(v, cases[i].type, "6:2", NULL));
		assert_int_equal(v->nfindings, 1);
		verdict_destroy(v);
		records_fini(&r);
	}
}

/*
 * 6:2 is on 17->18's path: its watchdog dropped packets there, in their time. One that drops nothing is no
 * cause.
 */
static void
test_pfc_watchdog(void **state)
{
	static const struct {
		uint16_t prio, action, event;
		uint64_t packets, at_ps;
		bool found;
	} cases[] = {
		{ 3, REC_WATCHDOG_DROP, REC_WATCHDOG_DETECTED, 9, 12 * MS, true },
		{ 3, REC_WATCHDOG_DROP, REC_WATCHDOG_RESTORED, 99, 70 * MS, true },
		{ 3, REC_WATCHDOG_FORWARD, REC_WATCHDOG_DETECTED, 0, 12 * MS, false },
		{ 3, REC_WATCHDOG_DROP, REC_WATCHDOG_DETECTED, 0, 12 * MS, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_watchdog event = { .port = 1,
					      .prio = cases[i].prio,
					      .event = cases[i].event,
					      .action = cases[i].action,
					      .since_ps = 10 * MS,
					      .packets = cases[i].packets };
		const struct finding *finding;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		RECORDS_PUT(&r, event, REC_WATCHDOG, SW6, cases[i].at_ps);
		records_end(&r, REC_END_COMPLETE, 80 * MS);
		v = case_diagnose(&r);
		finding = case_find(v, FINDING_PFC_WATCHDOG, "6:2", NULL);
		assert_int_equal(finding != NULL, cases[i].found);
		assert_int_equal(v->nfindings, cases[i].found);
		if (finding != NULL)
			assert_int_equal(finding->evidence.count, cases[i].packets);
		verdict_destroy(v);
		records_fini(&r);
	}
}

/* 6:2 on 17->18's path reports a quarter of its rate: before the step, within it, or for a time before it. */
static void
test_link_rate(void **state)
{
	static const struct {
		uint64_t from_ps, to_ps; /* 0: for good */
		uint32_t node;
		uint16_t port;
		bool found;
	} cases[] = {
		{ 0, 0, SW6, 1, true },
		{ 50 * MS, 60 * MS, SW6, 1, true },
		{ 0, MS, SW6, 1, false },
		{ 0, 0, SW2, 1, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_link_rate low = { .port = cases[i].port, .rate_bps = 25000000000 }, usual = low;
		struct records r;
		struct verdict *v;

		usual.rate_bps = 100000000000;
		case_fabric(&r);
		RECORDS_PUT(&r, low, REC_LINK_RATE, cases[i].node, cases[i].from_ps);
		if (cases[i].to_ps != 0)
			RECORDS_PUT(&r, usual, REC_LINK_RATE, cases[i].node, cases[i].to_ps);
		records_step(&r, 1, H17, REC_NONE, 2 * MS, 80 * MS);
		records_end(&r, REC_END_COMPLETE, 80 * MS);
		v = case_diagnose(&r);
		assert_int_equal(case_find(v, FINDING_LINK_RATE, "6:2", NULL) != NULL, cases[i].found);
		/* In 10 ms at a quarter of the rate as much passes as in 2.5 ms at the whole. */
		if (cases[i].found && cases[i].to_ps != 0)
			assert_float_equal((float)(v->findings[0].explained_ps / 1e9), 7.5f, 0.01f);
		verdict_destroy(v);
		records_fini(&r);
	}
}

#define OTHER records_tuple(H19, H18, 91)

static void
put_hop(struct records *r, struct rec_tuple flow, uint32_t node, uint16_t out_port, uint64_t time_ps)
{
	struct rec_traced_hop hop = { .tuple = flow,
				      .set_low = 1ull << out_port,
				      .round = (uint32_t)(time_ps / (10 * MS)),
				      .hop = 1,
				      .in_port = 1,
				      .out_port = out_port };

	RECORDS_PUT(r, hop, REC_TRACED_HOP, node, time_ps);
}

/*
 * FlowTracer asks: 17->18 leaves 2 by 2:3, and at 30 ms by 2:1, though it sent again; 6:2 and 3:1 of its path are others'
 * paths still. If 2:3 is, too, no link is down.
 */
static void
test_link_that_routes_no_longer_use(void **state)
{
	for (int used = 0; used < 2; used++) {
		struct rec_step step = { .step = 1,
					 WAITED_NONE,
					 .bytes = 360000000,
					 .acked_bytes = 360000000,
					 .retransmits = 9,
					 .waited_ns = 40000000,
					 .end_ps = 80 * MS };
		const struct finding *found;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		step.rank = r.rank_of[H17];
		RECORDS_PUT(&r, step, REC_STEP, H17, 80 * MS);
		put_hop(&r, F17, SW2, 2, MS);
		put_hop(&r, F17, SW6, 1, MS);
		put_hop(&r, F17, SW3, 0, MS);
		put_hop(&r, F17, SW2, 0, 30 * MS);
		put_hop(&r, BF2, SW6, 1, 40 * MS);
		put_hop(&r, BF1, SW3, 0, 40 * MS);
		if (used)
			put_hop(&r, OTHER, SW2, 2, 40 * MS);
		v = case_conclude(&r, REC_END_COMPLETE);
		found = case_find(v, FINDING_LINK_DOWN, "2:3", NULL);
		assert_int_equal(found != NULL, !used);
		if (found != NULL)
			assert_non_null(
				strstr(case_evidence(v, found), "it was sent by 2:3 to 6:1, and that no flow was since"));
		verdict_destroy(v);
	}
}

/* Both ends of 17->18's link from 6 to 3 report it: one cable, one cause. */
static void
test_both_ends_of_a_slow_cable(void **state)
{
	struct rec_link_rate here = { .port = 1, .rate_bps = 25000000000 }, there = { .port = 2, .rate_bps = 25000000000 };
	struct records r;
	struct verdict *v;

	(void)state;
	case_fabric(&r);
	RECORDS_PUT(&r, here, REC_LINK_RATE, SW6, 0);
	RECORDS_PUT(&r, there, REC_LINK_RATE, SW3, 0);
	records_step(&r, 1, H17, REC_NONE, 2 * MS, 80 * MS);
	records_end(&r, REC_END_COMPLETE, 80 * MS);
	v = case_diagnose(&r);
	assert_non_null(case_find(v, FINDING_LINK_RATE, "3:3", NULL));
	assert_null(case_find(v, FINDING_LINK_RATE, "6:2", NULL));
	verdict_destroy(v);
	records_fini(&r);
}

/* An agent traces 19->18 every 50 us: in 2 ms 41 of its packets may expire, and no more. */
static void
test_drops_of_traceroutes(void **state)
{
	const struct {
		bool agents, inband, probed;
		struct rec_tuple last;
		uint64_t packets;
		bool loop;
	} cases[] = {
		{ true, false, true, OTHER, 41, false }, { true, false, true, OTHER, 42, true },
		{ true, true, true, OTHER, 41, true },   { true, false, false, F17, 41, true },
		{ true, false, true, F17, 41, false },   { false, false, false, OTHER, 41, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_pingmesh agents = { .time_factor_ppm = 1000,
					       .timeout_ps = MS,
					       .upload_ps = 5 * MS,
					       .period_ps = 20 * MS,
					       .pinglist_ps = MS };
		struct rec_drop_row drop = { .last = cases[i].last,
					     .port = 1,
					     .reason = REC_DROP_TTL,
					     .packets = cases[i].packets,
					     .first_ps = 10 * MS,
					     .last_ps = 12 * MS };
		struct rec_probe probe = { .tuple = cases[i].last };
		struct rec_probe_hop hop = { .tuple = OTHER, .hop = 1, .at = SW6, .count = 1 };
		struct rec_rnic rnic = { .ip = F17.src_ip, .tor = SW6 };
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		if (cases[i].agents) {
			RECORDS_PUT(&r, agents, REC_PINGMESH, REC_NONE, 0);
			RECORDS_PUT(&r, rnic, REC_RNIC, H17, 1);
		}
		if (cases[i].probed)
			RECORDS_PUT(&r, probe, REC_PROBE, probe.tuple.src_ip == F17.src_ip ? H17 : H19, 13 * MS);
		if (cases[i].inband)
			RECORDS_PUT(&r, hop, REC_PROBE_HOP, H18, 13 * MS);
		RECORDS_PUT(&r, drop, REC_DROP_ROW, SW6, 13 * MS);
		records_end(&r, REC_END_COMPLETE, 80 * MS);
		v = case_diagnose(&r);
		if ((case_find(v, FINDING_FORWARDING_LOOP, "6:2", NULL) != NULL) != cases[i].loop)
			fail_msg("case %zu: %s", i, case_reason(v));
		assert_int_equal(vedrfolnir_of(v)->unjudged.traces, !cases[i].loop);
		verdict_destroy(v);
		records_fini(&r);
	}
}

static void
test_loop(void **state)
{
	for (uint16_t flags = 1; flags <= 3; flags++) {
		struct rec_poll first = { .victim = F17, .in_port = 0, .out_port = 1, .flags = flags, .ttl = 60 };
		struct rec_poll again = first;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		first.hdr.event = again.hdr.event = 9;
		again.repeated = 1;
		again.ttl = 58;
		RECORDS_PUT(&r, first, REC_POLL, SW6, 10 * MS);
		RECORDS_PUT(&r, again, REC_POLL, SW6, 11 * MS);
		records_end(&r, REC_END_STALL, 80 * MS);
		v = case_diagnose(&r);
		/* Polls that trace pauses may meet; the one that follows the victim may not. */
		assert_int_equal(v->nfindings, flags & 1);
		if (flags & 1)
			assert_true(case_has_port(v, case_find(v, FINDING_FORWARDING_LOOP, "6:2", NULL), "6:2"));
		verdict_destroy(v);
		records_fini(&r);
	}
}

/* Nobody polls: the row of 17->18 at 6:2 says that it came in there. What died elsewhere of it is no loop of its own. */
static void
test_loop_in_rows(void **state)
{
	struct rec_drop_row drop = { .last = F17,
				     .port = 0,
				     .reason = REC_DROP_TTL,
				     .packets = 9,
				     .bytes = 9 * 1348,
				     .first_ps = 10 * MS,
				     .last_ps = 12 * MS };
	struct records r;
	struct verdict *v;

	for (uint16_t in_port = 0; in_port < 2; in_port++) {
		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		records_put_port(&r, SW6, records_port_row(1, 0, 79, 1000, 0, 1));
		case_flow(&r, SW6, 1, in_port, F17, 0, 79, 1000, 0);
		RECORDS_PUT(&r, drop, REC_DROP_ROW, SW3, 13 * MS);
		records_end(&r, REC_END_COMPLETE, 80 * MS);
		v = case_diagnose(&r);
		assert_int_equal(v->nfindings, 1);
		if (in_port == 1) {
			assert_non_null(case_find(v, FINDING_FORWARDING_LOOP, "6:2", NULL));
			assert_true(case_has_port(v, &v->findings[0], "3:3"));
		} else {
			assert_non_null(case_find(v, FINDING_FORWARDING_LOOP, "3:1", NULL));
		}
		verdict_destroy(v);
		records_fini(&r);
	}
}

static void
test_loss_without_counter(void **state)
{
	struct rec_step step = { .step = 1, WAITED_NONE, .end_ps = 80 * MS, .retransmits = 40 };
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	RECORDS_PUT(&r, step, REC_STEP, H17, 80 * MS);
	records_end(&r, REC_END_COMPLETE, 80 * MS);
	v = case_diagnose(&r);
	assert_non_null(case_find(v, FINDING_PACKET_LOSS, "17->18/10000>10000", NULL));
	assert_int_equal(v->findings[0].nports, 4);
	verdict_destroy(v);
	records_fini(&r);
}

/*
 * 6:2 found its queue full, and 15->18 was there with 17->18: it filled the queue if it had a part of it. Whether the class
 * has PFC anywhere decides what lacks it; of packets of another class than 17->18's nothing is said.
 */
static void
test_a_full_queue_and_who_filled_it(void **state)
{
	const struct {
		uint64_t others;
		uint32_t prio; /* of 17->18 */
		struct rec_tuple last;
		bool filled;
		const char *lacks;
	} cases[] = {
		{ 69000, 0, F17, true, "no switch reports PFC" },
		{ 69000, 0, BF1, true, "no switch reports PFC" },
		{ 9000, 0, F17, false, "no switch reports PFC" },
		{ 0, 3, F17, false, "are in one without it there" },
		{ 0, 3, BF2, false, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rec_step step = { .step = 1, WAITED_NONE, .end_ps = 80 * MS, .retransmits = 40 };
		struct rec_drop_row drop = { .last = cases[i].last,
					     .port = 1,
					     .reason = REC_DROP_QUEUE_FULL,
					     .packets = 40,
					     .first_ps = 41 * MS,
					     .last_ps = 79 * MS };
		struct rec_port_row lossless = records_port_row(2, 0, 79, 300000, 0, 1);
		const struct finding *full, *lacks;
		struct records r;
		struct verdict *v;

		lossless.prio = 3;
		case_fabric(&r);
		records_class(&r, cases[i].prio);
		step.rank = r.rank_of[H17];
		RECORDS_PUT(&r, step, REC_STEP, H17, 80 * MS);
		if (cases[i].others != 0)
			case_contention(&r, SW6, 1, 0, 79, 60, F17, 300000, BF1, cases[i].others);
		if (cases[i].prio != 0)
			records_put_port(&r, SW2, lossless);
		RECORDS_PUT(&r, drop, REC_DROP_ROW, SW6, 80 * MS);
		v = case_conclude(&r, REC_END_COMPLETE);
		full = case_find(v, FINDING_TAIL_DROP, "6:2", NULL);
		lacks = case_find(v, FINDING_NO_PFC, "6:2", NULL);
		if (full == NULL || (lacks != NULL) != (cases[i].lacks != NULL))
			fail_msg("case %zu: %s", i, case_reason(v));
		assert_int_equal(full->nflows != 0 && strcmp(v->run.flows[full->flows[0]].name, "15->18/77>77") == 0,
				 cases[i].filled);
		assert_int_equal(strstr(case_evidence(v, full), "15->18/77>77 filled it") != NULL, cases[i].filled);
		if (lacks != NULL) {
			assert_int_equal(lacks->evidence.count, 40);
			assert_non_null(strstr(case_evidence(v, lacks), cases[i].lacks));
		}
		verdict_destroy(v);
	}
}

/*
 * A switch counts what has no route at one port that would lead on, be it on 17->18's path or not: if the last packet has a
 * host in common with 17->18, that had no route there either.
 */
static void
test_no_route_of_the_same_host(void **state)
{
	const struct {
		uint32_t node;
		struct rec_tuple last;
		bool sent_again, found;
	} cases[] = {
		{ SW6, BF1, true, true },                         /* to 18, too */
		{ SW6, records_tuple(H17, H19, 8), true, true },  /* from 17, too */
		{ SW6, records_tuple(H18, H13, 8), true, true },  /* from 18 */
		{ SW6, records_tuple(H19, H17, 8), true, true },  /* to 17 */
		{ SW6, records_tuple(H19, H13, 8), true, false }, /* others' */
		{ SW1, BF1, true, false },                        /* a switch that 17->18 does not pass */
		{ SW6, BF1, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rec_step step = {
			.step = 1, WAITED_NONE, .end_ps = 80 * MS, .retransmits = cases[i].sent_again ? 40 : 0
		};
		struct rec_drop_row drop = { .last = cases[i].last,
					     .port = 2, /* of 6: to 1; of 1: to 6 */
					     .reason = REC_DROP_NO_ROUTE,
					     .packets = 40,
					     .first_ps = 41 * MS,
					     .last_ps = 79 * MS };
		const struct finding *hole;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		step.rank = r.rank_of[H17];
		RECORDS_PUT(&r, step, REC_STEP, H17, 80 * MS);
		RECORDS_PUT(&r, drop, REC_DROP_ROW, cases[i].node, 80 * MS);
		v = case_conclude(&r, REC_END_COMPLETE);
		hole = case_find(v, FINDING_BLACKHOLE, cases[i].node == SW6 ? "6:3" : "1:3", NULL);
		if ((hole != NULL) != cases[i].found)
			fail_msg("case %zu: %s", i, case_reason(v));
		if (hole != NULL)
			assert_non_null(
				strstr(case_evidence(v, hole), "6:3 counts 40 packets dropped for want of a route"));
		verdict_destroy(v);
	}
}

UNIT_TEST(cause)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_storm_of_host),
		cmocka_unit_test(test_incast),
		cmocka_unit_test(test_incast_is_of_those_at_once),
		cmocka_unit_test(test_incast_of_many),
		cmocka_unit_test(test_incast_has_contention_before_the_last_hop),
		cmocka_unit_test(test_slow_host),
		cmocka_unit_test(test_drops),
		cmocka_unit_test(test_pfc_watchdog),
		cmocka_unit_test(test_link_rate),
		cmocka_unit_test(test_link_that_routes_no_longer_use),
		cmocka_unit_test(test_both_ends_of_a_slow_cable),
		cmocka_unit_test(test_drops_of_traceroutes),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_loop_in_rows),
		cmocka_unit_test(test_loss_without_counter),
		cmocka_unit_test(test_a_full_queue_and_who_filled_it),
		cmocka_unit_test(test_no_route_of_the_same_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
