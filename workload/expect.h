/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a step takes when nothing disturbs it. Pure functions of sizes, rates and configured paths. */
#pragma once

#include <stdint.h>

#include "topo/route.h"

/* Sizes on the wire, and how the run rounds times. */
struct expect_frames {
	uint32_t payload_bytes;  /* of a full data frame: the path MTU */
	uint32_t frame_bytes;    /* of a full data frame on the wire */
	uint32_t ack_bytes;      /* of an ACK on the wire */
	uint32_t frames_per_ack; /* ACK coalescing; 1: every frame is acknowledged */
	uint64_t quantum_ps;     /* serialization times are floored to it; 0: exact */
	uint64_t window_bytes;   /* maximum payload in flight of a sender; 0: unbounded */
	double spare;            /* share of every link that the senders' congestion control leaves free */
};

/* @return frames of a message */
uint64_t expect_data_frames(const struct expect_frames *frames, uint64_t bytes);
/* @return bytes of a message on the wire: its payload and one overhead per frame */
uint64_t expect_wire_bytes(const struct expect_frames *frames, uint64_t bytes);

/*
 * What a message takes on the wire at least because of its sender's window, the last round trip not included: a window's
 * packets leave in each round trip, at the pace of its ACKs, and a window that is closed opens when the first packets of
 * it are acknowledged.
 * @param frame_ps  of a full frame on the slowest link of the path
 * @param rtt_ps    of a packet that waits nowhere
 * @return 0: the window holds all of it, or there is none
 */
uint64_t expect_windows_ps(const struct expect_frames *frames, uint64_t bytes, uint64_t frame_ps, uint64_t rtt_ps);

/*
 * How long a receiver that coalesces ACKs waits for the packets behind one before it acknowledges it, at the rate of the
 * slowest link of the path.
 * @return 0: every frame is acknowledged
 */
uint64_t expect_ack_wait_ps(const struct topo *topo, const struct expect_frames *frames, const struct route_path *path);

/*
 * Time of a step on idle links without ACK traffic: wire bytes / slowest link of the path, or the time that the window
 * allows, + base RTT. Rates are exact, whatever the quantum.
 */
uint64_t expect_ideal_ps(const struct topo *topo, const struct expect_frames *frames, const struct route_path *path,
			 uint64_t bytes, uint64_t base_rtt_ps);

/*
 * Time of a whole message on idle links, from its post to its last ACK: the reference for slowdowns. Its frames follow
 * each other through the slowest link, and the last frame continues alone, store and forward. A last frame shorter than
 * the MTU counts with its own length. The result does not exceed the time in the fabric: overheads of first and last
 * frames do not count.
 */
uint64_t expect_fct_ps(const struct topo *topo, const struct expect_frames *frames, const struct route_path *forward,
		       const struct route_path *reverse, uint64_t bytes, uint64_t pipeline_ps);

/* One step of one rank, for expect_steps(). */
struct expect_flow {
	uint64_t bytes;
	const struct route_path *forward, *reverse;
	uint64_t base_rtt_ps;
	/* Results: without the base RTT, and for how much of it the sender's and the receiver's NIC are occupied. */
	uint64_t wire_ps, tx_ps, rx_ps;
};

/*
 * Per port: wire time of the steps' ACKs and of their data; number of steps that send from it and that are received
 * behind it.
 */
struct expect_port {
	uint64_t acks_ps, data_ps;
	uint32_t senders, receivers;
};

/*
 * The same with ACKs, of steps that run together. A step with exclusive NICs takes as long as the busiest link of its
 * path. On each link its data shares the wire with the ACKs of the steps whose reverse path takes that link in the same
 * direction. A step with a shared NIC bears an equal share of those ACKs on its NICs; no others count. fluid_run() adds
 * the effect of the other data there. Serialization is floored frame by frame where a quantum is set. Senders that
 * leave a share of the links free make the links slower by it.
 * @param flows  [count] steps that run together; the results are set
 * @param ports  scratch, [topo->nports], zeroed by the caller and zero again on return
 */
void expect_steps(const struct topo *topo, const struct expect_frames *frames, struct expect_flow *flows, uint32_t count,
		  struct expect_port *ports);

/* The same on idle links without ACKs: expect_ideal_ps() but for the base RTT. */
void expect_ideal_step(const struct topo *topo, const struct expect_frames *frames, struct expect_flow *flow);
