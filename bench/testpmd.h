/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's own forwarder as a measure: the cost of a packet that is only moved. */
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
	unsigned late;        /* the number of last ones that are made when the others have started */
	bool goes_round;      /* the second's output goes to the fourth, and so on: a few packets go round and round */
	uint32_t frame_bytes; /* of those; 0: as testpmd has them */
};

/* Two runs are measured, and what the longer has more is counted: a start has no part in it. */
struct testpmd_times {
	uint64_t short_ns, long_ns; /* of the runs */
	uint64_t end_ns;            /* limit of a program to end after its request */
};

extern const struct testpmd_times testpmd_measurement;

/*
 * Forwards. The start is not counted.
 * @param mode  "io", "macswap"
 * @param dir   for its files
 * @return nanoseconds of processor time a packet, of four ports a packet's whole round; 0 where dpdk-testpmd is not
 *         installed; negative with err set
 */
double testpmd_packet_ns(const char *mode, const char *dir, const struct testpmd_ports *ports,
			 const struct testpmd_times *times, struct err *err);

/* OVS-DPDK as a measure: the cost of a packet in another software switch, by one flow from port to port. */

#define OVS_MOST_BYTES 1518 /* with FCS */

/*
 * Starts Open vSwitch (Debian: openvswitch-switch-dpdk) with a database and sockets of its own, net_pcap in and
 * net_null out, and ends it. It needs hugepages: where few are free root allocates some, and returns them.
 * @param dir     for its files
 * @param frames  a file that net_pcap sends again and again; of at most OVS_MOST_BYTES, as OVS gives that driver no
 *                other MTU
 * @return nanoseconds of processor time a packet; negative with err: it is not installed, or cannot run here, with
 *         the reason
 */
double ovs_packet_ns(const char *dir, const char *frames, struct err *err);
