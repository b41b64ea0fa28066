/* SPDX-License-Identifier: BSD-3-Clause */
/* Two anomalies at once. */
#include "common/array.h"
#include "eval/case.h"
#include "eval/place.h"

#define MIXED_CASES 30
#define LATEST_NS (120 * CASE_MS) /* while all ranks are at work, whatever else delays them */

static int
some_contention(struct eval_case *c)
{
	return inject_contention(c, case_pick(c, 2, 3), LATEST_NS);
}

static int
some_incast(struct eval_case *c)
{
	return inject_incast(c, case_pick(c, 3, 5), LATEST_NS);
}

static int
make_mixed(struct eval_case *c)
{
	static int (*const parts[])(struct eval_case *) = { some_contention, some_incast, inject_storm, inject_slow_host };
	uint32_t count = ARRAY_LEN(parts), first = case_pick(c, 0, count - 1);
	uint32_t second = (first + case_pick(c, 1, count - 1)) % count;
	int ret;

	if (case_pick(c, 0, 1) == 0)
		place_beside(c);
	ret = parts[first](c);
	return ret == 0 ? parts[second](c) : ret;
}

const struct family family_mixed = {
	.name = "mixed",
	.draws = "mixed",
	.cases = MIXED_CASES,
	.doc = "two of contention, incast, PFC storm and slow host at once",
	.make = make_mixed,
};
