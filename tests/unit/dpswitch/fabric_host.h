/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host that is a generator: it sends the frames of its list, at line rate, obeys PAUSE, and writes down all that
 * reaches it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "dpswitch/fabric/fabric.h"
#include "dpswitch/fabric/node.h"

struct frig_frame {
	uint64_t at_ps; /* earliest first bit */
	struct pkt p;
};

struct frig_own_pause {
	uint64_t at_ps; /* first bit */
	uint8_t prio_mask;
	bool xoff;
};

/* Frames to send, in this order. */
struct frig_frames {
	struct frig_frame *frames;
	size_t count, next;
};

/* A host with one NIC. */
struct frig_host {
	struct node node;                 /* first */
	struct frig_frames control, data; /* class 0, which goes first and is never paused; the others */
	struct frig_own_pause *own;
	size_t nown, next_own;
	struct pkt *got;         /* arrivals, as they came */
	struct int_header *ints; /* beside those with PKT_INT */
	size_t ngot;
	struct pkt *sent; /* departures; time_ps is their arrival at the other end */
	size_t nsent;
	struct pause_frame *pauses; /* PAUSE and RESUME that arrived */
	size_t npauses;
	uint64_t free_ps, floor_ps;
	uint8_t paused, holding; /* classes that the peer holds back here; that this host holds back there */
};

/* A host of this id in a network; by frig_host_destroy(). */
struct frig_host *frig_host_create(const struct topo *topo, const struct flow_table *flows, uint32_t id);
void frig_host_destroy(struct frig_host *host);
/* One frame more, to be sent at_ps or later, behind those of before. */
void frig_host_send(struct frig_host *host, uint64_t at_ps, const struct pkt *p);
/* A PAUSE or RESUME of its own. */
void frig_host_pause(struct frig_host *host, uint64_t at_ps, uint8_t prio_mask, bool xoff);
