/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/steps/expect.h"

#include <assert.h>
#include <stdbool.h>

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

	return rest == 0 ? rtt_ps : rtt_ps + data_ps(frames, rest, slowest_bps(topo, forward));
}

uint64_t
expect_ideal_ps(const struct topo *topo, const struct expect_frames *frames, const struct route_path *path, uint64_t bytes,
		uint64_t base_rtt_ps)
{
	return units_serialize_ps(expect_wire_bytes(frames, bytes), slowest_bps(topo, path), 0) + base_rtt_ps;
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
	ports[first_port(flow)].senders++;
	ports[last_port(flow)].receivers++;
}

static void
release(const struct expect_flow *flow, struct expect_port *ports)
{
	for (uint32_t i = 0; i < flow->reverse->hops; i++)
		ports[flow->reverse->ports[i]] = (struct expect_port){ 0 };
	ports[first_port(flow)] = (struct expect_port){ 0 };
	ports[last_port(flow)] = (struct expect_port){ 0 };
}

/* @return how long a link takes of which a share stays free */
static uint64_t
stretched(const struct expect_frames *frames, uint64_t ps)
{
	return frames->spare > 0 ? (uint64_t)((double)ps / (1 - frames->spare)) : ps;
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

	flow->wire_ps = expect_ideal_ps(topo, frames, flow->forward, flow->bytes, 0);
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
