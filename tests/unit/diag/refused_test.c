/* SPDX-License-Identifier: BSD-3-Clause */
/* A collective's diagnosis without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/diag/case.h"
#include "tests/unit/diag/flowpulse_rig.h"
#include "tests/unit/diag/pingmesh_rig.h"
#include "tests/unit/diag/refused_rig.h"
#include "tests/unit/unit.h"

static void
contention(void **state)
{
	struct records r;

	(void)state;
	case_study(&r);
	records_end(&r, REC_END_COMPLETE, 80 * MS);
	each_refusal_is_reported(&r, NULL);
}

static void
a_storm(void **state)
{
	struct records r;

	(void)state;
	case_stormy(&r);
	records_end(&r, REC_END_COMPLETE, 80 * MS);
	each_refusal_is_reported(&r, NULL);
}

/* Alarms of two links, one of them of a pair of places. */
static void
losses(void **state)
{
	struct records r;

	(void)state;
	put_network(&r);
	put_alarm(&r, 1, 1, REC_LOSS_REMOTE, 0, 1);
	put_alarm(&r, 1, 1, REC_LOSS_PAIR, 0, 2);
	put_alarm(&r, 2, 0, REC_LOSS_LOCAL, REC_NONE, 3);
	put_end(&r);
	each_refusal_is_reported(&r, NULL);
}

/* Probes that are lost at a link, at a NIC and by a host that is down, and two jobs that use what failed. */
static void
lost_probes(void **state)
{
	struct rig rig;

	(void)state;
	rig_init_lossy(&rig);
	rig.hosts[6].down_ps = 20 * PS_PER_S;
	rig.buffer = "16M";
	rig_stream(&rig);
	refusals_are_reported(&rig.r, 3, NULL);
}

UNIT_TEST(refused)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contention),
		cmocka_unit_test(a_storm),
		cmocka_unit_test(losses),
		cmocka_unit_test(lost_probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
