/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/pause.h"

#include "common/hash.h"
#include "common/minmax.h"
#include "dpswitch/pipeline/switch.h"

/* When a PAUSE wanted at now_ps can start: after the frame on the wire, before any that starts then. */
static uint64_t
pause_start_ps(const struct egress *egress, const struct pause_sender *pause, uint64_t now_ps, const struct window *window)
{
	const struct link_lane *lane = &egress->tx->lane[window->parity];
	uint64_t start_ps = now_ps > pause->done_ps ? now_ps : pause->done_ps;
	uint32_t lo = 0, hi = lane->npkts;

	if (pause->window_free_ps > start_ps)
		start_ps = pause->window_free_ps;
	/* first frame of this window whose last bit leaves after start_ps */
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (lane->pkts[mid].time_ps - egress->tx->delay_ps > start_ps)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo < lane->npkts) {
		uint64_t done_ps = lane->pkts[lo].time_ps - egress->tx->delay_ps;

		if (done_ps - egress->ser_ps[lane->pkts[lo].wire_bytes] < start_ps)
			start_ps = done_ps;
	}
	return start_ps;
}

void
switch_pauses_open(struct sw *sw)
{
	for (uint16_t i = 0; i < sw->node.nports; i++)
		sw->ports[i].pause.window_free_ps = sw->ports[i].egress.free_ps;
}

/* Sends PAUSE or RESUME for classes out of a port at its own time. */
static void
switch_send_pause(struct sw *sw, uint16_t port_index, uint8_t prio_mask, bool xoff, uint64_t now_ps,
		  const struct window *window)
{
	struct switch_port *port = &sw->ports[port_index];
	struct egress *egress = &port->egress;
	uint64_t start_ps = pause_start_ps(egress, &port->pause, now_ps, window);
	uint64_t done_ps = start_ps + egress->tx->pause_ps;

	port->pause.done_ps = done_ps;
	/* Its wire time: behind the frames that this window has sent already. */
	egress->free_ps = egress->free_ps > start_ps ? egress->free_ps + egress->tx->pause_ps : done_ps;
	link_send_pause(egress->tx, window->parity, prio_mask, xoff, done_ps);
	if (xoff)
		telem_pause(&port->telem, prio_mask, TELEM_XOFF_SENT, now_ps);
	sw->node.digest = digest_u64(sw->node.digest, done_ps << 1 | xoff);
}

void
switch_own_pause(struct sw *sw, uint16_t port_index, uint8_t prio, bool xoff, uint64_t now_ps, const struct window *window)
{
	struct switch_port *port = &sw->ports[port_index];
	struct pause_sender *pause = &port->pause;

	if (xoff && !(switch_pausing(sw, port_index) >> prio & 1))
		pause->since_ps[prio] = now_ps;
	if (((pause->own_xoff >> prio & 1) != 0) == xoff)
		sw->node.count.pause_errors++;
	pause->own_xoff = (uint8_t)((pause->own_xoff & ~(1u << prio)) | (unsigned)xoff << prio);
	if (!xoff && (port->storm.classes >> prio & 1))
		return;
	switch_send_pause(sw, port_index, (uint8_t)(1u << prio), xoff, now_ps, window);
}

uint8_t
switch_pausing(const struct sw *sw, uint16_t port)
{
	return sw->ports[port].pause.own_xoff | sw->ports[port].storm.classes;
}

/* Storms. */

void
switch_storm(struct sw *sw, const struct window *window)
{
	for (uint16_t i = 0; i < sw->node.nports; i++) {
		struct storm *storm = &sw->ports[i].storm;

		while (storm->classes != 0 && storm->next_ps < window->end_ps) {
			switch_send_pause(sw, i, storm->classes, true, storm->next_ps, window);
			/* Not faster than the wire takes them. */
			storm->next_ps = max_u64(storm->next_ps + storm->interval_ps, sw->ports[i].pause.done_ps);
		}
	}
}

void
switch_storms_ended(struct sw *sw, const struct window *window)
{
	for (uint16_t i = 0; i < sw->node.nports; i++) {
		struct storm *storm = &sw->ports[i].storm;

		if (storm->ended != 0)
			switch_send_pause(sw, i, storm->ended, false, window->start_ps, window);
		storm->ended = 0;
	}
}

void
switch_set_storm(struct sw *sw, uint16_t port_index, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps)
{
	struct switch_port *port = &sw->ports[port_index];
	struct storm *storm = &port->storm;
	uint8_t bit = (uint8_t)(1u << prio);

	if (((storm->classes & bit) != 0) == on)
		return;
	if (on && !(switch_pausing(sw, port_index) & bit))
		port->pause.since_ps[prio] = now_ps;
	sw->storms -= storm->classes != 0;
	if (on) {
		if (storm->classes == 0 || interval_ps < storm->interval_ps)
			storm->interval_ps = interval_ps;
		storm->next_ps = now_ps;
		storm->classes |= bit;
		storm->ended &= (uint8_t)~bit;
	} else {
		/* RESUME what our own accounting does not hold, with the next window's frames. */
		storm->classes &= (uint8_t)~bit;
		storm->ended |= bit & (uint8_t)~port->pause.own_xoff;
		sw->account.recheck = true;
	}
	sw->storms += storm->classes != 0;
}
