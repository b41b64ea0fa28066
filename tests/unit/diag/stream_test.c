/* SPDX-License-Identifier: BSD-3-Clause */
/* The record stream's decoder: any portions, strict with headers, and a bad report costs no other. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/record/frame.h"
#include "common/record/kinds.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "tests/unit/diag/collect_rig.h"
#include "tests/unit/diag/records.h"
#include "tests/unit/unit.h"

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
		assert_int_equal(ev.kinds[REC_PORT], 4);
		evidence_fini(&ev);
	}
	records_fini(&r);
}

/* The same stream with its reports in frames. */
static void
pack(const struct records *r, struct records *packed)
{
	static struct recframe frame;
	static struct rec_hdr none;
	size_t used = sizeof(struct rec_stream);

	records_init(packed);
	recframe_begin(&frame, PS_PER_S);
	while (used <= r->used_bytes) {
		const struct rec_hdr *rec = used < r->used_bytes ? (const void *)(r->data + used) : &none;

		if (used < r->used_bytes && record_is_report(rec->type) && recframe_put(&frame, rec)) {
			used += rec->size;
			continue;
		}
		if (frame.records != 0)
			records_append(packed, recframe_end(&frame), frame.used_bytes);
		recframe_begin(&frame, PS_PER_S);
		if (used < r->used_bytes && record_is_report(rec->type))
			continue;
		if (used < r->used_bytes)
			records_append(packed, rec, rec->size);
		used += used < r->used_bytes ? rec->size : 1;
	}
}

/* What is packed is what is not; but for its bytes. */
static void
test_frames(void **state)
{
	struct records r, packed;

	two_hosts(&r);
	records_put_port(&r, 0, records_port_row(0, 0, 0, 10, 1, 1));
	records_put_port(&r, 0, records_port_row(1, 0, 0, 20, 1, 1));
	records_put_flow(&r, 0, records_flow_row(0, records_tuple(1, 2, 10000), 0, 0, 10, 1));
	records_step(&r, 1, 1, REC_NONE, 0, 10 * PS_PER_MS);
	records_end(&r, REC_END_COMPLETE, 20 * PS_PER_MS);
	pack(&r, &packed);
	assert_true(packed.used_bytes < r.used_bytes);
	for (size_t portion = 1; portion < 2000; portion += 333) {
		struct evidence plain, ev;
		struct err err;

		assert_int_equal(decode(&r, portion, &plain, &err), 0);
		assert_int_equal(decode(&packed, portion, &ev, &err), 0);
		assert_true(ev.ended);
		assert_int_equal(ev.left_out, 0);
		assert_memory_equal(ev.kinds, plain.kinds, sizeof(ev.kinds));
		assert_int_equal(ev.port_rows.count, 2);
		assert_memory_equal(ev.port_rows.data, plain.port_rows.data, 2 * sizeof(struct rec_port_row));
		assert_memory_equal(ev.flow_rows.data, plain.flow_rows.data, sizeof(struct rec_flow_row));
		assert_int_equal(plain.telemetry_bytes, 2 * sizeof(struct rec_port_row) + sizeof(struct rec_flow_row));
		assert_true(ev.telemetry_bytes < plain.telemetry_bytes);
		assert_int_equal(ev.bytes, packed.used_bytes - sizeof(struct rec_stream));
		evidence_fini(&plain);
		evidence_fini(&ev);
	}
	records_fini(&r);
	records_fini(&packed);
}

static void
test_bad_frames(void **state)
{
	struct rec_hdr frame = { .type = REC_FRAME, .size = sizeof(frame) };
	uint8_t row[] = { REC_RUN, 0, 0, 0, 0, 0, 0, 0 };
	struct records r;

	two_hosts(&r);
	records_append(&r, &frame, sizeof(frame));
	refuse(&r, -EPROTO, "a frame of 24 B; right would be 25 to 1472");
	((struct rec_hdr *)(r.data + r.used_bytes - sizeof(frame)))->size = REC_FRAME_MAX_BYTES + 1;
	refuse(&r, -EPROTO, "a frame of 1473 B");
	((struct rec_hdr *)(r.data + r.used_bytes - sizeof(frame)))->size = sizeof(frame) + sizeof(row);
	records_append(&r, row, sizeof(row));
	refuse(&r, -EPROTO, "a frame holds a record of type 1, which is no report");
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
	hdr->version = 2;
	refuse(&r, -EPROTO, "version 2");
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
	run->type = 15;
	refuse(&r, -EPROTO, "byte 16: unknown record type 15");
	run->type = 60000;
	refuse(&r, -EPROTO, "unknown record type 60000");
	run->type = REC_RUN;
	run->size = 104;
	refuse(&r, -EPROTO, "has 104 B, not 120 B");
	run->size = 0;
	refuse(&r, -EPROTO, "has 0 B");
	run->size = sizeof(struct rec_run);
	((struct rec_run *)run)->epoch_ps = 0;
	refuse(&r, -EINVAL, "byte 16: RUN: epoch_ps = 0; right would be 1 to 1152921504606846976");
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
	leave_out(&r, "dropped_bytes = 96; right would be 272 of 2 records");
	two_hosts(&r);
	RECORDS_PUT(&r, end, REC_END, REC_NONE, 1);
	leave_out(&r, "END: reason = 8; right would be 0 to 7");
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

UNIT_TEST(stream)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_portions), cmocka_unit_test(test_stream_header),
		cmocka_unit_test(test_frames),       cmocka_unit_test(test_bad_frames),
		cmocka_unit_test(test_bad_records),  cmocka_unit_test(test_bad_headers),
		cmocka_unit_test(test_bad_reports),  cmocka_unit_test(test_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
