/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/truth/meet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

#define FIRST_SLOTS 8
#define FIRST_ROWS 8

static void *
zeroed(size_t count, size_t elem_bytes)
{
	void *array = calloc(count, elem_bytes);

	if (array == NULL)
		log_fatal("out of memory for the meetings of flows at a port");
	return array;
}

/* Moves everything into tables of other sizes, no smaller than those that were. */
static void
resize(struct meet *meet, uint32_t cap, uint32_t rows_cap)
{
	struct meet old = *meet;

	meet->cap = cap;
	meet->rows_cap = rows_cap;
	meet->last_window = zeroed(cap, sizeof(*meet->last_window));
	meet->present = zeroed(cap, sizeof(*meet->present));
	meet->row = zeroed(cap, sizeof(*meet->row));
	meet->held = zeroed(cap, sizeof(*meet->held));
	meet->pairs = zeroed((size_t)rows_cap * cap, sizeof(*meet->pairs));
	for (uint32_t i = 0; i < old.cap; i++) {
		meet->last_window[i] = old.last_window[i];
		meet->present[i] = old.present[i];
		meet->row[i] = old.row[i];
		meet->held[i] = old.held[i];
	}
	for (uint32_t r = 0; r < old.rows; r++)
		memcpy(meet->pairs + (size_t)r * cap, old.pairs + (size_t)r * old.cap, old.cap * sizeof(*meet->pairs));
	meet_fini(&old);
}

void
meet_reserve(struct meet *meet, uint32_t slots)
{
	uint32_t cap = meet->cap != 0 ? meet->cap : FIRST_SLOTS;

	while (cap < slots)
		cap *= 2;
	if (cap != meet->cap)
		resize(meet, cap, meet->rows_cap != 0 ? meet->rows_cap : FIRST_ROWS);
}

void
meet_fini(struct meet *meet)
{
	free(meet->last_window);
	free(meet->present);
	free(meet->row);
	free(meet->held);
	free(meet->pairs);
	*meet = (struct meet){ 0 };
}

/* Gives rows to the slots that are new. */
static void
decide_rows(struct meet *meet, const struct telem_port *telem)
{
	meet_reserve(meet, telem->nslots);
	for (; meet->nslots < telem->nslots; meet->nslots++) {
		uint32_t slot = meet->nslots;
		const struct flow *flow = &telem->config->flows->flows[telem->slot_flow[slot]];

		if (meet->rows == meet->rows_cap)
			resize(meet, meet->cap, meet->rows_cap * 2);
		meet->row[slot] = MEET_NO_ROW;
		if (flow->kind == FLOW_COLLECTIVE || slot < MEET_OTHERS)
			meet->row[slot] = meet->rows++;
	}
}

/* What the batch under way adds to a pair that was present in these of its windows. */
static void
pair_add(struct meet_pair *pair, const struct meet *meet, uint64_t windows)
{
	uint64_t together_ps;

	if (windows == 0)
		return;
	together_ps = meet->length_ps * (uint32_t)__builtin_popcountll(windows);
	if (pair->together_ps == 0)
		pair->first_ps = meet->start_ps[__builtin_ctzll(windows)];
	pair->last_ps = meet->start_ps[63 - __builtin_clzll(windows)] + meet->length_ps;
	pair->together_ps += together_ps;
	pair->depth_time += together_ps * meet->depth_sum / meet->batched;
	pair->depth_max = meet->depth_max > pair->depth_max ? meet->depth_max : pair->depth_max;
}

/* Adds the batch up, flow by flow and pair by pair. */
static void
settle(struct meet *meet)
{
	for (uint32_t a = 0; a < meet->nslots; a++) {
		struct meet_pair *row = meet->pairs + (size_t)meet->row[a] * meet->cap;

		pair_add(&meet->held[a], meet, meet->present[a] & meet->halted);
		if (meet->row[a] == MEET_NO_ROW || meet->present[a] == 0)
			continue;
		for (uint32_t b = 0; b < meet->nslots; b++)
			pair_add(&row[b], meet, meet->present[a] & meet->present[b]);
	}
	memset(meet->present, 0, meet->nslots * sizeof(*meet->present));
	meet->batched = 0;
	meet->halted = 0;
	meet->depth_sum = 0;
	meet->depth_max = 0;
}

void
meet_count(struct meet *meet, const struct telem_port *telem, const struct meet_window *window)
{
	if (__builtin_expect(meet->nslots != telem->nslots, 0))
		decide_rows(meet, telem);
	if (meet->batched == MEET_BATCH || (meet->batched != 0 && meet->length_ps != window->length_ps))
		settle(meet);
	for (uint32_t slot = 0; slot < meet->nslots; slot++) {
		bool present = telem->queued[slot] != 0 || meet->last_window[slot] == window->index + 1;

		meet->present[slot] |= (uint64_t)present << meet->batched;
	}
	meet->halted |= (uint64_t)telem->paused << meet->batched;
	meet->length_ps = window->length_ps;
	meet->start_ps[meet->batched++] = window->start_ps;
	meet->depth_sum += window->depth;
	meet->depth_max = window->depth > meet->depth_max ? window->depth : meet->depth_max;
}

void
meet_hold(struct meet *meet, uint32_t slot, uint64_t held_ps, uint64_t now_ps)
{
	struct meet_pair *held;

	meet_reserve(meet, slot + 1);
	held = &meet->held[slot];
	if (held->together_ps == 0)
		held->first_ps = now_ps - held_ps;
	held->last_ps = now_ps;
	held->together_ps += held_ps;
}

struct meet_pair
meet_held(const struct meet *meet, uint32_t slot)
{
	struct meet_pair held = { 0 };

	if (slot >= meet->cap)
		return held;
	held = meet->held[slot];
	pair_add(&held, meet, meet->present[slot] & meet->halted);
	return held;
}

struct meet_pair
meet_pair_of(const struct meet *meet, uint32_t a, uint32_t b)
{
	uint32_t of = a < meet->nslots && meet->row[a] != MEET_NO_ROW ? a : b, other = of == a ? b : a;
	struct meet_pair pair = { 0 };

	if (a >= meet->nslots || b >= meet->nslots || meet->row[of] == MEET_NO_ROW)
		return pair;
	pair = meet->pairs[(size_t)meet->row[of] * meet->cap + other];
	pair_add(&pair, meet, meet->present[a] & meet->present[b]);
	return pair;
}

uint32_t
meet_left_out(const struct meet *meet)
{
	return meet->nslots - meet->rows;
}
