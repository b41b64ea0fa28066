/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/minmax.h"
#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "telemetry/epochs.h"

#define SEEN_ACTIVE 8 /* epochs: a flow that lasts is reported so often */

/* @param row  of the open epoch, counted too */
static void
put_seen(struct epochs *e, uint32_t slot, const struct epoch_row *row, uint64_t now_ps, struct recbuf *records)
{
	struct flow_seen *seen = &e->late->flows[slot];
	uint64_t last = row->packets != 0 ? e->open->index + 1 : seen->last;
	struct rec_flow_seen rec = {
		.flow = flow_tuple(port_flows_at(e->flows, slot)),
		.port = e->port,
		.first_ps = seen->first_ps,
		.last_ps = min_u64(last * e->config->epoch_ps, now_ps),
		.packets = e->before[slot] + row->packets,
		.bytes = seen->bytes + row->bytes,
	};

	recbuf_put(records, &rec, REC_FLOW_SEEN, sizeof(rec), now_ps);
	seen->reported_packets = rec.packets;
	seen->reported = e->open->index;
}

#define OVER_LEAST 4 /* a pause of less than this part of an epoch is a queue's */

/* Pauses that the port was asked in and that are over. */
static void
put_pauses(struct epochs *e, uint64_t now_ps, struct recbuf *records)
{
	for (uint32_t c = 0; c < e->nclasses; c++) {
		struct pause_over *over = &e->late->pauses[c];
		struct rec_port_row row = {
			.port = e->port,
			.prio = epochs_prio_of(e, c),
			.host = e->config->host,
			.epoch_first = (uint32_t)e->open->index,
			.epoch_last = (uint32_t)e->open->index,
			.from_ps = e->open->index * e->config->epoch_ps,
			.to_ps = now_ps,
			.paused_since_ps = over->over_since_ps,
			.pause_ps = over->over_ps,
			.ingress_xoff_bytes = REC_NO_XOFF,
			.state_only = 1,
		};

		if (over->over_ps * OVER_LEAST >= e->config->epoch_ps)
			recbuf_put(records, &row, REC_PORT_ROW, sizeof(row), now_ps);
		over->over_ps = 0;
	}
}

/* Flows that paused for an epoch, and now and then those that last. At the end of the run the open epoch counts, too. */
void
epochs_late_report(void *state, uint64_t now_ps, bool last, struct recbuf *records)
{
	static const struct epoch_row none = { 0 };
	struct epochs *e = state;

	if (e->late == NULL)
		return;
	put_pauses(e, now_ps, records);
	for (uint32_t slot = 0; slot < epochs_slots(e) && !e->config->host; slot++) {
		const struct flow_seen *seen = &e->late->flows[slot];
		const struct epoch_row *row = last ? &e->open->rows[slot] : &none;

		if (e->before[slot] + row->packets == seen->reported_packets)
			continue;
		if (last || seen->last < e->open->index || e->open->index - seen->reported >= SEEN_ACTIVE)
			put_seen(e, slot, row, now_ps, records);
	}
}
