/* SPDX-License-Identifier: BSD-3-Clause */
/* A diagnosis without memory: whichever allocation is refused, there is no verdict, and nothing of one is left. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diag/registry.h"
#include "diag/verdict.h"
#include "tests/unit/alloc.h"
#include "tests/unit/diag/records.h"

/*
 * @param r      with its end; freed
 * @param every  of so many allocations one is refused
 * @param lacks  whether a verdict says which figure it has no memory for; NULL: none does without
 */
static inline void
refusals_are_reported(struct records *r, uint64_t every, bool (*lacks)(const struct verdict *v))
{
	uint64_t refused = 0;

	for (uint64_t nth = 1;; nth += every) {
		struct verdict *v = NULL;
		struct err err = { 0 };
		struct evidence ev;
		bool was;
		int rc;

		alloc_refuse(0);
		records_evidence(r, &ev);
		alloc_refuse(nth);
		rc = registry_diagnose(&ev, &v, &err);
		was = alloc_was_refused();
		if (was ? (v == NULL ? rc != -ENOMEM : lacks == NULL || !lacks(v)) : rc != 0)
			fail_msg("allocation %u: %d \"%s\"", (unsigned)nth, rc, err.text);
		if (v != NULL)
			verdict_destroy(v);
		evidence_fini(&ev);
		if (!was)
			break;
		refused++;
	}
	assert_true(refused > 10);
	records_fini(r);
}

static inline void
each_refusal_is_reported(struct records *r, bool (*lacks)(const struct verdict *v))
{
	refusals_are_reported(r, 1, lacks);
}
