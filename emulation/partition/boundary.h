/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cables between a node of this partition and one of another. Frames that a window put on them leave as messages, and
 * frames that arrive over them wait until their time. Frames go by value: a descriptor, with its telemetry of the
 * path and the contents, where its message has any. A message has the delay of the cable as time to arrive.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "common/err.h"
#include "common/flow.h"
#include "common/int_header.h"
#include "dpswitch/fabric/body.h"
#include "dpswitch/fabric/fabric.h"
#include "emulation/partition.h"
#include "emulation/partition/rendezvous.h"
#include "scenario/scenario.h"

struct emulation;
struct scenario;

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
	uint8_t held;    /* in the same windows, while the link is down: the same, as its sender has reported it */
	/* in the same windows: what our port at this cable sent in the last one, which its MAC counts with the next */
	struct {
		uint64_t frames, bytes, pauses[8];
	} sent;
};

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

struct boundary {
	const struct scenario *scenario;
	const uint32_t *partition_of; /* [nnodes] */
	bool bare;                    /* behind descriptors stand no contents or bytes, but of datagrams */
	struct channel *channels[PARTITION_MAX];
	struct emulation *emulation; /* of the present fabric */
	struct segments segments;
	struct boundary_crossing *crossings; /* [count] */
	uint32_t count;
	uint32_t *crossing_of; /* [topo->nports] by the sender's port; TOPO_NONE: none */
	uint32_t *leaving;     /* [count] ports of this partition at the same cables */
	struct partition_crossed crossed;
};

/* The channels and the emulation are the caller's to set. @param partition_of  [nnodes]. @return 0 or -ENOMEM */
int boundary_init(struct boundary *boundary, const struct scenario *scenario, const uint32_t *partition_of,
		  uint32_t partition);
void boundary_fini(struct boundary *boundary);
/* The fabric has stopped: returns the packets that had not arrived. Before it is destroyed. */
void boundary_stop(struct boundary *boundary);
/* Another phase begins, as if nothing had crossed. */
void boundary_renew(struct boundary *boundary);

/* Puts the frames that were sent in the last window into the channels. */
void boundary_leaving(struct boundary *boundary, const struct window *window);
/*
 * Virtual time, where a frame takes the cable's lane as in a fabric of one program. Between windows MACs have counted
 * what the receiver took in, hence not the frames of the last window.
 */
void boundary_leaving_lanes(struct boundary *boundary, const struct window *window);
/* Puts all received frames into the lanes of the window that has ended. @return as boundary_entering() */
int boundary_enter_lanes(struct boundary *boundary, const struct window *window, uint32_t *from, struct err *err);
/* @return classes that a port of another partition at a boundary cable holds, whose link is down (global id) */
uint8_t boundary_held(const struct boundary *boundary, uint32_t port);

/*
 * Puts the frames that arrive in the window that begins onto their cables, and applies the effects of faults on the
 * cables.
 * @return 0; -EPROTO with err set: a partition sends more than its cable carries, with its name
 */
int boundary_entering(struct boundary *boundary, const struct window *window, uint32_t *from, struct err *err);
/* @return when the next received frame arrives; TIME_NEVER: there is none */
uint64_t boundary_next_ps(const struct boundary *boundary);

/*
 * A FRAME, LANE or PAUSE arrived.
 * @param leaves_ps  nothing leaves its partition before
 * @return 0; -EPROTO with err set: it is impossible
 */
int boundary_on_frame(struct boundary *boundary, uint32_t from, uint64_t leaves_ps, const struct channel_message *message,
		      struct err *err);
int boundary_on_lane(struct boundary *boundary, uint32_t from, uint64_t leaves_ps, const struct channel_message *message,
		     struct err *err);
int boundary_on_pause(struct boundary *boundary, uint32_t from, uint64_t leaves_ps, const struct channel_message *message,
		      struct err *err);

int boundary_on_held(struct boundary *boundary, uint32_t from, const struct channel_message *message, struct err *err);

/* @return whether the handle is in use; *body until it is released */
bool segments_read(const struct segments *segments, uint32_t handle, struct body *body);
