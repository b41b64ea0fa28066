/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fault does to a host's NIC, beside what one does to its cable. */
#pragma once

#include <stdint.h>

/* How it fails; bits. Its link stays up. */
enum nic_failure {
	NIC_HANGS = 1,     /* it takes in nothing and sends nothing, and counts neither */
	NIC_NO_ROUTES = 2, /* it knows no way to anybody: what it is to send it drops, by name */
	NIC_NO_GID = 4,    /* it knows no packet for its own, and has no address to send by: as if it hung */
	NIC_FROZEN = 8,    /* its whole host is: see struct node_ops.freeze */
};

/* Why its DMA is slow: each of the two adds to the other. */
enum nic_dma_cause { NIC_DMA_LINK, NIC_DMA_PATH, NIC_DMA_CAUSES };

/* All zero: its DMA keeps up with the line. */
struct nic_dma {
	uint64_t rate_bps;   /* in each direction; 0: as fast as the line */
	uint64_t delay_ps;   /* until what came in is in memory, and the host knows */
	uint64_t xoff_bytes; /* that wait for DMA at which it pauses its peer; at half of that the peer may go on */
};
