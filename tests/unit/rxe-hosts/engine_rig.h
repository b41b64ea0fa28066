/* SPDX-License-Identifier: BSD-3-Clause */
/* A steps_rig with what its tests have in common. For one test program each. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/units.h"
#include "tests/unit/rxe-hosts/steps_rig.h"
#include "workload/plan.h"

#define US PS_PER_US
#define MS PS_PER_MS
#define RING4 "collectives = ( { step_bytes = 1000; start = \"2ms\"; } );"

static struct steps_rig rig;

static inline void
init(uint32_t hosts, const char *scenario)
{
	steps_rig_init(&rig, hosts, REC_POLICY_OFF, scenario, NULL, NULL);
}

static inline int
teardown(void **state)
{
	steps_rig_fini(&rig);
	return 0;
}

static inline const struct rec_step *
step_record(uint32_t host, uint32_t n)
{
	return scripted_record(&rig.dev[host], REC_STEP, n);
}

static inline uint64_t
even(uint32_t host, uint32_t flow, uint32_t imm, uint64_t bytes)
{
	return 100 * US;
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)
