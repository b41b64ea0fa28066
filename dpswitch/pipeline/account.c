/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stage 3: ingress accounting and PFC (IEEE 802.1Qbb).
 *
 * Most windows prove that no threshold can be crossed, and then charges and releases are sums. Otherwise arrivals and
 * departures are replayed in order of time (arrival before departure, then ingress), and every PAUSE and RESUME
 * leaves at the instant that asked for it.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "dpswitch/pipeline/switch.h"

#include "common/hash.h"

/*
 * One charge or release as a sortable key:
 *   time since the window's start [63:27] | departure [26] | ingress port [25:19] | class [18:16] | wire bytes [15:0]
 */
#define KEY_TIME_SHIFT 27
_Static_assert(WINDOW_MAX_PS < 1ULL << (64 - KEY_TIME_SHIFT), "a window's offsets fit a key");
_Static_assert(TOPO_MAX_PORTS <= 128 && SWITCH_CLASSES <= 8, "ports and classes fit a key");

static inline uint64_t
account_key(uint64_t offset_ps, bool departure, uint8_t in_port, uint8_t prio, uint16_t wire_bytes)
{
	return offset_ps << KEY_TIME_SHIFT | (uint64_t)departure << 26 | (uint64_t)in_port << 19 | (uint64_t)prio << 16 |
	       wire_bytes;
}

/* When a PAUSE that is wanted at now_ps can start: after the frame under way, before any that starts then. */
static uint64_t
pause_start_ps(const struct switch_port *port, uint64_t now_ps, const struct window *window)
{
	const struct link_lane *lane = &port->tx->lane[window->parity];
	uint64_t start_ps = now_ps > port->pause_done_ps ? now_ps : port->pause_done_ps;
	uint32_t lo = 0, hi = lane->npkts;

	if (port->window_free_ps > start_ps)
		start_ps = port->window_free_ps;
	/* first frame of this window whose last bit leaves after start_ps */
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (lane->pkts[mid].time_ps - port->tx->delay_ps > start_ps)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo < lane->npkts) {
		uint64_t done_ps = lane->pkts[lo].time_ps - port->tx->delay_ps;

		if (done_ps - port->ser_ps[lane->pkts[lo].wire_bytes] < start_ps)
			start_ps = done_ps;
	}
	return start_ps;
}

void
switch_send_pause(struct sw *sw, uint16_t port_index, uint8_t prio_mask, bool xoff, uint64_t now_ps,
		  const struct window *window)
{
	struct switch_port *port = &sw->ports[port_index];
	uint64_t start_ps = pause_start_ps(port, now_ps, window);
	uint64_t done_ps = start_ps + port->tx->pause_ps;

	port->pause_done_ps = done_ps;
	/* Its wire time: behind the frames that this window has sent already. */
	port->free_ps = port->free_ps > start_ps ? port->free_ps + port->tx->pause_ps : done_ps;
	link_send_pause(port->tx, window->parity, prio_mask, xoff, done_ps);
	if (xoff)
		telem_pause(&port->telem, TELEM_XOFF_SENT, now_ps);
	sw->node.digest = digest_u64(sw->node.digest, done_ps << 1 | xoff);
}

/* Our own accounting's decision for one class; a storm on the port swallows its RESUMEs. */
static void
own_pause(struct sw *sw, uint32_t index, bool xoff, uint64_t now_ps, const struct window *window)
{
	uint16_t in_port = (uint16_t)(index / sw->nclasses);
	struct switch_port *port = &sw->ports[in_port];
	uint8_t prio = 0;

	while (!switch_is_lossless(sw, prio) || sw->class_index[prio] != index % sw->nclasses)
		prio++;
	sw->ingress[index].pausing = xoff;
	if (xoff && switch_pausing(sw, in_port) == 0)
		port->pausing_since_ps = now_ps;
	if (((port->own_xoff >> prio & 1) != 0) == xoff)
		sw->node.count.pause_errors++;
	port->own_xoff = (uint8_t)((port->own_xoff & ~(1u << prio)) | (unsigned)xoff << prio);
	if (!xoff && (port->storm.prio_mask >> prio & 1))
		return;
	switch_send_pause(sw, in_port, (uint8_t)(1u << prio), xoff, now_ps, window);
}

static void
overrun(struct sw *sw, uint32_t index, uint64_t excess_bytes)
{
	const struct pfc_ingress *in = &sw->ingress[index];
	uint16_t in_port = (uint16_t)(index / sw->nclasses);

	if (sw->node.status == NODE_NO_BUFFER)
		return;
	sw->node.status = NODE_NO_BUFFER;
	snprintf(sw->node.error, sizeof(sw->node.error),
		 "%s:%u: a lossless class overran its headroom of %llu B by %llu B: it needs at least %llu B",
		 sw->node.topo->nodes[sw->node.id].name, in_port + 1u, (unsigned long long)in->headroom_limit_bytes,
		 (unsigned long long)excess_bytes, (unsigned long long)(in->headroom_limit_bytes + excess_bytes));
}

/* Gathers the keys of one window as sorted runs. @return number of runs; key_runs[r] is where run r ends */
static uint32_t
gather(struct sw *sw, const struct window *window)
{
	uint32_t n = 0, runs = 0;

	for (uint16_t i = 0; i < sw->node.nports; i++) {
		uint32_t from = n;
		struct pkt *pkts;
		uint32_t count = link_arrivals(sw->node.rx[i], window->end_ps, &pkts);

		for (uint32_t k = 0; k < count; k++)
			if (switch_is_lossless(sw, pkts[k].prio) && pkts[k].in_port == i)
				sw->keys[n++] = account_key(pkts[k].time_ps - window->start_ps, false, (uint8_t)i,
							    pkts[k].prio, pkts[k].wire_bytes);
		if (n != from)
			sw->key_runs[runs++] = n;
	}
	for (uint16_t e = 0; e < sw->node.nports; e++) {
		const struct switch_port *port = &sw->ports[e];
		const struct link_lane *lane = &port->tx->lane[window->parity];
		uint32_t from = n;

		for (uint32_t k = 0; k < lane->npkts; k++) {
			const struct pkt *p = &lane->pkts[k];
			uint64_t start_ps = p->time_ps - port->tx->delay_ps - port->ser_ps[p->wire_bytes];

			if (switch_is_lossless(sw, p->prio))
				sw->keys[n++] =
					account_key(start_ps - window->start_ps, true, p->in_port, p->prio, p->wire_bytes);
		}
		if (n != from)
			sw->key_runs[runs++] = n;
	}
	assert(n <= sw->keys_cap);
	return runs;
}

static void
merge_two(const uint64_t *a, const uint64_t *a_end, const uint64_t *b, const uint64_t *b_end, uint64_t *out)
{
	while (a < a_end && b < b_end) {
		bool take_a = *a <= *b;

		*out++ = take_a ? *a : *b;
		a += take_a;
		b += !take_a;
	}
	memcpy(out, a, (size_t)(a_end - a) * sizeof(*a));
	memcpy(out + (a_end - a), b, (size_t)(b_end - b) * sizeof(*b));
}

/* Sorts the runs into one, pair by pair. @return number of keys */
static uint32_t
merge_runs(struct sw *sw, uint32_t runs)
{
	uint32_t *ends = sw->key_runs;
	uint32_t total = runs != 0 ? ends[runs - 1] : 0;

	while (runs > 1) {
		uint64_t *swap = sw->keys;
		uint32_t from = 0, merged = 0;

		for (uint32_t r = 0; r < runs; r += 2) {
			uint32_t mid = ends[r], to = r + 1 < runs ? ends[r + 1] : mid;

			merge_two(sw->keys + from, sw->keys + mid, sw->keys + mid, sw->keys + to, sw->keys_spare + from);
			ends[merged++] = to;
			from = to;
		}
		sw->keys = sw->keys_spare;
		sw->keys_spare = swap;
		runs = merged;
	}
	return total;
}

/* Replays the window in order. */
static void
replay(struct sw *sw, const struct window *window)
{
	uint32_t count = merge_runs(sw, gather(sw, window));

	for (uint32_t k = 0; k < count; k++) {
		uint64_t key = sw->keys[k];
		uint64_t now_ps = window->start_ps + (key >> KEY_TIME_SHIFT);
		uint32_t index = switch_ingress_index(sw, key >> 19 & 0x7f, key >> 16 & 7);
		struct pfc_ingress *in = &sw->ingress[index];
		uint32_t bytes = key & 0xffff;

		if (key >> 26 & 1) {
			pfc_release(&sw->pfc, &sw->pool, in, bytes);
			if (in->pausing && pfc_should_resume(&sw->pfc, &sw->pool, in))
				own_pause(sw, index, false, now_ps, window);
		} else {
			uint64_t excess = pfc_charge(&sw->pfc, &sw->pool, in, bytes);

			if (excess != 0)
				overrun(sw, index, excess);
			if (!in->pausing && pfc_should_pause(&sw->pfc, &sw->pool, in))
				own_pause(sw, index, true, now_ps, window);
		}
	}
}

/* @return true if sums are enough for this window */
static bool
is_quiet(const struct sw *sw, uint32_t count, uint64_t arrived_bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct pfc_ingress *in = &sw->ingress[i];

		if (sw->arrived_bytes[i] == 0 && sw->left_bytes[i] == 0)
			continue;
		if (!pfc_cannot_cross(&sw->pfc, &sw->pool, in, sw->arrived_bytes[i], arrived_bytes))
			return false;
	}
	return true;
}

static void
add_up(struct sw *sw, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct pfc_ingress *in = &sw->ingress[i];

		sw->pool.shared_bytes -= pfc_shared_used(&sw->pfc, in);
		in->bytes += sw->arrived_bytes[i] - sw->left_bytes[i];
		sw->pool.shared_bytes += pfc_shared_used(&sw->pfc, in);
	}
}

/* What changed between windows: a storm is over, or a cut cable gave buffer back. */
static void
recheck(struct sw *sw, uint32_t count, const struct window *window)
{
	sw->recheck = false;
	for (uint16_t i = 0; i < sw->node.nports; i++) {
		if (sw->ports[i].storm_ended != 0)
			switch_send_pause(sw, i, sw->ports[i].storm_ended, false, window->start_ps, window);
		sw->ports[i].storm_ended = 0;
	}
	for (uint32_t i = 0; i < count; i++)
		if (sw->ingress[i].pausing && pfc_should_resume(&sw->pfc, &sw->pool, &sw->ingress[i]))
			own_pause(sw, i, false, window->start_ps, window);
}

void
switch_account(struct sw *sw, const struct window *window)
{
	uint32_t count = sw->node.nports * sw->nclasses;
	uint64_t arrived = 0;

	if (__builtin_expect(sw->recheck, 0))
		recheck(sw, count, window);
	for (uint32_t i = 0; i < count; i++)
		arrived += sw->arrived_bytes[i];
	sw->node.count.windows++;
	if (is_quiet(sw, count, arrived)) {
		sw->node.count.fast_windows++;
		add_up(sw, count);
	} else {
		replay(sw, window);
	}
	memset(sw->arrived_bytes, 0, count * sizeof(*sw->arrived_bytes));
	memset(sw->left_bytes, 0, count * sizeof(*sw->left_bytes));
}

void
switch_storm(struct sw *sw, const struct window *window)
{
	for (uint16_t i = 0; i < sw->node.nports; i++) {
		struct switch_storm *storm = &sw->ports[i].storm;

		while (storm->prio_mask != 0 && storm->next_ps < window->end_ps) {
			switch_send_pause(sw, i, storm->prio_mask, true, storm->next_ps, window);
			storm->next_ps += storm->interval_ps;
			/* Not faster than the wire takes them. */
			if (storm->next_ps < sw->ports[i].pause_done_ps)
				storm->next_ps = sw->ports[i].pause_done_ps;
		}
	}
}

void
switch_set_storm(struct sw *sw, uint16_t port_index, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps)
{
	struct switch_port *port = &sw->ports[port_index];
	struct switch_storm *storm = &port->storm;
	uint8_t bit = (uint8_t)(1u << prio);

	if (((storm->prio_mask & bit) != 0) == on)
		return;
	if (on && switch_pausing(sw, port_index) == 0)
		port->pausing_since_ps = now_ps;
	sw->storms -= storm->prio_mask != 0;
	if (on) {
		if (storm->prio_mask == 0 || interval_ps < storm->interval_ps)
			storm->interval_ps = interval_ps;
		storm->next_ps = now_ps;
		storm->prio_mask |= bit;
		port->storm_ended &= (uint8_t)~bit;
	} else {
		/* RESUME what our own accounting does not hold, with the next window's frames. */
		storm->prio_mask &= (uint8_t)~bit;
		port->storm_ended |= bit & (uint8_t)~port->own_xoff;
		sw->recheck = true;
	}
	sw->storms += storm->prio_mask != 0;
}

uint8_t
switch_pausing(const struct sw *sw, uint16_t port)
{
	return sw->ports[port].own_xoff | sw->ports[port].storm.prio_mask;
}
