/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a host tells of its NIC ports, as a switch keeps it of its egress ports. The host has no telemetry of its own:
 * whoever puts host and fabric together connects these calls to the tables that switches use.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct node;

/*
 * Data packets of one flow that left by one NIC since the last call: no further back than the start of the window, and
 * windows end at epochs. A QP makes a packet when it can leave; the depth that a packet met is the number of other
 * QPs' packets that left between the time it could have left and the time it did.
 */
struct nic_batch {
	uint32_t flow;
	uint32_t packets;
	uint32_t paused_packets; /* could have left while the port was paused for their class */
	uint32_t depth_max;
	uint64_t bytes, depth_sum;
	uint64_t held_ps; /* for so long pauses that are over held up one that could have left. For the run's truth alone */
};

/* A NIC port at the time of a report. */
struct nic_present {
	const uint32_t *waiting; /* [queue_packets] flows whose next packet could leave but for others or a pause */
	uint32_t queue_packets;
	bool pausing; /* this host has told its peer to stop */
	uint64_t queue_bytes;
	uint64_t pausing_since_ps;
};

/* All calls come from the node's lcore, within its window, in order of time. Every call is needed, save ahead. */
struct nic_telemetry {
	void *ctx;
	uint64_t epoch_ps; /* > 0 */
	/* A window begins that lies in another epoch than the one before. */
	void (*roll)(void *ctx, struct node *node, uint64_t now_ps);
	void (*transmitted)(void *ctx, uint16_t nic, const struct nic_batch *batch);
	/* Optional: one packet of other left ahead of the waiting packet of flow (the exact contention matrix). */
	void (*ahead)(void *ctx, uint16_t nic, uint32_t flow, uint32_t other);
	/* The peer paused or resumed data on this port. */
	void (*paused)(void *ctx, uint16_t nic, bool paused, uint64_t now_ps);
	/* Is the port paused, or was it within the kept epochs? */
	bool (*was_paused)(void *ctx, uint16_t nic);
	/* Did flows wait for each other on this port since its last report? */
	bool (*was_shared)(void *ctx, uint16_t nic);
	/* Put the port's rows into the node's records. @return false if they were not kept, only counted */
	bool (*report)(void *ctx, struct node *node, uint16_t nic, const struct nic_present *present, uint32_t event,
		       uint64_t now_ps);
};
