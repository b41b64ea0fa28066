/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's own forwarder as a measure: what a packet costs that is only moved. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

#define TESTPMD_PORTS 4
#define TESTPMD_DIR_BYTES 80 /* of a folder for sockets, at most */
#define TESTPMD_DEVICE_BYTES 4224

/* Between the first and the second, the third and the fourth packets are forwarded. */
struct testpmd_ports {
	char devices[TESTPMD_PORTS][TESTPMD_DEVICE_BYTES]; /* DPDK's device arguments; "": none */
	unsigned late;                                     /* so many of the last are made when the others have started */
	bool goes_round;      /* what the second sends comes to the fourth, and so on: a few packets go round and round */
	uint32_t frame_bytes; /* of those; 0: as testpmd has them */
};

/*
 * Forwards. What starting costs is not counted.
 * @param mode  "io", "macswap"
 * @param dir   for what it leaves
 * @return nanoseconds of processor time a packet, of four ports a packet's whole round; 0 where dpdk-testpmd is not
 *         installed; negative with err set
 */
double testpmd_packet_ns(const char *mode, const char *dir, const struct testpmd_ports *ports, struct err *err);
