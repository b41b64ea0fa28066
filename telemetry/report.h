/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a report of telemetry costs on its way from a switch, or a host's NIC, to the analyzer: the paper's processing
 * overhead (VEDRFOLNIR IV-B). Records of the stream (common/wire/record.h) are the decoded form of it.
 *
 * A report is what one switch, or NIC, answers to one polling packet: one UDP datagram, or several of an IP packet of
 * REPORT_MTU each, every one with Ethernet, IPv4 and UDP headers. Its payload is a head, the passages of the polling
 * packet, and a part for each port. Integers are LEB128 (7 bits a byte) unless said otherwise; a change is the
 * difference to what it is compared with, zigzag. A tag is a byte: type in bits 0 to 2, flags from bit 3 on.
 *   head    version u8 (1), reporter, time_ps, event: upper 16 bits, lower 16 bits
 *   passage one for each egress that the polling packet concerns: tag 6 with flags victim 1, PFC 2, quiet 4, paused 8,
 *           repeated 16; in port, out port, TTL, u8 each
 *   port    tag 0 with flags host 1, paused 2, pausing 4, now 8, metered 16; port; u8 of what follows, else 0:
 *           depth_max 1, sums 2, pause 4, pauses received 8, sent 16, queue 32, ingress 64, XOFF 128; epoch_first, as a
 *           change from the epoch after those of the part's port row before (0); epochs - 1; then depth_max;
 *           packets, bytes, depth_sum, paused_packets, unless they are what the flow rows behind it sum to; pause_ps;
 *           pauses received; sent; and of now: queue packets and bytes, ingress bytes, XOFF bytes (not there: none),
 *           how long it has been paused and has been pausing, where it is
 *   state   tag 1 with the flags of a port row: one of now alone (state_only); port; u8 as above; what of now follows
 *   flow    tag 2 with flags of what follows: in port 1 (else none), queue 2, counts 4, depth 8, paused 16; tuple;
 *           in port; queue packets; packets, bytes as a frame's on average, rounded up, a change from the part's flow
 *           row before (0), and what that is too much for all; depth_sum; paused_packets
 *   meter   tag 3 with flags own 1, held 2; in port; bytes unless they are what the flow rows of that in port sum to;
 *           bytes held. Behind a port row that is metered there are none: its flow rows sum to all, and none is held
 *   matrix  tag 4, tuple, other tuple, ahead
 *   drops   tag 5, port, reason, tuple, packets, bytes, time since last_ps, last_ps - first_ps
 *   tuple   2 + i: that with number i of those given in full in this part, of the first 64. Else 0, or 1 if the
 *           destination port is not 4791, source address XOR that of the part's tuple given in full before (0),
 *           destination XOR source address, source port u16; with 1 destination port u16. u16 are little-endian
 * Port and epochs of flows, meters and matrix entries are those of the port row before them; times that an epoch or the
 * head gives are not repeated.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/wire/eth.h"

#define REPORT_MTU 1500 /* of an IP packet */
#define REPORT_HEADERS_BYTES (sizeof(struct wire_eth) + sizeof(struct wire_ipv4) + sizeof(struct wire_udp))
#define REPORT_MIN_BYTES 60 /* of an Ethernet frame without its FCS: what is shorter is padded */
#define REPORT_PASSAGE_BYTES 4

/* Reports made, and those of them that were kept for the analyzer; bytes with all headers. */
struct report_count {
	uint64_t reports, bytes;
	uint64_t kept_reports, kept_bytes;
};

/* Some reports, with the bytes of all their heads, passages and packed rows. */
struct report_sum {
	uint64_t packed_bytes;
	uint32_t reports;
};

/* @return bytes of a report's head. @param time_ps  when it is made */
size_t report_head_bytes(uint32_t node, uint32_t event, uint64_t time_ps);

/*
 * @param rows  a port's part of a report, records as recbuf_put() left them: port rows, behind each its flow, meter and
 *              matrix rows, at the end drop rows
 * @param out   the packed rows; NULL: none wanted. At most as long as the rows themselves
 * @return bytes of the packed rows
 */
size_t report_pack(const uint8_t *rows, size_t rows_bytes, uint8_t *out);

/* @return bytes on the wire of reports that share heads and rows out evenly */
uint64_t report_wire_bytes(struct report_sum sum);

/* @param made  reports  @param kept  those of them that were kept, with the rows that were */
void report_count_add(struct report_count *count, struct report_sum made, struct report_sum kept);
