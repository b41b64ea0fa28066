/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The undisturbed run of a schedule as a fluid: a message is a flow that takes its share of the NIC that sends it and of
 * the one that receives it, max-min fair among all that are in flight at those. Of the fabric between NICs only the rates
 * of each path's links count; it is not expected to be shared. From event to event, in virtual time; a pure function.
 */
#pragma once

#include "collectives/chains.h"

#define FLUID_LOCAL UINT32_MAX

/* Times of a step in the fluid run. Many steps are alike and share one. */
struct fluid_step {
	uint64_t bytes;        /* of its message */
	uint64_t wire_ps;      /* time on the wire when its NICs are not shared; local step: its duration */
	uint64_t tx_ps, rx_ps; /* for how much of that they occupy either NIC */
	uint64_t arrive_ps;    /* from then until the message has arrived */
	uint64_t ack_ps;       /* until its last ACK is in */
	uint32_t tx, rx; /* ports of the network: the sender's NIC, and the one that sends to the receiver's; FLUID_LOCAL */
};

/* The run's input by step, in the order of schedule->steps, and its result. */
struct fluid_steps {
	const struct fluid_step *kinds;
	const uint32_t *kind_of; /* [coll_all_steps()] */
	/* A step is complete: its time from its start until its last ACK is in. Called once for each. */
	void (*complete)(void *arg, uint32_t step, uint64_t takes_ps);
	void *arg;
};

/*
 * Runs the schedule: every step starts when all its dependencies are complete, at 0 if it has none.
 * If no NIC is shared, times are exact sums of wire_ps and ack_ps; with more than a thousand messages in flight they
 * may exceed the exact ones by 1/256.
 * @param nports  above every tx and rx
 * @param length_ps  out: when the last step is complete: the length of the schedule's critical path
 * @return 0; -ENOMEM; -EINVAL: some steps wait for each other
 */
int fluid_run(const struct chains *chains, const struct fluid_steps *steps, uint32_t nports, uint64_t *length_ps);
