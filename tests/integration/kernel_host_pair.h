/* SPDX-License-Identifier: BSD-3-Clause */
/* Two external hosts, a and b, with two switches S1 and S2 between them, and an RC flow each way. */
#pragma once

#include "tests/integration/kernel_host_rig.h"

/* A host's place in xrig.ports and .nodes, and the planned flow that it sends. */
enum pair_host { PAIR_A, PAIR_B };

#define PAIR_CONTROL 2 /* flow of a's notifications to b */
#define PAIR_FLOWS 3

/*
 * Starts them with what x says (mbufs, hold_bytes, ...).
 * @param faults  a scenario's "faults", or ""
 * @param spares  spare flow slots
 */
void kernel_pair_start(struct xrig *x, const char *faults, uint32_t spares);

struct kernel_host_counters kernel_pair_counters(const struct xrig *x, enum pair_host host);
uint32_t kernel_pair_ip(const struct xrig *x, const char *host);

/* A host sends data frames of its flow. @param payload_bytes  of each; 0: 1 to 1000 at random */
void kernel_pair_send(struct xrig *x, enum pair_host from, uint32_t frames, uint32_t payload_bytes);

/* An IPv4 packet of any protocol. @param bytes  after its header, the first four are the ports @return its size */
size_t kernel_pair_ipv4(const struct xrig *x, enum pair_host src, enum pair_host dst, uint8_t protocol, uint16_t sport,
			uint16_t dport, uint32_t bytes, uint8_t frame[XRIG_FRAME_BYTES]);
/* Other addresses in an IPv4 frame, its checksum set. */
void kernel_pair_address(uint8_t *frame, uint32_t src_ip, uint32_t dst_ip);

/*
 * Fails unless the other host's i-th frame is the i-th that this one sent, as two switches leave it: TTL and IP
 * checksum.
 */
void kernel_pair_expect_frame(const struct xrig *x, enum pair_host from, uint32_t i);
/* The same of all frames that it sent, which are so many. */
void kernel_pair_expect_all(const struct xrig *x, enum pair_host from, uint32_t frames);
