/* SPDX-License-Identifier: BSD-3-Clause */
/* What a host with its own RDMA device asks of a scenario beyond what an embedded one does. */
#pragma once

#include "scenario/scenario.h"

/*
 * Checks the flows that start or end at a host: ports that a RoCEv2 device can use, one NIC, an IBTA path MTU.
 * @return 0 or -EINVAL with err set: file:line, the value, what would be right
 */
int kernel_host_check(const struct scenario *scenario, uint32_t node, struct err *err);

/*
 * The slowest link of every flow's path.
 * @return [flows], the caller's to free; NULL without memory or path, with err set
 */
uint64_t *kernel_host_slowest_bps(const struct scenario *scenario, struct err *err);
