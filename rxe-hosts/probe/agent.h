/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * R-Pingmesh's agent of one host (4.2): prober and responder on one UD QP per RNIC, by a device's datagrams alone. It
 * requests its probe targets from its controller, follows the host's own connections, and uploads its observations as
 * records. It runs within its host's window; its messages to and from the management network are exchanged between
 * windows.
 *
 * Six times make a probe (Fig. 4): (1) posted, (2) left, (3) arrived at the responder, (4) its ACK left, (5) the ACK
 * arrived, (6) the prober's application has it. A second ACK carries (4) - (3).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/flow.h"
#include "rxe-hosts/device/device.h"
#include "topo/topo.h"

struct probe_agent;

struct probe_agent_config {
	struct device *device; /* with ud_open */
	const struct topo *topo;
	const struct flow_table *flows; /* those of kind FLOW_PROBE that start here are its own to probe by */
	uint32_t node;
	uint64_t seed;
	uint64_t cpu_ps;        /* median delay of completions; 0: they are handled when they are */
	uint64_t management_ps; /* one-way delay to the controller; 0: the reply arrives at once */
	uint64_t clock_ps;      /* at most so far RNICs' clocks are apart */
	bool service;           /* connections are traced */
	bool traces;            /* and paths: switches answer */
};

/* All referenced objects outlive it. @return NULL with errno ENOMEM */
struct probe_agent *probe_agent_create(const struct probe_agent_config *config);
void probe_agent_destroy(struct probe_agent *agent);

/* Opens its QPs and registers them. Once, before the first window. @return 0 or -ENOMEM */
int probe_agent_start(struct probe_agent *agent);
/* @return the agent's next wake-up time; TIME_NEVER */
uint64_t probe_agent_next_ps(const struct probe_agent *agent);
/* Handles everything that is due at now_ps. */
void probe_agent_wake(struct probe_agent *agent, uint64_t now_ps);
/* struct device_client's, of PKT_UD. */
void probe_agent_received(struct probe_agent *agent, const struct datagram *datagram, uint64_t now_ps);
void probe_agent_departed(struct probe_agent *agent, const struct datagram *datagram);
/* A connection of the host's own opened or closed. @param collective  its collective, REC_NONE */
void probe_agent_connection(struct probe_agent *agent, uint32_t flow, uint32_t collective, bool open, uint64_t now_ps);

/* A message to the controller (common/wire/pingmesh_manage.h). */
struct probe_request {
	const void *bytes;
	size_t size;
	uint64_t arrives_ps; /* at the controller */
};

/* Between windows. @return whether there is one, which is taken; valid until its reply is given */
bool probe_agent_asks(struct probe_agent *agent, struct probe_request *request);
/*
 * Passes its reply, which the agent has a management delay after arrives_ps, or at once (then it is to be woken).
 * @return 0 or -ENOMEM
 */
int probe_agent_reply(struct probe_agent *agent, const void *bytes, size_t size);

/* Between windows: from now on completions take this much longer (median). 0: the CPU has recovered. */
void probe_agent_load(struct probe_agent *agent, uint64_t load_ps);

/* Between windows: the agent dies. All data that it had not uploaded is lost; it neither receives nor sends. */
void probe_agent_stop(struct probe_agent *agent);
/*
 * Between windows, of one that died: it starts again, with other QPs. Its scheduler must read probe_agent_next_ps()
 * again.
 * @return 0 or -ENOMEM
 */
int probe_agent_restart(struct probe_agent *agent, uint64_t now_ps);

/*
 * Between windows: requests a probe, besides its turns, of a host in a pinglist of this one. The scheduler of the agent
 * must read probe_agent_next_ps() again.
 * @return 0; -ENOENT: it is in none, or not known yet; -EAGAIN: too many wait already
 */
int probe_agent_ask(struct probe_agent *agent, uint32_t node);

/* Counters of an agent. */
struct probe_agent_counts {
	uint64_t sent, answered;     /* probes; by it, as responder */
	uint64_t results, timeouts;  /* of probes that ended, and of them those that are not whole */
	uint64_t dropped;            /* probes, completions and results that there was no room for */
	uint64_t strange;            /* datagrams that are no probe's */
	uint64_t unplanned, refused; /* entries of pinglists without flow; requests */
	uint64_t overloaded;         /* completions that waited for an overloaded CPU */
	uint64_t deaths;             /* probe_agent_stop() */
};

struct probe_agent_counts probe_agent_counts(const struct probe_agent *agent);
