/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telemetry of the NIC of a host outside: rows as a switch keeps them of an egress port, and the answers to polling
 * packets that an embedded host would give (VEDRFOLNIR III-C3). The depth that a packet met is what was staged ahead of
 * it; what waits in the host's own ring nobody can see.
 */
#include "dpswitch/edge/external_host.h"

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
		telem_add(&nic->telem, telem_slot(&nic->telem, p->flow), &batch);
}

void
external_roll(struct external *host, uint64_t now_ps)
{
	for (uint16_t i = 0; i < host->node.nports; i++)
		if (!telem_roll(&host->nics[i].telem, now_ps, &host->node.digest))
			host->node.count.row_errors++;
	host->epoch_end_ps = (now_ps / host->telemetry.epoch_ps + 1) * host->telemetry.epoch_ps;
}

/* A port answers one event once. @return whether it had answered before */
static bool
answered(struct external_nic *nic, uint32_t event)
{
	uint32_t known = nic->nanswered < EXTERNAL_ANSWERED ? nic->nanswered : EXTERNAL_ANSWERED;

	for (uint32_t i = 0; i < known; i++)
		if (nic->answered[i] == event)
			return true;
	nic->answered[nic->nanswered++ % EXTERNAL_ANSWERED] = event;
	return false;
}

/* Adds to, or takes from, the rows of the flows that wait. */
static void
count_queued(struct external_nic *nic, uint32_t step)
{
	for (uint8_t c = 1; c < EXTERNAL_CLASSES; c++)
		for (uint32_t i = 0; i < fifo_count(&nic->stage[c]); i++) {
			uint32_t slot = telem_slot(&nic->telem, fifo_at(&nic->stage[c], i)->flow);

			nic->telem.queued[slot] += step;
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

static bool
has_dropped(const struct external_nic *nic)
{
	for (uint32_t reason = 0; reason < REC_DROP_REASONS; reason++)
		if (nic->drops[reason].packets != 0)
			return true;
	return false;
}

/* What the victim's packets met here. */
static void
report_drops(struct external *host, const struct external_nic *nic, uint32_t event, uint64_t now_ps)
{
	for (uint32_t reason = 0; reason < REC_DROP_REASONS; reason++) {
		const struct external_drops *drops = &nic->drops[reason];
		struct rec_drop_row row = {
			.hdr.event = event,
			.port = nic->index,
			.reason = (uint16_t)reason,
			.packets = drops->packets,
			.bytes = drops->bytes,
			.first_ps = drops->first_ps,
			.last_ps = drops->last_ps,
		};

		if (drops->packets == 0)
			continue;
		row.last = telem_tuple(&host->node.flows->flows[drops->last_flow]);
		recbuf_put(&host->node.records, &row, REC_DROP_ROW, sizeof(row), now_ps);
	}
}

static void
record(struct external *host, const struct pkt *p, uint16_t in_port, uint16_t out_port, bool paused, bool repeated,
       uint64_t now_ps)
{
	struct rec_poll rec = {
		.hdr.event = p->psn,
		.victim = telem_tuple(&host->node.flows->flows[p->flow]),
		.in_port = in_port,
		.out_port = out_port,
		.flags = (uint16_t)p->arg,
		.out_paused = paused,
		.repeated = repeated,
		.ttl = p->ttl,
	};

	recbuf_put(&host->node.records, &rec, REC_POLL, sizeof(rec), now_ps);
}

uint32_t
external_poll_leaves(struct external *host, struct external_nic *nic, const struct pkt *p, uint64_t now_ps)
{
	bool paused = nic->paused >> host->node.flows->flows[p->flow].prio & 1;

	if (host->has_telemetry)
		paused |= telem_was_paused(&nic->telem);
	record(host, p, REC_NO_PORT, nic->index, paused, answered(nic, p->psn), now_ps);
	report(host, nic, p->psn, now_ps);
	report_drops(host, nic, p->psn, now_ps);
	return paused ? p->arg | POLL_PFC : p->arg;
}

void
external_poll_arrived(struct external *host, struct external_nic *nic, const struct pkt *p)
{
	bool pauses = p->arg & POLL_PFC;

	if (answered(nic, p->psn) || (!pauses && !has_dropped(nic)))
		return;
	record(host, p, nic->index, REC_NO_PORT, false, false, p->time_ps);
	if (pauses)
		report(host, nic, p->psn, p->time_ps);
	report_drops(host, nic, p->psn, p->time_ps);
}
