/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telemetry of one egress port, per epoch, as Hawkeye keeps it: flow rows, port counters, port-to-port meter.
 * Counters are cumulative within an epoch. Closed epochs are reported once, summed per flow; the open one at every
 * report, so that the latest row of (port, first epoch) is the one that counts. Data classes: all but class 0.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/port_flows.h"
#include "common/record/buffer.h"

/* Columns of the exact contention matrix; flows beyond share the last. */
#define TELEM_MATRIX 16

struct telem_config {
	uint64_t epoch_ps;
	uint32_t kept; /* epochs kept, the open one included; at least 1 */
	uint16_t nports;
	bool exact;         /* contention matrix */
	bool host;          /* a NIC */
	bool every_epoch;   /* report all ports at each epoch's end, unasked */
	uint64_t retain_ps; /* keep one report of a port in this time; 0: all */
	uint32_t
		quiet_depth; /* packets: a switch port whose queue stays below has little to tell; 0: every port tells all */
};

struct telem_row {
	uint64_t bytes, depth_sum;
	uint32_t packets, paused_packets;
	uint32_t in_port, reserved;
};

struct telem_epoch {
	uint64_t index; /* epoch number: start time / epoch_ps */
	uint64_t packets, bytes, depth_sum, paused_packets, pause_ps;
	uint32_t depth_max, pauses_received, pauses_sent, reserved;
	struct telem_row *rows;           /* [slots_cap] */
	uint64_t *meter;                  /* [nports] bytes that came in there and left here */
	uint32_t (*matrix)[TELEM_MATRIX]; /* [slots_cap], exact contention only */
};

struct telem_port {
	/* touched per packet */
	struct telem_epoch *open;
	uint32_t slots_cap;
	bool paused;
	/* the rest */
	const struct port_flows *flows; /* of the port, which counts what waits */
	struct telem_epoch *epochs;     /* [kept], by index % kept */
	const struct telem_config *config;
	uint64_t pause_mark_ps; /* paused time is counted up to here */
	uint64_t paused_since_ps;
	uint64_t last_paused;            /* the latest epoch with a pause + 1, 0: none */
	uint64_t *last_fed;              /* [nports] the latest closed epoch that it fed + 1, 0: none */
	uint64_t unreported;             /* first epoch not yet reported closed */
	uint64_t keep_ps, keep_state_ps; /* no report is kept before, none of the state alone: answer.c */
	uint16_t port;
};

/* What a report adds about the moment it is made. */
struct telem_present {
	uint64_t queue_packets, queue_bytes;
	uint64_t ingress_bytes, ingress_xoff_bytes, pausing_since_ps;
	bool pausing;
	const uint64_t *held_bytes; /* [nports] bytes in this queue by ingress; NULL: none */
};

/* @return 0 or -ENOMEM. config and flows must outlive the port. */
int telem_init(struct telem_port *t, const struct telem_config *config, const struct port_flows *flows, uint16_t port);
void telem_fini(struct telem_port *t);

/* Makes room for rows of so many slots. Ends the program when out of memory. */
void telem_reserve(struct telem_port *t, uint32_t slots);

/* Slots that have rows: those counted so far, or more. */
static inline uint32_t
telem_slots(const struct telem_port *t)
{
	return t->flows->count < t->slots_cap ? t->flows->count : t->slots_cap;
}

void telem_count_matrix(struct telem_port *t, uint32_t slot);

/* A packet is enqueued behind depth packets. @param paused  the port is paused for its class */
static inline void
telem_enqueue(struct telem_port *t, uint32_t slot, uint16_t in_port, uint32_t bytes, uint32_t depth, bool paused)
{
	struct telem_epoch *open = t->open;
	struct telem_row *row;

	if (__builtin_expect(slot >= t->slots_cap, 0))
		telem_reserve(t, slot + 1);
	row = &open->rows[slot];
	row->packets++;
	row->bytes += bytes;
	row->depth_sum += depth;
	row->paused_packets += paused;
	row->in_port = in_port;
	open->packets++;
	open->bytes += bytes;
	open->depth_sum += depth;
	open->paused_packets += paused;
	open->depth_max = depth > open->depth_max ? depth : open->depth_max;
	open->meter[in_port] += bytes;
	if (__builtin_expect(open->matrix != NULL, 0))
		telem_count_matrix(t, slot);
}

/* Packets of one flow that left by a NIC, counted by its host. */
struct telem_batch {
	uint32_t packets, paused_packets, depth_max;
	uint64_t bytes, depth_sum;
};

void telem_add(struct telem_port *t, uint32_t slot, const struct telem_batch *batch);

/* From now on this port is paused, or not. */
void telem_pause(struct telem_port *t, bool paused, uint64_t now_ps);

/* The peer told this port to stop. */
static inline void
telem_pause_received(struct telem_port *t)
{
	t->open->pauses_received++;
	t->last_paused = t->open->index + 1;
}

/* This connector's ingress told its peer to stop. */
static inline void
telem_pause_sent(struct telem_port *t)
{
	t->open->pauses_sent++;
}

/*
 * Opens the epoch that now_ps lies in, if it is another one.
 * @param digest  updated with the closed epoch's port counters
 * @return false if the closed epoch's flow rows do not sum to its port counters
 */
bool telem_roll(struct telem_port *t, uint64_t now_ps, uint64_t *digest);

/* The oldest epoch that is still kept. */
static inline uint64_t
telem_oldest_kept(const struct telem_port *t)
{
	uint64_t open = t->open->index;

	return open >= t->config->kept ? open - t->config->kept + 1 : 0;
}

/* Epoch by number, NULL if it was never opened or is gone. */
static inline const struct telem_epoch *
telem_epoch_at(const struct telem_port *t, uint64_t index)
{
	const struct telem_epoch *epoch = t->open;

	if (index != epoch->index) /* the open one is asked for most: no division for it */
		epoch = &t->epochs[index % t->config->kept];
	return epoch->index == index ? epoch : NULL;
}

/* Counts paused time up to now. */
void telem_count_pause(struct telem_port *t, uint64_t now_ps);

/* Was the port paused at any time within the kept epochs, or is it now? */
static inline bool
telem_was_paused(const struct telem_port *t)
{
	return t->paused || t->last_paused > telem_oldest_kept(t);
}

/* Did anything that came in at in_port leave here within the kept epochs? */
static inline bool
telem_was_fed(const struct telem_port *t, uint16_t in_port)
{
	return t->open->meter[in_port] != 0 || t->last_fed[in_port] > telem_oldest_kept(t);
}

/* Bytes that left within the kept epochs. */
uint64_t telem_carried_bytes(const struct telem_port *t);

/* Did two flows or more use the port since its last report, and some packet wait? */
bool telem_was_shared(const struct telem_port *t);

/*
 * Reports: closed epochs not yet reported, summed; the open epoch with the present state. The state alone of a port that
 * told of closed epochs and of which the open one tells nothing new: a quiet port, since a queue that stayed below
 * config.quiet_depth, without a pause, explains nothing; or one that told of many, with the same flows, queues and
 * pauses. The open epoch is told once it is closed.
 */
void telem_report(struct telem_port *t, const struct telem_present *present, struct recbuf *records, uint32_t event,
		  uint64_t now_ps);

/* Reports the present state alone: of a port that is asked about its ingress, not about what leaves by it. */
void telem_report_state(struct telem_port *t, const struct telem_present *present, struct recbuf *records, uint32_t event,
			uint64_t now_ps);
