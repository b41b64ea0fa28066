/* SPDX-License-Identifier: BSD-3-Clause */
/* The window engine with two trivial nodes on one cable of 500 ns, receivers of 500 ns: windows of 1 us. */
#pragma once

#include <pthread.h>

#include "common/err.h"
#include "dpswitch/fabric/fabric.h"
#include "topo/topo.h"

#define MAX_WINDOWS 100000
#define RATE 100000000000ULL

/* Sends a frame at each of its times and every arrival back, until a packet's TTL is spent. */
struct echo {
	struct node node; /* first */
	const uint64_t *times;
	uint32_t ntimes, next;
	uint32_t ttl;
	struct window windows[MAX_WINDOWS];
	uint32_t nwindows;
	uint64_t arrivals[64];
	uint32_t narrivals;
	uint64_t free_ps;
	/* the window in which it changes its status, and to what */
	uint64_t status_ps;
	enum node_status status;
	pthread_t starter;          /* who called pair_start() */
	uint32_t nelsewhere;        /* windows that another thread ran */
	uint64_t progress_until_ps; /* a byte of progress a window until then */
};

struct pair {
	struct topo topo;
	struct topo_node nodes[2];
	struct topo_port ports[2];
	struct fabric_config config;
	struct fabric *fabric;
	struct echo *echo[2];
	struct err err;
	uint64_t changes[8]; /* times at which the hook was informed of a change */
	uint32_t nchanges;
	uint64_t collected[8];
	uint32_t ncollected;
};

/* What the test changes in config, ports and echoes before pair_start() counts. */
void pair_init(struct pair *pair);
/* Makes the fabric, both nodes on one lcore unless config says otherwise. */
void pair_start(struct pair *pair);
void pair_stop(struct pair *pair);
