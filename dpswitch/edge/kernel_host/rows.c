/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telemetry of the NIC of an external host, fed as a switch feeds that of an egress port. The depth that a packet met is
 * what was staged ahead of it; what waits in the host's own ring nobody can see.
 */
#include <string.h>

#include "common/wire/record_rows.h"
#include "dpswitch/edge/kernel_host/state.h"

void
kernel_host_rows_count(struct kernel_host_nic *nic)
{
	telem_add(&nic->telem, &nic->rows);
	nic->rows.packets = 0;
}

void
kernel_host_row_first(struct kernel_host_nic *nic, const struct pkt *p)
{
	uint32_t depth = nic->staged - fifo_count(&nic->stage[0]);
	struct telem_batch *rows = &nic->rows;

	if (p->prio == 0)
		return;
	if (rows->packets != 0 && nic->rows_flow != p->flow)
		kernel_host_rows_count(nic);
	if (rows->packets == 0) {
		*rows = (struct telem_batch){ .slot = port_flows_slot(&nic->flows, p->flow), .in_port = REC_NO_PORT };
		nic->rows_flow = p->flow;
	}
	rows->packets++;
	rows->paused_packets += nic->paused >> p->prio & 1;
	rows->depth_max = rows->depth_max > depth ? rows->depth_max : depth;
	rows->bytes += p->wire_bytes;
	rows->depth_sum += depth;
}

void
kernel_host_roll(struct kernel_host *host, uint64_t now_ps)
{
	for (uint16_t i = 0; i < host->node.nports; i++)
		if (!telem_roll(&host->nics[i].telem, now_ps, &host->node.digest))
			host->node.count.row_errors++;
	host->epoch_end_ps = (now_ps / host->telemetry.epoch_ps + 1) * host->telemetry.epoch_ps;
}

/* Adds to, or takes from, the rows of the flows that wait. */
static void
count_queued(struct kernel_host_nic *nic, uint32_t step)
{
	for (uint8_t c = 1; c < KERNEL_HOST_CLASSES; c++)
		for (uint32_t i = 0; i < fifo_count(&nic->stage[c]); i++) {
			uint32_t slot = port_flows_slot(&nic->flows, fifo_at(&nic->stage[c], i)->flow);

			nic->flows.queued[slot] += step;
		}
}

/* @param present  [TELEM_MAX_CLASSES] filled */
static void
fill_present(const struct kernel_host *host, const struct kernel_host_nic *nic, struct telem_present *present)
{
	memset(present, 0, TELEM_MAX_CLASSES * sizeof(*present));
	for (uint8_t c = 1; c < KERNEL_HOST_CLASSES; c++) {
		struct telem_present *class = &present[telem_class(&host->telemetry, c)];

		class->queue_packets += fifo_count(&nic->stage[c]);
		class->queue_bytes += nic->stage[c].bytes;
		if (!(kernel_host_pauses(host, nic) >> c & 1) || nic->pausing_since_ps == TIME_NEVER)
			continue;
		class->ingress_bytes = nic->hold.bytes;
		class->ingress_xoff_bytes = nic->xoff_bytes;
		class->pausing = true;
		class->pausing_since_ps = nic->pausing_since_ps;
	}
}

/* A polling packet leaves this host for its victim's path: the NIC reports itself first. */
static void
poll_leaves(struct kernel_host *host, struct kernel_host_nic *nic, struct pkt *p, uint64_t now_ps)
{
	struct telem_present present[TELEM_MAX_CLASSES];
	const struct telem_poll at = { &nic->telem, &host->reporter, present, now_ps, nic->index };

	fill_present(host, nic, present);
	count_queued(nic, 1);
	p->arg = telem_poll_leaves(&at, p, nic->paused >> host->node.flows->flows[p->flow].prio & 1);
	count_queued(nic, UINT32_MAX);
}

static void
poll_arrived(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *p)
{
	struct telem_present present[TELEM_MAX_CLASSES];
	const struct telem_poll at = { &nic->telem, &host->reporter, present, p->time_ps, nic->index };
	enum telem_extent extent;
	struct pkt back;

	if (telem_poll_asks(&nic->telem, p, &extent)) {
		fill_present(host, nic, present);
		count_queued(nic, 1);
		telem_poll_reply(&at, p, extent);
		count_queued(nic, UINT32_MAX);
	}
	if (host->node.flows->flows[p->flow].dst_node != host->node.id || !telem_poll_turns(&nic->telem, p, &back))
		return;
	back.time_ps = p->time_ps; /* it leaves no earlier */
	poll_leaves(host, nic, &back, p->time_ps);
	node_count_control(&host->node.count, &back);
	kernel_host_stage(host, nic, &back);
}

const struct kernel_host_control kernel_host_control[PKT_TYPES] = {
	[PKT_POLL] = { poll_leaves, poll_arrived },
};
