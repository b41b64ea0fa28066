/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank's steps over time: the expected part of a bar plain, the time lost colored, the critical path outlined. */
#include <errno.h>
#include <stdlib.h>

#include "common/plain.h"
#include "diag/report/html_axis.h"

#define MAX_BARS 3000     /* with more steps, neighbours share a bar */
#define MIN_SHARED_PX 9.0 /* how wide a shared bar gets before the next one starts */

static const struct run_collective *
collective_of(const struct timeline *t)
{
	return &t->page->v->run.collectives[t->collective];
}

/* Ranks on the critical path or with slow steps first; then others, while there is room. */
static void
choose_rows(struct timeline *t)
{
	const struct verdict *v = t->page->v;
	const struct run_collective *c = collective_of(t);
	uint32_t taken = 0;

	for (uint32_t r = 0; r < c->ranks; r++)
		t->row_of[r] = RUN_NONE;
	for (int round = 0; round < 4; round++) {
		for (uint32_t i = 0; i < c->nsteps && taken < TIMELINE_MAX_ROWS; i++) {
			const struct run_step *step = &v->run.steps[c->first_step + i];
			bool wanted = round == 0   ? vedrfolnir_step(t->page->v, step)->critical && step->slow
				      : round == 1 ? vedrfolnir_step(t->page->v, step)->critical
				      : round == 2 ? step->slow
						   : true;

			if (!wanted || step->rank >= c->ranks || t->row_of[step->rank] != RUN_NONE)
				continue;
			t->row_of[step->rank] = 0;
			taken++;
		}
	}
	for (uint32_t r = 0; r < c->ranks; r++) {
		if (t->row_of[r] != RUN_NONE)
			t->row_of[r] = t->nrows++;
	}
	t->row_px = t->nrows > TIMELINE_MANY_ROWS ? 17 : 28;
	t->bar_px = t->nrows > TIMELINE_MANY_ROWS ? 11 : 16;
}

/* A host of several ranks is found in the row of its first. */
static void
find_hosts(struct timeline *t)
{
	const struct verdict *v = t->page->v;
	const struct run_collective *c = collective_of(t);

	for (uint32_t n = 0; n < v->run.nnodes; n++)
		t->row_of_host[n] = RUN_NONE;
	for (uint32_t i = c->first_step; i < c->first_step + c->nsteps; i++) {
		const struct run_step *step = &v->run.steps[i];

		if (t->row_of_host[step->host] == RUN_NONE)
			t->row_of_host[step->host] = t->row_of[step->rank];
	}
}

static void
bar(const struct timeline *t, const char *class, uint32_t row, uint64_t from_ps, uint64_t to_ps)
{
	double x = timeline_x(t, from_ps), width = timeline_x(t, to_ps) - x;

	fprintf(t->page->to, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\"/>", class, x,
		timeline_y(t, row), width > 0.6 ? width : 0.6, t->bar_px);
}

static void
draw_step(const struct timeline *t, uint32_t index)
{
	const struct run_step *step = &t->page->v->run.steps[index];
	uint64_t expected_ps = step->start_ps + step->expect_ps;
	uint64_t plain_ps = expected_ps < step->end_ps ? expected_ps : step->end_ps;
	const char *class = page_excess_class(step);
	uint32_t row = t->row_of[step->rank];
	double x = timeline_x(t, step->start_ps), width = timeline_x(t, step->end_ps) - x;

	fputs("<g>", t->page->to);
	page_step_title(t->page, index);
	bar(t, step->open ? "x0 faint" : "x0", row, step->start_ps, plain_ps);
	if (class[1] != '0' && step->end_ps > plain_ps)
		bar(t, class, row, plain_ps, step->end_ps);
	if (vedrfolnir_step(t->page->v, step)->critical)
		bar(t, "critical", row, step->start_ps, step->end_ps);
	else
		bar(t, "edge", row, step->start_ps, step->end_ps);
	if (width > 16)
		fprintf(t->page->to, "<text class=\"in\" x=\"%.1f\" y=\"%.1f\">%u%s</text>", x + 4, timeline_text_y(t, row),
			step->step, step->open ? " open" : "");
	fputs("</g>\n", t->page->to);
}

/* Several steps as one bar, in the color of the worst. @param last  inclusive */
static void
draw_shared(const struct timeline *t, uint32_t first, uint32_t last)
{
	const struct verdict *v = t->page->v;
	const struct run_step *worst = &v->run.steps[first];
	uint32_t slow = 0;
	bool critical = false;

	for (uint32_t i = first; i <= last; i++) {
		const struct run_step *step = &v->run.steps[i];

		slow += step->slow;
		critical |= vedrfolnir_step(t->page->v, step)->critical;
		if (step->open || (!worst->open && facts_excess(facts_exec_ps(step), step->expect_ps) >
							   facts_excess(facts_exec_ps(worst), worst->expect_ps)))
			worst = step;
	}
	fputs("<g>", t->page->to);
	page_title(t->page, "%s steps %u to %u: %u slow%s, worst %s", v->run.flows[worst->flow].name,
		   v->run.steps[first].step, v->run.steps[last].step, slow, critical ? ", on the critical path" : "",
		   facts_change(worst).text);
	bar(t, page_excess_class(worst), t->row_of[worst->rank], v->run.steps[first].start_ps, v->run.steps[last].end_ps);
	bar(t, critical ? "critical" : "edge", t->row_of[worst->rank], v->run.steps[first].start_ps,
	    v->run.steps[last].end_ps);
	fputs("</g>\n", t->page->to);
}

static void
draw_steps(const struct timeline *t)
{
	const struct verdict *v = t->page->v;
	const struct run_collective *c = collective_of(t);
	bool shared = (uint64_t)t->nrows * c->steps_per_rank > MAX_BARS;

	for (uint32_t i = c->first_step, last; i < c->first_step + c->nsteps; i = last + 1) {
		const struct run_step *step = &v->run.steps[i];
		double from = timeline_x(t, step->start_ps);

		last = i;
		if (!step->started || t->row_of[step->rank] == RUN_NONE)
			continue;
		while (shared && last + 1 < c->first_step + c->nsteps && v->run.steps[last + 1].rank == step->rank &&
		       v->run.steps[last + 1].started && timeline_x(t, v->run.steps[last].end_ps) - from < MIN_SHARED_PX)
			last++;
		if (last > i)
			draw_shared(t, i, last);
		else
			draw_step(t, i);
	}
}

/* Where the path passes from one rank to the next. */
static void
draw_path(const struct timeline *t)
{
	const struct verdict *v = t->page->v;
	const struct waiting_graph *w = &vedrfolnir_of(v)->waiting[t->collective];

	for (uint32_t i = 0; i + 1 < w->npath; i++) {
		const struct run_step *from = &v->run.steps[w->path[i]], *to = &v->run.steps[w->path[i + 1]];
		uint32_t a = t->row_of[from->rank], b = t->row_of[to->rank];

		if (a == RUN_NONE || b == RUN_NONE || a == b)
			continue;
		fprintf(t->page->to, "<path class=\"pass\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", timeline_x(t, from->end_ps),
			timeline_y(t, a) + (a < b ? t->bar_px : 0), timeline_x(t, to->start_ps),
			timeline_y(t, b) + (a < b ? 0 : t->bar_px));
	}
}

/* A rank that always sends to the same peer is named by its flow. */
static void
draw_labels(const struct timeline *t)
{
	const struct verdict *v = t->page->v;
	const struct run_collective *c = collective_of(t);

	for (uint32_t i = 0; i < c->nsteps; i++) {
		const struct run_step *step = &v->run.steps[c->first_step + i];
		bool one_flow = true;
		char name[96], shown[24];

		if (step->step != 1 || t->row_of[step->rank] == RUN_NONE)
			continue;
		for (uint32_t n = i; n < c->nsteps && v->run.steps[c->first_step + n].rank == step->rank; n++)
			one_flow &= v->run.steps[c->first_step + n].flow == step->flow;
		if (one_flow)
			facts_flow(v, step->flow, name, sizeof(name));
		else
			snprintf(name, sizeof(name), "rank %u: %s", step->rank, v->run.nodes[step->host].name);
		fprintf(t->page->to, "<g>");
		page_title(t->page, "rank %u on host %s: %s", step->rank, v->run.nodes[step->host].name, name);
		fprintf(t->page->to, "<text class=\"label\" x=\"%.0f\" y=\"%.1f\">", TIMELINE_LABEL - 8,
			timeline_text_y(t, t->row_of[step->rank]));
		escape_html(t->page->to, plain_text(name, shown, 19));
		fputs("</text></g>\n", t->page->to);
	}
}

static void
write_legend(const struct timeline *t)
{
	const struct run_collective *c = collective_of(t);
	FILE *to = t->page->to;

	fputs("<p class=\"legend\">", to);
	page_excess_legend(t->page);
	fputs("<span><i class=\"key k\"></i>critical path</span>", to);
	if (t->page->v->run.ndetections > 0)
		fputs("<span><i class=\"key d\"></i>detection (a poll left)</span>", to);
	if (t->page->v->run.nnotifications > 0)
		fputs("<span><i class=\"key t\"></i>detections handed on</span>", to);
	fputs("<span>Numbers in bars are steps.</span>", to);
	if (t->nrows < c->ranks)
		fprintf(to, "<span>%u of %u ranks shown: those on the critical path and with slow steps first.</span>",
			t->nrows, c->ranks);
	if ((uint64_t)t->nrows * c->steps_per_rank > MAX_BARS)
		fputs("<span>Neighbouring short steps share a bar in the color of the worst.</span>", to);
	fputs("</p>\n", to);
}

int
page_timeline(const struct page *page)
{
	const struct run_collective *c;
	struct timeline t = { .page = page, .collective = page->facts.worst };
	double height;

	if (t.collective == RUN_NONE)
		return 0;
	c = collective_of(&t);
	t.from_ps = c->start_ps;
	t.to_ps = c->start_ps + facts_took_ps(page->v, c);
	if (t.to_ps <= t.from_ps)
		return 0;
	t.row_of = calloc((size_t)c->ranks + 1, sizeof(*t.row_of));
	t.row_of_host = calloc((size_t)page->v->run.nnodes + 1, sizeof(*t.row_of_host));
	if (t.row_of == NULL || t.row_of_host == NULL) {
		free(t.row_of);
		free(t.row_of_host);
		return -ENOMEM;
	}
	choose_rows(&t);
	find_hosts(&t);
	height = timeline_y(&t, t.nrows + timeline_seen_rows(&t)) + 6;
	fputs("<section><h2>Timeline</h2>\n", page->to);
	if (page->v->run.ncollectives > 1)
		fprintf(page->to, "<p>Collective %u, iteration %u: the slowest of %u.</p>\n", c->id, c->iteration,
			page->v->run.ncollectives);
	fprintf(page->to, "<svg class=\"timeline\" viewBox=\"0 0 %d %.0f\">\n", PAGE_WIDTH, height);
	timeline_grid(&t, height - 4);
	draw_labels(&t);
	draw_steps(&t);
	draw_path(&t);
	timeline_events(&t);
	timeline_seen(&t);
	fputs("</svg>\n", page->to);
	write_legend(&t);
	fputs("</section>\n", page->to);
	free(t.row_of);
	free(t.row_of_host);
	return 0;
}
