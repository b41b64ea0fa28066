/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "diag/collect/evidence_internal.h"

#define CMP(a, b) ((a) < (b) ? -1 : (a) > (b))
#define RETURN_UNLESS_EQUAL(a, b)                                                                                     \
	do {                                                                                                          \
		if ((a) != (b))                                                                                       \
			return CMP(a, b);                                                                             \
	} while (0)

typedef int cmp_fn(const void *, const void *);

int
evidence_tuple_cmp(const struct rec_tuple *a, const struct rec_tuple *b)
{
	RETURN_UNLESS_EQUAL(a->src_ip, b->src_ip);
	RETURN_UNLESS_EQUAL(a->dst_ip, b->dst_ip);
	RETURN_UNLESS_EQUAL(a->sport, b->sport);
	return CMP(a->dport, b->dport);
}

/* The last word between records of one key: time, node, sequence. */
static int
cmp_time(const void *pa, const void *pb)
{
	const struct rec_hdr *a = pa, *b = pb;

	RETURN_UNLESS_EQUAL(a->time_ps, b->time_ps);
	RETURN_UNLESS_EQUAL(a->node, b->node);
	RETURN_UNLESS_EQUAL(a->seq, b->seq);
	return memcmp(a, b, a->size);
}

static int
key_node(const void *pa, const void *pb)
{
	return CMP(((const struct rec_hdr *)pa)->node, ((const struct rec_hdr *)pb)->node);
}

static int
key_port(const void *pa, const void *pb)
{
	const struct rec_port *a = pa, *b = pb;

	RETURN_UNLESS_EQUAL(a->hdr.node, b->hdr.node);
	return CMP(a->port, b->port);
}

static int
key_collective(const void *pa, const void *pb)
{
	const struct rec_collective *a = pa, *b = pb;

	RETURN_UNLESS_EQUAL(a->id, b->id);
	return CMP(a->iteration, b->iteration);
}

static int
key_schedule(const void *pa, const void *pb)
{
	const struct rec_schedule *a = pa, *b = pb;

	RETURN_UNLESS_EQUAL(a->collective, b->collective);
	RETURN_UNLESS_EQUAL(a->iteration, b->iteration);
	RETURN_UNLESS_EQUAL(a->rank, b->rank);
	return CMP(a->step, b->step);
}

static int
key_route(const void *pa, const void *pb)
{
	const struct rec_route *a = pa, *b = pb;
	int cmp = evidence_tuple_cmp(&a->flow, &b->flow);

	if (cmp != 0)
		return cmp;
	RETURN_UNLESS_EQUAL(a->reverse, b->reverse);
	return CMP(a->hop, b->hop);
}

static int
key_ecmp(const void *pa, const void *pb)
{
	return CMP(((const struct rec_ecmp *)pa)->set, ((const struct rec_ecmp *)pb)->set);
}

static int
key_step(const void *pa, const void *pb)
{
	const struct rec_step *a = pa, *b = pb;

	RETURN_UNLESS_EQUAL(a->collective, b->collective);
	RETURN_UNLESS_EQUAL(a->iteration, b->iteration);
	RETURN_UNLESS_EQUAL(a->hdr.node, b->hdr.node);
	RETURN_UNLESS_EQUAL(a->step, b->step);
	return evidence_tuple_cmp(&a->flow, &b->flow);
}

static int
key_port_row(const void *pa, const void *pb)
{
	const struct rec_port_row *a = pa, *b = pb;

	RETURN_UNLESS_EQUAL(a->hdr.node, b->hdr.node);
	RETURN_UNLESS_EQUAL(a->port, b->port);
	return CMP(a->epoch_first, b->epoch_first);
}

static int
key_flow_row(const void *pa, const void *pb)
{
	const struct rec_flow_row *a = pa, *b = pb;

	RETURN_UNLESS_EQUAL(a->hdr.node, b->hdr.node);
	RETURN_UNLESS_EQUAL(a->port, b->port);
	RETURN_UNLESS_EQUAL(a->epoch_first, b->epoch_first);
	return evidence_tuple_cmp(&a->flow, &b->flow);
}

static int
key_meter_row(const void *pa, const void *pb)
{
	const struct rec_meter_row *a = pa, *b = pb;

	RETURN_UNLESS_EQUAL(a->hdr.node, b->hdr.node);
	RETURN_UNLESS_EQUAL(a->port, b->port);
	RETURN_UNLESS_EQUAL(a->epoch_first, b->epoch_first);
	return CMP(a->in_port, b->in_port);
}

static int
key_matrix_row(const void *pa, const void *pb)
{
	const struct rec_matrix_row *a = pa, *b = pb;
	int cmp;

	RETURN_UNLESS_EQUAL(a->hdr.node, b->hdr.node);
	RETURN_UNLESS_EQUAL(a->port, b->port);
	RETURN_UNLESS_EQUAL(a->epoch_first, b->epoch_first);
	cmp = evidence_tuple_cmp(&a->flow, &b->flow);
	return cmp != 0 ? cmp : evidence_tuple_cmp(&a->other, &b->other);
}

static int
key_drop_row(const void *pa, const void *pb)
{
	const struct rec_drop_row *a = pa, *b = pb;

	RETURN_UNLESS_EQUAL(a->hdr.node, b->hdr.node);
	RETURN_UNLESS_EQUAL(a->port, b->port);
	return CMP(a->reason, b->reason);
}

/* Types whose later records replace earlier ones of the same key. */
static cmp_fn *const keys[EV_KINDS] = {
	[REC_NODE] = key_node,
	[REC_PORT] = key_port,
	[REC_COLLECTIVE] = key_collective,
	[REC_SCHEDULE] = key_schedule,
	[REC_ROUTE] = key_route,
	[REC_ECMP] = key_ecmp,
	[REC_STEP] = key_step,
	[REC_PORT_ROW] = key_port_row,
	[REC_FLOW_ROW] = key_flow_row,
	[REC_METER_ROW] = key_meter_row,
	[REC_MATRIX_ROW] = key_matrix_row,
	[REC_DROP_ROW] = key_drop_row,
};

/* qsort() has no context: the key is looked up by the record's own type. */
static int
cmp_record(const void *a, const void *b)
{
	cmp_fn *key = keys[((const struct rec_hdr *)a)->type];
	int cmp = key != NULL ? key(a, b) : 0;

	return cmp != 0 ? cmp : cmp_time(a, b);
}

void
evidence_dedup(struct ev_vec *vec, uint16_t type, size_t size_bytes)
{
	if (keys[type] != NULL)
		evidence_sort(vec, type, size_bytes);
}

void
evidence_sort(struct ev_vec *vec, uint16_t type, size_t size_bytes)
{
	char *data = vec->data;
	uint32_t kept = 0;

	if (vec->count == 0)
		return;
	qsort(data, vec->count, size_bytes, cmp_record);
	if (keys[type] == NULL)
		return;
	for (uint32_t i = 0; i < vec->count; i++) {
		if (i + 1 < vec->count && keys[type](data + size_bytes * i, data + size_bytes * (i + 1)) == 0)
			continue;
		if (kept != i)
			memcpy(data + size_bytes * kept, data + size_bytes * i, size_bytes);
		kept++;
	}
	vec->count = kept;
}

static int
cmp_state(const void *pa, const void *pb)
{
	const struct rec_port_row *a = pa, *b = pb;

	RETURN_UNLESS_EQUAL(a->hdr.node, b->hdr.node);
	RETURN_UNLESS_EQUAL(a->port, b->port);
	RETURN_UNLESS_EQUAL(a->hdr.time_ps, b->hdr.time_ps);
	return CMP(a->hdr.seq, b->hdr.seq);
}

void
evidence_sort_states(struct ev_vec *vec)
{
	uint32_t kept = 0;

	if (vec->count == 0)
		return;
	qsort(vec->data, vec->count, sizeof(struct rec_port_row), cmp_state);
	for (uint32_t i = 0; i < vec->count; i++) {
		const struct rec_port_row *row = EV_AT(*vec, struct rec_port_row, i);

		if (kept == 0 || cmp_state(EV_AT(*vec, struct rec_port_row, kept - 1), row) != 0)
			*EV_AT(*vec, struct rec_port_row, kept++) = *row;
	}
	vec->count = kept;
}

static int
cmp_flow_state(const void *pa, const void *pb)
{
	const struct rec_flow_row *a = pa, *b = pb;

	RETURN_UNLESS_EQUAL(a->hdr.node, b->hdr.node);
	RETURN_UNLESS_EQUAL(a->port, b->port);
	RETURN_UNLESS_EQUAL(a->epoch_first, b->epoch_first);
	return cmp_time(a, b);
}

void
evidence_sort_flow_states(struct ev_vec *vec)
{
	if (vec->count > 1)
		qsort(vec->data, vec->count, sizeof(struct rec_flow_row), cmp_flow_state);
}
