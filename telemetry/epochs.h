/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telemetry of one egress port, per epoch, as Hawkeye keeps it: flow rows, port counters, port-to-port meter.
 * Counters are cumulative within an epoch. Closed epochs are reported once, summed per flow; the open one at every
 * report, so that the latest row of (port, first epoch) is the one that counts. Data classes: all but class 0, of which
 * those frames are counted that took the link from data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "telemetry/collector.h"

/*
 * Who took a port's link from data that waited: frames of class 0, which is served strictly first, by flow, in one
 * epoch. A table of fixed size, found by the flow's number, as a switch's flow table is; flows that find no place share
 * one.
 */

#define OVERTAKES_SLOTS 32
#define OVERTAKES_WAYS 4 /* places that a flow may have */

struct overtaker {
	uint64_t bytes;
	uint32_t packets;
	uint32_t key; /* overtakes_key(); 0: a free place */
};

struct overtakes {
	struct overtaker by[OVERTAKES_SLOTS];
	struct overtaker others; /* key 0 */
	uint32_t depth_max;      /* packets of data that waited, at most */
	bool any;
};

/* @param acks  what travels back to the flow's sender: ACKs, NAKs, CNPs */
static inline uint32_t
overtakes_key(uint32_t flow, bool acks)
{
	return (flow << 1 | acks) + 1;
}

static inline uint32_t
overtakes_flow(uint32_t key)
{
	return (key - 1) >> 1;
}

static inline bool
overtakes_acks(uint32_t key)
{
	return (key - 1) & 1;
}

/* The place of a flow that is not where it is looked for first: found, or made. */
struct overtaker *overtakes_place(struct overtakes *o, uint32_t key);

static inline void
overtakes_add(struct overtakes *o, uint32_t key, uint32_t packets, uint64_t bytes)
{
	struct overtaker *by = &o->by[key % OVERTAKES_SLOTS];

	if (__builtin_expect(by->key != key, 0))
		by = overtakes_place(o, key);
	by->packets += packets;
	by->bytes += bytes;
}

/* Adds up the counts of one epoch. */
void overtakes_sum(struct overtakes *sum, const struct overtakes *of);
/* Flows with less than this fraction of all bytes join the others. @return bytes of all */
uint64_t overtakes_fold(struct overtakes *o, uint32_t part);

/* Columns of the exact contention matrix; flows beyond share the last. */
#define EPOCHS_MATRIX 16

struct epoch_row {
	uint64_t bytes, depth_sum;
	uint32_t packets, paused_packets;
	uint32_t in_port, depth_max;
};

/* Counters of a class (telem_class()) in an epoch. Those that rows hold, too, are summed for a report: epochs_sum(). */
struct epoch_class {
	uint64_t pause_ps;
	uint32_t pauses_received, pauses_sent;
	uint64_t *meter; /* [nports] bytes that entered there and left here */
};

struct epoch_sums {
	uint64_t packets, bytes, depth_sum, paused_packets, pause_ps;
	uint32_t depth_max, pauses_received, pauses_sent;
};

struct epoch {
	uint64_t index;                    /* epoch number: start time / epoch_ps */
	uint64_t packets, bytes;           /* of all rows */
	struct epoch_class *classes;       /* [telem_classes()] */
	struct epoch_row *rows;            /* [slots_cap] */
	uint32_t (*matrix)[EPOCHS_MATRIX]; /* [slots_cap], exact contention only */
	struct overtakes *overtakes;       /* NULL: none yet */
};

/* The pauses of a class. */
struct epochs_pause {
	uint8_t held;         /* bit p: the peer pauses class p; of a lossless class: its own bit alone */
	uint64_t mark_ps;     /* paused time is counted up to here */
	uint64_t since_ps;    /* if held */
	uint64_t last_paused; /* the latest epoch with a pause + 1, 0: none */
};

/* Enqueued packets and bytes of a class since the run began. */
struct epochs_total {
	uint64_t packets, bytes;
};

/* Traffic of a flow in closed epochs. */
struct flow_seen {
	uint64_t first_ps;         /* its first packet */
	uint64_t last;             /* the latest epoch that has one of its packets + 1; 0: none */
	uint64_t bytes;            /* struct epochs.before has the packets */
	uint64_t reported_packets; /* when it was reported last */
	uint64_t reported;         /* in which epoch */
};

/* The pauses of a class that the port was asked in: the longest that is over and not reported yet; over_ps 0: none. */
struct pause_over {
	uint64_t over_since_ps, over_ps;
	bool asked; /* in the one that is held */
};

/* State of late looks: what ports report later, unasked. */
struct epochs_late {
	struct flow_seen *flows; /* [slots_cap] */
	struct pause_over pauses[TELEM_MAX_CLASSES];
	bool asked; /* the port was, once */
};

struct epochs {
	/* touched per packet */
	struct epoch *open;
	uint32_t slots_cap;
	uint64_t *meter_of[8]; /* the open epoch's, by prio */
	uint8_t class_of[8];   /* telem_class() */
	/* the rest */
	const struct port_flows *flows; /* of the port, which counts what waits */
	struct epoch *ring;             /* [kept], by index % kept */
	const struct telem_config *config;
	struct epochs_pause pauses[TELEM_MAX_CLASSES];
	struct epochs_total totals[8]; /* by class, of all epochs before the open one; config->class_of: of that as well */
	uint64_t *before;              /* [slots_cap] packets of the slot's flow in all epochs before the open one */
	uint64_t *last_fed;            /* [telem_classes() * nports] the latest closed epoch that it fed + 1, 0: none */
	struct epochs_late *late;      /* NULL: no late looks */
	uint64_t unreported;           /* first epoch not yet reported closed */
	uint32_t nclasses;
	uint16_t port;
};

/* @return 0 or -ENOMEM. config and flows must outlive the port. */
int epochs_init(struct epochs *e, const struct telem_config *config, const struct port_flows *flows, uint16_t port);
void epochs_fini(struct epochs *e);

/*
 * @param slots  flows that have room
 * @return bytes that a port allocates beside struct epochs; without overtakes: sizeof(struct overtakes) an epoch with any
 */
size_t epochs_bytes(const struct telem_config *config, uint32_t slots);

/* Makes room for rows of that number of slots. Ends the program when out of memory. */
void epochs_reserve(struct epochs *e, uint32_t slots);

/* A slot is new, and has room: its flow's first packet is enqueued. Where there are late looks. */
void epochs_first(struct epochs *e, uint32_t slot, uint64_t now_ps);

/* Makes room for the flows that overtake in the open epoch, likewise. */
void epochs_reserve_overtakes(struct epochs *e);

/* Slots that have rows: those counted so far, or more. */
static inline uint32_t
epochs_slots(const struct epochs *e)
{
	return e->flows->count < e->slots_cap ? e->flows->count : e->slots_cap;
}

/* A packet has been enqueued, and the exact contention matrix is kept. */
void epochs_count_matrix(struct epochs *e, uint32_t slot);

/*
 * One has been enqueued by a switch: what epochs_enqueue() leaves out, the matrix, and where switches map classes the
 * totals of queues. Rows of reports are of the classes that flows are sent in, as their diagnosers know no other.
 */
void epochs_observe(struct epochs *e, const struct telem_batch *batch);

/*
 * A packet of a class is enqueued behind depth packets. The rest is epochs_observe()'s.
 * @param slot    has room: epochs_reserve()
 * @param paused  the port is paused for its class
 */
static inline __attribute__((always_inline)) void
epochs_enqueue(struct epochs *e, uint32_t slot, uint8_t prio, uint16_t in_port, uint32_t bytes, uint32_t depth, bool paused)
{
	struct epoch *open = e->open;
	struct epoch_row *row = &open->rows[slot];

	row->packets++;
	row->bytes += bytes;
	row->depth_sum += depth;
	row->paused_packets += paused;
	row->in_port = in_port;
	row->depth_max = depth > row->depth_max ? depth : row->depth_max;
	open->packets++;
	open->bytes += bytes;
	e->meter_of[prio][in_port] += bytes;
}

/*
 * A frame of class 0 goes ahead of data that waits and could go.
 * @param acks   it travels back to the flow's sender
 * @param depth  packets of data that wait
 */
static inline void
epochs_overtake(struct epochs *e, uint32_t flow, bool acks, uint32_t bytes, uint32_t depth)
{
	struct overtakes *overtakes;

	if (__builtin_expect(e->open->overtakes == NULL, 0))
		epochs_reserve_overtakes(e);
	overtakes = e->open->overtakes;
	overtakes_add(overtakes, overtakes_key(flow, acks), 1, bytes);
	overtakes->depth_max = depth > overtakes->depth_max ? depth : overtakes->depth_max;
}

/* Packets of one flow have left by a NIC. */
void epochs_add(struct epochs *e, const struct telem_batch *batch);

/* A packet of one slot's flow left a NIC ahead of one of another's that waits: the exact contention matrix. */
void epochs_ahead(struct epochs *e, uint32_t waiting, uint32_t left);

/* @param classes  bit p: of class p */
void epochs_pause(struct epochs *e, uint8_t classes, enum telem_pause what, uint64_t now_ps);

/*
 * Opens the epoch that now_ps lies in, if it is another one.
 * @param digest  updated with the closed epoch's port counters
 * @return false if the closed epoch's flow rows do not sum to its port counters
 */
bool epochs_roll(struct epochs *e, uint64_t now_ps, uint64_t *digest);

/* The oldest epoch that is still kept. */
static inline uint64_t
epochs_oldest_kept(const struct epochs *e)
{
	uint64_t open = e->open->index;

	return open >= e->config->kept ? open - e->config->kept + 1 : 0;
}

/* Epoch by number, NULL if it was never opened or is gone. */
static inline const struct epoch *
epoch_at(const struct epochs *e, uint64_t index)
{
	const struct epoch *epoch = e->open;

	if (index != epoch->index) /* the open one is asked for most: no division for it */
		epoch = &e->ring[index % e->config->kept];
	return epoch->index == index ? epoch : NULL;
}

/* Adds what an epoch has of each class. @param sums  [telem_classes()] */
void epochs_sum(const struct epochs *e, const struct epoch *epoch, struct epoch_sums *sums);

/* Counts paused time up to now. */
void epochs_count_pause(struct epochs *e, uint64_t now_ps);

/* Was the port paused for a class at any time within the kept epochs, or is it now? */
static inline bool
epochs_was_paused(const struct epochs *e, uint8_t prio)
{
	const struct epochs_pause *pause_state = &e->pauses[e->class_of[prio]];

	return pause_state->held != 0 || pause_state->last_paused > epochs_oldest_kept(e);
}

/* Did anything of a class that entered at in_port leave here within the kept epochs? */
static inline bool
epochs_was_fed(const struct epochs *e, uint8_t prio, uint16_t in_port)
{
	uint32_t class = e->class_of[prio];

	return e->open->classes[class].meter[in_port] != 0 ||
	       e->last_fed[class * e->config->nports + in_port] > epochs_oldest_kept(e);
}

/* Sums the packets and bytes of each class that were enqueued since the run began, including epochs no longer kept. */
void epochs_totals(const struct epochs *e, struct epochs_total totals[8]);

/* Packets of a flow since the run began, kept epochs or not. */
uint64_t epochs_packets_of(const struct epochs *e, uint32_t flow);

/* Bytes that left within the kept epochs. */
uint64_t epochs_carried_bytes(const struct epochs *e);

/* Did two flows or more use the port since its last report, and some packet wait? */
bool epochs_was_shared(const struct epochs *e);

/*
 * Reports rows: closed epochs not yet reported, summed; and the open epoch with the present state. A port that has
 * reported its closed epochs, and whose open epoch adds nothing, reports the present state alone. That is a quiet port,
 * since a queue that stayed below config.quiet_depth, without a pause, explains nothing; or a port that has reported
 * many epochs, with the same flows, queues and pauses. The open epoch is reported once it is closed.
 */
void epochs_report(struct epochs *e, const struct telem_query *query, struct recbuf *records);

/* late.c: of struct collector */
void epochs_late_report(void *state, uint64_t now_ps, bool last, struct recbuf *records);

/* The class that rows name; 0: data classes without PFC. */
uint16_t epochs_prio_of(const struct epochs *e, uint32_t class);

extern const struct collector collector_epochs;
