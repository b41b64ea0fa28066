/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/port.h"

#include "common/wire/record.h"

static int
init(void *state, const struct telem_config *config, const struct port_flows *flows, uint16_t port)
{
	struct port_drops *drops = state;

	drops->flows = flows->table;
	drops->port = port;
	return 0;
}

/* Within a window the drops of one class may arrive after later ones of another class. */
static void
on_drop(void *state, const struct pkt *p, enum rec_drop reason, uint64_t now_ps)
{
	struct drop_count *count = &((struct port_drops *)state)->of[reason];

	if (count->packets == 0 || now_ps < count->first_ps)
		count->first_ps = now_ps;
	if (count->packets == 0 || now_ps >= count->last_ps) {
		count->last_ps = now_ps;
		count->last_flow = p->flow;
	}
	count->packets++;
	count->bytes += p->wire_bytes;
}

void
port_drops_down(struct port_drops *drops, uint64_t now_ps)
{
	struct drop_count *count = &drops->of[REC_DROP_LINK_DOWN];

	if (!drops->was_down)
		count->first_ps = now_ps;
	count->last_ps = now_ps;
	drops->was_down = true;
}

bool
port_drops_any(const struct port_drops *drops)
{
	for (uint32_t reason = 0; reason < REC_DROP_REASONS; reason++)
		if (drops->of[reason].packets != 0)
			return true;
	return false;
}

/* A row for each reason, but for a blackhole: it is silent, a node that knew of it would not be one. */
static void
report(void *state, const struct telem_query *query, struct recbuf *records)
{
	const struct port_drops *drops = state;

	for (uint32_t reason = 0; reason < REC_DROP_REASONS; reason++) {
		const struct drop_count *count = &drops->of[reason];
		struct rec_drop_row row = {
			.hdr.event = query->event,
			.port = drops->port,
			.reason = (uint16_t)reason,
			.packets = count->packets,
			.bytes = count->bytes,
			.first_ps = count->first_ps,
			.last_ps = count->last_ps,
		};
		bool cut = reason == REC_DROP_LINK_DOWN && drops->was_down;

		if ((count->packets == 0 && !cut) || reason == REC_DROP_BLACKHOLE)
			continue;
		if (count->packets != 0)
			row.last = flow_tuple(&drops->flows->flows[count->last_flow]);
		recbuf_put(records, &row, REC_DROP_ROW, sizeof(row), query->now_ps);
	}
}

const struct collector collector_drops = {
	.name = "drops",
	.state_bytes = sizeof(struct port_drops),
	.init = init,
	.on_drop = on_drop,
	.report = report,
};
