/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/port_drops.h"

#include "common/wire/record.h"

void
port_drops_add(struct port_drops *drops, enum rec_drop reason, const struct pkt *p, uint64_t now_ps)
{
	struct drop_count *count = &drops->of[reason];

	if (count->packets == 0)
		count->first_ps = now_ps;
	count->packets++;
	count->bytes += p->wire_bytes;
	count->last_ps = now_ps;
	count->last_flow = p->flow;
}

void
port_drops_cut(struct port_drops *drops, uint64_t now_ps)
{
	struct drop_count *count = &drops->of[REC_DROP_LINK_DOWN];

	if (!drops->was_cut)
		count->first_ps = now_ps;
	count->last_ps = now_ps;
	drops->was_cut = true;
}

bool
port_drops_any(const struct port_drops *drops)
{
	for (uint32_t reason = 0; reason < REC_DROP_REASONS; reason++)
		if (drops->of[reason].packets != 0)
			return true;
	return false;
}

void
port_drops_report(const struct port_drops *drops, const struct flow_table *flows, uint16_t port, uint32_t event,
		  struct recbuf *records, uint64_t now_ps)
{
	for (uint32_t reason = 0; reason < REC_DROP_REASONS; reason++) {
		const struct drop_count *count = &drops->of[reason];
		struct rec_drop_row row = {
			.hdr.event = event,
			.port = port,
			.reason = (uint16_t)reason,
			.packets = count->packets,
			.bytes = count->bytes,
			.first_ps = count->first_ps,
			.last_ps = count->last_ps,
		};
		bool cut = reason == REC_DROP_LINK_DOWN && drops->was_cut;

		if ((count->packets == 0 && !cut) || reason == REC_DROP_BLACKHOLE)
			continue;
		if (count->packets != 0)
			row.last = flow_tuple(&flows->flows[count->last_flow]);
		recbuf_put(records, &row, REC_DROP_ROW, sizeof(row), now_ps);
	}
}
