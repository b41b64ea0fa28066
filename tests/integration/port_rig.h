/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port whose peer is the test: frames wait in its ring, it records what it is given, and refuses on demand.
 * EAL must run: port_rig_eal().
 */
#pragma once

#include "dpswitch/edge/port/port.h"

#define PORT_RIG_ROOM_BYTES 2048 /* of a frame: DPDK clears what is given back, most of it for jumbo frames else */
#define PORT_RIG_MAX 8192

struct port_rig_frame {
	uint8_t *data;
	uint32_t size;
};

struct port_rig {
	struct port port;                       /* first */
	struct port_rig_frame in[PORT_RIG_MAX]; /* what the peer has sent */
	uint32_t nin, next;
	struct port_rig_frame out[PORT_RIG_MAX]; /* what it was given */
	uint32_t nout;
	uint32_t takes;                       /* frames that it takes at a time */
	uint64_t deaf_from_ns, deaf_until_ns; /* it takes nothing meanwhile */
	const uint64_t *clock_ps;             /* the fabric's time */
	uint64_t now_ns;
	uint64_t first_taken_ns;              /* when it was given the first frame */
	uint64_t received_ns[PORT_RIG_MAX];   /* when each of in was asked for */
	bool gone;                            /* no peer */
	uint64_t held_until_ns[PORT_RIG_MAX]; /* the frame is not there earlier */
};

/* Starts EAL once. @return 0 or negative */
int port_rig_eal(void);

struct port_rig *port_rig_create(const char *name, uint32_t mbufs);
void port_rig_destroy(struct port_rig *rig);
/* The peer sends a frame: a copy. */
void port_rig_send(struct port_rig *rig, const uint8_t *bytes, uint32_t size_bytes);
/* The frame sent next is not there before now_ns. */
void port_rig_hold(struct port_rig *rig, uint64_t now_ns);
/* mbufs of the pool in use. */
uint32_t port_rig_in_use(const struct port_rig *rig);
