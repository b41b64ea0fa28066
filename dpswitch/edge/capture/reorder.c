/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/capture/reorder.h"

#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "common/log.h"

void
reorder_fini(struct reorder *r)
{
	free(r->frames);
	free(r->bytes);
	*r = (struct reorder){ 0 };
}

uint8_t *
reorder_slot(struct reorder *r, size_t max_bytes)
{
	r->bytes = grow(r->bytes, &r->bytes_cap, r->nbytes + max_bytes, 1, "captured frames");
	return r->bytes + r->nbytes;
}

void
reorder_put(struct reorder *r, const struct reorder_frame *frame)
{
	struct reorder_frame *mine;

	r->frames = grow(r->frames, &r->cap, r->count + 1, sizeof(*r->frames), "captured frames");
	mine = &r->frames[r->count++];
	*mine = *frame;
	mine->seq = r->seq++;
	mine->at = r->nbytes;
	r->nbytes += frame->captured_bytes;
}

static int
compare(const void *a, const void *b)
{
	const struct reorder_frame *x = a, *y = b;

	if (x->time_ps != y->time_ps)
		return x->time_ps < y->time_ps ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Moves the bytes of those that are left to the front. They are few, and their bytes lie in no order. */
static void
compact(struct reorder *r)
{
	size_t nbytes = 0;
	uint8_t *bytes;

	for (size_t i = 0; i < r->count; i++)
		nbytes += r->frames[i].captured_bytes;
	bytes = malloc(nbytes + 1);
	if (bytes == NULL)
		log_fatal("out of memory for %zu B of captured frames", nbytes);
	nbytes = 0;
	for (size_t i = 0; i < r->count; i++) {
		struct reorder_frame *frame = &r->frames[i];

		memcpy(bytes + nbytes, r->bytes + frame->at, frame->captured_bytes);
		frame->at = nbytes;
		nbytes += frame->captured_bytes;
	}
	memcpy(r->bytes, bytes, nbytes);
	r->nbytes = nbytes;
	free(bytes);
}

void
reorder_flush(struct reorder *r, uint64_t end_ps,
	      void (*take)(void *ctx, const struct reorder_frame *frame, const uint8_t *bytes), void *ctx)
{
	size_t done = 0;

	if (r->count == 0)
		return;
	qsort(r->frames, r->count, sizeof(*r->frames), compare);
	for (; done < r->count && r->frames[done].time_ps < end_ps; done++)
		take(ctx, &r->frames[done], r->bytes + r->frames[done].at);
	if (done == 0)
		return;
	r->count -= done;
	memmove(r->frames, r->frames + done, r->count * sizeof(*r->frames));
	compact(r);
}
