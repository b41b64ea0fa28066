/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polling packets at a host's port, whatever kernel the host has (VEDRFOLNIR III-C3). The victim's host reports its own NIC
 * port first, as a switch would its egress, then lets the packet go. A host where a packet that traces pauses arrives is
 * the one that pauses: it reports that port, and the path ends. Elsewhere the path ends without a word, unless packets
 * were dropped there: the switch before has told that the polling packet went to a host.
 */
#pragma once

#include "telemetry/port.h"

/* Of one port of a host. */
struct telem_poll {
	struct telem_port *port;
	struct telem_reporter *to;
	const struct telem_present *present;
	uint64_t now_ps;
	uint16_t index; /* of the port */
};

/*
 * A polling packet is to leave by the port.
 * @param paused  it is paused for the victim's class now
 * @return flags that the packet leaves with
 */
uint32_t telem_poll_leaves(const struct telem_poll *at, const struct pkt *poll, bool paused);

/* A polling packet has come in. @return what the port is asked for by it, and is to reply; false: nothing */
bool telem_poll_asks(struct telem_port *port, const struct pkt *poll, enum telem_extent *extent);
/*
 * Is a polling packet that has come in to be sent back, on the way of the ACKs? Its victim's path ends at this host, and its
 * event was not sent back before.
 * @param back  set to what is to leave
 */
bool telem_poll_turns(struct telem_port *port, const struct pkt *poll, struct pkt *back);
/* Replies. at->present may be NULL for TELEM_DROPS. */
void telem_poll_reply(const struct telem_poll *at, const struct pkt *poll, enum telem_extent extent);

/* The port reports unasked. */
void telem_poll_unasked(const struct telem_poll *at);
