/* SPDX-License-Identifier: BSD-3-Clause */
/* A circle of paused ports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/diag/cause_pfc_rig.h"
#include "tests/unit/unit.h"

/*
 * 2:3, 6:2, 3:3 and 6:1 wait for each other in a circle that 17->18 stands in, or comes to from its NIC. Where 18 pauses
 * its switch, the circle began out of the loop.
 */
static struct verdict *
deadlock(bool stands_in, bool storm)
{
	struct records r;

	case_fabric(&r);
	records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
	case_paused(&r, stands_in ? SW2 : H17, stands_in ? 2 : 0, LAST, 100, 70 * MS);
	case_flow(&r, stands_in ? SW2 : H17, stands_in ? 2 : 0, stands_in ? 1 : 0, F17, 0, LAST, 100, 0);
	if (!stands_in) {
		case_paused(&r, SW2, 2, LAST, 100, 70 * MS);
		records_put_meter(&r, SW2, records_meter_row(1, 2, 0, LAST, 1000));
	}
	case_paused(&r, SW6, 1, LAST, 100, 70 * MS);
	case_paused(&r, SW3, 2, LAST, 100, 70 * MS);
	case_paused(&r, SW6, 0, LAST, 100, 70 * MS);
	records_put_meter(&r, SW6, records_meter_row(0, 1, 0, LAST, 1000));
	records_put_meter(&r, SW3, records_meter_row(2, 2, 0, LAST, 1000));
	records_put_meter(&r, SW6, records_meter_row(1, 0, 0, LAST, 1000));
	records_put_meter(&r, SW2, records_meter_row(2, 2, 0, LAST, 1000));
	if (storm) {
		case_paused(&r, SW3, 0, LAST, 100, 70 * MS);
		records_put_meter(&r, SW3, records_meter_row(2, 0, 0, LAST, 1000));
	}
	return case_conclude(&r, REC_END_COMPLETE);
}

static void
test_deadlock_begins(void **state)
{
	for (int i = 0; i < 4; i++) {
		bool stands_in = i % 2 == 0, storm = i / 2 == 1;
		struct verdict *v = deadlock(stands_in, storm);
		const struct finding *finding = case_find(v, FINDING_PFC_DEADLOCK, "2:3", NULL);

		if (finding == NULL)
			fail_msg("%s", case_reason(v));
		assert_int_equal(finding->nports, 4);
		assert_non_null(strstr(case_evidence(v, finding), stands_in ? "is part of it" : "waits behind it"));
		assert_int_equal(finding->origin_port != RUN_NONE, storm);
		assert_int_equal(case_find(v, FINDING_PFC_STORM, "18:1", NULL) != NULL, storm);
		if (storm)
			assert_string_equal(v->run.ports[finding->origin_port].name, "18:1");
		assert_non_null(
			strstr(case_evidence(v, finding), storm ? "out of the loop, by pauses" : "began in the loop"));
		verdict_destroy(v);
	}
}

static void
put_standing(struct records *r, uint32_t node, uint16_t port)
{
	struct rec_port_row row = records_port_row(port, LAST, LAST, 0, 0, 0);

	row.paused = 1;
	row.paused_since_ps = MS;
	row.queue_packets = 100;
	records_put_port(r, node, row);
}

/* What an ingress fed to an egress before all stood still, and holds for it now. */
static void
put_held(struct records *r, uint32_t node, uint16_t in_port, uint16_t port, uint64_t moved_bytes, uint64_t held_bytes)
{
	struct rec_meter_row row = records_meter_row(in_port, port, LAST, LAST, 0);

	records_put_meter(r, node, records_meter_row(in_port, port, 0, 0, moved_bytes));
	row.held_bytes = held_bytes;
	records_put_meter(r, node, row);
}

/*
 * The same circle, standing still. All that 3:3 put into switch 6 is held for 6:3, but 6:1 had its share of it before: it
 * closes the circle, and no score passes there.
 */
static void
test_standing_circle(void **state)
{
	for (int fed = 0; fed < 2; fed++) {
		struct rec_flow_row flow = records_flow_row(2, F17, LAST, LAST, 0, 0);
		const struct finding *finding;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_step(&r, 1, H17, REC_NONE, 0, 80 * MS);
		put_standing(&r, SW2, 2);
		put_standing(&r, SW6, 1);
		put_standing(&r, SW3, 2);
		put_standing(&r, SW6, 0);
		put_standing(&r, SW6, 2);
		flow.queue_packets = 50;
		records_put_flow(&r, SW2, flow);
		put_held(&r, SW6, 0, 1, 1000, 1000);
		put_held(&r, SW3, 2, 2, 1000, 1000);
		put_held(&r, SW6, 1, 0, fed ? 1000 : 0, 0);
		put_held(&r, SW6, 1, 2, 1000, 1000);
		put_held(&r, SW2, 2, 2, 1000, 1000);
		v = case_conclude(&r, REC_END_COMPLETE);
		finding = case_find(v, FINDING_PFC_DEADLOCK, "2:3", NULL);
		assert_int_equal(finding != NULL, fed);
		if (fed)
			assert_int_equal(finding->nports, 4);
		verdict_destroy(v);
	}
}

UNIT_TEST(cause_deadlock)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deadlock_begins),
		cmocka_unit_test(test_standing_circle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
