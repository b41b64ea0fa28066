/* SPDX-License-Identifier: BSD-3-Clause */
/* A link that takes longer than it is configured to: 17->18 takes 80 ms instead of 30.75 ms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/detection.h"
#include "common/wire/record.h"
#include "tests/unit/diag/case.h"

#define LAST 79 /* epoch */

/* What is seen of the step: round trips, and of its NIC and the three ports behind it. */
struct seen {
	uint64_t rtt_us; /* of two detections the shorter one */
	uint32_t depth, ports;
	uint32_t cause;
	bool sent_again, elsewhere; /* packets seen at a port that is not on the way */
	uint64_t nic_paused_ps;
	bool turned; /* packets left 6 by the port that they came in by: a loop */
};

static void
port(struct records *r, uint32_t node, uint16_t port, uint16_t in_port, uint32_t depth)
{
	records_put_port(r, node, records_port_row(port, 0, LAST, 250000, 0, depth));
	case_flow(r, node, port, in_port, F17, 0, LAST, 250000, 0);
}

static struct verdict *
conclude(const struct seen *seen)
{
	static const struct {
		uint32_t node;
		uint16_t port, in_port;
	} way[] = { { SW2, 2, 1 }, { SW6, 1, 0 }, { SW3, 0, 2 } };
	struct rec_step step = { .step = 1, WAITED_NONE, .bytes = 360000000, .acked_bytes = 360000000, .end_ps = 80 * MS };
	struct rec_port_row row = records_port_row(0, 0, LAST, 250000, 0, 0);
	struct records r;

	case_fabric(&r);
	step.retransmits = seen->sent_again;
	RECORDS_PUT(&r, step, REC_STEP, H17, 80 * MS);
	row.pause_ps = seen->nic_paused_ps;
	records_put_port(&r, H17, row);
	records_put_flow(&r, H17, records_flow_row(0, F17, 0, LAST, 250000, 0));
	for (uint32_t i = 0; i < seen->ports; i++)
		port(&r, way[i].node, way[i].port, seen->turned && way[i].node == SW6 ? way[i].port : way[i].in_port,
		     seen->depth);
	if (seen->elsewhere)
		port(&r, SW3, 1, 2, seen->depth);
	for (uint32_t i = 0; i < 2; i++) {
		struct rec_trigger trigger = { .hdr.event = 7 + i,
					       .flow = F17,
					       .step = 1,
					       .cause = seen->cause,
					       .rtt_ps = (seen->rtt_us + 5 * i) * PS_PER_US,
					       .threshold_ps = 12 * PS_PER_US };

		RECORDS_PUT(&r, trigger, REC_TRIGGER, H17, (20 + 20 * i) * MS);
	}
	return case_conclude(&r, REC_END_COMPLETE);
}

/* 30 us where an idle path takes 10: the path is named, and has what such round trips cost. */
static void
test_delay(void **state)
{
	struct verdict *v = conclude(&(struct seen){ .rtt_us = 30, .depth = 7, .ports = 3 });
	const struct finding *delay = case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL);

	assert_non_null(delay);
	assert_int_equal(v->nfindings, 1);
	assert_true(case_has_port(v, delay, "2:3") && case_has_port(v, delay, "6:2") && case_has_port(v, delay, "3:1"));
	assert_string_equal(v->run.flows[delay->victims[0]].name, "17->18/10000>10000");
	assert_true(delay->critical_ps == delay->explained_ps && delay->explained_ps > 0);
	assert_true(delay->explained_ps <= (double)(80 * MS - EXPECT));
	assert_false(delay->costless);
	assert_false(verdict_claim(v)->innocent);
	assert_non_null(strstr(case_evidence(v, delay),
			       "took 0.030 ms and more where an idle path takes 0.010, and no queue "
			       "on the way was deeper than 7 packets"));
	verdict_destroy(v);
}

/*
 * No delay: where queues may have been as deep as that (62 packets at each of three ports, of 108 ns, are more than 20 us); where a port of the way is unknown; where there was no sample; where packets
 * were sent again, or left their way; where the NIC was halted for a moment;
 * where packets went round.
 */
static void
test_no_delay(void **state)
{
	static const struct seen seen[] = {
		{ .rtt_us = 30, .depth = 62, .ports = 3 },
		{ .rtt_us = 30, .depth = 7, .ports = 2 },
		{ .rtt_us = 30, .depth = 7, .ports = 3, .cause = REC_TRIGGER_STALL },
		{ .rtt_us = 30, .depth = 7, .ports = 3, .sent_again = true },
		{ .rtt_us = 30, .depth = 7, .ports = 3, .elsewhere = true },
		{ .rtt_us = 11, .depth = 7, .ports = 3 },
		{ .rtt_us = 30, .depth = 7, .ports = 3, .nic_paused_ps = PS_PER_US },
		{ .rtt_us = 30, .depth = 7, .ports = 3, .turned = true },
	};

	for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++) {
		struct verdict *v = conclude(&seen[i]);

		assert_null(case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL));
		verdict_destroy(v);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_no_delay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
