/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/host_poll.h"

/* What a host's port remembers of an event. */
#define ASKED 1
#define SENT_BACK 2

static void
reply(const struct telem_poll *at, enum telem_extent extent, uint32_t event)
{
	telem_reply(at->port, at->to, extent, at->present, event, at->now_ps, 1);
}

uint32_t
telem_poll_leaves(const struct telem_poll *at, const struct pkt *poll, bool paused)
{
	bool back = poll->arg & POLL_BACK; /* its event has asked here when it came */
	bool repeated = !back && polled_fresh(&at->port->polled, poll->id, ASKED) == 0;

	paused |= telem_has_epochs(at->port) && epochs_was_paused(&at->port->epochs, at->to->flows->flows[poll->flow].prio);
	polled_record(poll, at->to->flows, REC_NO_PORT, at->index, paused, repeated, at->to->records, at->now_ps);
	reply(at, TELEM_ROWS, poll->id);
	return paused && !back ? poll->arg | POLL_PFC : poll->arg; /* nobody halts ACKs */
}

bool
telem_poll_turns(struct telem_port *port, const struct pkt *poll, struct pkt *back)
{
	if ((poll->arg & (POLL_VICTIM | POLL_ACKS)) != (POLL_VICTIM | POLL_ACKS) || (poll->flags & PKT_REVERSE) != 0 ||
	    polled_fresh(&port->polled, poll->id, SENT_BACK) == 0)
		return false;
	*back = *poll;
	back->arg = POLL_VICTIM | POLL_BACK | (poll->arg & POLL_QUIET);
	back->flags = PKT_REVERSE;
	back->ttl = PKT_TTL_INIT;
	return true;
}

bool
telem_poll_asks(struct telem_port *port, const struct pkt *poll, enum telem_extent *extent)
{
	*extent = poll->arg & POLL_PFC ? TELEM_ROWS : TELEM_DROPS; /* what the victim's packets met here: a wrong ICRC */
	if (polled_fresh(&port->polled, poll->id, ASKED) == 0)
		return false;
	return *extent == TELEM_ROWS || (!(poll->arg & POLL_QUIET) && port_drops_any(port->drops));
}

void
telem_poll_reply(const struct telem_poll *at, const struct pkt *poll, enum telem_extent extent)
{
	polled_record(poll, at->to->flows, at->index, REC_NO_PORT, false, false, at->to->records, at->now_ps);
	reply(at, extent, poll->id);
}

void
telem_poll_unasked(const struct telem_poll *at)
{
	reply(at, TELEM_ROWS, 0);
}
