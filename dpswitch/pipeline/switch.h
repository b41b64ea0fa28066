/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shared-buffer switch as a node of the fabric. One window goes through these stages, a header and a file each. What
 * a stage keeps is a struct of its header, touched by its own file; others call its functions:
 *
 *   route    every arrival gets its egress, or a named drop             (route.c, spray.c, fib.c; polling packets: poll.c)
 *   transmit every egress alone: merge its arrivals, queue, send        (transmit.c on egress.h)
 *            but for those that are balanced in the order of arrival    (the same)
 *   account  charge and release the ingresses, decide on PAUSE, RESUME  (account.c; they leave by pause.c)
 *   storm    PAUSE whatever the buffer holds                            (pause.c)
 *   samples  some of the arrivals from hosts, before they are routed    (samples.c)
 *   volumes  arrivals of measured collectives from above, before routing (volumes.c)
 *   report   telemetry that polling packets asked for, or an epoch's end (poll.c)
 *
 * An egress needs nothing of another within a window, because the only thing that crosses from ingress accounting
 * back to an egress is a PAUSE frame: its own arrival at the peer is exact, and its 84 B of wire time are charged to
 * the port at the end of the window (at most one frame time late). docs/engine.md has the argument.
 */
#pragma once

#include "dpswitch/pipeline/account.h"
#include "dpswitch/pipeline/egress.h"
#include "dpswitch/pipeline/poll.h"
#include "dpswitch/pipeline/route.h"
#include "dpswitch/pipeline/samples.h"
#include "dpswitch/pipeline/spray.h"
#include "dpswitch/pipeline/transmit.h"
#include "dpswitch/pipeline/volumes.h"
#include "dpswitch/truth/port_truth.h"

/* What a packet that need not wait touches is in three cache lines: of the egress, of its flows, of telemetry. */
struct switch_port {
	_Alignas(64) struct arrivals arrivals;
	struct egress egress;
	/* observers of the egress */
	_Alignas(64) struct port_flows flows;
	struct port_truth truth;
	_Alignas(64) struct telem_port telem;
	/* toward the peer of the ingress */
	struct pause_sender pause;
	struct storm storm;
	struct port_polls polls;
};

_Static_assert(offsetof(struct switch_port, egress.ecn) == 64, "what a packet touches of an egress is one cache line");
_Static_assert(sizeof(struct switch_port) % 128 == 64, "lines of many ports spread over all sets of a cache");

/* Packets whose TTL ended, and that could be answered. */
struct expiry {
	uint64_t latest_ps; /* arrival of those so far */
	uint64_t due_ps;    /* of the next answer, if answers were evenly spaced */
	uint64_t answered, silent;
};

struct sw {
	struct node node; /* first: a struct node pointer to a switch is a pointer to this */
	const struct switch_config *config;
	struct switch_port *ports;
	uint64_t limit_bytes[SWITCH_CLASSES]; /* egress_limits() */
	struct account account;
	struct switch_routes routes;
	struct spray spray;
	struct fib_faults fib;
	struct group group;
	struct switch_volumes *volumes; /* NULL: nothing is monitored */
	struct switch_samples *samples; /* NULL: nothing is sampled */
	struct polling polling;
	struct expiry expiry;
	struct telem_config telemetry; /* config->telemetry for this many ports */
	uint64_t epoch_end_ps;
	uint32_t storms; /* ports with a storm */
};

/*
 * Makes a switch for topology node id.
 * @return NULL with err set: -EINVAL (a threshold of one MTU or less, headroom short for a cable; file:line and the
 *         size needed), -ENOMEM
 */
struct sw *switch_create(const struct switch_config *config, uint32_t id, struct err *err);

static inline struct sw *
switch_of(struct node *node)
{
	return (struct sw *)node;
}
