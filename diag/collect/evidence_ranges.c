/* SPDX-License-Identifier: BSD-3-Clause */
/* What a port or a flow has of a time, found by bisection: what was reported before and after costs nothing. */
#include "diag/collect/evidence.h"

struct ev_range
evidence_epochs(const struct evidence *ev, uint32_t port, uint64_t from_ps, uint64_t to_ps)
{
	struct ev_range range = { ev->ports[port].first_epoch, ev->ports[port].first_epoch + ev->ports[port].nepochs };

	for (uint32_t end = range.end; range.first < end;) {
		uint32_t mid = range.first + (end - range.first) / 2;

		if (ev->epochs[mid].reach_ps < from_ps)
			range.first = mid + 1;
		else
			end = mid;
	}
	for (uint32_t first = range.first; first < range.end;) {
		uint32_t mid = first + (range.end - first) / 2;

		if (ev->epochs[mid].begin_ps <= to_ps)
			first = mid + 1;
		else
			range.end = mid;
	}
	return range;
}

struct ev_range
evidence_states(const struct evidence *ev, uint32_t port, uint64_t from_ps, uint64_t to_ps)
{
	struct ev_range range = { ev->ports[port].first_state, ev->ports[port].first_state + ev->ports[port].nstates };

	for (uint32_t end = range.end; range.first < end;) {
		uint32_t mid = range.first + (end - range.first) / 2;

		if (EV_AT(ev->states, struct rec_port_row, mid)->hdr.time_ps < from_ps)
			range.first = mid + 1;
		else
			end = mid;
	}
	for (uint32_t first = range.first; first < range.end;) {
		uint32_t mid = first + (range.end - first) / 2;

		if (EV_AT(ev->states, struct rec_port_row, mid)->hdr.time_ps <= to_ps ||
		    ev->paused_since_ps[mid] < to_ps)
			first = mid + 1;
		else
			range.end = mid;
	}
	return range;
}

struct ev_range
evidence_polls(const struct evidence *ev, uint32_t flow, uint64_t from_ps, uint64_t to_ps)
{
	struct ev_range range = { ev->flows[flow].first_poll, ev->flows[flow].first_poll + ev->flows[flow].npolls };

	for (uint32_t end = range.end; range.first < end;) {
		uint32_t mid = range.first + (end - range.first) / 2;

		if (EV_AT(ev->polls, struct rec_poll, ev->poll_by_flow[mid])->hdr.time_ps < from_ps)
			range.first = mid + 1;
		else
			end = mid;
	}
	for (uint32_t first = range.first; first < range.end;) {
		uint32_t mid = first + (range.end - first) / 2;

		if (EV_AT(ev->polls, struct rec_poll, ev->poll_by_flow[mid])->hdr.time_ps <= to_ps)
			first = mid + 1;
		else
			range.end = mid;
	}
	return range;
}

struct ev_range
evidence_feed_rows(const struct evidence *ev, const struct ev_feed *feed, uint64_t from_ps, uint64_t to_ps)
{
	struct ev_range range = { feed->first_row, feed->first_row + feed->nrows };

	for (uint32_t end = range.end; range.first < end;) {
		uint32_t mid = range.first + (end - range.first) / 2;

		if (ev->feed_rows[mid].reach_ps < from_ps)
			range.first = mid + 1;
		else
			end = mid;
	}
	for (uint32_t first = range.first; first < range.end;) {
		uint32_t mid = first + (range.end - first) / 2;

		if (ev->feed_rows[mid].begin_ps <= to_ps)
			first = mid + 1;
		else
			range.end = mid;
	}
	return range;
}
