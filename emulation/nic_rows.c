/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/nic_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "common/wire/record_rows.h"

int
nic_rows_init(struct nic_rows *rows, const struct fabric *fabric, const struct telem_config *config,
	      const struct flow_table *flows, uint16_t nports)
{
	rows->fabric = fabric;
	rows->config = *config;
	rows->config.nports = nports;
	rows->config.host = true;
	recbuf_init(&rows->unkept, 0);
	rows->unkept.discarded = true;
	rows->ports = calloc(nports, sizeof(*rows->ports));
	if (rows->ports == NULL)
		return -ENOMEM;
	for (uint16_t i = 0; i < nports; i++) {
		struct nic_rows_port *port = &rows->ports[i];

		port_truth_init(&port->truth, &port->flows);
		if (port_flows_init(&port->flows, flows) < 0 ||
		    telem_init(&port->telem, &rows->config, &port->flows, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

void
nic_rows_fini(struct nic_rows *rows)
{
	for (uint16_t i = 0; rows->ports != NULL && i < rows->config.nports; i++) {
		if (rows->ports[i].telem.config != NULL)
			telem_fini(&rows->ports[i].telem);
		port_truth_fini(&rows->ports[i].truth);
		port_flows_fini(&rows->ports[i].flows);
	}
	recbuf_fini(&rows->unkept);
	free(rows->ports);
	rows->ports = NULL;
}

static void
roll(void *ctx, struct node *node, uint64_t now_ps)
{
	struct nic_rows *rows = ctx;

	for (uint16_t i = 0; i < rows->config.nports; i++)
		if (!telem_roll(&rows->ports[i].telem, now_ps, &node->digest))
			node->count.row_errors++;
}

/* Another window began: the pairs that met in the last one are counted. */
static void
turn_window(const struct nic_rows *rows, struct nic_rows_port *port)
{
	const struct window *window = &rows->fabric->window;

	if (port->window.index == window->index)
		return;
	if (port->truth.contended)
		port_truth_count(&port->truth, &port->window);
	port->window = (struct truth_window){ window->index, window->start_ps, window->end_ps - window->start_ps, 0 };
}

static void
transmitted(void *ctx, uint16_t nic, const struct nic_batch *batch)
{
	struct nic_rows *rows = ctx;
	struct nic_rows_port *port = &rows->ports[nic];
	uint32_t slot = port_flows_slot(&port->flows, batch->flow);
	const struct telem_batch counts = {
		.packets = batch->packets,
		.paused_packets = batch->paused_packets,
		.depth_max = batch->depth_max,
		.bytes = batch->bytes,
		.depth_sum = batch->depth_sum,
	};

	turn_window(rows, port);
	if (batch->held_ps != 0)
		port_truth_hold(&port->truth, slot, batch->held_ps, rows->fabric->window.end_ps);
	telem_add(&port->telem, slot, &counts);
	port_truth_enqueue(&port->truth, slot, port->window.index, batch->depth_sum != 0);
	if (batch->depth_max > port->window.depth)
		port->window.depth = batch->depth_max;
}

static void
ahead(void *ctx, uint16_t nic, uint32_t flow, uint32_t other)
{
	struct nic_rows_port *port = &((struct nic_rows *)ctx)->ports[nic];
	struct telem_port *telem = &port->telem;
	uint32_t of = port_flows_slot(&port->flows, flow), by = port_flows_slot(&port->flows, other);

	telem_reserve(telem, port->flows.count);
	telem->open->matrix[of][by < TELEM_MATRIX ? by : TELEM_MATRIX - 1]++;
}

static void
paused(void *ctx, uint16_t nic, bool on, uint64_t now_ps)
{
	struct nic_rows_port *port = &((struct nic_rows *)ctx)->ports[nic];

	if (on)
		telem_pause_received(&port->telem);
	telem_pause(&port->telem, on, now_ps);
	port_truth_halt(&port->truth, on, now_ps);
}

static bool
was_paused(void *ctx, uint16_t nic)
{
	return telem_was_paused(&((struct nic_rows *)ctx)->ports[nic].telem);
}

static bool
was_shared(void *ctx, uint16_t nic)
{
	return telem_was_shared(&((struct nic_rows *)ctx)->ports[nic].telem);
}

static bool
report(void *ctx, struct node *node, uint16_t nic, const struct nic_present *now, uint32_t event, uint64_t now_ps)
{
	struct nic_rows *rows = ctx;
	struct telem_port *telem = &rows->ports[nic].telem;
	struct port_flows *flows = &rows->ports[nic].flows;
	const struct telem_present present = {
		.queue_packets = now->queue_packets,
		.queue_bytes = now->queue_bytes,
		.ingress_xoff_bytes = REC_NO_XOFF, /* a host never fills up: it has no reason to pause its peer */
		.pausing = now->pausing,
		.pausing_since_ps = now->pausing_since_ps,
	};
	struct answer answer;
	struct report_sum made;

	for (uint32_t i = 0; i < now->queue_packets; i++) {
		uint32_t slot = port_flows_slot(flows, now->waiting[i]); /* a new one may move the array */

		flows->queued[slot]++;
	}
	answer = answer_begin(telem, true, &present, &node->records, &rows->unkept, event, now_ps);
	made = (struct report_sum){ report_head_bytes(node->id, event, now_ps) + answer_end(&answer), 1 };
	made.packed_bytes += event != 0 ? REPORT_PASSAGE_BYTES : 0;
	report_count_add(&node->count.reports, made, answer.kept ? made : (struct report_sum){ 0 });
	for (uint32_t i = 0; i < now->queue_packets; i++)
		flows->queued[port_flows_slot(flows, now->waiting[i])]--;
	return answer.kept;
}

struct nic_telemetry
nic_rows_ops(struct nic_rows *rows)
{
	return (struct nic_telemetry){
		.ctx = rows,
		.epoch_ps = rows->config.epoch_ps,
		.roll = roll,
		.transmitted = transmitted,
		.ahead = rows->config.exact ? ahead : NULL,
		.paused = paused,
		.was_paused = was_paused,
		.was_shared = was_shared,
		.report = report,
	};
}
