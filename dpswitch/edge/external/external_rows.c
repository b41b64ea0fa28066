/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telemetry of the NIC of an external host: rows as a switch keeps them of an egress port, and the answers to polling
 * packets that an embedded host would give (VEDRFOLNIR III-C3). The depth that a packet met is what was staged ahead of
 * it; what waits in the host's own ring nobody can see.
 */
#include "dpswitch/edge/external/external_host.h"

void
external_row(struct external *host, struct external_nic *nic, const struct pkt *p)
{
	uint32_t depth = nic->staged - fifo_count(&nic->stage[0]);
	const struct telem_batch batch = {
		.packets = 1,
		.paused_packets = nic->paused >> p->prio & 1,
		.depth_max = depth,
		.bytes = p->wire_bytes,
		.depth_sum = depth,
	};

	if (p->prio != 0)
		telem_add(&nic->telem, port_flows_slot(&nic->flows, p->flow), &batch);
}

void
external_roll(struct external *host, uint64_t now_ps)
{
	for (uint16_t i = 0; i < host->node.nports; i++)
		if (!telem_roll(&host->nics[i].telem, now_ps, &host->node.digest))
			host->node.count.row_errors++;
	host->epoch_end_ps = (now_ps / host->telemetry.epoch_ps + 1) * host->telemetry.epoch_ps;
}

/* Adds to, or takes from, the rows of the flows that wait. */
static void
count_queued(struct external_nic *nic, uint32_t step)
{
	for (uint8_t c = 1; c < EXTERNAL_CLASSES; c++)
		for (uint32_t i = 0; i < fifo_count(&nic->stage[c]); i++) {
			uint32_t slot = port_flows_slot(&nic->flows, fifo_at(&nic->stage[c], i)->flow);

			nic->flows.queued[slot] += step;
		}
}

static void
report(struct external *host, struct external_nic *nic, uint32_t event, uint64_t now_ps)
{
	struct telem_present present = {
		.ingress_bytes = nic->hold.bytes,
		.ingress_xoff_bytes = nic->xoff_bytes,
		.pausing = nic->pausing_since_ps != TIME_NEVER,
		.pausing_since_ps = nic->pausing_since_ps,
	};

	if (!host->has_telemetry)
		return;
	for (uint8_t c = 1; c < EXTERNAL_CLASSES; c++) {
		present.queue_packets += fifo_count(&nic->stage[c]);
		present.queue_bytes += nic->stage[c].bytes;
	}
	count_queued(nic, 1);
	telem_report(&nic->telem, &present, &host->node.records, event, now_ps);
	count_queued(nic, UINT32_MAX);
}

/* A polling packet leaves this host for its victim's path: the NIC reports itself first. */
static void
poll_leaves(struct external *host, struct external_nic *nic, struct pkt *p, uint64_t now_ps)
{
	const struct flow_table *flows = host->node.flows;
	struct recbuf *records = &host->node.records;
	bool paused = nic->paused >> flows->flows[p->flow].prio & 1;

	if (host->has_telemetry)
		paused |= telem_was_paused(&nic->telem);
	polled_record(p, flows, REC_NO_PORT, nic->index, paused, polled_before(&nic->polled, p->psn), records, now_ps);
	report(host, nic, p->psn, now_ps);
	port_drops_report(&nic->drops, flows, nic->index, p->psn, records, now_ps);
	p->arg |= paused ? POLL_PFC : 0;
}

static void
poll_arrived(struct external *host, struct external_nic *nic, const struct pkt *p)
{
	const struct flow_table *flows = host->node.flows;
	struct recbuf *records = &host->node.records;
	bool pauses = p->arg & POLL_PFC;

	if (polled_before(&nic->polled, p->psn) || (!pauses && !port_drops_any(&nic->drops)))
		return;
	polled_record(p, flows, nic->index, REC_NO_PORT, false, false, records, p->time_ps);
	if (pauses)
		report(host, nic, p->psn, p->time_ps);
	/* what the victim's packets met here */
	port_drops_report(&nic->drops, flows, nic->index, p->psn, records, p->time_ps);
}

const struct external_control external_control[PKT_TYPES] = {
	[PKT_POLL] = { poll_leaves, poll_arrived },
};
