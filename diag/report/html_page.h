/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that write the page only: one section each. */
#pragma once

#include <stdio.h>

#include "diag/report/escape.h"
#include "diag/report/facts.h"

#define PAGE_WIDTH 1180 /* of every drawing, px */

struct page {
	FILE *to;
	struct facts facts;
	const struct verdict *v;
};

/* Sections, in the page's order. @return 0 or -ENOMEM */
int page_topology(const struct page *page);
int page_timeline(const struct page *page);
int page_waiting(const struct page *page);
int page_provenance(const struct page *page);
void page_contributors(const struct page *page);
void page_findings(const struct page *page);
void page_evidence(const struct page *page);

/* How much longer than expected a step took, as a class of colors: "x0" (as expected) to "x3", "xo" (open). */
const char *page_excess_class(const struct run_step *step);
/* A hover title: <title>...</title>, escaped. */
void page_title(const struct page *page, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void page_step_title(const struct page *page, uint32_t step);
/* Keys of the colors of steps. */
void page_excess_legend(const struct page *page);

/* The flow whose delay the page explains: of the slowest critical step that the root cause hit. Or RUN_NONE. */
uint32_t page_victim(const struct page *page);
