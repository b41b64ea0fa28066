/* SPDX-License-Identifier: BSD-3-Clause */
/* When a report holds the open epoch: for news, and for pauses that last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "telemetry/epochs.h"
#include "tests/unit/telemetry/epochs_rig.h"
#include "tests/unit/unit.h"

#define MANY 8 /* epochs, beside which the open one is little */

/* A port of which nothing is reported but by what closes, unless it is worth notice. */
static void
setup_quiet(struct epochs *t, struct recbuf *buf, bool host)
{
	static struct telem_config quiet;

	quiet = config;
	quiet.quiet_depth = 8;
	quiet.kept = MANY + 2;
	quiet.host = host;
	init(t, &quiet, 0);
	recbuf_init(buf, 0);
}

/*
 * Epochs of one packet of flow 0 close after a report; then comes one of open_flow, and another report.
 * @return whether the open epoch was reported, beside the closed ones
 */
static bool
is_open_reported(struct epochs *t, struct recbuf *buf, uint32_t epochs, uint32_t depth, uint32_t open_flow,
		 uint32_t open_depth)
{
	const struct rec_port_row *closed, *open;
	uint64_t digest = 1, index = t->open->index + 1;

	assert_true(epochs_roll(t, index * PS_PER_MS, &digest));
	report(t, &nothing, buf, 1, index * PS_PER_MS + 5);
	for (uint32_t i = 0; i < epochs; i++) {
		enqueue(t, 0, 0, 100, depth, false);
		assert_true(epochs_roll(t, (index + i + 1) * PS_PER_MS, &digest));
	}
	enqueue(t, open_flow, 0, 200, open_depth, false);
	buf->used_bytes = 0;
	report(t, &nothing, buf, 2, (index + epochs) * PS_PER_MS + 5);
	closed = nth(buf, REC_PORT_ROW, 0);
	open = nth(buf, REC_PORT_ROW, 1);
	assert_int_equal(closed->packets, epochs);
	assert_int_equal(open->state_only ? 0 : 1, open->packets);
	assert_int_equal(nth(buf, REC_FLOW_ROW, 1) != NULL, !open->state_only);
	return !open->state_only;
}

/* What closed epochs report is reported of the open one once it is closed; a first queue is now, and of many a new flow. */
static void
the_open_epoch_is_reported_for_news(void **state)
{
	struct epochs t;
	struct recbuf buf;

	(void)state;
	setup_quiet(&t, &buf, false);
	enqueue(&t, 0, 0, 100, 7, false);
	report(&t, &nothing, &buf, 1, 5); /* no epoch is closed: the open one is all that there is */
	assert_int_equal(((const struct rec_port_row *)nth(&buf, REC_PORT_ROW, 0))->packets, 1);
	assert_false(is_open_reported(&t, &buf, 1, 7, 0, 7));
	assert_false(is_open_reported(&t, &buf, 1, 7, 1, 7)); /* nobody waits for it */
	assert_true(is_open_reported(&t, &buf, 1, 7, 0, 8));
	assert_true(is_open_reported(&t, &buf, MANY, 7, 0, 8));
	assert_true(is_open_reported(&t, &buf, MANY - 1, 8, 0, 8)); /* when is what counts */
	assert_false(is_open_reported(&t, &buf, MANY, 8, 0, 8));
	assert_true(is_open_reported(&t, &buf, MANY, 8, 1, 8));
	recbuf_fini(&buf);
	fini(&t);
	setup_quiet(&t, &buf, true); /* of a NIC no queue is too small */
	assert_true(is_open_reported(&t, &buf, MANY - 1, 0, 0, 0));
	assert_false(is_open_reported(&t, &buf, MANY, 0, 0, 0));
	recbuf_fini(&buf);
	fini(&t);
}

/* As of queues, so of pauses that come in, and that go out; those that last are reported up to the moment. */
static void
the_open_epoch_is_reported_for_pauses(void **state)
{
	enum { NONE, BEFORE, LASTS, ARRIVES };
	static const struct {
		int closed, now; /* a pause in the last closed epoch that ends there or lasts, and one in the open epoch */
		bool reported;
	} cases[] = {
		{ NONE, NONE, false },      { BEFORE, NONE, false }, { NONE, ARRIVES, true },
		{ BEFORE, ARRIVES, false }, { LASTS, LASTS, true },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		int closed = cases[i / 2].closed, now = cases[i / 2].now;
		uint64_t before_ps = MANY * PS_PER_MS - 9, open_ps = MANY * PS_PER_MS + 1, digest = 1;
		bool sent = i % 2;
		struct telem_present present = { .pausing = sent && now != NONE,
						 .pausing_since_ps = now == LASTS ? before_ps : open_ps };
		struct epochs t;
		struct recbuf buf;

		setup_quiet(&t, &buf, false);
		for (uint32_t epoch = 1; epoch <= MANY; epoch++) {
			enqueue(&t, 0, 0, 100, 0, false);
			if (epoch == MANY && closed != NONE && sent)
				epochs_pause(&t, 1 << 3, TELEM_XOFF_SENT, 0);
			if (epoch == MANY && closed != NONE && !sent)
				epochs_pause(&t, 1 << 3, TELEM_PAUSED, before_ps);
			if (epoch == MANY && closed == BEFORE && !sent)
				epochs_pause(&t, 1 << 3, TELEM_RESUMED, before_ps + 2);
			assert_true(epochs_roll(&t, epoch * PS_PER_MS, &digest));
		}
		if (now == ARRIVES && !sent)
			epochs_pause(&t, 1 << 3, TELEM_PAUSED, open_ps);
		report(&t, &present, &buf, 1, MANY * PS_PER_MS + 5);
		assert_int_equal(((const struct rec_port_row *)nth(&buf, REC_PORT_ROW, 1))->state_only,
				 !cases[i / 2].reported);
		recbuf_fini(&buf);
		fini(&t);
	}
}

/* A port that nothing left by: its queue, as it stands, is all that there is. */
static void
a_queue_that_stands_is_reported(void **state)
{
	const struct telem_present present = { .queue_packets = 9 };
	const struct rec_port_row *row;
	struct epochs t;
	struct recbuf buf;
	uint64_t digest = 1;

	(void)state;
	setup_quiet(&t, &buf, false);
	epochs_pause(&t, 1 << 3, TELEM_PAUSED, 100);
	epochs_pause(&t, 1 << 3, TELEM_RESUMED, MANY * PS_PER_MS - 5);
	assert_true(epochs_roll(&t, MANY * PS_PER_MS, &digest));
	report(&t, &present, &buf, 1, MANY * PS_PER_MS + 5);
	row = nth(&buf, REC_PORT_ROW, 1);
	assert_int_equal(row->state_only, 0);
	assert_int_equal(row->queue_packets, 9);
	recbuf_fini(&buf);
	fini(&t);
}

UNIT_TEST(epochs_open)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_open_epoch_is_reported_for_news),
		cmocka_unit_test(the_open_epoch_is_reported_for_pauses),
		cmocka_unit_test(a_queue_that_stands_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
