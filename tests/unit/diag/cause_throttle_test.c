/* SPDX-License-Identifier: BSD-3-Clause */
/* A sender held back without a queue: who shared a full link with it is named, and nobody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/detection.h"
#include "common/wire/record.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

/*
 * 17->18 took 60 ms instead of 30.75. At 6:2, 100 Gbps, 9273 frames of 1348 B fill a millisecond; no queue grew.
 * @param cause  of the step's detection
 * @param load    packets of both flows a millisecond, in equal parts
 * @param before  packets a millisecond at 2:3, which the step passes first: its own, and the rest another's; 0: no row
 */
static struct verdict *
shared_ports(uint32_t cause, uint32_t load, uint32_t before)
{
	struct rec_trigger trigger = { .flow = F17, .step = 1, .cause = cause, .rtt_ps = 20, .threshold_ps = 24 };
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	trigger.hdr.event = 7;
	trigger.rank = r.rank_of[H17];
	RECORDS_PUT(&r, trigger, REC_TRIGGER, H17, 40 * MS);
	records_step(&r, 1, H17, REC_NONE, 0, 60 * MS);
	records_put_port(&r, SW6, records_port_row(1, 0, 59, 60 * load, 0, 3));
	case_flow(&r, SW6, 1, 0, BF2, 0, 59, 30 * load, 0);
	case_flow(&r, SW6, 1, 2, F17, 0, 59, 30 * load, 0);
	if (before != 0) {
		records_put_port(&r, SW2, records_port_row(2, 0, 59, 60 * before, 0, 3));
		case_flow(&r, SW2, 2, 0, BF1, 0, 59, 60 * before - 30 * load, 0);
		case_flow(&r, SW2, 2, 1, F17, 0, 59, 30 * load, 0);
	}
	records_end(&r, REC_END_COMPLETE, 60 * MS);
	v = case_diagnose(&r);
	records_fini(&r);
	return v;
}

static struct verdict *
shared_port(uint32_t cause, uint32_t load)
{
	return shared_ports(cause, load, 0);
}

static void
test_who_shares_a_full_link_is_named(void **state)
{
	struct verdict *v = shared_port(REC_TRIGGER_THROTTLE, 8800);
	const struct finding *found = case_find(v, FINDING_FLOW_CONTENTION, "6:2", "13->19/78>78");

	if (found == NULL)
		fail_msg("no contention: %s", case_reason(v));
	assert_int_equal(v->nfindings, 1);
	assert_float_equal((float)found->score, 30.0f * 8800, 1.0f);
	assert_non_null(strstr(case_evidence(v, found), "its sender was held back, and 6:2 was full: 264000 packets of "
							"13->19/78>78 passed there beside its 264000 reported"));
	/* 264000 frames of 107.84 ns are 28.5 ms beside those packets of the step that rows show: all of 29.25 ms lost. */
	assert_float_equal((float)(found->explained_ps / 1e9), 29.25f, 0.01f);
	verdict_destroy(v);
}

/* A window goes by the fullest link: who shares another one, full as it may be, holds nobody back. */
static void
test_the_fullest_link_counts(void **state)
{
	struct verdict *v = shared_ports(REC_TRIGGER_THROTTLE, 8800, 8000);

	assert_non_null(case_find(v, FINDING_FLOW_CONTENTION, "6:2", "13->19/78>78"));
	assert_int_equal(v->nfindings, 1);
	verdict_destroy(v);
	v = shared_ports(REC_TRIGGER_THROTTLE, 8000, 8800);
	assert_non_null(case_find(v, FINDING_FLOW_CONTENTION, "2:3", "15->18/77>77"));
	assert_int_equal(v->nfindings, 1);
	verdict_destroy(v);
}

/* Nobody is held back by a link that has time to spare, nor without a word of the sender's. */
static void
test_a_link_to_spare_or_a_free_sender_shows_nothing(void **state)
{
	struct verdict *v = shared_port(REC_TRIGGER_THROTTLE, 6000);

	assert_int_equal(v->nfindings, 0);
	verdict_destroy(v);
	v = shared_port(REC_TRIGGER_RTT, 8800);
	assert_int_equal(v->nfindings, 0);
	verdict_destroy(v);
}

/* 15->16 took 38.43 ms instead of 30.75 and shared its NIC with 15->18. @return what that explains, ms */
static double
nic_ms(uint64_t paced_ps, uint64_t rtt_ps)
{
	struct rec_step step = { .step = 1,
				 .rank = 1,
				 WAITED_NONE,
				 .bytes = 360000000,
				 .acked_bytes = 360000000,
				 .end_ps = 38430 * PS_PER_US,
				 .rtt_min_ps = rtt_ps,
				 .rtt_mean_ps = rtt_ps,
				 .rtt_samples = rtt_ps != 0,
				 .paced_ps = paced_ps };
	const struct finding *found;
	struct records r;
	struct verdict *v;
	double ms;

	case_fabric(&r);
	RECORDS_PUT(&r, step, REC_STEP, H15, step.end_ps);
	case_contention(&r, H15, 0, 0, 37, 1, F15, 270000, BF1, 100000);
	v = case_conclude(&r, REC_END_COMPLETE);
	found = case_find(v, FINDING_FLOW_CONTENTION, "15:1", "15->18/77>77");
	ms = found != NULL ? found->explained_ps / 1e9 : 0;
	verdict_destroy(v);
	return ms;
}

/*
 * 276924 packets of round trips of 10 us, 92.7 at once, are 29.9 of 38.4 ms: the rest may have been waited for at the
 * NIC, but not what pacing took, nor what longer round trips did.
 */
static void
test_pacing_is_no_wait_for_the_nic(void **state)
{
	assert_float_equal((float)nic_ms(0, 0), 7.68f, 0.01f);
	assert_float_equal((float)nic_ms(5 * MS, 0), 3.56f, 0.02f);
	assert_float_equal((float)nic_ms(10 * MS, 0), 0.0f, 0.0f);
	assert_float_equal((float)nic_ms(0, 12 * PS_PER_US), 2.59f, 0.03f);
}

UNIT_TEST(cause_throttle)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_shares_a_full_link_is_named),
		cmocka_unit_test(test_the_fullest_link_counts),
		cmocka_unit_test(test_a_link_to_spare_or_a_free_sender_shows_nothing),
		cmocka_unit_test(test_pacing_is_no_wait_for_the_nic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
