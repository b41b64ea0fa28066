/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/collect/evidence.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/large_pages.h"
#include "common/minmax.h"
#include "common/record/kinds.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "common/wire/record_fabric.h"
#include "common/wire/record_hdr.h"
#include "common/wire/record_paths.h"
#include "common/wire/record_probes.h"
#include "common/wire/record_rows.h"
#include "common/wire/record_run.h"
#include "common/wire/record_steps.h"
#include "common/wire/record_volumes.h"
#include "diag/collect/radix.h"

/* The order of each type of record, and which of them replace each other: those of the same key. */

#define KEY_WORDS 4

/* The most significant word first. Two words nearly always decide; unused words are 0. */
struct rec_key {
	uint64_t word[KEY_WORDS + 1]; /* the last is 0, behind a key of all bits */
};

typedef struct rec_key key_fn(const void *rec);

#define NODE_BITS 16
#define TUPLE_BITS 96 /* its reserved part is 0 */

_Static_assert(RECORD_MAX_NODES <= 1 << NODE_BITS, "a node fits the bits of a key");

/* Appends the lower bits of the value behind what the key has already; bits: 32 at most. */
static inline __attribute__((always_inline)) void
append(struct rec_key *key, uint32_t *used, uint64_t value, uint32_t bits)
{
	uint32_t word = *used / 64, end = *used % 64 + bits;
	unsigned __int128 both = (unsigned __int128)value << (128 - end);

	key->word[word] |= (uint64_t)(both >> 64);
	key->word[word + 1] |= (uint64_t)both;
	*used += bits;
}

static inline __attribute__((always_inline)) void
append_16(struct rec_key *key, uint32_t *used, const void *at, uint32_t bits)
{
	append(key, used, *(const uint16_t *)at, bits);
}

static inline __attribute__((always_inline)) void
append_32(struct rec_key *key, uint32_t *used, const void *at, uint32_t bits)
{
	append(key, used, *(const uint32_t *)at & UINT32_MAX >> (32 - bits), bits);
}

static inline __attribute__((always_inline)) void
append_tuple(struct rec_key *key, uint32_t *used, const void *at, uint32_t bits)
{
	const struct rec_tuple *tuple = at;

	(void)bits;
	append(key, used, tuple->src_ip, 32);
	append(key, used, tuple->dst_ip, 32);
	append(key, used, tuple->sport, 16);
	append(key, used, tuple->dport, 16);
}

#define AT(type, member) offsetof(struct type, member)
#define BITS(type, member)                                                                                                 \
	(AT(type, member) == offsetof(struct rec_hdr, node)               ? NODE_BITS                                      \
	 : sizeof(((struct type *)0)->member) == sizeof(struct rec_tuple) ? TUPLE_BITS                                     \
									  : 8 * sizeof(((struct type *)0)->member))
#define APPEND(type, member)                                                                                               \
	_Generic(((struct type *)0)->member, uint16_t                                                                      \
		 : append_16, uint32_t                                                                                     \
		 : append_32, struct rec_tuple                                                                             \
		 : append_tuple)(&key, &used, (const uint8_t *)rec + AT(type, member), BITS(type, member));
#define COUNT_BITS(type, member) +BITS(type, member)

/* What each part is, is known when this is compiled: shifts remain. */
#define KEY(number, KIND, kind, ...)                                                                                       \
	_Static_assert((0 REC_##KIND##_KEY(COUNT_BITS, rec_##kind)) <= 64 * KEY_WORDS, "a key of " #KIND);                 \
	static struct rec_key key_##kind(const void *rec)                                                                  \
	{                                                                                                                  \
		struct rec_key key = { { 0 } };                                                                            \
		uint32_t used = 0;                                                                                         \
                                                                                                                           \
		(void)rec, (void)used;                                                                                     \
		REC_##KIND##_KEY(APPEND, rec_##kind) return key;                                                           \
	}
REC_KINDS(KEY)

/* Types whose later records replace earlier ones of the same key. */
#define KEY_OF(number, KIND, kind, ...) [number] = (0 REC_##KIND##_KEY(COUNT_BITS, rec_##kind)) != 0 ? key_##kind : NULL,
static key_fn *const keys[RECORD_KINDS] = { REC_KINDS(KEY_OF) };

/* @return the key of a type whose later records replace earlier ones, NULL: nothing replaces this type's */
static key_fn *
key_of(uint16_t type)
{
	return keys[type];
}

static inline uint64_t
at_port(const struct rec_hdr *hdr, uint16_t port, uint32_t low)
{
	return (uint64_t)hdr->node << 48 | (uint64_t)port << 32 | low;
}

/* Of a port row as the report of a moment: node, port, time, sequence. */
static struct rec_key
key_state(const void *rec)
{
	const struct rec_port_row *r = rec;

	return (struct rec_key){ { at_port(&r->hdr, r->port, 0), r->hdr.time_ps, r->hdr.seq } };
}

/* Of a flow row as the report of a moment: node, port, epoch, time. */
static struct rec_key
key_flow_state(const void *rec)
{
	const struct rec_flow_row *r = rec;

	return (struct rec_key){ { at_port(&r->hdr, r->port, r->epoch_first), r->hdr.time_ps } };
}

/* Of any record: time, node, sequence. */
static struct rec_key
key_time(const void *rec)
{
	const struct rec_hdr *hdr = rec;

	return (struct rec_key){ { hdr->time_ps, (uint64_t)hdr->node << 32 | hdr->seq } };
}

/* Records in order, each of those that replace each other once. */

/* @return <0, 0, >0 */
static inline int
key_cmp(const struct rec_key *a, const struct rec_key *b)
{
	for (int w = 0; w < KEY_WORDS; w++) {
		if (a->word[w] != b->word[w])
			return a->word[w] < b->word[w] ? -1 : 1;
	}
	return 0;
}

int
evidence_cmp_time(const struct rec_hdr *a, const struct rec_hdr *b)
{
	struct rec_key key_a = key_time(a), key_b = key_time(b);
	int cmp = key_cmp(&key_a, &key_b);

	return cmp != 0 ? cmp : memcmp(a, b, a->size);
}

/* Records of one array, and their order. */
struct order {
	char *data;
	size_t size_bytes;
	key_fn *key;
	bool replace; /* the last of a key replaces those before it */
};

static const struct rec_hdr *
record(const struct order *o, uint32_t i)
{
	return (const struct rec_hdr *)(const void *)(o->data + o->size_bytes * i);
}

static int
cmp_record(const struct order *o, uint32_t a, uint32_t b)
{
	struct rec_key key_a = o->key(record(o, a)), key_b = o->key(record(o, b));
	int cmp = key_cmp(&key_a, &key_b);

	return cmp != 0 ? cmp : evidence_cmp_time(record(o, a), record(o, b));
}

static int
cmp_item(const void *pa, const void *pb, void *order)
{
	return cmp_record(order, ((const struct radix_item *)pa)->index, ((const struct radix_item *)pb)->index);
}

static bool
is_same_key(const struct order *o, uint32_t a, uint32_t b)
{
	struct rec_key key_a = o->key(record(o, a)), key_b = o->key(record(o, b));

	return key_cmp(&key_a, &key_b) == 0;
}

/* Is every record where it belongs, and none to be replaced? */
static bool
is_settled(const struct order *o, uint32_t count)
{
	struct rec_key last = { { 0 } };

	for (uint32_t i = 0; i < count; i++) {
		struct rec_key key = o->key(record(o, i));
		int cmp = i != 0 ? key_cmp(&last, &key) : -1;

		if (cmp > 0 || (cmp == 0 && (o->replace || evidence_cmp_time(record(o, i - 1), record(o, i)) > 0)))
			return false;
		last = key;
	}
	return true;
}

/* Orders items with equal words. */
static void
sort_ties(struct order *o, struct radix_item *items, uint32_t count)
{
	for (uint32_t first = 0, end; first < count; first = end) {
		for (end = first + 1;
		     end < count && items[end].key[0] == items[first].key[0] && items[end].key[1] == items[first].key[1];
		     end++)
			;
		if (end - first > 1)
			qsort_r(&items[first], end - first, sizeof(*items), cmp_item, o);
	}
}

/* Keeps the last record of each key. @return their number */
static uint32_t
keep_last(const struct order *o, struct radix_item *items, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (i + 1 == count || items[i].key[0] != items[i + 1].key[0] || items[i].key[1] != items[i + 1].key[1] ||
		    !is_same_key(o, items[i].index, items[i + 1].index))
			items[kept++] = items[i];
	}
	return kept;
}

#define AHEAD 16 /* records prefetched before their turn */

static void
gather(const struct order *o, const struct radix_item *items, uint32_t count, char *to)
{
	for (uint32_t i = 0; i < count; i++) {
		if (i + AHEAD < count)
			__builtin_prefetch(record(o, items[i + AHEAD].index));
		memcpy(to + o->size_bytes * i, record(o, items[i].index), o->size_bytes);
	}
}

static int
sort(struct ev_vec *vec, struct order o, struct err *err)
{
	struct radix_item *items, *sorted;
	void *data;

	if (is_settled(&o, vec->count))
		return 0;
	items = malloc(2 * sizeof(*items) * vec->count);
	data = malloc(vec->cap * o.size_bytes);
	if (items == NULL || data == NULL) {
		free(items);
		free(data);
		return err_set(err, -ENOMEM, "out of memory to sort %u records", vec->count);
	}
	for (uint32_t i = 0; i < vec->count; i++) {
		struct rec_key key = o.key(record(&o, i));

		items[i] = (struct radix_item){ { key.word[0], key.word[1] }, i };
	}
	sorted = radix_sort(items, items + vec->count, vec->count);
	sort_ties(&o, sorted, vec->count);
	if (o.replace)
		vec->count = keep_last(&o, sorted, vec->count);
	gather(&o, sorted, vec->count, data);
	free(items);
	free(vec->data);
	vec->data = data;
	return 0;
}

/*
 * Sorts records of a type that replace each other and keeps the latest of each key; others are left alone. In time
 * proportional to their number, as the next three. @return 0 or -ENOMEM with err
 */
static int
evidence_dedup(struct ev_vec *vec, uint16_t type, size_t size_bytes, struct err *err)
{
	key_fn *key = key_of(type);

	return key != NULL ? sort(vec, (struct order){ vec->data, size_bytes, key, true }, err) : 0;
}

/* Sorts any type into its final order, deduplicating those that replace each other. */
static int
evidence_sort(struct ev_vec *vec, uint16_t type, size_t size_bytes, struct err *err)
{
	return key_of(type) != NULL ? evidence_dedup(vec, type, size_bytes, err)
				    : sort(vec, (struct order){ vec->data, size_bytes, key_time, false }, err);
}

/* Sorts struct rec_port_row by (node, port, time), and leaves out duplicates. */
static int
evidence_sort_states(struct ev_vec *vec, struct err *err)
{
	return sort(vec, (struct order){ vec->data, sizeof(struct rec_port_row), key_state, true }, err);
}

/* Sorts struct rec_flow_row by (node, port, epoch, time). */
static int
evidence_sort_flow_states(struct ev_vec *vec, struct err *err)
{
	return sort(vec, (struct order){ vec->data, sizeof(struct rec_flow_row), key_flow_state, false }, err);
}

/* The index over sorted records: nodes and ports get ids. */

static void
copy_name(char *to, const char *from)
{
	size_t len = strnlen(from, REC_NAME_LEN);

	for (size_t i = 0; i < len; i++)
		to[i] = isprint((unsigned char)from[i]) ? from[i] : '?';
	to[len] = '\0';
}

void *
evidence_alloc(size_t count, size_t size_bytes, struct err *err)
{
	void *p = calloc(count != 0 ? count : 1, size_bytes);

	if (p == NULL)
		err_set(err, -ENOMEM, "out of memory for %zu x %zu B of evidence", count, size_bytes);
	return large_pages_advise(p, count * size_bytes);
}

uint32_t
evidence_port(const struct evidence *ev, uint32_t node, uint16_t index)
{
	if (node >= ev->nnodes || index >= ev->nodes[node].nports)
		return EV_NONE;
	return ev->nodes[node].first_port + index;
}

char *
evidence_port_name(const struct evidence *ev, uint32_t port, char *buf)
{
	const struct ev_port *p = &ev->ports[port];

	snprintf(buf, 48, "%s:%u", ev->nodes[p->node].name, p->index + 1u);
	return buf;
}

#define ENDPOINT_NAME 48 /* 37 are used: a name, a colon, a port number */

/* NICs with addresses of their own; those of a bond have one. */
static bool
has_several_addresses(const struct evidence *ev, const struct ev_node *node)
{
	return node->nports > 1 && ev->ports[node->first_port].ip != ev->ports[node->first_port + 1].ip;
}

static void
endpoint_name(const struct evidence *ev, uint32_t port, uint32_t ip, char *buf)
{
	if (port != EV_NONE && has_several_addresses(ev, &ev->nodes[ev->ports[port].node]))
		evidence_port_name(ev, port, buf);
	else if (port != EV_NONE)
		snprintf(buf, ENDPOINT_NAME, "%s", ev->nodes[ev->ports[port].node].name);
	else
		snprintf(buf, ENDPOINT_NAME, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 0xff, ip >> 8 & 0xff, ip & 0xff);
}

char *
evidence_flow_name(const struct evidence *ev, uint32_t flow, char *buf)
{
	const struct ev_flow *f = &ev->flows[flow];
	char src[ENDPOINT_NAME], dst[ENDPOINT_NAME];

	endpoint_name(ev, f->src_port, f->tuple.src_ip, src);
	endpoint_name(ev, f->dst_port, f->tuple.dst_ip, dst);
	snprintf(buf, 96, "%.38s->%.38s/%u>%u", src, dst, f->tuple.sport, f->tuple.dport);
	return buf;
}

static void
describe_ports(struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->port_recs.count; i++) {
		const struct rec_port *rec = EV_AT(ev->port_recs, struct rec_port, i);
		struct ev_port *port = &ev->ports[evidence_port(ev, rec->hdr.node, rec->port)];

		port->ip = rec->ip;
		port->rate_bps = rec->rate_bps;
		port->delay_ps = rec->delay_ps;
		if (rec->peer == REC_NONE)
			continue;
		port->peer = evidence_port(ev, rec->peer, rec->peer_port);
		port->peer_node = rec->peer;
	}
}

/* Parts of evidence_finish(), in this order. @return 0 or -ENOMEM with err */
static int
evidence_join_nodes(struct evidence *ev, struct err *err)
{
	uint32_t total = 0;

	ev->nnodes = ev->node_recs.count;
	ev->nodes = evidence_alloc(ev->nnodes, sizeof(*ev->nodes), err);
	if (ev->nodes == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < ev->nnodes; i++) {
		const struct rec_node *rec = EV_AT(ev->node_recs, struct rec_node, i);
		struct ev_node *node = &ev->nodes[i];

		copy_name(node->name, rec->name);
		node->host = rec->kind == 1;
		node->first_port = total;
		node->nports = rec->nports;
		total += rec->nports;
	}
	ev->nports = total;
	ev->ports = evidence_alloc(total, sizeof(*ev->ports), err);
	if (ev->ports == NULL)
		return -ENOMEM;
	for (uint32_t n = 0; n < ev->nnodes; n++) {
		for (uint32_t p = 0; p < ev->nodes[n].nports; p++)
			ev->ports[ev->nodes[n].first_port + p] =
				(struct ev_port){ .node = n, .index = (uint16_t)p, .peer = EV_NONE, .peer_node = EV_NONE };
	}
	describe_ports(ev);
	return 0;
}

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
	[REC_WATCHDOG] = offsetof(struct evidence, watchdogs),
	[REC_LINK_RATE] = offsetof(struct evidence, link_rates),
	[REC_FLOW_SEEN] = offsetof(struct evidence, flows_seen),
	[REC_VOLUME] = offsetof(struct evidence, volumes),
	[REC_VOLUME_ALARM] = offsetof(struct evidence, volume_alarms),
	[REC_VOLUME_FLAW] = offsetof(struct evidence, volume_flaws),
	[REC_MONITORED] = offsetof(struct evidence, monitored),
	[REC_MONITOR] = offsetof(struct evidence, monitors),
	[REC_KNOWN_FAULT] = offsetof(struct evidence, known_faults),
	[REC_SETTING] = offsetof(struct evidence, settings),
	[REC_PINGMESH] = offsetof(struct evidence, pingmeshes),
	[REC_PROBE_HOP] = offsetof(struct evidence, probe_hops),
	[REC_RNIC] = offsetof(struct evidence, rnics),
	[REC_UPLOAD] = offsetof(struct evidence, uploads),
	[REC_TRACER] = offsetof(struct evidence, tracers),
	[REC_TRACED] = offsetof(struct evidence, traced),
	[REC_TRACED_HOP] = offsetof(struct evidence, traced_hops),
	[REC_TRACE_ROUND] = offsetof(struct evidence, trace_rounds),
	[REC_CONNECTION] = offsetof(struct evidence, connections),
	[REC_RESPONDER] = offsetof(struct evidence, received),
	[REC_LATENESS] = offsetof(struct evidence, lateness),
	[REC_GAP] = offsetof(struct evidence, gaps),
};
_Static_assert(offsetof(struct evidence, node_recs) != 0, "0 stands for no array");

static int push(struct ev_vec *vec, const struct rec_hdr *rec, bool replace, struct err *err);
static bool is_state(const struct rec_hdr *rec);
static bool is_flow_state(const struct evidence *ev, const struct rec_hdr *rec);
static int note_sent(struct evidence *ev, const struct rec_hdr *rec, struct err *err);
static int join_quiet(struct evidence *ev, const struct rec_port_row *row, bool *taken, struct err *err);
static int note_life(struct evidence *ev, const struct rec_step *step, struct err *err);
static void forget_quiet(struct evidence *ev);

void
evidence_init(struct evidence *ev)
{
	memset(ev, 0, sizeof(*ev));
}

void
evidence_fini(struct evidence *ev)
{
	evidence_release_steps(ev);
	for (size_t i = 0; i < RECORD_KINDS; i++) {
		if (vec_of[i] != 0)
			free(((struct ev_vec *)((char *)ev + vec_of[i]))->data);
	}
	free(ev->probes.bytes);
	free(ev->probes.blocks.data);
	free(ev->probe_tuples.data);
	free(ev->probe_slots);
	free(ev->reports.data);
	free(ev->sent.data);
	free(ev->states.data);
	free(ev->flow_states.data);
	forget_quiet(ev);
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
	free(ev->report_of);
	free(ev->first_steps);
	memset(ev, 0, sizeof(*ev));
}

void
evidence_release_steps(struct evidence *ev)
{
	free(ev->steps);
	free(ev->deps);
	free(ev->notifies.data);
	ev->notifies = (struct ev_vec){ NULL, 0, 0 };
	ev->steps = NULL;
	ev->deps = NULL;
}

int
evidence_add(struct evidence *ev, const struct rec_hdr *rec, struct err *err)
{
	bool taken = false;
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
	if (rec->type == REC_PORT_ROW) {
		rc = join_quiet(ev, (const void *)rec, &taken, err);
		if (rc != 0 || taken)
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
	if (rec->type == REC_STEP) {
		rc = note_life(ev, (const void *)rec, err);
		return rc == 0 ? evidence_add_report(ev, (const void *)rec, err) : rc;
	}
	if (rec->type == REC_PROBE)
		return evidence_add_probe(ev, (const void *)rec, err);
	if (vec_of[rec->type] == 0) /* no diagnosis reads this kind: it is counted */
		return 0;
	return push((struct ev_vec *)((char *)ev + vec_of[rec->type]), rec, true, err);
}

/* Does the record show the state of a port at a moment, beyond being idle? */
static bool
is_state(const struct rec_hdr *rec)
{
	const struct rec_port_row *row = (const void *)rec;

	return rec->type == REC_PORT_ROW &&
	       (row->state_only || row->paused || row->pausing || row->queue_packets != 0 || row->ingress_xoff_bytes != 0);
}

/* Is the record of an epoch that was still open, so that a later one may replace it? */
static bool
is_flow_state(const struct evidence *ev, const struct rec_hdr *rec)
{
	const struct rec_flow_row *row = (const void *)rec;

	return rec->type == REC_FLOW_ROW && rec->time_ps / ev->run.epoch_ps <= row->epoch_last;
}

int
evidence_reserve(struct ev_vec *vec, size_t size_bytes, const char *what, struct err *err)
{
	uint32_t cap = vec->cap == 0 ? 64 : vec->cap * 2;
	void *data;

	if (vec->count < vec->cap)
		return 0;
	if (cap * (uint64_t)size_bytes > EV_MAX_BYTES)
		return err_set(err, -E2BIG, "more than %llu B of %s", EV_MAX_BYTES, what);
	data = realloc(vec->data, cap * size_bytes);
	if (data == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u %s", cap, what);
	vec->data = large_pages_advise(data, cap * size_bytes);
	vec->cap = cap;
	return 0;
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
		vec->data = large_pages_advise(data, cap * size_bytes);
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

/*
 * Reports of ports where nothing was. A diagnosis asks for them in the time of a step, or near it, alone: an hour between
 * two steps takes no more than its first and its last report.
 */

#define NEAR_PS (10 * PS_PER_MS) /* beside whole epochs: pauses, cables and retained reports are shorter */
#define NEAR_EPOCHS 64           /* beside those that ports keep */

/* @return does it say no more than that a port was asked then? */
static bool
is_quiet(const struct evidence *ev, const struct rec_port_row *row)
{
	uint64_t epoch = row->hdr.time_ps / ev->run.epoch_ps;
	const struct rec_port_row none = {
		.hdr = row->hdr,
		.port = row->port,
		.host = row->host,
		.prio = row->prio,
		.epoch_first = (uint32_t)epoch,
		.epoch_last = (uint32_t)epoch,
		.from_ps = epoch * ev->run.epoch_ps,
		.to_ps = row->hdr.time_ps,
		.ingress_xoff_bytes = REC_NO_XOFF,
	};

	return epoch < UINT32_MAX && memcmp(row, &none, sizeof(none)) == 0;
}

/* One of the reports, as it was received but for its number. */
static struct rec_port_row
quiet_row(const struct evidence *ev, const struct ev_quiet *quiet, uint32_t i)
{
	struct rec_port_row row = quiet->first;

	row.hdr.time_ps += i * quiet->every_ps;
	row.epoch_first = row.epoch_last = (uint32_t)(row.hdr.time_ps / ev->run.epoch_ps);
	row.from_ps = row.epoch_first * ev->run.epoch_ps;
	row.to_ps = row.hdr.time_ps;
	return row;
}

/* @return NULL: out of memory */
static uint32_t *
latest_quiet(struct evidence *ev, uint32_t node, uint16_t port)
{
	struct ev_quiet_node *of;

	if (node >= ev->quiet_last.count) {
		struct ev_quiet_node *nodes = realloc(ev->quiet_last.data, (node + (size_t)1) * sizeof(*nodes));

		if (nodes == NULL)
			return NULL;
		memset(nodes + ev->quiet_last.count, 0, (node + (size_t)1 - ev->quiet_last.count) * sizeof(*nodes));
		ev->quiet_last = (struct ev_vec){ nodes, node + 1, node + 1 };
	}
	of = EV_AT(ev->quiet_last, struct ev_quiet_node, node);
	if (port >= of->nports) {
		uint32_t *ports = realloc(of->ports, (port + (size_t)1) * sizeof(*ports));

		if (ports == NULL)
			return NULL;
		memset(ports + of->nports, 0, (port + (size_t)1 - of->nports) * sizeof(*ports));
		*of = (struct ev_quiet_node){ ports, port + 1u };
	}
	return &of->ports[port];
}

/* @return is it one more of these reports? */
static bool
is_next(const struct ev_quiet *quiet, const struct rec_port_row *row)
{
	const struct rec_port_row *first = &quiet->first;
	uint64_t after_ps = row->hdr.time_ps - min_u64(row->hdr.time_ps, first->hdr.time_ps);

	return row->host == first->host && row->prio == first->prio && row->hdr.event == first->hdr.event &&
	       row->epoch_first != first->epoch_first && quiet->count < UINT32_MAX && after_ps != 0 &&
	       (quiet->count == 1 || after_ps == quiet->count * quiet->every_ps);
}

/* @param taken  set if the row is among those of ev->quiet */
static int
join_quiet(struct evidence *ev, const struct rec_port_row *row, bool *taken, struct err *err)
{
	uint32_t *last = latest_quiet(ev, row->hdr.node, row->port);
	struct ev_quiet *quiet;
	int rc;

	if (last == NULL)
		return err_set(err, -ENOMEM, "out of memory for idle ports");
	*taken = is_quiet(ev, row);
	quiet = *last != 0 ? EV_AT(ev->quiet, struct ev_quiet, *last - 1) : NULL;
	if (!*taken) {
		*last = 0;
		return 0;
	}
	if (quiet != NULL && is_next(quiet, row)) {
		quiet->every_ps = quiet->count == 1 ? row->hdr.time_ps - quiet->first.hdr.time_ps : quiet->every_ps;
		quiet->count++;
		return 0;
	}
	rc = evidence_reserve(&ev->quiet, sizeof(*quiet), "reports of idle ports", err);
	if (rc != 0)
		return rc;
	*EV_AT(ev->quiet, struct ev_quiet, ev->quiet.count) = (struct ev_quiet){ .first = *row, .count = 1 };
	*last = ++ev->quiet.count;
	return 0;
}

static void
forget_quiet(struct evidence *ev)
{
	for (uint32_t n = 0; n < ev->quiet_last.count; n++)
		free(EV_AT(ev->quiet_last, struct ev_quiet_node, n)->ports);
	free(ev->quiet_last.data);
	free(ev->quiet.data);
	free(ev->lives.data);
	ev->quiet_last = ev->quiet = ev->lives = (struct ev_vec){ NULL, 0, 0 };
}

/*
 * The time in which reports are asked for because of a step: no computation, which sends nothing. Steps that follow each
 * other make one.
 */
static int
note_life(struct evidence *ev, const struct rec_step *step, struct err *err)
{
	double epochs = (double)ev->run.epochs_kept + NEAR_EPOCHS, near = epochs * (double)ev->run.epoch_ps + NEAR_PS;
	uint64_t near_ps = near < (double)RECORD_MAX_PS ? (uint64_t)near : RECORD_MAX_PS;
	struct ev_life life = { step->start_ps - min_u64(step->start_ps, near_ps),
				step->end_ps != 0 ? step->end_ps + near_ps : UINT64_MAX };
	struct ev_life *last = ev->lives.count != 0 ? EV_AT(ev->lives, struct ev_life, ev->lives.count - 1) : NULL;
	int rc;

	if (step->bytes == 0 && step->rtt_samples == 0 && step->end_ps != 0)
		return 0;
	if (last != NULL && life.from_ps <= last->to_ps && last->from_ps <= life.to_ps) {
		last->from_ps = min_u64(last->from_ps, life.from_ps);
		last->to_ps = max_u64(last->to_ps, life.to_ps);
		return 0;
	}
	rc = evidence_reserve(&ev->lives, sizeof(life), "times of steps", err);
	if (rc == 0)
		*EV_AT(ev->lives, struct ev_life, ev->lives.count++) = life;
	return rc;
}

static int
cmp_life(const void *pa, const void *pb)
{
	const struct ev_life *a = pa, *b = pb;

	return a->from_ps < b->from_ps ? -1 : a->from_ps > b->from_ps;
}

/* @param life  by time; the first that may have this moment: moved on */
static bool
is_alive(const struct evidence *ev, uint32_t *life, uint64_t time_ps)
{
	while (*life < ev->lives.count && EV_AT(ev->lives, struct ev_life, *life)->to_ps < time_ps)
		++*life;
	return *life < ev->lives.count && EV_AT(ev->lives, struct ev_life, *life)->from_ps <= time_ps;
}

/* Sorts the times of steps, and makes each one of those that overlap. */
static void
settle_lives(struct evidence *ev)
{
	struct ev_life *lives = ev->lives.data;
	uint32_t kept = 0;

	if (ev->lives.count > 1)
		qsort(lives, ev->lives.count, sizeof(*lives), cmp_life);
	for (uint32_t i = 1; i < ev->lives.count; i++) {
		if (lives[i].from_ps <= lives[kept].to_ps)
			lives[kept].to_ps = max_u64(lives[kept].to_ps, lives[i].to_ps);
		else
			lives[++kept] = lives[i];
	}
	ev->lives.count = ev->lives.count != 0 ? kept + 1 : 0;
}

/* Of reports of ports where nothing was, keeps the first and the last in a row, and those of the times of steps. */
static int
keep_quiet(struct evidence *ev, struct err *err)
{
	int rc = 0;

	settle_lives(ev);
	for (uint32_t q = 0; q < ev->quiet.count && rc == 0; q++) {
		const struct ev_quiet *quiet = EV_AT(ev->quiet, struct ev_quiet, q);
		uint32_t life = 0;

		for (uint32_t i = 0; i < quiet->count && rc == 0; i++) {
			struct rec_port_row row;

			if (!is_alive(ev, &life, quiet->first.hdr.time_ps + i * quiet->every_ps) && i != 0 &&
			    i != quiet->count - 1)
				continue;
			row = quiet_row(ev, quiet, i);
			rc = push(&ev->states, &row.hdr, false, err);
			if (rc == 0)
				rc = push(&ev->port_rows, &row.hdr, true, err);
		}
	}
	forget_quiet(ev);
	return rc;
}

static int
cmp_sent(const void *pa, const void *pb)
{
	const struct ev_sent *a = pa, *b = pb;

	return ORDER(a->time_ps, b->time_ps);
}

/* Of NOTIFY records, in order, keeps what is asked for: there may be one a step. */
static int
pack_notifies(struct evidence *ev, struct err *err)
{
	struct ev_notify *to = ev->notifies.data;
	void *less;

	for (uint32_t i = 0; i < ev->notifies.count; i++) {
		const struct rec_notify *rec = EV_AT(ev->notifies, struct rec_notify, i);
		struct ev_notify notify = { rec->hdr.time_ps, rec->hdr.node, rec->detections };

		to[i] = notify; /* behind no record that is still to be read */
	}
	ev->notifies.cap = ev->notifies.count;
	less = realloc(to, (ev->notifies.count + (size_t)1) * sizeof(*to));
	if (less == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u notifications", ev->notifies.count);
	ev->notifies.data = less;
	return 0;
}

int
evidence_finish(struct evidence *ev, struct err *err)
{
	int rc = keep_quiet(ev, err);

	for (uint16_t i = 0; rc == 0 && i < RECORD_KINDS; i++) {
		if (vec_of[i] != 0)
			rc = evidence_sort((struct ev_vec *)((char *)ev + vec_of[i]), i, record_kinds[i].size, err);
	}
	if (rc == 0)
		rc = evidence_sort_states(&ev->states, err);
	if (rc == 0)
		rc = evidence_sort_flow_states(&ev->flow_states, err);
	if (rc == 0)
		rc = pack_notifies(ev, err);
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

const char *
evidence_setting(const struct evidence *ev, const char *key, char *buf)
{
	size_t length = strlen(key);

	for (uint32_t i = 0; i < ev->settings.count; i++) {
		const struct rec_setting *setting = EV_AT(ev->settings, struct rec_setting, i);
		char *value = buf + length + 1;

		snprintf(buf, REC_SETTING_TEXT + 1, "%.*s", REC_SETTING_TEXT, setting->text);
		if (strncmp(buf, key, length) != 0 || buf[length] != '=')
			continue;
		value += *value == '"';
		value[strcspn(value, "\"")] = '\0';
		return value;
	}
	return NULL;
}
