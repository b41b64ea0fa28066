/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/host_poll.h"

#define ASKED 1 /* the one flag that a host's port remembers of an event */

static void
reply(const struct telem_poll *at, enum telem_extent extent, uint32_t event)
{
	telem_reply(at->port, at->to, extent, at->present, event, at->now_ps, 1);
}

uint32_t
telem_poll_leaves(const struct telem_poll *at, const struct pkt *poll, bool paused)
{
	bool repeated = polled_fresh(&at->port->polled, poll->psn, ASKED) == 0;

	paused |= telem_has_epochs(at->port) && epochs_was_paused(&at->port->epochs);
	polled_record(poll, at->to->flows, REC_NO_PORT, at->index, paused, repeated, at->to->records, at->now_ps);
	reply(at, TELEM_ROWS, poll->psn);
	return paused ? poll->arg | POLL_PFC : poll->arg;
}

bool
telem_poll_asks(struct telem_port *port, const struct pkt *poll, enum telem_extent *extent)
{
	*extent = poll->arg & POLL_PFC ? TELEM_ROWS : TELEM_DROPS; /* what the victim's packets met here: a wrong ICRC */
	if (polled_fresh(&port->polled, poll->psn, ASKED) == 0)
		return false;
	return *extent == TELEM_ROWS || (!(poll->arg & POLL_QUIET) && port_drops_any(port->drops));
}

void
telem_poll_reply(const struct telem_poll *at, const struct pkt *poll, enum telem_extent extent)
{
	polled_record(poll, at->to->flows, at->index, REC_NO_PORT, false, false, at->to->records, at->now_ps);
	reply(at, extent, poll->psn);
}

void
telem_poll_unasked(const struct telem_poll *at)
{
	reply(at, TELEM_ROWS, 0);
}
