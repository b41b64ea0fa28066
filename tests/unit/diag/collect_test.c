/* SPDX-License-Identifier: BSD-3-Clause */
/* The record stream's decoder is strict, and evidence joins what it lets through. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "diag/collect/stream.h"
#include "tests/unit/diag/records.h"

/* Two hosts behind one switch. @param nics  of the first host */
static void
fabric(struct records *r, uint32_t nics)
{
	struct rec_port second = { .port = 1, .peer = REC_NONE, .ip = records_ip(9), .rate_bps = RECORDS_RATE_BPS };

	records_init(r);
	records_run(r);
	records_node(r, 0, "s", false, 2);
	records_node(r, 1, "a", true, nics);
	records_node(r, 2, "b", true, 1);
	records_link(r, 0, 0, false, 1, 0, true);
	records_link(r, 0, 1, false, 2, 0, true);
	if (nics == 2)
		RECORDS_PUT(r, second, REC_PORT, 1, 0);
}

/* Two steps each way. */
static void
schedule(struct records *r)
{
	records_collective(r, 2, 2);
	records_schedule(r, 0, 1, 1, 2, REC_NONE, 10 * PS_PER_MS);
	records_schedule(r, 0, 2, 1, 2, 1, 10 * PS_PER_MS);
	records_schedule(r, 1, 1, 2, 1, REC_NONE, 10 * PS_PER_MS);
	records_schedule(r, 1, 2, 2, 1, 0, 10 * PS_PER_MS);
}

static void
two_hosts(struct records *r)
{
	fabric(r, 1);
	schedule(r);
}

static int
decode(const struct records *r, size_t portion_bytes, struct evidence *ev, struct err *err)
{
	struct stream stream;
	int rc = 0;

	memset(err, 0, sizeof(*err));
	evidence_init(ev);
	stream_init(&stream, ev);
	for (size_t at = 0; rc == 0 && at < r->used_bytes; at += portion_bytes) {
		size_t left = r->used_bytes - at;

		rc = stream_feed(&stream, r->data + at, left < portion_bytes ? left : portion_bytes, err);
	}
	if (rc == 0)
		rc = stream_finish(&stream, err);
	stream_fini(&stream);
	return rc;
}

static void
refuse(const struct records *r, int code, const char *words)
{
	struct evidence ev;
	struct err err;

	assert_int_equal(decode(r, SIZE_MAX / 2, &ev, &err), code);
	if (strstr(err.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
	evidence_fini(&ev);
}

static void
test_any_portions(void **state)
{
	static const size_t portions[] = { 1, 7, 24, 100, 1 << 20 };
	struct records r;

	two_hosts(&r);
	records_step(&r, 1, 1, REC_NONE, 0, 10 * PS_PER_MS);
	records_end(&r, REC_END_COMPLETE, 20 * PS_PER_MS);
	for (size_t i = 0; i < ARRAY_LEN(portions); i++) {
		struct evidence ev;
		struct err err;

		assert_int_equal(decode(&r, portions[i], &ev, &err), 0);
		assert_true(ev.ended);
		assert_int_equal(ev.nnodes, 3);
		assert_int_equal(ev.nports, 4);
		assert_int_equal(ev.nsteps, 4);
		assert_int_equal(ev.kinds[REC_PORT].records, 4);
		evidence_fini(&ev);
	}
	records_fini(&r);
}

static void
test_stream_header(void **state)
{
	struct rec_stream *hdr;
	struct records r;

	two_hosts(&r);
	hdr = (struct rec_stream *)r.data;
	hdr->magic++;
	refuse(&r, -EPROTO, "not a record stream");
	hdr->magic--;
	hdr->version = REC_VERSION - 1;
	refuse(&r, -EPROTO, "version 1");
	hdr->version = REC_VERSION;
	hdr->size = 24;
	refuse(&r, -EPROTO, "header of 24 B");
	records_fini(&r);
}

static void
test_bad_records(void **state)
{
	struct rec_hdr *run;
	struct records r;

	two_hosts(&r);
	run = (struct rec_hdr *)(r.data + sizeof(struct rec_stream));
	run->type = 10;
	refuse(&r, -EPROTO, "byte 16: unknown record type 10");
	run->type = 60000;
	refuse(&r, -EPROTO, "unknown record type 60000");
	run->type = REC_RUN;
	run->size = 104;
	refuse(&r, -EPROTO, "says 104 B, not 112 B");
	run->size = 0;
	refuse(&r, -EPROTO, "says 0 B");
	run->size = sizeof(struct rec_run);
	((struct rec_run *)run)->epoch_ps = 0;
	refuse(&r, -EINVAL, "byte 16: RUN: epoch_ps = 0; right would be 1 to 4611686018427387904");
	records_fini(&r);
}

/* Without a header record that can be understood there is no stream. */
static void
test_bad_headers(void **state)
{
	struct records r;

	two_hosts(&r);
	records_run(&r);
	refuse(&r, -EINVAL, "second RUN record");
	records_fini(&r);

	fabric(&r, 1);
	records_node(&r, 4, "x", false, 1);
	refuse(&r, -EINVAL, "NODE of node 4: node = 4; right would be 3, the next one");
	records_fini(&r);

	two_hosts(&r);
	records_end(&r, REC_END_COMPLETE, 1);
	records_step(&r, 1, 1, REC_NONE, 0, 1);
	refuse(&r, -EINVAL, "behind END");
	records_fini(&r);

	fabric(&r, 1);
	records_collective(&r, 2, 1);
	records_schedule(&r, 2, 1, 1, 2, REC_NONE, 1);
	refuse(&r, -EINVAL, "rank = 2; right would be below 2");
	records_fini(&r);

	for (uint64_t ports = 0; ports < 3; ports++) { /* not described, without the route's port, with one too many */
		struct rec_route route = { .flow = records_tuple(1, 2, 10000), .port = 1, .ecmp = 1 };
		struct rec_ecmp set = { .set = 1, .ports = { ports == 2 ? 7 : 1 } };

		two_hosts(&r);
		if (ports != 0)
			RECORDS_PUT(&r, set, REC_ECMP, 0, 0);
		RECORDS_PUT(&r, route, REC_ROUTE, 0, 0);
		refuse(&r, -EINVAL,
		       ports == 2 ? "ports = 2; right would be members below 2"
				  : "ecmp = 1; right would be 0, or a described set of node 0 with port 1");
		records_fini(&r);
	}

	records_init(&r);
	refuse(&r, -EINVAL, "no RUN record");
	records_fini(&r);
	fabric(&r, 2);
	r.used_bytes -= sizeof(struct rec_port);
	refuse(&r, -EINVAL, "node 1 has 2 ports, 1 of them are described");
	records_fini(&r);
	fabric(&r, 1);
	records_collective(&r, 2, 2);
	records_end(&r, REC_END_COMPLETE, 1);
	refuse(&r, -EINVAL, "0 SCHEDULE records; it needs 4");
	records_fini(&r);
}

/* @param words  in what is said of the one record that is left out */
static void
leave_out(struct records *r, const char *words)
{
	struct evidence ev;
	struct err err;

	records_step(r, 1, 1, REC_NONE, 0, PS_PER_MS); /* what follows is taken again */
	assert_int_equal(decode(r, SIZE_MAX / 2, &ev, &err), 0);
	assert_int_equal(ev.left_out, 1);
	assert_int_equal(ev.step_recs.count, 1);
	if (strstr(ev.left_out_why.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", ev.left_out_why.text, words);
	evidence_fini(&ev);
	records_fini(r);
}

/* One node's bad report does not cost what all others said. */
static void
test_bad_reports(void **state)
{
	struct rec_end end = { .reason = REC_END_REASONS, .at_node = REC_NONE };
	struct rec_gap gap = { .kind = REC_STEP, .dropped = 2, .dropped_bytes = 96 };
	struct rec_tuple tuple = records_tuple(1, 2, 10000);
	struct rec_step open = { .step = 1, WAITED_NONE, .open = 1, .end_ps = 1 };
	struct rec_step waited = { .step = 1, .waited_rank = 2, .waited_step = 1 };
	struct rec_port_row row = records_port_row(0, 0, 0, 1ULL << 60, 1, 1);
	struct records r;

	two_hosts(&r);
	records_put_port(&r, 0, records_port_row(2, 0, 0, 1, 1, 1));
	leave_out(&r, "PORT_ROW of node 0: port = 2; right would be below 2");
	two_hosts(&r);
	records_put_port(&r, 0, row);
	leave_out(&r, "packets = 1152921504606846976; right would be at most 4503599627370496");
	two_hosts(&r);
	records_put_flow(&r, 0, records_flow_row(0, tuple, 5, 4, 1, 1));
	leave_out(&r, "epoch_last = 4; right would be at least 5");
	two_hosts(&r);
	records_step(&r, 1, 3, REC_NONE, 0, 1);
	leave_out(&r, "node = 3; right would be a host");
	two_hosts(&r);
	records_step(&r, 3, 1, REC_NONE, 0, 1);
	leave_out(&r, "step = 3; right would be at most 2");
	two_hosts(&r);
	records_step(&r, 1, 1, REC_NONE, 9, 5);
	leave_out(&r, "STEP of node 1: end_ps = 5; right would be 9 at least");
	two_hosts(&r);
	RECORDS_PUT(&r, open, REC_STEP, 1, 5);
	leave_out(&r, "end_ps = 1; right would be 0");
	two_hosts(&r);
	RECORDS_PUT(&r, waited, REC_STEP, 1, 5);
	leave_out(&r, "waited_rank = 2; right would be below 2");
	two_hosts(&r);
	RECORDS_PUT(&r, gap, REC_GAP, REC_NONE, 1);
	leave_out(&r, "dropped_bytes = 96; right would be 192 of 2 records");
	two_hosts(&r);
	RECORDS_PUT(&r, end, REC_END, REC_NONE, 1);
	leave_out(&r, "END: reason = 7; right would be 0 to 6");
}

/* A host's flows are told apart by its NICs where it has several. */
static void
test_flow_names(void **state)
{
	struct records r;
	struct evidence ev;
	struct err err;
	char name[96];

	for (uint32_t nics = 1; nics <= 2; nics++) {
		struct rec_poll poll = { .victim = records_tuple(9, 2, 10000), .in_port = 0, .out_port = 1 };

		fabric(&r, nics);
		schedule(&r);
		RECORDS_PUT(&r, poll, REC_POLL, 0, 1);
		assert_int_equal(decode(&r, SIZE_MAX / 2, &ev, &err), 0);
		evidence_flow_name(&ev, evidence_flow(&ev, &EV_AT(ev.schedule, struct rec_schedule, 0)->flow), name);
		assert_string_equal(name, nics == 2 ? "a:1->b/10000>10000" : "a->b/10000>10000");
		evidence_flow_name(&ev, evidence_flow(&ev, &poll.victim), name);
		assert_string_equal(name, nics == 2 ? "a:2->b/10000>10000" : "10.0.0.10->b/10000>10000");
		evidence_fini(&ev);
		records_fini(&r);
	}
}

static void
test_truncated(void **state)
{
	struct evidence ev;
	struct records r;
	struct err err;

	two_hosts(&r);
	records_step(&r, 1, 1, REC_NONE, 0, 10 * PS_PER_MS);
	r.used_bytes -= 8; /* in the middle of the step record */
	assert_int_equal(decode(&r, 1000, &ev, &err), 0);
	assert_false(ev.ended);
	assert_int_equal(ev.step_recs.count, 0);
	assert_int_equal(ev.torn_bytes, sizeof(struct rec_step) - 8);
	evidence_fini(&ev);
	records_fini(&r);
}

static void
test_latest_row_wins(void **state)
{
	struct rec_port_row old = records_port_row(1, 3, 3, 10, 0, 0), young = records_port_row(1, 3, 4, 25, 0, 0);
	struct rec_flow_row row = records_flow_row(1, records_tuple(1, 2, 10000), 3, 4, 25, 7);
	struct evidence ev;
	struct records r;

	two_hosts(&r);
	records_put_port(&r, 0, young); /* ends later, and arrives first */
	records_put_port(&r, 0, old);
	records_put_flow(&r, 0, row);
	for (int i = 0; i < 1000; i++) /* more than the first array holds */
		records_put_port(&r, 0, old);
	records_put_port(&r, 0, records_port_row(1, 5, 5, 1, 0, 0));
	records_evidence(&r, &ev);
	assert_int_equal(ev.nepochs, 2);
	assert_int_equal(ev.epochs[0].port, evidence_port(&ev, 0, 1));
	assert_int_equal(ev.epochs[0].row->packets, 25);
	assert_int_equal(ev.epochs[0].epoch_last, 4);
	assert_int_equal(ev.epochs[0].nflows, 1);
	assert_int_equal(ev.epochs[1].row->packets, 1);
	assert_int_equal(ev.epochs[1].nflows, 0);
	assert_int_equal(ev.kinds[REC_PORT_ROW].records, 1003);
	evidence_fini(&ev);
	records_fini(&r);
}

/* Later counters of an epoch replace earlier ones; what was so at that moment stays, once however often it came. */
/* A flow's row of an epoch that was open when it was reported, and no row of its port. */
static void
test_open_epoch(void **state)
{
	struct rec_flow_row row = records_flow_row(1, records_tuple(1, 2, 10000), 0, 4, 5, 1);
	struct evidence ev;
	struct records r;
	struct err err;

	(void)state;
	two_hosts(&r);
	row.in_port = 0;
	RECORDS_PUT(&r, row, REC_FLOW_ROW, 0, 4 * RECORDS_EPOCH_PS + 7);
	records_end(&r, REC_END_COMPLETE, 5 * RECORDS_EPOCH_PS);
	assert_int_equal(decode(&r, SIZE_MAX, &ev, &err), 0);
	assert_int_equal(ev.nepochs, 1);
	assert_int_equal(ev.epochs[0].to_ps, 4 * RECORDS_EPOCH_PS + 7);
	evidence_fini(&ev);
	records_fini(&r);
}

static void
test_states_stay(void **state)
{
	struct rec_port_row open = records_port_row(1, 3, 3, 10, 0, 0), closed = records_port_row(1, 3, 4, 25, 0, 0);
	struct rec_port_row alone = { .port = 1, .state_only = 1, .epoch_first = 3, .epoch_last = 3 };
	const struct rec_port_row *states;
	struct evidence ev;
	struct records r;

	two_hosts(&r);
	open.pausing = 1;
	open.ingress_xoff_bytes = 9000;
	open.hdr.event = 7;
	records_put_port(&r, 0, closed); /* says nothing of a moment */
	records_put_port(&r, 0, open);
	open.pausing = 0;
	RECORDS_PUT(&r, open, REC_PORT_ROW, 0, 3 * PS_PER_MS);
	r.seq--;
	RECORDS_PUT(&r, open, REC_PORT_ROW, 0, 3 * PS_PER_MS);
	RECORDS_PUT(&r, alone, REC_PORT_ROW, 0, 9 * PS_PER_MS); /* of a moment alone: no counters, and replaces none */
	records_evidence(&r, &ev);
	assert_int_equal(ev.nepochs, 1);
	assert_int_equal(ev.epochs[0].row->packets, 25);
	assert_int_equal(ev.states.count, 3);
	assert_int_equal(ev.ports[evidence_port(&ev, 0, 1)].nstates, 3);
	assert_int_equal(ev.ports[evidence_port(&ev, 0, 0)].nstates, 0);
	states = EV_AT(ev.states, struct rec_port_row, ev.ports[evidence_port(&ev, 0, 1)].first_state);
	assert_int_equal(states[0].hdr.time_ps, 3 * PS_PER_MS);
	assert_int_equal(states[0].pausing, 0);
	assert_int_equal(states[1].pausing, 1);
	evidence_fini(&ev);
	records_fini(&r);
}

static void
test_join(void **state)
{
	struct rec_step stray = { .step = 1, WAITED_NONE };
	struct evidence ev;
	struct records r;
	char name[96];

	two_hosts(&r);
	records_step(&r, 1, 1, REC_NONE, 0, 10 * PS_PER_MS);
	records_step(&r, 2, 1, 2, 12 * PS_PER_MS, 20 * PS_PER_MS);
	records_step(&r, 1, 2, REC_NONE, 0, 12 * PS_PER_MS);
	records_step(&r, 2, 2, REC_NONE, 12 * PS_PER_MS, 20 * PS_PER_MS);
	/* a step of the other host's rank */
	RECORDS_PUT(&r, stray, REC_STEP, 2, 1);
	records_put_flow(&r, 0, records_flow_row(1, records_tuple(7, 2, 99), 0, 0, 1, 1));
	records_evidence(&r, &ev);
	/* rank major: a1 a2 b1 b2 */
	assert_int_equal(ev.nsteps, 4);
	assert_int_equal(ev.unscheduled_steps, 1);
	assert_int_equal(ev.steps[1].previous, 0);
	assert_int_equal(ev.steps[1].depends, 2);
	assert_int_equal(ev.steps[1].waited_for, 2);
	assert_int_equal(ev.steps[3].previous, 2);
	assert_int_equal(ev.steps[3].depends, 0);
	assert_int_equal(ev.steps[3].waited_for, 2);
	assert_int_equal(ev.steps[0].waited_for, EV_NONE);
	assert_string_equal(evidence_flow_name(&ev, ev.steps[0].flow, name), "a->b/10000>10000");
	assert_true(ev.flows[ev.steps[0].flow].collective);
	assert_int_equal(ev.nflows, 3); /* the stray one's is in no schedule and no telemetry */
	assert_string_equal(evidence_flow_name(&ev, 2, name), "10.0.0.8->b/99>99");
	assert_false(ev.flows[2].collective);
	assert_string_equal(evidence_port_name(&ev, evidence_port(&ev, 0, 1), name), "s:2");
	assert_int_equal(ev.ports[evidence_port(&ev, 0, 1)].peer, evidence_port(&ev, 2, 0));
	evidence_fini(&ev);
	records_fini(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_portions), cmocka_unit_test(test_stream_header),
		cmocka_unit_test(test_bad_records),  cmocka_unit_test(test_bad_headers),
		cmocka_unit_test(test_bad_reports),  cmocka_unit_test(test_flow_names),
		cmocka_unit_test(test_truncated),    cmocka_unit_test(test_latest_row_wins),
		cmocka_unit_test(test_open_epoch),   cmocka_unit_test(test_states_stay),
		cmocka_unit_test(test_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
