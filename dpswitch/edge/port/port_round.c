/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/port/port_round.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "common/clock.h"

#define FRAMES 1024
#define RING_SLOTS 2048 /* room for all of them */
#define DOWN_NS 1000000000ULL
#define SETTLE_NS 50000000ULL
#define PEER_FRAMES 256 /* drivers have room for them in each direction */
#define PEER_MBUFS 2047 /* a queue in each direction full of them, and those in flight */
/* Bytes of a frame that its path changes: ECN, TTL, the header's checksum. */
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

static int
fill_ring(const struct port_round *round, struct err *err)
{
	for (uint32_t i = 0; i < FRAMES; i++) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(round->ports[0]->pool);

		if (mbuf == NULL || rte_ring_enqueue(round->rings[0].receive, mbuf) < 0)
			return err_set(err, -ENOMEM, "port of %s: no memory for %u frames", round->ports[0]->name, FRAMES);
		memcpy(rte_pktmbuf_append(mbuf, (uint16_t)round->frame_bytes), round->frame, round->frame_bytes);
	}
	return 0;
}

/* A port and its peer. @param end  0: the source */
static int
open_pair(struct port_round *round, int end, const struct port_config *config, const char *dir, struct err *err)
{
	static const char *const veths[] = PORT_ROUND_VETHS;
	char name[PORT_MAX_NAME], device[2][PATH_MAX + 64];
	const struct port_config peer = { .name = name, .mbufs = PEER_MBUFS };

	snprintf(name, sizeof(name), "peer%d", end);
	switch (round->kind) {
	case PORT_ROUND_MEMIF:
		for (int i = 0; i < 2; i++)
			snprintf(device[i], sizeof(device[i]), "net_memif%d,role=%s,socket=%s/memif%d,socket-abstract=no",
				 2 * end + i, i == 0 ? "server" : "client", dir, end);
		break;
	case PORT_ROUND_VHOST:
		snprintf(device[0], sizeof(device[0]), "vhost:%s/vhost%d", dir, end);
		snprintf(device[1], sizeof(device[1]), "net_virtio_user%d,path=%s/vhost%d,queue_size=512", end, dir, end);
		break;
	default:
		for (int i = 0; i < 2; i++)
			snprintf(device[i], sizeof(device[i]), "net_af_packet%d,iface=%s", 2 * end + i, veths[2 * end + i]);
		break;
	}
	round->ports[end] = port_open(config, device[0], err);
	if (round->ports[end] != NULL)
		round->peers[end] = port_open(&peer, device[1], err);
	return round->peers[end] != NULL ? 0 : -EIO;
}

int
port_round_init(struct port_round *round, enum port_round_kind kind, const struct port_config ends[2], const char *dir,
		const uint8_t *frame, uint32_t frame_bytes, struct err *err)
{
	int ret = 0;

	*round = (struct port_round){ .kind = kind, .frame = frame, .frame_bytes = frame_bytes };
	for (int i = 0; i < 2 && ret == 0; i++) {
		if (kind != PORT_ROUND_RING) {
			ret = open_pair(round, i, &ends[i], dir, err);
			continue;
		}
		round->ports[i] = open_port(&ends[i], &round->rings[i], err);
		ret = round->ports[i] != NULL ? 0 : -EIO;
	}
	if (ret == 0 && kind == PORT_ROUND_RING)
		return fill_ring(round, err);
	round->wanting = PEER_FRAMES;
	return ret;
}

/*
 * The end of a port's peer is reported on a thread of DPDK's, which must be through with it before the port is closed.
 */
static void
wait_down(struct port *port)
{
	uint64_t end_ns = clock_now_ns() + DOWN_NS;

	while (port_up(port) && clock_now_ns() < end_ns)
		clock_sleep_until_ns(clock_now_ns() + SETTLE_NS / 10);
	clock_sleep_until_ns(clock_now_ns() + SETTLE_NS);
}

void
port_round_fini(struct port_round *round)
{
	rte_pktmbuf_free_bulk(round->kept, round->nkept);
	/* A guest goes before the switch that it is at. */
	for (int i = 0; i < 2; i++)
		if (round->peers[i] != NULL)
			port_close(round->peers[i]);
	for (int i = 0; i < 2; i++) {
		if (round->kind == PORT_ROUND_MEMIF && round->ports[i] != NULL)
			wait_down(round->ports[i]);
		if (round->ports[i] != NULL)
			port_close(round->ports[i]);
		rte_ring_free(round->rings[i].receive);
		rte_ring_free(round->rings[i].transmit);
	}
}

static void
put_back(const struct port_round *round, struct rte_mbuf **mbufs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		memcpy(rte_pktmbuf_mtod_offset(mbufs[i], uint8_t *, CHANGES_AT), round->frame + CHANGES_AT, CHANGES_BYTES);
}

static void
turn_rings(struct port_round *round)
{
	struct rte_mbuf *mbufs[PORT_BURST];
	uint32_t n;

	while ((n = rte_ring_dequeue_burst(round->rings[1].transmit, (void **)mbufs, PORT_BURST, NULL)) != 0) {
		put_back(round, mbufs, n);
		rte_ring_enqueue_bulk(round->rings[0].receive, (void **)mbufs, n, NULL);
	}
}

/* Gives the source's peer the kept frames. @return whether it took all */
static bool
send_kept(struct port_round *round)
{
	uint16_t n = round->nkept != 0 ? port_transmit(round->peers[0], round->kept, (uint16_t)round->nkept) : 0;

	memmove(round->kept, round->kept + n, (round->nkept - n) * sizeof(*round->kept));
	round->nkept -= n;
	return round->nkept == 0;
}

/* New frames, until the wanted number is in flight. */
static void
bring_in(struct port_round *round)
{
	while (round->nkept < PORT_BURST && round->wanting != 0) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(round->peers[0]->pool);

		if (mbuf == NULL)
			return;
		memcpy(rte_pktmbuf_append(mbuf, (uint16_t)round->frame_bytes), round->frame, round->frame_bytes);
		round->kept[round->nkept++] = mbuf;
		round->wanting--;
	}
}

static void
turn_peers(struct port_round *round)
{
	for (int i = 0; i < 2; i++) {
		port_tend(round->ports[i]);
		port_tend(round->peers[i]);
	}
	if (round->wanting != 0 && port_up(round->ports[0]) && port_up(round->ports[1]) && port_up(round->peers[0]) &&
	    port_up(round->peers[1]))
		bring_in(round);
	while (send_kept(round)) {
		round->nkept = port_receive(round->peers[1], round->kept, PORT_BURST);
		if (round->nkept == 0)
			return;
		put_back(round, round->kept, round->nkept);
	}
}

void
port_round_turn(struct port_round *round)
{
	if (round->kind == PORT_ROUND_RING)
		turn_rings(round);
	else
		turn_peers(round);
}
