/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/queue/fifo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIFO_FIRST_CAP 16

int
fifo_grow(struct fifo *fifo)
{
	struct fifo wide = *fifo;

	wide.cap = fifo->cap != 0 ? fifo->cap * 2 : FIFO_FIRST_CAP;
	wide.head = 0;
	wide.tail = fifo_count(fifo);
	wide.ring = malloc(wide.cap * (sizeof(*wide.ring) + (fifo->inband ? sizeof(struct int_header) : 0)));
	if (wide.ring == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < wide.tail; i++) {
		wide.ring[i] = *fifo_at(fifo, i);
		if (fifo->inband)
			*fifo_int(&wide, &wide.ring[i]) = *fifo_int(fifo, fifo_at(fifo, i));
	}
	free(fifo->ring);
	*fifo = wide;
	return 0;
}

void
fifo_fini(struct fifo *fifo)
{
	free(fifo->ring);
	memset(fifo, 0, sizeof(*fifo));
}
