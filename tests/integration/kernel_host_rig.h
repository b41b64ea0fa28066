/* SPDX-License-Identifier: BSD-3-Clause */
/* A fabric of real switches (fabric_rig) with external hosts on some of its ports (port_rig). */
#pragma once

#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/kernel_host/kernel_host.h"
#include "tests/integration/port_rig.h"
#include "tests/unit/dpswitch/fabric_rig.h"

#define XRIG_MAX 4
#define XRIG_MAX_NODES 16
#define XRIG_FRAME_BYTES 1100 /* largest frame on the wire */

struct xrig {
	struct frig f;
	struct edge *edge;
	struct sw *switches[XRIG_MAX_NODES];
	struct port *devices[XRIG_MAX]; /* the test's own ports, closed with the rig; NULL: port_rig's */
	struct port_rig *ports[XRIG_MAX];
	struct node *nodes[XRIG_MAX];
	uint32_t ids[XRIG_MAX];
	uint32_t count;
	bool pfc;
	bool ecn;
	struct prng prng; /* of what the test draws */
	struct message_source source;
	uint64_t hold_bytes;
	uint64_t idle_ps;
	uint32_t mbufs;
	uint32_t lcores; /* 0: 1 */
};

/* After frig_init() of x->f, planned flows made. @param spares  spare flow slots */
void xrig_start(struct xrig *x, const char *const *hosts, uint32_t count, uint32_t spares);
void xrig_stop(struct xrig *x);
/* Frames from outside that are still somewhere: mbufs of the ports. */
uint32_t xrig_in_use(const struct xrig *x);
/* Runs to end_ps: until then somebody has work. */
void xrig_run(struct xrig *x, uint64_t end_ps);
