/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch between an embedded host, e, and a guest with the kernel's soft-RoCE, g. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "dpswitch/edge/kernel_host/kernel_host.h"
#include "dpswitch/fabric/pacer.h"
#include "rxe-hosts/device/embedded/embedded.h"
#include "tests/unit/dpswitch/fabric_rig.h"

enum { FLOW_IN, FLOW_OUT, FLOW_UD_IN, FLOW_UD_OUT }; /* as the embedded host sees them */
enum state { WAIT_HELLO, WAIT_READY, WORKING, DRAINING, WAIT_UD, DONE, FAILED };

struct interop {
	struct frig f; /* first: the hooks' context */
	struct pacer pacer;
	struct edge *edge;
	struct port *port;
	struct node *guest, *host;
	struct device *dev;
	struct embedded_shared *shared;
	struct roce_params params;
	struct sw *switches[4];
	uint8_t *region;
	enum state state;
	int line;
	char text[256];
	size_t used;
	uint32_t rkey;
	uint64_t va, start_ns, drain_ns;
	uint32_t sent, received, wrong, datagrams;
	uint32_t peer_sent, peer_received, peer_wrong, peer_datagrams_sent, peer_datagrams;
};

/*
 * Makes the network, with faults as in a scenario, e with its receives posted, and g behind a vhost-user socket. t is all
 * zero but for what the caller wants kept. @return 0 or negative, with err
 */
int interop_build(struct interop *t, const char *socket_path, const char *faults, struct err *err);
void interop_destroy(struct interop *t);
