/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/integration/port_guest.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/prng.h"

#define BURST 32
#define TAKES 64 /* frames that it has room for until it looks again: fewer than the port offers at once */
#define LAZY_NS (20 * 1000 * 1000)
#define GIVE_UP_NS (60ull * 1000 * 1000 * 1000)
#define ROOM 10240

uint32_t
guest_frame(uint32_t n, uint8_t bytes[GUEST_MAX_BYTES])
{
	struct prng prng;
	uint32_t size;

	prng_init(&prng, 99, n);
	size = 60 + (uint32_t)prng_below(&prng, GUEST_MAX_BYTES - 60);
	for (uint32_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)prng_next(&prng);
	return size;
}

static int
open_device(const char *path)
{
	static const struct rte_eth_conf conf;
	struct rte_mempool *pool = NULL;
	char vdev[256];
	char *argv[] = { (char[]){ "guest" },
			 (char[]){ "--no-huge" },
			 (char[]){ "--no-pci" },
			 (char[]){ "--no-shconf" },
			 (char[]){ "-m" },
			 (char[]){ "64" },
			 (char[]){ "--no-telemetry" },
			 (char[]){ "--log-level" },
			 (char[]){ "*:error" },
			 (char[]){ "-l" },
			 (char[]){ "0" },
			 (char[]){ "--vdev" },
			 vdev };

	snprintf(vdev, sizeof(vdev), "net_virtio_user0,path=%s,queue_size=256", path);
	if (rte_eal_init(ARRAY_LEN(argv), argv) < 0)
		return -1;
	pool = rte_pktmbuf_pool_create("guest", 2047, 0, 0, ROOM + RTE_PKTMBUF_HEADROOM, 0);
	if (pool == NULL || rte_eth_dev_configure(0, 1, 1, &conf) < 0 ||
	    rte_eth_rx_queue_setup(0, 0, TAKES, 0, NULL, pool) < 0 || rte_eth_tx_queue_setup(0, 0, 256, 0, NULL) < 0 ||
	    rte_eth_dev_start(0) < 0)
		return -1;
	return 0;
}

/* @return frames that the ring took */
static uint32_t
send_some(struct rte_mempool *pool, uint32_t next, uint32_t frames)
{
	uint32_t sent = 0;

	for (; next + sent < frames && sent < BURST; sent++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
		uint8_t bytes[GUEST_MAX_BYTES];
		uint32_t size = guest_frame(next + sent, bytes);

		if (m == NULL)
			return sent;
		memcpy(rte_pktmbuf_append(m, (uint16_t)size), bytes, size);
		if (rte_eth_tx_burst(0, 0, &m, 1) == 1)
			continue;
		rte_pktmbuf_free(m);
		return sent;
	}
	return sent;
}

/* @return frames that came, UINT32_MAX: one was wrong */
static uint32_t
look(uint32_t next)
{
	struct rte_mbuf *mbufs[256];
	uint8_t want[GUEST_MAX_BYTES], got[GUEST_MAX_BYTES];
	uint16_t n = rte_eth_rx_burst(0, 0, mbufs, 256);

	for (uint16_t i = 0; i < n; i++) {
		uint32_t size = guest_frame(next + i, want);

		if (rte_pktmbuf_pkt_len(mbufs[i]) != size ||
		    memcmp(rte_pktmbuf_read(mbufs[i], 0, size, got), want, size) != 0)
			return UINT32_MAX;
		rte_pktmbuf_free(mbufs[i]);
	}
	return n;
}

static int
guest_main(const char *path, uint32_t frames)
{
	uint64_t give_up_ns = clock_now_ns() + GIVE_UP_NS, look_ns = 0;
	uint32_t sent = 0, got = 0;

	if (open_device(path) < 0)
		return 2;
	while (got < frames && clock_now_ns() < give_up_ns) {
		sent += send_some(rte_mempool_lookup("guest"), sent, frames);
		if (clock_now_ns() >= look_ns) {
			uint32_t n = look(got);

			if (n == UINT32_MAX)
				return 3;
			got += n;
			look_ns = clock_now_ns() + LAZY_NS;
		}
		clock_sleep_until_ns(clock_now_ns() + 50 * 1000);
	}
	return got == frames ? 0 : 4;
}

pid_t
guest_start(const char *path, uint32_t frames)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int tries = 0; access(path, F_OK) != 0 && tries < 6000; tries++)
		clock_sleep_until_ns(clock_now_ns() + 10 * 1000 * 1000);
	_exit(guest_main(path, frames));
}
