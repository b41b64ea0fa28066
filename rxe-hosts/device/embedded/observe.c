/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who observes a NIC port: its telemetry, and the run's truth. What a QP sent is gathered and told once a window: no further
 * back than the window's start, and windows end at epochs. A QP makes a packet when it can leave; the depth that a packet
 * met is the number of other QPs' packets that left between the time it could have left and the time it did.
 */
#include "common/wire/record_rows.h"
#include "rxe-hosts/device/embedded/host.h"

/* Another window began: the pairs of flows that met in the last one are counted. */
static void
turn_window(const struct window *window, struct nic *nic)
{
	if (nic->contention.index == window->index)
		return;
	if (nic->truth.contended)
		port_truth_count(&nic->truth, &nic->contention);
	nic->contention = (struct truth_window){ window->index, window->start_ps, window->end_ps - window->start_ps, 0 };
}

static void
report_state(const struct host *host, struct nic *nic, struct send_qp *qp)
{
	struct telem_batch *batch = &qp->batch;

	batch->slot = port_flows_slot(&nic->flows, qp->flow);
	batch->in_port = REC_NO_PORT;
	turn_window(&host->window, nic);
	if (qp->held_ps != 0)
		port_truth_hold(&nic->truth, batch->slot, qp->held_ps, host->window.end_ps);
	telem_add(&nic->telem, batch);
	port_truth_enqueue(&nic->truth, batch->slot, nic->contention.index, batch->depth_sum != 0);
	if (batch->depth_max > nic->contention.depth)
		nic->contention.depth = batch->depth_max;
	*batch = (struct telem_batch){ 0 };
	qp->held_ps = 0;
}

void
nic_flush(struct host *host, struct nic *nic)
{
	if (!host->has_telemetry)
		return;
	for (uint32_t base = 0; base < nic->nqps; base += 64) {
		uint64_t bits = nic->sent[base / 64];

		nic->sent[base / 64] = 0;
		for (; bits != 0; bits &= bits - 1)
			report_state(host, nic, nic->qps[base + (uint32_t)__builtin_ctzll(bits)]);
	}
}

void
nic_observe_ahead(struct nic *nic, uint32_t waiting, uint32_t left)
{
	uint32_t of = port_flows_slot(&nic->flows, waiting), by = port_flows_slot(&nic->flows, left);

	epochs_ahead(&nic->telem.epochs, of, by);
}

void
nic_observe_pause(struct host *host, struct nic *nic, uint8_t was)
{
	uint8_t newly_paused = nic->paused & (uint8_t)~was, resumed = was & (uint8_t)~nic->paused;

	if (!host->has_telemetry)
		return;
	nic_flush(host, nic);
	telem_pause(&nic->telem, newly_paused, TELEM_XOFF_RECEIVED, host->now_ps);
	telem_pause(&nic->telem, newly_paused, TELEM_PAUSED, host->now_ps);
	telem_pause(&nic->telem, resumed, TELEM_RESUMED, host->now_ps);
	if ((was != 0) != (nic->paused != 0))
		port_truth_pause(&nic->truth, nic->paused != 0, host->now_ps);
}

void
nic_observe_epoch(struct host *host, uint64_t now_ps)
{
	uint64_t epoch_ps = host->telemetry.epoch_ps;

	for (uint16_t i = 0; i < host->node.nports; i++)
		if (!telem_roll(&host->nics[i].telem, now_ps, &host->node.digest))
			host->node.count.row_errors++;
	host->epoch_end_ps = (now_ps / epoch_ps + 1) * epoch_ps;
}

const struct port_truth *
embedded_truth(const struct node *node, uint16_t nic)
{
	return &((const struct host *)node)->nics[nic].truth;
}
