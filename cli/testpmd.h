/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's own forwarder as a measure: what a packet costs that is only moved. */
#pragma once

#include <stdint.h>

#include "common/err.h"

/*
 * Forwards frames of a file again and again from net_pcap to net_null, or a few frames round and round over two net_rings. What
 * starting costs is not counted.
 * @param mode    "io", "macswap"
 * @param dir     for what it leaves
 * @param frames  the file; NULL: rings
 * @return nanoseconds of processor time a packet; 0 where dpdk-testpmd is not installed; negative with err set
 */
double testpmd_packet_ns(const char *mode, const char *dir, const char *frames, struct err *err);
