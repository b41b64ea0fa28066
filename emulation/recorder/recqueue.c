/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/recorder/recqueue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"

static const struct rec_hdr *oldest(const struct recqueue_class *class);

void
recqueue_fini(struct recqueue *queue)
{
	for (uint32_t i = 0; i < RECQUEUE_CLASSES; i++)
		free(queue->classes[i].data);
	*queue = (struct recqueue){ 0 };
}

void
recqueue_put(struct recqueue *queue, uint32_t class, const struct rec_hdr *hdr)
{
	struct recqueue_class *c = &queue->classes[class];

	/* Move to the front once as much has left as is still there: every byte moves at most once on average. */
	if (c->head_bytes > 0 && c->head_bytes >= c->tail_bytes - c->head_bytes) {
		memmove(c->data, c->data + c->head_bytes, c->tail_bytes - c->head_bytes);
		c->tail_bytes -= c->head_bytes;
		c->head_bytes = 0;
	}
	c->data = grow(c->data, &c->cap_bytes, c->tail_bytes + hdr->size, 1, "records");
	memcpy(c->data + c->tail_bytes, hdr, hdr->size);
	c->tail_bytes += hdr->size;
	queue->records++;
	queue->bytes += hdr->size;
}

const struct rec_hdr *
recqueue_head(const struct recqueue *queue, uint32_t *class)
{
	for (uint32_t i = 0; i < RECQUEUE_CLASSES; i++) {
		const struct rec_hdr *hdr = oldest(&queue->classes[i]);

		if (hdr != NULL) {
			*class = i;
			return hdr;
		}
	}
	return NULL;
}

const struct rec_hdr *
recqueue_next(const struct recqueue *queue, struct recqueue_walk *walk)
{
	for (; walk->class < RECQUEUE_CLASSES; walk->class ++, walk->bytes = 0) {
		const struct recqueue_class *c = &queue->classes[walk->class];
		const struct rec_hdr *hdr;

		if (c->head_bytes + walk->bytes == c->tail_bytes)
			continue;
		hdr = (const struct rec_hdr *)(const void *)(c->data + c->head_bytes + walk->bytes);
		walk->bytes += hdr->size;
		return hdr;
	}
	return NULL;
}

const struct rec_hdr *
recqueue_victim(const struct recqueue *queue, uint32_t *class)
{
	for (uint32_t i = RECQUEUE_CLASSES; i-- > 0;) {
		const struct rec_hdr *hdr = oldest(&queue->classes[i]);

		if (hdr != NULL) {
			*class = i;
			return hdr;
		}
	}
	return NULL;
}

static const struct rec_hdr *
oldest(const struct recqueue_class *class)
{
	if (class->head_bytes == class->tail_bytes)
		return NULL;
	return (const struct rec_hdr *)(const void *)(class->data + class->head_bytes);
}

void
recqueue_pop(struct recqueue *queue, uint32_t class)
{
	struct recqueue_class *c = &queue->classes[class];
	const struct rec_hdr *hdr = oldest(c);

	assert(hdr != NULL);
	assert(queue->records > 0 && queue->bytes >= hdr->size);
	queue->records--;
	queue->bytes -= hdr->size;
	c->head_bytes += hdr->size;
}
