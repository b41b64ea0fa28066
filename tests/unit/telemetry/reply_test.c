/* SPDX-License-Identifier: BSD-3-Clause */
/* What is kept of what a port is asked for: one report in a time, states without rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/units.h"
#include "common/wire/record_rows.h"
#include "telemetry/port.h"
#include "tests/unit/unit.h"

#define EPOCH_PS PS_PER_MS

static struct flow flows[1] = { { .src_ip = 1, .dst_ip = 2, .sport = 10, .dport = 20 } };
static const struct flow_table table = { .flows = flows, .count = 1 };
static struct telem_present present = { .ingress_bytes = 5000, .ingress_xoff_bytes = 30000 };
static struct recbuf records;
static struct report_count count;
static struct telem_reporter reporter;
static struct port_flows port_flows;
static struct telem_port port;

static bool
ask_for(bool whole, uint64_t now_ps)
{
	const struct report_count before = count;
	bool kept = telem_reply(&port, &reporter, whole ? TELEM_ROWS : TELEM_STATE, &present, 1, now_ps, 1);

	assert_int_equal(count.unkept_reports, before.unkept_reports + !kept);
	assert_true(kept ? count.unkept_bytes == before.unkept_bytes : count.unkept_bytes > before.unkept_bytes);
	assert_int_equal(reporter.spare.used_bytes, 0);
	return kept;
}

static bool
ask(uint64_t now_ps)
{
	return ask_for(true, now_ps);
}

static void
begin(const struct telem_config *config)
{
	recbuf_init(&records, 1);
	telem_reporter_init(&reporter, 1, &table, &records, &count);
	port_flows_init(&port_flows, &table);
	assert_int_equal(telem_init(&port, config, &port_flows, 0), 0);
	telem_enqueue(&port, port_flows_slot(&port_flows, 0), 3, 0, 1000, 0, false);
}

static void
end(void)
{
	telem_fini(&port);
	port_flows_fini(&port_flows);
	recbuf_fini(&records);
	telem_reporter_fini(&reporter);
}

static void
one_report_in_50_us_is_kept(void **state)
{
	const struct telem_config config = { .epoch_ps = EPOCH_PS, .kept = 3, .nports = 1, .retain_ps = 50 * PS_PER_US };
	uint64_t digest = 0;
	size_t first_bytes;

	(void)state;
	begin(&config);
	assert_true(ask(10 * PS_PER_US));
	first_bytes = records.used_bytes;
	assert_false(ask(11 * PS_PER_US));
	assert_false(ask(60 * PS_PER_US - 1));
	assert_int_equal(records.used_bytes, first_bytes);
	assert_true(ask(60 * PS_PER_US));
	assert_int_equal(records.used_bytes, 2 * first_bytes);

	/* An epoch closes and its report is not kept: the next one that is reports it. */
	assert_true(ask(EPOCH_PS - 10 * PS_PER_US));
	assert_true(telem_roll(&port, EPOCH_PS, &digest));
	assert_false(ask(EPOCH_PS + 10 * PS_PER_US));
	records.used_bytes = 0;
	assert_true(ask(EPOCH_PS + 40 * PS_PER_US));
	assert_int_equal(((const struct rec_port_row *)(const void *)records.data)->epoch_first, 0);
	assert_int_equal(((const struct rec_port_row *)(const void *)records.data)->packets, 1);
	end();
}

/* An ingress that is polled reports its state: no rows, nothing of the epochs; the rows go to the next poll. */
static void
a_state_alone_leaves_the_rows_unreported(void **state)
{
	const struct telem_config config = { .epoch_ps = EPOCH_PS, .kept = 3, .nports = 1, .retain_ps = 50 * PS_PER_US };
	const struct rec_port_row *row;
	uint64_t digest = 0;

	(void)state;
	begin(&config);
	assert_true(telem_roll(&port, EPOCH_PS, &digest));
	assert_true(ask_for(false, EPOCH_PS + 10 * PS_PER_US));
	row = (const void *)records.data;
	assert_int_equal(records.used_bytes, sizeof(*row));
	assert_int_equal(row->state_only, 1);
	assert_int_equal(row->ingress_bytes, 0);
	assert_int_equal(row->ingress_xoff_bytes, REC_NO_XOFF);
	assert_int_equal(row->packets, 0);
	records.used_bytes = 0;
	assert_false(ask_for(false, EPOCH_PS + 20 * PS_PER_US));
	assert_true(ask_for(true, EPOCH_PS + 20 * PS_PER_US));
	row = (const void *)records.data;
	assert_int_equal(row->epoch_first, 0);
	assert_int_equal(row->packets, 1);
	assert_int_equal(row->state_only, 0);
	assert_false(ask_for(false, EPOCH_PS + 60 * PS_PER_US)); /* it was in that report */
	end();
}

/* Its buffer shows whether an ingress that pauses has reason to; one that does not is not polled. */
static void
an_ingress_that_pauses_reports_its_buffer(void **state)
{
	const struct telem_config config = { .epoch_ps = EPOCH_PS, .kept = 3, .nports = 1 };
	const struct rec_port_row *row;

	(void)state;
	begin(&config);
	present.pausing = true;
	assert_true(ask_for(false, 10));
	row = (const void *)records.data;
	assert_int_equal(row->ingress_bytes, 5000);
	assert_int_equal(row->ingress_xoff_bytes, 30000);
	present.pausing = false;
	end();
}

static void
without_a_retention_all_are_kept(void **state)
{
	const struct telem_config config = { .epoch_ps = EPOCH_PS, .kept = 3, .nports = 1 };

	(void)state;
	begin(&config);
	assert_true(ask(10));
	assert_true(ask(11));
	assert_true(ask(11));
	end();
}

UNIT_TEST(reply)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_report_in_50_us_is_kept),
		cmocka_unit_test(a_state_alone_leaves_the_rows_unreported),
		cmocka_unit_test(an_ingress_that_pauses_reports_its_buffer),
		cmocka_unit_test(without_a_retention_all_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
