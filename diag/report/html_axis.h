/* SPDX-License-Identifier: BSD-3-Clause */
/* The time axis and the rows of the timeline: between its files only. */
#pragma once

#include "diag/report/html_page.h"

#define TIMELINE_MAX_ROWS 64
#define TIMELINE_LABEL 152.0 /* px left of the plot */
#define TIMELINE_PLOT (PAGE_WIDTH - TIMELINE_LABEL - 12)
#define TIMELINE_TOP 26.0
#define TIMELINE_MANY_ROWS 24 /* more are drawn thinner */

struct timeline {
	const struct page *page;
	uint32_t collective;
	uint64_t from_ps, to_ps;
	uint32_t *row_of_host; /* [nodes] that of its first rank shown, RUN_NONE: none */
	uint32_t *row_of;      /* [ranks] row, RUN_NONE: not shown */
	uint32_t nrows;
	double row_px, bar_px;
};

static inline double
timeline_x(const struct timeline *t, uint64_t time_ps)
{
	uint64_t at_ps = time_ps < t->from_ps ? t->from_ps : time_ps > t->to_ps ? t->to_ps : time_ps;

	return TIMELINE_LABEL + TIMELINE_PLOT * (double)(at_ps - t->from_ps) / (double)(t->to_ps - t->from_ps);
}

static inline double
timeline_y(const struct timeline *t, uint32_t row)
{
	return TIMELINE_TOP + t->row_px * row;
}

/* Baseline of a text beside a row. */
static inline double
timeline_text_y(const struct timeline *t, uint32_t row)
{
	return timeline_y(t, row) + t->bar_px / 2 + 4;
}

/* Vertical lines and their times, down to height. */
void timeline_grid(const struct timeline *t, double height);
/* Detections and notifications, on the rows of their hosts. */
void timeline_events(const struct timeline *t);
/* Rows below the steps: polling packets, and when switches saw what the findings name. @return rows added */
uint32_t timeline_seen_rows(const struct timeline *t);
void timeline_seen(const struct timeline *t);
