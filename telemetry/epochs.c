/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/epochs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/log.h"
#include "common/wire/record.h"
#include "common/wire/record_rows.h"

/* Who took a port's link from data that waited. */

struct overtaker *
overtakes_place(struct overtakes *o, uint32_t key)
{
	o->any = true;
	for (uint32_t i = 0; i < OVERTAKES_WAYS && key != 0; i++) {
		struct overtaker *by = &o->by[(key + i) % OVERTAKES_SLOTS];

		if (by->key == 0)
			by->key = key;
		if (by->key == key)
			return by;
	}
	return &o->others;
}

void
overtakes_sum(struct overtakes *sum, const struct overtakes *of)
{
	if (!of->any)
		return;
	for (uint32_t i = 0; i < OVERTAKES_SLOTS; i++)
		if (of->by[i].packets != 0)
			overtakes_add(sum, of->by[i].key, of->by[i].packets, of->by[i].bytes);
	sum->any = true;
	sum->depth_max = of->depth_max > sum->depth_max ? of->depth_max : sum->depth_max;
	sum->others.packets += of->others.packets;
	sum->others.bytes += of->others.bytes;
}

uint64_t
overtakes_fold(struct overtakes *o, uint32_t part)
{
	uint64_t bytes = o->others.bytes;

	for (uint32_t i = 0; i < OVERTAKES_SLOTS; i++)
		bytes += o->by[i].bytes;
	for (uint32_t i = 0; i < OVERTAKES_SLOTS; i++) {
		struct overtaker *by = &o->by[i];

		if (by->bytes * part >= bytes)
			continue;
		o->others.packets += by->packets;
		o->others.bytes += by->bytes;
		*by = (struct overtaker){ 0 };
	}
	return bytes;
}

/* Epochs. */

#define EPOCHS_FIRST_SLOTS 8

/* Widens the per-slot arrays of all epochs. */
static int
epochs_grow(struct epochs *e, uint32_t cap)
{
	uint32_t old = e->slots_cap;
	uint64_t *before = realloc(e->before, cap * sizeof(*before));

	if (before == NULL)
		return -ENOMEM;
	memset(before + old, 0, (cap - old) * sizeof(*before));
	e->before = before;
	if (e->late != NULL) {
		struct flow_seen *seen = realloc(e->late->flows, cap * sizeof(*seen));

		if (seen == NULL)
			return -ENOMEM;
		memset(seen + old, 0, (cap - old) * sizeof(*seen));
		e->late->flows = seen;
	}
	for (uint32_t i = 0; i < e->config->kept; i++) {
		struct epoch *epoch = &e->ring[i];
		struct epoch_row *rows = realloc(epoch->rows, cap * sizeof(*rows));

		if (rows == NULL)
			return -ENOMEM;
		memset(rows + old, 0, (cap - old) * sizeof(*rows));
		epoch->rows = rows;
		if (!e->config->exact)
			continue;
		epoch->matrix = realloc(epoch->matrix, cap * sizeof(*epoch->matrix));
		if (epoch->matrix == NULL)
			return -ENOMEM;
		memset(epoch->matrix + old, 0, (cap - old) * sizeof(*epoch->matrix));
	}
	e->slots_cap = cap;
	return 0;
}

size_t
epochs_bytes(const struct telem_config *config, uint32_t slots)
{
	size_t nclasses = telem_classes(config), meters = nclasses * config->nports * sizeof(uint64_t);
	size_t a_slot = sizeof(struct epoch_row) + (config->exact ? EPOCHS_MATRIX * sizeof(uint32_t) : 0);
	size_t an_epoch = sizeof(struct epoch) + nclasses * sizeof(struct epoch_class) + meters + slots * a_slot;
	size_t late = config->late_looks ? sizeof(struct epochs_late) + slots * sizeof(struct flow_seen) : 0;

	return config->kept * an_epoch + meters + slots * sizeof(uint64_t) + late;
}

static int
init_epoch(const struct epochs *e, struct epoch *epoch)
{
	epoch->index = UINT64_MAX;
	epoch->classes = calloc(e->nclasses, sizeof(*epoch->classes));
	for (uint32_t c = 0; epoch->classes != NULL && c < e->nclasses; c++) {
		epoch->classes[c].meter = calloc(e->config->nports, sizeof(uint64_t));
		if (epoch->classes[c].meter == NULL)
			return -ENOMEM;
	}
	return epoch->classes != NULL ? 0 : -ENOMEM;
}

static void
open_epoch(struct epochs *e, struct epoch *epoch)
{
	e->open = epoch;
	for (uint8_t prio = 0; prio < 8; prio++)
		e->meter_of[prio] = epoch->classes[e->class_of[prio]].meter;
}

int
epochs_init(struct epochs *e, const struct telem_config *config, const struct port_flows *flows, uint16_t port)
{
	memset(e, 0, sizeof(*e));
	e->nclasses = telem_classes(config);
	for (uint8_t prio = 0; prio < 8; prio++)
		e->class_of[prio] = (uint8_t)telem_class(config, prio);
	e->config = config;
	e->flows = flows;
	e->port = port;
	e->ring = calloc(config->kept, sizeof(*e->ring));
	e->last_fed = calloc((size_t)e->nclasses * config->nports, sizeof(*e->last_fed));
	e->late = config->late_looks ? calloc(1, sizeof(*e->late)) : NULL;
	if (e->ring == NULL || e->last_fed == NULL || (config->late_looks && e->late == NULL))
		goto fail;
	for (uint32_t i = 0; i < config->kept; i++) {
		if (init_epoch(e, &e->ring[i]) < 0)
			goto fail;
	}
	if (epochs_grow(e, EPOCHS_FIRST_SLOTS) < 0)
		goto fail;
	open_epoch(e, &e->ring[0]);
	e->open->index = 0;
	return 0;
fail:
	epochs_fini(e);
	return -ENOMEM;
}

void
epochs_fini(struct epochs *e)
{
	for (uint32_t i = 0; e->ring != NULL && i < e->config->kept; i++) {
		free(e->ring[i].rows);
		for (uint32_t c = 0; e->ring[i].classes != NULL && c < e->nclasses; c++)
			free(e->ring[i].classes[c].meter);
		free(e->ring[i].classes);
		free(e->ring[i].matrix);
		free(e->ring[i].overtakes);
	}
	free(e->ring);
	free(e->before);
	if (e->late != NULL)
		free(e->late->flows);
	free(e->late);
	free(e->last_fed);
	memset(e, 0, sizeof(*e));
}

void
epochs_reserve(struct epochs *e, uint32_t slots)
{
	uint32_t cap = e->slots_cap;

	while (cap < slots)
		cap *= 2;
	if (cap != e->slots_cap && epochs_grow(e, cap) < 0)
		log_fatal("out of memory for telemetry of %u flows at a port", slots);
}

void
epochs_first(struct epochs *e, uint32_t slot, uint64_t now_ps)
{
	epochs_reserve(e, slot + 1);
	if (e->late != NULL)
		e->late->flows[slot].first_ps = now_ps;
}

void
epochs_reserve_overtakes(struct epochs *e)
{
	e->open->overtakes = calloc(1, sizeof(*e->open->overtakes));
	if (e->open->overtakes == NULL)
		log_fatal("out of memory for telemetry of class 0 at a port");
}

void
epochs_count_matrix(struct epochs *e, uint32_t slot)
{
	uint32_t *ahead = e->open->matrix[slot];

	for (uint32_t i = 0; i < e->flows->count; i++)
		ahead[i < EPOCHS_MATRIX ? i : EPOCHS_MATRIX - 1] += e->flows->queued[i];
}

void
epochs_observe(struct epochs *e, const struct telem_batch *batch)
{
	struct epochs_total *total;

	if (e->config->exact)
		epochs_count_matrix(e, batch->slot);
	if (e->config->class_of == NULL)
		return;
	total = &e->totals[e->config->class_of[batch->in_port][port_flows_at(e->flows, batch->slot)->prio]];
	total->packets += batch->packets;
	total->bytes += batch->bytes;
}

void
epochs_add(struct epochs *e, const struct telem_batch *batch)
{
	struct epoch *open = e->open;
	struct epoch_row *row;

	epochs_reserve(e, batch->slot + 1);
	row = &open->rows[batch->slot];
	row->packets += batch->packets;
	row->bytes += batch->bytes;
	row->depth_sum += batch->depth_sum;
	row->paused_packets += batch->paused_packets;
	row->in_port = batch->in_port;
	row->depth_max = batch->depth_max > row->depth_max ? batch->depth_max : row->depth_max;
	open->packets += batch->packets;
	open->bytes += batch->bytes;
	if (batch->in_port != REC_NO_PORT)
		e->meter_of[port_flows_at(e->flows, batch->slot)->prio][batch->in_port] += batch->bytes;
}

void
epochs_ahead(struct epochs *e, uint32_t waiting, uint32_t left)
{
	epochs_reserve(e, (waiting > left ? waiting : left) + 1);
	e->open->matrix[waiting][left < EPOCHS_MATRIX ? left : EPOCHS_MATRIX - 1]++;
}

void
epochs_count_pause(struct epochs *e, uint64_t now_ps)
{
	for (uint32_t c = 0; c < e->nclasses; c++) {
		struct epochs_pause *pause_state = &e->pauses[c];

		if (pause_state->held != 0 && now_ps > pause_state->mark_ps) {
			e->open->classes[c].pause_ps += now_ps - pause_state->mark_ps;
			pause_state->last_paused = e->open->index + 1;
			pause_state->mark_ps = now_ps;
		}
	}
}

/* The pause of a class is over. Of those that the port was asked in the longest is reported. */
static void
end_pause(struct epochs *e, uint32_t c, uint64_t now_ps)
{
	struct pause_over *over = &e->late->pauses[c];
	uint64_t since_ps = e->pauses[c].since_ps;

	if (over->asked && now_ps - since_ps > over->over_ps)
		*over = (struct pause_over){ .over_since_ps = since_ps, .over_ps = now_ps - since_ps };
	over->asked = false;
}

/* @param classes  of those that are counted together */
static void
pause_class(struct epochs *e, uint32_t c, uint8_t classes, enum telem_pause what, uint64_t now_ps)
{
	struct epoch_class *class = &e->open->classes[c];
	struct epochs_pause *pause_state = &e->pauses[c];

	switch (what) {
	case TELEM_PAUSED:
		if (pause_state->held == 0)
			pause_state->since_ps = pause_state->mark_ps = now_ps;
		pause_state->held |= classes;
		break;
	case TELEM_RESUMED:
		pause_state->held &= (uint8_t)~classes;
		if (pause_state->held == 0 && e->late != NULL)
			end_pause(e, c, now_ps);
		break;
	case TELEM_XOFF_RECEIVED:
		class->pauses_received++;
		pause_state->last_paused = e->open->index + 1;
		break;
	case TELEM_XOFF_SENT:
		class->pauses_sent++;
		break;
	}
}

void
epochs_pause(struct epochs *e, uint8_t classes, enum telem_pause what, uint64_t now_ps)
{
	uint8_t of[TELEM_MAX_CLASSES] = { 0 };

	for (uint8_t prio = 0; prio < 8; prio++)
		of[e->class_of[prio]] |= (uint8_t)(classes & 1u << prio);
	if (what == TELEM_PAUSED || what == TELEM_RESUMED)
		epochs_count_pause(e, now_ps);
	for (uint32_t c = 0; c < e->nclasses; c++)
		if (of[c] != 0)
			pause_class(e, c, of[c], what, now_ps);
}

void
epochs_sum(const struct epochs *e, const struct epoch *epoch, struct epoch_sums *sums)
{
	for (uint32_t i = 0; i < epochs_slots(e); i++) {
		const struct epoch_row *row = &epoch->rows[i];
		struct epoch_sums *sum;

		if (row->packets == 0)
			continue;
		sum = &sums[e->class_of[port_flows_at(e->flows, i)->prio]];
		sum->packets += row->packets;
		sum->bytes += row->bytes;
		sum->depth_sum += row->depth_sum;
		sum->paused_packets += row->paused_packets;
		sum->depth_max = row->depth_max > sum->depth_max ? row->depth_max : sum->depth_max;
	}
	for (uint32_t c = 0; c < e->nclasses; c++) {
		sums[c].pause_ps += epoch->classes[c].pause_ps;
		sums[c].pauses_received += epoch->classes[c].pauses_received;
		sums[c].pauses_sent += epoch->classes[c].pauses_sent;
	}
}

static bool
rows_sum_up(const struct epochs *e, const struct epoch *epoch, const struct epoch_sums *sums)
{
	uint64_t packets = 0, bytes = 0;

	for (uint32_t c = 0; c < e->nclasses; c++) {
		packets += sums[c].packets;
		bytes += sums[c].bytes;
	}
	return packets == epoch->packets && bytes == epoch->bytes;
}

static uint64_t
epoch_digest(const struct epochs *e, const struct epoch *epoch, const struct epoch_sums *sums, uint64_t digest)
{
	for (uint32_t c = 0; c < e->nclasses; c++) {
		const struct epoch_sums *sum = &sums[c];

		if (sum->packets == 0 && sum->pause_ps == 0 && sum->pauses_sent == 0)
			continue;
		digest = digest_u64(digest, epoch->index << 16 | c << 12 | e->port);
		digest = digest_u64(digest, sum->packets);
		digest = digest_u64(digest, sum->bytes);
		digest = digest_u64(digest, sum->depth_sum);
		digest = digest_u64(digest, sum->paused_packets);
		digest = digest_u64(digest, sum->pause_ps);
		digest = digest_u64(digest, (uint64_t)sum->pauses_received << 32 | sum->pauses_sent);
	}
	return digest;
}

/* An epoch begins with nothing counted. */
static void
clear_epoch(const struct epochs *e, struct epoch *epoch)
{
	for (uint32_t c = 0; c < e->nclasses; c++) {
		uint64_t *meter = epoch->classes[c].meter;

		memset(meter, 0, e->config->nports * sizeof(*meter));
		epoch->classes[c] = (struct epoch_class){ .meter = meter };
	}
	epoch->packets = epoch->bytes = 0;
	memset(epoch->rows, 0, epochs_slots(e) * sizeof(*epoch->rows));
	if (epoch->overtakes != NULL && epoch->overtakes->any)
		memset(epoch->overtakes, 0, sizeof(*epoch->overtakes));
	if (epoch->matrix != NULL)
		memset(epoch->matrix, 0, epochs_slots(e) * sizeof(*epoch->matrix));
}

/* Adds an epoch's rows, whose flows are queued in their own classes. */
static void
add_totals(const struct epochs *e, const struct epoch *epoch, struct epochs_total totals[8])
{
	for (uint32_t i = 0; i < epochs_slots(e); i++) {
		const struct epoch_row *row = &epoch->rows[i];
		uint8_t prio;

		if (row->packets == 0)
			continue;
		prio = port_flows_at(e->flows, i)->prio;
		totals[prio].packets += row->packets;
		totals[prio].bytes += row->bytes;
	}
}

void
epochs_totals(const struct epochs *e, struct epochs_total totals[8])
{
	memcpy(totals, e->totals, sizeof(e->totals));
	if (e->config->class_of == NULL)
		add_totals(e, e->open, totals);
}

/* The rows of an epoch that is closed now. */
static void
close_rows(struct epochs *e, const struct epoch *closed)
{
	for (uint32_t i = 0; i < epochs_slots(e); i++) {
		e->before[i] += closed->rows[i].packets;
		if (e->late == NULL || closed->rows[i].packets == 0)
			continue;
		e->late->flows[i].bytes += closed->rows[i].bytes;
		e->late->flows[i].last = closed->index + 1;
	}
}

bool
epochs_roll(struct epochs *e, uint64_t now_ps, uint64_t *digest)
{
	uint64_t index = now_ps / e->config->epoch_ps;
	struct epoch_sums sums[TELEM_MAX_CLASSES] = { 0 };
	struct epoch *closed = e->open, *open;
	bool good;

	if (index == closed->index)
		return true;
	epochs_count_pause(e, index * e->config->epoch_ps);
	epochs_sum(e, closed, sums);
	good = rows_sum_up(e, closed, sums);
	if (closed->packets != 0 && e->config->class_of == NULL)
		add_totals(e, closed, e->totals);
	*digest = epoch_digest(e, closed, sums, *digest);
	for (uint32_t c = 0; c < e->nclasses; c++)
		for (uint16_t i = 0; i < e->config->nports; i++)
			if (closed->classes[c].meter[i] != 0)
				e->last_fed[c * e->config->nports + i] = closed->index + 1;
	close_rows(e, closed);
	open = &e->ring[index % e->config->kept];
	open->index = index;
	clear_epoch(e, open);
	open_epoch(e, open);
	return good;
}

static bool
is_on(const struct telem_config *config)
{
	return !config->drops_only;
}

static int
init(void *state, const struct telem_config *config, const struct port_flows *flows, uint16_t port)
{
	return epochs_init(state, config, flows, port);
}

static void
fini(void *state)
{
	epochs_fini(state);
}

static void
on_enqueue(void *state, const struct telem_batch *batch)
{
	epochs_add(state, batch);
}

static void
on_pause(void *state, uint8_t classes, enum telem_pause what, uint64_t now_ps)
{
	epochs_pause(state, classes, what, now_ps);
}

static bool
on_epoch(void *state, uint64_t now_ps, uint64_t *digest)
{
	return epochs_roll(state, now_ps, digest);
}

static void
report(void *state, const struct telem_query *query, struct recbuf *records)
{
	if (query->extent != TELEM_DROPS)
		epochs_report(state, query, records);
}

const struct collector collector_epochs = {
	.name = "epochs",
	.state_bytes = sizeof(struct epochs),
	.is_on = is_on,
	.init = init,
	.fini = fini,
	.on_enqueue = on_enqueue,
	.on_pause = on_pause,
	.on_epoch = on_epoch,
	.report = report,
	.late = epochs_late_report,
};

/* How a port was used: what switches ask of its epochs themselves. */

uint64_t
epochs_packets_of(const struct epochs *e, uint32_t flow)
{
	uint32_t slot = port_flows_find(e->flows, flow);

	return slot < epochs_slots(e) ? e->before[slot] + e->open->rows[slot].packets : 0;
}

uint64_t
epochs_carried_bytes(const struct epochs *e)
{
	uint64_t bytes = 0;

	for (uint64_t i = epochs_oldest_kept(e); i <= e->open->index; i++) {
		const struct epoch *epoch = epoch_at(e, i);

		bytes += epoch != NULL ? epoch->bytes : 0;
	}
	return bytes;
}

/* Did the slot's flow use the port since that epoch? @param waited  set if some packet of it waited */
static bool
was_used(const struct epochs *e, uint32_t slot, uint64_t first, bool *waited)
{
	bool used = false;

	for (uint64_t i = first; i <= e->open->index; i++) {
		const struct epoch *epoch = epoch_at(e, i);

		if (epoch == NULL || epoch->rows[slot].packets == 0)
			continue;
		used = true;
		*waited |= epoch->rows[slot].depth_sum != 0;
	}
	return used;
}

bool
epochs_was_shared(const struct epochs *e)
{
	uint64_t first = e->unreported > epochs_oldest_kept(e) ? e->unreported : epochs_oldest_kept(e);
	bool waited = false;
	uint32_t flows = 0;

	for (uint32_t slot = 0; (!waited || flows < 2) && slot < epochs_slots(e); slot++)
		flows += was_used(e, slot, first, &waited);
	return waited && flows > 1;
}

/* A port's report: rows of its closed epochs, summed, and of the open one with the present state. */

#define MANY_EPOCHS 8     /* beside this number of closed epochs the open one counts for little */
#define OVERTAKES_NAME 64 /* and a flow is named from 1/N of these on */

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
uint16_t
epochs_prio_of(const struct epochs *e, uint32_t class)
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
			.prio = epochs_prio_of(e, class),
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
 * Sums the packets of class 0 and of strict classes that overtook data in a span. A switch port at which fewer than
 * quiet_depth packets waited does not report any.
 * @return whether there is something to report
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
	       overtakes_fold(sum, OVERTAKES_NAME) * REC_OVERTAKE_LEAST_SHARE >= data_bytes;
}

/* Adds the class's present state to its row. */
static void
add_present(const struct epochs *e, uint32_t class, const struct telem_present *present, struct rec_port_row *row)
{
	const struct epochs_pause *pause_state = &e->pauses[class];

	row->paused = pause_state->held != 0;
	row->paused_since_ps = pause_state->held != 0 ? pause_state->since_ps : 0;
	row->queue_packets = present->queue_packets;
	row->queue_bytes = present->queue_bytes;
	/* The bytes in its buffer are queried of an ingress that pauses: they show whether it had reason to. */
	row->ingress_bytes = present->pausing ? present->ingress_bytes : 0;
	row->ingress_xoff_bytes = present->pausing ? present->ingress_xoff_bytes : REC_NO_XOFF;
	row->pausing = present->pausing;
	row->pausing_since_ps = present->pausing ? present->pausing_since_ps : 0;
}

/* @param always  also where there is nothing to report. @return whether the row was put */
static bool
report_port_row(const struct epochs *e, const struct epochs_span *span, uint32_t class, const struct epoch_sums *sum,
		const struct telem_present *present, bool always, struct recbuf *records)
{
	struct rec_port_row row = {
		.hdr.event = span->event,
		.port = e->port,
		.prio = epochs_prio_of(e, class),
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

/* Rows of the classes that have something to report. @param always  one row at least. @return whether there is any */
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

/* Does the open epoch have a flow that the closed ones from first on do not have? */
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

/* Facts about an epoch by which it is decided whether a port is worth a report. */
struct notice {
	uint64_t packets;
	bool deep;   /* a queue */
	bool paused; /* a pause began, or lasted */
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
 * Does the open epoch add enough to the closed ones from first on? The first long queue does, and the first pause.
 * If the closed ones have neither, no later epoch of a switch port does. Else the open epoch does if fewer than
 * MANY_EPOCHS are closed, if these counted no packet, if it has a new flow, or if a pause lasts.
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

/* @return whether there was something to report */
static bool
report_span(const struct epochs *e, const struct epochs_span *span, const struct telem_present *present,
	    struct recbuf *records)
{
	struct overtakes overtakes;
	bool taken = sum_overtakes(e, span, &overtakes);

	/* While class 0 has the link no counter of data need change. The time is reported all the same. */
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

/* Notes that the port was asked, and which classes were paused then: late looks report these later. */
static void
note_asked(struct epochs *e)
{
	if (e->late == NULL)
		return;
	e->late->asked = true;
	for (uint32_t c = 0; c < e->nclasses; c++)
		e->late->pauses[c].asked = e->pauses[c].held != 0;
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

	note_asked(e);
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
		if (query->kept) /* else they were not reported */
			e->unreported = open;
	}
	if (emitted && !adds) { /* the open epoch is reported once it is closed */
		report_state(e, query, records);
		return;
	}
	span.first = span.last = open;
	span.open = true;
	report_span(e, &span, query->present, records);
}
