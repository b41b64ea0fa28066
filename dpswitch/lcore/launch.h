/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's environment: poll-mode lcores for the window engine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "dpswitch/fabric/fabric.h"

#define LCORE_MEMORY_MB 64 /* enough for a fabric whose hosts are all embedded */

struct lcore_config {
	uint32_t lcores;
	/*
	 * Any lcore may run on any CPU of this process, wherever the kernel finds one idle: for virtual time, and several
	 * programs on one machine. Else lcore i has the i-th CPU, in each program the same.
	 */
	bool floats;
	uint32_t memory_mb; /* DPDK's, for frames of kernel hosts' ports; 0: LCORE_MEMORY_MB. Only used pages cost any */
	bool pci;           /* look for NICs: needs privileges and a driver bound to them */
	const char *eal;    /* further arguments of EAL, as a user wrote them; NULL: none */
};

/*
 * Starts EAL with the configured lcores, not more than CPUs. Needs neither hugepages, nor a NIC, nor privileges:
 * hugepages are used where enough are free (eal_args_make()).
 * @return 0, or -EINVAL with err set when the machine has fewer CPUs than lcores
 */
int lcore_init(const struct lcore_config *config, struct err *err);
void lcore_fini(void);

/* @return whether frames are in hugepages. After lcore_init() */
bool lcore_has_hugepages(void);

/* @return CPUs that this process may use: after lcore_init() */
uint32_t lcore_process_cpus(void);

/*
 * A thread inherits the CPUs of the one that starts it, and an lcore has only its own. Threads that are none are started
 * between these two calls, so that they keep clear of it; the second call brings this thread back.
 */
void lcore_unpin(void);
void lcore_pin(void);

/* Runs the fabric on all lcores; returns when the run has ended. @return 0 or -EIO */
int lcore_run(struct fabric *fabric, struct err *err);

/* Calibration: the cost of a hop that only moves packets, as a measure for the fabric's own hops. */

/*
 * Swaps the MAC addresses of packets that go round a DPDK net_ring port in bursts of 32: an mbuf hop without a queue.
 * Call after lcore_init().
 * @param packets  how many hops to time
 * @return CPU nanoseconds a hop; negative with err set when the port cannot be made
 */
double calibration_macswap_ns(uint64_t packets, struct err *err);
