/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attaches the hosts of a scenario that have their own kernel: a port and a management channel each, and both phases of
 * their run (emulation/hosts.h).
 */
#pragma once

#include <jansson.h>

#include "dpswitch/control/manage.h"
#include "dpswitch/edge/kernel_host/kernel_host.h"
#include "emulation/emulation.h"

struct attach;

/*
 * Opens the ports of all hosts, or of those of this partition. EAL runs.
 * @param foreign  [nodes] of other partitions; NULL: the fabric is not partitioned
 * @param dir  where their sockets are made: NAME.vhost (kinds guest and qemu) and NAME.manage; borrowed
 * @return NULL with err set
 */
struct attach *attach_create(struct scenario *scenario, const bool *remote, const char *dir, struct err *err);
void attach_destroy(struct attach *attach);

/* For emulation_create(). */
const struct host_driver *attach_driver(const struct attach *attach);

/* The checker of the hosts' records: it needs the run's header records before attach_start(). */
struct record_check *attach_check(const struct attach *attach);

/*
 * The first phase: opens the management channels, and forwards until all hosts are connected and nothing moves any
 * more.
 * @param lcores     that the run is to have
 * @param partition  of the fabric; NULL: it is not partitioned
 * @param progress   show the missing hosts on stderr
 * @return 0, or with err set: -EINVAL (several lcores for hosts of both kinds), -ETIMEDOUT (limits.connect),
 *         -ECONNRESET (a host disconnected), -EINTR, and others
 */
int attach_prepare(struct attach *attach, uint32_t lcores, const struct partition *partition, bool progress,
		   struct err *err);

/* From the START message to the hosts to the run's time 0. */
#define ATTACH_LEAD_NS 50000000ULL
/*
 * Sends the hosts the start time of the run. Just before emulation_begin(). @param zero_ns  clock_now_ns() at its
 * time 0
 */
void attach_start(struct attach *attach, uint64_t zero_ns);

/*
 * The run has ended: fetches the hosts' results, and waits a bounded time for them. Hosts that do not answer are
 * named, to the user and, the first, in the fabric's end_node. Before emulation_end().
 */
void attach_stop(struct attach *attach, uint64_t end_ps);

/* The state and counters of a host's port and program. */
struct attach_host {
	uint32_t node;
	const char *kind;
	struct port_counters port;
	struct kernel_host_counters nic;    /* of the run alone */
	const struct manage_result *result; /* NULL: it never arrived */
	struct manage_traffic manage;
	const char *refused;      /* the fault in the first of its records that were refused; "": none */
	uint64_t up_ns, ready_ns; /* since attach_create() */
};
/* The same for run.json. */
json_t *attach_json(const struct attach *attach, const struct topo *topo);

uint32_t attach_hosts(const struct attach *attach);
struct attach_host attach_host(const struct attach *attach, uint32_t index);
