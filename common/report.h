/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a report of telemetry costs on its way from a switch, or a host's NIC, to the analyzer: the paper's processing
 * overhead (VEDRFOLNIR IV-B). Records of the stream (common/wire/record.h) are the decoded form of it.
 *
 * A report is what one switch, or NIC, answers to one polling packet: one UDP datagram, or several of an IP packet of
 * REPORT_MTU each, every one with Ethernet, IPv4 and UDP headers. Its payload is a head and the rows of ports. Integers are LEB128 (7 bits a byte) unless said otherwise:
 *   head   version u8, reporter u32, time_ps u64, event u32
 *   passage of a polling packet, one for each egress that it concerns: tag, in port, out port, flags, TTL, u8 each
 *   port   tag, flags u8, port, epoch_first, epochs - 1, depth_max, packets, bytes, depth_sum, paused_packets, pause_ps,
 *          pauses received, sent; if it tells of now: queue packets, bytes, ingress bytes, XOFF bytes + 1, and how
 *          long it has been paused and has been pausing, where it is
 *          of now alone (state_only): without epochs and counters
 *   flow   tag, tuple 12 B, in port, queue packets, packets, bytes, depth_sum, paused_packets
 *   meter  tag, in port, bytes, bytes held        matrix  tag, tuple 12 B, other 12 B, ahead
 *   drops  tag, port, reason, tuple 12 B, packets, bytes, first_ps, last_ps
 * Port and epochs of flows, meters and matrix entries are those of the port row before them; times that an epoch or the
 * head gives are not repeated.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/wire/eth.h"

#define REPORT_MTU 1500 /* of an IP packet */
#define REPORT_HEADERS_BYTES (sizeof(struct wire_eth) + sizeof(struct wire_ipv4) + sizeof(struct wire_udp))
#define REPORT_HEAD_BYTES 17
#define REPORT_PASSAGE_BYTES 5

/* Reports made, and those of them that were kept for the analyzer; bytes with all headers. */
struct report_count {
	uint64_t reports, bytes;
	uint64_t kept_reports, kept_bytes;
};

/* Some reports, with the bytes that all their rows and passages pack to. */
struct report_sum {
	uint64_t packed_bytes;
	uint32_t reports;
};

/*
 * @param rows  records of a report as recbuf_put() left them: port, flow, meter, matrix and drop rows
 * @param out   the packed rows; NULL: none wanted. At most as long as the rows themselves
 * @return bytes of the packed rows
 */
size_t report_pack(const uint8_t *rows, size_t rows_bytes, uint8_t *out);

/* @return bytes on the wire of reports that share the rows out evenly */
uint64_t report_wire_bytes(struct report_sum sum);

/* @param made  reports  @param kept  those of them that were kept, with the rows that were */
void report_count_add(struct report_count *count, struct report_sum made, struct report_sum kept);
