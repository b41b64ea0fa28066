/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PAUSE at a kernel host, in all directions: the switch's PAUSE is kept, and passed on as PFC frames where the peer
 * honours them; the PAUSE of a slow host, a storm or the peer's own PFC frames is sent to the switch.
 */
#include "common/hash.h"
#include "common/minmax.h"
#include "common/units.h"
#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/kernel_host/state.h"

static uint64_t
quanta_ps(const struct kernel_host_nic *nic, uint16_t quanta)
{
	return units_serialize_ps((uint64_t)quanta * PFC_QUANTUM_BITS / 8, nic->tx->rate_bps, 0);
}

/* Pauses classes of a peer that speaks PFC for the longest time that a PFC frame can carry, or resumes them. */
static void
send_pfc(struct kernel_host *host, struct kernel_host_nic *nic, uint8_t classes, uint64_t now_ps)
{
	struct pfc_fields fields = { .class_enable = classes };
	uint8_t bytes[ETH_MIN_BYTES];

	topo_nic_mac(host->node.id, nic->index, fields.src_mac);
	fields.src_mac[1] = 1; /* the other end of the host's cable */
	for (int c = 0; c < PFC_CLASSES; c++)
		fields.quanta[c] = nic->pause.paused >> c & 1 ? PFC_QUANTA_MAX : 0;
	pfc_frame_build(&fields, bytes);
	if (kernel_host_own(host, nic, bytes, sizeof(bytes)))
		nic->count.pfc_sent++;
	else
		nic->count.dropped[EDGE_DROP_REPLY]++;
	nic->pause.refresh_ps = nic->pause.paused != 0 ? now_ps + quanta_ps(nic, PFC_QUANTA_MAX) / 2 : TIME_NEVER;
}

void
kernel_host_pause(struct kernel_host *host, struct kernel_host_nic *nic, const struct pause_frame *frame)
{
	uint8_t mask = frame->prio_mask;

	host->node.digest = digest_u64(host->node.digest, frame->time_ps ^ (uint64_t)mask << 56 ^ frame->xoff);
	nic->count.pauses_received += frame->xoff;
	if (frame->xoff)
		telem_pause(&nic->telem, mask & 0xfe, TELEM_XOFF_RECEIVED, frame->time_ps);
	kernel_host_hold(host, nic, frame->xoff ? nic->pause.paused | mask : nic->pause.paused & (uint8_t)~mask,
			 frame->time_ps);
}

void
kernel_host_hold(struct kernel_host *host, struct kernel_host_nic *nic, uint8_t held, uint64_t now_ps)
{
	uint8_t was = nic->pause.paused;

	nic->pause.paused = held & 0xfe; /* class 0 is never paused */
	if (nic->pause.paused == was)
		return;
	if (was == 0)
		nic->pause.paused_since_ps = now_ps;
	else if (nic->pause.paused == 0)
		nic->count.paused_ps += now_ps - nic->pause.paused_since_ps;
	telem_pause(&nic->telem, nic->pause.paused & (uint8_t)~was, TELEM_PAUSED, now_ps);
	telem_pause(&nic->telem, was & (uint8_t)~nic->pause.paused, TELEM_RESUMED, now_ps);
	if (nic->pfc)
		send_pfc(host, nic, was | nic->pause.paused, now_ps);
}

uint8_t
kernel_host_pauses(const struct kernel_host *host, const struct kernel_host_nic *nic)
{
	return nic->pause.storm_mask | nic->pause.peer_xoff | (nic->to_host.xoff ? host->edge->config.lossless : 0);
}

void
kernel_host_send_pause(struct kernel_host *host, struct kernel_host_nic *nic, uint8_t prio_mask, bool xoff, uint64_t now_ps)
{
	uint64_t done_ps = max_u64(nic->from_host.free_ps, now_ps) + nic->tx->pause_ps;

	link_send_pause(nic->tx, host->window.parity, prio_mask, xoff, done_ps);
	nic->from_host.free_ps = done_ps;
	if (xoff && nic->pause.pausing_since_ps == TIME_NEVER)
		nic->pause.pausing_since_ps = now_ps;
	else if (!xoff && kernel_host_pauses(host, nic) == 0)
		nic->pause.pausing_since_ps = TIME_NEVER;
	if (xoff)
		telem_pause(&nic->telem, prio_mask, TELEM_XOFF_SENT, now_ps);
	host->node.digest = digest_u64(host->node.digest, done_ps << 1 | xoff);
}

/* Classes that the switch should now hold or not, compared with the last report to it. */
static void
send_changes(struct kernel_host *host, struct kernel_host_nic *nic, uint8_t before, uint64_t now_ps)
{
	uint8_t after = kernel_host_pauses(host, nic);

	if ((after & ~before) != 0)
		kernel_host_send_pause(host, nic, after & (uint8_t)~before, true, now_ps);
	if ((before & ~after) != 0)
		kernel_host_send_pause(host, nic, before & (uint8_t)~after, false, now_ps);
}

void
kernel_host_pfc_arrived(struct kernel_host *host, struct kernel_host_nic *nic, const uint8_t *bytes, size_t size_bytes)
{
	uint8_t before = kernel_host_pauses(host, nic);
	uint64_t now_ps = max_u64(nic->from_host.free_ps, host->window.start_ps);
	struct pfc_fields fields;

	nic->from_host.free_ps = now_ps + nic->tx->pause_ps;
	if (pfc_frame_parse(bytes, size_bytes, &fields) != 0) {
		nic->count.dropped[EDGE_DROP_PFC]++;
		return;
	}
	nic->count.pfc_received++;
	for (uint8_t c = 1; c < PFC_CLASSES; c++) {
		uint8_t bit = (uint8_t)(1u << c);

		if (!(fields.class_enable & bit))
			continue;
		nic->pause.peer_until_ps[c] = now_ps + quanta_ps(nic, fields.quanta[c]);
		nic->pause.peer_xoff =
			fields.quanta[c] != 0 ? nic->pause.peer_xoff | bit : nic->pause.peer_xoff & (uint8_t)~bit;
	}
	send_changes(host, nic, before, now_ps);
}

static void
expire_quanta(struct kernel_host *host, struct kernel_host_nic *nic, const struct window *window)
{
	uint8_t before = kernel_host_pauses(host, nic);

	for (uint8_t c = 1; c < PFC_CLASSES; c++)
		if ((nic->pause.peer_xoff >> c & 1) && nic->pause.peer_until_ps[c] <= window->start_ps)
			nic->pause.peer_xoff &= (uint8_t) ~(1u << c);
	send_changes(host, nic, before, window->start_ps);
}

void
kernel_host_pause_timers(struct kernel_host *host, struct kernel_host_nic *nic, const struct window *window)
{
	if (nic->pause.peer_xoff != 0)
		expire_quanta(host, nic, window);
	if (nic->pause.storm_ended != 0) {
		uint8_t resume = nic->pause.storm_ended & (uint8_t)~kernel_host_pauses(host, nic);

		nic->pause.storm_ended = 0;
		if (resume != 0)
			kernel_host_send_pause(host, nic, resume, false, window->start_ps);
	}
	/* Not faster than the wire takes them. */
	while (nic->pause.storm_mask != 0 && nic->pause.storm_ps < window->end_ps) {
		kernel_host_send_pause(host, nic, nic->pause.storm_mask, true, nic->pause.storm_ps);
		nic->pause.storm_ps = max_u64(nic->pause.storm_ps + nic->pause.storm_interval_ps, nic->from_host.free_ps);
	}
	if (nic->pfc && nic->pause.refresh_ps <= window->start_ps)
		send_pfc(host, nic, nic->pause.paused, window->start_ps);
}

uint64_t
kernel_host_pause_next_ps(const struct kernel_host_nic *nic)
{
	uint64_t next_ps = nic->pause.storm_mask != 0 ? nic->pause.storm_ps : TIME_NEVER;

	if (nic->pause.storm_ended != 0)
		return 0;
	for (uint8_t c = 1; nic->pause.peer_xoff != 0 && c < PFC_CLASSES; c++)
		if ((nic->pause.peer_xoff >> c & 1) && nic->pause.peer_until_ps[c] < next_ps)
			next_ps = nic->pause.peer_until_ps[c];
	return nic->pause.refresh_ps < next_ps ? nic->pause.refresh_ps : next_ps;
}

void
kernel_host_storm(struct node *node, uint16_t nic_index, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps)
{
	struct kernel_host_nic *nic = &kernel_host_of(node)->nics[nic_index];
	uint8_t bit = (uint8_t)(1u << prio);

	if (((nic->pause.storm_mask & bit) != 0) == on)
		return;
	if (!on) {
		nic->pause.storm_mask &= (uint8_t)~bit;
		nic->pause.storm_ended |= bit;
		return;
	}
	if (nic->pause.storm_mask == 0 || interval_ps < nic->pause.storm_interval_ps)
		nic->pause.storm_interval_ps = interval_ps;
	nic->pause.storm_ps = now_ps;
	nic->pause.storm_mask |= bit;
	nic->pause.storm_ended &= (uint8_t)~bit;
}

uint8_t
kernel_host_pausing(const struct node *node, uint16_t nic)
{
	const struct kernel_host *host = (const struct kernel_host *)node;

	return kernel_host_pauses(host, &host->nics[nic]);
}

void
kernel_host_link_changed(struct node *node, uint16_t nic, uint8_t held, uint64_t now_ps)
{
	kernel_host_hold(kernel_host_of(node), &kernel_host_of(node)->nics[nic], held, now_ps);
}
