/* SPDX-License-Identifier: BSD-3-Clause */
/* OVS-DPDK as a measure: what a packet costs in another software switch, by one flow from port to port. */
#pragma once

#include "common/err.h"

#define OVS_MOST_BYTES 1518 /* with FCS */

/*
 * Starts Open vSwitch (Debian: openvswitch-switch-dpdk) with a database and sockets of its own, net_pcap in and net_null out, and ends
 * it. It needs hugepages: where few are free root asks for some, and gives them back.
 * @param dir     for what it leaves
 * @param frames  a file that net_pcap sends again and again; of at most OVS_MOST_BYTES, as OVS gives that driver no other MTU
 * @return nanoseconds of processor time a packet; negative with err: it is not there, or cannot run here, and why
 */
double ovs_packet_ns(const char *dir, const char *frames, struct err *err);
