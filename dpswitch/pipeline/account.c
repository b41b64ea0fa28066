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
#include "common/log.h"
#include "common/minmax.h"
#include "common/units.h"
#include "dpswitch/pipeline/settings.h"
#include "dpswitch/pipeline/switch.h"
#include "topo/build.h"

static const struct switch_settings *
settings_at(const struct switch_config *config, uint32_t node, uint16_t port)
{
	return switch_settings_at(config->setup, config->topo, config->topo->nodes[node].first_port + port);
}

int
account_init(struct account *account, const struct switch_config *config, uint32_t node, struct err *err)
{
	uint16_t nports = config->topo->nodes[node].nports;
	size_t classes;

	for (uint16_t port = 0; port < nports; port++) {
		uint8_t lossless;
		int ret = switch_lossless_classes(&settings_at(config, node, port)->pfc, &lossless, err);

		if (ret < 0)
			return ret;
		account->lossless |= lossless;
	}
	account->nports = nports;
	account->charged = account->lossless;
	if (pools_create(config, node, &account->pools) < 0)
		return -ENOMEM;
	if (account->pools != NULL)
		account->charged |= pools_groups(config, node);
	for (uint8_t prio = 0; prio < SWITCH_CLASSES; prio++)
		if (account_is_charged(account, prio))
			account->first[prio] = nports * account->nclasses++;
	for (uint8_t prio = 0; prio < SWITCH_CLASSES; prio++)
		if (!account_is_charged(account, prio))
			account->first[prio] = nports * account->nclasses;
	classes = (size_t)nports * (account->nclasses + 1);
	account->ingress = calloc(classes, sizeof(*account->ingress));
	account->peaks = calloc(classes, sizeof(*account->peaks));
	account->arrived_bytes = calloc(2 * classes, sizeof(*account->arrived_bytes));
	account->left_bytes = account->arrived_bytes + classes; /* behind: they are cleared together */
	account->params = calloc(classes + 1, sizeof(*account->params));
	account->shorts = calloc(nports, sizeof(*account->shorts));
	account->key_runs = calloc((size_t)2 * nports, sizeof(*account->key_runs));
	if (account->ingress == NULL || account->peaks == NULL || account->params == NULL || account->shorts == NULL ||
	    account->arrived_bytes == NULL || account->key_runs == NULL)
		return -ENOMEM;
	return 0;
}

void
account_fini(struct account *account)
{
	free(account->ingress);
	free(account->params);
	free(account->peaks);
	free(account->shorts);
	free(account->arrived_bytes);
	free(account->keys);
	free(account->keys_spare);
	free(account->key_runs);
	pools_destroy(account->pools);
}

#define FIRST_KEYS 1024u

void
account_reserve(struct account *account, uint32_t keys)
{
	uint32_t cap = account->keys_cap != 0 ? account->keys_cap : FIRST_KEYS;

	if (keys <= account->keys_cap)
		return;
	while (cap < keys)
		cap *= 2;
	free(account->keys);
	free(account->keys_spare);
	account->keys = malloc(cap * sizeof(*account->keys));
	account->keys_spare = malloc(cap * sizeof(*account->keys_spare));
	if (account->keys == NULL || account->keys_spare == NULL)
		log_fatal("out of memory for %u arrivals and departures of a switch", cap);
	account->keys_cap = cap;
}

static struct pfc_pool *
pool_of(struct account *account, const struct pfc_params *params)
{
	return account->pools != NULL ? &account->pools->ingress[params->pool] : &account->pool;
}

static uint64_t
threshold_of(const struct account *account, const struct pfc_params *params)
{
	return pfc_threshold(params, account->pools != NULL ? account->pools->ingress[params->pool].shared_bytes
							    : account->pool.shared_bytes);
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
	if (sw->node.status == NODE_NO_BUFFER || (sw->account.shorts[in_port].classes >> class_of(&sw->account, index) & 1))
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
			if (account_is_charged(account, pkts[k].prio) && pkts[k].in_port == i)
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

static inline void
note_peak(struct account_peak *peak, const struct pfc_ingress *in)
{
	peak->bytes = max_u64(peak->bytes, in->bytes);
	peak->headroom_bytes = max_u64(peak->headroom_bytes, in->headroom_bytes);
}

/* Sums up the state of all ingresses for account_open(). */
static void
note_state(struct account *account)
{
	account->held_bytes = 0;
	account->pausing = false;
	for (uint32_t i = 0; i < account->nports * account->nclasses; i++) {
		const struct pfc_ingress *in = &account->ingress[i];

		account->held_bytes += in->bytes + in->headroom_bytes;
		account->pausing |= in->pausing || in->headroom_bytes != 0;
	}
}

static inline uint64_t
key_ps(const struct window *window, uint64_t key)
{
	return window->start_ps + (key >> ACCOUNT_TIME_SHIFT);
}

/*
 * The following functions are compiled twice: for a switch with one pool and the same parameters everywhere, whose
 * copies are then in registers, and for any other.
 */
struct account_only {
	struct pfc_params params;
	struct pfc_pool pool;
	bool one_class; /* no other is charged */
};

/* @param only  a constant: of its caller, or NULL */
static inline __attribute__((always_inline)) const struct pfc_params *
params_for(const struct account *account, const struct pfc_ingress *in, const struct account_only *only)
{
	return only != NULL ? &only->params : account_params(account, in);
}

static inline __attribute__((always_inline)) struct pfc_pool *
pool_for(struct account *account, const struct pfc_params *params, struct account_only *only)
{
	return only != NULL ? &only->pool : pool_of(account, params);
}

static inline bool
has_one_pool(const struct account *account)
{
	return account->nparams == 1 && account->pools == NULL;
}

/* The ingress of a key: of the only class it is the port. */
static inline __attribute__((always_inline)) uint32_t
index_for(const struct account *account, uint64_t key, const struct account_only *only)
{
	return only != NULL && only->one_class ? account_key_port(key)
					       : account_index(account, account_key_port(key), account_key_prio(key));
}

/* Headroom that an ingress now has more, or less, is its pool's. @return bytes by which shared headroom is overrun */
static uint64_t
share_headroom(struct account *account, const struct pfc_params *params, const struct pfc_ingress *in, uint64_t before)
{
	struct pool_headroom *headroom = &account->pools->headroom[params->pool];

	headroom->bytes += in->headroom_bytes - before;
	headroom->peak_bytes = max_u64(headroom->peak_bytes, headroom->bytes);
	return headroom->limit_bytes != 0 && headroom->bytes > headroom->limit_bytes
		       ? headroom->bytes - headroom->limit_bytes
		       : 0;
}

/* A frame arrives at an ingress, in a window that is replayed. */
static inline __attribute__((always_inline)) void
charge(struct sw *sw, const struct window *window, uint64_t key, struct account_only *only)
{
	struct account *account = &sw->account;
	uint32_t index = index_for(account, key, only);
	struct pfc_ingress *in = &account->ingress[index];
	const struct pfc_params *params = params_for(account, in, only);
	struct pfc_pool *pool = pool_for(account, params, only);
	uint64_t before = in->headroom_bytes;
	uint64_t excess = pfc_charge(params, pool, in, account_key_bytes(key));

	if (only == NULL && account->pools != NULL)
		excess = max_u64(excess, share_headroom(account, params, in, before));
	note_peak(&account->peaks[index], in);
	if (__builtin_expect(excess != 0, 0))
		overrun(sw, index, excess);
	if (!in->pausing && pfc_should_pause(params, pool, in) &&
	    !(account->shorts[account_key_port(key)].silent >> account_key_prio(key) & 1))
		decide(sw, index, true, key_ps(window, key), window);
}

/* A frame that was charged to an ingress leaves. */
static inline __attribute__((always_inline)) void
release(struct sw *sw, const struct window *window, uint64_t key, struct account_only *only)
{
	struct account *account = &sw->account;
	uint32_t index = index_for(account, key, only);
	struct pfc_ingress *in = &account->ingress[index];
	const struct pfc_params *params = params_for(account, in, only);
	struct pfc_pool *pool = pool_for(account, params, only);
	uint64_t before = in->headroom_bytes;

	pfc_release(params, pool, in, account_key_bytes(key));
	if (only == NULL && account->pools != NULL)
		share_headroom(account, params, in, before);
	if (in->pausing && pfc_should_resume(params, pool, in))
		decide(sw, index, false, key_ps(window, key), window);
}

/* Replays the window in order. */
static inline __attribute__((always_inline)) void
replay(struct sw *sw, const struct window *window, struct account_only *only)
{
	struct account *account = &sw->account;

	gather(sw, window);
	merge_runs(account);
	for (const uint64_t *key = account->keys, *end = key + account->nkeys; key != end; key++)
		if (account_key_departs(*key))
			release(sw, window, *key, only);
		else
			charge(sw, window, *key, only);
	note_state(account);
}

/*
 * Proves for one ingress after another that sums are enough for this window.
 * @param from  those before are proven
 * @param idle  also check ingresses without arrivals or departures
 * @return the first that may cross a threshold; the number of ingresses: none
 */
static inline __attribute__((always_inline)) uint32_t
prove(struct account *account, uint32_t from, bool idle, struct account_only *only)
{
	uint32_t count = account->nports * account->nclasses, i = from;

	for (; i < count; i++) {
		const struct pfc_ingress *in = &account->ingress[i];
		const struct pfc_params *params = params_for(account, in, only);

		if (!idle && account->arrived_bytes[i] == 0 && account->left_bytes[i] == 0)
			continue;
		if (!pfc_cannot_cross(params, pool_for(account, params, only), in, account->arrived_bytes[i],
				      account->arriving_bytes))
			break;
	}
	return i;
}

static inline __attribute__((always_inline)) void
add_up(struct account *account, uint32_t count, struct account_only *only)
{
	for (uint32_t i = 0; i < count; i++) {
		struct pfc_ingress *in = &account->ingress[i];
		const struct pfc_params *params = params_for(account, in, only);
		struct pfc_pool *pool = pool_for(account, params, only);

		if (account->arrived_bytes[i] == account->left_bytes[i])
			continue;
		account->held_bytes += account->arrived_bytes[i] - account->left_bytes[i];
		pool->shared_bytes -= pfc_shared_used(params, in);
		in->bytes += account->arrived_bytes[i] - account->left_bytes[i];
		pool->shared_bytes += pfc_shared_used(params, in);
		account->peaks[i].bytes = max_u64(account->peaks[i].bytes, in->bytes);
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
		for (uint32_t i = port; i < account->nports * account->nclasses; i += account->nports) {
			const struct pfc_ingress *in = &account->ingress[i];
			const struct pfc_params *params = account_params(account, in);

			if (in->pausing && pfc_should_resume(params, pool_of(account, params), in))
				decide(sw, i, false, window->start_ps, window);
		}
	note_state(account);
}

void
account_end_mixed_run(struct account *account)
{
	uint32_t from = account->nruns != 0 ? account->key_runs[account->nruns - 1] : 0;

	/* Insertion sort: an egress is ahead of another by a frame or two. */
	for (uint32_t i = from + 1; i < account->nkeys; i++) {
		uint64_t key = account->keys[i];
		uint32_t at = i;

		for (; at > from && account->keys[at - 1] > key; at--)
			account->keys[at] = account->keys[at - 1];
		account->keys[at] = key;
	}
	account_end_run(account);
}

/*
 * Proves that no ingress can cross a threshold: not even one that held all bytes in the switch, and received all
 * arrivals, would.
 */
static bool
none_can_cross(const struct account *account, uint64_t most_bytes)
{
	struct pfc_ingress all = { .bytes = account->held_bytes, .pausing = account->pausing };

	return !account->recheck && pfc_cannot_cross(account->params, &account->pool, &all, most_bytes, most_bytes);
}

void
account_open(struct account *account, uint64_t most_bytes)
{
	uint32_t count = account->nports * account->nclasses;

	account->quiet = has_one_pool(account) && none_can_cross(account, most_bytes);
	if (account->quiet)
		return;
	account->arriving_bytes = 0;
	for (uint32_t i = 0; i < count; i++)
		account->arriving_bytes += account->arrived_bytes[i];
	if (has_one_pool(account)) {
		struct account_only only = { .params = account->params[0], .pool = account->pool };

		account->proven = prove(account, 0, true, &only);
	} else {
		account->proven = prove(account, 0, true, NULL);
	}
	account->quiet = account->proven == count;
}

/* Charges and releases of a window: their sums, or one by one. */
static inline __attribute__((always_inline)) void
settle(struct sw *sw, const struct window *window, struct account_only *only)
{
	struct account *account = &sw->account;
	uint32_t count = account->nports * account->nclasses;

	if (account->quiet || prove(account, account->proven, false, only) == count) {
		sw->node.count.fast_windows++;
		add_up(account, count, only);
	} else {
		replay(sw, window, only);
	}
}

static __attribute__((noinline)) void
settle_any(struct sw *sw, const struct window *window)
{
	settle(sw, window, NULL);
	for (uint32_t i = 0; sw->account.pools != NULL && i < BUFFER_POOLS; i++)
		sw->account.pools->headroom[i].admitted = 0;
}

void
switch_account(struct sw *sw, const struct window *window)
{
	struct account *account = &sw->account;
	uint32_t count = account->nports * account->nclasses;

	if (__builtin_expect(account->recheck, 0))
		recheck(sw, window);
	sw->node.count.windows++;
	if (__builtin_expect(has_one_pool(account), 1)) {
		struct account_only only = { account->params[0], account->pool, account->nclasses <= 1 };

		settle(sw, window, &only);
		account->pool = only.pool;
	} else {
		settle_any(sw, window);
	}
	memset(account->arrived_bytes, 0,
	       (size_t)(account->left_bytes + count - account->arrived_bytes) * sizeof(*account->arrived_bytes));
	account->nkeys = account->nruns = 0;
}

bool
account_admits(struct account *account, uint16_t in_port, const struct pkt *p)
{
	const struct account_short *how = &account->shorts[in_port];
	uint32_t index = account_index(account, in_port, p->prio);
	const struct pfc_ingress *in = &account->ingress[index];
	const struct pfc_params *params = account_params(account, in);
	uint64_t after, xoff_bytes;

	if (!(how->classes >> p->prio & 1) || !account_is_charged(account, p->prio))
		return true;
	after = in->bytes + in->headroom_bytes + account->arrived_bytes[index] + p->wire_bytes;
	xoff_bytes = params->reserve_bytes + threshold_of(account, params);
	if (after > xoff_bytes + (how->has_planned ? in->headroom_limit_bytes : how->headroom_bytes))
		return false;
	return after <= xoff_bytes || account->pools == NULL ||
	       pool_headroom_take(&account->pools->headroom[params->pool], p->wire_bytes);
}

uint8_t
account_configured(const struct sw *sw, uint16_t port)
{
	struct err err = { "" };
	uint8_t lossless = 0;
	int ret = switch_lossless_classes(&settings_at(sw->config, sw->node.id, port)->pfc, &lossless, &err);

	assert(ret == 0 && "account_init() has read it");
	return lossless;
}

/* Lossless classes in which a port's peer may send on although it is paused: it has no PFC for them, or a watchdog. */
static uint8_t
ignored_classes(const struct sw *sw, uint16_t port, uint8_t lossless)
{
	const struct topo *topo = sw->config->topo;
	const struct topo_port *cable = topo_port_of(topo, sw->node.id, port);
	const struct switch_settings *peer = switch_settings_at(sw->config->setup, topo, cable->peer_port);
	struct err err = { "" };
	uint8_t obeyed = SWITCH_DATA_CLASSES;

	if (topo->nodes[cable->peer].kind != TOPO_SWITCH)
		return 0;
	if (peer->watchdog.enabled && peer->watchdog.action == REC_WATCHDOG_FORWARD)
		return lossless;
	if (!peer->pfc.enabled || !peer->pfc.asymmetric)
		switch_lossless_classes(&peer->pfc, &obeyed, &err);
	return lossless & (uint8_t)~obeyed;
}

void
switch_misconfigure(struct sw *sw, uint16_t port, const struct account_short *how)
{
	struct account *account = &sw->account;
	uint8_t lossless = account_configured(sw, port), lossy = account->charged & (uint8_t)~lossless;
	uint8_t ignored = ignored_classes(sw, port, lossless);
	struct account_short now = { .classes = lossy, .silent = lossy, .has_planned = account->pools != NULL };

	if (how != NULL) {
		now = *how;
		now.classes |= lossy;
		now.silent |= lossy;
	} else if (sw->class_of != NULL) { /* the peer may send in another class than the one that is paused */
		now.classes |= lossless;
		now.has_planned = true;
	} else if (account->pools != NULL) {
		now.classes |= account->pools->tight[port] | ignored;
	} else if (ignored != 0) {
		now.classes |= ignored;
		now.headroom_bytes = account->ingress[account_index(account, port, (uint8_t)__builtin_ctz(lossless))]
					     .headroom_limit_bytes;
	}
	sw->guards += (uint32_t)(now.classes != 0) - (uint32_t)(account->shorts[port].classes != 0);
	account->shorts[port] = now;
}

void
account_lose(struct account *account, const struct pkt *p)
{
	struct pfc_ingress *in = &account->ingress[account_index(account, p->in_port, p->prio)];
	const struct pfc_params *params;
	uint64_t before;

	if (!account_is_charged(account, p->prio))
		return;
	params = account_params(account, in);
	before = in->headroom_bytes;
	pfc_release(params, pool_of(account, params), in, p->wire_bytes);
	if (account->pools != NULL)
		share_headroom(account, params, in, before);
	account->recheck = true; /* also what all ingresses hold */
}

struct account_state
account_state_of(const struct account *account, uint16_t port, uint8_t prio)
{
	const struct pfc_ingress *in = &account->ingress[account_index(account, port, prio)];
	const struct pfc_params *params = account_params(account, in);

	return (struct account_state){
		.bytes = in->bytes + in->headroom_bytes,
		.xoff_bytes = params->reserve_bytes + threshold_of(account, params),
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
 * Headroom for use that varies around the threshold (annex O considers a single PAUSE). The PAUSE waits behind earlier
 * ones and their RESUMEs, which wait for the same frame; during each of them, one more frame arrives. Also, a peer that
 * a RESUME releases begins one more frame before the PAUSE behind it arrives.
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

	return topo_headroom_bytes(cable, fastest_bps(config, cable, sw->ports[port].egress.ser_ps), config->pipeline_ps,
				   config->mtu_bytes, sw->account.nclasses * config->pause_bytes);
}

/*
 * Room behind the threshold of an ingress's classes: what is configured, or else what is usual for such a cable and at
 * least what it needs; where the buffer is too small for what is usual, what it needs. @param least_bytes  raised to what
 * the cable needs of one class
 * @return 0 or -EINVAL: the configured room is short for the cable
 */
static int
setup_headroom(struct sw *sw, uint16_t port, uint8_t lossless, uint64_t *headroom_bytes, uint64_t *least_bytes,
	       struct err *err)
{
	const struct switch_config *config = sw->config;
	const struct switch_pfc_params *pfc = &settings_at(config, sw->node.id, port)->pfc;
	struct account *a = &sw->account;
	const struct topo_port *cable = topo_port_of(config->topo, sw->node.id, port);
	/* A fault's delay is in both directions: the PAUSE's, and that of the frames sent until it arrives. */
	uint64_t needed = account_headroom_needed(sw, port) + bytes_in(cable->rate_bps, 2 * config->extra_delay_ps);
	uint64_t usual, limit;

	switch_headroom_row(pfc, cable, &usual, NULL);
	if (usual == 0)
		usual = bytes_in(cable->rate_bps, 3 * cable->delay_ps);
	if (a->least_headroom)
		usual = 0;
	limit = max_u64(usual, needed + repeated_pauses_bytes(config));
	*least_bytes = max_u64(*least_bytes, needed + repeated_pauses_bytes(config));
	if (pfc->headroom_bytes != 0)
		limit = pfc->headroom_bytes;
	for (uint8_t prio = 0; prio < SWITCH_CLASSES; prio++)
		if (lossless >> prio & 1)
			a->ingress[account_index(a, port, prio)].headroom_limit_bytes = limit;
	*headroom_bytes = limit * (uint32_t)__builtin_popcount(lossless);
	if (lossless == 0)
		return 0;
	return topo_check_headroom(config->topo, (uint32_t)(cable - config->topo->ports), limit, needed, &pfc->where, err);
}

/* Bytes of a buffer that the ports need. */
struct buffer_parts {
	uint64_t headroom_bytes, reserve_bytes;
	uint64_t pool_bytes;  /* by default */
	uint64_t least_bytes; /* of headroom, of a class at the port whose cable needs most */
};

static int
measure_parts(struct sw *sw, struct buffer_parts *parts, struct err *err)
{
	const struct switch_config *config = sw->config;
	uint64_t alone = 0;
	double alpha = 0; /* the least of dynamic thresholds */

	for (uint16_t i = 0; i < sw->node.nports; i++) {
		const struct topo_port *cable = topo_port_of(config->topo, sw->node.id, i);
		const struct switch_pfc_params *pfc = &settings_at(config, sw->node.id, i)->pfc;
		uint64_t windows = POOL_WINDOWS * bytes_in(cable->rate_bps, config->window_ps), headroom;
		uint64_t frames = (uint64_t)POOL_FRAMES * config->mtu_bytes;
		int ret = setup_headroom(sw, i, account_configured(sw, i), &headroom, &parts->least_bytes, err);

		if (ret < 0)
			return ret;
		parts->headroom_bytes += headroom;
		parts->reserve_bytes += pfc->reserve_bytes * sw->account.nclasses;
		windows = windows > frames ? windows : frames;
		parts->pool_bytes += windows;
		alone = windows > alone ? windows : alone;
		if (pfc->model == PFC_DYNAMIC && (alpha == 0 || pfc->alpha < alpha))
			alpha = pfc->alpha;
	}
	if (alpha != 0 && parts->pool_bytes < (uint64_t)((double)alone / alpha))
		parts->pool_bytes = (uint64_t)((double)alone / alpha);
	return 0;
}

uint16_t
account_put_params(struct account *a, const struct pfc_params *params)
{
	uint32_t i = 0;

	while (i < a->nparams && memcmp(&a->params[i], params, sizeof(*params)) != 0)
		i++;
	a->params[i] = *params;
	a->nparams += i == a->nparams;
	return (uint16_t)i;
}

/* How the classes of one ingress share the pool. */
static int
setup_params(struct sw *sw, uint16_t port, uint64_t pool_bytes, struct err *err)
{
	const struct switch_config *config = sw->config;
	const struct switch_pfc_params *pfc = &settings_at(config, sw->node.id, port)->pfc;
	struct account *a = &sw->account;
	struct pfc_params params;
	uint16_t number;

	memset(&params, 0, sizeof(params)); /* to be compared */
	params.model = (enum pfc_model)pfc->model;
	params.alpha_num = (uint32_t)lround(pfc->alpha * (1 << ALPHA_SHIFT));
	params.alpha_shift = ALPHA_SHIFT;
	params.pool_bytes = pool_bytes;
	params.reserve_bytes = pfc->reserve_bytes;
	params.xoff_bytes = pfc->xoff_bytes;
	params.xon_offset_bytes = pfc->xon_offset_bytes;
	if (a->nclasses != 0 && pfc_threshold(&params, 0) <= config->mtu_bytes)
		return err_set(err, -EINVAL,
			       "%s:%d: switch %s: the XOFF threshold of %llu B does not exceed one frame of %u B: give "
			       "switch.pfc.alpha, xoff or switch.buffer so that it does",
			       pfc->where.file, pfc->where.line, config->topo->nodes[sw->node.id].name,
			       (unsigned long long)pfc_threshold(&params, 0), config->mtu_bytes);
	number = account_put_params(a, &params);
	for (uint32_t i = port; i < a->nports * a->nclasses; i += a->nports)
		a->ingress[i].params = number;
	switch_misconfigure(sw, port, NULL);
	return 0;
}

int
account_size(struct sw *sw, struct err *err)
{
	const struct switch_config *config = sw->config;
	const struct switch_params *params = &switch_settings_of(config->setup, sw->node.id)->params;
	struct account *a = &sw->account;
	struct buffer_parts parts = { 0 };
	uint64_t buffer, fixed;
	char least[80] = "";
	int ret;

	if (a->pools != NULL)
		return pools_size(sw, &a->buffer_bytes, err);
	ret = measure_parts(sw, &parts, err);
	if (ret < 0)
		return ret;
	fixed = parts.headroom_bytes + parts.reserve_bytes;
	buffer = params->buffer_bytes;
	if (buffer != 0 && buffer <= fixed && !params->is_chips && a->nclasses != 0) {
		uint64_t usual = parts.headroom_bytes;

		parts = (struct buffer_parts){ 0 };
		a->least_headroom = true;
		ret = measure_parts(sw, &parts, err);
		if (ret < 0)
			return ret;
		a->least_headroom = parts.headroom_bytes < usual;
		fixed = parts.headroom_bytes + parts.reserve_bytes;
	}
	if (buffer == 0 || (params->is_chips && buffer <= fixed))
		buffer = fixed + parts.pool_bytes;
	if (!a->least_headroom)
		snprintf(least, sizeof(least), "; or switch.pfc.headroom = %llu, the least for its cables",
			 (unsigned long long)parts.least_bytes);
	if (buffer <= fixed && a->nclasses != 0)
		return cfg_fail(&params->where, "buffer", err,
				"%llu leaves no pool for %s: headroom takes %llu and reserves %llu; needs more than %llu%s",
				(unsigned long long)buffer, config->topo->nodes[sw->node.id].name,
				(unsigned long long)parts.headroom_bytes, (unsigned long long)parts.reserve_bytes,
				(unsigned long long)fixed, least);
	a->buffer_bytes = buffer;
	for (uint16_t i = 0; ret == 0 && i < sw->node.nports; i++)
		ret = setup_params(sw, i, buffer > fixed ? buffer - fixed : 0, err);
	return ret;
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
	/* The PAUSE takes wire time behind the frames that this window has sent already. */
	egress->free_ps = egress->free_ps > start_ps ? egress->free_ps + egress->tx->pause_ps : done_ps;
	link_send_pause(egress->tx, window->parity, prio_mask, xoff, done_ps);
	port->counts.touched |= prio_mask;
	if (xoff)
		telem_pause(&port->telem, prio_mask, TELEM_XOFF_SENT, now_ps);
	sw->node.digest = digest_u64(sw->node.digest, done_ps << 1 | xoff);
}

/* @param was  switch_pausing() before its own accounting, or a storm, changed */
static void
note_pausing(struct sw *sw, uint16_t port_index, uint8_t was, uint64_t now_ps)
{
	struct port_counts *counts = &sw->ports[port_index].counts;
	uint8_t is = switch_pausing(sw, port_index);

	pause_counts_change(counts->sent, was, is, now_ps);
	counts->touched |= was ^ is;
}

void
switch_own_pause(struct sw *sw, uint16_t port_index, uint8_t prio, bool xoff, uint64_t now_ps, const struct window *window)
{
	struct switch_port *port = &sw->ports[port_index];
	struct pause_sender *pause = &port->pause;
	uint8_t was = switch_pausing(sw, port_index);

	if (xoff && !(switch_pausing(sw, port_index) >> prio & 1))
		pause->since_ps[prio] = now_ps;
	if (((pause->own_xoff >> prio & 1) != 0) == xoff)
		sw->node.count.pause_errors++;
	pause->own_xoff = (uint8_t)((pause->own_xoff & ~(1u << prio)) | (unsigned)xoff << prio);
	note_pausing(sw, port_index, was, now_ps);
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
	uint8_t bit = (uint8_t)(1u << prio), was = switch_pausing(sw, port_index);

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
	note_pausing(sw, port_index, was, now_ps);
}
