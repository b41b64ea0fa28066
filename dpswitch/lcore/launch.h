/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's environment: poll-mode lcores for the window engine. */
#pragma once

#include <stdint.h>

#include "common/err.h"
#include "dpswitch/fabric/fabric.h"

/*
 * Starts EAL with so many lcores, one a CPU. Needs neither hugepages, nor a NIC, nor privileges.
 * @return 0, or -EINVAL with err set when the machine has fewer CPUs than lcores
 */
int lcore_init(uint32_t lcores, struct err *err);
void lcore_fini(void);

/* Runs the fabric on all lcores; returns when the run has ended. @return 0 or -EIO */
int lcore_run(struct fabric *fabric, struct err *err);
