/* SPDX-License-Identifier: BSD-3-Clause */
/* Provenance graphs: the collective's flows above, ports in the middle, flows from outside below. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/plain.h"
#include "diag/report/html_page.h"
#include "diag/report/provenance_layout.h"

#define MAX_GRAPHS 12
#define MAX_SCORES 6

struct drawing {
	const struct page *page;
	const struct provenance *g;
	const struct plane *plane;
};

struct line {
	double x1, y1, x2, y2;
};

static const char *const edge_classes[] = {
	[PROVENANCE_FLOW_PORT] = "waits", [PROVENANCE_PORT_FLOW] = "gives", [PROVENANCE_PORT_PORT] = "halts"
};

static void
edge_title(const struct drawing *d, const struct provenance_edge *edge)
{
	const struct verdict *v = d->page->v;
	const struct provenance_vertex *from = &d->g->vertices[edge->from], *to = &d->g->vertices[edge->to];

	switch (edge->kind) {
	case PROVENANCE_FLOW_PORT:
		page_title(d->page, "w(f,p): %s waited at %s for %s packets ahead of its own", v->run.flows[from->ref].name,
			   v->run.ports[to->ref].name, fmt_score(edge->weight).text);
		break;
	case PROVENANCE_PORT_FLOW:
		page_title(d->page, "w(p,f): %s contributed %s packet-waits to %s", v->run.flows[to->ref].name,
			   fmt_score(edge->weight).text, v->run.ports[from->ref].name);
		break;
	default:
		page_title(d->page, "w(pi,pj): %.1f %% of what halted %s sends goes to %s", 100 * edge->weight,
			   v->run.ports[from->ref].name, v->run.ports[to->ref].name);
	}
}

/* Ends on the shapes' edges. The two edges between a flow and a port lie beside each other. */
static struct line
edge_line(const struct drawing *d, const struct provenance_edge *edge)
{
	const struct plane_spot *from = &d->plane->spots[edge->from], *to = &d->plane->spots[edge->to];
	double side = edge->kind == PROVENANCE_PORT_FLOW ? 9 : -9;

	if (edge->kind == PROVENANCE_PORT_PORT) {
		double right = to->x > from->x ? 1 : -1;

		return (struct line){ from->x + right * PLANE_PORT_HALF, from->y, to->x - right * (PLANE_PORT_HALF + 3),
				      to->y };
	}
	return (struct line){ from->x + side, from->y + (to->y > from->y ? 14 : -14), to->x + side,
			      to->y + (to->y > from->y ? -17 : 17) };
}

/* Nearer to the start, so that the labels of the two directions stand apart. */
static void
draw_label(const struct drawing *d, const struct provenance_edge *edge, struct line l, double bend)
{
	double at = edge->kind == PROVENANCE_PORT_PORT ? 0.5 : 0.36;
	double x = l.x1 + (l.x2 - l.x1) * at, y = l.y1 + (l.y2 - l.y1) * at + 4;

	fprintf(d->page->to, "<g class=\"%s\">", edge_classes[edge->kind]);
	edge_title(d, edge);
	if (edge->kind == PROVENANCE_PORT_PORT)
		fprintf(d->page->to, "<text x=\"%.1f\" y=\"%.1f\">%.0f %%</text></g>\n", x, y - 8 - bend / 2,
			100 * edge->weight);
	else
		fprintf(d->page->to, "<text x=\"%.1f\" y=\"%.1f\">%s</text></g>\n", x, y, fmt_score(edge->weight).text);
}

static void
draw_line(const struct drawing *d, const struct provenance_edge *edge, struct line l, double bend)
{
	double share = d->plane->most[edge->kind] > 0 ? edge->weight / d->plane->most[edge->kind] : 0;
	const char *class = edge_classes[edge->kind];

	fprintf(d->page->to, "<g class=\"%s\">", class);
	edge_title(d, edge);
	fprintf(d->page->to,
		"<path d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\" stroke-width=\"%.1f\" "
		"marker-end=\"url(#arrow-%s)\"/></g>\n",
		l.x1, l.y1, (l.x1 + l.x2) / 2, (l.y1 + l.y2) / 2 - bend, l.x2, l.y2, 1.2 + 3.3 * sqrt(share), class);
}

/* Labels over all lines. Edges of next to no weight are left out. */
static void
draw_edges(const struct drawing *d)
{
	for (int labels = 0; labels < 2; labels++) {
		for (uint32_t e = 0; e < d->g->nedges; e++) {
			const struct provenance_edge *edge = &d->g->edges[e];
			struct line l = edge_line(d, edge);
			double bend = edge->kind == PROVENANCE_PORT_PORT && fabs(l.x2 - l.x1) > d->plane->pitch ? 44 : 0;

			if (!d->plane->spots[edge->from].shown || !d->plane->spots[edge->to].shown ||
			    !plane_shows(d->plane, edge))
				continue;
			if (labels)
				draw_label(d, edge, l, bend);
			else
				draw_line(d, edge, l, bend);
		}
	}
}

static void
draw_port(const struct drawing *d, uint32_t index)
{
	const struct verdict *v = d->page->v;
	const struct provenance_vertex *vertex = &d->g->vertices[index];
	const struct plane_spot *spot = &d->plane->spots[index];
	const struct finding *root = facts_root(v);
	bool is_root = root != NULL && root->root_port == vertex->ref;
	FILE *to = d->page->to;
	char name[16];

	fprintf(to, "<g class=\"port%s%s\">", vertex->paused ? " halted" : "", is_root ? " isroot" : "");
	page_title(d->page, "port %s%s: %s packets, summed depth %s, paused %s%s", v->run.ports[vertex->ref].name,
		   is_root ? " (root cause)" : "", fmt_score(vertex->packets).text, fmt_score(vertex->depth_sum).text,
		   fmt_time(d->page->facts.unit, vertex->pause_ps > 0 ? (uint64_t)vertex->pause_ps : 0).text,
		   vertex->pausing ? "; it told its peer to stop" : "");
	fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"28\" rx=\"4\"/><text x=\"%.1f\" y=\"%.1f\">",
		spot->x - PLANE_PORT_HALF, spot->y - 14, 2 * PLANE_PORT_HALF, spot->x, spot->y + 4);
	escape_html(to, plain_text(v->run.ports[vertex->ref].name, name, 11));
	fputs("</text></g>\n", to);
}

static void
draw_flow(const struct drawing *d, uint32_t index)
{
	const struct verdict *v = d->page->v;
	const struct provenance_vertex *vertex = &d->g->vertices[index];
	const struct plane_spot *spot = &d->plane->spots[index];
	FILE *to = d->page->to;
	char name[96], shown[24];

	fprintf(to, "<g class=\"flow%s%s\">", vertex->collective ? " own" : " other", vertex->victim ? " victim" : "");
	page_title(d->page, "%s%s", v->run.flows[vertex->ref].name,
		   vertex->victim       ? ": the step's flow"
		   : vertex->collective ? ", of the collective"
					: ", not of the collective");
	facts_flow(v, vertex->ref, name, sizeof(name));
	fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"128\" height=\"26\" rx=\"13\"/><text x=\"%.1f\" y=\"%.1f\">",
		spot->x - 64, spot->y - 13, spot->x, spot->y + 4);
	escape_html(to, plain_text(name, shown, 17));
	fputs("</text></g>\n", to);
}

static void
write_scores(const struct drawing *d)
{
	const struct verdict *v = d->page->v;
	const struct provenance *g = d->g;
	char flow[96];

	fputs("<p class=\"legend\"><span>", d->page->to);
	escape_htmlf(d->page->to, "What each flow did to this step, R(f, cf) of Eq. 2:%s",
		     g->nscores == 0 ? " nothing" : "");
	fputs("</span>", d->page->to);
	for (uint32_t i = 0; i < g->nscores && i < MAX_SCORES; i++) {
		fprintf(d->page->to, "<span><b>");
		escape_html(d->page->to, facts_flow(v, g->scores[i].flow, flow, sizeof(flow)));
		fprintf(d->page->to, "</b> %s</span>", fmt_score(g->scores[i].score).text);
	}
	if (g->cyclic)
		fputs("<span class=\"warn\">Ports wait for each other in a circle: a deadlock.</span>", d->page->to);
	if (g->present)
		fputs("<span>Some weights come from queues as they stood: the epochs kept were empty.</span>", d->page->to);
	if (d->plane->hidden > 0)
		fprintf(d->page->to, "<span>%u weaker ports and flows are in provenance.dot.</span>", d->plane->hidden);
	fputs("</p>\n", d->page->to);
}

static int
write_graph(const struct page *page, uint32_t index)
{
	struct plane plane;
	struct drawing d = { .page = page, .g = &vedrfolnir_of(page->v)->graphs[index], .plane = &plane };
	const struct run_step *step = &page->v->run.steps[d.g->step];
	char flow[96];

	if (plane_init(&plane, page->v, d.g) != 0)
		return -ENOMEM;
	fprintf(page->to, "<div class=\"graph\" id=\"graph%u\"><h3>", index);
	escape_htmlf(page->to, "%s step %u: %s instead of %s%s", facts_flow(page->v, step->flow, flow, sizeof(flow)),
		     step->step, fmt_time(page->facts.unit, facts_exec_ps(step)).text,
		     fmt_time(page->facts.unit, step->expect_ps).text,
		     vedrfolnir_step(page->v, step)->critical ? ", on the critical path" : "");
	fprintf(page->to, "</h3>\n<svg class=\"provenance\" viewBox=\"0 0 %d %.0f\">\n", PAGE_WIDTH, plane.height);
	draw_edges(&d);
	for (uint32_t i = 0; i < d.g->nvertices; i++) {
		if (plane.spots[i].shown && d.g->vertices[i].kind == PROVENANCE_PORT)
			draw_port(&d, i);
		else if (plane.spots[i].shown)
			draw_flow(&d, i);
	}
	fputs("</svg>\n", page->to);
	write_scores(&d);
	fputs("</div>\n", page->to);
	plane_fini(&plane);
	return 0;
}

/* The critical path's graphs first, then by time lost. @param out  [MAX_GRAPHS]  @return how many */
static uint32_t
choose_graphs(const struct verdict *v, uint32_t *out)
{
	uint32_t count = 0;

	for (uint32_t g = 0; g < vedrfolnir_of(v)->ngraphs; g++) {
		const struct run_step *step = &v->run.steps[vedrfolnir_of(v)->graphs[g].step];
		uint32_t at = count < MAX_GRAPHS ? count++ : MAX_GRAPHS;

		/* Insertion: the list is short. What falls off its end is the weakest. */
		for (; at > 0; at--) {
			const struct run_step *other = &v->run.steps[vedrfolnir_of(v)->graphs[out[at - 1]].step];

			if (vedrfolnir_step(v, other)->critical != vedrfolnir_step(v, step)->critical
				    ? vedrfolnir_step(v, other)->critical
				    : facts_excess(facts_exec_ps(other), other->expect_ps) >=
					      facts_excess(facts_exec_ps(step), step->expect_ps))
				break;
			if (at < MAX_GRAPHS)
				out[at] = out[at - 1];
		}
		if (at < MAX_GRAPHS)
			out[at] = g;
	}
	return count;
}

static void
write_choice(const struct page *page, const uint32_t *graphs, uint32_t count)
{
	const struct verdict *v = page->v;
	char flow[96];

	fputs("<p class=\"choice\"><label>Step <select id=\"choose\">", page->to);
	for (uint32_t i = 0; i < count; i++) {
		const struct run_step *step = &v->run.steps[vedrfolnir_of(v)->graphs[graphs[i]].step];

		fprintf(page->to, "<option value=\"graph%u\">", graphs[i]);
		escape_htmlf(page->to, "%s step %u, %s%s", facts_flow(v, step->flow, flow, sizeof(flow)), step->step,
			     facts_change(step).text, vedrfolnir_step(page->v, step)->critical ? ", critical" : "");
		fputs("</option>", page->to);
	}
	fprintf(page->to, "</select></label> %u of %u slow steps with telemetry; all are in provenance.dot</p>\n", count,
		vedrfolnir_of(v)->ngraphs);
}

static void
write_markers(FILE *to)
{
	static const char *const names[] = { "arrow",       "arrow-bold",  "arrow-faint",
					     "arrow-waits", "arrow-gives", "arrow-halts" };

	fputs("<svg class=\"defs\" width=\"0\" height=\"0\"><defs>", to);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		fprintf(to,
			"<marker id=\"%s\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"9\" "
			"markerHeight=\"9\" "
			"markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker>",
			names[i]);
	fputs("</defs></svg>\n", to);
}

int
page_provenance(const struct page *page)
{
	uint32_t graphs[MAX_GRAPHS], count = choose_graphs(page->v, graphs);
	int rc = 0;

	write_markers(page->to);
	if (count == 0)
		return 0;
	fputs("<section><h2>Provenance graph</h2>\n", page->to);
	write_choice(page, graphs, count);
	for (uint32_t i = 0; rc == 0 && i < count; i++)
		rc = write_graph(page, graphs[i]);
	fputs("<p class=\"legend\"><span><i class=\"key w\"></i>a flow waits at a port: packets ahead of its own</span>"
	      "<span><i class=\"key c\"></i>a port's queue is due to a flow: packet-waits</span><span><i class=\"key "
	      "p\"></i>a "
	      "halted port waits for another: share of what it sends</span></p>\n</section>\n",
	      page->to);
	return rc;
}
