/* SPDX-License-Identifier: BSD-3-Clause */
/* Signatures that rest on which ways a flow could have taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/drop.h"
#include "common/wire/record.h"
#include "diag/vedrfolnir/section.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

/* Leaves L with hosts a, b and R with c, d, spines S and T above: ports 2 and 3 of a leaf lead to them. */
enum { L, R, S, T, A, B, C, D };
#define AC records_tuple(A, C, 10000)
#define BD records_tuple(B, D, 10000)
#define LAST 79 /* epoch */
#define HASHED 1

static void
put_route(struct records *r, struct rec_tuple flow, uint16_t hop, uint32_t node, uint16_t port, uint16_t ecmp)
{
	struct rec_route rec = { .flow = flow, .hop = hop, .port = port, .ecmp = ecmp };

	RECORDS_PUT(r, rec, REC_ROUTE, node, 0);
}

/* The link from a leaf to T, so much longer than others. */
static void
put_link_to_t(struct records *r, uint32_t leaf, uint64_t longer_ps)
{
	struct rec_port one = { .port = 3,
				.peer_port = (uint16_t)leaf,
				.peer = T,
				.rate_bps = RECORDS_RATE_BPS,
				.delay_ps = 2 * PS_PER_US + longer_ps };
	struct rec_port two = one;

	two.port = one.peer_port;
	two.peer_port = one.port;
	two.peer = L + leaf;
	RECORDS_PUT(r, one, REC_PORT, L + leaf, 0);
	RECORDS_PUT(r, two, REC_PORT, T, 0);
}

/*
 * The collective's flows a->c and b->d, both by L:3 and S. a->c takes 80 ms instead of 30.75 ms.
 * @param longer_ps  of the links to T
 */
static void
leaves_of(struct records *r, uint16_t ecmp_of_ac, uint16_t ecmp_of_bd, bool sprayed, uint64_t longer_ps)
{
	static const char *const names[] = { "L", "R", "S", "T", "a", "b", "c", "d" };
	struct rec_ecmp set = { .set = HASHED, .sprayed = sprayed, .ports = { 1 << 2 } }, more = set; /* in two records */

	more.first = 3;
	more.ports[0] = 1;

	records_init(r);
	records_run(r);
	for (uint32_t n = L; n <= D; n++)
		records_node(r, n, names[n - L], n >= A, n >= A ? 1 : n >= S ? 2 : 4);
	for (uint32_t leaf = 0; leaf < 2; leaf++) {
		records_link(r, L + leaf, 0, false, A + 2 * leaf, 0, true);
		records_link(r, L + leaf, 1, false, B + 2 * leaf, 0, true);
		records_link(r, L + leaf, 2, false, S, (uint16_t)leaf, false);
		put_link_to_t(r, leaf, longer_ps);
	}
	records_collective(r, 2, 1);
	records_schedule(r, 0, 1, A, C, REC_NONE, EXPECT);
	records_schedule(r, 1, 1, B, D, REC_NONE, EXPECT);
	RECORDS_PUT(r, set, REC_ECMP, L, 0);
	RECORDS_PUT(r, more, REC_ECMP, L, 0);
	for (uint32_t f = 0; f < 2; f++) {
		struct rec_tuple flow = f == 0 ? AC : BD;

		put_route(r, flow, 0, A + f, 0, REC_NO_ECMP);
		put_route(r, flow, 1, L, 2, f == 0 ? ecmp_of_ac : ecmp_of_bd);
		put_route(r, flow, 2, S, 1, REC_NO_ECMP);
		put_route(r, flow, 3, R, (uint16_t)f, REC_NO_ECMP);
	}
	records_step(r, 1, A, REC_NONE, 0, 80 * MS);
	records_step(r, 1, B, REC_NONE, 0, 80 * MS);
}

static void
leaves_sprayed(struct records *r, uint16_t ecmp_of_ac, uint16_t ecmp_of_bd, bool sprayed)
{
	leaves_of(r, ecmp_of_ac, ecmp_of_bd, sprayed, 0);
}

static void
leaves(struct records *r, uint16_t ecmp_of_ac, uint16_t ecmp_of_bd)
{
	leaves_sprayed(r, ecmp_of_ac, ecmp_of_bd, false);
}

/* What L:4, of equal cost, says when it is asked in the middle of epoch 40: of that epoch alone. */
static void
put_idle(struct records *r)
{
	struct rec_port_row row = records_port_row(3, 40, 40, 0, 0, 0);

	row.to_ps = 40 * MS + MS / 2;
	row.ingress_xoff_bytes = 90000;
	RECORDS_PUT(r, row, REC_PORT_ROW, L, row.to_ps);
}

/* Both flows in the queue of L:3; a paused NIC of a's as its consequence. */
static void
put_collision(struct records *r)
{
	records_put_port(r, L, records_port_row(2, 0, LAST, 600000, 36000000, 120));
	case_flow(r, L, 2, 0, AC, 0, LAST, 300000, 18000000);
	case_flow(r, L, 2, 1, BD, 0, LAST, 300000, 18000000);
	case_paused(r, A, 0, LAST, 300000, 40 * MS);
	case_flow(r, A, 0, REC_NO_PORT, AC, 0, LAST, 300000, 0);
	records_put_meter(r, L, records_meter_row(0, 2, 0, LAST, 300000 * 1348));
}

static void
test_imbalance(void **state)
{
	const struct finding *finding;
	struct records r;
	struct verdict *v;

	leaves(&r, HASHED, HASHED);
	put_collision(&r);
	put_idle(&r);
	v = case_conclude(&r, REC_END_COMPLETE);
	finding = case_find(v, FINDING_LOAD_IMBALANCE, "L:3", NULL);
	if (finding == NULL)
		fail_msg("%s", case_reason(v));
	assert_int_equal(v->nfindings, 1);
	assert_int_equal(finding->nvictims, 2);
	assert_int_equal(finding->nflows, 2);
	assert_true(case_has_port(v, finding, "L:4"));
	assert_non_null(strstr(case_evidence(v, finding), "L:4, of equal cost, was idle"));
	verdict_destroy(v);
}

/* Where every packet has a port of its own no hash is to blame for a queue, whatever else stands idle. */
static void
test_no_imbalance_where_packets_are_sprayed(void **state)
{
	struct records r;
	struct verdict *v;

	leaves_sprayed(&r, HASHED, HASHED, true);
	put_collision(&r);
	put_idle(&r);
	v = case_conclude(&r, REC_END_COMPLETE);
	assert_null(case_find(v, FINDING_LOAD_IMBALANCE, "L:3", NULL));
	verdict_destroy(v);
}

/* A cable that the configured path does not have: half of the packets of a sprayed flow cross it. */
static void
test_link_rate_on_one_of_many_paths(void **state)
{
	static const struct {
		uint64_t rate_gbps;
		uint32_t node, waited_ns;
		uint16_t port;
		bool sprayed, found;
	} cases[] = {
		{ 25, L, 0, 3, true, true },   /* from the first leaf */
		{ 25, T, 0, 1, true, true },   /* to the last */
		{ 25, L, 0, 3, false, false }, /* a hash chose the other */
		{ 50, L, 0, 3, true, false },  /* half of the packets at half the rate */
		{ 50, L, 1000, 3, true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_link_rate low = { .port = cases[i].port, .rate_bps = cases[i].rate_gbps * 1000000000 };
		struct rec_step again = {
			.step = 1, WAITED_NONE, .end_ps = 80 * MS, .retransmits = 1, .waited_ns = cases[i].waited_ns
		};
		struct records r;
		struct verdict *v;

		leaves_sprayed(&r, HASHED, HASHED, cases[i].sprayed);
		RECORDS_PUT(&r, low, REC_LINK_RATE, cases[i].node, 0);
		if (cases[i].waited_ns != 0)
			RECORDS_PUT(&r, again, REC_STEP, A, 80 * MS);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(case_find(v, FINDING_LINK_RATE, cases[i].node == L ? "L:4" : "T:2", NULL) != NULL,
				 cases[i].found);
		verdict_destroy(v);
	}
}

/*
 * Three tiers: edges L and R with a and c, above them P, Q and U, V, and above those M and N. X with d is below P and Q as
 * well, and W with b below N. a->c is sprayed over P and Q at L, and over M and N above: four paths.
 */
enum { CL, CR, CP, CQ, CU, CV, CM, CN, CW, CX, CA, CC, CB, CD, CNODES };

static void
put_clos(struct records *r)
{
	static const char *const names[] = { "L", "R", "P", "Q", "U", "V", "M", "N", "W", "X", "a", "c", "b", "d" };
	static const uint16_t ports[CNODES] = { 3, 3, 4, 4, 3, 3, 4, 5, 2, 3, 1, 1, 1, 1 };
	struct rec_ecmp up = { .set = HASHED, .sprayed = 1, .ports = { 6 } }, above = up; /* a switch's ports 2 and 3 */
	struct rec_tuple flow = records_tuple(CA, CC, 10000);

	records_init(r);
	records_run(r);
	for (uint32_t n = 0; n < CNODES; n++)
		records_node(r, n, names[n], n >= CA, ports[n]);
	records_link(r, CL, 0, false, CA, 0, true);
	records_link(r, CR, 0, false, CC, 0, true);
	for (uint16_t k = 0; k < 2; k++) {
		records_link(r, CL, 1 + k, false, CP + k, 0, false);
		records_link(r, CR, 1 + k, false, CU + k, 0, false);
		records_link(r, CP + k, 1, false, CM, k, false);
		records_link(r, CP + k, 2, false, CN, k, false);
		records_link(r, CU + k, 1, false, CM, 2 + k, false);
		records_link(r, CU + k, 2, false, CN, 2 + k, false);
	}
	records_link(r, CN, 4, false, CW, 0, false);
	records_link(r, CW, 1, false, CB, 0, true);
	records_link(r, CX, 0, false, CP, 3, false);
	records_link(r, CX, 1, false, CQ, 3, false);
	records_link(r, CX, 2, false, CD, 0, true);
	records_collective(r, 2, 1);
	records_schedule(r, 0, 1, CA, CC, REC_NONE, EXPECT);
	records_schedule(r, 1, 1, CC, CA, REC_NONE, EXPECT);
	above.set++;
	RECORDS_PUT(r, up, REC_ECMP, CL, 0);
	RECORDS_PUT(r, above, REC_ECMP, CP, 0);
	put_route(r, flow, 0, CA, 0, REC_NO_ECMP);
	put_route(r, flow, 1, CL, 1, HASHED);
	put_route(r, flow, 2, CP, 1, HASHED + 1);
	put_route(r, flow, 3, CM, 2, REC_NO_ECMP);
	put_route(r, flow, 4, CU, 0, REC_NO_ECMP);
	put_route(r, flow, 5, CR, 0, REC_NO_ECMP);
	records_step(r, 1, CA, REC_NONE, 0, 80 * MS);
}

/* Half of the packets cross a cable next to an edge of the flow, a quarter one in the middle, and none one elsewhere. */
static void
test_link_rate_between_three_tiers(void **state)
{
	static const struct {
		uint32_t node;
		uint16_t port;
		uint64_t rate_gbps;
		uint32_t other; /* the cable's other end reports it, too */
		uint16_t other_port;
		const char *root; /* NULL: the step does not cross it, or not with enough of its data */
	} cases[] = {
		{ CL, 2, 40, CNODES, 0, "L:3" }, { CL, 2, 50, CNODES, 0, NULL }, /* half of it at half the rate */
		{ CQ, 2, 20, CNODES, 0, "Q:3" }, { CQ, 2, 25, CNODES, 0, NULL }, /* a quarter, at a quarter */
		{ CN, 1, 20, CNODES, 0, "N:2" },                                 /* the same by the other end */
		{ CN, 1, 20, CQ, 2, "Q:3" },     { CN, 3, 20, CNODES, 0, "N:4" }, { CV, 0, 40, CNODES, 0, "V:1" },
		{ CR, 0, 40, CNODES, 0, "R:1" }, /* to the host: all of it */
		{ CN, 4, 10, CNODES, 0, NULL },  { CW, 0, 10, CNODES, 0, NULL },  { CX, 0, 10, CNODES, 0, NULL },
		{ CP, 3, 10, CNODES, 0, NULL },  { CB, 0, 10, CNODES, 0, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_link_rate low = { .port = cases[i].port, .rate_bps = cases[i].rate_gbps * 1000000000 };
		const struct finding *found = NULL;
		struct records r;
		struct verdict *v;

		put_clos(&r);
		RECORDS_PUT(&r, low, REC_LINK_RATE, cases[i].node, 0);
		low.port = cases[i].other_port;
		if (cases[i].other < CNODES)
			RECORDS_PUT(&r, low, REC_LINK_RATE, cases[i].other, 0);
		v = case_conclude(&r, REC_END_COMPLETE);
		for (uint32_t f = 0; f < v->nfindings; f++) {
			if (v->findings[f].type != FINDING_LINK_RATE)
				continue;
			assert_null(found);
			found = &v->findings[f];
		}
		if ((found != NULL) != (cases[i].root != NULL))
			fail_msg("case %zu: %s", i, case_reason(v));
		if (found != NULL)
			assert_string_equal(found->root, cases[i].root);
		verdict_destroy(v);
	}
}

/* a->c sent 40 packets again. What of them the receiver, who takes any order, had not had before stands for lost ones. */
static void
test_sprayed_packets_are_lost_somewhere(void **state)
{
	static const struct {
		uint32_t resent, duplicates, out_of_sequence, lost;
	} rounds[] = { { 40, 0, 0, 40 }, { 40, 15, 0, 25 }, { 40, 40, 0, 0 }, { 30, 0, 0, 30 }, { 40, 0, 90, 0 } };

	for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
		struct rec_step step = { .step = 1, WAITED_NONE, .end_ps = 80 * MS, .retransmits = 40 };
		struct rec_passage from = { .flow = AC, .in_port = REC_NO_PORT, .resent = rounds[i].resent };
		struct rec_passage to = { .flow = AC,
					  .out_port = REC_NO_PORT,
					  .in_frames = 100,
					  .sent_frames = 100,
					  .duplicates = rounds[i].duplicates,
					  .out_of_sequence = rounds[i].out_of_sequence };
		const struct finding *finding;
		struct verdict *v;
		struct records r;
		char reported[64];

		leaves_sprayed(&r, HASHED, HASHED, true);
		RECORDS_PUT(&r, step, REC_STEP, A, 80 * MS);
		RECORDS_PUT(&r, from, REC_PASSAGE, A, 50 * MS);
		RECORDS_PUT(&r, to, REC_PASSAGE, C, 50 * MS + 8 * PS_PER_US);
		v = case_conclude(&r, REC_END_COMPLETE);
		finding = case_find(v, FINDING_PACKET_LOSS, "a->c/10000>10000", NULL);
		assert_int_equal(finding != NULL, rounds[i].lost != 0);
		if (finding != NULL) {
			snprintf(reported, sizeof(reported), "%u of its packets were lost", rounds[i].lost);
			assert_non_null(strstr(case_evidence(v, finding), reported));
			assert_int_equal(finding->root_port, RUN_NONE);
			/* two round trips each, and no more of what the step lost */
			assert_true(finding->explained_ps <= 2.0 * rounds[i].lost * (double)v->run.steps[0].base_rtt_ps);
		}
		verdict_destroy(v);
	}
}

/* A polling packet of a->c is at a port of a node. */
static void
put_passage(struct records *r, uint32_t node, uint16_t in_port, uint16_t out_port, uint64_t packets, uint32_t waiting)
{
	struct rec_passage at = { .hdr.event = 7,
				  .flow = AC,
				  .in_port = in_port,
				  .out_port = out_port,
				  .waiting = waiting,
				  .in_frames = 900,
				  .sent_frames = 900,
				  .flow_packets = packets,
				  .resent = node == A ? 40 : 0 };

	RECORDS_PUT(r, at, REC_PASSAGE, node, 50 * MS + (node == A ? 0 : node == C ? 8 : 4) * PS_PER_US);
}

/* A step of a->c that sent 400 packets, and 40 of them again. */
static void
put_sprayed_step(struct records *r)
{
	struct rec_step step = { .step = 1, WAITED_NONE, .end_ps = 80 * MS, .retransmits = 40, .nak_ps = 30 * MS };

	leaves_sprayed(r, HASHED, HASHED, true);
	RECORDS_PUT(r, step, REC_STEP, A, 80 * MS);
	put_passage(r, A, REC_NO_PORT, 0, 400, 0);
}

/*
 * a->c is sprayed over L:3 and L:4. What L sent to S and S counts at none of its ports is lost in S, but for what may wait
 * at L. R counts the packets of both cables: nothing is missing there.
 */
static void
test_sprayed_packets_are_lost_behind_one_link(void **state)
{
	static const struct {
		uint64_t at_s;   /* of 200 sent there */
		uint64_t turned; /* that S sent on by its other port */
		uint32_t waiting;
		const char *root;
	} rounds[] = { { .at_s = 180, .root = "S:1" },
		       { .at_s = 200, .root = "a->c/10000>10000" },
		       { .at_s = 150, .turned = 50, .root = "a->c/10000>10000" },
		       { .at_s = 150, .turned = 30, .root = "S:1" },
		       { .at_s = 180, .waiting = 20, .root = "a->c/10000>10000" } };

	for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
		const struct finding *finding;
		struct verdict *v;
		struct records r;

		put_sprayed_step(&r);
		put_passage(&r, L, 0, 2, 200, rounds[i].waiting);
		put_passage(&r, L, 0, 3, 200, 0);
		put_passage(&r, S, 0, 1, rounds[i].at_s, 0);
		if (rounds[i].turned != 0)
			put_passage(&r, S, 0, 0, rounds[i].turned, 0);
		put_passage(&r, T, 0, 1, 200, 0);
		put_passage(&r, R, 2, 0, 370, 0);
		put_passage(&r, R, 3, 0, 370, 0);
		put_passage(&r, C, 0, REC_NO_PORT, 0, 0);
		v = case_conclude(&r, REC_END_COMPLETE);
		finding = case_find(v, FINDING_PACKET_LOSS, rounds[i].root, NULL);
		if (finding == NULL || v->nfindings != 1)
			fail_msg("round %zu: %s", i, case_reason(v));
		/* as long as its ledger says, and not all that the step lost */
		assert_float_equal((float)(finding->explained_ps / 1e9), 30.0f, 0.01f);
		verdict_destroy(v);
	}
}

/*
 * Bytes of a->c in an epoch of 1 ms: what a port sent, or what R sent to c.
 * @param less_ps  by how much the epoch was reported before its end
 */
static void
put_sent(struct records *r, uint32_t node, uint16_t port, uint32_t epoch, uint64_t bytes, uint64_t less_ps)
{
	struct rec_port_row row = records_port_row(port, epoch, epoch, bytes / 1000, 0, 4);
	struct rec_flow_row flow = records_flow_row(port, AC, epoch, epoch, bytes / 1000, 0);

	row.to_ps -= less_ps;
	flow.bytes = bytes;
	flow.in_port = port == 0 ? 2 : 0;
	records_put_port(r, node, row);
	records_put_flow(r, node, flow);
}

/*
 * R gets a->c by S and by T. Which of the two cables loses is not in the flow's counts, but in R's meters: more than can be
 * under way at the end of the epochs did not come from S. What was late in one epoch comes in the next. Of an epoch that
 * was open at the last reports, R's is about all that S had sent by its own, unless it is older.
 */
static void
test_sprayed_packets_are_lost_downwards(void **state)
{
	static const struct {
		uint64_t from_s[2]; /* of 1 MB sent in each epoch */
		const char *root;
		uint64_t open_ps, open_at_r_ps; /* before the epochs' end: reports of S and T, and of R */
	} rounds[] = { { { 900000, 900000 }, "R:3", 0, 0 },
		       { { 990000, 990000 }, "a->c/10000>10000", 0, 0 },
		       { { 900000, 1090000 }, "a->c/10000>10000", 0, 0 },
		       { { 900000, 900000 }, "R:3", 10 * PS_PER_US, 8 * PS_PER_US },
		       { { 990000, 990000 }, "a->c/10000>10000", 10 * PS_PER_US, 8 * PS_PER_US },
		       { { 900000, 900000 }, "a->c/10000>10000", 8 * PS_PER_US, 10 * PS_PER_US } };

	for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
		const struct finding *finding;
		struct verdict *v;
		struct records r;

		put_sprayed_step(&r);
		put_passage(&r, L, 0, 2, 200, 0);
		put_passage(&r, L, 0, 3, 200, 0);
		put_passage(&r, S, 0, 1, 200, 0);
		put_passage(&r, T, 0, 1, 200, 0);
		put_passage(&r, R, 2, 0, 360, 0);
		put_passage(&r, R, 3, 0, 360, 0);
		put_passage(&r, C, 0, REC_NO_PORT, 0, 0);
		for (uint32_t epoch = 40; epoch <= 41; epoch++) {
			put_sent(&r, S, 1, epoch, 1000000, rounds[i].open_ps);
			put_sent(&r, T, 1, epoch, 1000000, rounds[i].open_ps);
			put_sent(&r, R, 0, epoch, rounds[i].from_s[epoch - 40] + 1000000, rounds[i].open_at_r_ps);
			records_put_meter(&r, R, records_meter_row(2, 0, epoch, epoch, rounds[i].from_s[epoch - 40]));
			records_put_meter(&r, R, records_meter_row(3, 0, epoch, epoch, 1000000));
		}
		v = case_conclude(&r, REC_END_COMPLETE);
		finding = case_find(v, FINDING_PACKET_LOSS, rounds[i].root, NULL);
		if (finding == NULL || v->nfindings != 1)
			fail_msg("round %zu: %s", i, case_reason(v));
		verdict_destroy(v);
	}
}

/* What arrived twice is counted from the agent's start: a later count that is lower says nothing of the first ones. */
static void
test_counts_go_back(void **state)
{
	struct rec_step step = { .step = 1, WAITED_NONE, .end_ps = 80 * MS, .retransmits = 40 };
	struct rec_passage before = { .flow = AC, .out_port = REC_NO_PORT, .duplicates = 50 };
	struct rec_passage from = { .flow = AC, .in_port = REC_NO_PORT, .resent = 40 };
	struct rec_passage to = { .flow = AC, .out_port = REC_NO_PORT };
	const struct finding *finding;
	struct verdict *v;
	struct records r;

	leaves_sprayed(&r, HASHED, HASHED, true);
	RECORDS_PUT(&r, step, REC_STEP, A, 80 * MS);
	RECORDS_PUT(&r, before, REC_PASSAGE, C, 0);
	RECORDS_PUT(&r, from, REC_PASSAGE, A, 50 * MS);
	RECORDS_PUT(&r, to, REC_PASSAGE, C, 50 * MS + 8 * PS_PER_US);
	v = case_conclude(&r, REC_END_COMPLETE);
	finding = case_find(v, FINDING_PACKET_LOSS, "a->c/10000>10000", NULL);
	if (finding == NULL)
		fail_msg("%s", case_reason(v));
	assert_non_null(strstr(case_evidence(v, finding), "40 of its packets were lost"));
	verdict_destroy(v);
}

/* A polling packet of a->c leaves a, crosses a port of L, and arrives. */
static void
put_arrival(struct records *r, uint32_t event, uint64_t at_ps, uint32_t resent, uint32_t waiting, uint32_t duplicates)
{
	struct rec_passage from = { .hdr.event = event, .flow = AC, .in_port = REC_NO_PORT, .resent = resent };
	struct rec_passage hop = { .hdr.event = event, .flow = AC, .out_port = 2, .waiting = waiting };
	struct rec_passage to = { .hdr.event = event, .flow = AC, .out_port = REC_NO_PORT, .duplicates = duplicates };

	RECORDS_PUT(r, from, REC_PASSAGE, A, at_ps);
	RECORDS_PUT(r, hop, REC_PASSAGE, L, at_ps + PS_PER_US);
	RECORDS_PUT(r, to, REC_PASSAGE, C, at_ps + 4 * PS_PER_US);
}

/*
 * A sprayed packet that was sent again may be under way when the fastest copy of a polling packet arrives: it waits at
 * a port, or a slower copy follows it. What has not arrived twice a round trip later is lost, whatever the sender
 * waited for.
 */
static void
test_sprayed_packets_may_be_in_flight(void **state)
{
	static const struct {
		uint32_t resent, waiting, duplicates;
		bool asked_later;
		uint32_t resent_later, duplicates_later;
		uint32_t lost;
	} cases[] = {
		{ 1, 0, 0, false, 0, 0, 0 }, { 2, 0, 0, false, 0, 0, 1 },  { 9, 8, 0, false, 0, 0, 0 },
		{ 9, 3, 0, false, 0, 0, 5 }, { 1, 0, 0, true, 1, 0, 1 },   { 1, 0, 0, true, 1, 1, 0 },
		{ 9, 3, 2, true, 12, 4, 7 }, { 9, 3, 2, true, 40, 40, 3 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_step step = { .step = 1,
					 WAITED_NONE,
					 .end_ps = 80 * MS,
					 .retransmits = 40,
					 .waited_ns = 1,
					 .rtt_mean_ps = MS,
					 .rtt_samples = 1 };
		const struct finding *finding;
		struct verdict *v;
		struct records r;
		char text[64];

		leaves_sprayed(&r, HASHED, HASHED, true);
		RECORDS_PUT(&r, step, REC_STEP, A, 80 * MS);
		put_arrival(&r, 7, 50 * MS, cases[i].resent, cases[i].waiting, cases[i].duplicates);
		if (cases[i].asked_later)
			put_arrival(&r, 8, 60 * MS, cases[i].resent_later, 0, cases[i].duplicates_later);
		v = case_conclude(&r, REC_END_COMPLETE);
		finding = case_find(v, FINDING_PACKET_LOSS, "a->c/10000>10000", NULL);
		if ((finding != NULL) != (cases[i].lost != 0))
			fail_msg("case %zu: %s", i, case_reason(v));
		snprintf(text, sizeof(text), " %u of its packets were lost", cases[i].lost);
		if (finding != NULL && strstr(case_evidence(v, finding), text) == NULL)
			fail_msg("case %zu: %s", i, case_evidence(v, finding));
		assert_int_equal(vedrfolnir_of(v)->unjudged.resends, finding == NULL);
		verdict_destroy(v);
	}
}

/*
 * Where links are longer a packet may be under way for longer than any copy of a polling packet: the path has four hops, so
 * that a later count shows what was lost once four times the difference has passed.
 */
static void
test_sprayed_packets_may_take_longer_paths(void **state)
{
	static const struct {
		uint64_t longer_ms, later_ms;
		bool lost;
	} cases[] = { { 0, 10, true }, { 3, 11, false }, { 3, 13, true } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_step step = { .step = 1, WAITED_NONE, .end_ps = 80 * MS, .retransmits = 40, .waited_ns = 1 };
		struct records r;
		struct verdict *v;

		leaves_of(&r, HASHED, HASHED, true, cases[i].longer_ms * MS);
		RECORDS_PUT(&r, step, REC_STEP, A, 80 * MS);
		put_arrival(&r, 7, 50 * MS, 20, 0, 0);
		put_arrival(&r, 8, (50 + cases[i].later_ms) * MS, 20, 20, 0);
		v = case_conclude(&r, REC_END_COMPLETE);
		if ((case_find(v, FINDING_PACKET_LOSS, "a->c/10000>10000", NULL) != NULL) != cases[i].lost)
			fail_msg("case %zu: %s", i, case_reason(v));
		verdict_destroy(v);
	}
}

/*
 * A repeated arrival is a loop if the packet was there before with a larger TTL. Where no first arrival was received,
 * nobody knows.
 */
static void
test_copies_of_a_poll_are_no_loop(void **state)
{
	static const struct {
		bool received;
		uint32_t first_ttl;
		bool loop;
	} cases[] = { { true, 61, false }, { true, 63, true }, { false, 0, false } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int sprayed = 0; sprayed < 2; sprayed++) {
			struct rec_poll copy = {
				.hdr.event = 9, .victim = AC, .in_port = 3, .out_port = 0, .flags = 1, .ttl = 61
			};
			struct rec_poll first = copy;
			struct records r;
			struct verdict *v;

			leaves_sprayed(&r, HASHED, HASHED, sprayed != 0);
			first.in_port = 2;
			first.ttl = cases[i].first_ttl;
			copy.repeated = 1;
			if (cases[i].received)
				RECORDS_PUT(&r, first, REC_POLL, R, 10 * MS);
			RECORDS_PUT(&r, copy, REC_POLL, R, 11 * MS);
			v = case_conclude(&r, REC_END_COMPLETE);
			assert_int_equal(case_find(v, FINDING_FORWARDING_LOOP, "R:1", NULL) != NULL, cases[i].loop);
			assert_int_equal(vedrfolnir_of(v)->unjudged.loops, !cases[i].received);
			verdict_destroy(v);
		}
}

/* A link that was cut, with or without packets lost. */
static void
put_cut(struct records *r, uint32_t node, uint16_t port, uint64_t packets)
{
	struct rec_drop_row row = {
		.port = port, .reason = REC_DROP_LINK_DOWN, .packets = packets, .first_ps = 5 * MS, .last_ps = 5 * MS
	};

	RECORDS_PUT(r, row, REC_DROP_ROW, node, 40 * MS);
}

/* Links that are down, of which a queue is the consequence: it gives one of them half of its time. */
static uint32_t
count_cuts(const struct verdict *v)
{
	double links_ps = 0, queues_ps = 0;
	uint32_t count = 0, follow = 0;

	for (uint32_t i = 0; i < v->nfindings; i++) {
		bool cut = v->findings[i].type == FINDING_LINK_DOWN;

		count += cut;
		links_ps += cut ? v->findings[i].explained_ps : 0;
		if (verdict_cause_of(v, i) == RUN_NONE)
			continue;
		queues_ps += v->findings[i].explained_ps;
		follow++;
	}
	assert_float_equal(links_ps, count != 0 ? queues_ps : 0, 1);
	assert_int_equal(count != 0, follow != 0);
	return count;
}

/* The same collision is contention where no other way was idle or free or whole, nobody knows, or no hash chose. */
static void
test_collision_without_imbalance(void **state)
{
	static const struct {
		uint16_t ecmp_of_ac, ecmp_of_bd;
		bool asked;
		uint64_t packets;  /* of the other way */
		bool on_path;      /* a third flow of the collective has it */
		uint32_t cut_node; /* REC_NONE: none; else the other way's link that was cut */
		uint16_t cut_port;
	} cases[] = {
		{ HASHED, HASHED, false, 0, false, REC_NONE, 0 },
		{ HASHED, HASHED, true, 100000, false, REC_NONE, 0 },
		{ HASHED, HASHED, true, 0, true, REC_NONE, 0 },
		{ REC_NO_ECMP, HASHED, true, 0, false, REC_NONE, 0 },
		{ HASHED, REC_NO_ECMP, true, 0, false, REC_NONE, 0 },
		{ HASHED, HASHED, true, 0, false, L, 3 },
		{ HASHED, HASHED, true, 0, false, T, 1 },
		{ HASHED, HASHED, true, 0, false, R, 3 }, /* the same cable's other end */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct records r;
		struct verdict *v;

		leaves(&r, cases[i].ecmp_of_ac, cases[i].ecmp_of_bd);
		put_collision(&r);
		if (cases[i].asked)
			put_idle(&r);
		if (cases[i].on_path)
			put_route(&r, records_tuple(A, D, 10000), 1, L, 3, HASHED);
		if (cases[i].packets != 0)
			records_put_port(&r, L, records_port_row(3, 0, 39, cases[i].packets, 0, 0));
		if (cases[i].cut_node != REC_NONE)
			put_cut(&r, cases[i].cut_node, cases[i].cut_port, 0);
		v = case_conclude(&r, REC_END_COMPLETE);
		/* a switch on the path that reports it has it named, without a cost; the queue is its consequence */
		assert_int_equal(count_cuts(v), cases[i].cut_node == L || cases[i].cut_node == R);
		/* with a pin of one of them, the other's step is reported as imbalance by none */
		assert_null(case_find(v, FINDING_LOAD_IMBALANCE, "L:3", NULL));
		assert_non_null(case_find(v, FINDING_FLOW_CONTENTION, "L:3", NULL));
		verdict_destroy(v);
	}
}

/* A cable of the configured path is down: the end that lost packets is named, or the one that reports; no route is. */
static void
test_one_end_of_a_cut_cable(void **state)
{
	for (uint64_t packets = 0; packets < 2; packets++) {
		struct rec_drop_row lost = {
			.port = 2, .reason = REC_DROP_NO_ROUTE, .packets = 9, .first_ps = 5 * MS, .last_ps = 5 * MS
		};
		struct records r;
		struct verdict *v;

		(void)state;
		leaves(&r, HASHED, HASHED);
		put_cut(&r, R, 2, 0);
		if (packets != 0)
			put_cut(&r, S, 1, packets);
		RECORDS_PUT(&r, lost, REC_DROP_ROW, L, 40 * MS);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(v->nfindings, 1);
		assert_non_null(case_find(v, FINDING_LINK_DOWN, packets != 0 ? "S:2" : "R:3", NULL));
		verdict_destroy(v);
	}
}

/* Three hosts' flows to c meet at the spine: incast there. A flow to d that is among them is a contender. */
static void
test_incast_before_the_last_hop(void **state)
{
	const struct rec_tuple to_c[] = { records_tuple(B, C, 90), records_tuple(D, C, 91) };
	const struct finding *incast;
	struct records r;
	struct verdict *v;

	leaves(&r, HASHED, HASHED);
	records_put_port(&r, S, records_port_row(1, 0, LAST, 400000, 40000000, 300));
	case_flow(&r, S, 1, 0, AC, 0, LAST, 100000, 10000000);
	case_flow(&r, S, 1, 0, to_c[0], 0, LAST, 100000, 10000000);
	case_flow(&r, S, 1, 0, to_c[1], 0, LAST, 100000, 10000000);
	case_flow(&r, S, 1, 0, records_tuple(B, D, 92), 0, LAST, 100000, 10000000);
	v = case_conclude(&r, REC_END_COMPLETE);
	incast = case_find(v, FINDING_INCAST, "S:2", NULL);
	assert_non_null(incast);
	assert_int_equal(incast->nflows, 2);
	assert_non_null(strstr(case_evidence(v, incast), "2 other flows to c shared S:2"));
	assert_non_null(case_find(v, FINDING_FLOW_CONTENTION, "S:2", "b->d/92>92"));
	assert_int_equal(v->nfindings, 2);
	verdict_destroy(v);
}

/* L:3 was cut with nothing in its queue: what was on the cable is lost, and nobody counted it. */
static void
test_cut_without_drops(void **state)
{
	struct rec_drop_row cut = { .port = 2, .reason = REC_DROP_LINK_DOWN, .first_ps = 10 * MS, .last_ps = 30 * MS };
	struct rec_step step = { .step = 1, WAITED_NONE, .end_ps = 80 * MS, .retransmits = 40 };
	const struct finding *finding;
	struct records r;
	struct verdict *v;

	leaves(&r, HASHED, HASHED);
	RECORDS_PUT(&r, step, REC_STEP, A, 80 * MS);
	RECORDS_PUT(&r, cut, REC_DROP_ROW, L, 40 * MS);
	v = case_conclude(&r, REC_END_COMPLETE);
	finding = case_find(v, FINDING_LINK_DOWN, "L:3", NULL);
	assert_non_null(finding);
	assert_int_equal(v->nfindings, 1);
	assert_non_null(strstr(case_evidence(v, finding), "L:3 was cut"));
	assert_int_equal(v->run.nflows, 2);
	verdict_destroy(v);
}

/* What a cut link sends back is no loop. */
static void
test_turned_back_at_a_cut_link(void **state)
{
	struct rec_drop_row drop = { .last = F17,
				     .port = 1,
				     .reason = REC_DROP_LINK_DOWN,
				     .packets = 9,
				     .bytes = 9 * 1348,
				     .first_ps = 10 * MS,
				     .last_ps = 12 * MS };
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
	records_put_port(&r, SW6, records_port_row(0, 0, 79, 1000, 0, 1));
	case_flow(&r, SW6, 0, 0, F17, 0, 79, 1000, 0);
	RECORDS_PUT(&r, drop, REC_DROP_ROW, SW6, 13 * MS);
	v = case_conclude(&r, REC_END_COMPLETE);
	assert_int_equal(v->nfindings, 1);
	assert_non_null(case_find(v, FINDING_LINK_DOWN, "6:2", NULL));
	verdict_destroy(v);
}

UNIT_TEST(cause_paths)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_imbalance),
		cmocka_unit_test(test_no_imbalance_where_packets_are_sprayed),
		cmocka_unit_test(test_link_rate_on_one_of_many_paths),
		cmocka_unit_test(test_link_rate_between_three_tiers),
		cmocka_unit_test(test_sprayed_packets_are_lost_somewhere),
		cmocka_unit_test(test_sprayed_packets_are_lost_behind_one_link),
		cmocka_unit_test(test_sprayed_packets_are_lost_downwards),
		cmocka_unit_test(test_counts_go_back),
		cmocka_unit_test(test_copies_of_a_poll_are_no_loop),
		cmocka_unit_test(test_sprayed_packets_may_be_in_flight),
		cmocka_unit_test(test_sprayed_packets_may_take_longer_paths),
		cmocka_unit_test(test_collision_without_imbalance),
		cmocka_unit_test(test_one_end_of_a_cut_cable),
		cmocka_unit_test(test_incast_before_the_last_hop),
		cmocka_unit_test(test_cut_without_drops),
		cmocka_unit_test(test_turned_back_at_a_cut_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
