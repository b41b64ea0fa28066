/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/collect/evidence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diag/collect/evidence_internal.h"

#define NO_VEC SIZE_MAX

/* Size of each record type, and the array of struct evidence that keeps it. */
static const struct record_kind {
	size_t size_bytes;
	size_t vec; /* offset in struct evidence, NO_VEC: kept otherwise */
	bool of_node; /* hdr.node must name a node */
} record_kinds[EV_KINDS] = {
	[REC_RUN] = { sizeof(struct rec_run), NO_VEC, false },
	[REC_NODE] = { sizeof(struct rec_node), offsetof(struct evidence, node_recs), true },
	[REC_PORT] = { sizeof(struct rec_port), offsetof(struct evidence, port_recs), true },
	[REC_COLLECTIVE] = { sizeof(struct rec_collective), offsetof(struct evidence, collectives), false },
	[REC_SCHEDULE] = { sizeof(struct rec_schedule), offsetof(struct evidence, schedule), true },
	[REC_ROUTE] = { sizeof(struct rec_route), offsetof(struct evidence, routes), true },
	[REC_ECMP] = { sizeof(struct rec_ecmp), offsetof(struct evidence, ecmps), true },
	[REC_STEP] = { sizeof(struct rec_step), offsetof(struct evidence, step_recs), true },
	[REC_TRIGGER] = { sizeof(struct rec_trigger), offsetof(struct evidence, triggers), true },
	[REC_NOTIFY] = { sizeof(struct rec_notify), offsetof(struct evidence, notifies), true },
	[REC_POLL] = { sizeof(struct rec_poll), offsetof(struct evidence, polls), true },
	[REC_PORT_ROW] = { sizeof(struct rec_port_row), offsetof(struct evidence, port_rows), true },
	[REC_FLOW_ROW] = { sizeof(struct rec_flow_row), offsetof(struct evidence, flow_rows), true },
	[REC_METER_ROW] = { sizeof(struct rec_meter_row), offsetof(struct evidence, meter_rows), true },
	[REC_MATRIX_ROW] = { sizeof(struct rec_matrix_row), offsetof(struct evidence, matrix_rows), true },
	[REC_DROP_ROW] = { sizeof(struct rec_drop_row), offsetof(struct evidence, drops), true },
	[REC_GAP] = { sizeof(struct rec_gap), offsetof(struct evidence, gaps), false },
	[REC_END] = { sizeof(struct rec_end), NO_VEC, false },
};

static int check_fields(const struct rec_hdr *rec, struct err *err);
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
	for (size_t i = 0; i < EV_KINDS; i++) {
		if (record_kinds[i].size_bytes != 0 && record_kinds[i].vec != NO_VEC)
			free(((struct ev_vec *)((char *)ev + record_kinds[i].vec))->data);
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
	free(ev->seen);
	free(ev->hops);
	free(ev->feeds);
	free(ev->feed_rows);
	free(ev->poll_by_port);
	free(ev->poll_by_flow);
	free(ev->steps);
	memset(ev, 0, sizeof(*ev));
}

size_t
evidence_record_size(uint16_t type)
{
	return type < EV_KINDS ? record_kinds[type].size_bytes : 0;
}

int
evidence_add(struct evidence *ev, const struct rec_hdr *rec, struct err *err)
{
	int rc;

	if (ev->ended)
		return err_set(err, -EINVAL, "record type %u after the end record", rec->type);
	if (record_kinds[rec->type].of_node && rec->node >= EV_MAX_NODES)
		return err_set(err, -EINVAL, "record type %u of node %u, ids are below %u", rec->type, rec->node,
			       EV_MAX_NODES);
	rc = check_fields(rec, err);
	if (rc != 0)
		return rc;
	ev->kinds[rec->type].records++;
	ev->kinds[rec->type].bytes += rec->size;
	ev->bytes += rec->size;
	if (rec->time_ps > ev->last_ps)
		ev->last_ps = rec->time_ps;
	if (rec->type == REC_RUN) {
		if (ev->has_run)
			return err_set(err, -EINVAL, "a second run record");
		memcpy(&ev->run, rec, sizeof(ev->run));
		ev->has_run = true;
		return 0;
	}
	if (rec->type == REC_END) {
		memcpy(&ev->end, rec, sizeof(ev->end));
		ev->ended = true;
		return 0;
	}
	if (rec->type >= REC_POLL && rec->type <= REC_DROP_ROW) {
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
	return push((struct ev_vec *)((char *)ev + record_kinds[rec->type].vec), rec, true, err);
}

/* Does the record tell of a port at a moment, more than that it was idle? */
static bool
is_state(const struct rec_hdr *rec)
{
	const struct rec_port_row *row = (const void *)rec;

	return rec->type == REC_PORT_ROW &&
	       (row->state_only || row->paused || row->pausing || row->queue_packets != 0 || row->ingress_xoff_bytes != 0);
}

/* Does the record tell of an epoch that was still open, so that a later one may replace it? Where that is not known, yes. */
static bool
is_flow_state(const struct evidence *ev, const struct rec_hdr *rec)
{
	const struct rec_flow_row *row = (const void *)rec;

	return rec->type == REC_FLOW_ROW && (!ev->has_run || rec->time_ps / ev->run.epoch_ps <= row->epoch_last);
}

/* Ranges of fields that later code relies on. */
static int
check_fields(const struct rec_hdr *rec, struct err *err)
{
	const void *r = rec;
	const char *wrong = NULL;

	switch (rec->type) {
	case REC_RUN:
		if (((const struct rec_run *)r)->epoch_ps == 0)
			wrong = "an epoch of 0 ps";
		break;
	case REC_NODE:
		if (((const struct rec_node *)r)->nports > EV_MAX_PORTS_A_NODE)
			wrong = "too many ports";
		break;
	case REC_PORT:
		if (((const struct rec_port *)r)->rate_bps == 0)
			wrong = "a rate of 0";
		break;
	case REC_COLLECTIVE:
		if (((const struct rec_collective *)r)->ranks > EV_MAX_NODES)
			wrong = "too many ranks";
		break;
	case REC_SCHEDULE:
		if (((const struct rec_schedule *)r)->step == 0)
			wrong = "step 0, steps count from 1";
		break;
	case REC_STEP: {
		const struct rec_step *step = r;

		if (!step->open && step->end_ps < step->start_ps)
			wrong = "a finished step that ends before it starts";
		break;
	}
	case REC_PORT_ROW: {
		const struct rec_port_row *row = r;

		if (row->epoch_last < row->epoch_first || row->to_ps < row->from_ps)
			wrong = "an interval that ends before it starts";
		break;
	}
	case REC_FLOW_ROW:
		if (((const struct rec_flow_row *)r)->epoch_last < ((const struct rec_flow_row *)r)->epoch_first)
			wrong = "epochs that end before they start";
		break;
	case REC_METER_ROW:
		if (((const struct rec_meter_row *)r)->epoch_last < ((const struct rec_meter_row *)r)->epoch_first)
			wrong = "epochs that end before they start";
		break;
	case REC_MATRIX_ROW:
		if (((const struct rec_matrix_row *)r)->epoch_last < ((const struct rec_matrix_row *)r)->epoch_first)
			wrong = "epochs that end before they start";
		break;
	case REC_DROP_ROW:
		if (((const struct rec_drop_row *)r)->reason >= REC_DROP_REASONS)
			wrong = "an unknown drop reason";
		break;
	case REC_END:
		if (((const struct rec_end *)r)->reason >= REC_END_REASONS)
			wrong = "an unknown end reason";
		break;
	}
	if (wrong == NULL)
		return 0;
	return err_set(err, -EINVAL, "record type %u of node %u at %" PRIu64 " ps: %s", rec->type, rec->node,
		       rec->time_ps, wrong);
}

/* @param replace  records of this type may replace each other: look for room there before growing */
static int
push(struct ev_vec *vec, const struct rec_hdr *rec, bool replace, struct err *err)
{
	size_t size_bytes = record_kinds[rec->type].size_bytes;
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

	if (!ev->has_run)
		return err_set(err, -EINVAL, "the record stream has no run record");
	for (uint16_t i = 0; rc == 0 && i < EV_KINDS; i++) {
		if (record_kinds[i].size_bytes != 0 && record_kinds[i].vec != NO_VEC)
			rc = evidence_sort((struct ev_vec *)((char *)ev + record_kinds[i].vec), i,
					   record_kinds[i].size_bytes, err);
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
		rc = evidence_join_steps(ev, err);
	return rc;
}
