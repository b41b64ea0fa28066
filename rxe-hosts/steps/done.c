/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/steps/done.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/leb128.h"
#include "common/log.h"

/* Rows from the last one that stands for itself to that in front of the next: half of them are read to find one. */
#define BLOCK_ROWS 4
#define FIRST_BYTES 128
#define ROW_BYTES (1 + 2 * 10 + 8 * 5) /* at most: flags, numbers of 64 and of 32 bits */

_Static_assert(FIRST_BYTES / 2 >= ROW_BYTES, "a log that grows has room for a row");

enum {
	ROW_OPEN = 1 << 0,        /* has begun, and is not over */
	ROW_RESENT = 1 << 1,      /* has retransmits */
	ROW_UNACKED = 1 << 2,     /* has unacked_bytes */
	ROW_SAME = 1 << 3,        /* slot and iteration are those of the row before */
	ROW_NEXT = 1 << 4,        /* so is step, but for the one behind it */
	ROW_WAITED = 1 << 5,      /* for a step */
	ROW_WAITED_SAME = 1 << 6, /* collective and rank are those of the row before */
	ROW_WAITS = 1 << 7,       /* has not begun */
};

static const struct step_done nothing = { .waited_for = { UINT32_MAX, UINT32_MAX, 0 } };

int
done_log_init(struct done_log *log, size_t cap)
{
	*log = (struct done_log){ .cap = cap, .blocks = malloc((cap / BLOCK_ROWS + 1) * sizeof(*log->blocks)) };
	return log->blocks == NULL ? -ENOMEM : 0;
}

void
done_log_fini(struct done_log *log)
{
	free(log->bytes);
	free(log->blocks);
	*log = (struct done_log){ 0 };
}

/* Makes room for one more row. Grows by halves, for there is a log a host. */
static void
make_room(struct done_log *log)
{
	size_t cap = log->cap_bytes != 0 ? log->cap_bytes + log->cap_bytes / 2 : FIRST_BYTES;

	if (log->cap_bytes - log->used_bytes >= ROW_BYTES)
		return;
	log->bytes = realloc(log->bytes, cap);
	if (log->bytes == NULL || log->used_bytes > UINT32_MAX)
		log_fatal("out of memory for the steps of a host: %zu B", cap);
	log->cap_bytes = cap;
}

static void
put(struct done_log *log, uint64_t value)
{
	log->used_bytes = (size_t)(leb128_put(log->bytes + log->used_bytes, value) - log->bytes);
}

static void
put_change(struct done_log *log, uint64_t value, uint64_t before)
{
	put(log, leb128_change(value, before));
}

static uint8_t
flags_of(const struct step_done *row, const struct step_done *before)
{
	const struct step_ref *on = &row->waited_for, *last = &before->waited_for;

	return (uint8_t)((row->state == REC_STEP_OPEN ? ROW_OPEN : 0) | (row->state == REC_STEP_WAITS ? ROW_WAITS : 0) |
			 (row->retransmits != 0 ? ROW_RESENT : 0) | (row->unacked_bytes != 0 ? ROW_UNACKED : 0) |
			 (row->slot == before->slot && row->iteration == before->iteration ? ROW_SAME : 0) |
			 (row->step == before->step + 1 ? ROW_NEXT : 0) | (on->step != 0 ? ROW_WAITED : 0) |
			 (last->step != 0 && on->collective == last->collective && on->rank == last->rank ? ROW_WAITED_SAME
													  : 0));
}

void
done_log_add(struct done_log *log, const struct step_done *row)
{
	const struct step_done *before = log->count % BLOCK_ROWS != 0 ? &log->last : &nothing;
	uint8_t flags = flags_of(row, before);

	assert(!done_log_full(log));
	make_room(log);
	if (before == &nothing)
		log->blocks[log->count / BLOCK_ROWS] = (uint32_t)log->used_bytes;
	log->bytes[log->used_bytes++] = flags;
	if ((flags & ROW_SAME) == 0) {
		put(log, row->slot);
		put(log, row->iteration);
	}
	if ((flags & ROW_NEXT) == 0)
		put(log, row->step);
	put_change(log, row->start_ps, before->end_ps);
	put_change(log, row->end_ps, row->start_ps);
	if ((flags & ROW_WAITED) != 0) {
		if ((flags & ROW_WAITED_SAME) == 0) {
			put(log, row->waited_for.collective);
			put(log, row->waited_for.rank);
		}
		put_change(log, row->waited_for.step, row->step);
	}
	if ((flags & ROW_UNACKED) != 0)
		put(log, row->unacked_bytes);
	if ((flags & ROW_RESENT) != 0)
		put(log, row->retransmits);
	log->last = *row;
	log->count++;
}

static uint64_t
get(const uint8_t **at)
{
	uint64_t value = 0;

	for (uint32_t shift = 0;; shift += 7) {
		uint8_t byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
}

static uint64_t
get_change(const uint8_t **at, uint64_t before)
{
	return leb128_changed(before, get(at));
}

/* @param row  the one before; changed to this one */
static void
read_row(const uint8_t **at, struct step_done *row)
{
	uint8_t flags = *(*at)++;

	row->state = flags & ROW_WAITS ? REC_STEP_WAITS : flags & ROW_OPEN ? REC_STEP_OPEN : REC_STEP_OVER;
	if ((flags & ROW_SAME) == 0) {
		row->slot = (uint32_t)get(at);
		row->iteration = (uint32_t)get(at);
	}
	row->step = (flags & ROW_NEXT) != 0 ? row->step + 1 : (uint32_t)get(at);
	row->start_ps = get_change(at, row->end_ps);
	row->end_ps = get_change(at, row->start_ps);
	if ((flags & ROW_WAITED) != 0 && (flags & ROW_WAITED_SAME) == 0) {
		row->waited_for.collective = (uint32_t)get(at);
		row->waited_for.rank = (uint32_t)get(at);
	}
	if ((flags & ROW_WAITED) != 0)
		row->waited_for.step = (uint32_t)get_change(at, row->step);
	else
		row->waited_for = nothing.waited_for;
	row->unacked_bytes = (flags & ROW_UNACKED) != 0 ? (uint32_t)get(at) : 0;
	row->retransmits = (flags & ROW_RESENT) != 0 ? (uint32_t)get(at) : 0;
}

struct step_done
done_log_at(const struct done_log *log, size_t index)
{
	const uint8_t *at = log->bytes + log->blocks[index / BLOCK_ROWS];
	struct step_done row = nothing;

	assert(index < log->count);
	for (size_t i = index - index % BLOCK_ROWS; i <= index; i++)
		read_row(&at, &row);
	return row;
}
