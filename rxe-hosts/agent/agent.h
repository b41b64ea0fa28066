/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The detection agent of one host (paper III-C2, Fig. 8). It watches the RTT of the steps that each rank has in flight,
 * spends detections by sending polling packets, and hands on those that a step has not used. A policy (agent/policy.h)
 * decides; the agent keeps the state, drives the device and reports.
 * The RTT of a flow is the larger of its last sample and the age of its oldest unacknowledged packet.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/cfg/cfg.h"
#include "common/wire/layout.h"
#include "rxe-hosts/device/device.h"

#define AGENT_NONE UINT32_MAX
#define AGENT_MAX_EVENTS 65535 /* of one host in one run */
/*
 * Under a policy that floods, the upper ids are those of quiet packets and are reused: their reports are not
 * distinguished.
 */
#define AGENT_FIRST_FLOOD 32768

struct detection_config {
	struct cfg_where where;
	int policy;            /* enum rec_policy, index into agent_policies[] */
	int64_t detections;    /* N of a step */
	int64_t rtt_percent;   /* threshold as a share of the base RTT */
	uint64_t rtt_fixed_ps; /* 0, or the threshold of every step */
	bool transfer;         /* unused detections go to the host that waits */
	uint64_t spacing_ps;   /* 0: expected time of the step / N */
	uint64_t retain_ps;    /* a port keeps one report in this time */
	/* hosts with their own kernel: */
	uint64_t probe_interval_ps;
	int64_t probes;
	uint64_t noise_ps;
	uint64_t jitter_ps;  /* 0: by the kind of hosts */
	int64_t lag_percent; /* share of a step's expected time; a smaller loss is not examined */
};

extern const struct cfg_table detection_table;

/* A flow whose polling another module requested, by an event of this host's. */
struct agent_asked {
	uint32_t flow, event;
};

#define AGENT_MAX_ASKED 64 /* of one host, between two windows */

/* The step that a chain has in flight. */
struct agent_step {
	uint32_t flow;
	struct rec_tuple tuple;
	uint32_t collective, iteration, rank, step;
	uint32_t serial; /* the step counted over all iterations: iteration * steps + step */
	uint64_t bytes;
	uint64_t base_rtt_ps;               /* of the path of this step */
	uint64_t least_rtt_ps, most_rtt_ps; /* base RTTs of all flows of the collective */
	uint64_t noise_ps;                  /* no RTT within this distance of the base is an event */
	uint64_t ack_wait_ps;               /* that its receiver's coalescing of ACKs adds to the age of a packet */
	uint64_t jitter_ps;                 /* delay that its host's own scheduling may cause; 0: none */
	uint64_t expect_ps;
	uint64_t start_ps;
	uint32_t notify_flow; /* to the host that waits for this step; AGENT_NONE */
	uint32_t waiter;      /* that host */
};

/* One chain of steps of a rank of this host (collectives/chains.h). */
struct agent_slot {
	/* Samples above it are the policy's business: the one compare of an ACK. UINT64_MAX: none are. */
	uint64_t arm_ps;
	uint64_t threshold_ps;
	uint64_t spacing_ps;
	uint64_t next_ps;             /* earliest time of the next detection */
	uint64_t wait_ps;             /* from the last detection to the next while nothing more is acknowledged than then */
	uint64_t missed_ps;           /* largest RTT, or age, without a detection since the last one, 0: none */
	bool missed_age;              /* it is an age: no packet is known to have taken that long */
	uint64_t seen_ps, seen_bytes; /* the last detection: its time, and the bytes acknowledged then */
	uint32_t remaining;           /* detections of the step in flight */
	uint32_t pending;             /* received while no step was in flight: the next step's */
	uint32_t waited_serial;       /* poster: steps below this one are waited for */
	bool running;
	uint64_t moved_ps; /* when acked_bytes was last seen to grow */
	uint64_t acked_bytes;
	uint32_t retransmits;   /* of a completed step */
	uint32_t resent;        /* of the step, those that a detection was spent on */
	uint64_t nic_next_ps;   /* when the host's own NIC is checked next */
	struct agent_step step; /* in flight, or the last one */
};

struct detection_policy;

struct agent {
	struct device *device;
	const struct detection_config *config;
	const struct detection_policy *policy;
	struct agent_slot *slots; /* [nslots] */
	uint64_t *running;        /* bit by slot: a step is in flight */
	uint32_t nslots;
	uint32_t node;
	uint32_t events;                           /* polling events reported so far */
	uint64_t flooded;                          /* and those that are not */
	uint64_t named_ps;                         /* earliest next reported detection; policies that flood */
	uint64_t refused;                          /* detections not spent because event ids ran out */
	struct agent_asked asked[AGENT_MAX_ASKED]; /* [nasked] */
	uint32_t nasked;
};

/*
 * @param nslots  chains of all ranks of this host
 * @return 0 or -ENOMEM
 */
int agent_init(struct agent *agent, struct device *device, const struct detection_config *config, uint32_t node,
	       uint32_t nslots);
void agent_fini(struct agent *agent);

/* A chain's step starts; step->start_ps is now. */
void agent_step_started(struct agent *agent, uint32_t slot, const struct agent_step *step);
/* Completes a step whose last ACK has arrived. @param retransmits  packets of it that were sent again */
void agent_step_completed(struct agent *agent, uint32_t slot, uint32_t retransmits, uint64_t now_ps);
/* The step will never complete: its QP is in error. */
void agent_step_failed(struct agent *agent, uint32_t slot);
/*
 * A notification packet arrived for a chain.
 * @param serial  the first of its steps that waits for the finished one, counted over all iterations
 */
void agent_notified(struct agent *agent, uint32_t slot, uint32_t serial, uint32_t detections, uint64_t now_ps);
/* Once a window while bytes are open: checks the ages. */
void agent_tick(struct agent *agent, uint64_t now_ps);
/* The rest of agent_rtt(). */
void agent_sample(struct agent *agent, uint32_t slot, uint64_t rtt_ps, uint64_t now_ps);

/*
 * Requests the polling of a flow that begins here, for another module and under any policy: at the next
 * agent_send_asked().
 * @return 0; -EAGAIN: too many wait already; -ENOSPC: the host has no event id left
 */
int agent_ask(struct agent *agent, uint32_t flow);
/* Sends the requested polling packets. */
void agent_send_asked(struct agent *agent);

/* @return whether the agent's policy uses RTT samples */
bool agent_listens(const struct agent *agent);

/* An ACK of the step in flight gave a sample. */
static inline void
agent_rtt(struct agent *agent, uint32_t slot, uint64_t rtt_ps, uint64_t now_ps)
{
	if (__builtin_expect(rtt_ps > agent->slots[slot].arm_ps, 0))
		agent_sample(agent, slot, rtt_ps, now_ps);
}

/* The event id of a host's n-th detection (from 1): unique in the run, the same in every run, never 0. */
static inline uint32_t
agent_event(uint32_t node, uint32_t n)
{
	return node << 16 | n;
}
