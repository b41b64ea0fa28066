/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/epochs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/log.h"

#define EPOCHS_FIRST_SLOTS 8

/* Widens the per-slot arrays of all epochs. */
static int
epochs_grow(struct epochs *e, uint32_t cap)
{
	uint32_t old = e->slots_cap;
	uint64_t *before = realloc(e->before, cap * sizeof(*before));

	if (before == NULL)
		return -ENOMEM;
	memset(before + old, 0, (cap - old) * sizeof(*before));
	e->before = before;
	for (uint32_t i = 0; i < e->config->kept; i++) {
		struct epoch *epoch = &e->ring[i];
		struct epoch_row *rows = realloc(epoch->rows, cap * sizeof(*rows));

		if (rows == NULL)
			return -ENOMEM;
		memset(rows + old, 0, (cap - old) * sizeof(*rows));
		epoch->rows = rows;
		if (!e->config->exact)
			continue;
		epoch->matrix = realloc(epoch->matrix, cap * sizeof(*epoch->matrix));
		if (epoch->matrix == NULL)
			return -ENOMEM;
		memset(epoch->matrix + old, 0, (cap - old) * sizeof(*epoch->matrix));
	}
	e->slots_cap = cap;
	return 0;
}

static int
init_epoch(const struct epochs *e, struct epoch *epoch)
{
	epoch->index = UINT64_MAX;
	epoch->classes = calloc(e->nclasses, sizeof(*epoch->classes));
	for (uint32_t c = 0; epoch->classes != NULL && c < e->nclasses; c++) {
		epoch->classes[c].meter = calloc(e->config->nports, sizeof(uint64_t));
		if (epoch->classes[c].meter == NULL)
			return -ENOMEM;
	}
	return epoch->classes != NULL ? 0 : -ENOMEM;
}

static void
open_epoch(struct epochs *e, struct epoch *epoch)
{
	e->open = epoch;
	for (uint8_t prio = 0; prio < 8; prio++)
		e->meter_of[prio] = epoch->classes[e->class_of[prio]].meter;
}

int
epochs_init(struct epochs *e, const struct telem_config *config, const struct port_flows *flows, uint16_t port)
{
	memset(e, 0, sizeof(*e));
	e->nclasses = telem_classes(config);
	for (uint8_t prio = 0; prio < 8; prio++)
		e->class_of[prio] = (uint8_t)telem_class(config, prio);
	e->config = config;
	e->flows = flows;
	e->port = port;
	e->ring = calloc(config->kept, sizeof(*e->ring));
	e->last_fed = calloc((size_t)e->nclasses * config->nports, sizeof(*e->last_fed));
	if (e->ring == NULL || e->last_fed == NULL)
		goto fail;
	for (uint32_t i = 0; i < config->kept; i++) {
		if (init_epoch(e, &e->ring[i]) < 0)
			goto fail;
	}
	if (epochs_grow(e, EPOCHS_FIRST_SLOTS) < 0)
		goto fail;
	open_epoch(e, &e->ring[0]);
	e->open->index = 0;
	return 0;
fail:
	epochs_fini(e);
	return -ENOMEM;
}

void
epochs_fini(struct epochs *e)
{
	for (uint32_t i = 0; e->ring != NULL && i < e->config->kept; i++) {
		free(e->ring[i].rows);
		for (uint32_t c = 0; e->ring[i].classes != NULL && c < e->nclasses; c++)
			free(e->ring[i].classes[c].meter);
		free(e->ring[i].classes);
		free(e->ring[i].matrix);
		free(e->ring[i].overtakes);
	}
	free(e->ring);
	free(e->before);
	free(e->last_fed);
	memset(e, 0, sizeof(*e));
}

void
epochs_reserve(struct epochs *e, uint32_t slots)
{
	uint32_t cap = e->slots_cap;

	while (cap < slots)
		cap *= 2;
	if (cap != e->slots_cap && epochs_grow(e, cap) < 0)
		log_fatal("out of memory for telemetry of %u flows at a port", slots);
}

void
epochs_reserve_overtakes(struct epochs *e)
{
	e->open->overtakes = calloc(1, sizeof(*e->open->overtakes));
	if (e->open->overtakes == NULL)
		log_fatal("out of memory for telemetry of class 0 at a port");
}

void
epochs_count_matrix(struct epochs *e, uint32_t slot)
{
	uint32_t *ahead = e->open->matrix[slot];

	for (uint32_t i = 0; i < e->flows->count; i++)
		ahead[i < EPOCHS_MATRIX ? i : EPOCHS_MATRIX - 1] += e->flows->queued[i];
}

void
epochs_add(struct epochs *e, const struct telem_batch *batch)
{
	struct epoch *open = e->open;
	struct epoch_row *row;

	epochs_reserve(e, batch->slot + 1);
	row = &open->rows[batch->slot];
	row->packets += batch->packets;
	row->bytes += batch->bytes;
	row->depth_sum += batch->depth_sum;
	row->paused_packets += batch->paused_packets;
	row->in_port = batch->in_port;
	row->depth_max = batch->depth_max > row->depth_max ? batch->depth_max : row->depth_max;
	open->packets += batch->packets;
	open->bytes += batch->bytes;
	if (batch->in_port != REC_NO_PORT)
		e->meter_of[port_flows_at(e->flows, batch->slot)->prio][batch->in_port] += batch->bytes;
}

void
epochs_ahead(struct epochs *e, uint32_t waiting, uint32_t left)
{
	epochs_reserve(e, (waiting > left ? waiting : left) + 1);
	e->open->matrix[waiting][left < EPOCHS_MATRIX ? left : EPOCHS_MATRIX - 1]++;
}

void
epochs_count_pause(struct epochs *e, uint64_t now_ps)
{
	for (uint32_t c = 0; c < e->nclasses; c++) {
		struct epochs_pause *pause_state = &e->pauses[c];

		if (pause_state->held != 0 && now_ps > pause_state->mark_ps) {
			e->open->classes[c].pause_ps += now_ps - pause_state->mark_ps;
			pause_state->last_paused = e->open->index + 1;
			pause_state->mark_ps = now_ps;
		}
	}
}

/* @param classes  of those that are counted together */
static void
pause_class(struct epochs *e, uint32_t c, uint8_t classes, enum telem_pause what, uint64_t now_ps)
{
	struct epoch_class *class = &e->open->classes[c];
	struct epochs_pause *pause_state = &e->pauses[c];

	switch (what) {
	case TELEM_PAUSED:
		if (pause_state->held == 0)
			pause_state->since_ps = pause_state->mark_ps = now_ps;
		pause_state->held |= classes;
		break;
	case TELEM_RESUMED:
		pause_state->held &= (uint8_t)~classes;
		break;
	case TELEM_XOFF_RECEIVED:
		class->pauses_received++;
		pause_state->last_paused = e->open->index + 1;
		break;
	case TELEM_XOFF_SENT:
		class->pauses_sent++;
		break;
	}
}

void
epochs_pause(struct epochs *e, uint8_t classes, enum telem_pause what, uint64_t now_ps)
{
	uint8_t of[TELEM_MAX_CLASSES] = { 0 };

	for (uint8_t prio = 0; prio < 8; prio++)
		of[e->class_of[prio]] |= (uint8_t)(classes & 1u << prio);
	if (what == TELEM_PAUSED || what == TELEM_RESUMED)
		epochs_count_pause(e, now_ps);
	for (uint32_t c = 0; c < e->nclasses; c++)
		if (of[c] != 0)
			pause_class(e, c, of[c], what, now_ps);
}

void
epochs_sum(const struct epochs *e, const struct epoch *epoch, struct epoch_sums *sums)
{
	for (uint32_t i = 0; i < epochs_slots(e); i++) {
		const struct epoch_row *row = &epoch->rows[i];
		struct epoch_sums *sum;

		if (row->packets == 0)
			continue;
		sum = &sums[e->class_of[port_flows_at(e->flows, i)->prio]];
		sum->packets += row->packets;
		sum->bytes += row->bytes;
		sum->depth_sum += row->depth_sum;
		sum->paused_packets += row->paused_packets;
		sum->depth_max = row->depth_max > sum->depth_max ? row->depth_max : sum->depth_max;
	}
	for (uint32_t c = 0; c < e->nclasses; c++) {
		sums[c].pause_ps += epoch->classes[c].pause_ps;
		sums[c].pauses_received += epoch->classes[c].pauses_received;
		sums[c].pauses_sent += epoch->classes[c].pauses_sent;
	}
}

static bool
rows_sum_up(const struct epochs *e, const struct epoch *epoch, const struct epoch_sums *sums)
{
	uint64_t packets = 0, bytes = 0;

	for (uint32_t c = 0; c < e->nclasses; c++) {
		packets += sums[c].packets;
		bytes += sums[c].bytes;
	}
	return packets == epoch->packets && bytes == epoch->bytes;
}

static uint64_t
epoch_digest(const struct epochs *e, const struct epoch *epoch, const struct epoch_sums *sums, uint64_t digest)
{
	for (uint32_t c = 0; c < e->nclasses; c++) {
		const struct epoch_sums *sum = &sums[c];

		if (sum->packets == 0 && sum->pause_ps == 0 && sum->pauses_sent == 0)
			continue;
		digest = digest_u64(digest, epoch->index << 16 | c << 12 | e->port);
		digest = digest_u64(digest, sum->packets);
		digest = digest_u64(digest, sum->bytes);
		digest = digest_u64(digest, sum->depth_sum);
		digest = digest_u64(digest, sum->paused_packets);
		digest = digest_u64(digest, sum->pause_ps);
		digest = digest_u64(digest, (uint64_t)sum->pauses_received << 32 | sum->pauses_sent);
	}
	return digest;
}

/* An epoch begins with nothing counted. */
static void
clear_epoch(const struct epochs *e, struct epoch *epoch)
{
	for (uint32_t c = 0; c < e->nclasses; c++) {
		uint64_t *meter = epoch->classes[c].meter;

		memset(meter, 0, e->config->nports * sizeof(*meter));
		epoch->classes[c] = (struct epoch_class){ .meter = meter };
	}
	epoch->packets = epoch->bytes = 0;
	memset(epoch->rows, 0, epochs_slots(e) * sizeof(*epoch->rows));
	if (epoch->overtakes != NULL && epoch->overtakes->any)
		memset(epoch->overtakes, 0, sizeof(*epoch->overtakes));
	if (epoch->matrix != NULL)
		memset(epoch->matrix, 0, epochs_slots(e) * sizeof(*epoch->matrix));
}

bool
epochs_roll(struct epochs *e, uint64_t now_ps, uint64_t *digest)
{
	uint64_t index = now_ps / e->config->epoch_ps;
	struct epoch_sums sums[TELEM_MAX_CLASSES] = { 0 };
	struct epoch *closed = e->open, *open;
	bool good;

	if (index == closed->index)
		return true;
	epochs_count_pause(e, index * e->config->epoch_ps);
	epochs_sum(e, closed, sums);
	good = rows_sum_up(e, closed, sums);
	*digest = epoch_digest(e, closed, sums, *digest);
	for (uint32_t c = 0; c < e->nclasses; c++)
		for (uint16_t i = 0; i < e->config->nports; i++)
			if (closed->classes[c].meter[i] != 0)
				e->last_fed[c * e->config->nports + i] = closed->index + 1;
	for (uint32_t i = 0; i < epochs_slots(e); i++)
		e->before[i] += closed->rows[i].packets;
	open = &e->ring[index % e->config->kept];
	open->index = index;
	clear_epoch(e, open);
	open_epoch(e, open);
	return good;
}

static bool
is_on(const struct telem_config *config)
{
	return !config->drops_only;
}

static int
init(void *state, const struct telem_config *config, const struct port_flows *flows, uint16_t port)
{
	return epochs_init(state, config, flows, port);
}

static void
fini(void *state)
{
	epochs_fini(state);
}

static void
on_enqueue(void *state, const struct telem_batch *batch)
{
	epochs_add(state, batch);
}

static void
on_pause(void *state, uint8_t classes, enum telem_pause what, uint64_t now_ps)
{
	epochs_pause(state, classes, what, now_ps);
}

static bool
on_epoch(void *state, uint64_t now_ps, uint64_t *digest)
{
	return epochs_roll(state, now_ps, digest);
}

static void
report(void *state, const struct telem_query *query, struct recbuf *records)
{
	if (query->extent != TELEM_DROPS)
		epochs_report(state, query, records);
}

const struct collector collector_epochs = {
	.name = "epochs",
	.state_bytes = sizeof(struct epochs),
	.is_on = is_on,
	.init = init,
	.fini = fini,
	.on_enqueue = on_enqueue,
	.on_pause = on_pause,
	.on_epoch = on_epoch,
	.report = report,
};
