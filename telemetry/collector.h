/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collector keeps one kind of telemetry of a port of a switch or a NIC. It receives the port's events and returns its
 * rows on request. It has its own file and a row in the list of telemetry/port.c. All calls for a port are made by its
 * node's lcore, in order of time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/pkt.h"
#include "common/port_flows.h"
#include "common/record/buffer.h"
#include "common/wire/drop.h"

struct telem_config {
	uint64_t epoch_ps;
	uint32_t kept; /* epochs kept, the open one included; at least 1 */
	uint16_t nports;
	uint8_t lossless;     /* bit p: class p has PFC */
	uint8_t strict;       /* bit p: class p is served before those that share */
	bool drops_only;      /* what the port dropped is all that is kept */
	bool exact;           /* contention matrix */
	bool host;            /* a NIC */
	bool late_looks;      /* ports that were asked report later, unasked, what became of flows and pauses */
	bool every_epoch;     /* report all ports at each epoch's end, unasked */
	uint64_t retain_ps;   /* keep one report of a port in this time; 0: all */
	uint32_t quiet_depth; /* packets: a switch port with a shorter queue reports little; 0: every port reports all */
	const uint8_t (*class_of)[8]; /* [nports] class in which data that enters there is queued, by its own; NULL: that */
};

/* Classes that a port keeps counters for: each lossless class by itself, in order, then all other data classes as one. */
#define TELEM_MAX_CLASSES 8

static inline uint32_t
telem_classes(const struct telem_config *config)
{
	return 1 + (uint32_t)__builtin_popcount(config->lossless);
}

/* @return which of them a class belongs to */
static inline uint32_t
telem_class(const struct telem_config *config, uint8_t prio)
{
	uint32_t below = config->lossless & ((1u << prio) - 1);

	return (uint32_t)__builtin_popcount(config->lossless >> prio & 1 ? below : config->lossless);
}

/* Packets of one flow that were enqueued. */
struct telem_batch {
	uint32_t slot;    /* of the port's flows */
	uint32_t in_port; /* REC_NO_PORT: a NIC's own */
	uint32_t packets, paused_packets, depth_max;
	uint64_t bytes, depth_sum;
};

enum telem_pause {
	TELEM_PAUSED,        /* the peer pauses the port in these classes, from now on */
	TELEM_RESUMED,       /* no more */
	TELEM_XOFF_RECEIVED, /* the peer paused the port, whether it was paused before or not */
	TELEM_XOFF_SENT,     /* this connector's ingress paused its peer */
};

/* State of a class at the moment of a report. */
struct telem_present {
	uint64_t queue_packets, queue_bytes;
	uint64_t ingress_bytes, ingress_xoff_bytes, pausing_since_ps;
	bool pausing;
	const uint64_t *held_bytes; /* [nports] bytes in this queue by ingress; NULL: none */
};

enum telem_extent {
	TELEM_DROPS, /* what the port dropped, alone */
	TELEM_STATE, /* and its present state: of a port that is asked about its ingress, not about what leaves by it */
	TELEM_ROWS,  /* and the rows of what left by it */
};

/* A request for a port's report. */
struct telem_query {
	enum telem_extent extent;
	uint32_t event; /* 0: no request yet */
	uint64_t now_ps;
	const struct telem_present *present; /* [telem_classes()] NULL: of its drops alone */
	bool kept;                           /* the rows are delivered; else they are made for their size alone */
};

/* Hooks may be NULL, but for report. */
struct collector {
	const char *name;
	size_t state_bytes;                               /* of one port, cleared before init */
	bool (*is_on)(const struct telem_config *config); /* NULL: always */
	/* @return 0 or -ENOMEM. config and flows outlive the state. */
	int (*init)(void *state, const struct telem_config *config, const struct port_flows *flows, uint16_t port);
	void (*fini)(void *state); /* also after a failed init */
	void (*on_enqueue)(void *state, const struct telem_batch *batch);
	/* @param classes  bit p: of class p */
	void (*on_pause)(void *state, uint8_t classes, enum telem_pause what, uint64_t now_ps);
	void (*on_drop)(void *state, const struct pkt *p, enum rec_drop reason, uint64_t now_ps);
	/* Begins the next epoch. @param digest  updated. @return false if the counts of the last epoch do not add up */
	bool (*on_epoch)(void *state, uint64_t now_ps, uint64_t *digest);
	void (*report)(void *state, const struct telem_query *query, struct recbuf *records);
	/* Unasked, at an epoch's end. @param last  of the run */
	void (*late)(void *state, uint64_t now_ps, bool last, struct recbuf *records);
};
