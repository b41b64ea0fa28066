/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/volumes/volumes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
volumes_init(struct volumes *v, const struct volumes_config *config)
{
	size_t cells = (size_t)config->ports * config->senders;

	assert(config->ports != 0 && config->senders != 0 && config->grace_ps != 0 && config->idle_ps != 0);
	memset(v, 0, sizeof(*v));
	v->config = *config;
	v->until_ps = v->first_ps = v->ended_ps = TIME_NEVER;
	v->slots[0].number = v->slots[1].number = VOLUMES_NUMBERS; /* no tag has it */
	v->keys = calloc(config->senders, sizeof(*v->keys));
	v->slots[0].counts = calloc(cells, sizeof(*v->slots[0].counts));
	v->slots[1].counts = calloc(cells, sizeof(*v->slots[1].counts));
	return v->keys != NULL && v->slots[0].counts != NULL && v->slots[1].counts != NULL ? 0 : -ENOMEM;
}

void
volumes_fini(struct volumes *v)
{
	free(v->keys);
	free(v->slots[0].counts);
	free(v->slots[1].counts);
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

static void
begin(struct volumes *v, uint8_t number, uint32_t iteration, uint32_t flaws)
{
	struct volumes_slot *slot;

	v->current ^= 1;
	slot = &v->slots[v->current];
	slot->used = true;
	slot->number = number;
	slot->iteration = iteration;
	slot->flaws = flaws;
	slot->new_task = false;
	slot->begin_ps = TIME_NEVER; /* the window's end tells */
	slot->last_ps = 0;
	v->judge_ps = TIME_NEVER;
	v->before_ps = 0;
	v->first_ps = v->until_ps = v->ended_ps = TIME_NEVER;
	v->task_over = false;
}

/* The first packet of another number. @param follows  it is of the same task */
static void
turn(struct volumes *v, uint8_t number, uint8_t ahead, bool follows)
{
	struct volumes_slot *ran = &v->slots[v->current], *other = &v->slots[v->current ^ 1];
	uint64_t until_ps = v->until_ps;
	uint32_t flaws = 0;

	if (other->used) { /* its grace is not over, and there is no room for a third: nothing of it can be told */
		flaws = VOLUMES_OVERLAP;
		volumes_release(v, other);
	}
	if (ran->used && ran->begin_ps == TIME_NEVER)
		ran->begin_ps = v->first_ps;
	begin(v, number, follows ? ran->iteration + ahead : number, flaws);
	v->slots[v->current].new_task = !follows;
	v->ended_ps = ran->used ? until_ps : TIME_NEVER;
}

static void
count(struct volumes *v, struct volumes_slot *slot, uint16_t port, uint16_t sender, uint32_t bytes)
{
	struct volume_count *counted;

	if (sender == VOLUMES_NO_SENDER) {
		slot->flaws |= VOLUMES_SENDERS;
		v->lost_packets++;
		return;
	}
	counted = &slot->counts[volumes_cell(v, port, sender)];
	counted->bytes += bytes;
	counted->packets++;
}

/* A packet behind what runs: of the iteration before, or of none that can be. */
static void
behind(struct volumes *v, uint16_t port, uint16_t sender, uint8_t number, uint32_t bytes, uint64_t time_ps)
{
	struct volumes_slot *ran = &v->slots[v->current], *other = &v->slots[v->current ^ 1];

	if (number != other->number) {
		ran->flaws |= VOLUMES_TAGS;
	} else if (!other->used || time_ps >= v->judge_ps) {
		v->late_packets++;
	} else {
		count(v, other, port, sender, bytes);
		if (time_ps > other->last_ps)
			other->last_ps = time_ps;
	}
}

void
volumes_other(struct volumes *v, uint16_t port, uint16_t sender, uint8_t number, uint32_t bytes, uint64_t time_ps)
{
	struct volumes_slot *slot = &v->slots[v->current];
	uint8_t ahead = (uint8_t)(number - slot->number) % VOLUMES_NUMBERS;
	bool ended = v->task_over || (slot->used && time_ps >= v->until_ps);

	if (!slot->used && !v->task_over) {
		begin(v, number, number, 0);
		v->slots[v->current].new_task = true;
	} else if (ahead == 0 && ended) {
		v->late_packets++;
		return;
	} else if (ahead > VOLUMES_AHEAD && !ended) {
		behind(v, port, sender, number, bytes, time_ps);
		return;
	} else if (ahead != 0) {
		turn(v, number, ahead, ahead <= VOLUMES_AHEAD);
	}
	slot = &v->slots[v->current];
	count(v, slot, port, sender, bytes);
	if (time_ps > slot->last_ps)
		slot->last_ps = time_ps;
	if (time_ps < v->first_ps)
		v->first_ps = time_ps;
}

/* ---- time ---- */

/* How long nothing of the iteration that runs must come for it to be over. */
static uint64_t
quiet_ps(const struct volumes *v)
{
	return v->config.idle_ps > v->longest_ps ? v->config.idle_ps : v->longest_ps;
}

void
volumes_window(struct volumes *v, uint64_t end_ps)
{
	struct volumes_slot *slot = &v->slots[v->current];

	if (!slot->used)
		return;
	if (slot->begin_ps == TIME_NEVER) { /* it began in this window */
		slot->begin_ps = v->first_ps;
		v->judge_ps = slot->begin_ps + v->config.grace_ps;
		if (slot->begin_ps >= v->ended_ps) /* quiet had ended the one before already */
			v->judge_ps = v->ended_ps;
	} else if (v->until_ps == TIME_NEVER) {
		uint64_t next_ps = v->first_ps < end_ps ? v->first_ps : end_ps;

		if (next_ps >= v->before_ps + quiet_ps(v))
			v->until_ps = v->before_ps + 2 * quiet_ps(v);
	}
	v->before_ps = slot->last_ps;
	v->first_ps = TIME_NEVER;
}

uint64_t
volumes_next_ps(const struct volumes *v)
{
	const struct volumes_slot *slot = &v->slots[v->current];
	uint64_t next_ps = TIME_NEVER;

	if (slot->used)
		next_ps = v->until_ps != TIME_NEVER ? v->until_ps : v->before_ps + 2 * quiet_ps(v);
	if (v->slots[v->current ^ 1].used && v->judge_ps < next_ps)
		next_ps = v->judge_ps;
	return next_ps;
}

static struct volumes_slot *
over(struct volumes *v, struct volumes_slot *slot)
{
	if (slot->last_ps - slot->begin_ps > v->longest_ps)
		v->longest_ps = slot->last_ps - slot->begin_ps;
	return slot;
}

struct volumes_slot *
volumes_due(struct volumes *v, uint64_t now_ps, uint64_t *at_ps)
{
	struct volumes_slot *slot = &v->slots[v->current], *other = &v->slots[v->current ^ 1];

	if (other->used && v->judge_ps <= now_ps) {
		*at_ps = v->judge_ps;
		return over(v, other);
	}
	if (!slot->used || other->used || v->until_ps > now_ps)
		return NULL;
	*at_ps = v->until_ps;
	v->task_over = true;
	return over(v, slot);
}

struct volumes_slot *
volumes_last(struct volumes *v)
{
	struct volumes_slot *slot = &v->slots[v->current], *other = &v->slots[v->current ^ 1];

	if (other->used)
		return over(v, other);
	v->task_over = true;
	return slot->used ? over(v, slot) : NULL;
}

void
volumes_release(struct volumes *v, struct volumes_slot *slot)
{
	memset(slot->counts, 0, (size_t)v->config.ports * v->config.senders * sizeof(*slot->counts));
	slot->used = false;
	slot->flaws = 0;
}

void
volumes_routes_changed(struct volumes *v)
{
	for (uint32_t i = 0; i < 2; i++)
		if (v->slots[i].used)
			v->slots[i].flaws |= VOLUMES_ROUTES;
}
