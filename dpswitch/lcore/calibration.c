/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/lcore/calibration.h"

#include <errno.h>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "common/clock.h"

#define BURST 32
#define IN_FLIGHT 256
#define RING_SIZE 512
#define FRAME_BYTES 1024

static void
swap_macs(struct rte_mbuf **pkts, uint16_t count)
{
	for (uint16_t i = 0; i < count; i++) {
		struct rte_ether_hdr *eth = rte_pktmbuf_mtod(pkts[i], struct rte_ether_hdr *);
		struct rte_ether_addr src = eth->src_addr;

		eth->src_addr = eth->dst_addr;
		eth->dst_addr = src;
	}
}

/* A port whose transmit ring is its receive ring. @return port id or negative */
static int
loop_port(struct rte_mempool *pool, struct rte_ring *ring)
{
	static const struct rte_eth_conf conf;
	int port = rte_eth_from_rings("yardstick", &ring, 1, &ring, 1, 0);

	if (port < 0 || rte_eth_dev_configure((uint16_t)port, 1, 1, &conf) < 0 ||
	    rte_eth_rx_queue_setup((uint16_t)port, 0, RING_SIZE, 0, NULL, pool) < 0 ||
	    rte_eth_tx_queue_setup((uint16_t)port, 0, RING_SIZE, 0, NULL) < 0 || rte_eth_dev_start((uint16_t)port) < 0)
		return -EIO;
	return port;
}

double
calibration_macswap_ns(uint64_t packets, struct err *err)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create("yardstick", 1023, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	struct rte_ring *ring = rte_ring_create("yardstick", RING_SIZE, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	int port = pool != NULL && ring != NULL ? loop_port(pool, ring) : -EIO;
	struct rte_mbuf *pkts[BURST];
	uint64_t hops = 0, start_ns;
	double ns;

	if (port < 0)
		return err_set(err, port, "no net_ring port for the yardstick");
	for (uint32_t i = 0; i < IN_FLIGHT; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

		if (m == NULL || rte_pktmbuf_append(m, FRAME_BYTES) == NULL || rte_ring_enqueue(ring, m) < 0)
			return err_set(err, -ENOMEM, "no mbufs for the yardstick");
	}
	start_ns = clock_cpu_ns();
	while (hops < packets) {
		uint16_t count = rte_eth_rx_burst((uint16_t)port, 0, pkts, BURST);

		swap_macs(pkts, count);
		if (count == 0 || rte_eth_tx_burst((uint16_t)port, 0, pkts, count) != count)
			return err_set(err, -EIO, "the yardstick's ring lost a packet");
		hops += count;
	}
	ns = (double)(clock_cpu_ns() - start_ns) / (double)hops;
	rte_eth_dev_stop((uint16_t)port);
	rte_eth_dev_close((uint16_t)port);
	rte_ring_free(ring);
	rte_mempool_free(pool);
	return ns;
}
