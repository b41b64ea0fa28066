/* SPDX-License-Identifier: BSD-3-Clause */
/* The index over telemetry rows: by port and epoch, by flow, by ingress; meter rows by ingress, then egress, then epoch. */
#include <errno.h>
#include <stdlib.h>

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

/* The feeds of the rows [first, end), all of one ingress. @return how many */
static uint32_t
split_feeds(const struct evidence *ev, struct ev_feed *feeds, uint32_t first, uint32_t end)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < end; i++) {
		const struct rec_meter_row *row = ev->feed_rows[i].row;
		uint32_t egress = evidence_port(ev, row->hdr.node, row->port);

		if (count == 0 || feeds[count - 1].egress != egress)
			feeds[count++] = (struct ev_feed){ egress, i, 0, EV_NONE };
		feeds[count - 1].nrows++;
		if (row->bytes != 0 && feeds[count - 1].first_moved == EV_NONE)
			feeds[count - 1].first_moved = i;
	}
	for (uint32_t f = 0; f < count; f++)
		fill_bounds(&ev->feed_rows[feeds[f].first_row], feeds[f].nrows);
	return count;
}

static int
index_feeds(struct evidence *ev, struct err *err)
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

/* Where a row stands in the order (port, epoch). Ports are consecutive by node, so it is the rows' own order. */
static uint64_t
place(const struct evidence *ev, const struct rec_hdr *hdr, uint16_t port, uint32_t epoch_first)
{
	return (uint64_t)evidence_port(ev, hdr->node, port) << 32 | epoch_first;
}

static uint64_t
place_port_row(const struct evidence *ev, uint32_t i)
{
	const struct rec_port_row *row;

	if (i >= ev->port_rows.count)
		return UINT64_MAX;
	row = EV_AT(ev->port_rows, struct rec_port_row, i);
	return place(ev, &row->hdr, row->port, row->epoch_first);
}

static uint64_t
place_flow_row(const struct evidence *ev, uint32_t i)
{
	const struct rec_flow_row *row;

	if (i >= ev->flow_rows.count)
		return UINT64_MAX;
	row = EV_AT(ev->flow_rows, struct rec_flow_row, i);
	return place(ev, &row->hdr, row->port, row->epoch_first);
}

static uint64_t
place_matrix_row(const struct evidence *ev, uint32_t i)
{
	const struct rec_matrix_row *row;

	if (i >= ev->matrix_rows.count)
		return UINT64_MAX;
	row = EV_AT(ev->matrix_rows, struct rec_matrix_row, i);
	return place(ev, &row->hdr, row->port, row->epoch_first);
}

static uint64_t
epoch_start_ps(const struct evidence *ev, uint64_t epoch)
{
	return epoch > UINT64_MAX / ev->run.epoch_ps ? UINT64_MAX : epoch * ev->run.epoch_ps;
}

/* Merges the three sorted arrays; fills epochs when not NULL. @return how many epochs there are */
static uint32_t
merge_epochs(const struct evidence *ev, struct ev_epoch *epochs)
{
	uint32_t p = 0, f = 0, m = 0, count = 0;

	for (;;) {
		uint64_t at = place_port_row(ev, p);
		struct ev_epoch epoch = { .first_flow = f, .first_matrix = m };
		uint64_t reported_ps = 0; /* when the flows' rows were reported */

		if (place_flow_row(ev, f) < at)
			at = place_flow_row(ev, f);
		if (place_matrix_row(ev, m) < at)
			at = place_matrix_row(ev, m);
		if (at == UINT64_MAX)
			return count;
		epoch.port = (uint32_t)(at >> 32);
		epoch.epoch_first = epoch.epoch_last = (uint32_t)at;
		if (place_port_row(ev, p) == at)
			epoch.row = EV_AT(ev->port_rows, struct rec_port_row, p++);
		for (; place_flow_row(ev, f) == at; f++) {
			const struct rec_flow_row *row = EV_AT(ev->flow_rows, struct rec_flow_row, f);

			epoch.epoch_last = row->epoch_last > epoch.epoch_last ? row->epoch_last : epoch.epoch_last;
			reported_ps = row->hdr.time_ps > reported_ps ? row->hdr.time_ps : reported_ps;
		}
		while (place_matrix_row(ev, m) == at)
			m++;
		epoch.nflows = f - epoch.first_flow;
		epoch.nmatrix = m - epoch.first_matrix;
		if (epoch.row != NULL)
			epoch.epoch_last = epoch.row->epoch_last;
		epoch.from_ps = epoch.row != NULL ? epoch.row->from_ps : epoch_start_ps(ev, epoch.epoch_first);
		epoch.to_ps = epoch.row != NULL ? epoch.row->to_ps : epoch_start_ps(ev, epoch.epoch_last + 1ULL);
		/* Without its port's row nobody says how far an epoch had come that was still open. */
		if (epoch.row == NULL && epoch.nflows != 0 && reported_ps < epoch.to_ps)
			epoch.to_ps = reported_ps;
		if (epochs != NULL)
			epochs[count] = epoch;
		count++;
	}
}

static int
index_epochs(struct evidence *ev, struct err *err)
{
	ev->nepochs = merge_epochs(ev, NULL);
	ev->epochs = evidence_alloc(ev->nepochs, sizeof(*ev->epochs), err);
	if (ev->epochs == NULL)
		return -ENOMEM;
	merge_epochs(ev, ev->epochs);
	for (uint32_t i = 0; i < ev->nepochs; i++) {
		struct ev_epoch *epoch = &ev->epochs[i];
		struct ev_port *port = &ev->ports[epoch->port];

		epoch->reach_ps = epoch->to_ps;
		if (port->nepochs++ == 0)
			port->first_epoch = i;
		else if (epoch[-1].reach_ps > epoch->reach_ps)
			epoch->reach_ps = epoch[-1].reach_ps;
	}
	for (uint32_t i = ev->nepochs; i-- > 0;) {
		struct ev_epoch *epoch = &ev->epochs[i];

		epoch->begin_ps = epoch->from_ps;
		if (i + 1 < ev->nepochs && epoch[1].port == epoch->port && epoch[1].begin_ps < epoch->begin_ps)
			epoch->begin_ps = epoch[1].begin_ps;
	}
	return 0;
}

/* Rows of open epochs, beside those that replaced them: their ports and flows are the same. */
static int
index_flow_states(struct evidence *ev, struct err *err)
{
	uint32_t e = 0;

	ev->flow_of_state = evidence_alloc(ev->flow_states.count, sizeof(*ev->flow_of_state), err);
	if (ev->flow_of_state == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < ev->flow_states.count; i++) {
		const struct rec_flow_row *row = EV_AT(ev->flow_states, struct rec_flow_row, i);
		uint64_t at = place(ev, &row->hdr, row->port, row->epoch_first);

		while (((uint64_t)ev->epochs[e].port << 32 | ev->epochs[e].epoch_first) < at)
			e++;
		ev->flow_of_state[i] = evidence_flow(ev, &row->flow);
		if (ev->epochs[e].nstates++ == 0)
			ev->epochs[e].first_state = i;
	}
	return 0;
}

static int
index_states(struct evidence *ev, struct err *err)
{
	ev->paused_since_ps = evidence_alloc(ev->states.count, sizeof(*ev->paused_since_ps), err);
	if (ev->paused_since_ps == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < ev->states.count; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);
		struct ev_port *port = &ev->ports[evidence_port(ev, row->hdr.node, row->port)];

		if (port->nstates++ == 0)
			port->first_state = i;
		ev->paused_since_ps[i] = row->paused ? row->paused_since_ps : UINT64_MAX;
	}
	for (uint32_t p = 0; p < ev->nports; p++) {
		uint64_t *since_ps = ev->paused_since_ps + ev->ports[p].first_state;

		for (uint32_t i = ev->ports[p].nstates; i > 1; i--)
			since_ps[i - 2] = since_ps[i - 1] < since_ps[i - 2] ? since_ps[i - 1] : since_ps[i - 2];
	}
	return 0;
}

/* Which ports each flow was seen at: a counting sort. Rows come in order of ports, so equal ones are neighbours. */
static int
index_seen(struct evidence *ev, struct err *err)
{
	uint32_t count = ev->flow_rows.count, total = 0;

	ev->flow_of_row = evidence_alloc(count, sizeof(*ev->flow_of_row), err);
	ev->seen = evidence_alloc(count, sizeof(*ev->seen), err);
	if (ev->flow_of_row == NULL || ev->seen == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		ev->flow_of_row[i] = evidence_flow(ev, &EV_AT(ev->flow_rows, struct rec_flow_row, i)->flow);
		ev->flows[ev->flow_of_row[i]].nseen++;
	}
	for (uint32_t f = 0; f < ev->nflows; f++) {
		ev->flows[f].first_seen = total;
		total += ev->flows[f].nseen;
		ev->flows[f].nseen = 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct rec_flow_row *row = EV_AT(ev->flow_rows, struct rec_flow_row, i);
		struct ev_flow *flow = &ev->flows[ev->flow_of_row[i]];
		uint32_t port = evidence_port(ev, row->hdr.node, row->port), end = flow->first_seen + flow->nseen;

		if (flow->nseen == 0 || ev->seen[end - 1] != port) {
			ev->seen[end] = port;
			flow->nseen++;
		}
	}
	return 0;
}

/* Polling packets by the port that they left by, and by the flow that they asked about: counting sorts. */
static int
index_polls(struct evidence *ev, struct err *err)
{
	uint32_t at_port = 0, at_flow = 0;

	ev->poll_by_port = evidence_alloc(ev->polls.count, sizeof(*ev->poll_by_port), err);
	ev->poll_by_flow = evidence_alloc(ev->polls.count, sizeof(*ev->poll_by_flow), err);
	if (ev->poll_by_port == NULL || ev->poll_by_flow == NULL)
		return -ENOMEM;
	for (int fill = 0; fill < 2; fill++) {
		for (uint32_t i = 0; i < ev->polls.count; i++) {
			const struct rec_poll *poll = EV_AT(ev->polls, struct rec_poll, i);
			struct ev_flow *flow = &ev->flows[evidence_flow(ev, &poll->victim)];
			uint32_t port = evidence_port(ev, poll->hdr.node, poll->out_port);

			if (fill)
				ev->poll_by_flow[flow->first_poll + flow->npolls] = i;
			flow->npolls++;
			if (port == EV_NONE)
				continue;
			if (fill)
				ev->poll_by_port[ev->ports[port].first_poll + ev->ports[port].npolls] = i;
			ev->ports[port].npolls++;
		}
		for (uint32_t p = 0; p < ev->nports && !fill; p++) {
			ev->ports[p].first_poll = at_port;
			at_port += ev->ports[p].npolls;
			ev->ports[p].npolls = 0;
		}
		for (uint32_t f = 0; f < ev->nflows && !fill; f++) {
			ev->flows[f].first_poll = at_flow;
			at_flow += ev->flows[f].npolls;
			ev->flows[f].npolls = 0;
		}
	}
	return 0;
}

/* Who took a port's link from data. */
static int
index_overtakes(struct evidence *ev, struct err *err)
{
	ev->flow_of_overtake = evidence_alloc(ev->overtakes.count, sizeof(*ev->flow_of_overtake), err);
	if (ev->flow_of_overtake == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < ev->overtakes.count; i++) {
		const struct rec_overtake_row *row = EV_AT(ev->overtakes, struct rec_overtake_row, i);
		struct ev_port *port = &ev->ports[evidence_port(ev, row->hdr.node, row->port)];

		if (port->novertakes++ == 0)
			port->first_overtake = i;
		ev->flow_of_overtake[i] = evidence_is_nobody(&row->flow) ? EV_NONE : evidence_flow(ev, &row->flow);
	}
	return 0;
}

int
evidence_join_rows(struct evidence *ev, struct err *err)
{
	int rc = index_epochs(ev, err);

	if (rc == 0)
		rc = index_flow_states(ev, err);
	if (rc == 0)
		rc = index_seen(ev, err);
	if (rc == 0)
		rc = index_feeds(ev, err);
	if (rc == 0)
		rc = index_overtakes(ev, err);
	if (rc == 0)
		rc = index_polls(ev, err);
	if (rc == 0)
		rc = index_states(ev, err);
	return rc;
}
