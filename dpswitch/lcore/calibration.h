/* SPDX-License-Identifier: BSD-3-Clause */
/* What a hop costs when nothing is done but to move it: the measure for the fabric's own hops. */
#pragma once

#include <stdint.h>

#include "common/err.h"

/*
 * Swaps the MAC addresses of packets that go round a DPDK net_ring port in bursts of 32: an mbuf hop without a queue.
 * Call after lcore_init().
 * @param packets  how many hops to time
 * @return CPU nanoseconds a hop; negative with err set when the port cannot be made
 */
double calibration_macswap_ns(uint64_t packets, struct err *err);
