/* SPDX-License-Identifier: BSD-3-Clause */
/* Which findings become one, which give way to others, and which comes first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

#define LAST 79 /* epoch */

/* A finished step that sent packets again. */
static void
sent_again(struct records *r, uint32_t host, uint32_t packets)
{
	struct rec_step step = {
		.rank = r->rank_of[host], .step = 1, WAITED_NONE, .end_ps = 80 * MS, .retransmits = packets
	};

	RECORDS_PUT(r, step, REC_STEP, host, 80 * MS);
}

/* The critical step comes first, though the other one waited for more packets. */
static void
test_order(void **state)
{
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	records_step(&r, 1, H15, REC_NONE, 0, 60 * MS);
	records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
	records_step(&r, 2, H15, H17, 80 * MS, 80 * MS + EXPECT);
	records_step(&r, 2, H17, REC_NONE, 80 * MS, 80 * MS + EXPECT);
	case_contention(&r, SW1, 2, 0, 59, 400, F15, 250000, BF2, 250000);
	case_contention(&r, SW6, 1, 0, LAST, 60, F17, 250000, BF2, 100000);
	v = case_conclude(&r, REC_END_COMPLETE);
	assert_true(vedrfolnir_of(v)->steps[0].critical && !vedrfolnir_of(v)->steps[2].critical);
	assert_int_equal(v->nfindings, 2);
	assert_string_equal(v->findings[0].root, "6:2");
	assert_string_equal(v->findings[1].root, "1:3");
	assert_true(v->findings[0].score < v->findings[1].score);
	/* 100000 frames of 1348 B at 100 Gbps, and 250000, where 250000 of the steps' 360 MB / 1300 B packets are seen */
	assert_float_equal((float)(v->findings[0].explained_ps / 1e9), 10.784f * 1.107692f, 1e-3f);
	assert_float_equal((float)(v->findings[0].regained_ps / 1e9), 10.784f * 1.107692f, 1e-3f);
	assert_float_equal((float)(v->findings[1].explained_ps / 1e9), 60.0f - 30.75f, 1e-3f);
	assert_true(v->findings[1].regained_ps == 0 && v->findings[1].costless);
	assert_non_null(strstr(case_reason(v), "flow-contention at 6:2 by 13->19/78>78"));
	verdict_destroy(v);
}

/*
 * 15 is as slow as 17, for an unknown reason: without any one cause 17 alone would have been faster. Nobody can leave a
 * job's own flows out: where 15's packets held up 17, a flow of others at the same port had no effect. Where another flow
 * of others did, all have one together.
 */
static void
test_hidden_behind_own(void **state)
{
	for (int own = 0; own < 2; own++) {
		const struct finding *other;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H15, REC_NONE, 0, 80 * MS);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		records_put_port(&r, SW6, records_port_row(1, 0, LAST, 720000, 27006000, 120));
		case_flow(&r, SW6, 1, 0, F17, 0, LAST, 250000, 15000000);
		case_flow(&r, SW6, 1, 2, own ? F15 : BF1, 0, LAST, 270000, 6000);
		case_flow(&r, SW6, 1, 2, BF2, 0, LAST, 200000, 12000000);
		v = case_conclude(&r, REC_END_COMPLETE);
		other = case_find(v, FINDING_FLOW_CONTENTION, "6:2", own ? "13->19/78>78" : NULL);
		assert_non_null(other);
		assert_true(other->critical_ps > 0 && other->regained_ps == 0);
		assert_int_equal(other->costless, own);
		assert_false(v->findings[0].costless);
		verdict_destroy(v);
	}
}

/*
 * 15 took 60 ms, half of it behind 13->19. 17, done long before, waited a millisecond at most behind 15->18, which regains
 * nothing. Without 13->19 it would have: half of these orders are its share, and count if they are 0.5 % of the time.
 */
static void
test_hidden_behind_more(void **state)
{
	for (int little = 0; little < 2; little++) {
		const struct finding *hidden;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H15, REC_NONE, 0, 60 * MS);
		records_step(&r, 1, H17, REC_NONE, 0, EXPECT + (little ? 350 : 1000) * PS_PER_US);
		case_contention(&r, SW1, 2, 0, 59, 400, F15, 250000, BF2, 250000);
		case_contention(&r, SW6, 1, 0, 30, 60, F17, 270000, BF1, 16000);
		v = case_conclude(&r, REC_END_COMPLETE);
		hidden = case_find(v, FINDING_FLOW_CONTENTION, "6:2", NULL);
		assert_non_null(hidden);
		assert_true(hidden->regained_ps == 0 && hidden->critical_ps > 10 * PS_PER_US);
		assert_int_equal(hidden->costless, little);
		verdict_destroy(v);
	}
}

/* A flow that never met a queue came when that of 17->18 had gone, though the same epochs show both. */
static void
test_queue_gone(void **state)
{
	for (int reached = 0; reached < 2; reached++) {
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		records_put_port(&r, SW6, records_port_row(1, 0, LAST, 350000, 15000000, 120));
		case_flow(&r, SW6, 1, 0, F17, 0, LAST, 250000, 15000000);
		case_flow(&r, SW6, 1, 2, BF2, 0, LAST, 100000, reached ? 2000 : 1999);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(v->nfindings, reached);
		verdict_destroy(v);
	}
}

/* A culprit of 0.02 packets ahead of each may still be nothing beside the time lost, and beside the time expected. */
static void
test_negligible_culprit(void **state)
{
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
	records_put_port(&r, SW6, records_port_row(1, 0, LAST, 370000, 22200000, 120));
	case_flow(&r, SW6, 1, 0, F17, 0, LAST, 250000, 15000000);
	case_flow(&r, SW6, 1, 2, BF2, 0, LAST, 100000, 6000000);
	case_flow(&r, SW6, 1, 2, BF1, 0, LAST, 2000, 120000); /* 0.22 ms of 49.25 ms, and of 30.75 ms */
	v = case_conclude(&r, REC_END_COMPLETE);
	assert_int_equal(v->nfindings, 1);
	assert_non_null(case_find(v, FINDING_FLOW_CONTENTION, "6:2", "13->19/78>78"));
	verdict_destroy(v);
}

/* Flows of the collective meet in coarse rows, but only where their steps ran at once did they meet. */
static void
test_own_flows(void **state)
{
	for (int at_once = 0; at_once < 2; at_once++) {
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		records_step(&r, 1, H15, REC_NONE, at_once ? 0 : 80 * MS, at_once ? EXPECT : 80 * MS + EXPECT);
		records_step(&r, 2, H15, H17, 120 * MS, 120 * MS + EXPECT);
		case_contention(&r, SW6, 1, 0, LAST, 60, F17, 250000, F15, 100000);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(case_find(v, FINDING_FLOW_CONTENTION, "6:2", NULL) != NULL, at_once);
		verdict_destroy(v);
	}
}

static void
put_pauses(struct records *r)
{
	/* 3 pauses 6:2, and 6 pauses 2:3 and 1:3. */
	case_paused(r, SW6, 1, LAST, 300000, 50 * MS);
	records_put_meter(r, SW3, records_meter_row(2, 0, 0, LAST, 1000));
	case_paused(r, SW2, 2, LAST, 250000, 40 * MS);
	case_paused(r, SW1, 2, LAST, 250000, 40 * MS);
	records_put_meter(r, SW6, records_meter_row(0, 1, 0, LAST, 1000));
	records_put_meter(r, SW6, records_meter_row(2, 1, 0, LAST, 1000));
	case_flow(r, SW1, 2, 1, F15, 0, LAST, 250000, 0);
	case_flow(r, SW2, 2, 1, F17, 0, LAST, 250000, 0);
}

/* Flows of three hosts fill the queue of 3:1, before 18. */
static void
put_incast(struct records *r, bool reached)
{
	static const uint32_t sources[] = { H13, H15, H16 };

	records_put_port(r, SW3, records_port_row(0, 0, LAST, 400000, 40000000, 300));
	if (reached)
		case_flow(r, SW3, 0, 2, F17, 0, LAST, 100000, 10000000);
	for (uint32_t i = 0; i < 3; i++)
		case_flow(r, SW3, 0, (uint16_t)(i % 2 + 1), records_tuple(sources[i], H18, 90), 0, LAST, 100000, 10000000);
	put_pauses(r);
}

static void
test_incast_takes_pauses(void **state)
{
	for (int reached = 0; reached < 2; reached++) {
		const struct finding *finding;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		records_step(&r, 1, H15, REC_NONE, 0, 80 * MS);
		put_incast(&r, reached);
		v = case_conclude(&r, REC_END_COMPLETE);
		/* Where no flow of the collective stands in that queue, it is PFC backpressure and nothing else. */
		finding = case_find(v, reached ? FINDING_INCAST : FINDING_PFC_BACKPRESSURE, "3:1", NULL);
		assert_non_null(finding);
		assert_int_equal(v->nfindings, 1);
		assert_int_equal(finding->nvictims, 2);
		assert_int_equal(finding->nsteps, 2);
		assert_int_equal(finding->nflows, 3);
		for (uint32_t i = 0; i < finding->nflows; i++)
			assert_false(v->run.flows[finding->flows[i]].collective);
		assert_true(case_has_port(v, finding, "1:3") && case_has_port(v, finding, "2:3") &&
			    case_has_port(v, finding, "6:2") && case_has_port(v, finding, "3:1"));
		verdict_destroy(v);
	}
}

/* The third host's flow had gone when 17->18 came to the queue: it paused others there, and is no part of the incast. */
static void
test_incast_leaves_pauses(void **state)
{
	const struct finding *incast, *pauses;
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
	records_step(&r, 1, H15, REC_NONE, 0, 80 * MS);
	for (uint32_t first = 0; first < LAST; first += 40) {
		struct rec_tuple third = first == 0 ? records_tuple(H16, H18, 90) : F17;

		records_put_port(&r, SW3, records_port_row(0, first, first + 39, 300000, 30000000, 300));
		case_flow(&r, SW3, 0, 1, records_tuple(H13, H18, 90), first, first + 39, 100000, 10000000);
		case_flow(&r, SW3, 0, 2, records_tuple(H15, H18, 90), first, first + 39, 100000, 10000000);
		case_flow(&r, SW3, 0, 2, third, first, first + 39, 100000, 10000000);
	}
	put_pauses(&r);
	v = case_conclude(&r, REC_END_COMPLETE);
	incast = case_find(v, FINDING_INCAST, "3:1", NULL);
	pauses = case_find(v, FINDING_PFC_BACKPRESSURE, "3:1", NULL);
	assert_true(incast != NULL && pauses != NULL);
	assert_int_equal(v->nfindings, 2);
	assert_int_equal(incast->nflows, 2);
	assert_int_equal(pauses->nflows, 3);
	verdict_destroy(v);
}

/* One flow from outside beside one of the collective's is contention, two are an incast. */
static void
test_incast_needs_two(void **state)
{
	for (int two = 0; two < 2; two++) {
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		records_put_port(&r, SW3, records_port_row(0, 0, LAST, 300000, 30000000, 300));
		case_flow(&r, SW3, 0, 2, F17, 0, LAST, 100000, 10000000);
		case_flow(&r, SW3, 0, 2, records_tuple(H13, H18, 90), 0, LAST, 100000, 10000000);
		if (two)
			case_flow(&r, SW3, 0, 1, records_tuple(H19, H18, 90), 0, LAST, 100000, 10000000);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(v->nfindings, 1);
		assert_ptr_equal(v->findings[0].type, two ? FINDING_INCAST : FINDING_FLOW_CONTENTION);
		assert_int_equal(v->findings[0].nflows, 1 + two);
		verdict_destroy(v);
	}
}

/* Packets sent again while a storm held the flow for most of the time: timeouts. Else: loss. */
static void
test_timeouts(void **state)
{
	for (int most = 0; most < 2; most++) {
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		sent_again(&r, H17, 40);
		case_paused(&r, SW3, 0, LAST, 250000, most ? 25 * MS : 24 * MS); /* of 49.25 ms lost */
		case_flow(&r, SW3, 0, 2, F17, 0, LAST, 250000, 0);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_non_null(case_find(v, FINDING_PFC_STORM, "18:1", NULL));
		assert_int_equal(case_find(v, FINDING_PACKET_LOSS, "17->18/10000>10000", NULL) != NULL, !most);
		verdict_destroy(v);
	}
}

/* At 6 the victim leaves by 6:2, and the packet that traces pauses from there comes to 6:1 a second time: no loop. */
static void
test_trace_is_no_loop(void **state)
{
	struct rec_poll victim = { .hdr.event = 9, .victim = F17, .in_port = 0, .out_port = 1, .flags = 3 };
	struct rec_poll trace = { .hdr.event = 9, .victim = F17, .in_port = 0, .out_port = 0, .flags = 3, .repeated = 1 };
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
	RECORDS_PUT(&r, victim, REC_POLL, SW6, 10 * MS);
	RECORDS_PUT(&r, trace, REC_POLL, SW6, 10 * MS);
	v = case_conclude(&r, REC_END_COMPLETE);
	assert_int_equal(v->nfindings, 0);
	verdict_destroy(v);
}

/* Packets of 17->18 go back and forth between 2 and 6, whose buffers fill; 15->16 stands still behind them. */
static void
test_loop_explains_deadlock(void **state)
{
	struct rec_poll there = { .hdr.event = 9, .victim = F17, .in_port = 1, .out_port = 2, .flags = 1, .ttl = 62 };
	struct rec_poll again = there;
	struct rec_step open17 = { .step = 1, WAITED_NONE, .open = 1, .bytes = 360000000 };
	struct rec_step open15 = { .rank = 1, .step = 1, WAITED_NONE, .open = 1, .bytes = 360000000 };
	const struct finding *loop;
	struct records r;
	struct verdict *v;

	again.in_port = 2;
	again.repeated = 1;
	again.ttl = 60;
	case_fabric(&r);
	open17.start_ps = 100 * PS_PER_US; /* 15->16 was first, and so is on the critical path */
	RECORDS_PUT(&r, open17, REC_STEP, H17, 80 * MS);
	RECORDS_PUT(&r, open15, REC_STEP, H15, 80 * MS);
	case_paused(&r, SW2, 2, LAST, 100, 70 * MS);
	case_paused(&r, SW6, 0, LAST, 100, 70 * MS);
	case_flow(&r, SW2, 2, 1, F17, 0, LAST, 100, 3000);
	case_flow(&r, SW6, 0, 2, F15, 0, LAST, 100, 3000);
	records_put_meter(&r, SW6, records_meter_row(0, 0, 0, LAST, 1000));
	records_put_meter(&r, SW2, records_meter_row(2, 2, 0, LAST, 1000));
	RECORDS_PUT(&r, there, REC_POLL, SW2, 10 * MS);
	RECORDS_PUT(&r, again, REC_POLL, SW2, 11 * MS);
	v = case_conclude(&r, REC_END_STALL);
	assert_int_equal(v->nfindings, 2);
	loop = &v->findings[0];
	assert_ptr_equal(loop->type, FINDING_FORWARDING_LOOP);
	assert_ptr_equal(v->findings[1].type, FINDING_PFC_DEADLOCK);
	assert_int_equal(loop->nvictims, 2);
	/* the loop has the time of both */
	assert_true(loop->critical_ps >= (double)(80 * MS - open17.start_ps) && v->findings[1].critical_ps == 0);
	verdict_destroy(v);
}

/* Polling packets of 17->18 seen at 2, then at 6, 3 and 18 or not. */
static void
poll(struct records *r, uint32_t event, uint64_t at_ps, bool arrives)
{
	struct rec_poll first = { .hdr.event = event, .victim = F17, .in_port = 1, .out_port = 2, .flags = 1 };
	struct rec_poll next = { .hdr.event = event, .victim = F17, .in_port = 0, .out_port = 1, .flags = 1 };
	struct rec_poll last = { .hdr.event = event, .victim = F17, .in_port = 2, .out_port = 0, .flags = 1 };
	struct rec_poll at_host = { .hdr.event = event, .victim = F17, .out_port = REC_NO_PORT, .flags = 1 };

	RECORDS_PUT(r, first, REC_POLL, SW2, at_ps);
	if (!arrives)
		return;
	RECORDS_PUT(r, next, REC_POLL, SW6, at_ps + PS_PER_US);
	RECORDS_PUT(r, last, REC_POLL, SW3, at_ps + 2 * PS_PER_US);
	RECORDS_PUT(r, at_host, REC_POLL, H18, at_ps + 3 * PS_PER_US);
}

/* A hole that comes and goes swallows polls in a row; one lost alone may be lost as any packet. */
static void
test_passing_blackhole(void **state)
{
	for (int row = 1; row <= 2; row++) {
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		sent_again(&r, H17, 40);
		poll(&r, 1, 10 * MS, true);
		poll(&r, 2, 20 * MS, false);
		poll(&r, 3, 30 * MS, row == 1);
		poll(&r, 4, 40 * MS, true);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(v->nfindings, 1);
		assert_ptr_equal(v->findings[0].type, row == 2 ? FINDING_BLACKHOLE : FINDING_PACKET_LOSS);
		verdict_destroy(v);
	}
}

/* 15->16 loses nothing on its way, but its ACKs pass the switch that swallows 17->18. */
static void
test_hole_on_the_path_back(void **state)
{
	for (int back = 0; back < 2; back++) {
		struct rec_route ack = { .flow = F15, .hop = 0, .port = 2, .reverse = 1 };
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		if (back)
			RECORDS_PUT(&r, ack, REC_ROUTE, SW6, 0);
		sent_again(&r, H17, 40);
		sent_again(&r, H15, 40);
		poll(&r, 2, 20 * MS, false);
		poll(&r, 3, 30 * MS, false);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_non_null(case_find(v, FINDING_BLACKHOLE, "6:1", NULL));
		assert_int_equal(v->nfindings, back ? 1 : 2);
		assert_int_equal(case_find(v, FINDING_BLACKHOLE, "6:1", NULL)->nvictims, back ? 2 : 1);
		assert_int_equal(case_find(v, FINDING_BLACKHOLE, "6:1", NULL)->nports, 2); /* and where they left */
		verdict_destroy(v);
	}
}

/* The end of retries reports packets sent again, though an open step's report does not. */
static void
test_retries_spent(void **state)
{
	struct rec_step open = { .step = 1, WAITED_NONE, .open = 1, .bytes = 360000000 };
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	RECORDS_PUT(&r, open, REC_STEP, H17, 80 * MS);
	records_end(&r, REC_END_QP_ERROR, 80 * MS);
	((struct rec_end *)(r.data + r.used_bytes - sizeof(struct rec_end)))->at_node = H17;
	v = case_diagnose(&r);
	assert_int_equal(v->nfindings, 1);
	assert_non_null(strstr(case_evidence(v, case_find(v, FINDING_PACKET_LOSS, "17->18/10000>10000", NULL)), "spent"));
	/* nothing was acknowledged: all of the time is lost */
	assert_true(v->findings[0].explained_ps == (double)(80 * MS));
	verdict_destroy(v);
	records_fini(&r);
}

/* All retries are spent before an ACK can arrive: the timer is too short, whatever the network did. */
static void
test_retries_spent_within_a_round_trip(void **state)
{
	for (int late = 0; late < 2; late++) {
		struct rec_step open = { .step = 1,
					 WAITED_NONE,
					 .open = 1,
					 .bytes = 360000000,
					 .retransmits = 8,
					 .waited_ns = 1000,
					 .wire_ps = 1 * PS_PER_US,
					 .timeout_ps = 7 * PS_PER_US };
		uint64_t end_ps = (late ? 800 : 8) * PS_PER_US;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		RECORDS_PUT(&r, open, REC_STEP, H17, end_ps);
		records_end(&r, REC_END_QP_ERROR, end_ps);
		((struct rec_end *)(r.data + r.used_bytes - sizeof(struct rec_end)))->at_node = H17;
		v = case_diagnose(&r);
		assert_int_equal(v->nfindings, late ? 0 : 1); /* after that an ACK had time to arrive, or was lost */
		if (!late) {
			assert_ptr_equal(v->findings[0].type, FINDING_TIMER_TOO_SHORT);
			assert_string_equal(v->findings[0].root, "17");
			assert_non_null(
				strstr(case_evidence(v, &v->findings[0]), "all its retries were spent before an ACK"));
			assert_true(v->findings[0].explained_ps == (double)(8 * PS_PER_US));
		}
		verdict_destroy(v);
		records_fini(&r);
	}
}

UNIT_TEST(cause_merge)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_hidden_behind_own),
		cmocka_unit_test(test_hidden_behind_more),
		cmocka_unit_test(test_queue_gone),
		cmocka_unit_test(test_negligible_culprit),
		cmocka_unit_test(test_own_flows),
		cmocka_unit_test(test_incast_takes_pauses),
		cmocka_unit_test(test_incast_leaves_pauses),
		cmocka_unit_test(test_incast_needs_two),
		cmocka_unit_test(test_timeouts),
		cmocka_unit_test(test_trace_is_no_loop),
		cmocka_unit_test(test_loop_explains_deadlock),
		cmocka_unit_test(test_passing_blackhole),
		cmocka_unit_test(test_hole_on_the_path_back),
		cmocka_unit_test(test_retries_spent),
		cmocka_unit_test(test_retries_spent_within_a_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
