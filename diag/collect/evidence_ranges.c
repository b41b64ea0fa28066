/* SPDX-License-Identifier: BSD-3-Clause */
/* What a port or a flow has of a time, found by bisection: what was reported before and after costs nothing. */
#include "common/minmax.h"
#include "diag/collect/evidence.h"

/* The earliest, or latest, time that an element and those after, or before, it tell of. */
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

/* A state tells of the pause that lasted then, from its start. */
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

uint64_t
evidence_overtake_end_ps(const struct evidence *ev, const struct rec_overtake_row *row)
{
	return min_u64(row->hdr.time_ps, (row->epoch_last + 1ULL) * ev->run.epoch_ps);
}

bool
evidence_class_is_ahead(const struct evidence *ev, uint8_t of, uint32_t flow)
{
	uint8_t prio = ev->flows[flow].prio;

	return (ev->run.strict_classes >> of & 1) != 0 && of != prio &&
	       ((ev->run.strict_classes >> prio & 1) == 0 || of > prio);
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
