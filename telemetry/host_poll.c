/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/host_poll.h"

#define ASKED 1 /* the one flag that a host's port remembers of an event */

/* One report of one port, and a passage where a polling packet asked for it. */
static void
reply(const struct telem_poll *at, enum telem_extent extent, uint32_t event)
{
	struct report_sum made = { report_head_bytes(at->to->node, event, at->now_ps), 1 };
	uint64_t packed_bytes;
	bool kept = telem_reply(at->port, at->to, extent, at->present, event, at->now_ps, &packed_bytes);

	made.packed_bytes += packed_bytes + (event != 0 ? REPORT_PASSAGE_BYTES : 0);
	report_count_add(at->to->count, made, kept ? made : (struct report_sum){ 0 });
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
