/* SPDX-License-Identifier: BSD-3-Clause */
/* What a port remembers and reports of polling packets and of what it dropped, and a host's replies. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/record/frame.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "telemetry/port.h"
#include "tests/unit/unit.h"

#define FIRST_SLOTS 8 /* that a new port has room for */

static struct flow flows[] = {
	{ .src_ip = 1, .dst_ip = 2, .sport = 3, .dport = 4 },
	{ .src_ip = 5, .dst_ip = 6, .sport = 7, .dport = 8 },
};
static const struct flow_table table = { .flows = flows, .count = 2 };
static const struct telem_config config = { .epoch_ps = PS_PER_MS, .kept = 3, .nports = 1, .retain_ps = 50 };

static struct port_flows port_flows;
static struct telem_port port;
static struct telem_reporter reporter;
static struct report_count count;
static struct recbuf buf;

static void
begin(const struct telem_config *with)
{
	recbuf_init(&buf, 9);
	memset(&count, 0, sizeof(count));
	telem_reporter_init(&reporter, 9, &table, &buf, &count);
	port_flows_init(&port_flows, &table);
	assert_int_equal(telem_init(&port, with, &port_flows, 2), 0);
}

static void
end(void)
{
	telem_fini(&port);
	port_flows_fini(&port_flows);
	telem_reporter_fini(&reporter);
	recbuf_fini(&buf);
}

/* The n-th record. */
static const void *
nth(uint32_t n)
{
	size_t at = 0;

	while (n-- > 0 && at < buf.used_bytes)
		at += ((const struct rec_hdr *)(buf.data + at))->size;
	return at < buf.used_bytes ? buf.data + at : NULL;
}

/* By the allocator: each a few bytes more than was asked for. @param allocations  counted */
static size_t
allocated_bytes(const struct telem_port *t, size_t *allocations)
{
	const struct epochs *e = &t->epochs;
	void *const of_port[] = { t->polled.events,
				  t->state[1],
				  e->ring,
				  e->last_fed,
				  e->before,
				  e->late,
				  e->late != NULL ? e->late->flows : NULL };
	size_t bytes = 0;

	for (size_t i = 0; i < ARRAY_LEN(of_port); i++) {
		bytes += malloc_usable_size(of_port[i]);
		*allocations += of_port[i] != NULL;
	}
	for (uint32_t i = 0; e->ring != NULL && i < e->config->kept; i++) {
		const struct epoch *epoch = &e->ring[i];

		bytes += malloc_usable_size(epoch->classes) + malloc_usable_size(epoch->rows) +
			 malloc_usable_size(epoch->matrix);
		for (uint32_t c = 0; c < e->nclasses; c++)
			bytes += malloc_usable_size(epoch->classes[c].meter);
		*allocations += 3 + e->nclasses;
	}
	return bytes;
}

/* telem_port_bytes() is what is allocated, but for the allocator's rounding. */
static void
a_port_has_the_bytes_that_it_states(void **state)
{
	static const struct telem_config configs[] = {
		{ .epoch_ps = PS_PER_MS, .kept = 16, .nports = 64, .lossless = 1 },
		{ .epoch_ps = PS_PER_MS, .kept = 5, .nports = 16, .lossless = 3, .exact = true, .late_looks = true },
		{ .epoch_ps = PS_PER_MS, .kept = 3, .nports = 2, .host = true },
		{ .epoch_ps = PS_PER_MS, .kept = 3, .nports = 2, .drops_only = true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
		size_t stated = telem_port_bytes(&configs[i], FIRST_SLOTS) - sizeof(port), allocations = 0, bytes;

		port_flows_init(&port_flows, &table);
		assert_int_equal(telem_init(&port, &configs[i], &port_flows, 2), 0);
		assert_null(port.polled.events);
		polled_fresh(&port.polled, 1, 1); /* the first makes room for others */
		bytes = allocated_bytes(&port, &allocations);
		assert_in_range(bytes, stated, stated + 24 * allocations);
		telem_fini(&port);
		port_flows_fini(&port_flows);
	}
}

/* A host's port answers an event once, and remembers the latest. */
static void
an_event_is_answered_once(void **state)
{
	struct polled polled;

	(void)state;
	polled_init(&polled, true);
	assert_int_equal(polled_fresh(&polled, 7, 1), 1);
	assert_int_equal(polled_fresh(&polled, 7, 1), 0);
	for (uint32_t event = 100; event < 100 + POLLED_HOST_WAYS; event++)
		assert_int_equal(polled_fresh(&polled, event, 1), 1);
	for (uint32_t event = 100; event < 100 + POLLED_HOST_WAYS; event++)
		assert_int_equal(polled_fresh(&polled, event, 1), 0);
	assert_int_equal(polled_fresh(&polled, 7, 1), 1); /* so many later it is forgotten */
	polled_fini(&polled);
}

static void
a_switch_answers_each_kind_of_request_once(void **state)
{
	struct polled polled;

	(void)state;
	polled_init(&polled, false);
	assert_int_equal(polled_fresh(&polled, 7, POLL_VICTIM), POLL_VICTIM);
	assert_int_equal(polled_fresh(&polled, 7, POLL_BOTH), POLL_PFC);
	assert_int_equal(polled_fresh(&polled, 7, POLL_BOTH), 0);
	/* Events that share no set leave each other alone. */
	for (uint32_t event = 100; event < 100 + POLLED_WAYS; event++)
		polled_fresh(&polled, event, POLL_VICTIM);
	assert_int_equal(polled_fresh(&polled, 7, POLL_BOTH), 0);
	polled_fini(&polled);
}

static void
a_poll_is_recorded_unless_it_is_one_of_a_flood(void **state)
{
	struct pkt poll = { .type = PKT_POLL, .flow = 1, .id = 77, .arg = POLL_VICTIM, .ttl = 62 };
	const struct rec_poll *rec;

	(void)state;
	recbuf_init(&buf, 9);
	polled_record(&poll, &table, 3, REC_NO_PORT, true, false, &buf, 1000);
	rec = nth(0);
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
	assert_null(nth(1));
	recbuf_fini(&buf);
}

static void
drops_are_reported_by_reason_but_for_a_blackhole(void **state)
{
	const struct telem_config drops_only = telem_config_of_host(NULL, 1);
	const struct pkt first = { .flow = 0, .wire_bytes = 100 }, last = { .flow = 1, .wire_bytes = 50 };
	const struct rec_drop_row *row;

	(void)state;
	begin(&drops_only);
	assert_false(port_drops_any(port.drops));
	assert_true(telem_reply(&port, &reporter, TELEM_DROPS, NULL, 77, 4000, 1));
	assert_null(nth(0));
	telem_drop(&port, &first, REC_DROP_BLACKHOLE, 500);
	telem_drop(&port, &first, REC_DROP_TTL, 1000);
	telem_drop(&port, &last, REC_DROP_TTL, 3000);
	telem_drop(&port, &first, REC_DROP_TTL, 900); /* another class's, of the same window */
	assert_true(port_drops_any(port.drops));
	assert_true(telem_reply(&port, &reporter, TELEM_DROPS, NULL, 77, 4000, 1));
	row = nth(0);
	assert_int_equal(row->hdr.type, REC_DROP_ROW);
	assert_int_equal(row->hdr.event, 77);
	assert_int_equal(row->reason, REC_DROP_TTL);
	assert_int_equal(row->port, 2);
	assert_int_equal(row->packets, 3);
	assert_int_equal(row->bytes, 250);
	assert_int_equal(row->first_ps, 900);
	assert_int_equal(row->last_ps, 3000);
	assert_int_equal(row->last.src_ip, 5);
	assert_null(nth(1));
	end();
}

static void
a_cut_link_is_reported_where_nothing_was_dropped(void **state)
{
	const struct telem_config drops_only = telem_config_of_host(NULL, 1);
	const struct rec_drop_row *row;

	(void)state;
	begin(&drops_only);
	port_drops_down(port.drops, 0);
	assert_false(port_drops_any(port.drops));
	telem_reply(&port, &reporter, TELEM_DROPS, NULL, 77, 4000, 1);
	row = nth(0);
	assert_non_null(row);
	assert_int_equal(row->reason, REC_DROP_LINK_DOWN);
	assert_int_equal(row->packets, 0);
	assert_int_equal(row->last.src_ip, 0);
	buf.used_bytes = 0;
	port_drops_down(port.drops, 3000); /* mended */
	telem_reply(&port, &reporter, TELEM_DROPS, NULL, 77, 4000, 1);
	row = nth(0);
	assert_int_equal(row->first_ps, 0);
	assert_int_equal(row->last_ps, 3000);
	assert_null(nth(1));
	end();
}

/* Rows of all collectors, in their order, are one reply: kept whole or not at all. */
static void
collectors_reply_in_order(void **state)
{
	const struct pkt p = { .flow = 1, .wire_bytes = 50 };
	const struct telem_present present = { .ingress_xoff_bytes = REC_NO_XOFF };
	static const uint16_t types[] = { REC_PORT_ROW, REC_FLOW_ROW, REC_METER_ROW, REC_DROP_ROW };
	size_t used;

	(void)state;
	begin(&config);
	telem_enqueue(&port, port_flows_slot(&port_flows, 1), 3, 0, 50, 0, false);
	telem_drop(&port, &p, REC_DROP_TTL, 3);
	assert_true(telem_reply(&port, &reporter, TELEM_ROWS, &present, 1, 10, 1));
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(((const struct rec_hdr *)nth(i))->type, types[i]);
	assert_null(nth(4));
	used = buf.used_bytes;
	assert_int_equal(count.unkept_reports, 0);
	assert_false(telem_reply(&port, &reporter, TELEM_ROWS, &present, 1, 59, 3)); /* thrice, what the first would take */
	assert_int_equal(count.unkept_reports, 3);
	assert_true(count.unkept_bytes >= 3 * recframe_bytes_of(buf.data, used));
	assert_int_equal(count.unkept_bytes % 3, 0);
	assert_int_equal(buf.used_bytes, used);
	assert_true(telem_reply(&port, &reporter, TELEM_ROWS, &present, 1, 60, 1));
	assert_true(buf.used_bytes > used);
	end();
}

/* The matrix of exact contention is counted with the packet, and only where it is asked for. */
static void
a_packet_counts_in_the_exact_matrix(void **state)
{
	struct telem_config exact = config;
	uint32_t slot;

	(void)state;
	exact.exact = true;
	begin(&exact);
	slot = port_flows_slot(&port_flows, 0);
	telem_first(&port, slot, 0);
	port_flows.queued[slot] = 2;
	telem_enqueue(&port, slot, 3, 0, 100, 2, false);
	assert_int_equal(port.epochs.open->matrix[slot][slot], 2);
	end();
	begin(&config);
	slot = port_flows_slot(&port_flows, 0);
	telem_first(&port, slot, 0);
	telem_enqueue(&port, slot, 3, 0, 100, 2, false);
	assert_null(port.epochs.open->matrix);
	end();
}

/* A NIC's batch counts as so many packets would. */
static void
a_batch_is_its_packets(void **state)
{
	struct epoch_sums one = { 0 }, many = { 0 };

	(void)state;
	begin(&config);
	telem_enqueue(&port, port_flows_slot(&port_flows, 0), 3, 0, 100, 1, false);
	telem_enqueue(&port, port_flows_slot(&port_flows, 0), 3, 0, 200, 3, true);
	epochs_sum(&port.epochs, port.epochs.open, &one);
	assert_int_equal(port.epochs.open->classes[0].meter[0], 300);
	end();
	begin(&config);
	telem_add(&port, &(struct telem_batch){ .slot = port_flows_slot(&port_flows, 0),
						.in_port = 0,
						.packets = 2,
						.paused_packets = 1,
						.depth_max = 3,
						.bytes = 300,
						.depth_sum = 4 });
	epochs_sum(&port.epochs, port.epochs.open, &many);
	assert_int_equal(port.epochs.open->classes[0].meter[0], 300);
	assert_int_equal(many.packets, 2);
	assert_memory_equal(&many, &one, sizeof(one));
	end();
}

static void
a_host_replies_before_its_poll_leaves(void **state)
{
	const struct telem_present present = { .ingress_xoff_bytes = REC_NO_XOFF };
	const struct pkt poll = { .type = PKT_POLL, .flow = 1, .id = 77, .arg = POLL_VICTIM };
	const struct telem_poll at = { &port, &reporter, &present, 1000, 2 };

	(void)state;
	begin(&config);
	assert_int_equal(telem_poll_leaves(&at, &poll, false), POLL_VICTIM);
	assert_int_equal(((const struct rec_hdr *)nth(0))->type, REC_POLL);
	assert_int_equal(((const struct rec_poll *)nth(0))->out_port, 2);
	assert_int_equal(((const struct rec_hdr *)nth(1))->type, REC_PORT_ROW);
	assert_int_equal(count.unkept_reports, 0);
	buf.used_bytes = 0;
	telem_pause(&port, 1 << 3, TELEM_PAUSED, 1010);
	telem_pause(&port, 1 << 3, TELEM_RESUMED, 1020);
	/* Again, too soon to be kept; the port was paused meanwhile. */
	assert_int_equal(telem_poll_leaves(&at, &poll, false), POLL_BOTH);
	assert_true(((const struct rec_poll *)nth(0))->repeated);
	assert_null(nth(1));
	assert_int_equal(count.unkept_reports, 1);
	end();
}

static void
a_host_where_a_poll_ends_reports_little(void **state)
{
	const struct pkt lost = { .flow = 1, .wire_bytes = 50 };
	struct pkt poll = { .type = PKT_POLL, .flow = 1, .id = 77, .arg = POLL_VICTIM };
	const struct telem_poll at = { &port, &reporter, NULL, 1000, 2 };
	enum telem_extent extent;

	(void)state;
	begin(&config);
	assert_false(telem_poll_asks(&port, &poll, &extent)); /* it neither pauses nor dropped */
	telem_drop(&port, &lost, REC_DROP_CORRUPT, 500);
	assert_false(telem_poll_asks(&port, &poll, &extent)); /* it has been asked */
	poll.psn++;
	assert_true(telem_poll_asks(&port, &poll, &extent));
	assert_int_equal(extent, TELEM_DROPS);
	telem_poll_reply(&at, &poll, extent);
	assert_int_equal(((const struct rec_poll *)nth(0))->in_port, 2);
	assert_int_equal(((const struct rec_hdr *)nth(1))->type, REC_DROP_ROW);
	assert_null(nth(2));
	poll.psn++;
	poll.arg = POLL_VICTIM | POLL_QUIET;
	assert_false(telem_poll_asks(&port, &poll, &extent));
	poll.psn++;
	poll.arg = POLL_PFC;
	assert_true(telem_poll_asks(&port, &poll, &extent));
	assert_int_equal(extent, TELEM_ROWS);
	end();
}

UNIT_TEST(collectors)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_answered_once),
		cmocka_unit_test(a_port_has_the_bytes_that_it_states),
		cmocka_unit_test(a_switch_answers_each_kind_of_request_once),
		cmocka_unit_test(a_poll_is_recorded_unless_it_is_one_of_a_flood),
		cmocka_unit_test(drops_are_reported_by_reason_but_for_a_blackhole),
		cmocka_unit_test(a_cut_link_is_reported_where_nothing_was_dropped),
		cmocka_unit_test(collectors_reply_in_order),
		cmocka_unit_test(a_packet_counts_in_the_exact_matrix),
		cmocka_unit_test(a_batch_is_its_packets),
		cmocka_unit_test(a_host_replies_before_its_poll_leaves),
		cmocka_unit_test(a_host_where_a_poll_ends_reports_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
