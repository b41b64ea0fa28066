/* SPDX-License-Identifier: BSD-3-Clause */
/* What a port reports of its epochs: rows of the closed ones, summed, and of the open one with the present state. */
#include "common/wire/record.h"
#include "telemetry/epoch.h"

#define MANY_EPOCHS 8 /* beside so many the open one is little */

/* An event's report over one span of epochs. */
struct telem_span {
	uint64_t first, last;
	bool open;
	bool state_only; /* no counters */
	uint32_t event;
	uint64_t now_ps;
};

static void
report_flow_rows(const struct telem_port *t, const struct telem_span *span, struct recbuf *records)
{
	for (uint32_t slot = 0; slot < telem_slots(t); slot++) {
		struct rec_flow_row row = {
			.in_port = REC_NO_PORT,
			.queue_packets = span->open ? t->flows->queued[slot] : 0,
		};

		for (uint64_t i = span->first; i <= span->last; i++) {
			const struct telem_epoch *epoch = telem_epoch_at(t, i);

			if (epoch == NULL || epoch->rows[slot].packets == 0)
				continue;
			row.packets += epoch->rows[slot].packets;
			row.bytes += epoch->rows[slot].bytes;
			row.depth_sum += epoch->rows[slot].depth_sum;
			row.paused_packets += epoch->rows[slot].paused_packets;
			row.in_port = (uint16_t)epoch->rows[slot].in_port;
		}
		if (row.packets == 0 && row.queue_packets == 0)
			continue;
		row.hdr.event = span->event;
		row.flow = flow_tuple(port_flows_at(t->flows, slot));
		row.port = t->port;
		row.epoch_first = (uint32_t)span->first;
		row.epoch_last = (uint32_t)span->last;
		recbuf_put(records, &row, REC_FLOW_ROW, sizeof(row), span->now_ps);
	}
}

static void
report_meter(const struct telem_port *t, const struct telem_span *span, const struct telem_present *present,
	     struct recbuf *records)
{
	for (uint16_t in = 0; in < t->config->nports; in++) {
		struct rec_meter_row row = {
			.hdr.event = span->event,
			.in_port = in,
			.port = t->port,
			.epoch_first = (uint32_t)span->first,
			.epoch_last = (uint32_t)span->last,
			.held_bytes = span->open && present->held_bytes != NULL ? present->held_bytes[in] : 0,
		};

		for (uint64_t i = span->first; i <= span->last; i++) {
			const struct telem_epoch *epoch = telem_epoch_at(t, i);

			row.bytes += epoch != NULL ? epoch->meter[in] : 0;
		}
		if (row.bytes != 0 || row.held_bytes != 0)
			recbuf_put(records, &row, REC_METER_ROW, sizeof(row), span->now_ps);
	}
}

static void
report_matrix(const struct telem_port *t, const struct telem_span *span, struct recbuf *records)
{
	uint32_t columns = telem_slots(t) < TELEM_MATRIX ? telem_slots(t) : TELEM_MATRIX;

	for (uint32_t cell = 0; cell < telem_slots(t) * columns; cell++) {
		uint32_t of = cell / columns, other = cell % columns;
		struct rec_matrix_row row = {
			.hdr.event = span->event,
			.flow = flow_tuple(port_flows_at(t->flows, of)),
			.other = flow_tuple(port_flows_at(t->flows, other)),
			.port = t->port,
			.epoch_first = (uint32_t)span->first,
			.epoch_last = (uint32_t)span->last,
		};

		for (uint64_t i = span->first; i <= span->last; i++) {
			const struct telem_epoch *epoch = telem_epoch_at(t, i);

			row.ahead += epoch != NULL ? epoch->matrix[of][other] : 0;
		}
		if (row.ahead != 0)
			recbuf_put(records, &row, REC_MATRIX_ROW, sizeof(row), span->now_ps);
	}
}

/* @return false when the span is empty and closed: nothing to say */
static bool
report_port_row(const struct telem_port *t, const struct telem_span *span, const struct telem_present *present,
		struct recbuf *records)
{
	struct rec_port_row row = {
		.hdr.event = span->event,
		.port = t->port,
		.host = t->config->host,
		.epoch_first = (uint32_t)span->first,
		.epoch_last = (uint32_t)span->last,
		.from_ps = span->first * t->config->epoch_ps,
		.to_ps = span->open ? span->now_ps : (span->last + 1) * t->config->epoch_ps,
		.state_only = span->state_only,
	};

	for (uint64_t i = span->first; i <= span->last && !span->state_only; i++) {
		const struct telem_epoch *epoch = telem_epoch_at(t, i);

		if (epoch == NULL)
			continue;
		row.packets += epoch->packets;
		row.bytes += epoch->bytes;
		row.depth_sum += epoch->depth_sum;
		row.paused_packets += epoch->paused_packets;
		row.pause_ps += epoch->pause_ps;
		row.pauses_received += epoch->pauses_received;
		row.pauses_sent += epoch->pauses_sent;
		row.depth_max = epoch->depth_max > row.depth_max ? epoch->depth_max : row.depth_max;
	}
	if (span->open) {
		row.paused = t->paused;
		row.paused_since_ps = t->paused ? t->paused_since_ps : 0;
		row.queue_packets = present->queue_packets;
		row.queue_bytes = present->queue_bytes;
		/* What its buffer holds is asked of an ingress that pauses: whether it had reason to. */
		row.ingress_bytes = present->pausing ? present->ingress_bytes : 0;
		row.ingress_xoff_bytes = present->pausing ? present->ingress_xoff_bytes : REC_NO_XOFF;
		row.pausing = present->pausing;
		row.pausing_since_ps = present->pausing ? present->pausing_since_ps : 0;
	} else if (row.packets == 0 && row.pause_ps == 0 && row.pauses_sent == 0) {
		return false;
	}
	recbuf_put(records, &row, REC_PORT_ROW, sizeof(row), span->now_ps);
	return true;
}

/* Did a flow come in the open epoch that the closed ones from first on do not have? */
static bool
has_new_flow(const struct telem_port *t, uint64_t first)
{
	for (uint32_t slot = 0; slot < telem_slots(t); slot++) {
		bool known = t->open->rows[slot].packets == 0;

		for (uint64_t i = first; i < t->open->index && !known; i++) {
			const struct telem_epoch *epoch = telem_epoch_at(t, i);

			known = epoch != NULL && epoch->rows[slot].packets != 0;
		}
		if (!known)
			return true;
	}
	return false;
}

/* What there is to notice of a port. */
struct notice {
	uint64_t packets;
	bool deep;   /* a queue */
	bool halted; /* a pause came, or lasted */
	bool halts;  /* a pause went out */
};

static void
take_note(const struct telem_epoch *epoch, uint32_t quiet_depth, struct notice *notice)
{
	notice->packets += epoch->packets;
	notice->deep |= epoch->depth_max >= quiet_depth;
	notice->halted |= epoch->pause_ps != 0 || epoch->pauses_received != 0;
	notice->halts |= epoch->pauses_sent != 0;
}

/*
 * Does the open epoch say enough beyond the closed ones from first on? The first queue worth notice does, and the first
 * pause; of a switch port without either, no epoch does. Else it is when within a few epochs that counts, or the last
 * of many epochs: there a flow that was not there before does, and a pause that lasts, or that nothing came.
 */
static bool
open_adds(const struct telem_port *t, uint64_t first, const struct telem_present *present)
{
	uint64_t open_ps = t->open->index * t->config->epoch_ps;
	struct notice closed = { 0 }, open = { .halted = t->paused, .halts = present->pausing };

	if (t->config->quiet_depth == 0)
		return true;
	take_note(t->open, t->config->quiet_depth, &open);
	for (uint64_t i = first; i < t->open->index; i++)
		if (telem_epoch_at(t, i) != NULL)
			take_note(telem_epoch_at(t, i), t->config->quiet_depth, &closed);
	if ((open.deep && !closed.deep) || (open.halted && !closed.halted) || (open.halts && !closed.halts))
		return true;
	if (!t->config->host && !closed.deep && !closed.halted && !closed.halts)
		return false;
	return t->open->index - first < MANY_EPOCHS || closed.packets == 0 || has_new_flow(t, first) ||
	       (t->paused && t->paused_since_ps < open_ps) || (present->pausing && present->pausing_since_ps < open_ps);
}

/* @return whether there was something to tell */
static bool
report_span(const struct telem_port *t, const struct telem_span *span, const struct telem_present *present,
	    struct recbuf *records)
{
	if (!report_port_row(t, span, present, records))
		return false;
	report_flow_rows(t, span, records);
	report_meter(t, span, present, records);
	if (t->config->exact)
		report_matrix(t, span, records);
	return true;
}

void
telem_report(struct telem_port *t, const struct telem_present *present, struct recbuf *records, uint32_t event,
	     uint64_t now_ps)
{
	uint64_t open = t->open->index;
	struct telem_span span = {
		.first = t->unreported > telem_oldest_kept(t) ? t->unreported : telem_oldest_kept(t),
		.event = event,
		.now_ps = now_ps,
	};
	bool adds, told = false;

	telem_reserve(t, t->flows->count); /* flows that wait have a row, though none of them has been counted */
	telem_count_pause(t, now_ps);
	adds = open_adds(t, span.first, present);
	if (span.first < open) {
		span.last = open - 1;
		told = report_span(t, &span, present, records);
		t->unreported = open;
	}
	if (told && !adds) { /* the open epoch is told once it is closed */
		telem_report_state(t, present, records, event, now_ps);
		return;
	}
	span.first = span.last = open;
	span.open = true;
	report_span(t, &span, present, records);
}

void
telem_report_state(struct telem_port *t, const struct telem_present *present, struct recbuf *records, uint32_t event,
		   uint64_t now_ps)
{
	const struct telem_span span = {
		.first = t->open->index,
		.last = t->open->index,
		.open = true,
		.state_only = true,
		.event = event,
		.now_ps = now_ps,
	};

	report_port_row(t, &span, present, records);
}
