/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario/frame_pools.h"

#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "common/units.h"
#include "dpswitch/fabric/node.h"

#define ROOM_LEAST_BYTES 2048 /* what NICs' drivers write to */
#define LINE_BYTES 64
#define FRAME_EXTRA_BYTES 448 /* of an mbuf, its headroom and the pool's own, at most */
#define BUILT 1023            /* of the edge's pool */
/* What stands before the fabric: in the NIC, in the device's rings, in bursts at both ends. */
#define BEFORE (256 + 2 * 512 + 2 * 32)
#define BUFFER_WINDOWS 4                  /* a switch's default buffer for one ingress, of windows at its rate */
#define HOLD_BYTES (256 * UINT64_C(1024)) /* toward a host that takes none */

uint32_t
frame_pool_room(const struct scenario *sc)
{
	uint32_t room = (sc->largest_frame_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;

	return room > ROOM_LEAST_BYTES ? room : ROOM_LEAST_BYTES;
}

/* @return cables of the longest of all shortest ways from a node; 0: out of memory */
static uint32_t
farthest_hops(const struct topo *topo, uint32_t from)
{
	uint32_t *hops = calloc(topo->nnodes, sizeof(*hops)), *queue = calloc(topo->nnodes, sizeof(*queue));
	uint32_t head = 0, tail = 0, most = 0;

	if (hops != NULL && queue != NULL) {
		hops[from] = 1; /* and one more each */
		queue[tail++] = from;
	}
	while (head < tail) {
		uint32_t node = queue[head++];

		most = hops[node] - 1;
		for (uint16_t i = 0; i < topo->nodes[node].nports; i++) {
			uint32_t peer = topo_port_of(topo, node, i)->peer;

			if (hops[peer] != 0)
				continue;
			hops[peer] = hops[node] + 1;
			queue[tail++] = peer;
		}
	}
	free(hops);
	free(queue);
	return most;
}

uint32_t
frame_pool_frames(const struct scenario *sc, uint32_t node)
{
	const struct topo *topo = sc->topo;
	uint64_t window_ps = scenario_window_ps(sc), slowest_ps = 0, hops = farthest_hops(topo, node), rate_bps = 0,
		 path_bytes, frames;
	uint32_t size = FRAME_POOL_LEAST;

	if (hops == 0)
		return 0;
	for (uint32_t i = 0; i < topo->nports; i++)
		slowest_ps = max_u64(slowest_ps, topo->ports[i].delay_ps + sc->timing.pipeline_ps);
	for (uint16_t i = 0; i < topo->nodes[node].nports; i++)
		rate_bps = max_u64(rate_bps, topo_port_of(topo, node, i)->rate_bps);
	/* What arrives within a window is handed on at its end. */
	path_bytes = (uint64_t)((double)rate_bps / 8 * (double)(hops * (slowest_ps + window_ps)) / PS_PER_S);
	frames = BEFORE + path_bytes / sc->min_frame_bytes;
	frames += (hops * BUFFER_WINDOWS * (uint64_t)((double)rate_bps / 8 * (double)window_ps / PS_PER_S) + HOLD_BYTES) /
		  sc->largest_frame_bytes;
	while (size < frames && size < FRAME_POOL_MOST)
		size *= 2;
	return size - 1;
}

int
frame_pools_sum(const struct scenario *sc, struct frame_pools *sum)
{
	uint64_t frames = BUILT;

	*sum = (struct frame_pools){ .room_bytes = frame_pool_room(sc), .least = UINT32_MAX };
	for (uint32_t i = 0; i < sc->topo->nnodes; i++) {
		uint32_t count = sc->hosts[i] != NULL ? frame_pool_frames(sc, i) : 0;

		if (sc->hosts[i] == NULL)
			continue;
		if (count == 0)
			return -ENOMEM;
		sum->ports++;
		sum->least = count < sum->least ? count : sum->least;
		sum->most = count > sum->most ? count : sum->most;
		frames += count;
	}
	sum->bytes = frames * (sum->room_bytes + FRAME_EXTRA_BYTES);
	return 0;
}
