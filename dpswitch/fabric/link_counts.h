/* SPDX-License-Identifier: BSD-3-Clause */
/* What both files of a link count. */
#pragma once

#include "dpswitch/fabric/link.h"

/* Of 802.1Qbb frames that one end has sent, or that have come in at the other. @param step  1, or -1: they have not */
static inline void
link_count_pauses(uint64_t of_class[8], const struct pause_frame *pauses, uint32_t count, uint64_t step)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t classes = pauses[i].prio_mask; classes != 0; classes &= classes - 1)
			of_class[__builtin_ctz(classes)] += step;
}

static inline uint64_t
link_bytes_of(const struct pkt *pkts, uint32_t count)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += pkts[i].wire_bytes;
	return bytes;
}
