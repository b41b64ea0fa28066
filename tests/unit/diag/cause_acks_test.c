/* SPDX-License-Identifier: BSD-3-Clause */
/* ACKs that a switch discarded: no link on their path lost a frame, by what polling packets counted there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/record.h"
#include "diag/vedrfolnir/section.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

/* A port of a path, and where a polling packet was. */
struct hop {
	uint32_t node;
	uint16_t port;
};

struct visit {
	uint32_t node;
	struct rec_passage passage;
};

/*
 * A flow sent packets again that had all arrived: ACKs were lost.
 * @param back    [nback] their path
 * @param visits  [nvisits] of a polling packet, to the destination and back
 */
static struct verdict *
lose_acks(struct records *r, struct rec_tuple flow, uint32_t source, const struct hop *back, uint32_t nback,
	  const struct visit *visits, uint32_t nvisits)
{
	struct rec_step step = {
		.step = 1,
		WAITED_NONE,
		.end_ps = 80 * MS,
		.retransmits = 40,
		.waited_ns = 4000000,
		.rtt_samples = 5,
		.rtt_min_ps = 11 * PS_PER_US,
		.rtt_mean_ps = 11 * PS_PER_US,
		.late_ps = 9 * MS,
		.early_ps = 11 * PS_PER_US,
	};

	for (uint32_t h = 0; h < nback; h++) {
		struct rec_route rec = { .flow = flow, .hop = (uint16_t)h, .port = back[h].port, .reverse = 1 };

		RECORDS_PUT(r, rec, REC_ROUTE, back[h].node, 0);
	}
	RECORDS_PUT(r, step, REC_STEP, source, 80 * MS);
	for (uint32_t i = 0; i < nvisits; i++) {
		struct rec_passage rec = visits[i].passage;

		rec.hdr.event = 1;
		rec.flow = flow;
		RECORDS_PUT(r, rec, REC_PASSAGE, visits[i].node, 80 * MS + i * PS_PER_US);
	}
	return case_conclude(r, REC_END_COMPLETE);
}

/*
 * 18->19, with one switch between them.
 * @param lost      frames, on the link of the last one's ACKs to the switch
 * @param readings  of the links of the ACKs
 */
static struct verdict *
behind_one_switch(uint64_t lost, uint32_t readings)
{
	enum { SW, A, B };
	static const uint32_t forth[][2] = { { A, 0 }, { SW, 1 } };
	static const struct hop back[] = { { B, 0 }, { SW, 0 } };
	const struct visit visits[] = {
		{ A, { .in_port = REC_NO_PORT, .out_port = 0, .flow_packets = 540, .resent = 40 } },
		{ SW, { .in_port = 0, .out_port = 1, .in_frames = 900, .sent_frames = 900, .flow_packets = 540 } },
		{ B, { .in_port = 0, .out_port = REC_NO_PORT, .in_frames = 900, .sent_frames = 900, .duplicates = 40 } },
		{ SW, { .in_port = 1, .out_port = 0, .in_frames = 9, .sent_frames = 9 + lost } },
		{ A, { .in_port = 0, .out_port = REC_NO_PORT, .in_frames = 8, .sent_frames = 8 } },
	};
	const struct rec_tuple flow = records_tuple(A, B, 10000);
	struct records r;

	records_init(&r);
	records_run(&r);
	records_node(&r, SW, "3", false, 2);
	records_node(&r, A, "18", true, 1);
	records_node(&r, B, "19", true, 1);
	records_link(&r, SW, 0, false, A, 0, true);
	records_link(&r, SW, 1, false, B, 0, true);
	records_collective(&r, 2, 1);
	records_schedule(&r, 0, 1, A, B, REC_NONE, EXPECT);
	records_schedule(&r, 1, 1, B, A, REC_NONE, EXPECT);
	records_route(&r, flow, forth, 2);
	return lose_acks(&r, flow, A, back, ARRAY_LEN(back), visits, 3 + readings);
}

/* 17->18, whose ACKs return by 3, 6 and 2. @param lost  frames, of those from 6 to 2  @param readings  likewise */
static struct verdict *
behind_three_switches(uint64_t lost, uint32_t readings)
{
	static const struct hop back[] = { { H18, 0 }, { SW3, 2 }, { SW6, 0 }, { SW2, 1 } };
	const struct visit visits[] = {
		{ H17, { .in_port = REC_NO_PORT, .out_port = 0, .flow_packets = 540, .resent = 40 } },
		{ SW2, { .in_port = 1, .out_port = 2, .in_frames = 900, .sent_frames = 900, .flow_packets = 540 } },
		{ SW6, { .in_port = 0, .out_port = 1, .in_frames = 900, .sent_frames = 900, .flow_packets = 540 } },
		{ SW3, { .in_port = 2, .out_port = 0, .in_frames = 900, .sent_frames = 900, .flow_packets = 540 } },
		{ H18, { .in_port = 0, .out_port = REC_NO_PORT, .in_frames = 900, .sent_frames = 900, .duplicates = 40 } },
		{ SW3, { .in_port = 0, .out_port = 2, .in_frames = 9, .sent_frames = 9 } },
		{ SW6, { .in_port = 1, .out_port = 0, .in_frames = 9, .sent_frames = 9 } },
		{ SW2, { .in_port = 2, .out_port = 1, .in_frames = 9, .sent_frames = 9 + lost } },
		{ H17, { .in_port = 0, .out_port = REC_NO_PORT, .in_frames = 8, .sent_frames = 8 } },
	};
	struct records r;

	case_fabric(&r);
	return lose_acks(&r, F17, H17, back, ARRAY_LEN(back), visits, 5 + readings);
}

/*
 * The only switch on their path discarded them, or one of three, if the links there lost none. Else that link did, or
 * nothing is known of all.
 */
static void
test_a_switch_discards_acks(void **state)
{
	static const struct {
		struct verdict *(*lose)(uint64_t lost, uint32_t readings);
		uint64_t lost;
		uint32_t readings;
		const struct finding_type *type;
		const char *root, *evidence;
	} cases[] = {
		{ behind_one_switch, 0, 2, FINDING_BLACKHOLE, "3:2", "3 is the only switch there" },
		{ behind_one_switch, 0, 1, FINDING_PACKET_LOSS, "18->19/10000>10000", "" },
		{ behind_one_switch, 1, 2, FINDING_PACKET_LOSS, "19:1", "" },
		{ behind_three_switches, 0, 4, FINDING_BLACKHOLE, "17->18/10000>10000",
		  "one of 3 switches there discarded them" },
		{ behind_three_switches, 0, 3, FINDING_PACKET_LOSS, "17->18/10000>10000", "" },
		{ behind_three_switches, 1, 4, FINDING_PACKET_LOSS, "6:1", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct verdict *v = cases[i].lose(cases[i].lost, cases[i].readings);
		const struct finding *found = case_find(v, cases[i].type, cases[i].root, NULL);

		assert_int_equal(v->nfindings, 1);
		assert_non_null(found);
		assert_non_null(strstr(case_evidence(v, found), cases[i].evidence));
		verdict_destroy(v);
	}
}

UNIT_TEST(cause_acks)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_switch_discards_acks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
