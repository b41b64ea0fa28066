/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cables between a node of this partition and one of another. Frames that a window put on them leave as messages, and
 * frames that arrive over them wait until their time. Frames go by value: a descriptor, with its telemetry of the
 * path and the contents, where its message has any. A message has the delay of the cable as time to arrive.
 */
#pragma once

#include <stdatomic.h>

#include "common/flow.h"
#include "common/int_header.h"
#include "dpswitch/fabric/body.h"
#include "dpswitch/fabric/fabric.h"
#include "emulation/partition.h"
#include "emulation/partition/channel.h"

struct partitions;

/* A frame that has been received, and not arrived. */
struct boundary_frame {
	struct pkt p;
	struct int_header header; /* with PKT_INT */
};

/* A direction of a cable: from a port of another partition to one of this. */
struct boundary_crossing {
	uint32_t port; /* global id, of the sender's */
	uint32_t from; /* partition */
	struct boundary_frame *frames;
	struct pause_frame *pauses;
	size_t frames_head, frames_used, frames_cap, frames_most;
	size_t pauses_head, pauses_used, pauses_cap;
	uint64_t last_ps, last_pause_ps; /* of the last arrival */
	uint64_t down_ps;                /* when the link last went down: frames that had left before are lost */
	bool down;
	uint8_t pausing; /* classes that its sender asks ours to hold, as far as known here */
};

struct boundary {
	struct boundary_crossing *crossings; /* [count] */
	uint32_t count;
	uint32_t *crossing_of; /* [topo->nports] by the sender's port; TOPO_NONE: none */
	uint32_t *leaving;     /* [count] ports of this partition at the same cables */
	struct partition_crossed crossed;
};

/* @param partition_of  [nnodes]. @return 0 or -ENOMEM */
int boundary_init(struct boundary *boundary, const struct topo *topo, const uint32_t *partition_of, uint32_t partition);
void boundary_fini(struct boundary *boundary);
/* The fabric has stopped: returns the packets that had not arrived. Before it is destroyed. */
void boundary_stop(struct partitions *partitions);
/* Another phase begins, as if nothing had crossed. */
void boundary_renew(struct boundary *boundary);

/* Puts the frames that were sent in the last window into the channels. */
void boundary_leaving(struct partitions *partitions, const struct window *window);
/*
 * Puts the frames that arrive in the window that begins onto their cables, and applies the effects of faults on the
 * cables.
 * @return 0; -EPROTO with err set: a partition sends more than its cable carries, with its name
 */
int boundary_entering(struct partitions *partitions, const struct window *window, uint32_t *from, struct err *err);
/* @return when the next received frame arrives; TIME_NEVER: there is none */
uint64_t boundary_next_ps(const struct boundary *boundary);

/* A FRAME or PAUSE arrived. @return 0; -EPROTO with err set: it is impossible */
int boundary_on_frame(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err);
int boundary_on_pause(struct partitions *partitions, uint32_t from, const struct channel_message *message, struct err *err);

/* Contents of data segments from other partitions, while their descriptors travel (dpswitch/fabric/body.h). */

struct segment {
	struct body body;
	uint8_t *bytes; /* [cap_bytes] */
	size_t cap_bytes;
	/*
	 * Set by the first lcore between windows, cleared by the one where the packet ends (release); the lcore that
	 * reads it to use the slot again acquires.
	 */
	_Atomic bool used;
};

struct segments {
	struct bodies base; /* first */
	struct segment *slots;
	uint32_t *free; /* [cap] a stack of nfree that are known to be, the first lcore's own */
	size_t cap, free_cap;
	uint32_t nfree;
};

void segments_init(struct segments *segments);
void segments_fini(struct segments *segments);

/* @return whether the handle is in use; *body until it is released */
bool segments_read(const struct segments *segments, uint32_t handle, struct body *body);
