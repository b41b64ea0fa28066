/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node remembers and tells of polling packets, and of what its ports dropped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "telemetry/polled.h"
#include "telemetry/port_drops.h"

static struct flow flows[] = {
	{ .src_ip = 1, .dst_ip = 2, .sport = 3, .dport = 4 },
	{ .src_ip = 5, .dst_ip = 6, .sport = 7, .dport = 8 },
};
static const struct flow_table table = { .flows = flows, .count = 2 };

/* The n-th record. */
static const void *
nth(const struct recbuf *buf, uint32_t n)
{
	size_t at = 0;

	while (n-- > 0 && at < buf->used_bytes)
		at += ((const struct rec_hdr *)(buf->data + at))->size;
	return at < buf->used_bytes ? buf->data + at : NULL;
}

static void
an_event_is_answered_once(void **state)
{
	struct polled polled = { 0 };

	(void)state;
	assert_false(polled_before(&polled, 7));
	assert_true(polled_before(&polled, 7));
	for (uint32_t event = 100; event < 100 + POLLED_EVENTS; event++)
		assert_false(polled_before(&polled, event));
	for (uint32_t event = 100; event < 100 + POLLED_EVENTS; event++)
		assert_true(polled_before(&polled, event));
	assert_false(polled_before(&polled, 7)); /* so many later it is forgotten */
}

static void
a_poll_is_recorded_unless_it_is_one_of_a_flood(void **state)
{
	struct pkt poll = { .type = PKT_POLL, .flow = 1, .psn = 77, .arg = POLL_VICTIM, .ttl = 62 };
	const struct rec_poll *rec;
	struct recbuf buf;

	(void)state;
	recbuf_init(&buf, 9);
	polled_record(&poll, &table, 3, REC_NO_PORT, true, false, &buf, 1000);
	rec = nth(&buf, 0);
	assert_non_null(rec);
	assert_int_equal(rec->hdr.type, REC_POLL);
	assert_int_equal(rec->hdr.node, 9);
	assert_int_equal(rec->hdr.event, 77);
	assert_int_equal(rec->hdr.time_ps, 1000);
	assert_int_equal(rec->victim.src_ip, 5);
	assert_int_equal(rec->victim.dport, 8);
	assert_int_equal(rec->in_port, 3);
	assert_int_equal(rec->out_port, REC_NO_PORT);
	assert_int_equal(rec->flags, POLL_VICTIM);
	assert_int_equal(rec->ttl, 62);
	assert_true(rec->out_paused && !rec->repeated);
	poll.arg |= POLL_QUIET;
	polled_record(&poll, &table, 3, REC_NO_PORT, true, false, &buf, 1000);
	assert_null(nth(&buf, 1));
	recbuf_fini(&buf);
}

static void
drops_are_told_by_reason_but_for_a_blackhole(void **state)
{
	const struct pkt first = { .flow = 0, .wire_bytes = 100 }, last = { .flow = 1, .wire_bytes = 50 };
	struct port_drops drops = { 0 };
	const struct rec_drop_row *row;
	struct recbuf buf;

	(void)state;
	recbuf_init(&buf, 9);
	assert_false(port_drops_any(&drops));
	port_drops_report(&drops, &table, 2, 77, &buf, 4000);
	assert_null(nth(&buf, 0));
	port_drops_add(&drops, REC_DROP_BLACKHOLE, &first, 500);
	port_drops_add(&drops, REC_DROP_TTL, &first, 1000);
	port_drops_add(&drops, REC_DROP_TTL, &last, 3000);
	assert_true(port_drops_any(&drops));
	port_drops_report(&drops, &table, 2, 77, &buf, 4000);
	row = nth(&buf, 0);
	assert_int_equal(row->hdr.type, REC_DROP_ROW);
	assert_int_equal(row->hdr.event, 77);
	assert_int_equal(row->reason, REC_DROP_TTL);
	assert_int_equal(row->port, 2);
	assert_int_equal(row->packets, 2);
	assert_int_equal(row->bytes, 150);
	assert_int_equal(row->first_ps, 1000);
	assert_int_equal(row->last_ps, 3000);
	assert_int_equal(row->last.src_ip, 5);
	assert_null(nth(&buf, 1));
	recbuf_fini(&buf);
}

static void
a_cut_link_is_told_where_nothing_was_dropped(void **state)
{
	struct port_drops drops = { 0 };
	const struct rec_drop_row *row;
	struct recbuf buf;

	(void)state;
	recbuf_init(&buf, 9);
	port_drops_cut(&drops, 0);
	assert_false(port_drops_any(&drops));
	port_drops_report(&drops, &table, 2, 77, &buf, 4000);
	row = nth(&buf, 0);
	assert_non_null(row);
	assert_int_equal(row->reason, REC_DROP_LINK_DOWN);
	assert_int_equal(row->packets, 0);
	assert_int_equal(row->last.src_ip, 0);
	buf.used_bytes = 0;
	port_drops_cut(&drops, 3000); /* mended */
	port_drops_report(&drops, &table, 2, 77, &buf, 4000);
	row = nth(&buf, 0);
	assert_int_equal(row->first_ps, 0);
	assert_int_equal(row->last_ps, 3000);
	assert_null(nth(&buf, 1));
	recbuf_fini(&buf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_answered_once),
		cmocka_unit_test(a_poll_is_recorded_unless_it_is_one_of_a_flood),
		cmocka_unit_test(drops_are_told_by_reason_but_for_a_blackhole),
		cmocka_unit_test(a_cut_link_is_told_where_nothing_was_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
