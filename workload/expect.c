/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/plan.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "common/minmax.h"
#include "common/units.h"

static uint64_t data_ps(const struct expect_frames *frames, uint64_t bytes, uint64_t rate_bps);
static uint64_t acks_ps(const struct expect_frames *frames, uint64_t bytes, uint64_t rate_bps);

uint64_t
expect_data_frames(const struct expect_frames *frames, uint64_t bytes)
{
	return (bytes + frames->payload_bytes - 1) / frames->payload_bytes;
}

uint64_t
expect_wire_bytes(const struct expect_frames *frames, uint64_t bytes)
{
	return bytes + expect_data_frames(frames, bytes) * (frames->frame_bytes - frames->payload_bytes);
}

static uint64_t
slowest_bps(const struct topo *topo, const struct route_path *path)
{
	uint64_t rate_bps = UINT64_MAX;

	assert(path->hops > 0);
	for (uint32_t i = 0; i < path->hops; i++)
		if (topo->ports[path->ports[i]].rate_bps < rate_bps)
			rate_bps = topo->ports[path->ports[i]].rate_bps;
	return rate_bps;
}

uint64_t
expect_fct_ps(const struct topo *topo, const struct expect_frames *frames, const struct route_path *forward,
	      const struct route_path *reverse, uint64_t bytes, uint64_t pipeline_ps)
{
	uint64_t rest = bytes > frames->payload_bytes ? bytes - frames->payload_bytes : 0;
	uint32_t first = (uint32_t)(bytes - rest) + frames->frame_bytes - frames->payload_bytes;
	uint64_t rtt_ps = route_rtt_ps(topo, forward, reverse, first, frames->ack_bytes, pipeline_ps, frames->quantum_ps);
	uint64_t rate_bps = slowest_bps(topo, forward), frame_ps = data_ps(frames, frames->payload_bytes, rate_bps);
	uint64_t windows_ps = expect_windows_ps(frames, bytes, frame_ps, rtt_ps);

	windows_ps = windows_ps > frame_ps ? windows_ps - frame_ps : 0; /* the first packet is in the round trip */
	return rtt_ps + (rest != 0 ? max_u64(windows_ps, data_ps(frames, rest, rate_bps)) : 0);
}

uint64_t
expect_ideal_ps(const struct topo *topo, const struct expect_frames *frames, const struct route_path *path, uint64_t bytes,
		uint64_t base_rtt_ps)
{
	uint64_t rate_bps = slowest_bps(topo, path), frame_ps = units_serialize_ps(frames->frame_bytes, rate_bps, 0);

	return max_u64(units_serialize_ps(expect_wire_bytes(frames, bytes), rate_bps, 0),
		       expect_windows_ps(frames, bytes, frame_ps, base_rtt_ps)) +
	       base_rtt_ps;
}

static uint64_t
window_frames(const struct expect_frames *frames)
{
	return (frames->window_bytes + frames->payload_bytes - 1) / frames->payload_bytes;
}

/* Frames that one ACK acknowledges: no more than the window holds. */
static uint64_t
acked_together(const struct expect_frames *frames)
{
	uint64_t window = window_frames(frames);

	return window != 0 && window < frames->frames_per_ack ? window : frames->frames_per_ack;
}

uint64_t
expect_windows_ps(const struct expect_frames *frames, uint64_t bytes, uint64_t frame_ps, uint64_t rtt_ps)
{
	uint64_t packets = expect_data_frames(frames, bytes), window, last;

	if (frames->window_bytes == 0)
		return 0;
	window = window_frames(frames);
	if (packets <= window)
		return 0;
	last = (packets - 1) % window + 1;
	return (packets - 1) / window * (rtt_ps + (acked_together(frames) - 1) * frame_ps) + last * frame_ps;
}

uint64_t
expect_ack_wait_ps(const struct topo *topo, const struct expect_frames *frames, const struct route_path *path)
{
	return (acked_together(frames) - 1) *
	       units_serialize_ps(frames->frame_bytes, slowest_bps(topo, path), frames->quantum_ps);
}

static uint32_t
first_port(const struct expect_flow *flow)
{
	return flow->forward->ports[0];
}

static uint32_t
last_port(const struct expect_flow *flow)
{
	return flow->forward->ports[flow->forward->hops - 1];
}

static void
occupy(const struct topo *topo, const struct expect_frames *frames, const struct expect_flow *flow,
       struct expect_port *ports)
{
	for (uint32_t i = 0; i < flow->reverse->hops; i++) {
		uint32_t port = flow->reverse->ports[i];

		ports[port].acks_ps += acks_ps(frames, flow->bytes, topo->ports[port].rate_bps);
	}
	for (uint32_t i = 0; i < flow->forward->hops; i++) {
		uint32_t port = flow->forward->ports[i];

		ports[port].data_ps += data_ps(frames, flow->bytes, topo->ports[port].rate_bps);
	}
	ports[first_port(flow)].senders++;
	ports[last_port(flow)].receivers++;
}

static void
release(const struct expect_flow *flow, struct expect_port *ports)
{
	for (uint32_t i = 0; i < flow->reverse->hops; i++)
		ports[flow->reverse->ports[i]] = (struct expect_port){ 0 };
	for (uint32_t i = 0; i < flow->forward->hops; i++)
		ports[flow->forward->ports[i]] = (struct expect_port){ 0 };
}

/* @return how long a link takes of which a share stays free */
static uint64_t
stretched(const struct expect_frames *frames, uint64_t ps)
{
	return frames->spare > 0 ? (uint64_t)((double)ps / (1 - frames->spare)) : ps;
}

/*
 * An ACK goes ahead of data, but waits for the rest of a frame in transmission. Where the link always sends data, this
 * is half a frame on average.
 * @param takes_ps  the time in which the data of all steps pass
 */
static uint64_t
acks_wait_ps(const struct topo *topo, const struct expect_frames *frames, const struct expect_flow *flow,
	     const struct expect_port *ports, uint64_t takes_ps)
{
	double sum_ps = 0;

	for (uint32_t i = 0; i < flow->reverse->hops; i++) {
		const struct expect_port *port = &ports[flow->reverse->ports[i]];
		uint64_t frame_ps = data_ps(frames, frames->payload_bytes, topo->ports[flow->reverse->ports[i]].rate_bps);

		sum_ps += (double)frame_ps / 2 * fmin(1, (double)port->data_ps / (double)takes_ps);
	}
	return (uint64_t)sum_ps;
}

/* Time of a step that its window limits; each round trip includes the time that an ACK waits. */
static uint64_t
windows_ps(const struct topo *topo, const struct expect_frames *frames, const struct expect_flow *flow,
	   const struct expect_port *ports)
{
	uint64_t frame_ps = data_ps(frames, frames->payload_bytes, slowest_bps(topo, flow->forward));
	uint64_t ps = expect_windows_ps(frames, flow->bytes, frame_ps, flow->base_rtt_ps);

	if (ps == 0)
		return 0;
	return expect_windows_ps(frames, flow->bytes, frame_ps,
				 flow->base_rtt_ps + acks_wait_ps(topo, frames, flow, ports, max_u64(ps, flow->wire_ps)));
}

static void
estimate(const struct topo *topo, const struct expect_frames *frames, struct expect_flow *flow,
	 const struct expect_port *ports)
{
	const struct expect_port *tx = &ports[first_port(flow)], *rx = &ports[last_port(flow)];
	bool alone = tx->senders == 1 && rx->receivers == 1;

	flow->tx_ps = data_ps(frames, flow->bytes, topo->ports[first_port(flow)].rate_bps) + tx->acks_ps / tx->senders;
	flow->rx_ps = data_ps(frames, flow->bytes, topo->ports[last_port(flow)].rate_bps) + rx->acks_ps / rx->receivers;
	flow->wire_ps = flow->tx_ps > flow->rx_ps ? flow->tx_ps : flow->rx_ps;
	for (uint32_t i = 0; i < flow->forward->hops; i++) {
		uint32_t port = flow->forward->ports[i];
		uint64_t ps = data_ps(frames, flow->bytes, topo->ports[port].rate_bps) + (alone ? ports[port].acks_ps : 0);

		if (ps > flow->wire_ps)
			flow->wire_ps = ps;
	}
	flow->wire_ps = max_u64(flow->wire_ps, windows_ps(topo, frames, flow, ports));
	flow->tx_ps = stretched(frames, flow->tx_ps);
	flow->rx_ps = stretched(frames, flow->rx_ps);
	flow->wire_ps = stretched(frames, flow->wire_ps);
}

void
expect_steps(const struct topo *topo, const struct expect_frames *frames, struct expect_flow *flows, uint32_t count,
	     struct expect_port *ports)
{
	for (uint32_t f = 0; f < count; f++)
		occupy(topo, frames, &flows[f], ports);
	for (uint32_t f = 0; f < count; f++)
		estimate(topo, frames, &flows[f], ports);
	for (uint32_t f = 0; f < count; f++)
		release(&flows[f], ports);
}

void
expect_ideal_step(const struct topo *topo, const struct expect_frames *frames, struct expect_flow *flow)
{
	uint64_t wire_bytes = expect_wire_bytes(frames, flow->bytes);

	flow->wire_ps = expect_ideal_ps(topo, frames, flow->forward, flow->bytes, flow->base_rtt_ps) - flow->base_rtt_ps;
	flow->tx_ps = units_serialize_ps(wire_bytes, topo->ports[first_port(flow)].rate_bps, 0);
	flow->rx_ps = units_serialize_ps(wire_bytes, topo->ports[last_port(flow)].rate_bps, 0);
}

/*
 * Frame by frame only where the quantum makes a difference: rounding each frame to the nearest picosecond would add
 * up to half of one a frame.
 */
static uint64_t
data_ps(const struct expect_frames *frames, uint64_t bytes, uint64_t rate_bps)
{
	uint64_t full = bytes / frames->payload_bytes;
	uint64_t rest = bytes % frames->payload_bytes;
	uint32_t overhead = frames->frame_bytes - frames->payload_bytes;
	uint64_t ps;

	if (frames->quantum_ps == 0)
		return units_serialize_ps(expect_wire_bytes(frames, bytes), rate_bps, 0);
	ps = full * units_serialize_ps(frames->frame_bytes, rate_bps, frames->quantum_ps);
	if (rest != 0)
		ps += units_serialize_ps(rest + overhead, rate_bps, frames->quantum_ps);
	return ps;
}

static uint64_t
acks_ps(const struct expect_frames *frames, uint64_t bytes, uint64_t rate_bps)
{
	uint64_t acks = (expect_data_frames(frames, bytes) + frames->frames_per_ack - 1) / frames->frames_per_ack;

	if (frames->quantum_ps == 0)
		return units_serialize_ps(acks * frames->ack_bytes, rate_bps, 0);
	return acks * units_serialize_ps(frames->ack_bytes, rate_bps, frames->quantum_ps);
}
