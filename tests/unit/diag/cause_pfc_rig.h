/* SPDX-License-Identifier: BSD-3-Clause */
/* 17->18 takes 80 ms instead of 30.75 ms, and stands at 2:3 for some of it. For one test program each. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/diag/case.h"

#define LAST 79 /* epoch */

static inline bool
near_ms(double ps, double ms)
{
	return ps / 1e9 > ms - 0.01 && ps / 1e9 < ms + 0.01;
}

/* 2:3, which 17->18 goes through, is paused by 6; all that it sends goes to 6:2. */
static inline void
fabric(struct records *r, uint64_t pause_ps)
{
	case_fabric(r);
	records_step(r, 1, H17, REC_NONE, 0, 80 * MS);
	case_paused(r, SW2, 2, LAST, 250000, pause_ps);
	case_flow(r, SW2, 2, 1, F17, 0, LAST, 250000, 7500000);
	records_put_meter(r, SW6, records_meter_row(0, 1, 0, LAST, 250000 * 1348));
}
