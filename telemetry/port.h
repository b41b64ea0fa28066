/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The telemetry of one port, a switch's or a NIC's: its collectors, the events that it was asked about, and its replies.
 * Of all that a port is asked for within telem_config.retain_ps the first reply is kept, as Hawkeye does to bound what
 * the analyzer has to process. What is not kept is made and counted all the same.
 */
#pragma once

#include "telemetry/drops.h"
#include "telemetry/epochs.h"
#include "telemetry/polled.h"
#include "telemetry/report.h"

#define TELEM_MAX_COLLECTORS 8

struct telem_port {
	uint32_t more_enqueue;             /* bit i: collector i, not the first, wants to see what is enqueued */
	struct epochs epochs;              /* the first collector's state, in here because every packet touches it */
	void *state[TELEM_MAX_COLLECTORS]; /* by the order of the list; NULL: off */
	struct port_drops *drops;          /* one of them */
	const struct telem_config *config;
	struct polled polled;
	uint64_t keep_ps, keep_state_ps; /* no rows are kept before, none of the state alone */
};

/* @param of_switches  NULL: drops alone are kept. @return what a host with so many NICs keeps beside such switches */
struct telem_config telem_config_of_host(const struct telem_config *of_switches, uint16_t nports);

/* @return 0 or -ENOMEM. config and flows, which the port's owner counts, must outlive the port. */
int telem_init(struct telem_port *t, const struct telem_config *config, const struct port_flows *flows, uint16_t port);
/* Also of one that is zero. */
void telem_fini(struct telem_port *t);

/* Does it keep rows of what left by it? */
static inline bool
telem_has_epochs(const struct telem_port *t)
{
	return !t->config->drops_only;
}

void telem_more_enqueue(const struct telem_port *t, const struct telem_batch *batch);

/* A packet of a class is enqueued behind depth packets. @param paused  the port is paused for its class */
static inline void
telem_enqueue(struct telem_port *t, uint32_t slot, uint8_t prio, uint16_t in_port, uint32_t bytes, uint32_t depth,
	      bool paused)
{
	epochs_enqueue(&t->epochs, slot, prio, in_port, bytes, depth, paused);
	if (__builtin_expect(t->more_enqueue != 0, 0))
		telem_more_enqueue(t, &(struct telem_batch){ slot, in_port, 1, paused, depth, bytes, depth });
}

/* A frame of class 0 goes ahead of so many packets of data that wait and could go. */
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

/* Where the replies of a node's ports go, and what they cost. */
struct telem_reporter {
	uint32_t node;
	const struct flow_table *flows;
	struct recbuf *records;     /* the node's */
	struct report_count *count; /* the node's */
	struct recbuf spare;        /* of what is not kept */
};

void telem_reporter_init(struct telem_reporter *to, uint32_t node, const struct flow_table *flows, struct recbuf *records,
			 struct report_count *count);
void telem_reporter_fini(struct telem_reporter *to);

/*
 * Puts what a port replies to polling packets, or tells unasked, among the node's records: the rows of all its collectors.
 * @param present  [telem_classes()] NULL: of what it dropped alone
 * @param asked  replies due: the first is kept, if any is; others are made, counted and thrown away
 * @return whether one was kept
 */
bool telem_reply(struct telem_port *t, struct telem_reporter *to, enum telem_extent extent,
		 const struct telem_present *present, uint32_t event, uint64_t now_ps, uint32_t asked);
