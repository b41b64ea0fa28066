/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The telemetry of one port, a switch's or a NIC's: its collectors, the events that it was asked about, and its
 * replies. Of all that a port is asked for within telem_config.retain_ps the first reply is kept, as Hawkeye does to
 * bound what the analyzer has to process. What is not kept is made and counted all the same.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/flow.h"
#include "common/pkt.h"
#include "common/record/buffer.h"
#include "common/wire/record_rows.h"
#include "telemetry/collector.h"
#include "telemetry/epochs.h"

/* Telemetry that every port of a switch or a NIC keeps, and reports for polling packets (VEDRFOLNIR III-C3). */

/*
 * Events that a switch port remembers having answered: a number of sets, chosen by a hash of the event, of a fixed
 * number each. On a cycle of pauses, an event that is forgotten before it ends circulates until its TTL expires. A
 * NIC's port has one set.
 */
#define POLLED_SETS 64
#define POLLED_WAYS 8
#define POLLED_HOST_WAYS 16

struct polled {
	/* [sets * ways] the latest first in each set, then as many bytes: flags of each. NULL: it was not asked yet */
	uint32_t *events;
	uint32_t sets, ways;
};

void polled_init(struct polled *polled, bool host);
/* Also for a zeroed struct. */
void polled_fini(struct polled *polled);

/*
 * Notes that the port is asked about an event. Ends the program when out of memory.
 * @return those of the flags with which it had not been asked yet
 */
uint8_t polled_fresh(struct polled *polled, uint32_t event, uint8_t flags);

/*
 * Puts the record that a polling packet passed, unless it is one of a flood (POLL_QUIET).
 * @param in_port, out_port  its ingress, and the egress that it concerns; REC_NO_PORT: none
 * @param paused    that egress is, or was within the kept epochs, paused
 * @param repeated  that egress had answered the event before
 */
void polled_record(const struct pkt *poll, const struct flow_table *flows, uint16_t in_port, uint16_t out_port, bool paused,
		   bool repeated, struct recbuf *records, uint64_t now_ps);

/*
 * Does a node that a polling packet passes report what has passed? Where packets were sent again, on both paths, not in
 * a flood.
 */
static inline bool
polled_asks_passage(const struct pkt *poll)
{
	return (poll->arg & POLL_VICTIM) && (poll->arg & (POLL_ACKS | POLL_BACK)) && !(poll->arg & POLL_QUIET);
}

/* Puts the record of that. @param rec  with the counts; flow and event are set here */
void polled_passage(const struct pkt *poll, const struct flow_table *flows, struct rec_passage *rec, struct recbuf *records,
		    uint64_t now_ps);

/* Packets that a port dropped: counted by reason at the drop, reported to polling packets (struct rec_drop_row). */

struct drop_count {
	uint64_t packets, bytes, first_ps, last_ps;
	uint32_t last_flow; /* id, where packets is not 0 */
};

struct port_drops {
	struct drop_count of[REC_DROP_REASONS];
	const struct flow_table *flows;
	uint16_t port;
	bool was_down; /* the port's link was down; of[REC_DROP_LINK_DOWN] has the time */
};

/* The link went down or up: reported also where nothing was dropped. */
void port_drops_down(struct port_drops *drops, uint64_t now_ps);

bool port_drops_any(const struct port_drops *drops);

extern const struct collector collector_drops;

#define TELEM_MAX_COLLECTORS 8

struct telem_port {
	uint32_t more_enqueue;             /* bit i: collector i observes enqueued packets; of the first: its own */
	struct epochs epochs;              /* the first collector's state, in here because every packet touches it */
	void *state[TELEM_MAX_COLLECTORS]; /* by the order of the list; NULL: off */
	struct port_drops *drops;          /* one of them */
	const struct telem_config *config;
	struct polled polled;
	uint64_t keep_ps, keep_state_ps; /* no rows are kept before, none of the state alone */
};

/*
 * @param of_switches  NULL: drops alone are kept. @return bytes that a host with nports NICs keeps beside such switches
 */
struct telem_config telem_config_of_host(const struct telem_config *of_switches, uint16_t nports);

/* @return 0 or -ENOMEM. config and flows, which the port's owner counts, must outlive the port. */
int telem_init(struct telem_port *t, const struct telem_config *config, const struct port_flows *flows, uint16_t port);

/* @return bytes of a port with room for so many flows, of which none has overtaken another */
size_t telem_port_bytes(const struct telem_config *config, uint32_t slots);
/* @return those of the polling packets among them: a seen event each */
size_t polled_bytes(bool host);
/* Also for a zeroed struct. */
void telem_fini(struct telem_port *t);

/* @return whether the port keeps rows of the packets that leave by it */
static inline bool
telem_has_epochs(const struct telem_port *t)
{
	return !t->config->drops_only;
}

void telem_more_enqueue(struct telem_port *t, const struct telem_batch *batch);

/*
 * A packet of a class is enqueued behind depth packets. Inlined: depth and paused are constants where it need not wait.
 * @param slot    known to telem_first()
 * @param paused  the port is paused for its class
 */
static inline __attribute__((always_inline)) void
telem_enqueue(struct telem_port *t, uint32_t slot, uint8_t prio, uint16_t in_port, uint32_t bytes, uint32_t depth,
	      bool paused)
{
	epochs_enqueue(&t->epochs, slot, prio, in_port, bytes, depth, paused);
	if (__builtin_expect(t->more_enqueue != 0, 0))
		telem_more_enqueue(t, &(struct telem_batch){ slot, in_port, 1, paused, depth, bytes, depth });
}

/* A slot is new: its flow's first packet is enqueued. Ends the program when out of memory. */
static inline void
telem_first(struct telem_port *t, uint32_t slot, uint64_t now_ps)
{
	epochs_reserve(&t->epochs, slot + 1);
	if (t->config->late_looks && telem_has_epochs(t))
		epochs_first(&t->epochs, slot, now_ps);
}

/* A frame of class 0 leaves ahead of depth data packets that wait and could leave. */
static inline void
telem_overtake(struct telem_port *t, const struct pkt *p, uint32_t depth)
{
	epochs_overtake(&t->epochs, p->flow, (p->flags & PKT_REVERSE) != 0, p->wire_bytes, depth);
}

/* Packets of one flow have left by a NIC. */
void telem_add(struct telem_port *t, const struct telem_batch *batch);
/* @param classes  bit p: of class p */
void telem_pause(struct telem_port *t, uint8_t classes, enum telem_pause what, uint64_t now_ps);
void telem_drop(struct telem_port *t, const struct pkt *p, enum rec_drop reason, uint64_t now_ps);
/* A window begins, perhaps in another epoch. @return false if a collector's rows of the last do not add up */
bool telem_roll(struct telem_port *t, uint64_t now_ps, uint64_t *digest);

/* Destination of the replies of a node's ports, and their cost. */
struct telem_reporter {
	uint32_t node;
	const struct flow_table *flows;
	struct recbuf *records;     /* the node's */
	struct report_count *count; /* the node's */
	struct recbuf spare;        /* of replies that are not kept */
};

void telem_reporter_init(struct telem_reporter *to, uint32_t node, const struct flow_table *flows, struct recbuf *records,
			 struct report_count *count);
void telem_reporter_fini(struct telem_reporter *to);

/*
 * Puts the reply of a port to polling packets, or its unsolicited report, among the node's records: the rows of all its
 * collectors.
 * @param present  [telem_classes()] NULL: of its dropped packets alone
 * @param asked  replies due: the first is kept, if any is; others are made, counted and thrown away
 * @return whether one was kept
 */
bool telem_reply(struct telem_port *t, struct telem_reporter *to, enum telem_extent extent,
		 const struct telem_present *present, uint32_t event, uint64_t now_ps, uint32_t asked);

static inline bool
telem_was_asked(const struct telem_port *t)
{
	return telem_has_epochs(t) && t->epochs.late != NULL && t->epochs.late->asked;
}

/* At an epoch's end, with config->late_looks: what became of flows and pauses. @param last  the run has ended */
void telem_late(struct telem_port *t, struct telem_reporter *to, uint64_t now_ps, bool last);

/*
 * Polling packets at a host's port, whatever kernel the host has (VEDRFOLNIR III-C3). The victim's host reports its own
 * NIC port first, as a switch would its egress, then lets the packet go. A host where a packet that traces pauses
 * arrives is the one that pauses: it reports that port, and the path ends. Elsewhere the path ends without a word,
 * unless packets were dropped there: the previous switch has reported that the polling packet went to a host.
 */

/* One port of a host, for its handling of polling packets. */
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

/* A polling packet has arrived. @return the request to the port that it is to answer; false: none */
bool telem_poll_asks(struct telem_port *port, const struct pkt *poll, enum telem_extent *extent);
/*
 * Is a polling packet that has arrived to be sent back, on the path of the ACKs? Its victim's path ends at this host,
 * and its event was not sent back before.
 * @param back  set to the packet that is to leave
 */
bool telem_poll_turns(struct telem_port *port, const struct pkt *poll, struct pkt *back);
/* Replies. at->present may be NULL for TELEM_DROPS. */
void telem_poll_reply(const struct telem_poll *at, const struct pkt *poll, enum telem_extent extent);

/* The port reports unasked. */
void telem_poll_unasked(const struct telem_poll *at);
