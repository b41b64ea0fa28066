/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/port/port_round.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#define FRAMES 1024
#define RING_SLOTS 2048 /* room for all of them */
/* Of a frame, where its way changes something: ECN, TTL, the header's checksum. */
#define CHANGES_AT 14
#define CHANGES_BYTES 12

static struct port *
open_port(const struct port_config *config, struct port_rings *rings, struct err *err)
{
	char names[2][RTE_RING_NAMESIZE], device[PORT_MAX_NAME + 16];

	snprintf(names[0], sizeof(names[0]), "in_%.20s", config->name);
	snprintf(names[1], sizeof(names[1]), "out_%.20s", config->name);
	snprintf(device, sizeof(device), "net_ring_%s", config->name); /* as the driver names it */
	rings->receive = rte_ring_create(names[0], RING_SLOTS, SOCKET_ID_ANY, 0);
	rings->transmit = rte_ring_create(names[1], RING_SLOTS, SOCKET_ID_ANY, 0);
	if (rings->receive == NULL || rings->transmit == NULL ||
	    rte_eth_from_rings(config->name, &rings->receive, 1, &rings->transmit, 1, (unsigned)SOCKET_ID_ANY) < 0) {
		err_set(err, -EIO, "port of %s: no device on rings: %s", config->name, rte_strerror(rte_errno));
		return NULL;
	}
	return port_ethdev_create(config, device, err);
}

int
port_round_init(struct port_round *round, const struct port_config ends[2], const uint8_t *frame, uint32_t frame_bytes,
		struct err *err)
{
	*round = (struct port_round){ .frame = frame };
	for (int i = 0; i < 2; i++) {
		round->ports[i] = open_port(&ends[i], &round->rings[i], err);
		if (round->ports[i] == NULL)
			return -EIO;
	}
	for (uint32_t i = 0; i < FRAMES; i++) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(round->ports[0]->pool);

		if (mbuf == NULL || rte_ring_enqueue(round->rings[0].receive, mbuf) < 0)
			return err_set(err, -ENOMEM, "port of %s: no memory for %u frames", ends[0].name, FRAMES);
		memcpy(rte_pktmbuf_append(mbuf, (uint16_t)frame_bytes), frame, frame_bytes);
	}
	return 0;
}

void
port_round_fini(struct port_round *round)
{
	for (int i = 0; i < 2; i++) {
		port_close(round->ports[i]);
		rte_ring_free(round->rings[i].receive);
		rte_ring_free(round->rings[i].transmit);
	}
}

void
port_round_turn(const struct port_round *round)
{
	struct rte_mbuf *mbufs[PORT_BURST];
	uint32_t n;

	while ((n = rte_ring_dequeue_burst(round->rings[1].transmit, (void **)mbufs, PORT_BURST, NULL)) != 0) {
		for (uint32_t i = 0; i < n; i++)
			memcpy(rte_pktmbuf_mtod_offset(mbufs[i], uint8_t *, CHANGES_AT), round->frame + CHANGES_AT,
			       CHANGES_BYTES);
		rte_ring_enqueue_bulk(round->rings[0].receive, (void **)mbufs, n, NULL);
	}
}
