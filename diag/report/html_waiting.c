/* SPDX-License-Identifier: BSD-3-Clause */
/* The waiting graph: a row a rank, a column a step. A box is a step's dark edge, an arrow a light one. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/plain.h"
#include "diag/report/html_page.h"

#define MAX_RANKS 32
#define MAX_STEPS 40
#define MAX_CHAIN 96 /* boxes of a critical path drawn alone */
#define LABEL 60.0
#define TOP 24.0
#define ROW 40.0
#define BOX_HEIGHT 24.0
#define CHAIN_COLUMNS 10

struct grid {
	const struct page *page;
	uint32_t collective;
	const struct run_collective *c;
	double column, box; /* px */
};

static double
box_x(const struct grid *g, uint32_t step)
{
	return LABEL + g->column * (step - 1);
}

static double
box_y(uint32_t rank)
{
	return TOP + ROW * rank;
}

static double
grid_width(const struct grid *g)
{
	return box_x(g, g->c->steps_per_rank + 1) + 60;
}

static void
draw_box(const struct page *page, uint32_t index, bool pruned, double x, double y, double width)
{
	const struct run_step *step = &page->v->run.steps[index];

	fputs("<g>", page->to);
	page_step_title(page, index);
	fprintf(page->to, "<rect class=\"box %s%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" rx=\"4\"/>",
		pruned          ? "pruned"
		: step->started ? page_excess_class(step)
				: "unstarted",
		vedrfolnir_step(page->v, step)->critical ? " critical-box" : "", x, y, width, BOX_HEIGHT);
	if (width >= 44)
		fprintf(page->to, "<text class=\"boxtext%s\" x=\"%.1f\" y=\"%.1f\">%s</text>", pruned ? " faint" : "",
			x + width / 2, y + 16,
			step->started ? fmt_time_bare(page->facts.unit, facts_exec_ps(step)).text : "-");
	fputs("</g>\n", page->to);
}

/* From what waits, to what it waited for: an arrow to the left. */
static void
draw_edge(const struct grid *g, const struct waiting_edge *edge)
{
	const struct verdict *v = g->page->v;
	const struct waiting_graph *w = &vedrfolnir_of(v)->waiting[g->collective];
	const struct run_step *to = &v->run.steps[w->vertices[edge->to].step];
	double x1 = grid_width(g) - 38, y1 = box_y(0) + BOX_HEIGHT / 2 + ROW * (g->c->ranks - 1) / 2;
	double x2 = box_x(g, to->step) + g->box + 2, y2 = box_y(to->rank) + BOX_HEIGHT / 2, bend;

	if (edge->kind == WAITING_EXEC)
		return;
	if (edge->kind != WAITING_LAST) {
		const struct run_step *from = &v->run.steps[w->vertices[edge->from].step];

		x1 = box_x(g, from->step);
		y1 = box_y(from->rank) + BOX_HEIGHT / 2;
	}
	bend = (x1 - x2) * 0.5;
	fprintf(g->page->to,
		"<path class=\"wait%s\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\" marker-end=\"url(#%s)\"/>\n",
		edge->critical ? " bold"
		: edge->pruned ? " pruned"
			       : "",
		x1, y1, x1 - bend, y1, x2 + bend, y2, x2, y2,
		edge->critical ? "arrow-bold"
		: edge->pruned ? "arrow-faint"
			       : "arrow");
}

static void
draw_grid(const struct grid *g)
{
	const struct verdict *v = g->page->v;
	const struct waiting_graph *w = &vedrfolnir_of(v)->waiting[g->collective];
	FILE *to = g->page->to;
	double height = box_y(g->c->ranks) - 4, end_y = box_y(0) + BOX_HEIGHT / 2 + ROW * (g->c->ranks - 1) / 2;

	fprintf(to,
		"<div class=\"scroll\"><svg class=\"waiting\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
		"height=\"%.0f\">\n",
		grid_width(g), height, grid_width(g), height);
	for (uint32_t s = 1; s <= g->c->steps_per_rank; s++)
		fprintf(to, "<text class=\"tick\" x=\"%.1f\" y=\"12\">%s%u</text>\n", box_x(g, s) + g->box / 2,
			s == 1 ? "step " : "", s);
	for (uint32_t i = 0; i < w->nedges; i++) {
		if (!w->edges[i].critical)
			draw_edge(g, &w->edges[i]);
	}
	for (uint32_t i = 0; i < w->nedges; i++) {
		if (w->edges[i].critical)
			draw_edge(g, &w->edges[i]);
	}
	for (uint32_t i = 0; i < w->nvertices; i++) {
		const struct waiting_vertex *vertex = &w->vertices[i];
		const struct run_step *step;

		/* Both vertices of a step are pruned together, but for its end, which goes first. */
		if (vertex->kind != WAITING_END)
			continue;
		step = &v->run.steps[vertex->step];
		draw_box(g->page, vertex->step, vertex->pruned, box_x(g, step->step), box_y(step->rank), g->box);
		if (step->step == 1) {
			char name[12];

			fprintf(to, "<text class=\"label\" x=\"%.0f\" y=\"%.1f\">", LABEL - 10, box_y(step->rank) + 16);
			escape_html(to, plain_text(v->run.nodes[step->host].name, name, 8));
			fputs("</text>\n", to);
		}
	}
	fprintf(to,
		"<g class=\"end\"><circle cx=\"%.1f\" cy=\"%.1f\" r=\"16\"/><text x=\"%.1f\" "
		"y=\"%.1f\">end</text></g>\n</svg></div>\n",
		grid_width(g) - 22, end_y, grid_width(g) - 22, end_y + 4);
}

/* A critical path too long for a grid: its steps in reading order, runs of undisturbed ones in one box. */
static void
draw_chain(const struct grid *g)
{
	const struct verdict *v = g->page->v;
	const struct waiting_graph *w = &vedrfolnir_of(v)->waiting[g->collective];
	FILE *to = g->page->to;
	uint32_t boxes = 0;

	fputs("<ol class=\"chain\">\n", to);
	for (uint32_t i = 0, next; i < w->npath && boxes < MAX_CHAIN; i = next, boxes++) {
		const struct run_step *step = &v->run.steps[w->path[i]];
		char flow[96];

		for (next = i; next < w->npath && !v->run.steps[w->path[next]].slow; next++)
			;
		if (next > i + 1) {
			fprintf(to, "<li><span class=\"box x0\">%u steps as expected</span></li>\n", next - i);
			continue;
		}
		next = i + 1;
		fprintf(to, "<li><span class=\"box %s\">", page_excess_class(step));
		escape_htmlf(to, "%s step %u: %s (%s)", facts_flow(v, step->flow, flow, sizeof(flow)), step->step,
			     fmt_time(g->page->facts.unit, facts_exec_ps(step)).text, facts_change(step).text);
		fputs("</span></li>\n", to);
	}
	fputs("</ol>\n", to);
	fprintf(to,
		"<p class=\"legend\"><span>%u ranks by %u steps are too many to draw: this is the critical path, first "
		"step "
		"first%s. All of the graph is in waiting.dot.</span></p>\n",
		g->c->ranks, g->c->steps_per_rank, boxes == MAX_CHAIN ? ", cut" : "");
}

int
page_waiting(const struct page *page)
{
	struct grid g = { .page = page, .collective = page->facts.worst };

	if (g.collective == RUN_NONE || vedrfolnir_of(page->v)->waiting[g.collective].nvertices == 0)
		return 0;
	g.c = &page->v->run.collectives[g.collective];
	fputs("<section><h2>Waiting graph</h2>\n", page->to);
	if (g.c->ranks > MAX_RANKS || g.c->steps_per_rank > MAX_STEPS) {
		draw_chain(&g);
	} else {
		g.column = fmin(150, fmax(86, (PAGE_WIDTH - LABEL - 60) / g.c->steps_per_rank));
		g.box = g.column * 0.62;
		draw_grid(&g);
		fputs("<p class=\"legend\">", page->to);
		page_excess_legend(page);
		fprintf(page->to,
			"<span><i class=\"key k\"></i>critical path</span><span><i class=\"key g\"></i>pruned: nobody "
			"waited for it</span><span>A box is a step with its time (%s), an arrow points at what "
			"it waited for.</span></p>\n",
			page->facts.unit.name);
	}
	fputs("</section>\n", page->to);
	return 0;
}
