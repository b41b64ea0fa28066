/* SPDX-License-Identifier: BSD-3-Clause */
/* A cable of the switch was cut or mended. */
#include "dpswitch/pipeline/stages.h"

/* Everything queued for a dead cable is lost; its ingresses get their buffer back. */
static void
flush_port(struct sw *sw, uint16_t index, uint64_t now_ps)
{
	struct switch_port *port = &sw->ports[index];

	for (uint8_t prio = 0; prio < SWITCH_CLASSES; prio++) {
		while (!fifo_empty(&port->egress.q[prio])) {
			struct pkt *p = egress_pop(&port->egress, prio);

			switch_drop(sw, index, p, REC_DROP_LINK_DOWN, now_ps);
			if (prio != 0 && !sw->config->telemetry_off)
				port->flows.queued[port_flows_slot(&port->flows, p->flow)]--;
			account_lose(&sw->account, p);
		}
	}
	sw->account.recheck = true;
}

/* Routes avoid a port whose cable is cut; what is queued for it is lost. */
void
switch_link_changed(struct sw *sw, uint16_t index, uint8_t held, uint64_t now_ps)
{
	struct switch_port *port = &sw->ports[index];
	bool down = port->egress.tx->down;

	switch_forget_routes(sw);
	if (down)
		flush_port(sw, index, now_ps);
	port_drops_down(port->telem.drops, now_ps);
	switch_note_pause(sw, port, down ? 0 : held, now_ps);
}
