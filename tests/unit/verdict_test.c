/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From records to findings, on a part of the paper's case study (Fig. 14): hosts 13, 15 on switch 1; 16, 17 on
 * switch 2; 18, 19 on switch 3; all three on switch 6. The collective's flows are 17->18 and 15->16, two steps each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diag/collect/stream.h"
#include "diag/verdict.h"
#include "tests/unit/records.h"

enum { SW1, SW2, SW3, SW6, H13, H15, H16, H17, H18, H19 };
#define MS PS_PER_MS
#define EXPECT (30750 * PS_PER_US)
#define BF1 records_tuple(H15, H18, 77)
#define BF2 records_tuple(H13, H19, 78)
#define F17 records_tuple(H17, H18, 10000)
#define F15 records_tuple(H15, H16, 10000)

static void
fabric(struct records *r)
{
	static const char *const names[] = { "1", "2", "3", "6", "13", "15", "16", "17", "18", "19" };
	static const uint32_t way17[][2] = { { H17, 0 }, { SW2, 2 }, { SW6, 1 }, { SW3, 0 } };

	records_init(r);
	records_run(r);
	for (uint32_t n = SW1; n <= H19; n++)
		records_node(r, n, names[n], n >= H13, n >= H13 ? 1 : 3);
	records_link(r, SW1, 0, false, H13, 0, true);
	records_link(r, SW1, 1, false, H15, 0, true);
	records_link(r, SW1, 2, false, SW6, 2, false);
	records_link(r, SW2, 0, false, H16, 0, true);
	records_link(r, SW2, 1, false, H17, 0, true);
	records_link(r, SW2, 2, false, SW6, 0, false);
	records_link(r, SW3, 0, false, H18, 0, true);
	records_link(r, SW3, 1, false, H19, 0, true);
	records_link(r, SW3, 2, false, SW6, 1, false);
	records_collective(r, 2, 2);
	records_schedule(r, 0, 1, H17, H18, REC_NONE, EXPECT);
	records_schedule(r, 0, 2, H17, H18, H15, EXPECT);
	records_schedule(r, 1, 1, H15, H16, REC_NONE, EXPECT);
	records_schedule(r, 1, 2, H15, H16, H17, EXPECT);
	records_route(r, F17, way17, 4);
}

static struct verdict *
diagnose(const struct records *r)
{
	struct verdict *v = NULL;
	struct err err = { 0 };
	struct evidence ev;

	records_evidence(r, &ev);
	if (verdict_build(&ev, NULL, &v, &err) != 0)
		fail_msg("%s", err.text);
	evidence_fini(&ev);
	return v;
}

/* @return the finding of this type and root, by this flow if one is given; NULL if there is none */
static const struct verdict_finding *
find(const struct verdict *v, enum verdict_type type, const char *root, const char *flow)
{
	for (uint32_t i = 0; i < v->nfindings; i++) {
		const struct verdict_finding *finding = &v->findings[i];

		if (finding->type == type && strcmp(finding->root, root) == 0 &&
		    (flow == NULL || strcmp(v->flows[finding->flows[0]].name, flow) == 0))
			return finding;
	}
	return NULL;
}

static bool
has_port(const struct verdict *v, const struct verdict_finding *finding, const char *name)
{
	for (uint32_t i = 0; i < finding->nports; i++) {
		if (strcmp(v->ports[finding->ports[i]].name, name) == 0)
			return true;
	}
	return false;
}

static void
put_contention(struct records *r, uint32_t node, uint16_t port, uint32_t first, uint32_t last, uint32_t depth,
	       struct rec_tuple one, uint64_t n_one, struct rec_tuple two, uint64_t n_two)
{
	records_put_port(r, node, records_port_row(port, first, last, n_one + n_two, (n_one + n_two) * depth,
						   depth * 2));
	records_put_flow(r, node, records_flow_row(port, one, first, last, n_one, n_one * depth));
	records_put_flow(r, node, records_flow_row(port, two, first, last, n_two, n_two * depth));
}

/* 2:3 halted half of the time; what it sends goes to 6:2. */
static void
put_backpressure(struct records *r, uint32_t first, uint32_t last, uint64_t packets)
{
	struct rec_port_row row = records_port_row(2, first, last, packets, packets * 30, 60);

	row.pause_ps = (last + 1 - first) * MS / 2;
	row.pauses_received = 100;
	records_put_port(r, SW2, row);
	records_put_flow(r, SW2, records_flow_row(2, F17, first, last, packets, packets * 30));
	records_put_meter(r, SW6, records_meter_row(0, 1, first, last, packets * 1348));
}

static void
case_study(struct records *r)
{
	fabric(r);
	records_step(r, 1, H15, H16, REC_NONE, 0, 38430 * PS_PER_US);
	records_step(r, 1, H17, H18, REC_NONE, 0, 47 * MS);
	records_step(r, 2, H15, H16, H17, 47 * MS, 47 * MS + EXPECT);
	records_step(r, 2, H17, H18, REC_NONE, 47 * MS, 117 * MS);
	/* 15->18 meets both in step 1: at its own NIC, where each packet waits for one of the other, and at 6:2. */
	put_contention(r, H15, 0, 5, 19, 1, F15, 69000, BF1, 69000);
	put_contention(r, SW6, 1, 5, 19, 60, F17, 70000, BF1, 69000);
	put_backpressure(r, 5, 19, 70000);
	/* 13->19 meets 17->18 at 6:2 from the end of step 1 on. */
	put_contention(r, SW6, 1, 30, 46, 150, F17, 79000, BF2, 79000);
	put_backpressure(r, 30, 46, 79000);
	put_contention(r, SW6, 1, 47, 116, 150, F17, 277000, BF2, 331000);
	put_backpressure(r, 47, 116, 277000);
}

static void
test_case_study(void **state)
{
	const struct verdict_finding *bf1, *bf2, *nic, *pfc;
	struct records r;
	struct verdict *v;

	case_study(&r);
	records_end(&r, REC_END_COMPLETE, 117 * MS);
	v = diagnose(&r);
	assert_false(v->innocent);
	assert_true(v->collectives[0].complete);
	assert_int_equal(v->collectives[0].end_ps, 117 * MS);

	/* rank 0 is 17: its steps are 0 and 1 */
	assert_int_equal(v->waiting[0].npath, 2);
	assert_int_equal(v->waiting[0].path[0], 0);
	assert_int_equal(v->waiting[0].path[1], 1);
	assert_true(v->steps[0].critical && v->steps[1].critical && v->steps[0].slow && v->steps[1].slow);
	assert_true(v->steps[2].slow && !v->steps[2].critical);
	assert_false(v->steps[3].slow);

	bf2 = find(v, VERDICT_FLOW_CONTENTION, "6:2", "13->19/78>78");
	bf1 = find(v, VERDICT_FLOW_CONTENTION, "6:2", "15->18/77>77");
	nic = find(v, VERDICT_FLOW_CONTENTION, "15:1", "15->18/77>77");
	pfc = find(v, VERDICT_PFC_BACKPRESSURE, "6:2", NULL);
	assert_true(bf1 != NULL && bf2 != NULL && nic != NULL && pfc != NULL);
	assert_int_equal(v->nfindings, 4);
	/* w(17->18, 15->18) = 70000 * 60 * 69000 / 139000 */
	assert_float_equal((float)bf1->score, 2084892.1f, 1.0f);
	/* w(17->18, 13->19) = 79000 * 150 / 2 + 277000 * 150 * 331000 / 608000 */
	assert_float_equal((float)bf2->score, 28545148.0f, 4.0f);
	assert_float_equal((float)nic->score, 34500.0f, 0.1f);
	assert_int_equal(bf1->nsteps, 1);
	assert_int_equal(bf2->nsteps, 2);
	assert_int_equal(bf1->start_ps, 5 * MS);
	assert_int_equal(bf1->end_ps, 20 * MS);
	assert_true(has_port(v, pfc, "2:3"));
	assert_true(has_port(v, pfc, "6:2"));
	assert_string_equal(v->flows[pfc->victims[0]].name, "17->18/10000>10000");
	assert_string_equal(v->flows[pfc->flows[0]].name, "13->19/78>78");

	assert_int_equal(v->ncontributors, 2);
	assert_string_equal(v->flows[v->contributors[0].flow].name, "13->19/78>78");
	assert_string_equal(v->flows[v->contributors[1].flow].name, "15->18/77>77");
	assert_true(v->contributors[0].score > 10 * v->contributors[1].score);
	assert_int_equal(v->contributors[0].nshares, 2);
	assert_int_equal(v->contributors[1].nshares, 1);
	assert_int_equal(v->contributors[1].shares[0].step, 0);
	/*
	 * Eq. 2 for 15->18 in step 1: at 6:2 what 17->18 waited for, 2084892.1; at 2:3, wholly fed to 6:2, what 6:2
	 * owes to it: 69000/139000 * 139000 * 60 = 4140000. Eq. 3: of the excess 16.25 and 39.25 ms are in step 1, 2.
	 */
	assert_float_equal((float)v->contributors[1].shares[0].score, 6224892.1f, 1.0f);
	assert_float_equal((float)v->contributors[1].score, 6224892.1f * 16.25f / 55.5f, 10.0f);
	assert_string_equal(v->incomplete, "");
	assert_false(v->truncated);
	verdict_destroy(v);
	records_fini(&r);
}

static void
test_clean(void **state)
{
	struct records r;
	struct verdict *v;

	fabric(&r);
	records_step(&r, 1, H15, H16, REC_NONE, 0, EXPECT);
	records_step(&r, 1, H17, H18, REC_NONE, 0, EXPECT + EXPECT / 200); /* half a percent is nothing */
	records_step(&r, 2, H15, H16, H17, EXPECT + EXPECT / 200, 2 * EXPECT + EXPECT / 200);
	records_step(&r, 2, H17, H18, REC_NONE, EXPECT + EXPECT / 200, 2 * EXPECT);
	/* A shared queue by itself is no finding: nobody was slow. */
	put_contention(&r, SW6, 1, 5, 19, 60, F17, 70000, BF1, 69000);
	records_end(&r, REC_END_COMPLETE, 2 * EXPECT + EXPECT / 200);
	v = diagnose(&r);
	assert_int_equal(v->nfindings, 0);
	assert_int_equal(v->ncontributors, 0);
	assert_true(v->innocent);
	assert_non_null(strstr(v->reason, "Every step"));
	verdict_destroy(v);
	records_fini(&r);
}

/* 17->18 hangs in step 1; asked at 20 ms, all epochs are empty. */
static void
stormy(struct records *r)
{
	struct rec_port_row row = records_port_row(2, 19, 19, 0, 0, 0);
	struct rec_flow_row flow = records_flow_row(2, F17, 19, 19, 0, 0);
	struct rec_poll poll = { .victim = F17, .in_port = 1, .out_port = 2, .flags = 3, .out_paused = 1, .ttl = 60 };

	fabric(r);
	records_step(r, 1, H17, H18, REC_NONE, 0, 80 * MS);
	row.paused = 1;
	row.paused_since_ps = MS;
	row.queue_packets = flow.queue_packets = 200;
	records_put_port(r, SW2, row);
	records_put_flow(r, SW2, flow);
	RECORDS_PUT(r, poll, REC_POLL, SW2, 20 * MS);
}

static void
check_storm(const struct records *r, const char *root, const char *halted)
{
	struct verdict *v = diagnose(r);
	const struct verdict_finding *storm = find(v, VERDICT_PFC_STORM, root, NULL);

	if (storm == NULL)
		fail_msg("no storm at %s: %s", root, v->reason);
	assert_true(has_port(v, storm, halted));
	assert_int_equal(v->nfindings, 1);
	assert_false(v->innocent);
	assert_true(storm->score > 0);
	verdict_destroy(v);
}

static void
test_storm(void **state)
{
	struct rec_port_row row = records_port_row(0, 19, 19, 0, 0, 0);
	struct records r;

	/* The port that pauses is seen pausing, with nothing held. */
	stormy(&r);
	row.pausing = 1;
	row.pausing_since_ps = MS;
	row.ingress_xoff_bytes = 90000;
	records_put_port(&r, SW6, row);
	records_end(&r, REC_END_STALL, 80 * MS);
	check_storm(&r, "6:1", "2:3");
	records_fini(&r);

	/* Its switch was asked and had nothing to show. */
	stormy(&r);
	records_end(&r, REC_END_STALL, 80 * MS);
	check_storm(&r, "6:1", "2:3");
	records_fini(&r);
}

/* Silence means nothing where telemetry was lost. */
static void
test_storm_unknown(void **state)
{
	struct rec_gap gap = { .kind = REC_PORT_ROW, .dropped = 5, .dropped_bytes = 800, .from_ps = 10 * MS,
			       .to_ps = 30 * MS };
	struct records r;
	struct verdict *v;

	stormy(&r);
	RECORDS_PUT(&r, gap, REC_GAP, REC_NONE, 30 * MS);
	records_end(&r, REC_END_STALL, 80 * MS);
	((struct rec_end *)(r.data + r.used_bytes - sizeof(struct rec_end)))->dropped_records = 5;
	((struct rec_end *)(r.data + r.used_bytes - sizeof(struct rec_end)))->offered_bytes += 800;
	v = diagnose(&r);
	assert_int_equal(v->nfindings, 0);
	assert_false(v->innocent);
	assert_non_null(strstr(v->reason, "incomplete"));
	assert_non_null(strstr(v->incomplete, "5 records"));
	assert_true(v->overhead.completeness < 1 && v->overhead.completeness > 0);
	/* sent in step 1: a port row, a flow row and a poll; lost: 800 B */
	assert_float_equal((float)v->steps[0].completeness, 304.0f / 1104, 1e-5f);
	assert_float_equal((float)v->steps[3].completeness, 1.0f, 1e-6f);
	verdict_destroy(v);
	records_fini(&r);
}

/* A host's NIC that pauses its switch; the flow is halted one switch before it. */
static void
test_storm_of_host(void **state)
{
	struct rec_port_row last = records_port_row(0, 10, 29, 100, 0, 1), before = records_port_row(1, 10, 29, 100, 0, 1);
	struct records r;

	fabric(&r);
	records_step(&r, 1, H17, H18, REC_NONE, 0, 80 * MS);
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
	const struct verdict_finding *incast;
	struct records r;
	struct verdict *v;

	fabric(&r);
	records_step(&r, 1, H17, H18, REC_NONE, 0, 120 * MS);
	records_put_port(&r, SW3, records_port_row(0, 0, 119, 400000, 40000000, 300));
	records_put_flow(&r, SW3, records_flow_row(0, F17, 0, 119, 100000, 10000000));
	for (uint32_t i = 0; i < 3; i++)
		records_put_flow(&r, SW3, records_flow_row(0, records_tuple(sources[i], H18, 90), 0, 119, 100000,
							   10000000));
	records_end(&r, REC_END_COMPLETE, 120 * MS);
	v = diagnose(&r);
	incast = find(v, VERDICT_INCAST, "3:1", NULL);
	assert_non_null(incast);
	assert_int_equal(v->nfindings, 1);
	assert_int_equal(incast->nflows, 3);
	/* each: 10^7 * 100000 / 400000 */
	assert_float_equal((float)incast->score, 7500000.0f, 1.0f);
	assert_int_equal(v->ncontributors, 3);
	verdict_destroy(v);
	records_fini(&r);
}

static void
test_slow_host(void **state)
{
	const struct verdict_finding *slow;
	struct records r;
	struct verdict *v;

	fabric(&r);
	records_step(&r, 1, H15, H16, REC_NONE, 0, EXPECT);
	records_step(&r, 1, H17, H18, REC_NONE, 0, EXPECT);
	records_step(&r, 2, H15, H16, REC_NONE, EXPECT, 2 * EXPECT);
	records_step(&r, 2, H17, H18, REC_NONE, EXPECT + 20 * MS, 2 * EXPECT + 20 * MS);
	records_end(&r, REC_END_COMPLETE, 2 * EXPECT + 20 * MS);
	v = diagnose(&r);
	slow = find(v, VERDICT_SLOW_HOST, "17", NULL);
	assert_non_null(slow);
	assert_int_equal(v->nfindings, 1);
	assert_int_equal(v->steps[1].late_ps, 20 * MS);
	assert_int_equal(slow->end_ps - slow->start_ps, 20 * MS);
	/* 20 ms of 100 Gbps in frames of 1348 B */
	assert_float_equal((float)slow->score, 20e-3f * 100e9f / (1348 * 8), 1.0f);
	assert_true(v->innocent);
	assert_non_null(strstr(v->reason, "hosts: 17"));
	verdict_destroy(v);
	records_fini(&r);
}

static void
test_drops(void **state)
{
	static const struct {
		uint16_t reason;
		enum verdict_type type;
	} cases[] = {
		{ REC_DROP_LINK_DOWN, VERDICT_LINK_DOWN },   { REC_DROP_TTL, VERDICT_FORWARDING_LOOP },
		{ REC_DROP_NO_ROUTE, VERDICT_BLACKHOLE },    { REC_DROP_BLACKHOLE, VERDICT_BLACKHOLE },
		{ REC_DROP_CORRUPT, VERDICT_PACKET_LOSS },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rec_drop_row drop = { .last = F17, .port = 1, .reason = cases[i].reason, .packets = 9,
					     .bytes = 9 * 1348, .first_ps = 10 * MS, .last_ps = 12 * MS };
		struct records r;
		struct verdict *v;

		fabric(&r);
		records_step(&r, 1, H17, H18, REC_NONE, 0, 80 * MS);
		RECORDS_PUT(&r, drop, REC_DROP_ROW, SW6, 13 * MS);
		records_end(&r, REC_END_COMPLETE, 80 * MS);
		v = diagnose(&r);
		assert_non_null(find(v, cases[i].type, "6:2", NULL));
		assert_int_equal(v->nfindings, 1);
		verdict_destroy(v);
		records_fini(&r);
	}
}

static void
test_loss_nobody_counts(void **state)
{
	struct rec_step step = { .flow = F17, .step = 1, .waited_for = REC_NONE, .end_ps = 80 * MS, .retransmits = 40 };
	struct records r;
	struct verdict *v;

	fabric(&r);
	RECORDS_PUT(&r, step, REC_STEP, H17, 80 * MS);
	records_end(&r, REC_END_COMPLETE, 80 * MS);
	v = diagnose(&r);
	assert_non_null(find(v, VERDICT_PACKET_LOSS, "17->18/10000>10000", NULL));
	assert_int_equal(v->findings[0].nports, 4);
	verdict_destroy(v);
	records_fini(&r);
}

static void
test_truncated(void **state)
{
	struct records r;
	struct verdict *v;

	fabric(&r);
	records_step(&r, 1, H15, H16, REC_NONE, 0, EXPECT);
	v = diagnose(&r);
	assert_true(v->truncated);
	assert_false(v->collectives[0].complete);
	assert_non_null(strstr(v->incomplete, "without its end record"));
	assert_non_null(strstr(v->incomplete, "3 of 4 steps"));
	verdict_destroy(v);
	records_fini(&r);
}

/* Stuck for good: open steps, and the path ends in the one that started. */
static void
test_open(void **state)
{
	struct rec_step open = { .flow = F17, .step = 1, .waited_for = REC_NONE, .open = 1, .bytes = 360000000 };
	struct rec_step next = { .flow = F15, .step = 2, .waited_for = H17, .open = 1 };
	struct records r;
	struct verdict *v;

	stormy(&r);
	records_step(&r, 1, H15, H16, REC_NONE, 0, EXPECT);
	/* The later report of the step replaces the one of stormy(). */
	RECORDS_PUT(&r, open, REC_STEP, H17, 90 * MS);
	RECORDS_PUT(&r, next, REC_STEP, H15, 90 * MS);
	records_end(&r, REC_END_STALL, 90 * MS);
	v = diagnose(&r);
	assert_int_equal(v->waiting[0].npath, 1);
	assert_int_equal(v->waiting[0].path[0], 0);
	assert_true(v->steps[0].open && v->steps[0].started);
	assert_int_equal(v->steps[0].end_ps, 90 * MS);
	assert_true(v->steps[3].open && !v->steps[3].started);
	assert_false(v->collectives[0].complete);
	assert_non_null(find(v, VERDICT_PFC_STORM, "6:1", NULL));
	verdict_destroy(v);
	records_fini(&r);
}

/* Rows may come in any order and more than once: the verdict is the same to the bit. */
static void
test_order(void **state)
{
	struct records r, shuffled;
	struct verdict *v, *w;
	size_t at, headers;

	case_study(&r);
	fabric(&shuffled);
	headers = shuffled.used_bytes;
	for (int pass = 0; pass < 2; pass++) {
		for (at = headers; at < r.used_bytes; at += ((struct rec_hdr *)(r.data + at))->size) {
			struct rec_hdr *hdr = (struct rec_hdr *)(r.data + at);
			uint64_t copy[STREAM_MAX_RECORD / 8];

			if ((pass == 0) != (hdr->seq % 2 == 1))
				continue;
			memcpy(copy, hdr, hdr->size);
			records_put(&shuffled, copy, hdr->type, hdr->size, hdr->node, hdr->time_ps);
			records_put(&shuffled, copy, hdr->type, hdr->size, hdr->node, hdr->time_ps);
		}
	}
	records_end(&r, REC_END_COMPLETE, 117 * MS);
	records_end(&shuffled, REC_END_COMPLETE, 117 * MS);
	v = diagnose(&r);
	w = diagnose(&shuffled);
	assert_int_equal(v->nfindings, w->nfindings);
	for (uint32_t i = 0; i < v->nfindings; i++) {
		assert_memory_equal(&v->findings[i].score, &w->findings[i].score, sizeof(double));
		assert_string_equal(v->findings[i].evidence, w->findings[i].evidence);
	}
	for (uint32_t i = 0; i < v->ncontributors; i++)
		assert_memory_equal(&v->contributors[i].score, &w->contributors[i].score, sizeof(double));
	verdict_destroy(v);
	verdict_destroy(w);
	records_fini(&r);
	records_fini(&shuffled);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_case_study),    cmocka_unit_test(test_clean),
		cmocka_unit_test(test_storm),	      cmocka_unit_test(test_storm_unknown),
		cmocka_unit_test(test_storm_of_host), cmocka_unit_test(test_incast),
		cmocka_unit_test(test_slow_host),     cmocka_unit_test(test_drops),
		cmocka_unit_test(test_loss_nobody_counts), cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_open),	      cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
