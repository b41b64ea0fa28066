/* SPDX-License-Identifier: BSD-3-Clause */
/* What polling packets show of links: one that takes longer than it is configured to, whatever waits in queues. */
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

#define LAST 79 /* epoch */
#define PACKETS 250000
#define DEPTH 400 /* packets before each at 2:3: 43 us */

/* A polling packet of 17->18 that goes by 2:3 and 6:2. */
struct asked {
	uint64_t at_ps, late_ps; /* leaves 2; takes longer to 6 */
	bool paused, repeated;   /* 2:3 is; it had been at 6 before */
	bool other;              /* it is another one that arrives at 6 */
};

static void
ask(struct records *r, uint32_t event, const struct asked *asked)
{
	struct rec_poll left = {
		.hdr.event = event, .victim = F17, .in_port = 1, .out_port = 2, .flags = 1, .out_paused = asked->paused
	};
	struct rec_poll there = { .hdr.event = event + asked->other,
				  .victim = F17,
				  .in_port = 0,
				  .out_port = 1,
				  .flags = 1,
				  .repeated = asked->repeated };
	struct rec_poll last = {
		.hdr.event = event + asked->other, .victim = F17, .in_port = 2, .out_port = 0, .flags = 1
	};

	RECORDS_PUT(r, left, REC_POLL, SW2, asked->at_ps);
	RECORDS_PUT(r, there, REC_POLL, SW6, asked->at_ps + PS_PER_US + asked->late_ps);
	RECORDS_PUT(r, last, REC_POLL, SW3, asked->at_ps + 2 * PS_PER_US + asked->late_ps);
}

/* Round trips of 40 us, of which queues may be all that exceeds 10. @param clock_error_ps  of hosts */
static struct verdict *
conclude(const struct asked *asked, uint32_t count, uint64_t clock_error_ps)
{
	static const struct {
		uint32_t node;
		uint16_t port, in_port;
	} hop[] = { { SW2, 2, 1 }, { SW6, 1, 0 }, { SW3, 0, 2 } };
	struct records r;
	struct rec_step step = { .step = 1,
				 WAITED_NONE,
				 .bytes = 360000000,
				 .acked_bytes = 360000000,
				 .end_ps = 80 * MS,
				 .rtt_min_ps = 12 * PS_PER_US,
				 .rtt_mean_ps = 40 * PS_PER_US,
				 .rtt_samples = PACKETS };

	case_fabric(&r);
	for (uint32_t i = 0; i < count; i++)
		ask(&r, 10 * (i + 1), &asked[i]);
	for (size_t i = 0; i < ARRAY_LEN(hop); i++) {
		records_put_port(&r, hop[i].node,
				 records_port_row(hop[i].port, 0, LAST, PACKETS, i == 0 ? PACKETS * DEPTH : 0, DEPTH));
		case_flow(&r, hop[i].node, hop[i].port, hop[i].in_port, F17, 0, LAST, PACKETS,
			  i == 0 ? PACKETS * DEPTH : 0);
	}
	RECORDS_PUT(&r, step, REC_STEP, H17, 80 * MS);
	r.clock_error_ps = clock_error_ps;
	return case_conclude(&r, REC_END_COMPLETE);
}

/* The link is named, to the port. Half of the packets were late: that is half of the excess. */
static void
test_late_over_a_link(void **state)
{
	double all_ps = 0;

	for (uint32_t late = 0; late <= 2; late++) {
		struct asked asked[2] = { { .at_ps = 20 * MS, .late_ps = late > 0 ? 20 * PS_PER_US : 0 },
					  { .at_ps = 40 * MS, .late_ps = late > 1 ? 20 * PS_PER_US : 0 } };
		struct verdict *v = conclude(asked, 2, 0);
		const struct finding *delay = case_find(v, FINDING_PATH_DELAY, "2:3", NULL);

		assert_int_equal(v->nfindings, late != 0);
		assert_int_equal(delay != NULL, late != 0);
		if (late == 2)
			assert_true(delay->explained_ps > 1.5 * all_ps);
		if (delay != NULL) {
			all_ps = delay->explained_ps;
			assert_non_null(strstr(case_evidence(v, delay),
					       "polling packets, which go ahead of data, took longer from 2:3 to 6:1"));
		}
		verdict_destroy(v);
	}
}

/* What else makes a record late, or shows nothing. */
static void
test_no_late_link(void **state)
{
	static const struct asked asked[] = {
		{ .at_ps = 20 * MS, .late_ps = 20 * PS_PER_US, .paused = true },
		{ .at_ps = 20 * MS, .late_ps = 20 * PS_PER_US, .repeated = true },
		{ .at_ps = 20 * MS, .late_ps = 20 * PS_PER_US, .other = true },
		{ .at_ps = 20 * MS, .late_ps = PS_PER_US / 2 }, /* less than 5 % of a round trip */
		{ .at_ps = 81 * MS, .late_ps = 20 * PS_PER_US },
	};
	struct verdict *v;

	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		v = conclude(&asked[i], 1, 0);
		assert_null(case_find(v, FINDING_PATH_DELAY, "2:3", NULL));
		verdict_destroy(v);
	}
	v = conclude(&(struct asked){ .at_ps = 20 * MS, .late_ps = 20 * PS_PER_US }, 1, PS_PER_US);
	assert_null(case_find(v, FINDING_PATH_DELAY, "2:3", NULL));
	verdict_destroy(v);
}

UNIT_TEST(cause_polled)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late_over_a_link),
		cmocka_unit_test(test_no_late_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
