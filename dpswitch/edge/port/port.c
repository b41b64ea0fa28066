/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/port/port.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/hash.h"

#define POOL_NAME_ROOM (RTE_MEMPOOL_NAMESIZE - sizeof("port_")) /* of a host's name, with the end */
#define DIGITS 8

/*
 * The mbuf that was freed last is allocated first, so that few frames in flight stay few in the cache; a ring, which
 * pools have by default, would go through all of its mbufs, and each frame be written to memory that was not touched
 * for long.
 */
#define POOL_OPS "stack"
#define POOL_CACHE 128

/*
 * DPDK takes fewer characters than a host's name may have: a longer one is truncated, and a digest of all of it keeps
 * it unique.
 */
static void
name_pool(char pool[RTE_MEMPOOL_NAMESIZE], const char *host)
{
	char padded[PORT_MAX_NAME] = "";
	size_t length = strlen(host);

	if (length < POOL_NAME_ROOM) {
		snprintf(pool, RTE_MEMPOOL_NAMESIZE, "port_%s", host);
		return;
	}
	memcpy(padded, host, length);
	snprintf(pool, RTE_MEMPOOL_NAMESIZE, "port_%.*s-%0*x", (int)(POOL_NAME_ROOM - DIGITS - 2), host, DIGITS,
		 (uint32_t)digest_bytes(DIGEST_INIT, padded, sizeof(padded)));
}

int
port_init(struct port *port, const struct port_ops *ops, const struct port_config *config, struct err *err)
{
	uint32_t mbufs = config->mbufs != 0 ? config->mbufs : PORT_MBUFS;
	uint32_t room_bytes = config->room_bytes != 0 ? config->room_bytes : PORT_FRAME_ROOM;
	uint32_t cache = mbufs / (4 * rte_lcore_count()); /* one that only frees keeps half as many again */
	char pool[RTE_MEMPOOL_NAMESIZE];

	cache = cache < POOL_CACHE ? cache : POOL_CACHE;
	if (strlen(config->name) >= sizeof(port->name))
		return err_set(err, -EINVAL, "port of %s: a host's name has at most %zu characters", config->name,
			       sizeof(port->name) - 1);
	port->ops = ops;
	strcpy(port->name, config->name);
	name_pool(pool, config->name);
	port->pool = rte_pktmbuf_pool_create_by_ops(pool, mbufs, mbufs > 4 * POOL_CACHE ? cache : 0, 0,
						    (uint16_t)(RTE_PKTMBUF_HEADROOM + room_bytes), (int)rte_socket_id(),
						    POOL_OPS);
	if (port->pool == NULL)
		return err_set(err, -rte_errno,
			       "port of %s: no memory for %u frames of %u B (%s): give DPDK more (-m), or the port fewer",
			       config->name, mbufs, room_bytes, rte_strerror(rte_errno));
	return 0;
}

struct port *
port_open(const struct port_config *config, const char *where, struct err *err)
{
	static const char vhost_prefix[] = "vhost:";

	if (strncmp(where, vhost_prefix, sizeof(vhost_prefix) - 1) == 0)
		return port_vhost_create(config, where + sizeof(vhost_prefix) - 1, err);
	return port_ethdev_create(config, where, err);
}

void
port_starved(struct port *port)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(port->pool);

	port->count.rx_starved += mbuf == NULL;
	rte_pktmbuf_free(mbuf);
}

void
port_close(struct port *port)
{
	struct rte_mempool *pool;

	if (port == NULL)
		return;
	pool = port->pool;
	port->ops->close(port);
	rte_mempool_free(pool);
}

/* A port whose peer is a stopwatch. */

struct port_probe {
	struct port port; /* first */
	struct probe *probe;
	bool sends;
	uint64_t due_ns;
};

static bool
pending(struct port *port)
{
	const struct port_probe *p = (const struct port_probe *)port;

	return p->sends && p->probe->taken < PROBE_SAMPLES && clock_now_ns() >= p->due_ns;
}

static uint16_t
receive(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	struct port_probe *p = (struct port_probe *)port;
	uint64_t now_ns = clock_now_ns();
	uint8_t *bytes;

	if (count == 0 || !pending(port))
		return 0;
	mbufs[0] = rte_pktmbuf_alloc(port->pool);
	if (mbufs[0] == NULL)
		return 0;
	bytes = (uint8_t *)rte_pktmbuf_append(mbufs[0], (uint16_t)p->probe->frame_bytes);
	memcpy(bytes, p->probe->frame, p->probe->frame_bytes);
	memcpy(bytes + p->probe->stamp_at, &now_ns, sizeof(now_ns));
	p->due_ns = now_ns + p->probe->interval_ns;
	port->count.rx_packets++;
	port->count.rx_bytes += p->probe->frame_bytes;
	return 1;
}

static uint16_t
transmit(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	struct probe *probe = ((struct port_probe *)port)->probe;
	uint64_t now_ns = clock_now_ns(), sent_ns;

	for (uint16_t i = 0; i < count && probe->taken < PROBE_SAMPLES; i++) {
		if (rte_pktmbuf_data_len(mbufs[i]) != probe->frame_bytes)
			continue;
		memcpy(&sent_ns, rte_pktmbuf_mtod_offset(mbufs[i], uint8_t *, probe->stamp_at), sizeof(sent_ns));
		probe->taken_ns[probe->taken++] = (uint32_t)(now_ns - sent_ns);
	}
	rte_pktmbuf_free_bulk(mbufs, count);
	port->count.tx_packets += count;
	return count;
}

static bool
up(struct port *port)
{
	(void)port;
	return true;
}

static void
close_probe(struct port *port)
{
	free(port);
}

static const struct port_ops ops = {
	.receive = receive,
	.transmit = transmit,
	.pending = pending,
	.up = up,
	.close = close_probe,
};

struct port *
port_probe_create(const struct port_config *config, struct probe *probe, bool sends, struct err *err)
{
	struct port_probe *p = calloc(1, sizeof(*p));
	int ret = p != NULL ? port_init(&p->port, &ops, config, err) : err_set(err, -ENOMEM, "out of memory for a port");

	if (ret == 0) {
		p->probe = probe;
		p->sends = sends;
		return &p->port;
	}
	free(p);
	errno = -ret;
	return NULL;
}
