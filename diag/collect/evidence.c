/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/collect/evidence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/kinds.h"
#include "common/wire/record.h"
#include "diag/collect/evidence_internal.h"

/* The array of struct evidence that keeps each record type: its offset; 0: kept otherwise. */
static const size_t vec_of[RECORD_KINDS] = {
	[REC_NODE] = offsetof(struct evidence, node_recs),
	[REC_PORT] = offsetof(struct evidence, port_recs),
	[REC_COLLECTIVE] = offsetof(struct evidence, collectives),
	[REC_SCHEDULE] = offsetof(struct evidence, schedule),
	[REC_ROUTE] = offsetof(struct evidence, routes),
	[REC_ECMP] = offsetof(struct evidence, ecmps),
	[REC_FOLLOW] = offsetof(struct evidence, follows),
	[REC_DEPEND] = offsetof(struct evidence, depends),
	[REC_STEP] = offsetof(struct evidence, step_recs),
	[REC_TRIGGER] = offsetof(struct evidence, triggers),
	[REC_NOTIFY] = offsetof(struct evidence, notifies),
	[REC_POLL] = offsetof(struct evidence, polls),
	[REC_PORT_ROW] = offsetof(struct evidence, port_rows),
	[REC_FLOW_ROW] = offsetof(struct evidence, flow_rows),
	[REC_METER_ROW] = offsetof(struct evidence, meter_rows),
	[REC_MATRIX_ROW] = offsetof(struct evidence, matrix_rows),
	[REC_DROP_ROW] = offsetof(struct evidence, drops),
	[REC_OVERTAKE_ROW] = offsetof(struct evidence, overtakes),
	[REC_PASSAGE] = offsetof(struct evidence, passages),
	[REC_VOLUME] = offsetof(struct evidence, volumes),
	[REC_VOLUME_ALARM] = offsetof(struct evidence, volume_alarms),
	[REC_VOLUME_FLAW] = offsetof(struct evidence, volume_flaws),
	[REC_MONITORED] = offsetof(struct evidence, monitored),
	[REC_MONITOR] = offsetof(struct evidence, monitors),
	[REC_KNOWN_FAULT] = offsetof(struct evidence, known_faults),
	[REC_PINGMESH] = offsetof(struct evidence, pingmeshes),
	[REC_PROBE] = offsetof(struct evidence, probes),
	[REC_PROBE_HOP] = offsetof(struct evidence, probe_hops),
	[REC_RNIC] = offsetof(struct evidence, rnics),
	[REC_UPLOAD] = offsetof(struct evidence, uploads),
	[REC_TRACER] = offsetof(struct evidence, tracers),
	[REC_TRACED] = offsetof(struct evidence, traced),
	[REC_TRACED_HOP] = offsetof(struct evidence, traced_hops),
	[REC_TRACE_ROUND] = offsetof(struct evidence, trace_rounds),
	[REC_CONNECTION] = offsetof(struct evidence, connections),
	[REC_HEARD] = offsetof(struct evidence, received),
	[REC_LATENESS] = offsetof(struct evidence, lateness),
	[REC_GAP] = offsetof(struct evidence, gaps),
};
_Static_assert(offsetof(struct evidence, node_recs) != 0, "0 stands for no array");

static int push(struct ev_vec *vec, const struct rec_hdr *rec, bool replace, struct err *err);
static bool is_state(const struct rec_hdr *rec);
static bool is_flow_state(const struct evidence *ev, const struct rec_hdr *rec);
static int note_sent(struct evidence *ev, const struct rec_hdr *rec, struct err *err);

void
evidence_init(struct evidence *ev)
{
	memset(ev, 0, sizeof(*ev));
}

void
evidence_fini(struct evidence *ev)
{
	for (size_t i = 0; i < RECORD_KINDS; i++) {
		if (vec_of[i] != 0)
			free(((struct ev_vec *)((char *)ev + vec_of[i]))->data);
	}
	free(ev->sent.data);
	free(ev->states.data);
	free(ev->flow_states.data);
	free(ev->nodes);
	free(ev->ports);
	free(ev->flows);
	free(ev->flow_slots);
	free(ev->epochs);
	free(ev->paused_since_ps);
	free(ev->flow_of_row);
	free(ev->flow_of_state);
	free(ev->flow_of_overtake);
	free(ev->seen);
	free(ev->hops);
	free(ev->feeds);
	free(ev->feed_rows);
	free(ev->poll_by_port);
	free(ev->poll_by_flow);
	free(ev->passed);
	free(ev->places);
	free(ev->steps);
	free(ev->deps);
	memset(ev, 0, sizeof(*ev));
}

int
evidence_add(struct evidence *ev, const struct rec_hdr *rec, struct err *err)
{
	int rc;

	ev->kinds[rec->type]++;
	if (rec->time_ps > ev->last_ps)
		ev->last_ps = rec->time_ps;
	if (rec->type == REC_RUN) {
		memcpy(&ev->run, rec, sizeof(ev->run));
		return 0;
	}
	if (rec->type == REC_END) {
		memcpy(&ev->end, rec, sizeof(ev->end));
		ev->ended = true;
		return 0;
	}
	if (record_is(rec->type, REC_TELEMETRY)) {
		rc = note_sent(ev, rec, err);
		if (rc != 0)
			return rc;
	}
	if (is_state(rec)) {
		rc = push(&ev->states, rec, false, err);
		if (rc != 0 || ((const struct rec_port_row *)(const void *)rec)->state_only)
			return rc;
	}
	if (is_flow_state(ev, rec)) {
		rc = push(&ev->flow_states, rec, false, err);
		if (rc != 0)
			return rc;
	}
	if (vec_of[rec->type] == 0) /* no diagnosis reads this kind: it is counted */
		return 0;
	return push((struct ev_vec *)((char *)ev + vec_of[rec->type]), rec, true, err);
}

/* Does the record tell of a port at a moment, more than that it was idle? */
static bool
is_state(const struct rec_hdr *rec)
{
	const struct rec_port_row *row = (const void *)rec;

	return rec->type == REC_PORT_ROW &&
	       (row->state_only || row->paused || row->pausing || row->queue_packets != 0 || row->ingress_xoff_bytes != 0);
}

/* Does the record tell of an epoch that was still open, so that a later one may replace it? */
static bool
is_flow_state(const struct evidence *ev, const struct rec_hdr *rec)
{
	const struct rec_flow_row *row = (const void *)rec;

	return rec->type == REC_FLOW_ROW && rec->time_ps / ev->run.epoch_ps <= row->epoch_last;
}

/* @param replace  records of this type may replace each other: look for room there before growing */
static int
push(struct ev_vec *vec, const struct rec_hdr *rec, bool replace, struct err *err)
{
	size_t size_bytes = record_kinds[rec->type].size;
	bool full = vec->count == vec->cap;

	if (full && replace && vec->cap != 0) {
		int rc = evidence_dedup(vec, rec->type, size_bytes, err);

		if (rc != 0)
			return rc;
	}
	/* Grow unless replaced rows left a quarter free, so that sorting stays amortized. */
	if (full && vec->count >= vec->cap - vec->cap / 4) {
		uint32_t cap = vec->cap == 0 ? 64 : vec->cap * 2;

		if (cap * (uint64_t)size_bytes > EV_MAX_BYTES)
			return err_set(err, -E2BIG, "more than %llu B of records of type %u", EV_MAX_BYTES, rec->type);
		void *data = realloc(vec->data, cap * size_bytes);

		if (data == NULL)
			return err_set(err, -ENOMEM, "out of memory for %u records of type %u", cap, rec->type);
		vec->data = data;
		vec->cap = cap;
	}
	memcpy((char *)vec->data + size_bytes * vec->count, rec, size_bytes);
	vec->count++;
	return 0;
}

static int
note_sent(struct evidence *ev, const struct rec_hdr *rec, struct err *err)
{
	struct ev_vec *vec = &ev->sent;
	struct ev_sent *last = vec->count != 0 ? EV_AT(*vec, struct ev_sent, vec->count - 1) : NULL;

	if (last != NULL && last->time_ps == rec->time_ps) {
		last->bytes += rec->size;
		return 0;
	}
	if (vec->count == vec->cap) {
		uint32_t cap = vec->cap == 0 ? 64 : vec->cap * 2;
		void *data = realloc(vec->data, cap * sizeof(*last));

		if (data == NULL)
			return err_set(err, -ENOMEM, "out of memory for the times of %u records", cap);
		vec->data = data;
		vec->cap = cap;
	}
	*EV_AT(*vec, struct ev_sent, vec->count++) = (struct ev_sent){ rec->time_ps, rec->size };
	return 0;
}

static int
cmp_sent(const void *pa, const void *pb)
{
	const struct ev_sent *a = pa, *b = pb;

	return a->time_ps < b->time_ps ? -1 : a->time_ps > b->time_ps;
}

int
evidence_finish(struct evidence *ev, struct err *err)
{
	int rc = 0;

	for (uint16_t i = 0; rc == 0 && i < RECORD_KINDS; i++) {
		if (vec_of[i] != 0)
			rc = evidence_sort((struct ev_vec *)((char *)ev + vec_of[i]), i, record_kinds[i].size, err);
	}
	if (rc == 0)
		rc = evidence_sort_states(&ev->states, err);
	if (rc == 0)
		rc = evidence_sort_flow_states(&ev->flow_states, err);
	if (ev->sent.count > 1)
		qsort(ev->sent.data, ev->sent.count, sizeof(struct ev_sent), cmp_sent);
	if (rc == 0)
		rc = evidence_join_nodes(ev, err);
	if (rc == 0)
		rc = evidence_join_flows(ev, err);
	if (rc == 0)
		rc = evidence_join_routes(ev, err);
	if (rc == 0)
		rc = evidence_join_rows(ev, err);
	if (rc == 0)
		rc = evidence_join_passages(ev, err);
	if (rc == 0)
		rc = evidence_join_steps(ev, err);
	return rc;
}
