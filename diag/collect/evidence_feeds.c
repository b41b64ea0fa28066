/* SPDX-License-Identifier: BSD-3-Clause */
/* The index over meter rows: by ingress, then egress, then epoch and class. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "diag/collect/evidence_internal.h"

/* Groups rows by ingress: a counting sort, stable in (egress, epoch). Their times are those of their ports' epochs. */
static void
group_rows(struct evidence *ev, uint32_t *next)
{
	uint32_t e = 0;

	for (uint32_t i = 0; i < ev->meter_rows.count; i++) {
		const struct rec_meter_row *row = EV_AT(ev->meter_rows, struct rec_meter_row, i);
		uint32_t port = evidence_port(ev, row->hdr.node, row->port);
		struct ev_feed_row *to = &ev->feed_rows[next[evidence_port(ev, row->hdr.node, row->in_port)]++];

		/* Both are sorted by port and epoch. */
		while (e < ev->nepochs && (ev->epochs[e].port < port ||
					   (ev->epochs[e].port == port && ev->epochs[e].epoch_first < row->epoch_first)))
			e++;
		to->row = row;
		if (e < ev->nepochs && ev->epochs[e].port == port && ev->epochs[e].epoch_first == row->epoch_first) {
			to->from_ps = ev->epochs[e].from_ps;
			to->to_ps = ev->epochs[e].to_ps;
		} else {
			to->from_ps = row->epoch_first * ev->run.epoch_ps;
			to->to_ps = (row->epoch_last + 1ULL) * ev->run.epoch_ps;
		}
	}
}

static void
fill_bounds(struct ev_feed_row *rows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		rows[i].begin_ps = min_u64(rows[i].from_ps, rows[i].row->hdr.time_ps);
		rows[i].reach_ps = max_u64(rows[i].to_ps, rows[i].row->hdr.time_ps);
		if (i > 0)
			rows[i].reach_ps = max_u64(rows[i].reach_ps, rows[i - 1].reach_ps);
	}
	for (uint32_t i = count; i > 1; i--)
		rows[i - 2].begin_ps = min_u64(rows[i - 2].begin_ps, rows[i - 1].begin_ps);
}

static struct ev_feed
begin_feed(uint32_t egress, uint32_t first_row)
{
	struct ev_feed feed = { .egress = egress, .first_row = first_row };

	memset(feed.first_moved, 0xff, sizeof(feed.first_moved));
	return feed;
}

/* The feeds of the rows [first, end), all of one ingress. @return how many */
static uint32_t
split_feeds(const struct evidence *ev, struct ev_feed *feeds, uint32_t first, uint32_t end)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < end; i++) {
		const struct rec_meter_row *row = ev->feed_rows[i].row;
		uint32_t egress = evidence_port(ev, row->hdr.node, row->port);

		if (count == 0 || feeds[count - 1].egress != egress)
			feeds[count++] = begin_feed(egress, i);
		feeds[count - 1].nrows++;
		if (row->bytes != 0 && feeds[count - 1].first_moved[row->prio] == EV_NONE)
			feeds[count - 1].first_moved[row->prio] = i;
	}
	for (uint32_t f = 0; f < count; f++)
		fill_bounds(&ev->feed_rows[feeds[f].first_row], feeds[f].nrows);
	return count;
}

int
evidence_join_feeds(struct evidence *ev, struct err *err)
{
	uint32_t *next = evidence_alloc((size_t)ev->nports + 1, sizeof(*next), err);
	uint32_t nfeeds = 0;

	ev->feeds = evidence_alloc(ev->meter_rows.count, sizeof(*ev->feeds), err);
	ev->feed_rows = evidence_alloc(ev->meter_rows.count, sizeof(*ev->feed_rows), err);
	if (next == NULL || ev->feeds == NULL || ev->feed_rows == NULL) {
		free(next);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < ev->meter_rows.count; i++) {
		const struct rec_meter_row *row = EV_AT(ev->meter_rows, struct rec_meter_row, i);

		next[evidence_port(ev, row->hdr.node, row->in_port) + 1]++;
	}
	for (uint32_t p = 0; p < ev->nports; p++)
		next[p + 1] += next[p];
	group_rows(ev, next);
	/* Now next[p] is where the rows of p end. */
	for (uint32_t p = 0; p < ev->nports; p++) {
		ev->ports[p].first_feed = nfeeds;
		ev->ports[p].nfeeds = split_feeds(ev, &ev->feeds[nfeeds], p > 0 ? next[p - 1] : 0, next[p]);
		nfeeds += ev->ports[p].nfeeds;
	}
	free(next);
	return 0;
}
