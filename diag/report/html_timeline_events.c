/* SPDX-License-Identifier: BSD-3-Clause */
/* What the timeline shows besides steps. */
#include <math.h>

#include "common/plain.h"
#include "common/wire/detection.h"
#include "diag/report/html_axis.h"

#define MAX_MARKS 2000
#define MAX_SEEN 6 /* findings with a row of their own */
#define POLL_PX 3.0

/* The distance of ticks: 1, 2 or 5 times a power of ten, at most ten of them. */
static double
tick_step(double span)
{
	double step = pow(10, floor(log10(span / 10)));

	while (span / step > 10)
		step *= span / step > 50 ? 10 : span / step > 20 ? 5 : 2;
	return step;
}

void
timeline_grid(const struct timeline *t, double height)
{
	struct fmt_unit unit = t->page->facts.unit;
	double from = (double)t->from_ps / (double)unit.ps, to = (double)t->to_ps / (double)unit.ps;
	double step = tick_step(to - from), first = ceil(from / step) * step;

	for (int i = 0; i <= 10 && first + i * step <= to; i++) {
		double at = first + i * step;
		double x = TIMELINE_LABEL + TIMELINE_PLOT * (at - from) / (to - from);

		fprintf(t->page->to,
			"<path class=\"grid\" d=\"M%.1f 16V%.1f\"/><text class=\"tick\" x=\"%.1f\" y=\"11\">%.*f "
			"%s</text>\n",
			x, height, x, step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0, at, unit.name);
	}
}

static bool
is_shown(const struct timeline *t, uint32_t rank)
{
	return rank < t->page->v->run.collectives[t->collective].ranks && t->row_of[rank] != RUN_NONE;
}

static void
draw_detections(const struct timeline *t)
{
	const struct verdict *v = t->page->v;

	for (uint32_t i = 0, drawn = 0; i < v->run.ndetections && drawn < MAX_MARKS; i++) {
		const struct run_detection *d = &v->run.detections[i];
		double x, y;

		if (d->step >= v->run.nsteps || v->run.steps[d->step].collective != t->collective ||
		    !is_shown(t, v->run.steps[d->step].rank))
			continue;
		x = timeline_x(t, d->time_ps);
		y = timeline_y(t, t->row_of[v->run.steps[d->step].rank]) + t->bar_px + 1;
		fprintf(t->page->to, "<path class=\"detection\" d=\"M%.1f %.1fl4 7h-8z\">", x, y);
		page_title(t->page, "detection %u at %s by %s step %u: %s %s, threshold %s; %u left", d->event,
			   fmt_time(t->page->facts.unit, d->time_ps).text, v->run.flows[v->run.steps[d->step].flow].name,
			   v->run.steps[d->step].step, d->cause == REC_TRIGGER_STALL ? "unacknowledged for" : "RTT",
			   fmt_time(fmt_unit_for(d->rtt_ps), d->rtt_ps).text,
			   fmt_time(fmt_unit_for(d->threshold_ps), d->threshold_ps).text, d->remaining);
		fputs("</path>\n", t->page->to);
		drawn++;
	}
}

static void
draw_notifications(const struct timeline *t)
{
	const struct verdict *v = t->page->v;

	for (uint32_t i = 0, drawn = 0; i < v->run.nnotifications && drawn < MAX_MARKS; i++) {
		const struct run_notification *n = &v->run.notifications[i];
		uint32_t row = n->from < v->run.nnodes ? t->row_of_host[n->from] : RUN_NONE;

		if (row == RUN_NONE || n->to >= v->run.nnodes || n->time_ps < t->from_ps || n->time_ps > t->to_ps)
			continue;
		fprintf(t->page->to, "<path class=\"notification\" d=\"M%.1f %.1fl3 4l-3 4l-3 -4z\">",
			timeline_x(t, n->time_ps), timeline_y(t, row) + t->bar_px);
		page_title(t->page, "%s hands %u detections to %s after its step %u, at %s", v->run.nodes[n->from].name,
			   n->detections, v->run.nodes[n->to].name, n->step,
			   fmt_time(t->page->facts.unit, n->time_ps).text);
		fputs("</path>\n", t->page->to);
		drawn++;
	}
}

void
timeline_events(const struct timeline *t)
{
	draw_notifications(t);
	draw_detections(t);
}

uint32_t
timeline_seen_rows(const struct timeline *t)
{
	const struct verdict *v = t->page->v;
	uint32_t rows = v->run.npolls > 0;

	for (uint32_t i = 0, shown = 0; i < v->nfindings && shown < MAX_SEEN; i++) {
		if (v->findings[i].collective == t->collective) {
			rows++;
			shown++;
		}
	}
	return rows;
}

/* Polls closer than a mark's width share it. */
static void
draw_polls(const struct timeline *t, uint32_t row)
{
	const struct verdict *v = t->page->v;
	FILE *to = t->page->to;

	fprintf(to, "<text class=\"label\" x=\"%.0f\" y=\"%.1f\">polls at switches</text>\n", TIMELINE_LABEL - 8,
		timeline_text_y(t, row));
	for (uint32_t i = 0, next; i < v->run.npolls; i = next) {
		double x = timeline_x(t, v->run.polls[i].time_ps);
		uint32_t paused = 0;

		for (next = i; next < v->run.npolls && timeline_x(t, v->run.polls[next].time_ps) - x < POLL_PX; next++)
			paused += v->run.polls[next].out_paused;
		if (v->run.polls[next - 1].time_ps < t->from_ps || v->run.polls[i].time_ps > t->to_ps)
			continue;
		fprintf(to, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"2\" height=\"%.0f\">",
			paused > 0 ? "pfc" : "poll", x, timeline_y(t, row), t->bar_px);
		page_title(t->page, "%s: %u answers to polls, %u of them from paused ports",
			   fmt_time(t->page->facts.unit, v->run.polls[i].time_ps).text, next - i, paused);
		fputs("</rect>\n", to);
	}
}

static void
draw_finding(const struct timeline *t, const struct finding *finding, uint32_t row)
{
	const struct verdict *v = t->page->v;
	FILE *to = t->page->to;
	bool pfc = finding->type == FINDING_PFC_BACKPRESSURE || finding->type == FINDING_PFC_STORM ||
		   finding->type == FINDING_PFC_DEADLOCK;
	double x = timeline_x(t, finding->start_ps), width = timeline_x(t, finding->end_ps) - x;
	char sentence[FACTS_TEXT], flow[96], label[192], shown[24];

	if (pfc)
		snprintf(label, sizeof(label), "PFC, root %s", finding->root);
	else if (finding->nflows > 0)
		snprintf(label, sizeof(label), "%s at %s", facts_flow(v, finding->flows[0], flow, sizeof(flow)),
			 finding->root);
	else
		snprintf(label, sizeof(label), "%s", finding->root);
	fputs("<g>", to);
	page_title(t->page, "%s\n%s", facts_finding(v, finding, sentence, sizeof(sentence)), finding->evidence);
	fprintf(to, "<text class=\"label\" x=\"%.0f\" y=\"%.1f\">", TIMELINE_LABEL - 8, timeline_text_y(t, row));
	escape_html(to, plain_text(label, shown, 20));
	fprintf(to, "</text><rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" rx=\"3\"/>",
		pfc ? "pfc" : "seen", x, timeline_y(t, row) + 3, width > 2 ? width : 2, t->bar_px - 6);
	fputs("</g>\n", to);
}

void
timeline_seen(const struct timeline *t)
{
	const struct verdict *v = t->page->v;
	uint32_t row = t->nrows;

	if (timeline_seen_rows(t) > 0)
		fprintf(t->page->to, "<path class=\"rule\" d=\"M0 %.1fH%d\"/>\n", timeline_y(t, t->nrows) - 3, PAGE_WIDTH);
	if (v->run.npolls > 0)
		draw_polls(t, row++);
	for (uint32_t i = 0, shown = 0; i < v->nfindings && shown < MAX_SEEN; i++) {
		if (v->findings[i].collective != t->collective)
			continue;
		draw_finding(t, &v->findings[i], row++);
		shown++;
	}
}
