/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much memory the frames of hosts with their own kernel take: a pool for each port, and one for frames that are
 * built here.
 */
#pragma once

#include "scenario/scenario.h"

/* Maximum number of frames in flight of a port, less one: sizes of pools are powers of two, less one. */
#define FRAME_POOL_LEAST 1024
#define FRAME_POOL_MOST 16384

/* @return room of each for one frame, bytes: for the largest of the run, and at least the drivers' minimum */
uint32_t frame_pool_room(const struct scenario *scenario);

/*
 * Frames that arrived from a host and have not left yet. These are the frames that its cable delivers while the first
 * one is on the longest path through the fabric, all of the smallest size; full frames in the buffers on that path and
 * before a host that accepts none; and those in its NIC and in the device's ring.
 * @param node  a host with its own kernel
 * @return its pool's size; 0: out of memory
 */
uint32_t frame_pool_frames(const struct scenario *scenario, uint32_t node);

/* Of all kernel hosts of a scenario. */
struct frame_pools {
	uint32_t ports, room_bytes;
	uint32_t least, most; /* frames of a port's pool */
	uint64_t bytes;       /* of all of them, and the pool of those that are built */
};

/* @return 0 or -ENOMEM */
int frame_pools_sum(const struct scenario *scenario, struct frame_pools *sum);
