/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/report.h"

#define PAYLOAD_BYTES (REPORT_MTU - sizeof(struct wire_ipv4) - sizeof(struct wire_udp))

uint64_t
report_wire_bytes(struct report_sum sum)
{
	uint64_t each_bytes = sum.reports != 0 ? sum.packed_bytes / sum.reports : 0;
	uint64_t datagrams = each_bytes != 0 ? (each_bytes + PAYLOAD_BYTES - 1) / PAYLOAD_BYTES : 1;
	uint64_t bytes = sum.packed_bytes + sum.reports * datagrams * REPORT_HEADERS_BYTES;

	return bytes > sum.reports * REPORT_MIN_BYTES ? bytes : sum.reports * REPORT_MIN_BYTES;
}

void
report_count_add(struct report_count *count, struct report_sum made, struct report_sum kept)
{
	count->reports += made.reports;
	count->bytes += report_wire_bytes(made);
	count->kept_reports += kept.reports;
	count->kept_bytes += report_wire_bytes(kept);
}
