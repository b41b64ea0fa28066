/* SPDX-License-Identifier: BSD-3-Clause */
/* What a port reports of its epochs: rows of the closed ones, summed, and of the open one with the present state. */
#include "common/wire/record.h"
#include "common/wire/record_rows.h"
#include "telemetry/epochs.h"

#define MANY_EPOCHS 8             /* beside so many the open one is little */
#define OVERTAKES_LEAST_SHARE 128 /* of the data's bytes: what class 0 took is told from so small a part on, */
#define OVERTAKES_NAME 64         /* and a flow named from so small a part of that */

/* An event's report over one span of epochs. */
struct epochs_span {
	uint64_t first, last;
	bool open;
	bool state_only; /* no counters */
	uint32_t event;
	uint64_t now_ps;
};

static void
report_flow_rows(const struct epochs *e, const struct epochs_span *span, struct recbuf *records)
{
	for (uint32_t slot = 0; slot < epochs_slots(e); slot++) {
		struct rec_flow_row row = {
			.in_port = REC_NO_PORT,
			.queue_packets = span->open ? e->flows->queued[slot] : 0,
		};

		for (uint64_t i = span->first; i <= span->last; i++) {
			const struct epoch *epoch = epoch_at(e, i);

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
		row.flow = flow_tuple(port_flows_at(e->flows, slot));
		row.port = e->port;
		row.epoch_first = (uint32_t)span->first;
		row.epoch_last = (uint32_t)span->last;
		recbuf_put(records, &row, REC_FLOW_ROW, sizeof(row), span->now_ps);
	}
}

/* The class that rows name; 0: data classes without PFC. */
static uint16_t
prio_of(const struct epochs *e, uint32_t class)
{
	for (uint16_t prio = 1; prio < 8; prio++)
		if (e->config->lossless >> prio & 1 && e->class_of[prio] == class)
			return prio;
	return 0;
}

static void
report_meter(const struct epochs *e, const struct epochs_span *span, uint32_t class, const struct telem_present *present,
	     struct recbuf *records)
{
	for (uint16_t in = 0; in < e->config->nports; in++) {
		struct rec_meter_row row = {
			.hdr.event = span->event,
			.in_port = in,
			.port = e->port,
			.epoch_first = (uint32_t)span->first,
			.epoch_last = (uint32_t)span->last,
			.prio = prio_of(e, class),
			.held_bytes = span->open && present->held_bytes != NULL ? present->held_bytes[in] : 0,
		};

		for (uint64_t i = span->first; i <= span->last; i++) {
			const struct epoch *epoch = epoch_at(e, i);

			row.bytes += epoch != NULL ? epoch->classes[class].meter[in] : 0;
		}
		if (row.bytes != 0 || row.held_bytes != 0)
			recbuf_put(records, &row, REC_METER_ROW, sizeof(row), span->now_ps);
	}
}

static void
report_matrix(const struct epochs *e, const struct epochs_span *span, struct recbuf *records)
{
	uint32_t columns = epochs_slots(e) < EPOCHS_MATRIX ? epochs_slots(e) : EPOCHS_MATRIX;

	for (uint32_t cell = 0; cell < epochs_slots(e) * columns; cell++) {
		uint32_t of = cell / columns, other = cell % columns;
		struct rec_matrix_row row = {
			.hdr.event = span->event,
			.flow = flow_tuple(port_flows_at(e->flows, of)),
			.other = flow_tuple(port_flows_at(e->flows, other)),
			.port = e->port,
			.epoch_first = (uint32_t)span->first,
			.epoch_last = (uint32_t)span->last,
		};

		for (uint64_t i = span->first; i <= span->last; i++) {
			const struct epoch *epoch = epoch_at(e, i);

			row.ahead += epoch != NULL ? epoch->matrix[of][other] : 0;
		}
		if (row.ahead != 0)
			recbuf_put(records, &row, REC_MATRIX_ROW, sizeof(row), span->now_ps);
	}
}

/* The class in which a flow goes ahead: its own, if that is strict; all else that does is of class 0. */
static uint8_t
overtakes_prio(const struct epochs *e, uint32_t key)
{
	uint8_t prio = e->flows->table->flows[overtakes_flow(key)].prio;

	return !overtakes_acks(key) && (e->config->strict >> prio & 1) != 0 ? prio : 0;
}

static void
put_overtaker(const struct epochs *e, const struct epochs_span *span, const struct overtaker *by, struct recbuf *records)
{
	struct rec_overtake_row row = {
		.hdr.event = span->event,
		.port = e->port,
		.epoch_first = (uint32_t)span->first,
		.epoch_last = (uint32_t)span->last,
		.packets = by->packets,
		.bytes = by->bytes,
	};

	if (by->packets == 0)
		return;
	if (by->key != 0) {
		row.flow = flow_tuple(&e->flows->table->flows[overtakes_flow(by->key)]);
		row.acks = overtakes_acks(by->key);
		row.prio = overtakes_prio(e, by->key);
	}
	recbuf_put(records, &row, REC_OVERTAKE_ROW, sizeof(row), span->now_ps);
}

/*
 * What class 0, and strict classes, took in a span. Of a switch's port where less than quiet_depth packets waited for it nothing was taken that
 * counts. @return whether there is something to tell
 */
static bool
sum_overtakes(const struct epochs *e, const struct epochs_span *span, struct overtakes *sum)
{
	uint64_t data_bytes = 0;

	*sum = (struct overtakes){ .any = false };
	for (uint64_t i = span->first; i <= span->last && !span->state_only; i++) {
		const struct epoch *epoch = epoch_at(e, i);

		if (epoch == NULL)
			continue;
		if (epoch->overtakes != NULL)
			overtakes_sum(sum, epoch->overtakes);
		data_bytes += epoch->bytes;
	}
	return sum->any && (e->config->host || sum->depth_max >= e->config->quiet_depth) &&
	       overtakes_fold(sum, OVERTAKES_NAME) * OVERTAKES_LEAST_SHARE >= data_bytes;
}

/* What the class is doing now. */
static void
add_present(const struct epochs *e, uint32_t class, const struct telem_present *present, struct rec_port_row *row)
{
	const struct epochs_pause *pause_state = &e->pauses[class];

	row->paused = pause_state->held != 0;
	row->paused_since_ps = pause_state->held != 0 ? pause_state->since_ps : 0;
	row->queue_packets = present->queue_packets;
	row->queue_bytes = present->queue_bytes;
	/* What its buffer holds is asked of an ingress that pauses: whether it had reason to. */
	row->ingress_bytes = present->pausing ? present->ingress_bytes : 0;
	row->ingress_xoff_bytes = present->pausing ? present->ingress_xoff_bytes : REC_NO_XOFF;
	row->pausing = present->pausing;
	row->pausing_since_ps = present->pausing ? present->pausing_since_ps : 0;
}

/* @param always  also where there is nothing to say. @return whether the row was put */
static bool
report_port_row(const struct epochs *e, const struct epochs_span *span, uint32_t class, const struct epoch_sums *sum,
		const struct telem_present *present, bool always, struct recbuf *records)
{
	struct rec_port_row row = {
		.hdr.event = span->event,
		.port = e->port,
		.prio = prio_of(e, class),
		.host = e->config->host,
		.epoch_first = (uint32_t)span->first,
		.epoch_last = (uint32_t)span->last,
		.from_ps = span->first * e->config->epoch_ps,
		.to_ps = span->open ? span->now_ps : (span->last + 1) * e->config->epoch_ps,
		.packets = sum->packets,
		.bytes = sum->bytes,
		.depth_sum = sum->depth_sum,
		.depth_max = sum->depth_max,
		.paused_packets = sum->paused_packets,
		.pause_ps = sum->pause_ps,
		.pauses_received = sum->pauses_received,
		.pauses_sent = sum->pauses_sent,
		.state_only = span->state_only,
	};

	if (span->open)
		add_present(e, class, present, &row);
	if (!always && row.packets == 0 && row.pause_ps == 0 && row.pauses_sent == 0 && !row.paused && !row.pausing &&
	    row.queue_packets == 0 && (!span->open || row.pauses_received == 0))
		return false;
	recbuf_put(records, &row, REC_PORT_ROW, sizeof(row), span->now_ps);
	return true;
}

/* Rows of the classes of which there is something to say. @param always  one at least. @return whether there is any */
static bool
report_port_rows(const struct epochs *e, const struct epochs_span *span, const struct telem_present *present, bool always,
		 struct recbuf *records)
{
	struct epoch_sums sums[TELEM_MAX_CLASSES] = { 0 };
	bool emitted = false;

	for (uint64_t i = span->first; i <= span->last && !span->state_only; i++)
		if (epoch_at(e, i) != NULL)
			epochs_sum(e, epoch_at(e, i), sums);
	for (uint32_t c = 0; c < e->nclasses; c++)
		emitted |= report_port_row(e, span, c, &sums[c], &present[c], false, records);
	if (!emitted && always)
		emitted = report_port_row(e, span, 0, &sums[0], &present[0], true, records);
	return emitted;
}

/* Did a flow come in the open epoch that the closed ones from first on do not have? */
static bool
has_new_flow(const struct epochs *e, uint64_t first)
{
	for (uint32_t slot = 0; slot < epochs_slots(e); slot++) {
		bool known = e->open->rows[slot].packets == 0;

		for (uint64_t i = first; i < e->open->index && !known; i++) {
			const struct epoch *epoch = epoch_at(e, i);

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
	bool paused; /* a pause came, or lasted */
	bool pauses; /* a pause went out */
	bool lasts;  /* one of them, since before the open epoch */
};

static void
take_note(const struct epochs *e, const struct epoch *epoch, struct notice *notice)
{
	struct epoch_sums sums[TELEM_MAX_CLASSES] = { 0 };

	epochs_sum(e, epoch, sums);
	notice->deep |=
		epoch->overtakes != NULL && epoch->overtakes->any && epoch->overtakes->depth_max >= e->config->quiet_depth;
	for (uint32_t c = 0; c < e->nclasses; c++) {
		notice->packets += sums[c].packets;
		notice->deep |= sums[c].depth_max >= e->config->quiet_depth;
		notice->paused |= sums[c].pause_ps != 0 || sums[c].pauses_received != 0;
		notice->pauses |= sums[c].pauses_sent != 0;
	}
}

static void
take_note_of_now(const struct epochs *e, const struct telem_present *present, struct notice *notice)
{
	uint64_t open_ps = e->open->index * e->config->epoch_ps;

	for (uint32_t c = 0; c < e->nclasses; c++) {
		notice->paused |= e->pauses[c].held != 0;
		notice->pauses |= present[c].pausing;
		notice->lasts |= (e->pauses[c].held != 0 && e->pauses[c].since_ps < open_ps) ||
				 (present[c].pausing && present[c].pausing_since_ps < open_ps);
	}
}

/*
 * Does the open epoch say enough beyond the closed ones from first on? The first queue worth notice does, and the first
 * pause; of a switch port without either, no epoch does. Else it is when within a few epochs that counts, or the last
 * of many epochs: there a flow that was not there before does, and a pause that lasts, or that nothing came.
 */
static bool
open_adds(const struct epochs *e, uint64_t first, const struct telem_present *present)
{
	struct notice closed = { 0 }, open = { 0 };

	if (e->config->quiet_depth == 0)
		return true;
	take_note_of_now(e, present, &open);
	take_note(e, e->open, &open);
	for (uint64_t i = first; i < e->open->index; i++)
		if (epoch_at(e, i) != NULL)
			take_note(e, epoch_at(e, i), &closed);
	if ((open.deep && !closed.deep) || (open.paused && !closed.paused) || (open.pauses && !closed.pauses))
		return true;
	if (!e->config->host && !closed.deep && !closed.paused && !closed.pauses)
		return false;
	return e->open->index - first < MANY_EPOCHS || closed.packets == 0 || has_new_flow(e, first) || open.lasts;
}

/* @return whether there was something to tell */
static bool
report_span(const struct epochs *e, const struct epochs_span *span, const struct telem_present *present,
	    struct recbuf *records)
{
	struct overtakes overtakes;
	bool taken = sum_overtakes(e, span, &overtakes);

	/* While class 0 has the link nothing else need move: the time is told all the same. */
	if (!report_port_rows(e, span, present, span->open || taken, records))
		return false;
	report_flow_rows(e, span, records);
	for (uint32_t i = 0; taken && i < OVERTAKES_SLOTS; i++)
		put_overtaker(e, span, &overtakes.by[i], records);
	if (taken)
		put_overtaker(e, span, &overtakes.others, records);
	for (uint32_t c = 0; c < e->nclasses; c++)
		report_meter(e, span, c, &present[c], records);
	if (e->config->exact)
		report_matrix(e, span, records);
	return true;
}

/* The present state alone. */
static void
report_state(const struct epochs *e, const struct telem_query *query, struct recbuf *records)
{
	const struct epochs_span span = {
		.first = e->open->index,
		.last = e->open->index,
		.open = true,
		.state_only = true,
		.event = query->event,
		.now_ps = query->now_ps,
	};

	report_port_rows(e, &span, query->present, true, records);
}

void
epochs_report(struct epochs *e, const struct telem_query *query, struct recbuf *records)
{
	uint64_t open = e->open->index;
	struct epochs_span span = {
		.first = e->unreported > epochs_oldest_kept(e) ? e->unreported : epochs_oldest_kept(e),
		.event = query->event,
		.now_ps = query->now_ps,
	};
	bool adds, emitted = false;

	if (query->extent == TELEM_STATE) {
		report_state(e, query, records);
		return;
	}
	epochs_reserve(e, e->flows->count); /* flows that wait have a row, though none of their packets has been counted */
	epochs_count_pause(e, query->now_ps);
	adds = open_adds(e, span.first, query->present);
	if (span.first < open) {
		span.last = open - 1;
		emitted = report_span(e, &span, query->present, records);
		if (query->kept) /* else nobody has heard of them */
			e->unreported = open;
	}
	if (emitted && !adds) { /* the open epoch is told once it is closed */
		report_state(e, query, records);
		return;
	}
	span.first = span.last = open;
	span.open = true;
	report_span(e, &span, query->present, records);
}
