/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cables between a node of this part and one of another: what a window put on them leaves as messages, and what arrives over them
 * waits until its time has come. Frames go by value: a descriptor, with its telemetry of the path and, where its message has
 * contents, with those. The delay of a cable is the time that a message has to be here.
 */
#pragma once

#include "common/int_header.h"
#include "dpswitch/fabric/fabric.h"
#include "emulation/part.h"
#include "emulation/parts/channel.h"

struct parts;

/* A frame that has been received, and not arrived. */
struct cut_frame {
	struct pkt p;
	struct int_header header; /* with PKT_INT */
};

/* A direction of a cable: from a port of another part to one of this. */
struct cut_way {
	uint32_t port; /* global id, of the sender's */
	uint32_t from; /* part */
	struct cut_frame *frames;
	struct pause_frame *pauses;
	size_t frames_head, frames_used, frames_cap, frames_most;
	size_t pauses_head, pauses_used, pauses_cap;
	uint64_t last_ps, last_pause_ps; /* of what came last */
	uint64_t cut_ps;                 /* when the cable was cut last: what had left before is lost */
	bool down;
	uint8_t pausing; /* classes that its sender tells ours to hold, as far as it is known here */
};

struct cut {
	struct cut_way *ways; /* [count] */
	uint32_t count;
	uint32_t *way_of;  /* [topo->nports] by the sender's port; TOPO_NONE: none */
	uint32_t *leaving; /* [count] ports of this part at the same cables */
	struct part_crossed crossed;
};

/* @param part_of  [nnodes]. @return 0 or -ENOMEM */
int cut_init(struct cut *cut, const struct topo *topo, const uint32_t *part_of, uint32_t part);
void cut_fini(struct cut *cut);
/* The fabric has stopped: what had not arrived is given back. Before it is destroyed. */
void cut_stop(struct parts *parts);
/* Another phase begins, as if nothing had crossed. */
void cut_renew(struct cut *cut);

/* What was sent in the window that has ended goes into the channels. */
void cut_leaving(struct parts *parts, const struct window *window);
/*
 * What arrives in the window that begins goes onto its cables, and what faults did to them is followed.
 * @return 0; -EPROTO with err set: a part sends more than its cable carries, and which
 */
int cut_entering(struct parts *parts, const struct window *window, uint32_t *from, struct err *err);
/* @return when the next of what has been received arrives; TIME_NEVER: nothing has */
uint64_t cut_next_ps(const struct cut *cut);

/* A FRAME or PAUSE came. @return 0; -EPROTO with err set: it cannot be */
int cut_frame_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err);
int cut_pause_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err);
