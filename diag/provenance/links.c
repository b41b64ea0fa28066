/* SPDX-License-Identifier: BSD-3-Clause */
/* Port-port edges: what a halted egress waits for, by the meters of the switch at the other end of its link. */
#include <errno.h>
#include <stdlib.h>

#include "diag/provenance/build.h"
#include "diag/provenance/weights.h"

/* Bytes that an ingress fed to one egress: moved in the window, and held at the last report in it. */
struct feed {
	uint32_t egress;
	double moved_bytes, held_bytes;
	uint64_t held_at_ps;
	bool fed; /* it moved some, in the window or before */
};

static double
row_share(const struct prov_builder *b, uint32_t egress, const struct rec_meter_row *row)
{
	const struct ev_port *port = &b->ev->ports[egress];
	uint64_t epoch_ps = b->ev->run.epoch_ps;
	uint32_t lo = 0, hi = port->nepochs;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct ev_epoch *epoch = &b->ev->epochs[port->first_epoch + mid];

		if (epoch->epoch_first == row->epoch_first)
			return window_share(b->window, epoch->from_ps, epoch->to_ps);
		if (epoch->epoch_first < row->epoch_first)
			lo = mid + 1;
		else
			hi = mid;
	}
	return window_share(b->window, row->epoch_first * epoch_ps, (row->epoch_last + 1ULL) * epoch_ps);
}

static void
add_row(const struct prov_builder *b, struct feed *feed, const struct rec_meter_row *row)
{
	feed->fed |= row->bytes != 0 && row->epoch_first * b->ev->run.epoch_ps < b->window.to_ps;
	feed->moved_bytes += row_share(b, feed->egress, row) * (double)row->bytes;
	if (window_has(b->window, row->hdr.time_ps) && row->hdr.time_ps >= feed->held_at_ps) {
		feed->held_at_ps = row->hdr.time_ps;
		feed->held_bytes = (double)row->held_bytes;
	}
}

/* Rows of an ingress are grouped by egress. @return number of feeds written, at most the port's nfeeds */
static uint32_t
collect_feeds(const struct prov_builder *b, uint32_t ingress, struct feed *feeds)
{
	const struct ev_port *port = &b->ev->ports[ingress];
	uint32_t count = 0;

	for (uint32_t i = 0; i < port->nfeeds; i++) {
		uint32_t r = b->ev->meter_by_ingress[port->first_feed + i];
		const struct rec_meter_row *row = EV_AT(b->ev->meter_rows, struct rec_meter_row, r);
		uint32_t egress = evidence_port(b->ev, row->hdr.node, row->port);

		if (count == 0 || feeds[count - 1].egress != egress)
			feeds[count++] = (struct feed){ .egress = egress };
		add_row(b, &feeds[count - 1], row);
	}
	return count;
}

/* What all ingresses together fed to an egress. */
static struct feed
all_senders(const struct prov_builder *b, uint32_t egress)
{
	uint32_t node = b->ev->ports[egress].node;
	struct feed sum = { .egress = egress };

	for (uint32_t p = 0; p < b->ev->nodes[node].nports; p++) {
		const struct ev_port *ingress = &b->ev->ports[b->ev->nodes[node].first_port + p];
		struct feed one = { .egress = egress };

		for (uint32_t i = 0; i < ingress->nfeeds; i++) {
			uint32_t r = b->ev->meter_by_ingress[ingress->first_feed + i];
			const struct rec_meter_row *row = EV_AT(b->ev->meter_rows, struct rec_meter_row, r);

			if (evidence_port(b->ev, row->hdr.node, row->port) == egress)
				add_row(b, &one, row);
		}
		sum.moved_bytes += one.moved_bytes;
		sum.held_bytes += one.held_bytes;
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
	if (!g->ports[index].halted || ingress == EV_NONE)
		return 0;
	feeds = calloc((size_t)b->ev->ports[ingress].nfeeds + 1, sizeof(*feeds));
	if (feeds == NULL)
		return -ENOMEM;
	count = collect_feeds(b, ingress, feeds);
	for (uint32_t i = 0; i < count; i++) {
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
