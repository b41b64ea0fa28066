/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A switch whose FIB is corrupt: packets between some addresses vanish in its pipeline, and no counter shows it
 * (FlowPulse, section 1: "switch memory corruption of the FIB can create a transient routing black hole").
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/flow.h"
#include "common/pkt.h"
#include "topo/topo.h"

struct sw;

#define FIB_ANY_PORT UINT16_MAX

/* Addresses that agree with ip where mask has ones; all zero: any. */
struct fib_net {
	uint32_t ip, mask;
};

/* An entry, or some, that are corrupt. */
struct fib_fault {
	uint32_t src, dst;          /* hosts; TOPO_NONE: any */
	uint16_t in_port, out_port; /* of those that arrive, and would leave, there alone; FIB_ANY_PORT */
	struct fib_net src_net, dst_net;
	double share; /* of the pairs of addresses for which that holds, chosen by the switch's chance; 1: all */
};

struct fib_faults {
	struct fib_entry *entries;
	uint32_t count; /* of entries, corrupt or repaired */
	uint32_t on;    /* that are corrupt for whatever egress; others stand at their egress. 0 costs nothing */
	uint64_t stream;
};

void fib_init(struct fib_faults *fib, uint64_t seed, uint32_t node);
void fib_fini(struct fib_faults *fib);

static inline bool
fib_is_corrupt(const struct fib_faults *fib)
{
	return __builtin_expect(fib->on != 0, 0);
}

/*
 * Does a packet vanish that arrived by a port?
 * @param out_port  that it is to leave by; FIB_ANY_PORT: before that is known, by what concerns every egress
 */
bool fib_loses(struct fib_faults *fib, const struct flow_table *flows, const struct pkt *p, uint16_t in_port,
	       uint16_t out_port);

/* The fault's handle; between windows only. @param fault  known by its address, which must stay */
void switch_set_fib_fault(struct sw *sw, const struct fib_fault *fault, bool on);
/* @return packets that vanished by it */
uint64_t switch_fib_losses(const struct sw *sw, const struct fib_fault *fault);
/* switch_route() of a switch whose FIB is corrupt. */
void switch_route_corrupt(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count);
