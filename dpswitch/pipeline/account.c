/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stage 3: ingress accounting and PFC (IEEE 802.1Qbb).
 *
 * Most windows prove that no threshold can be crossed, and then charges and releases are sums. Otherwise arrivals and
 * departures are replayed in order of time (arrival before departure, then ingress), and every PAUSE and RESUME
 * leaves at the instant that asked for it.
 */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/minmax.h"
#include "common/units.h"
#include "dpswitch/pipeline/switch.h"
#include "topo/check.h"

int
account_init(struct account *account, const struct switch_config *config, uint16_t nports, uint32_t frames, struct err *err)
{
	size_t classes;
	int ret = switch_lossless_classes(config->pfc, &account->lossless, err);

	if (ret < 0)
		return ret;
	account->nports = nports;
	for (uint8_t prio = 0; prio < SWITCH_CLASSES; prio++)
		if (account_is_lossless(account, prio))
			account->first[prio] = nports * account->nclasses++;
	for (uint8_t prio = 0; prio < SWITCH_CLASSES; prio++)
		if (!account_is_lossless(account, prio))
			account->first[prio] = nports * account->nclasses;
	classes = (size_t)nports * (account->nclasses + 1);
	account->keys_cap = 2 * frames;
	account->ingress = calloc(classes, sizeof(*account->ingress));
	account->arrived_bytes = calloc(classes, sizeof(*account->arrived_bytes));
	account->left_bytes = calloc(classes, sizeof(*account->left_bytes));
	account->shorts = calloc(nports, sizeof(*account->shorts));
	account->keys = malloc(account->keys_cap * sizeof(*account->keys));
	account->keys_spare = malloc(account->keys_cap * sizeof(*account->keys_spare));
	account->key_runs = calloc((size_t)2 * nports, sizeof(*account->key_runs));
	if (account->ingress == NULL || account->shorts == NULL || account->arrived_bytes == NULL ||
	    account->left_bytes == NULL || account->keys == NULL || account->keys_spare == NULL ||
	    account->key_runs == NULL)
		return -ENOMEM;
	return 0;
}

void
account_fini(struct account *account)
{
	free(account->ingress);
	free(account->shorts);
	free(account->arrived_bytes);
	free(account->left_bytes);
	free(account->keys);
	free(account->keys_spare);
	free(account->key_runs);
}

/* The class of an ingress. */
static uint8_t
class_of(const struct account *account, uint32_t index)
{
	uint8_t prio = 0;

	while (account->first[prio] != index - index % account->nports)
		prio++;
	return prio;
}

/* An ingress is to pause or resume its peer. */
static void
decide(struct sw *sw, uint32_t index, bool xoff, uint64_t now_ps, const struct window *window)
{
	struct account *account = &sw->account;

	account->ingress[index].pausing = xoff;
	switch_own_pause(sw, (uint16_t)(index % account->nports), class_of(account, index), xoff, now_ps, window);
}

static void
overrun(struct sw *sw, uint32_t index, uint64_t excess_bytes)
{
	const struct pfc_ingress *in = &sw->account.ingress[index];
	uint16_t in_port = (uint16_t)(index % sw->account.nports);

	/* There the pool has shrunk within the window, below the limit of admission. */
	if (sw->node.status == NODE_NO_BUFFER || sw->account.shorts[in_port].on)
		return;
	sw->node.status = NODE_NO_BUFFER;
	snprintf(sw->node.error, sizeof(sw->node.error),
		 "%s:%u: a lossless class overran its headroom of %llu B by %llu B: it needs at least %llu B",
		 sw->node.topo->nodes[sw->node.id].name, in_port + 1u, (unsigned long long)in->headroom_limit_bytes,
		 (unsigned long long)excess_bytes, (unsigned long long)(in->headroom_limit_bytes + excess_bytes));
}

/* Adds the window's arrivals to the departures that were handed over, a run an ingress. */
static void
gather(struct sw *sw, const struct window *window)
{
	struct account *account = &sw->account;

	for (uint16_t i = 0; i < sw->node.nports; i++) {
		struct pkt *pkts;
		uint32_t count = link_arrivals(sw->node.rx[i], window->end_ps, &pkts);

		for (uint32_t k = 0; k < count; k++)
			if (account_is_lossless(account, pkts[k].prio) && pkts[k].in_port == i)
				account->keys[account->nkeys++] = account_key(pkts[k].time_ps - window->start_ps, false,
									      (uint8_t)i, pkts[k].prio, pkts[k].wire_bytes);
		account_end_run(account);
	}
	assert(account->nkeys <= account->keys_cap);
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

/* Sorts the runs into one, pair by pair. */
static void
merge_runs(struct account *account)
{
	uint32_t *ends = account->key_runs, runs = account->nruns;

	while (runs > 1) {
		uint64_t *swap = account->keys;
		uint32_t from = 0, merged = 0;

		for (uint32_t r = 0; r < runs; r += 2) {
			uint32_t mid = ends[r], to = r + 1 < runs ? ends[r + 1] : mid;

			merge_two(account->keys + from, account->keys + mid, account->keys + mid, account->keys + to,
				  account->keys_spare + from);
			ends[merged++] = to;
			from = to;
		}
		account->keys = account->keys_spare;
		account->keys_spare = swap;
		runs = merged;
	}
}

/* Replays the window in order. */
static void
replay(struct sw *sw, const struct window *window)
{
	struct account *account = &sw->account;

	gather(sw, window);
	merge_runs(account);
	for (uint32_t k = 0; k < account->nkeys; k++) {
		uint64_t key = account->keys[k];
		uint64_t now_ps = window->start_ps + (key >> ACCOUNT_TIME_SHIFT);
		uint32_t index = account_index(account, key >> 19 & 0x7f, key >> 16 & 7);
		struct pfc_ingress *in = &account->ingress[index];
		uint32_t bytes = key & 0xffff;

		if (key >> 26 & 1) {
			pfc_release(&account->pfc, &account->pool, in, bytes);
			if (in->pausing && pfc_should_resume(&account->pfc, &account->pool, in))
				decide(sw, index, false, now_ps, window);
		} else {
			uint64_t excess = pfc_charge(&account->pfc, &account->pool, in, bytes);

			if (excess != 0)
				overrun(sw, index, excess);
			if (!in->pausing && pfc_should_pause(&account->pfc, &account->pool, in) &&
			    !account->shorts[index % account->nports].silent)
				decide(sw, index, true, now_ps, window);
		}
	}
}

/* @param idle  also check ingresses without arrivals or departures. @return true if sums are enough for this window */
static bool
is_quiet(const struct account *account, uint32_t count, bool idle)
{
	uint64_t arrived_bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		arrived_bytes += account->arrived_bytes[i];
	for (uint32_t i = 0; i < count; i++) {
		const struct pfc_ingress *in = &account->ingress[i];

		if (!idle && account->arrived_bytes[i] == 0 && account->left_bytes[i] == 0)
			continue;
		if (!pfc_cannot_cross(&account->pfc, &account->pool, in, account->arrived_bytes[i], arrived_bytes))
			return false;
	}
	return true;
}

static void
add_up(struct account *account, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct pfc_ingress *in = &account->ingress[i];

		account->pool.shared_bytes -= pfc_shared_used(&account->pfc, in);
		in->bytes += account->arrived_bytes[i] - account->left_bytes[i];
		account->pool.shared_bytes += pfc_shared_used(&account->pfc, in);
	}
}

/* Changes between windows: a storm is over, or a link that went down gave buffer back. */
static void
recheck(struct sw *sw, const struct window *window)
{
	struct account *account = &sw->account;

	account->recheck = false;
	switch_storms_ended(sw, window);
	for (uint32_t port = 0; port < account->nports; port++)
		for (uint32_t i = port; i < account->nports * account->nclasses; i += account->nports)
			if (account->ingress[i].pausing &&
			    pfc_should_resume(&account->pfc, &account->pool, &account->ingress[i]))
				decide(sw, i, false, window->start_ps, window);
}

void
account_end_mixed_run(struct account *account)
{
	uint32_t from = account->nruns != 0 ? account->key_runs[account->nruns - 1] : 0;

	/* By insertion: an egress is ahead of another by a frame or two. */
	for (uint32_t i = from + 1; i < account->nkeys; i++) {
		uint64_t key = account->keys[i];
		uint32_t at = i;

		for (; at > from && account->keys[at - 1] > key; at--)
			account->keys[at] = account->keys[at - 1];
		account->keys[at] = key;
	}
	account_end_run(account);
}

void
account_open(struct account *account)
{
	account->quiet = is_quiet(account, account->nports * account->nclasses, true);
}

void
switch_account(struct sw *sw, const struct window *window)
{
	struct account *account = &sw->account;
	uint32_t count = account->nports * account->nclasses;

	if (__builtin_expect(account->recheck, 0))
		recheck(sw, window);
	sw->node.count.windows++;
	if (account->quiet || is_quiet(account, count, false)) {
		sw->node.count.fast_windows++;
		add_up(account, count);
	} else {
		replay(sw, window);
	}
	memset(account->arrived_bytes, 0, count * sizeof(*account->arrived_bytes));
	memset(account->left_bytes, 0, count * sizeof(*account->left_bytes));
	account->nkeys = account->nruns = 0;
}

bool
account_admits(const struct account *account, uint16_t in_port, const struct pkt *p)
{
	const struct account_short *how = &account->shorts[in_port];
	uint32_t index = account_index(account, in_port, p->prio);
	const struct pfc_ingress *in = &account->ingress[index];

	if (!how->on || !account_is_lossless(account, p->prio))
		return true;
	return in->bytes + in->headroom_bytes + account->arrived_bytes[index] + p->wire_bytes <=
	       account->pfc.reserve_bytes + pfc_threshold(&account->pfc, account->pool.shared_bytes) + how->headroom_bytes;
}

void
switch_misconfigure(struct sw *sw, uint16_t port, const struct account_short *how)
{
	struct account *account = &sw->account;

	account->nshorts += (uint32_t)(how != NULL) - (uint32_t)account->shorts[port].on;
	account->shorts[port] = how != NULL ? *how : (struct account_short){ 0 };
	account->shorts[port].on = how != NULL;
}

void
account_lose(struct account *account, const struct pkt *p)
{
	if (account_is_lossless(account, p->prio))
		pfc_release(&account->pfc, &account->pool, &account->ingress[account_index(account, p->in_port, p->prio)],
			    p->wire_bytes);
}

struct account_state
account_state_of(const struct account *account, uint16_t port, uint8_t prio)
{
	const struct pfc_ingress *in = &account->ingress[account_index(account, port, prio)];

	return (struct account_state){
		.bytes = in->bytes + in->headroom_bytes,
		.xoff_bytes = account->pfc.reserve_bytes + pfc_threshold(&account->pfc, account->pool.shared_bytes),
		.pausing = in->pausing,
	};
}

/* How large a switch's buffer is, and what of it is headroom, reserve and pool. */

#define ALPHA_SHIFT 10
/*
 * Sized by default, the pool holds of every link the larger of the two, and one ingress alone may use as much of its
 * own.
 */
#define POOL_WINDOWS 4
#define POOL_FRAMES 8 /* the largest ones: more than the windows of a slow link */

/* Rate x time in bytes. */
static uint64_t
bytes_in(uint64_t rate_bps, uint64_t time_ps)
{
	return (uint64_t)((unsigned __int128)rate_bps * time_ps / 8 / PS_PER_S);
}

/* The rate at which a cable's frames really follow each other: a quantum floors their times. */
static uint64_t
fastest_bps(const struct switch_config *config, const struct topo_port *cable, const uint32_t *ser_ps)
{
	uint64_t fastest = cable->rate_bps;

	for (uint32_t bytes = config->min_frame_bytes; config->sertables->quantum_ps != 0 && bytes <= config->mtu_bytes;
	     bytes++) {
		uint64_t bps = (uint64_t)((unsigned __int128)bytes * 8 * PS_PER_S / ser_ps[bytes]);

		fastest = bps > fastest ? bps : fastest;
	}
	return fastest;
}

/*
 * What arrives more where use varies around the threshold (annex O has one PAUSE alone): the PAUSE waits behind earlier
 * ones and their RESUMEs, which wait for the same frame. Each of them takes a frame that arrives meanwhile. And a peer
 * that a RESUME lets go begins one more frame before the PAUSE behind it is there.
 */
static uint64_t
repeated_pauses_bytes(const struct switch_config *config)
{
	return config->mtu_bytes + 2ULL * (config->mtu_bytes / config->min_frame_bytes + 1) * config->pause_bytes;
}

uint64_t
account_headroom_needed(const struct sw *sw, uint16_t port)
{
	const struct switch_config *config = sw->config;
	const struct topo_port *cable = topo_port_of(config->topo, sw->node.id, port);
	uint64_t needed =
		topo_headroom_bytes(cable, fastest_bps(config, cable, sw->ports[port].egress.ser_ps), config->pipeline_ps,
				    config->mtu_bytes, sw->account.nclasses * config->pause_bytes);

	/* Longer in both directions: the PAUSE's, and that of the frames sent until it arrives. */
	return needed + bytes_in(cable->rate_bps, 2 * config->extra_delay_ps);
}

/* Room behind the threshold of one ingress. @return 0 or -EINVAL: the configured room is short for the cable */
static int
setup_headroom(struct sw *sw, uint16_t index, uint64_t *headroom_bytes, struct err *err)
{
	const struct switch_config *config = sw->config;
	struct account *a = &sw->account;
	const struct topo_port *cable = topo_port_of(config->topo, sw->node.id, index);
	uint64_t needed = account_headroom_needed(sw, index);
	uint64_t usual;
	int ret = switch_headroom_row(config->pfc, cable, &usual, err);

	if (ret < 0)
		return ret;
	if (usual == 0)
		usual = bytes_in(cable->rate_bps, 3 * cable->delay_ps);
	*headroom_bytes = max_u64(usual, needed + repeated_pauses_bytes(config));
	if (config->pfc->headroom_bytes != 0)
		*headroom_bytes = config->pfc->headroom_bytes;
	for (uint32_t i = index; i < a->nports * a->nclasses; i += a->nports)
		a->ingress[i].headroom_limit_bytes = *headroom_bytes;
	if (a->nclasses == 0)
		return 0;
	return topo_check_headroom(config->topo, (uint32_t)(cable - config->topo->ports), *headroom_bytes, needed,
				   &config->pfc->where, err);
}

int
account_size(struct sw *sw, struct err *err)
{
	const struct switch_config *config = sw->config;
	struct account *a = &sw->account;
	const struct switch_pfc_params *pfc = config->pfc;
	uint64_t headroom = 0, reserves = (uint64_t)sw->node.nports * a->nclasses * pfc->reserve_bytes;
	uint64_t pool = 0, alone = 0, buffer;

	for (uint16_t i = 0; i < sw->node.nports; i++) {
		const struct topo_port *cable = topo_port_of(config->topo, sw->node.id, i);
		uint64_t windows = POOL_WINDOWS * bytes_in(cable->rate_bps, config->window_ps);
		uint64_t frames = (uint64_t)POOL_FRAMES * config->mtu_bytes, limit;
		int ret = setup_headroom(sw, i, &limit, err);

		if (ret < 0)
			return ret;
		headroom += limit * a->nclasses;
		windows = windows > frames ? windows : frames;
		pool += windows;
		alone = windows > alone ? windows : alone;
	}
	buffer = config->params->buffer_bytes;
	if (pfc->model == PFC_DYNAMIC && pool < (uint64_t)((double)alone / pfc->alpha))
		pool = (uint64_t)((double)alone / pfc->alpha);
	if (buffer == 0)
		buffer = headroom + reserves + pool;
	if (buffer <= headroom + reserves && a->nclasses != 0)
		return err_set(err, -EINVAL,
			       "%s:%d: switch.buffer = %llu leaves no pool for %s: headroom takes %llu and reserves %llu; "
			       "needs more than %llu",
			       config->params->where.file, config->params->where.line, (unsigned long long)buffer,
			       config->topo->nodes[sw->node.id].name, (unsigned long long)headroom,
			       (unsigned long long)reserves, (unsigned long long)(headroom + reserves));
	a->buffer_bytes = buffer;
	a->pfc = (struct pfc_params){
		.model = (enum pfc_model)pfc->model,
		.alpha_num = (uint32_t)lround(pfc->alpha * (1 << ALPHA_SHIFT)),
		.alpha_shift = ALPHA_SHIFT,
		.pool_bytes = buffer > headroom + reserves ? buffer - headroom - reserves : 0,
		.reserve_bytes = pfc->reserve_bytes,
		.xoff_bytes = pfc->xoff_bytes,
		.xon_offset_bytes = pfc->xon_offset_bytes,
	};
	if (a->nclasses != 0 && pfc_threshold(&a->pfc, 0) <= config->mtu_bytes)
		return err_set(err, -EINVAL,
			       "%s:%d: switch %s: the XOFF threshold of %llu B does not exceed one frame of %u B: give "
			       "switch.pfc.alpha, xoff or switch.buffer so that it does",
			       pfc->where.file, pfc->where.line, config->topo->nodes[sw->node.id].name,
			       (unsigned long long)pfc_threshold(&a->pfc, 0), config->mtu_bytes);
	return 0;
}

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
