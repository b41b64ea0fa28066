/* SPDX-License-Identifier: BSD-3-Clause */
/* The index over telemetry rows: by port and epoch, by flow. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "diag/collect/evidence.h"

/* The index over meter rows: by ingress, then egress, then epoch and class. */

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

/* The feeds of the rows [first, end), all of one ingress. @return their number */
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

/* A part of evidence_join_rows(), once there are epochs. */
static int
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

/* The place of a row in the order (port, epoch). Ports are consecutive by node, so it is the rows' own order. */
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

/* The rows of all classes of one port and first epoch. @return the place behind them */
static uint32_t
take_port_rows(const struct evidence *ev, uint32_t p, uint64_t at, struct ev_epoch *epoch)
{
	epoch->first_row = p;
	epoch->from_ps = UINT64_MAX;
	for (; place_port_row(ev, p) == at; p++) {
		const struct rec_port_row *row = EV_AT(ev->port_rows, struct rec_port_row, p);

		epoch->epoch_last = row->epoch_last > epoch->epoch_last ? row->epoch_last : epoch->epoch_last;
		epoch->from_ps = min_u64(epoch->from_ps, row->from_ps);
		epoch->to_ps = max_u64(epoch->to_ps, row->to_ps);
		epoch->packets += row->packets;
		epoch->bytes += row->bytes;
		epoch->depth_sum += row->depth_sum;
	}
	epoch->nrows = p - epoch->first_row;
	return p;
}

/* Without rows of the port, only the flows' rows show how far an epoch had got that was still open. */
static void
guess_time(const struct evidence *ev, uint64_t reported_ps, struct ev_epoch *epoch)
{
	epoch->from_ps = epoch_start_ps(ev, epoch->epoch_first);
	epoch->to_ps = epoch_start_ps(ev, epoch->epoch_last + 1ULL);
	if (epoch->nflows != 0 && reported_ps < epoch->to_ps)
		epoch->to_ps = reported_ps;
}

/* Merges the three sorted arrays; fills epochs when not NULL. @return the number of epochs */
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
		p = take_port_rows(ev, p, at, &epoch);
		for (; place_flow_row(ev, f) == at; f++) {
			const struct rec_flow_row *row = EV_AT(ev->flow_rows, struct rec_flow_row, f);

			if (epoch.nrows == 0 && row->epoch_last > epoch.epoch_last)
				epoch.epoch_last = row->epoch_last;
			reported_ps = row->hdr.time_ps > reported_ps ? row->hdr.time_ps : reported_ps;
		}
		while (place_matrix_row(ev, m) == at)
			m++;
		epoch.nflows = f - epoch.first_flow;
		epoch.nmatrix = m - epoch.first_matrix;
		if (epoch.nrows == 0)
			guess_time(ev, reported_ps, &epoch);
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

/* The ports at which each flow was seen: a counting sort. Rows are in order of ports, so equal ones are neighbours. */
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

/* Rows name lossless classes, and 0 for all others: which is a scheduled flow's? */
static void
resolve_classes(struct evidence *ev)
{
	uint32_t named = 0;

	for (uint32_t i = 0; i < ev->port_rows.count; i++)
		named |= 1u << EV_AT(ev->port_rows, struct rec_port_row, i)->prio;
	for (uint32_t i = 0; i < ev->states.count; i++)
		named |= 1u << EV_AT(ev->states, struct rec_port_row, i)->prio;
	for (uint32_t f = 0; f < ev->nflows; f++)
		if (!(named >> ev->flows[f].prio & 1))
			ev->flows[f].prio = 0;
}

const struct rec_port_row *
evidence_port_row(const struct evidence *ev, const struct ev_epoch *epoch, uint8_t prio)
{
	for (uint32_t i = epoch->first_row; i < epoch->first_row + epoch->nrows; i++) {
		const struct rec_port_row *row = EV_AT(ev->port_rows, struct rec_port_row, i);

		if (row->prio == prio)
			return row;
	}
	return NULL;
}

/* The flows that took a port's link from data. */
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
		ev->flow_of_overtake[i] = evidence_is_no_flow(&row->flow) ? EV_NONE : evidence_flow(ev, &row->flow);
	}
	return 0;
}

int
evidence_join_rows(struct evidence *ev, struct err *err)
{
	int rc = index_epochs(ev, err);

	resolve_classes(ev);
	if (rc == 0)
		rc = index_flow_states(ev, err);
	if (rc == 0)
		rc = index_seen(ev, err);
	if (rc == 0)
		rc = evidence_join_feeds(ev, err);
	if (rc == 0)
		rc = index_overtakes(ev, err);
	if (rc == 0)
		rc = index_polls(ev, err);
	if (rc == 0)
		rc = index_states(ev, err);
	return rc;
}

/* The rows of a port or a flow in a time, found by bisection: earlier and later reports cost nothing. */

/* The earliest, or latest, time that an element and those after, or before, it cover. */
typedef uint64_t time_fn(const struct evidence *ev, uint32_t i);

/* Leaves out what ends before from_ps and what begins after to_ps. */
static inline struct ev_range
within(const struct evidence *ev, struct ev_range range, time_fn *begin, time_fn *end, uint64_t from_ps, uint64_t to_ps)
{
	for (uint32_t last = range.end; range.first < last;) {
		uint32_t mid = range.first + (last - range.first) / 2;

		if (end(ev, mid) < from_ps)
			range.first = mid + 1;
		else
			last = mid;
	}
	for (uint32_t first = range.first; first < range.end;) {
		uint32_t mid = first + (range.end - first) / 2;

		if (begin(ev, mid) <= to_ps)
			first = mid + 1;
		else
			range.end = mid;
	}
	return range;
}

static uint64_t
epoch_begin(const struct evidence *ev, uint32_t i)
{
	return ev->epochs[i].begin_ps;
}

static uint64_t
epoch_end(const struct evidence *ev, uint32_t i)
{
	return ev->epochs[i].reach_ps;
}

struct ev_range
evidence_epochs(const struct evidence *ev, uint32_t port, uint64_t from_ps, uint64_t to_ps)
{
	const struct ev_port *p = &ev->ports[port];

	return within(ev, (struct ev_range){ p->first_epoch, p->first_epoch + p->nepochs }, epoch_begin, epoch_end, from_ps,
		      to_ps);
}

static uint64_t
state_end(const struct evidence *ev, uint32_t i)
{
	return EV_AT(ev->states, struct rec_port_row, i)->hdr.time_ps;
}

/* A state covers the pause that lasted then, from its start. */
static uint64_t
state_begin(const struct evidence *ev, uint32_t i)
{
	uint64_t time_ps = state_end(ev, i), since_ps = ev->paused_since_ps[i];

	return since_ps < time_ps ? since_ps : time_ps;
}

struct ev_range
evidence_states(const struct evidence *ev, uint32_t port, uint64_t from_ps, uint64_t to_ps)
{
	const struct ev_port *p = &ev->ports[port];

	return within(ev, (struct ev_range){ p->first_state, p->first_state + p->nstates }, state_begin, state_end, from_ps,
		      to_ps);
}

static uint64_t
poll_time(const struct evidence *ev, uint32_t i)
{
	return EV_AT(ev->polls, struct rec_poll, ev->poll_by_flow[i])->hdr.time_ps;
}

struct ev_range
evidence_polls(const struct evidence *ev, uint32_t flow, uint64_t from_ps, uint64_t to_ps)
{
	const struct ev_flow *f = &ev->flows[flow];

	return within(ev, (struct ev_range){ f->first_poll, f->first_poll + f->npolls }, poll_time, poll_time, from_ps,
		      to_ps);
}

static uint64_t
poll_time_at_port(const struct evidence *ev, uint32_t i)
{
	return EV_AT(ev->polls, struct rec_poll, ev->poll_by_port[i])->hdr.time_ps;
}

struct ev_range
evidence_polls_at(const struct evidence *ev, uint32_t port, uint64_t from_ps, uint64_t to_ps)
{
	const struct ev_port *p = &ev->ports[port];

	return within(ev, (struct ev_range){ p->first_poll, p->first_poll + p->npolls }, poll_time_at_port,
		      poll_time_at_port, from_ps, to_ps);
}

uint64_t
evidence_overtake_end_ps(const struct evidence *ev, const struct rec_overtake_row *row)
{
	return min_u64(row->hdr.time_ps, (row->epoch_last + 1ULL) * ev->run.epoch_ps);
}

bool
evidence_class_is_ahead(const struct evidence *ev, uint8_t of, uint32_t flow)
{
	uint8_t prio = ev->flows[flow].prio;
	uint32_t ahead = ev->run.strict_classes & ~(1u << prio);

	if ((ev->run.strict_classes >> prio & 1) != 0)
		ahead &= ~((2u << prio) - 1);
	return of == 0 ? ahead != 0 : (ahead >> of & 1) != 0;
}

bool
evidence_is_ahead(const struct evidence *ev, const struct rec_overtake_row *row, uint32_t flow)
{
	uint8_t prio = ev->flows[flow].prio;

	return row->prio == 0 || (row->prio != prio && (ev->run.strict_classes >> prio & 1) == 0) || row->prio > prio;
}

static uint64_t
overtake_begin(const struct evidence *ev, uint32_t i)
{
	return EV_AT(ev->overtakes, struct rec_overtake_row, i)->epoch_first * ev->run.epoch_ps;
}

/* A port reports an epoch with those before it, or alone: a row ends no earlier than those of earlier epochs. */
static uint64_t
overtake_end(const struct evidence *ev, uint32_t i)
{
	return (EV_AT(ev->overtakes, struct rec_overtake_row, i)->epoch_last + 1ULL) * ev->run.epoch_ps;
}

struct ev_range
evidence_overtakes(const struct evidence *ev, uint32_t port, uint64_t from_ps, uint64_t to_ps)
{
	const struct ev_port *p = &ev->ports[port];

	return within(ev, (struct ev_range){ p->first_overtake, p->first_overtake + p->novertakes }, overtake_begin,
		      overtake_end, from_ps, to_ps);
}

static uint64_t
feed_begin(const struct evidence *ev, uint32_t i)
{
	return ev->feed_rows[i].begin_ps;
}

static uint64_t
feed_end(const struct evidence *ev, uint32_t i)
{
	return ev->feed_rows[i].reach_ps;
}

struct ev_range
evidence_feed_rows(const struct evidence *ev, const struct ev_feed *feed, uint64_t from_ps, uint64_t to_ps)
{
	return within(ev, (struct ev_range){ feed->first_row, feed->first_row + feed->nrows }, feed_begin, feed_end,
		      from_ps, to_ps);
}
