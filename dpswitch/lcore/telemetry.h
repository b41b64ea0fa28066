/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK's telemetry socket (--eal --telemetry; dpdk-telemetry.py) answers for a running fabric's switches:
 *   /rocelab/ports[,FROM]  names of the ports, "leaf0:1", in the order of their numbers
 *   /rocelab/port,N        what one counts, by the names that SONiC has for it
 *   /rocelab/pfc[,FROM]    ports with PFC frames, or paused just now
 *   /rocelab/ecmp[,FROM]   sets of ports of equal cost, and what each port has sent
 * A reply has 16 KB of room: FROM is the number to go on from, which a truncated reply names as "next".
 */
#pragma once

#include "common/err.h"

struct counters;

/*
 * Commands answer from counters, on a thread of DPDK's for every connection. After lcore_init(); one fabric at a time.
 * @return 0, or -EIO with err set: DPDK does not take the commands
 */
int telemetry_open(struct counters *counters, struct err *err);
/* Commands answer nothing any more; waits for one that does just now. */
void telemetry_close(void);
