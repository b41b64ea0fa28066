/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/steps/expect.h"

#include <assert.h>

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

uint64_t
expect_ideal_ps(const struct topo *topo, const struct expect_frames *frames, const struct route_path *path, uint64_t bytes,
		uint64_t base_rtt_ps)
{
	uint64_t rate_bps = UINT64_MAX;

	assert(path->hops > 0);
	for (uint32_t i = 0; i < path->hops; i++)
		if (topo->ports[path->ports[i]].rate_bps < rate_bps)
			rate_bps = topo->ports[path->ports[i]].rate_bps;
	return units_serialize_ps(expect_wire_bytes(frames, bytes), rate_bps, 0) + base_rtt_ps;
}

void
expect_steps(const struct topo *topo, const struct expect_frames *frames, struct expect_flow *flows, uint32_t count,
	     uint64_t *busy_ps)
{
	for (uint32_t f = 0; f < count; f++)
		for (uint32_t i = 0; i < flows[f].reverse->hops; i++) {
			uint32_t port = flows[f].reverse->ports[i];

			busy_ps[port] += acks_ps(frames, flows[f].bytes, topo->ports[port].rate_bps);
		}
	for (uint32_t f = 0; f < count; f++) {
		uint64_t longest_ps = 0;

		for (uint32_t i = 0; i < flows[f].forward->hops; i++) {
			uint32_t port = flows[f].forward->ports[i];
			uint64_t ps = data_ps(frames, flows[f].bytes, topo->ports[port].rate_bps) + busy_ps[port];

			if (ps > longest_ps)
				longest_ps = ps;
		}
		flows[f].expect_ps = longest_ps + flows[f].base_rtt_ps;
	}
	for (uint32_t f = 0; f < count; f++)
		for (uint32_t i = 0; i < flows[f].reverse->hops; i++)
			busy_ps[flows[f].reverse->ports[i]] = 0;
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
