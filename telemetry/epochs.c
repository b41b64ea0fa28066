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

int
epochs_init(struct epochs *e, const struct telem_config *config, const struct port_flows *flows, uint16_t port)
{
	memset(e, 0, sizeof(*e));
	e->config = config;
	e->flows = flows;
	e->port = port;
	e->ring = calloc(config->kept, sizeof(*e->ring));
	e->last_fed = calloc(config->nports, sizeof(*e->last_fed));
	if (e->ring == NULL || e->last_fed == NULL)
		goto fail;
	for (uint32_t i = 0; i < config->kept; i++) {
		e->ring[i].index = UINT64_MAX;
		e->ring[i].meter = calloc(config->nports, sizeof(uint64_t));
		if (e->ring[i].meter == NULL)
			goto fail;
	}
	if (epochs_grow(e, EPOCHS_FIRST_SLOTS) < 0)
		goto fail;
	e->open = &e->ring[0];
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
		free(e->ring[i].meter);
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
	open->packets += batch->packets;
	open->bytes += batch->bytes;
	open->depth_sum += batch->depth_sum;
	open->paused_packets += batch->paused_packets;
	open->depth_max = batch->depth_max > open->depth_max ? batch->depth_max : open->depth_max;
	if (batch->in_port != REC_NO_PORT)
		open->meter[batch->in_port] += batch->bytes;
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
	if (e->paused && now_ps > e->pause_mark_ps) {
		e->open->pause_ps += now_ps - e->pause_mark_ps;
		e->last_paused = e->open->index + 1;
		e->pause_mark_ps = now_ps;
	}
}

void
epochs_pause(struct epochs *e, enum telem_pause what, uint64_t now_ps)
{
	switch (what) {
	case TELEM_HALTED:
		epochs_count_pause(e, now_ps);
		if (!e->paused)
			e->paused_since_ps = e->pause_mark_ps = now_ps;
		e->paused = true;
		break;
	case TELEM_RESUMED:
		epochs_count_pause(e, now_ps);
		e->paused = false;
		break;
	case TELEM_XOFF_RECEIVED:
		e->open->pauses_received++;
		e->last_paused = e->open->index + 1;
		break;
	case TELEM_XOFF_SENT:
		e->open->pauses_sent++;
		break;
	}
}

static bool
rows_sum_up(const struct epochs *e, const struct epoch *epoch)
{
	uint64_t packets = 0, bytes = 0, depth_sum = 0, paused_packets = 0;

	for (uint32_t i = 0; i < epochs_slots(e); i++) {
		packets += epoch->rows[i].packets;
		bytes += epoch->rows[i].bytes;
		depth_sum += epoch->rows[i].depth_sum;
		paused_packets += epoch->rows[i].paused_packets;
	}
	return packets == epoch->packets && bytes == epoch->bytes && depth_sum == epoch->depth_sum &&
	       paused_packets == epoch->paused_packets;
}

static uint64_t
epoch_digest(const struct epochs *e, const struct epoch *epoch, uint64_t digest)
{
	if (epoch->packets == 0 && epoch->pause_ps == 0 && epoch->pauses_sent == 0)
		return digest;
	digest = digest_u64(digest, epoch->index << 16 | e->port);
	digest = digest_u64(digest, epoch->packets);
	digest = digest_u64(digest, epoch->bytes);
	digest = digest_u64(digest, epoch->depth_sum);
	digest = digest_u64(digest, epoch->paused_packets);
	digest = digest_u64(digest, epoch->pause_ps);
	return digest_u64(digest, (uint64_t)epoch->pauses_received << 32 | epoch->pauses_sent);
}

bool
epochs_roll(struct epochs *e, uint64_t now_ps, uint64_t *digest)
{
	uint64_t index = now_ps / e->config->epoch_ps;
	struct epoch *closed = e->open, *open;
	bool sums;

	if (index == closed->index)
		return true;
	epochs_count_pause(e, index * e->config->epoch_ps);
	sums = rows_sum_up(e, closed);
	*digest = epoch_digest(e, closed, *digest);
	for (uint16_t i = 0; i < e->config->nports; i++)
		e->last_fed[i] = closed->meter[i] != 0 ? closed->index + 1 : e->last_fed[i];
	for (uint32_t i = 0; i < epochs_slots(e); i++)
		e->before[i] += closed->rows[i].packets;
	open = &e->ring[index % e->config->kept];
	open->index = index;
	open->packets = open->bytes = open->depth_sum = open->paused_packets = open->pause_ps = 0;
	open->depth_max = open->pauses_received = open->pauses_sent = 0;
	memset(open->rows, 0, epochs_slots(e) * sizeof(*open->rows));
	memset(open->meter, 0, e->config->nports * sizeof(*open->meter));
	if (open->overtakes != NULL && open->overtakes->any)
		memset(open->overtakes, 0, sizeof(*open->overtakes));
	if (open->matrix != NULL)
		memset(open->matrix, 0, epochs_slots(e) * sizeof(*open->matrix));
	e->open = open;
	return sums;
}

uint64_t
epochs_packets_of(const struct epochs *e, uint32_t flow)
{
	uint32_t slot = e->flows->slot_of_flow[flow];

	return slot < epochs_slots(e) ? e->before[slot] + e->open->rows[slot].packets : 0;
}

uint64_t
epochs_carried_bytes(const struct epochs *e)
{
	uint64_t bytes = 0;

	for (uint64_t i = epochs_oldest_kept(e); i <= e->open->index; i++) {
		const struct epoch *epoch = epoch_at(e, i);

		bytes += epoch != NULL ? epoch->bytes : 0;
	}
	return bytes;
}

/* Did the slot's flow use the port since that epoch? */
static bool
was_used(const struct epochs *e, uint32_t slot, uint64_t first)
{
	for (uint64_t i = first; i <= e->open->index; i++) {
		const struct epoch *epoch = epoch_at(e, i);

		if (epoch != NULL && epoch->rows[slot].packets != 0)
			return true;
	}
	return false;
}

bool
epochs_was_shared(const struct epochs *e)
{
	uint64_t first = e->unreported > epochs_oldest_kept(e) ? e->unreported : epochs_oldest_kept(e);
	bool waited = false;
	uint32_t flows = 0;

	for (uint64_t i = first; i <= e->open->index; i++) {
		const struct epoch *epoch = epoch_at(e, i);

		waited |= epoch != NULL && epoch->depth_sum != 0;
	}
	for (uint32_t slot = 0; waited && flows < 2 && slot < epochs_slots(e); slot++)
		flows += was_used(e, slot, first);
	return flows > 1;
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
on_pause(void *state, enum telem_pause what, uint64_t now_ps)
{
	epochs_pause(state, what, now_ps);
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
