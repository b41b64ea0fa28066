/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/queue/fifo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIFO_FIRST_CAP 64

int
fifo_grow(struct fifo *fifo)
{
	uint32_t count = fifo_count(fifo);
	uint32_t cap = fifo->cap != 0 ? fifo->cap * 2 : FIFO_FIRST_CAP;
	struct pkt *ring = malloc(cap * sizeof(*ring));
	struct int_header *ints = fifo->inband ? malloc(cap * sizeof(*ints)) : NULL;

	if (ring == NULL || (fifo->inband && ints == NULL)) {
		free(ring);
		free(ints);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++) {
		ring[i] = *fifo_at(fifo, i);
		if (ints != NULL)
			ints[i] = *fifo_int(fifo, fifo_at(fifo, i));
	}
	free(fifo->ring);
	free(fifo->ints);
	fifo->ring = ring;
	fifo->ints = ints;
	fifo->cap = cap;
	fifo->head = 0;
	fifo->tail = count;
	return 0;
}

void
fifo_fini(struct fifo *fifo)
{
	free(fifo->ring);
	free(fifo->ints);
	memset(fifo, 0, sizeof(*fifo));
}
