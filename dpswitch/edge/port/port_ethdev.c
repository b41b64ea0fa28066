/* SPDX-License-Identifier: BSD-3-Clause */
/* A port on any DPDK ethernet device: tap, af_packet, memif, pcap, null, ring, or a NIC. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "dpswitch/edge/port/port.h"

#define RING_SIZE 512

struct port_ethdev {
	struct port port; /* first */
	uint16_t id;
	uint16_t nstash, next; /* received to see whether there was anything */
	struct rte_mbuf *stash[PORT_BURST];
	bool started;
};

static uint16_t
take(struct port_ethdev *dev, struct rte_mbuf **mbufs)
{
	uint16_t n = rte_eth_rx_burst(dev->id, 0, mbufs, PORT_BURST);

	if (n == 0)
		port_starved(&dev->port);
	return n;
}

static void
fill(struct port_ethdev *dev)
{
	dev->next = 0;
	dev->nstash = take(dev, dev->stash);
}

static uint16_t
receive(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	struct port_ethdev *dev = (struct port_ethdev *)port;
	uint16_t n;

	if (dev->next == dev->nstash && count >= PORT_BURST) {
		n = take(dev, mbufs);
	} else {
		if (dev->next == dev->nstash)
			fill(dev);
		n = (uint16_t)RTE_MIN(count, dev->nstash - dev->next);
		memcpy(mbufs, dev->stash + dev->next, n * sizeof(*mbufs));
		dev->next += n;
	}
	port->count.rx_packets += n;
	for (uint16_t i = 0; i < n; i++)
		port->count.rx_bytes += rte_pktmbuf_pkt_len(mbufs[i]);
	return n;
}

static uint16_t
transmit(struct port *port, struct rte_mbuf **mbufs, uint16_t count)
{
	struct port_ethdev *dev = (struct port_ethdev *)port;
	uint64_t bytes = 0;
	uint16_t n;

	for (uint16_t i = 0; i < count; i++)
		bytes += rte_pktmbuf_pkt_len(mbufs[i]);
	n = rte_eth_tx_burst(dev->id, 0, mbufs, count);
	for (uint16_t i = n; i < count; i++)
		bytes -= rte_pktmbuf_pkt_len(mbufs[i]);
	port->count.tx_packets += n;
	port->count.tx_bytes += bytes;
	port->count.tx_refused += n < count;
	return n;
}

static bool
pending(struct port *port)
{
	struct port_ethdev *dev = (struct port_ethdev *)port;

	if (dev->next == dev->nstash)
		fill(dev);
	return dev->next != dev->nstash;
}

static bool
up(struct port *port)
{
	const struct port_ethdev *dev = (const struct port_ethdev *)port;
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(dev->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

static void
close_device(struct port *port)
{
	struct port_ethdev *dev = (struct port_ethdev *)port;
	struct rte_eth_dev_info info = { 0 };

	rte_pktmbuf_free_bulk(dev->stash + dev->next, dev->nstash - dev->next);
	if (dev->id != RTE_MAX_ETHPORTS) {
		bool known = rte_eth_dev_info_get(dev->id, &info) == 0;

		if (dev->started)
			rte_eth_dev_stop(dev->id);
		rte_eth_dev_close(dev->id);
		if (known && info.device != NULL)
			rte_dev_remove(info.device);
	}
	free(dev);
}

static const struct port_ops ops = {
	.receive = receive,
	.transmit = transmit,
	.pending = pending,
	.up = up,
	.close = close_device,
};

/* Most virtual devices take any frame and do not report it; a tap refuses longer ones. */
static int
set_mtu(const struct port_ethdev *dev, uint16_t mtu)
{
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_set_mtu(dev->id, mtu);

	if (ret == 0 || rte_eth_dev_info_get(dev->id, &info) < 0)
		return ret;
	return strcmp(info.driver_name, "net_tap") == 0 ? ret : 0;
}

/* Drivers return -1 where they have no errno for it, which is not EPERM then; the error is in DPDK's own lines. */
static const char *
reason(int ret)
{
	return ret == -1 ? "the driver refused it" : strerror(-ret);
}

/* Brings the device up. @return 0 or negative with what failed in *what */
static int
start(struct port_ethdev *dev, uint16_t mtu, const char **what)
{
	static const struct rte_eth_conf conf;
	uint16_t in = RING_SIZE, out = RING_SIZE;
	int ret;

	*what = "configuration";
	ret = rte_eth_dev_configure(dev->id, 1, 1, &conf);
	if (ret < 0)
		return ret;
	ret = mtu != 0 ? set_mtu(dev, mtu) : 0;
	*what = "MTU, which a tap has of 1500 at most (net_af_packet on a tap of the kernel's takes any)";
	if (ret < 0)
		return ret;
	*what = "queues";
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(dev->id, &in, &out); /* to what the device can have */
	if (ret == 0)
		ret = rte_eth_rx_queue_setup(dev->id, 0, in, rte_eth_dev_socket_id(dev->id), NULL, dev->port.pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(dev->id, 0, out, rte_eth_dev_socket_id(dev->id), NULL);
	if (ret < 0)
		return ret;
	*what = "start";
	ret = rte_eth_dev_start(dev->id);
	dev->started = ret == 0;
	if (ret == 0)
		rte_eth_promiscuous_enable(dev->id); /* where it can be */
	return ret;
}

/* @return 0 with dev->id, or negative with err set */
static int
find_device(struct port_ethdev *dev, const char *devargs, struct err *err)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	int ret;

	if (rte_eth_dev_get_port_by_name(devargs, &dev->id) == 0)
		return 0;
	ret = rte_dev_probe(devargs);
	if (ret < 0)
		return err_set(err, ret,
			       "port of %s: \"%s\": %s; give DPDK device arguments, as \"net_af_packet0,iface=veth0\"",
			       dev->port.name, devargs, reason(ret));
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(devargs, ","), devargs);
	ret = rte_eth_dev_get_port_by_name(name, &dev->id);
	if (ret < 0)
		return err_set(err, ret, "port of %s: \"%s\" is no ethernet device", dev->port.name, devargs);
	return 0;
}

struct port *
port_ethdev_create(const struct port_config *config, const char *devargs, struct err *err)
{
	struct port_ethdev *dev = calloc(1, sizeof(*dev));
	const char *what = NULL;
	int ret;

	if (dev == NULL) {
		errno = -err_set(err, -ENOMEM, "out of memory for a port");
		return NULL;
	}
	dev->id = RTE_MAX_ETHPORTS;
	ret = port_init(&dev->port, &ops, config, err);
	if (ret < 0)
		goto fail;
	ret = find_device(dev, devargs, err);
	if (ret < 0)
		goto fail;
	ret = start(dev, config->mtu, &what);
	if (ret == 0)
		return &dev->port;
	err_set(err, ret, "port of %s: \"%s\": %s: %s", config->name, devargs, what, reason(ret));
fail:
	if (dev->port.pool != NULL)
		port_close(&dev->port);
	else
		free(dev);
	errno = -ret;
	return NULL;
}
