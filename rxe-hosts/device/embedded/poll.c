/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polling packets at a host (VEDRFOLNIR III-C3). The victim's host reports its own NIC port first, as a switch would
 * its egress, then lets the packet go. A host where a packet that traces pauses arrives is the one that pauses: it
 * reports that port, and the path ends. Elsewhere the path ends without a word, unless packets were dropped there: the
 * switch before has told that the polling packet went to a host.
 */
#include "rxe-hosts/device/embedded/host.h"
#include "telemetry/report.h"

static void
report_drops(struct host *host, const struct nic *nic, uint32_t event)
{
	port_drops_report(&nic->drops, host->config.flows, nic->index, event, &host->node.records, host->now_ps);
}

/* A report of drops alone. */
static void
report_arrival(struct host *host, const struct nic *nic, uint32_t event)
{
	size_t from = host->node.records.used_bytes;
	struct report_sum sum = { REPORT_PASSAGE_BYTES, 1 };

	report_drops(host, nic, event);
	sum.packed_bytes += report_head_bytes(host->node.id, event, host->now_ps);
	sum.packed_bytes += report_pack(host->node.records.data + from, host->node.records.used_bytes - from, NULL);
	report_count_add(&host->node.count.reports, sum, sum);
}

/* The rows of a NIC port, and the packets that stand before it: one for each QP that could send now. */
static void
report_port(struct host *host, struct nic *nic, uint32_t event)
{
	struct nic_present present = {
		.waiting = host->waiting,
		.pausing = nic->storm_mask != 0,
		.pausing_since_ps = nic->pausing_since_ps,
	};
	size_t from, drops_bytes;

	for (uint32_t i = 0; i < nic->nqps; i++) {
		const struct send_qp *qp = nic->qps[i];

		if (!rc_send_ready(&qp->rc) || qp->rc.next_ps > host->now_ps)
			continue;
		host->waiting[present.queue_packets++] = qp->batch.flow;
		present.queue_bytes += qp->rc.frame.wire_bytes;
	}
	if (host->has_telemetry) {
		nic_flush(host, nic);
		if (!host->telemetry.report(host->telemetry.ctx, &host->node, nic->index, &present, event, host->now_ps))
			return;
	}
	from = host->node.records.used_bytes;
	report_drops(host, nic, event);
	drops_bytes = report_pack(host->node.records.data + from, host->node.records.used_bytes - from, NULL);
	host->node.count.reports.bytes += drops_bytes;
	host->node.count.reports.kept_bytes += drops_bytes;
}

static void
record(struct host *host, const struct pkt *p, uint16_t in_port, uint16_t out_port, bool paused, bool repeated)
{
	polled_record(p, host->config.flows, in_port, out_port, paused, repeated, &host->node.records, host->now_ps);
}

void
host_poll_leaves(struct host *host, struct nic *nic, struct pkt *p)
{
	bool paused = nic->paused >> host->config.flows->flows[p->flow].prio & 1;

	if (host->has_telemetry)
		paused |= host->telemetry.was_paused(host->telemetry.ctx, nic->index);
	record(host, p, REC_NO_PORT, nic->index, paused, polled_before(&nic->polled, p->psn));
	report_port(host, nic, p->psn);
	if (paused)
		p->arg |= POLL_PFC;
	host->node.count.detections++;
}

void
host_report_nic(struct device *dev, uint32_t flow)
{
	struct host *host = host_of_device(dev);
	struct nic *nic = &host->nics[host->config.flows->flows[flow].src_nic];

	if (!host->has_telemetry)
		return;
	nic_flush(host, nic);
	if (host->telemetry.was_shared(host->telemetry.ctx, nic->index))
		report_port(host, nic, 0);
}

void
host_poll_arrived(struct host *host, struct nic *nic, const struct pkt *p)
{
	bool pauses = p->arg & POLL_PFC;

	if (polled_before(&nic->polled, p->psn) || (!pauses && ((p->arg & POLL_QUIET) || !port_drops_any(&nic->drops))))
		return;
	record(host, p, nic->index, REC_NO_PORT, false, false);
	if (pauses)
		report_port(host, nic, p->psn);
	else
		report_arrival(host, nic, p->psn); /* what the victim's packets met here: a wrong ICRC */
}
