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

	if (ring == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		ring[i] = *fifo_at(fifo, i);
	free(fifo->ring);
	fifo->ring = ring;
	fifo->cap = cap;
	fifo->head = 0;
	fifo->tail = count;
	return 0;
}

void
fifo_fini(struct fifo *fifo)
{
	free(fifo->ring);
	memset(fifo, 0, sizeof(*fifo));
}
