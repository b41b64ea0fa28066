/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of the ports of a running fabric's switches, for a request from another thread. No asker blocks the fabric,
 * and the fabric blocks no asker. An asker sets a request in one atomic. The first lcore checks it between two windows,
 * while no other lcore touches a switch, copies the counters of all ports and marks them ready. From then on the copy
 * is the asker's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/wire/switch_manage.h"
#include "dpswitch/pipeline/switch.h"

/* How long an asker waits for a fabric that is between no two windows; then it gets the last copy. */
#define COUNTERS_TIMEOUT_NS 300000000ULL

/*
 * Counters of one port since its switch is up. Octets are those of frames with FCS, without preamble and gap (RFC 3635,
 * 3.2.2).
 */
struct counters_port {
	struct swm_port port; /* its octets as the wire is loaded: with preamble and gap */
	uint64_t in_octets, out_octets;
	uint64_t rx_pfc[SWITCH_CLASSES], tx_pfc[SWITCH_CLASSES]; /* 802.1Qbb frames that name the class, XOFF and XON */
};

/* A port's place. */
struct counters_place {
	const struct sw *sw;
	uint16_t port;
};

/* Ports of equal cost at one switch towards a number of destinations, as configured. */
struct counters_group {
	uint32_t first; /* number of the switch's first port */
	uint32_t node;
	uint32_t destinations;
	uint32_t count;
	uint8_t members[TOPO_MAX_PORTS]; /* ports of the switch, ascending */
};

struct counters;

/* Counters of one moment; the asker's until counters_done(). */
struct counters_view {
	const struct topo *topo;
	const struct counters_place *places; /* [nports] */
	const struct counters_port *ports;   /* [nports] */
	uint32_t nports;
	const struct counters_group *groups; /* [ngroups] */
	uint32_t ngroups;
	uint8_t lossless; /* bit p: class p has PFC */
	uint64_t time_ps; /* the run's: everything before it is counted */
	bool fresh;       /* copied after the request; else the fabric stood still, or is over */
};

/*
 * @param switches  [topo->nnodes] NULL: a host; must outlive the result
 * @param remote    [topo->nnodes] of another partition: not reported here; NULL: none
 * @param routes    source of the sets of equal cost; read by this call alone
 * @return NULL with err and errno set: ENOMEM
 */
struct counters *counters_create(const struct topo *topo, struct sw *const *switches, const bool *remote,
				 const struct route_table *routes, struct err *err);
/* Called once no thread queries any more. NULL is allowed. */
void counters_destroy(struct counters *counters);

/* The fabric's first lcore, between windows: answers a pending request. One relaxed load if there is none. */
void counters_serve(struct counters *counters, uint64_t now_ps);
/* The fabric has stopped at now_ps: its last counters are returned from now on, without waiting. The same thread. */
void counters_end(struct counters *counters, uint64_t now_ps);

/*
 * Takes the counters; called by any thread but the fabric's, one at a time: others wait. Waits at most
 * COUNTERS_TIMEOUT_NS, and as long as a copy takes. Followed by counters_done().
 */
struct counters_view counters_ask(struct counters *counters);
void counters_done(struct counters *counters);
