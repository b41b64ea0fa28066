/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/epoch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/log.h"

#define TELEM_FIRST_SLOTS 8

/* Widens the per-slot arrays of all epochs. */
static int
telem_grow(struct telem_port *t, uint32_t cap)
{
	uint32_t old = t->slots_cap;

	for (uint32_t i = 0; i < t->config->kept; i++) {
		struct telem_epoch *epoch = &t->epochs[i];
		struct telem_row *rows = realloc(epoch->rows, cap * sizeof(*rows));

		if (rows == NULL)
			return -ENOMEM;
		memset(rows + old, 0, (cap - old) * sizeof(*rows));
		epoch->rows = rows;
		if (!t->config->exact)
			continue;
		epoch->matrix = realloc(epoch->matrix, cap * sizeof(*epoch->matrix));
		if (epoch->matrix == NULL)
			return -ENOMEM;
		memset(epoch->matrix + old, 0, (cap - old) * sizeof(*epoch->matrix));
	}
	t->slots_cap = cap;
	return 0;
}

int
telem_init(struct telem_port *t, const struct telem_config *config, const struct port_flows *flows, uint16_t port)
{
	memset(t, 0, sizeof(*t));
	t->config = config;
	t->flows = flows;
	t->port = port;
	t->epochs = calloc(config->kept, sizeof(*t->epochs));
	t->last_fed = calloc(config->nports, sizeof(*t->last_fed));
	if (t->epochs == NULL || t->last_fed == NULL)
		goto fail;
	for (uint32_t i = 0; i < config->kept; i++) {
		t->epochs[i].index = UINT64_MAX;
		t->epochs[i].meter = calloc(config->nports, sizeof(uint64_t));
		if (t->epochs[i].meter == NULL)
			goto fail;
	}
	if (telem_grow(t, TELEM_FIRST_SLOTS) < 0)
		goto fail;
	t->open = &t->epochs[0];
	t->open->index = 0;
	return 0;
fail:
	telem_fini(t);
	return -ENOMEM;
}

void
telem_fini(struct telem_port *t)
{
	for (uint32_t i = 0; t->epochs != NULL && i < t->config->kept; i++) {
		free(t->epochs[i].rows);
		free(t->epochs[i].meter);
		free(t->epochs[i].matrix);
	}
	free(t->epochs);
	free(t->last_fed);
	memset(t, 0, sizeof(*t));
}

void
telem_reserve(struct telem_port *t, uint32_t slots)
{
	uint32_t cap = t->slots_cap;

	while (cap < slots)
		cap *= 2;
	if (cap != t->slots_cap && telem_grow(t, cap) < 0)
		log_fatal("out of memory for telemetry of %u flows at a port", slots);
}

void
telem_count_matrix(struct telem_port *t, uint32_t slot)
{
	uint32_t *ahead = t->open->matrix[slot];

	for (uint32_t i = 0; i < t->flows->count; i++)
		ahead[i < TELEM_MATRIX ? i : TELEM_MATRIX - 1] += t->flows->queued[i];
}

void
telem_add(struct telem_port *t, uint32_t slot, const struct telem_batch *batch)
{
	struct telem_epoch *open = t->open;
	struct telem_row *row;

	telem_reserve(t, slot + 1);
	row = &open->rows[slot];
	row->packets += batch->packets;
	row->bytes += batch->bytes;
	row->depth_sum += batch->depth_sum;
	row->paused_packets += batch->paused_packets;
	row->in_port = REC_NO_PORT;
	open->packets += batch->packets;
	open->bytes += batch->bytes;
	open->depth_sum += batch->depth_sum;
	open->paused_packets += batch->paused_packets;
	open->depth_max = batch->depth_max > open->depth_max ? batch->depth_max : open->depth_max;
}

void
telem_count_pause(struct telem_port *t, uint64_t now_ps)
{
	if (t->paused && now_ps > t->pause_mark_ps) {
		t->open->pause_ps += now_ps - t->pause_mark_ps;
		t->last_paused = t->open->index + 1;
		t->pause_mark_ps = now_ps;
	}
}

void
telem_pause(struct telem_port *t, bool paused, uint64_t now_ps)
{
	telem_count_pause(t, now_ps);
	if (paused && !t->paused) {
		t->paused_since_ps = now_ps;
		t->pause_mark_ps = now_ps;
	}
	t->paused = paused;
}

static bool
rows_sum_up(const struct telem_port *t, const struct telem_epoch *epoch)
{
	uint64_t packets = 0, bytes = 0, depth_sum = 0, paused_packets = 0;

	for (uint32_t i = 0; i < telem_slots(t); i++) {
		packets += epoch->rows[i].packets;
		bytes += epoch->rows[i].bytes;
		depth_sum += epoch->rows[i].depth_sum;
		paused_packets += epoch->rows[i].paused_packets;
	}
	return packets == epoch->packets && bytes == epoch->bytes && depth_sum == epoch->depth_sum &&
	       paused_packets == epoch->paused_packets;
}

static uint64_t
epoch_digest(const struct telem_port *t, const struct telem_epoch *epoch, uint64_t digest)
{
	if (epoch->packets == 0 && epoch->pause_ps == 0 && epoch->pauses_sent == 0)
		return digest;
	digest = digest_u64(digest, epoch->index << 16 | t->port);
	digest = digest_u64(digest, epoch->packets);
	digest = digest_u64(digest, epoch->bytes);
	digest = digest_u64(digest, epoch->depth_sum);
	digest = digest_u64(digest, epoch->paused_packets);
	digest = digest_u64(digest, epoch->pause_ps);
	return digest_u64(digest, (uint64_t)epoch->pauses_received << 32 | epoch->pauses_sent);
}

bool
telem_roll(struct telem_port *t, uint64_t now_ps, uint64_t *digest)
{
	uint64_t index = now_ps / t->config->epoch_ps;
	struct telem_epoch *closed = t->open, *open;
	bool sums;

	if (index == closed->index)
		return true;
	telem_count_pause(t, index * t->config->epoch_ps);
	sums = rows_sum_up(t, closed);
	*digest = epoch_digest(t, closed, *digest);
	for (uint16_t i = 0; i < t->config->nports; i++)
		t->last_fed[i] = closed->meter[i] != 0 ? closed->index + 1 : t->last_fed[i];
	open = &t->epochs[index % t->config->kept];
	open->index = index;
	open->packets = open->bytes = open->depth_sum = open->paused_packets = open->pause_ps = 0;
	open->depth_max = open->pauses_received = open->pauses_sent = 0;
	memset(open->rows, 0, telem_slots(t) * sizeof(*open->rows));
	memset(open->meter, 0, t->config->nports * sizeof(*open->meter));
	if (open->matrix != NULL)
		memset(open->matrix, 0, telem_slots(t) * sizeof(*open->matrix));
	t->open = open;
	return sums;
}

uint64_t
telem_carried_bytes(const struct telem_port *t)
{
	uint64_t bytes = 0;

	for (uint64_t i = telem_oldest_kept(t); i <= t->open->index; i++) {
		const struct telem_epoch *epoch = telem_epoch_at(t, i);

		bytes += epoch != NULL ? epoch->bytes : 0;
	}
	return bytes;
}

/* Did the slot's flow use the port since that epoch? */
static bool
was_used(const struct telem_port *t, uint32_t slot, uint64_t first)
{
	for (uint64_t i = first; i <= t->open->index; i++) {
		const struct telem_epoch *epoch = telem_epoch_at(t, i);

		if (epoch != NULL && epoch->rows[slot].packets != 0)
			return true;
	}
	return false;
}

bool
telem_was_shared(const struct telem_port *t)
{
	uint64_t first = t->unreported > telem_oldest_kept(t) ? t->unreported : telem_oldest_kept(t);
	bool waited = false;
	uint32_t flows = 0;

	for (uint64_t i = first; i <= t->open->index; i++) {
		const struct telem_epoch *epoch = telem_epoch_at(t, i);

		waited |= epoch != NULL && epoch->depth_sum != 0;
	}
	for (uint32_t slot = 0; waited && flows < 2 && slot < telem_slots(t); slot++)
		flows += was_used(t, slot, first);
	return flows > 1;
}
