/* SPDX-License-Identifier: BSD-3-Clause */
/* Deficit weighted round robin over the data classes of a port (Shreedhar and Varghese, SIGCOMM 1995). */
#pragma once

#include <stdint.h>

#define DWRR_CLASSES 8

/* Configuration and state of one port. Quanta of at least one MTU make a choice in one round. */
struct dwrr {
	uint32_t quantum_bytes[DWRR_CLASSES];
	uint32_t deficit_bytes[DWRR_CLASSES];
	uint8_t current;
};

/*
 * Chooses the class that sends next and takes its frame off the deficit. A class that is not ready loses its deficit.
 * @param ready       bit p: class p has a frame and is not paused; not 0
 * @param head_bytes  length of the first frame of each ready class
 */
static inline uint8_t
dwrr_next(struct dwrr *dwrr, uint32_t ready, const uint32_t head_bytes[DWRR_CLASSES])
{
	for (;;) {
		uint8_t c = dwrr->current;

		if ((ready & 1u << c) == 0) {
			dwrr->deficit_bytes[c] = 0;
		} else if (head_bytes[c] <= dwrr->deficit_bytes[c]) {
			dwrr->deficit_bytes[c] -= head_bytes[c];
			return c;
		}
		c = (c + 1) % DWRR_CLASSES;
		dwrr->current = c;
		if (ready & 1u << c)
			dwrr->deficit_bytes[c] += dwrr->quantum_bytes[c];
	}
}
