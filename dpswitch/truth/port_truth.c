/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/truth/port_truth.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"

#define FIRST_SLOTS 8
#define FIRST_PAIRS 8

struct truth_pairs {
	struct flow_map at;             /* of two slots, in counts */
	struct flow_contention *counts; /* [cap] */
	uint32_t count, cap;
};

static void *
zeroed(size_t count, size_t elem_bytes)
{
	void *array = count != 0 ? calloc(count, elem_bytes) : NULL;

	if (array == NULL && count != 0)
		log_fatal("out of memory for the contentions of flows at a port");
	return array;
}

static void
free_slots(struct port_truth *truth)
{
	free(truth->last_window);
	free(truth->present);
	free(truth->kept);
	free(truth->held);
}

/* Moves what slots have into tables of another size, no smaller than those that were. */
static void
resize(struct port_truth *truth, uint32_t cap)
{
	struct port_truth old = *truth;

	truth->cap = cap;
	truth->last_window = zeroed(cap, sizeof(*truth->last_window));
	truth->present = zeroed(cap, sizeof(*truth->present));
	truth->kept = zeroed(cap, sizeof(*truth->kept));
	truth->held = zeroed(cap, sizeof(*truth->held));
	for (uint32_t i = 0; i < old.cap; i++) {
		truth->last_window[i] = old.last_window[i];
		truth->present[i] = old.present[i];
		truth->kept[i] = old.kept[i];
		truth->held[i] = old.held[i];
	}
	free_slots(&old);
}

void
port_truth_init(struct port_truth *truth, const struct port_flows *flows)
{
	*truth = (struct port_truth){ .flows = flows };
}

void
port_truth_reserve(struct port_truth *truth, uint32_t slots)
{
	uint32_t cap = truth->cap != 0 ? truth->cap : FIRST_SLOTS;

	while (cap < slots)
		cap *= 2;
	if (cap != truth->cap)
		resize(truth, cap);
}

void
port_truth_fini(struct port_truth *truth)
{
	free_slots(truth);
	if (truth->pairs != NULL) {
		flow_map_fini(&truth->pairs->at);
		free(truth->pairs->counts);
	}
	free(truth->pairs);
	overtakings_fini(&truth->overtakings);
	*truth = (struct port_truth){ 0 };
}

/* Decides which of the new slots have their pairs kept. */
static void
decide_kept(struct port_truth *truth)
{
	port_truth_reserve(truth, truth->flows->count);
	for (; truth->nslots < truth->flows->count; truth->nslots++) {
		uint32_t slot = truth->nslots;

		truth->kept[slot] = slot < TRUTH_OTHERS ||
				    (port_flows_at(truth->flows, slot)->kind == FLOW_COLLECTIVE && slot < TRUTH_MOST);
		truth->nkept += truth->kept[slot];
	}
}

/* Additions of the present batch to a pair that was present in these of its windows. */
static void
pair_add(struct flow_contention *pair, const struct truth_batch *batch, uint64_t windows)
{
	uint64_t together_ps;

	if (windows == 0)
		return;
	together_ps = batch->length_ps * (uint32_t)__builtin_popcountll(windows);
	if (pair->together_ps == 0)
		pair->first_ps = batch->start_ps[__builtin_ctzll(windows)];
	pair->last_ps = batch->start_ps[63 - __builtin_clzll(windows)] + batch->length_ps;
	pair->together_ps += together_ps;
	pair->depth_time += together_ps * batch->depth_sum / batch->windows;
	pair->depth_max = batch->depth_max > pair->depth_max ? batch->depth_max : pair->depth_max;
}

/* Below TRUTH_MOST at both: the keys of different pairs differ. */
static uint32_t
pair_key(uint32_t a, uint32_t b)
{
	return a > b ? (uint32_t)((uint64_t)a * (a + 1) / 2) + b : (uint32_t)((uint64_t)b * (b + 1) / 2) + a;
}

static bool
is_kept(const struct port_truth *truth, uint32_t a, uint32_t b)
{
	return (truth->kept[a] || truth->kept[b]) && a < TRUTH_MOST && b < TRUTH_MOST;
}

/* The counts of two slots that share the queue. */
static struct flow_contention *
make_pair(struct port_truth *truth, uint32_t a, uint32_t b)
{
	struct truth_pairs *pairs = truth->pairs;
	uint32_t at;

	if (pairs == NULL) {
		truth->pairs = pairs = zeroed(1, sizeof(*pairs));
		flow_map_init(&pairs->at, UINT32_MAX);
	}
	at = flow_map_find(&pairs->at, pair_key(a, b));
	if (at != FLOW_MAP_NONE)
		return &pairs->counts[at];
	if (pairs->count == pairs->cap) {
		pairs->cap = pairs->cap != 0 ? 2 * pairs->cap : FIRST_PAIRS;
		pairs->counts = realloc(pairs->counts, pairs->cap * sizeof(*pairs->counts));
	}
	if (pairs->counts == NULL || flow_map_put(&pairs->at, pair_key(a, b), pairs->count) < 0)
		log_fatal("out of memory for the contentions of flows at a port");
	pairs->counts[pairs->count] = (struct flow_contention){ 0 };
	return &pairs->counts[pairs->count++];
}

/* Adds the batch up, flow by flow and pair by pair. */
static void
settle(struct port_truth *truth)
{
	for (uint32_t a = 0; a < truth->nslots; a++) {
		pair_add(&truth->held[a], &truth->batch, truth->present[a] & truth->batch.paused);
		if (truth->present[a] == 0)
			continue;
		for (uint32_t b = 0; b <= a; b++)
			if ((truth->present[a] & truth->present[b]) != 0 && is_kept(truth, a, b))
				pair_add(make_pair(truth, a, b), &truth->batch, truth->present[a] & truth->present[b]);
	}
	memset(truth->present, 0, truth->nslots * sizeof(*truth->present));
	truth->batch.windows = 0;
	truth->batch.paused = 0;
	truth->batch.depth_sum = 0;
	truth->batch.depth_max = 0;
}

void
port_truth_count(struct port_truth *truth, const struct truth_window *window)
{
	struct truth_batch *batch = &truth->batch;

	truth->contended = false;
	if (__builtin_expect(truth->nslots != truth->flows->count, 0))
		decide_kept(truth);
	if (batch->windows == TRUTH_BATCH || (batch->windows != 0 && batch->length_ps != window->length_ps))
		settle(truth);
	for (uint32_t slot = 0; slot < truth->nslots; slot++) {
		bool present = truth->flows->queued[slot] != 0 || truth->last_window[slot] == window->index + 1;

		truth->present[slot] |= (uint64_t)present << batch->windows;
	}
	batch->paused |= (uint64_t)truth->paused << batch->windows;
	batch->length_ps = window->length_ps;
	batch->start_ps[batch->windows++] = window->start_ps;
	batch->depth_sum += window->depth;
	batch->depth_max = window->depth > batch->depth_max ? window->depth : batch->depth_max;
}

void
port_truth_pause(struct port_truth *truth, bool paused, uint64_t now_ps)
{
	if (truth->paused && !paused)
		truth->paused_ps = port_truth_paused_ps(truth, now_ps);
	if (!truth->paused && paused)
		truth->paused_since_ps = now_ps;
	truth->paused = paused;
}

uint64_t
port_truth_paused_ps(const struct port_truth *truth, uint64_t now_ps)
{
	uint64_t since_ps = truth->paused_since_ps;

	return truth->paused_ps + (truth->paused && now_ps > since_ps ? now_ps - since_ps : 0);
}

void
port_truth_hold(struct port_truth *truth, uint32_t slot, uint64_t held_ps, uint64_t now_ps)
{
	struct flow_contention *held;

	port_truth_reserve(truth, slot + 1);
	held = &truth->held[slot];
	if (held->together_ps == 0)
		held->first_ps = now_ps - held_ps;
	held->last_ps = now_ps;
	held->together_ps += held_ps;
}

struct flow_contention
port_truth_held(const struct port_truth *truth, uint32_t slot)
{
	struct flow_contention held = { 0 };

	if (slot >= truth->cap)
		return held;
	held = truth->held[slot];
	pair_add(&held, &truth->batch, truth->present[slot] & truth->batch.paused);
	return held;
}

struct flow_contention
port_truth_contention(const struct port_truth *truth, uint32_t a, uint32_t b)
{
	struct flow_contention pair = { 0 };
	uint32_t at;

	if (a >= truth->nslots || b >= truth->nslots || !is_kept(truth, a, b))
		return pair;
	at = truth->pairs != NULL ? flow_map_find(&truth->pairs->at, pair_key(a, b)) : FLOW_MAP_NONE;
	if (at != FLOW_MAP_NONE)
		pair = truth->pairs->counts[at];
	pair_add(&pair, &truth->batch, truth->present[a] & truth->present[b]);
	return pair;
}

uint32_t
port_truth_left_out(const struct port_truth *truth)
{
	return truth->nslots - truth->nkept;
}

/* Who took a port from data that waited. */

#define FIRST_PLACES 16

/* @return the flow's place, or a free one for it */
static struct overtaking *
place(const struct overtakings *o, uint32_t flow, bool acks)
{
	uint32_t i = ((flow << 1 | acks) * 2654435761u) >> 16;

	for (;; i++) {
		struct overtaking *at = &o->at[i & (o->cap - 1)];

		if (at->packets == 0 || (at->flow == flow && at->acks == acks))
			return at;
	}
}

/* Apart from overtakings_add(), which is for every frame that overtakes, and has few registers to save without it. */
static __attribute__((noinline)) void
widen(struct overtakings *o)
{
	struct overtakings wider = { .cap = o->cap != 0 ? 2 * o->cap : FIRST_PLACES, .count = o->count };

	wider.at = calloc(wider.cap, sizeof(*wider.at));
	if (wider.at == NULL)
		log_fatal("out of memory for what overtook data at a port");
	for (uint32_t i = 0; i < o->cap; i++)
		if (o->at[i].packets != 0)
			*place(&wider, o->at[i].flow, o->at[i].acks) = o->at[i];
	free(o->at);
	*o = wider;
}

void
overtakings_fini(struct overtakings *o)
{
	free(o->at);
	*o = (struct overtakings){ 0 };
}

void
overtakings_add(struct overtakings *o, uint32_t flow, bool acks, uint32_t wire_bytes, uint64_t now_ps)
{
	struct overtaking *at;

	if (2 * o->count >= o->cap)
		widen(o);
	at = place(o, flow, acks);
	if (at->packets == 0) {
		*at = (struct overtaking){ .flow = flow, .acks = acks, .first_ps = now_ps };
		o->count++;
	}
	at->packets++;
	at->wire_bytes += wire_bytes;
	at->last_ps = now_ps;
}
