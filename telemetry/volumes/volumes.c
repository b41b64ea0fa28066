/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/volumes/volumes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void
clear(const struct volumes *v, struct volumes_slot *slot)
{
	memset(slot->counts, 0, (size_t)v->config.ports * v->config.senders * sizeof(*slot->counts));
	memset(slot->first_ps, 0xff, v->config.senders * sizeof(*slot->first_ps)); /* TIME_NEVER */
	slot->used = slot->new_task = false;
	slot->flaws = 0;
	slot->last_ps = 0;
	slot->judge_ps = TIME_NEVER;
}

int
volumes_init(struct volumes *v, const struct volumes_config *config)
{
	size_t cells = (size_t)config->ports * config->senders;

	assert(config->ports != 0 && config->senders != 0 && config->grace_ps != 0 && config->idle_ps != 0);
	memset(v, 0, sizeof(*v));
	v->config = *config;
	v->until_ps = v->first_ps = v->ended_ps = TIME_NEVER;
	v->keys = calloc(config->senders, sizeof(*v->keys));
	if (v->keys == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < VOLUMES_SLOTS; i++) {
		struct volumes_slot *slot = &v->slots[i];

		slot->number = VOLUMES_NUMBERS; /* no tag has it */
		slot->counts = calloc(cells, sizeof(*slot->counts));
		slot->first_ps = calloc(config->senders, sizeof(*slot->first_ps));
		if (slot->counts == NULL || slot->first_ps == NULL)
			return -ENOMEM;
		clear(v, slot);
	}
	return 0;
}

void
volumes_fini(struct volumes *v)
{
	free(v->keys);
	for (uint32_t i = 0; i < VOLUMES_SLOTS; i++) {
		free(v->slots[i].counts);
		free(v->slots[i].first_ps);
	}
	memset(v, 0, sizeof(*v));
}

uint16_t
volumes_sender(struct volumes *v, uint32_t key)
{
	for (uint16_t i = 0; i < v->nsenders; i++)
		if (v->keys[i] == key)
			return i;
	if (v->nsenders == v->config.senders)
		return VOLUMES_NO_SENDER;
	v->keys[v->nsenders] = key;
	return v->nsenders++;
}

/* ---- iterations ---- */

/* The slot of an iteration, counted back from the one that began last. */
static struct volumes_slot *
slot_before(struct volumes *v, uint32_t iterations)
{
	return &v->slots[(v->current + VOLUMES_SLOTS - iterations) % VOLUMES_SLOTS];
}

static void
begin(struct volumes *v, uint8_t number, uint32_t iteration, bool new_task)
{
	struct volumes_slot *slot;
	bool full;

	v->current = (v->current + 1) % VOLUMES_SLOTS;
	slot = &v->slots[v->current];
	full = slot->used; /* its grace is not over, and there is no room for another: it cannot be reported */
	clear(v, slot);
	slot->used = true;
	slot->new_task = new_task;
	slot->number = number;
	slot->iteration = iteration;
	slot->flaws = full ? VOLUMES_FLAW(REC_FLAW_OVERLAP) : 0;
	v->ended_ps = v->until_ps;
	v->until_ps = TIME_NEVER;
	v->before_ps = 0; /* quiet before it began is not its own */
	v->task_over = false;
}

static void
count(struct volumes *v, struct volumes_slot *slot, uint16_t port, uint16_t sender, uint32_t bytes, uint64_t time_ps)
{
	struct volume_count *counted;

	if (time_ps > slot->last_ps)
		slot->last_ps = time_ps;
	if (time_ps < v->first_ps)
		v->first_ps = time_ps;
	if (sender == VOLUMES_NO_SENDER) {
		slot->flaws |= VOLUMES_FLAW(REC_FLAW_SENDERS);
		v->lost_packets++;
		return;
	}
	counted = &slot->counts[volumes_cell(v, port, sender)];
	counted->bytes += bytes;
	counted->packets++;
	if (time_ps < slot->first_ps[sender])
		slot->first_ps[sender] = time_ps;
}

/* A packet behind the iteration that began last: of one before, or of none that can be. */
static void
behind(struct volumes *v, uint16_t port, uint16_t sender, uint8_t number, uint32_t bytes, uint64_t time_ps)
{
	struct volumes_slot *slot = NULL;

	for (uint32_t i = 1; i < VOLUMES_SLOTS && slot == NULL; i++)
		if (slot_before(v, i)->number == number)
			slot = slot_before(v, i);
	if (slot == NULL)
		v->slots[v->current].flaws |= VOLUMES_FLAW(REC_FLAW_TAGS);
	else if (!slot->used || time_ps >= slot->judge_ps)
		v->late_packets++;
	else
		count(v, slot, port, sender, bytes, time_ps);
}

void
volumes_other(struct volumes *v, uint16_t port, uint16_t sender, uint8_t number, uint32_t bytes, uint64_t time_ps)
{
	struct volumes_slot *slot = &v->slots[v->current];
	uint8_t ahead = (uint8_t)(number - slot->number) % VOLUMES_NUMBERS;
	bool first = !slot->used && !v->task_over, ended = v->task_over || time_ps >= v->until_ps;

	if (!first && ahead == 0 && ended) {
		v->late_packets++;
		return;
	}
	if (!first && ahead > VOLUMES_AHEAD && !ended) {
		behind(v, port, sender, number, bytes, time_ps);
		return;
	}
	if (first || ahead > VOLUMES_AHEAD)
		begin(v, number, number, true);
	else if (ahead != 0)
		begin(v, number, slot->iteration + ahead, false);
	count(v, &v->slots[v->current], port, sender, bytes, time_ps);
}

/* ---- time ---- */

/* How long no packet must arrive for the running iteration to be over. */
static uint64_t
quiet_ps(const struct volumes *v)
{
	return v->config.idle_ps > v->longest_ps ? v->config.idle_ps : v->longest_ps;
}

static uint64_t
first_of(const struct volumes *v, const struct volumes_slot *slot)
{
	uint64_t first_ps = TIME_NEVER;

	for (uint16_t s = 0; s < v->nsenders; s++)
		if (slot->first_ps[s] < first_ps)
			first_ps = slot->first_ps[s];
	return first_ps;
}

/* When the last of a slot's senders began the next iteration, which is in another slot. TIME_NEVER: not all have. */
static uint64_t
all_begun_ps(const struct volumes *v, const struct volumes_slot *slot, const struct volumes_slot *next)
{
	uint64_t last_ps = 0;

	for (uint16_t s = 0; s < v->nsenders; s++)
		if (slot->first_ps[s] != TIME_NEVER && next->first_ps[s] > last_ps)
			last_ps = next->first_ps[s];
	return last_ps != 0 ? last_ps : first_of(v, next);
}

/* Settles when the iterations before the one that began last are judged, as far as that is known at a window's end. */
static void
settle(struct volumes *v)
{
	bool ended = first_of(v, slot_before(v, 0)) >= v->ended_ps; /* by quiet, before that one began */

	for (uint32_t i = VOLUMES_SLOTS - 1; i > 0; i--) {
		struct volumes_slot *slot = slot_before(v, i);
		uint64_t over_ps = TIME_NEVER;

		if (slot->used && slot->judge_ps == TIME_NEVER)
			over_ps = all_begun_ps(v, slot, slot_before(v, i - 1));
		if (slot->used && slot->judge_ps == TIME_NEVER && i > 1 && first_of(v, slot_before(v, i - 2)) < over_ps)
			over_ps = first_of(v, slot_before(v, i - 2));
		if (over_ps != TIME_NEVER)
			slot->judge_ps = over_ps + v->config.grace_ps;
		if (slot->used && ended && v->ended_ps < slot->judge_ps)
			slot->judge_ps = v->ended_ps;
	}
	v->ended_ps = TIME_NEVER;
}

void
volumes_window(struct volumes *v, uint64_t end_ps)
{
	uint64_t next_ps = v->first_ps < end_ps ? v->first_ps : end_ps;

	if (!v->slots[v->current].used)
		return;
	settle(v);
	if (v->before_ps != 0 && v->until_ps == TIME_NEVER && next_ps >= v->before_ps + quiet_ps(v))
		v->until_ps = v->before_ps + 2 * quiet_ps(v);
	for (uint32_t i = 0; i < VOLUMES_SLOTS; i++)
		if (v->slots[i].last_ps > v->before_ps)
			v->before_ps = v->slots[i].last_ps;
	v->first_ps = TIME_NEVER;
}

uint64_t
volumes_next_ps(const struct volumes *v)
{
	uint64_t next_ps = TIME_NEVER;

	if (v->slots[v->current].used)
		next_ps = v->until_ps != TIME_NEVER ? v->until_ps : v->before_ps + 2 * quiet_ps(v);
	for (uint32_t i = 0; i < VOLUMES_SLOTS; i++)
		if (v->slots[i].used && v->slots[i].judge_ps < next_ps)
			next_ps = v->slots[i].judge_ps;
	return next_ps;
}

static struct volumes_slot *
over(struct volumes *v, struct volumes_slot *slot)
{
	uint64_t first_ps = first_of(v, slot);

	if (first_ps != TIME_NEVER && slot->last_ps - first_ps > v->longest_ps)
		v->longest_ps = slot->last_ps - first_ps;
	return slot;
}

/* @return the iteration that began first of those that are counted; NULL: there is none */
static struct volumes_slot *
oldest(struct volumes *v)
{
	for (uint32_t i = VOLUMES_SLOTS; i > 0; i--)
		if (slot_before(v, i - 1)->used)
			return slot_before(v, i - 1);
	return NULL;
}

struct volumes_slot *
volumes_due(struct volumes *v, uint64_t now_ps, uint64_t *at_ps)
{
	struct volumes_slot *slot = oldest(v);

	if (slot == NULL)
		return NULL;
	*at_ps = slot->judge_ps < v->until_ps ? slot->judge_ps : v->until_ps;
	if (*at_ps > now_ps)
		return NULL;
	v->task_over = slot == slot_before(v, 0);
	return over(v, slot);
}

struct volumes_slot *
volumes_last(struct volumes *v)
{
	struct volumes_slot *slot = oldest(v);

	if (slot == NULL)
		return NULL;
	v->task_over = slot == slot_before(v, 0);
	return over(v, slot);
}

void
volumes_release(struct volumes *v, struct volumes_slot *slot)
{
	clear(v, slot);
	if (v->task_over) {
		v->until_ps = TIME_NEVER;
		v->before_ps = 0;
	}
}

void
volumes_routes_changed(struct volumes *v)
{
	for (uint32_t i = 0; i < VOLUMES_SLOTS; i++)
		if (v->slots[i].used)
			v->slots[i].flaws |= VOLUMES_FLAW(REC_FLAW_ROUTES);
}
