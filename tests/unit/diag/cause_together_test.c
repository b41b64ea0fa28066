/* SPDX-License-Identifier: BSD-3-Clause */
/* One epoch has rows of two flows: were they at the port at once? Reports within the epoch show it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/wire/drop.h"
#include "common/wire/record.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

#define LAST 79 /* epoch */
#define DEPTH 60
#define BF3 records_tuple(H16, H19, 79)

/* What one report says of a flow at 6:2. */
static void
put_flow(struct records *r, uint64_t time_ps, uint32_t first, uint32_t last, struct rec_tuple flow, uint64_t packets,
	 uint32_t queued)
{
	struct rec_flow_row row = records_flow_row(1, flow, first, last, packets, packets * DEPTH);

	row.queue_packets = queued;
	RECORDS_PUT(r, row, REC_FLOW_ROW, SW6, time_ps);
}

static void
put_port(struct records *r, uint64_t time_ps, uint32_t first, uint32_t last, uint64_t to_ps, uint64_t packets)
{
	struct rec_port_row row = records_port_row(1, first, last, packets, packets * DEPTH, 2 * DEPTH);

	row.to_ps = to_ps;
	row.queue_packets = time_ps == to_ps ? DEPTH : 0;
	RECORDS_PUT(r, row, REC_PORT_ROW, SW6, time_ps);
}

/* @return is this flow named at 6:2, beside 13->19 which met 17->18 all the time? */
static bool
names(struct records *r, const char *flow)
{
	struct verdict *v;
	bool found;

	records_end(r, REC_END_COMPLETE, 80 * MS);
	v = case_diagnose(r);
	records_fini(r);
	assert_non_null(case_find(v, FINDING_FLOW_CONTENTION, "6:2", "13->19/78>78"));
	found = case_find(v, FINDING_FLOW_CONTENTION, "6:2", flow) != NULL;
	assert_int_equal(v->nfindings, 1 + found);
	verdict_destroy(v);
	return found;
}

/*
 * 17->18 begins at start_ps, in an epoch in which 16->19 sent 4000 packets: at 3.4 ms it had so many in the queue, and
 * later it sent more.
 */
static bool
names_early(uint64_t start_ps, uint32_t queued, uint32_t more)
{
	struct records r;

	case_fabric(&r);
	records_step(&r, 1, H17, REC_NONE, start_ps, 80 * MS);
	put_port(&r, 34 * MS / 10, 3, 3, 34 * MS / 10, 5000);
	put_flow(&r, 34 * MS / 10, 3, 3, F17, 500, 20);
	put_flow(&r, 34 * MS / 10, 3, 3, BF2, 500, 20);
	put_flow(&r, 34 * MS / 10, 3, 3, BF3, 4000, queued);
	put_port(&r, 5 * MS, 3, 3, 4 * MS, 9000 + more);
	put_flow(&r, 5 * MS, 3, 3, F17, 2500, 0);
	put_flow(&r, 5 * MS, 3, 3, BF2, 2500, 0);
	put_flow(&r, 5 * MS, 3, 3, BF3, 4000 + more, 0);
	put_port(&r, 80 * MS, 4, LAST, 80 * MS, 80000);
	put_flow(&r, 80 * MS, 4, LAST, F17, 40000, 0);
	put_flow(&r, 80 * MS, 4, LAST, BF2, 40000, 0);
	return names(&r, "16->19/79>79");
}

static void
test_gone_before(void **state)
{
	assert_false(names_early(33 * MS / 10, 0, 0));
	assert_true(names_early(33 * MS / 10, 20, 0));
	assert_true(names_early(33 * MS / 10, 0, 10));
	/* as likely within the step as before it */
	assert_true(names_early(32 * MS / 10, 0, 0));
}

/* A step that is shorter than half an epoch is looked at by the epoch that it lies in. */
static void
test_short_step(void **state)
{
	struct records r;

	case_fabric(&r);
	records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
	put_port(&r, 400 * MS, 0, 399, 400 * MS, 90000);
	put_flow(&r, 400 * MS, 0, 399, F17, 30000, 0);
	put_flow(&r, 400 * MS, 0, 399, BF2, 30000, 0);
	put_flow(&r, 400 * MS, 0, 399, BF3, 30000, 0);
	assert_true(names(&r, "16->19/79>79"));
}

/* 17->18 is paused at 2:3 from since_ps on, and 16->19 comes and goes meanwhile. */
static bool
names_meanwhile(bool paused, uint64_t since_ps)
{
	struct rec_port_row paused_row = records_port_row(2, 20, 20, 0, 0, 0);
	struct records r;

	case_fabric(&r);
	records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
	paused_row.paused = paused;
	paused_row.paused_since_ps = since_ps;
	paused_row.queue_packets = 100;
	RECORDS_PUT(&r, paused_row, REC_PORT_ROW, SW2, 205 * MS / 10);
	put_port(&r, 10 * MS, 0, 9, 10 * MS, 40000);
	put_flow(&r, 10 * MS, 0, 9, F17, 20000, 0);
	put_flow(&r, 10 * MS, 0, 9, BF2, 20000, 0);
	put_port(&r, 205 * MS / 10, 10, 19, 20 * MS, 84000);
	put_flow(&r, 205 * MS / 10, 10, 19, F17, 4000, 0);
	put_flow(&r, 205 * MS / 10, 10, 19, BF2, 40000, 0);
	put_flow(&r, 205 * MS / 10, 10, 19, BF3, 40000, 0);
	return names(&r, "16->19/79>79");
}

static void
test_held_up(void **state)
{
	assert_false(names_meanwhile(true, 11 * MS));
	assert_true(names_meanwhile(true, 16 * MS));
	assert_true(names_meanwhile(false, 0));
}

/*
 * 6:2 reported a tenth of the step's time and of a hundredth of its packets, with 1000 frames of 13->19 ahead of them. Of a
 * step without loss the others met the same; of one that a cut link took packets from, they need not have come by.
 */
static void
test_reported_part_of_a_step_with_loss(void **state)
{
	for (int cut = 0; cut < 2; cut++) {
		struct rec_step step = { .step = 1,
					 WAITED_NONE,
					 .retransmits = cut ? 50 : 0,
					 .bytes = 360000000,
					 .acked_bytes = 360000000,
					 .end_ps = 80 * MS };
		struct rec_drop_row drop = { .last = F17,
					     .port = 2,
					     .reason = REC_DROP_LINK_DOWN,
					     .packets = 50,
					     .first_ps = 10 * MS,
					     .last_ps = 30 * MS };
		const struct finding *queue;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		RECORDS_PUT(&r, step, REC_STEP, H17, 80 * MS);
		case_contention(&r, SW6, 1, 0, 7, 600, F17, 2769, BF2, 1000);
		if (cut)
			RECORDS_PUT(&r, drop, REC_DROP_ROW, SW2, 30 * MS);
		v = case_conclude(&r, REC_END_COMPLETE);
		queue = case_find(v, FINDING_FLOW_CONTENTION, "6:2", "13->19/78>78");
		assert_non_null(queue);
		/* 1000 frames of 1348 B at 100 Gbps, ten times, or 276924 / 2769 times */
		assert_float_equal((float)(queue->explained_ps / 1e9), 0.10784f * (cut ? 10 : 100.0087f), 1e-3f);
		assert_int_equal(case_find(v, FINDING_LINK_DOWN, "2:3", NULL) != NULL, cut);
		verdict_destroy(v);
	}
}

UNIT_TEST(cause_together)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gone_before),
		cmocka_unit_test(test_short_step),
		cmocka_unit_test(test_held_up),
		cmocka_unit_test(test_reported_part_of_a_step_with_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
