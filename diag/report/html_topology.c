/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric: each end of a link has the color of what its port sent, PFC and the root cause are marked at ports. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/plain.h"
#include "diag/report/html_page.h"
#include "diag/report/topology_layout.h"

#define MAX_NODES 400
#define LAYER_HEIGHT 122.0
#define MARGIN 34.0
#define PAUSED_SHARE 0.01 /* of the collective's time: less is PFC at its ordinary work */
#define PORT_OUT 30.0     /* from a node's middle to its port's mark */

struct point {
	double x, y;
};

struct drawing {
	const struct page *page;
	struct layout layout;
	bool *culprit; /* [nports] the top contributor was seen there */
	uint64_t most_bytes;
	uint64_t least_pause_ps; /* that is marked */
};

static struct point
place(const struct drawing *d, uint32_t node)
{
	const struct layout_node *at = &d->layout.nodes[node];

	return (struct point){ PAGE_WIDTH * (at->place + 0.5) / d->layout.width[at->layer],
			       MARGIN + LAYER_HEIGHT * (d->layout.nlayers - 1 - at->layer) };
}

/*
 * Both ends of a port's link; links between the same two nodes are drawn beside each other.
 * @return false if the port is not drawn
 */
static bool
port_line(const struct drawing *d, uint32_t port, struct point *from, struct point *to)
{
	const struct verdict *v = d->page->v;
	const struct run_port *p = &v->run.ports[port];
	const struct run_node *node = &v->run.nodes[p->node];
	double dx, dy, length, shift;
	int same = 0, before = 0;

	if (p->peer_node >= v->run.nnodes || p->peer_port >= v->run.nports || !d->layout.nodes[p->node].shown ||
	    !d->layout.nodes[p->peer_node].shown)
		return false;
	for (uint32_t i = node->first_port; i < node->first_port + node->nports; i++) {
		same += v->run.ports[i].peer_node == p->peer_node;
		before += v->run.ports[i].peer_node == p->peer_node && i < port;
	}
	*from = place(d, p->node);
	*to = place(d, p->peer_node);
	dx = to->x - from->x;
	dy = to->y - from->y;
	length = sqrt(dx * dx + dy * dy);
	if (same > 1 && length > 0) {
		/* Both ends must shift to the same side: the side is taken from the lower node number. */
		shift = 7.0 * (before - (same - 1) / 2.0) * (p->node < p->peer_node ? 1 : -1) / length;
		from->x -= dy * shift;
		from->y += dx * shift;
		to->x -= dy * shift;
		to->y += dx * shift;
	}
	return true;
}

static struct point
mark_at(struct point from, struct point to)
{
	double dx = to.x - from.x, dy = to.y - from.y, length = sqrt(dx * dx + dy * dy);
	double share = length > 2 * PORT_OUT ? PORT_OUT / length : 0.35;

	return (struct point){ from.x + dx * share, from.y + dy * share };
}

static void
line(const struct drawing *d, const char *class, struct point a, struct point b)
{
	fprintf(d->page->to, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", class, a.x, a.y, b.x,
		b.y);
}

static struct point
middle(struct point a, struct point b)
{
	return (struct point){ (a.x + b.x) / 2, (a.y + b.y) / 2 };
}

static const char *
load_class(const struct drawing *d, const struct run_port *port)
{
	double share = d->most_bytes > 0 ? (double)port->bytes / (double)d->most_bytes : 0;

	if (!port->reported || port->packets == 0)
		return port->reported ? "link l0" : "link";
	return share > 0.75 ? "link l4" : share > 0.5 ? "link l3" : share > 0.25 ? "link l2" : "link l1";
}

static void
port_title(const struct drawing *d, const struct run_port *port)
{
	const struct verdict *v = d->page->v;
	struct fmt_unit unit = d->page->facts.unit;

	if (!port->reported) {
		page_title(d->page, "%s to %s\nno telemetry came of it", port->name, v->run.ports[port->peer_port].name);
		return;
	}
	page_title(d->page,
		   "%s to %s, %s bit/s\nreported: %s in %s packets\ndeepest queue %u packets\npaused %s, %s PAUSE "
		   "received, %s sent%s%s",
		   port->name, v->run.ports[port->peer_port].name, fmt_score((double)port->rate_bps).text,
		   fmt_bytes((double)port->bytes).text, fmt_count(port->packets).text, port->depth_max,
		   fmt_time(unit, port->pause_ps).text, fmt_count(port->pauses_received).text,
		   fmt_count(port->pauses_sent).text, port->drops > 0 ? "\ndropped packets: " : "",
		   port->drops > 0 ? fmt_count(port->drops).text : "");
}

/* Beneath the links: where the slow flow went, and where the culprit was seen. */
static void
draw_paths(const struct drawing *d)
{
	const struct verdict *v = d->page->v;
	uint32_t victim = page_victim(d->page);
	struct point from, to;

	for (uint32_t p = 0; p < v->run.nports; p++) {
		if (d->culprit[p] && port_line(d, p, &from, &to))
			line(d, "culprit", from, middle(from, to));
	}
	for (uint32_t i = 0; i < v->run.nhops && victim != RUN_NONE; i++) {
		if (v->run.hops[i].flow == victim && !v->run.hops[i].reverse &&
		    port_line(d, v->run.hops[i].port, &from, &to))
			line(d, "path", from, to);
	}
}

static void
draw_links(const struct drawing *d)
{
	const struct verdict *v = d->page->v;
	struct point from, to;

	for (uint32_t p = 0; p < v->run.nports; p++) {
		if (!port_line(d, p, &from, &to))
			continue;
		fputs("<g>", d->page->to);
		port_title(d, &v->run.ports[p]);
		line(d, load_class(d, &v->run.ports[p]), from, middle(from, to));
		fputs("</g>\n", d->page->to);
	}
}

static void
draw_node(const struct drawing *d, uint32_t node)
{
	const struct verdict *v = d->page->v;
	FILE *to = d->page->to;
	struct point at = place(d, node);
	uint32_t width = d->layout.width[d->layout.nodes[node].layer];
	bool crowded = width > 36;
	double half = crowded ? 3.0 * 36 / width + 2 : v->run.nodes[node].host ? 15 : 19;

	fprintf(to, "<g class=\"%s\">", v->run.nodes[node].host ? "host" : "switch");
	page_title(d->page, "%s %s, %u ports", v->run.nodes[node].host ? "host" : "switch", v->run.nodes[node].name,
		   v->run.nodes[node].nports);
	fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"22\" rx=\"%d\"/>", at.x - half, at.y - 11,
		2 * half,
		crowded                   ? 1
		: v->run.nodes[node].host ? 11
					  : 4);
	if (!crowded) {
		char name[16];

		/* The name must fit the shape; the title has all of it. */
		plain_text(v->run.nodes[node].name, name, width > 24 ? 5 : 8);
		fprintf(to, "<text x=\"%.1f\" y=\"%.1f\">", at.x, at.y + 4);
		escape_html(to, name);
		fputs("</text>", to);
	}
	fputs("</g>\n", to);
}

static void
draw_marks(const struct drawing *d)
{
	const struct verdict *v = d->page->v;
	const struct finding *root = facts_root(v);
	FILE *out = d->page->to;
	struct point from, to;

	for (uint32_t p = 0; p < v->run.nports; p++) {
		struct point at;

		if (v->run.ports[p].pause_ps < d->least_pause_ps || !port_line(d, p, &from, &to))
			continue;
		at = mark_at(from, to);
		fputs("<g class=\"paused\">", out);
		port_title(d, &v->run.ports[p]);
		fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"7\"/><path d=\"M%.1f %.1fv6m4 0v-6\"/></g>\n", at.x, at.y,
			at.x - 2, at.y - 3);
	}
	if (root != NULL && root->root_port < v->run.nports && port_line(d, root->root_port, &from, &to)) {
		struct point at = mark_at(from, to);
		bool left = at.x > PAGE_WIDTH - 130 || (at.x < from.x - 4 && at.x > 130); /* off the node */

		fprintf(out, "<g class=\"root\"><circle cx=\"%.1f\" cy=\"%.1f\" r=\"10\"/><text x=\"%.1f\" y=\"%.1f\"%s>",
			at.x, at.y, at.x + (left ? -15 : 15), at.y + 4, left ? " text-anchor=\"end\"" : "");
		escape_htmlf(out, "root %s", v->run.ports[root->root_port].name);
		fputs("</text></g>\n", out);
	}
}

static void
find_culprit(struct drawing *d)
{
	const struct verdict *v = d->page->v;
	uint32_t flow = vedrfolnir_of(v)->ncontributors > 0 ? vedrfolnir_of(v)->contributors[0].flow : RUN_NONE;

	for (uint32_t p = 0; p < v->run.nports; p++)
		d->most_bytes = v->run.ports[p].bytes > d->most_bytes ? v->run.ports[p].bytes : d->most_bytes;
	for (uint32_t g = 0; g < vedrfolnir_of(v)->ngraphs && flow != RUN_NONE; g++) {
		const struct provenance_vertex *vertices = vedrfolnir_of(v)->graphs[g].vertices;

		for (uint32_t e = 0; e < vedrfolnir_of(v)->graphs[g].nedges; e++) {
			const struct provenance_edge *edge = &vedrfolnir_of(v)->graphs[g].edges[e];
			uint32_t port = edge->kind == PROVENANCE_PORT_FLOW ? edge->from : edge->to;
			uint32_t other = edge->kind == PROVENANCE_PORT_FLOW ? edge->to : edge->from;

			if (edge->kind != PROVENANCE_PORT_PORT && vertices[other].ref == flow)
				d->culprit[vertices[port].ref] = true;
		}
	}
}

static void
write_legend(const struct drawing *d)
{
	const struct verdict *v = d->page->v;
	uint32_t victim = page_victim(d->page);
	FILE *to = d->page->to;
	char flow[96];

	fputs("<p class=\"legend\">", to);
	if (d->most_bytes > 0) {
		fputs("<span>Each half of a link is one port; its color is what telemetry reported of it: "
		      "<i class=\"key n\"></i>nothing <i class=\"key l1\"></i><i class=\"key l2\"></i>"
		      "<i class=\"key l3\"></i><i class=\"key l4\"></i>few to most bytes",
		      to);
		escape_htmlf(to, " (%s)", fmt_bytes((double)d->most_bytes).text);
		fprintf(to, "</span><span><i class=\"key p\"></i>halted by PFC for %.0f %% of the time or more</span>",
			100 * PAUSED_SHARE);
	} else {
		fputs("<span>No telemetry came from any port: none was asked.</span>", to);
	}
	if (victim != RUN_NONE) {
		fputs("<span><i class=\"key v\"></i>path of ", to);
		escape_html(to, facts_flow(v, victim, flow, sizeof(flow)));
		fputs("</span>", to);
	}
	if (vedrfolnir_of(v)->ncontributors > 0) {
		fputs("<span><i class=\"key s\"></i>where ", to);
		escape_html(to, facts_flow(v, vedrfolnir_of(v)->contributors[0].flow, flow, sizeof(flow)));
		fputs(" was seen</span>", to);
	}
	if (d->layout.hidden > 0)
		fprintf(to, "<span>%u nodes without telemetry are left out.</span>", d->layout.hidden);
	fputs("</p>\n", to);
}

int
page_topology(const struct page *page)
{
	const struct verdict *v = page->v;
	struct drawing d = { .page = page };
	double height;

	if (layout_init(&d.layout, v, MAX_NODES) != 0)
		return -ENOMEM;
	d.culprit = calloc((size_t)v->run.nports + 1, sizeof(*d.culprit));
	if (d.culprit == NULL) {
		layout_fini(&d.layout);
		return -ENOMEM;
	}
	find_culprit(&d);
	d.least_pause_ps = 1;
	if (page->facts.worst != RUN_NONE)
		d.least_pause_ps +=
			(uint64_t)(PAUSED_SHARE * (double)facts_took_ps(v, &v->run.collectives[page->facts.worst]));
	height = 2 * MARGIN + LAYER_HEIGHT * (d.layout.nlayers > 0 ? d.layout.nlayers - 1 : 0);
	fprintf(page->to, "<section><h2>Fabric</h2>\n<svg class=\"topology\" viewBox=\"0 0 %d %.0f\">\n", PAGE_WIDTH,
		height);
	draw_paths(&d);
	draw_links(&d);
	for (uint32_t n = 0; n < v->run.nnodes; n++) {
		if (d.layout.nodes[n].shown)
			draw_node(&d, n);
	}
	draw_marks(&d);
	fputs("</svg>\n", page->to);
	write_legend(&d);
	fputs("</section>\n", page->to);
	free(d.culprit);
	layout_fini(&d.layout);
	return 0;
}
