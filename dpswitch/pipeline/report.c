/* SPDX-License-Identifier: BSD-3-Clause */
/* Stage 4: the rows of ports that answer a polling packet, as they stand at the window's end; or of all, once an epoch. */
#include <string.h>

#include "common/wire/record_rows.h"
#include "dpswitch/pipeline/switch.h"

/* Bytes held in an egress's lossless queues, by ingress. @param held [nports], cleared first */
static void
sum_held(const struct sw *sw, uint16_t port, uint64_t *held)
{
	memset(held, 0, sw->node.nports * sizeof(*held));
	for (uint8_t prio = 0; prio < SWITCH_CLASSES; prio++) {
		const struct fifo *q = &sw->ports[port].q[prio];

		if (!switch_is_lossless(sw, prio))
			continue;
		for (uint32_t i = 0, count = fifo_count(q); i < count; i++)
			held[fifo_at(q, i)->in_port] += fifo_at(q, i)->wire_bytes;
	}
}

/* @return whether the rows were kept. @param packed_bytes  set to what they take */
static bool
report_port(struct sw *sw, uint16_t index, bool whole, uint32_t event, uint64_t now_ps, uint64_t *packed_bytes)
{
	struct switch_port *port = &sw->ports[index];
	struct telem_present present = {
		.pausing = port->storm.prio_mask != 0,
		.pausing_since_ps = port->pausing_since_ps,
		.ingress_xoff_bytes = REC_NO_XOFF,
	};

	if (whole) { /* the present state alone does not tell it */
		sum_held(sw, index, sw->held);
		present.held_bytes = sw->held;
	}
	for (uint8_t prio = 0; prio < SWITCH_CLASSES; prio++) {
		const struct pfc_ingress *in;
		uint64_t threshold;

		if (prio != 0) {
			present.queue_packets += fifo_count(&port->q[prio]);
			present.queue_bytes += port->q[prio].bytes;
		}
		if (!switch_is_lossless(sw, prio))
			continue;
		in = &sw->ingress[switch_ingress_index(sw, index, prio)];
		threshold = sw->pfc.reserve_bytes + pfc_threshold(&sw->pfc, sw->pool.shared_bytes);
		present.ingress_bytes += in->bytes + in->headroom_bytes;
		present.pausing |= in->pausing;
		if (threshold < present.ingress_xoff_bytes)
			present.ingress_xoff_bytes = threshold;
	}
	return telem_reply(&port->telem, &sw->reporter, whole ? TELEM_ROWS : TELEM_STATE, &present, event, now_ps,
			   packed_bytes);
}

/* One report answers one polling packet, whatever ports it concerns; of quiet ones, those whose rows are kept count. */
void
switch_report(struct sw *sw, const struct window *window)
{
	struct report_sum made = sw->answers, kept = sw->told_answers;
	uint32_t quiet_event = 0;

	for (uint16_t i = 0; i < sw->node.nports; i++) {
		struct switch_port *port = &sw->ports[i];
		uint64_t packed_bytes;

		port->polled = 0;
		if (port->report_asked == 0)
			continue;
		if (report_port(sw, i, port->report_whole, port->report_event, window->end_ps, &packed_bytes)) {
			kept.packed_bytes += packed_bytes;
			if (port->report_quiet && port->report_event != quiet_event) {
				quiet_event = port->report_event;
				kept.packed_bytes += report_head_bytes(sw->node.id, quiet_event, window->end_ps);
				kept.reports++;
			}
		}
		made.packed_bytes += packed_bytes * port->report_asked;
		port->report_asked = 0;
		port->report_whole = false;
	}
	report_count_add(&sw->node.count.reports, made, kept);
	sw->reports_due = false;
	sw->answers = sw->told_answers = (struct report_sum){ 0 };
}

void
switch_report_all(struct sw *sw, uint64_t now_ps)
{
	struct report_sum made = { report_head_bytes(sw->node.id, 0, now_ps), 1 }, kept = made;

	for (uint16_t i = 0; i < sw->node.nports; i++) {
		uint64_t packed_bytes;

		if (report_port(sw, i, true, 0, now_ps, &packed_bytes))
			kept.packed_bytes += packed_bytes;
		made.packed_bytes += packed_bytes;
	}
	report_count_add(&sw->node.count.reports, made, kept);
}
