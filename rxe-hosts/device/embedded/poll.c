/* SPDX-License-Identifier: BSD-3-Clause */
/* Polling packets at an embedded host: the queues of its NIC ports, and the packets' arrivals and departures. */
#include <string.h>

#include "common/wire/record_rows.h"
#include "rxe-hosts/device/embedded/host.h"

/*
 * The packets queued at a NIC port: one for each QP that could send now.
 * @param present  [TELEM_MAX_CLASSES] filled. @return their number
 */
static uint32_t
find_waiting(struct host *host, const struct nic *nic, struct telem_present *present)
{
	uint32_t waiting = 0;

	memset(present, 0, TELEM_MAX_CLASSES * sizeof(*present));
	for (uint8_t prio = 1; prio < 8; prio++) {
		struct telem_present *class = &present[telem_class(&host->telemetry, prio)];

		if (!(nic->storm_mask >> prio & 1))
			continue;
		class->ingress_xoff_bytes = REC_NO_XOFF; /* a host never fills up: it has no reason to pause its peer */
		class->pausing = true;
		class->pausing_since_ps = nic->pausing_since_ps[prio];
	}
	for (uint32_t i = 0; i < nic->nqps; i++) {
		const struct send_qp *qp = nic->qps[i];
		struct telem_present *class = &present[telem_class(&host->telemetry, qp->rc.frame.prio)];

		if (!rc_send_ready(&qp->rc) || qp->rc.next_ps > host->now_ps)
			continue;
		host->waiting[waiting++] = qp->flow;
		class->queue_bytes += qp->rc.frame.wire_bytes;
		class->queue_packets++;
	}
	return waiting;
}

static void
count_queued(struct host *host, struct nic *nic, uint32_t waiting, uint32_t step)
{
	for (uint32_t i = 0; i < waiting; i++) {
		uint32_t slot = port_flows_slot(&nic->flows, host->waiting[i]); /* a new one may move the array */

		nic->flows.queued[slot] += step;
	}
}

static struct telem_poll
poll_at(struct host *host, struct nic *nic, const struct telem_present *present)
{
	return (struct telem_poll){ &nic->telem, &host->reporter, present, host->now_ps, nic->index };
}

/* Packet counts of the flow, and of the cable by which the polling packet arrived. */
static void
report_passage(struct host *host, const struct nic *nic, const struct pkt *poll, bool received)
{
	const struct flow_slot *slot = host_slot(host, poll->flow);
	struct rec_passage rec = { .in_port = received ? nic->index : REC_NO_PORT,
				   .out_port = received ? REC_NO_PORT : nic->index };

	if (received) {
		const struct link_passed link = link_passed(host->node.rx[nic->index], poll);

		rec.in_frames = link.received_frames;
		rec.sent_frames = link.sent_frames;
	}
	if (slot->src_node == host->node.id) {
		const struct rc_send *rc = &host->send[slot->send].rc;

		rec.waiting = rc->sel != NULL ? sel_send_waiting(rc) : rc->max - rc->una;
		rec.flow_packets = host->has_telemetry ? epochs_packets_of(&nic->telem.epochs, poll->flow) : 0;
		rec.resent = (uint32_t)rc->retransmits;
		rec.timeouts = (uint32_t)rc->timeouts;
		rec.naks = (uint32_t)rc->naks;
	} else {
		const struct rc_recv *rc = &host->recv[slot->recv].rc;

		rec.duplicates = (uint32_t)rc->duplicates;
		rec.out_of_sequence = (uint32_t)rc->out_of_sequence;
		rec.most_missing = rc->most_missing;
		rec.naks = (uint32_t)rc->naks;
	}
	polled_passage(poll, host->config.flows, &rec, &host->node.records, host->now_ps);
}

/* Reports the queue of the port, as the packet is about to leave by it. */
static void
leave(struct host *host, struct nic *nic, struct pkt *p)
{
	struct telem_present present[TELEM_MAX_CLASSES];
	const struct telem_poll at = poll_at(host, nic, present);
	uint32_t waiting;

	nic_flush(host, nic);
	waiting = find_waiting(host, nic, present);
	count_queued(host, nic, waiting, 1);
	p->arg = telem_poll_leaves(&at, p, nic->paused >> host->config.flows->flows[p->flow].prio & 1);
	count_queued(host, nic, waiting, UINT32_MAX);
}

void
host_poll_leaves(struct host *host, struct nic *nic, struct pkt *p)
{
	leave(host, nic, p);
	if (polled_asks_passage(p))
		report_passage(host, nic, p, false);
	host->node.count.detections++;
}

static void
send_back(struct host *host, struct nic *nic, struct pkt *p)
{
	leave(host, nic, p);
	if (nic_control(host, nic, p))
		node_count_control(&host->node.count, p);
}

void
host_report_nic(struct device *dev, uint32_t flow)
{
	struct host *host = host_of_device(dev);
	struct nic *nic = host_nic_of(host, flow, false);
	struct telem_present present[TELEM_MAX_CLASSES];
	const struct telem_poll at = poll_at(host, nic, present);
	uint32_t waiting;

	if (!host->has_telemetry)
		return;
	nic_flush(host, nic);
	if (!epochs_was_shared(&nic->telem.epochs))
		return;
	waiting = find_waiting(host, nic, present);
	count_queued(host, nic, waiting, 1);
	telem_poll_unasked(&at);
	count_queued(host, nic, waiting, UINT32_MAX);
}

void
host_poll_arrived(struct host *host, struct nic *nic, const struct pkt *p)
{
	struct telem_present present[TELEM_MAX_CLASSES];
	const struct telem_poll at = poll_at(host, nic, present);
	enum telem_extent extent;
	uint32_t waiting;
	struct pkt back;

	if (polled_asks_passage(p)) {
		nic_flush(host, nic);
		report_passage(host, nic, p, true);
	}
	if (telem_poll_asks(&nic->telem, p, &extent)) {
		nic_flush(host, nic);
		waiting = find_waiting(host, nic, present);
		count_queued(host, nic, waiting, 1);
		telem_poll_reply(&at, p, extent);
		count_queued(host, nic, waiting, UINT32_MAX);
	}
	if (host_slot(host, p->flow)->dst_node == host->node.id && telem_poll_turns(&nic->telem, p, &back))
		send_back(host, host->bonded ? host_nic_of(host, p->flow, true) : nic, &back);
}
