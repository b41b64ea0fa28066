/* SPDX-License-Identifier: BSD-3-Clause */
/* Port-port edges: what a halted egress waits for, by the meters of the switch at the other end of its link. */
#include <errno.h>
#include <stdlib.h>

#include "diag/vedrfolnir/provenance/build.h"
#include "diag/vedrfolnir/provenance/weights.h"

/* Bytes that an ingress fed to one egress: moved in the window, and held at the last report in it. */
struct feed {
	uint32_t egress;
	double moved_bytes, held_bytes;
	uint64_t held_at_ps;
	bool fed; /* it moved some, in the window or before */
};

static struct feed
read_feed(const struct prov_builder *b, const struct ev_feed *from)
{
	struct ev_range rows = evidence_feed_rows(b->ev, from, b->window.from_ps, b->window.to_ps);
	struct feed feed = { .egress = from->egress };
	uint32_t first = from->first_moved[b->graph->prio];

	if (first != EV_NONE)
		feed.fed = b->ev->feed_rows[first].row->epoch_first * b->ev->run.epoch_ps < b->window.to_ps;
	for (uint32_t i = rows.first; i < rows.end; i++) {
		const struct ev_feed_row *at = &b->ev->feed_rows[i];

		if (at->row->prio != b->graph->prio)
			continue;
		feed.moved_bytes += window_share(b->window, at->from_ps, at->to_ps) * (double)at->row->bytes;
		if (window_has(b->window, at->row->hdr.time_ps) && at->row->hdr.time_ps >= feed.held_at_ps) {
			feed.held_at_ps = at->row->hdr.time_ps;
			feed.held_bytes = (double)at->row->held_bytes;
		}
	}
	return feed;
}

/* What all ingresses together fed to an egress. */
static struct feed
all_senders(const struct prov_builder *b, uint32_t egress)
{
	const struct ev_node *node = &b->ev->nodes[b->ev->ports[egress].node];
	struct feed sum = { .egress = egress };

	for (uint32_t p = node->first_port; p < node->first_port + node->nports; p++) {
		const struct ev_port *ingress = &b->ev->ports[p];

		for (uint32_t i = ingress->first_feed; i < ingress->first_feed + ingress->nfeeds; i++) {
			struct feed one;

			if (b->ev->feeds[i].egress != egress)
				continue;
			one = read_feed(b, &b->ev->feeds[i]);
			sum.moved_bytes += one.moved_bytes;
			sum.held_bytes += one.held_bytes;
		}
	}
	return sum;
}

static double
link_weight(const struct prov_builder *b, bool standing, const struct feed *feed, const struct feed *total)
{
	const struct feed senders = b->share == PROV_SHARE_SENDERS ? all_senders(b, feed->egress) : *total;

	/* Nothing moved, or only before everything stood still: the bytes that stand there tell. */
	if (total->moved_bytes <= 0 || (standing && total->held_bytes > 0))
		return weight_port_port(feed->held_bytes, senders.held_bytes);
	return weight_port_port(feed->moved_bytes, senders.moved_bytes);
}

/*
 * What stands here now is for another egress, but this one was fed from here: if it stands still as well, its turn will
 * come, and it may close a circle of waits. No score passes such an edge.
 */
static bool
waits_in_turn(const struct prov_builder *b, const struct prov_port *port, const struct feed *feed)
{
	return port->standing && feed->fed && prov_port_state(b, feed->egress).standing;
}

int
prov_port_links(struct prov_builder *b, uint32_t index)
{
	struct prov_graph *g = b->graph;
	uint32_t ingress = b->ev->ports[g->ports[index].port].peer;
	struct feed *feeds, total = { 0 };
	uint32_t count;

	g->ports[index].first_link = g->nlinks;
	if (!g->ports[index].paused || ingress == EV_NONE)
		return 0;
	feeds = calloc((size_t)b->ev->ports[ingress].nfeeds + 1, sizeof(*feeds));
	if (feeds == NULL)
		return -ENOMEM;
	count = b->ev->ports[ingress].nfeeds;
	for (uint32_t i = 0; i < count; i++) {
		feeds[i] = read_feed(b, &b->ev->feeds[b->ev->ports[ingress].first_feed + i]);
		total.moved_bytes += feeds[i].moved_bytes;
		total.held_bytes += feeds[i].held_bytes;
	}
	for (uint32_t i = 0; i < count; i++) {
		double weight = link_weight(b, g->ports[index].standing, &feeds[i], &total);
		uint32_t to;

		if (weight <= 0 && !waits_in_turn(b, &g->ports[index], &feeds[i]))
			continue;
		to = prov_add_port(b, feeds[i].egress);
		if (to == EV_NONE || prov_grow((void **)&g->links, g->nlinks, &b->links_cap, sizeof(*g->links)) != 0) {
			free(feeds);
			return -ENOMEM;
		}
		g->links[g->nlinks++] = (struct prov_link){ to, weight };
		g->ports[index].nlinks++;
	}
	free(feeds);
	return 0;
}
