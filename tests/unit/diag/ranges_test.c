/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a step's time are found without a look at the others: none that overlaps it is ever left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/prng.h"
#include "common/wire/record.h"
#include "tests/unit/diag/records.h"
#include "tests/unit/unit.h"

#define ROWS 400
#define LAST_MS 100
#define WINDOWS 300

static bool
overlaps(uint64_t from_ps, uint64_t to_ps, uint64_t window_from_ps, uint64_t window_to_ps)
{
	return to_ps >= window_from_ps && from_ps <= window_to_ps;
}

static void
assert_inside(struct ev_range range, uint32_t i)
{
	assert_true(i >= range.first && i < range.end);
}

/* Rows over one to ten epochs, that overlap; reports and pauses of any time since. */
static void
put_rows(struct records *r, struct prng *prng)
{
	for (int i = 0; i < ROWS; i++) {
		uint32_t first = (uint32_t)prng_below(prng, LAST_MS), last = first + (uint32_t)prng_below(prng, 10);
		uint64_t time_ps = (last + 1 + prng_below(prng, 20)) * PS_PER_MS;
		struct rec_port_row row = records_port_row((uint16_t)(i % 3), first, last, 100, 0, 0);
		struct rec_meter_row meter =
			records_meter_row((uint16_t)((i + 1) % 3), (uint16_t)(i % 3), first, last, prng_below(prng, 3));

		row.queue_packets = 1;
		row.prio = meter.prio = prng_below(prng, 2) == 0 ? 3 : 4;
		row.paused = prng_below(prng, 2) == 0;
		row.paused_since_ps = prng_below(prng, time_ps);
		RECORDS_PUT(r, row, REC_PORT_ROW, 0, time_ps);
		RECORDS_PUT(r, meter, REC_METER_ROW, 0, time_ps);
	}
}

static void
check_port(const struct evidence *ev, uint32_t port, uint64_t from_ps, uint64_t to_ps)
{
	const struct ev_port *p = &ev->ports[port];
	struct ev_range epochs = evidence_epochs(ev, port, from_ps, to_ps);
	struct ev_range states = evidence_states(ev, port, from_ps, to_ps);

	assert_true(p->nepochs > 10 && p->nstates > 10);
	for (uint32_t i = p->first_epoch; i < p->first_epoch + p->nepochs; i++) {
		if (overlaps(ev->epochs[i].from_ps, ev->epochs[i].to_ps, from_ps, to_ps))
			assert_inside(epochs, i);
	}
	for (uint32_t i = p->first_state; i < p->first_state + p->nstates; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);
		uint64_t time_ps = row->hdr.time_ps;

		if (overlaps(time_ps, time_ps, from_ps, to_ps) ||
		    (row->paused && row->paused_since_ps < to_ps && time_ps > from_ps))
			assert_inside(states, i);
	}
}

static void
check_feed(const struct evidence *ev, const struct ev_feed *feed, uint64_t from_ps, uint64_t to_ps)
{
	struct ev_range rows = evidence_feed_rows(ev, feed, from_ps, to_ps);
	uint32_t first_moved[8];

	memset(first_moved, 0xff, sizeof(first_moved));

	for (uint32_t i = feed->first_row; i < feed->first_row + feed->nrows; i++) {
		const struct ev_feed_row *at = &ev->feed_rows[i];

		assert_int_equal(at->row->port, ev->ports[feed->egress].index);
		if (at->row->bytes != 0 && first_moved[at->row->prio] == EV_NONE)
			first_moved[at->row->prio] = i;
		if (overlaps(at->from_ps, at->to_ps, from_ps, to_ps) ||
		    overlaps(at->row->hdr.time_ps, at->row->hdr.time_ps, from_ps, to_ps))
			assert_inside(rows, i);
	}
	assert_memory_equal(feed->first_moved, first_moved, sizeof(first_moved));
}

static void
test_none_left_out(void **state)
{
	struct records r;
	struct evidence ev;
	struct prng prng;
	uint32_t spared = 0;

	(void)state;
	prng_init(&prng, 3, 0);
	records_init(&r);
	records_run(&r);
	records_node(&r, 0, "s", false, 3);
	for (uint16_t p = 0; p < 3; p++) {
		struct rec_port port = { .port = p, .peer = REC_NONE, .rate_bps = RECORDS_RATE_BPS };

		RECORDS_PUT(&r, port, REC_PORT, 0, 0);
	}
	put_rows(&r, &prng);
	records_evidence(&r, &ev);
	for (int w = 0; w < WINDOWS; w++) {
		uint64_t from_ps = prng_below(&prng, LAST_MS) * PS_PER_MS;
		uint64_t to_ps = from_ps + prng_below(&prng, 5 * PS_PER_MS);
		uint32_t rows = 0;

		for (uint32_t p = 0; p < ev.nports; p++) {
			struct ev_range epochs = evidence_epochs(&ev, p, from_ps, to_ps);

			check_port(&ev, p, from_ps, to_ps);
			spared += ev.ports[p].nepochs - (epochs.end - epochs.first);
			for (uint32_t f = 0; f < ev.ports[p].nfeeds; f++) {
				const struct ev_feed *feed = &ev.feeds[ev.ports[p].first_feed + f];

				check_feed(&ev, feed, from_ps, to_ps);
				rows += feed->nrows;
			}
		}
		assert_int_equal(rows, ev.meter_rows.count);
	}
	assert_true(spared > WINDOWS * ev.nepochs / 2);
	evidence_fini(&ev);
	records_fini(&r);
}

UNIT_TEST(ranges)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_none_left_out) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
