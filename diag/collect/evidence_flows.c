/* SPDX-License-Identifier: BSD-3-Clause */
/* The index over sorted records: flows get ids, in order of their tuples, and a hash table finds them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/leb128.h"
#include "common/minmax.h"
#include "common/wire/record.h"
#include "diag/collect/evidence.h"

#define FIRST_SLOTS 256

int
evidence_tuple_cmp(const struct rec_tuple *a, const struct rec_tuple *b)
{
	if (a->src_ip != b->src_ip)
		return a->src_ip < b->src_ip ? -1 : 1;
	if (a->dst_ip != b->dst_ip)
		return a->dst_ip < b->dst_ip ? -1 : 1;
	if (a->sport != b->sport)
		return a->sport < b->sport ? -1 : 1;
	return ORDER(a->dport, b->dport);
}

struct address {
	uint32_t ip, port;
};

static int
cmp_address(const void *pa, const void *pb)
{
	const struct address *a = pa, *b = pb;

	if (a->ip != b->ip)
		return a->ip < b->ip ? -1 : 1;
	return ORDER(a->port, b->port);
}

static uint32_t
port_of_ip(const struct address *addresses, uint32_t count, uint32_t ip)
{
	uint32_t lo = 0, hi = count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (addresses[mid].ip == ip)
			return addresses[mid].port;
		if (addresses[mid].ip < ip)
			lo = mid + 1;
		else
			hi = mid;
	}
	return EV_NONE;
}

static int
resolve_addresses(struct evidence *ev, struct err *err)
{
	struct address *addresses = evidence_alloc(ev->nports, sizeof(*addresses), err);
	uint32_t count = 0;

	if (addresses == NULL)
		return -ENOMEM;
	for (uint32_t p = 0; p < ev->nports; p++) {
		if (ev->ports[p].ip != 0)
			addresses[count++] = (struct address){ ev->ports[p].ip, p };
	}
	qsort(addresses, count, sizeof(*addresses), cmp_address);
	for (uint32_t f = 0; f < ev->nflows; f++) {
		struct ev_flow *flow = &ev->flows[f];

		flow->src_port = port_of_ip(addresses, count, flow->tuple.src_ip);
		flow->dst_port = port_of_ip(addresses, count, flow->tuple.dst_ip);
		flow->src = flow->src_port != EV_NONE ? ev->ports[flow->src_port].node : EV_NONE;
		flow->dst = flow->dst_port != EV_NONE ? ev->ports[flow->dst_port].node : EV_NONE;
	}
	free(addresses);
	return 0;
}

/* Where each kind of record that names a flow keeps its tuple. */
static const struct {
	size_t vec, size_bytes, tuple;
} tuple_sources[] = {
	{ offsetof(struct evidence, schedule), sizeof(struct rec_schedule), offsetof(struct rec_schedule, flow) },
	{ offsetof(struct evidence, routes), sizeof(struct rec_route), offsetof(struct rec_route, flow) },
	{ offsetof(struct evidence, triggers), sizeof(struct rec_trigger), offsetof(struct rec_trigger, flow) },
	{ offsetof(struct evidence, polls), sizeof(struct rec_poll), offsetof(struct rec_poll, victim) },
	{ offsetof(struct evidence, flow_rows), sizeof(struct rec_flow_row), offsetof(struct rec_flow_row, flow) },
	{ offsetof(struct evidence, matrix_rows), sizeof(struct rec_matrix_row), offsetof(struct rec_matrix_row, flow) },
	{ offsetof(struct evidence, matrix_rows), sizeof(struct rec_matrix_row), offsetof(struct rec_matrix_row, other) },
	{ offsetof(struct evidence, drops), sizeof(struct rec_drop_row), offsetof(struct rec_drop_row, last) },
	{ offsetof(struct evidence, traced), sizeof(struct rec_traced), offsetof(struct rec_traced, tuple) },
	{ offsetof(struct evidence, traced_hops), sizeof(struct rec_traced_hop), offsetof(struct rec_traced_hop, tuple) },
	{ offsetof(struct evidence, flows_seen), sizeof(struct rec_flow_seen), offsetof(struct rec_flow_seen, flow) },
	{ offsetof(struct evidence, overtakes), sizeof(struct rec_overtake_row), offsetof(struct rec_overtake_row, flow) },
};
#define NSOURCES ARRAY_LEN(tuple_sources)

bool
evidence_is_no_flow(const struct rec_tuple *tuple)
{
	static const struct rec_tuple none;

	return evidence_tuple_cmp(tuple, &none) == 0;
}

/*
 * Of no flow: a link that went down while nothing waited for it has no last packet, a local step sends nothing, and the
 * flow that overtook is not identified.
 */
static bool
is_of_none(const void *rec)
{
	const struct rec_schedule *step = rec;

	if (step->hdr.type == REC_SCHEDULE)
		return step->peer == step->rank;
	if (step->hdr.type == REC_OVERTAKE_ROW)
		return evidence_is_no_flow(&((const struct rec_overtake_row *)rec)->flow);
	return step->hdr.type == REC_DROP_ROW && ((const struct rec_drop_row *)rec)->packets == 0;
}

/* Where a tuple is in the table, or the free slot where it belongs; a table is never more than half full. */
static uint32_t *
slot_of(const struct evidence *ev, const struct rec_tuple *tuple)
{
	uint64_t addresses = (uint64_t)tuple->src_ip << 32 | tuple->dst_ip;
	uint64_t ports = (uint64_t)tuple->sport << 16 | tuple->dport;
	uint64_t hash = (addresses * 0x9e3779b97f4a7c15ULL ^ ports) * 0xbf58476d1ce4e5b9ULL;

	for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
		uint32_t *slot = &ev->flow_slots[i & (ev->nslots - 1)];

		if (*slot == EV_NONE || evidence_tuple_cmp(&ev->flows[*slot].tuple, tuple) == 0)
			return slot;
	}
}

const struct rec_flow_row *
evidence_flow_row(const struct evidence *ev, const struct ev_epoch *epoch, uint32_t flow)
{
	for (uint32_t i = epoch->first_flow; i < epoch->first_flow + epoch->nflows; i++)
		if (ev->flow_of_row[i] == flow)
			return EV_AT(ev->flow_rows, struct rec_flow_row, i);
	return NULL;
}

uint32_t
evidence_flow(const struct evidence *ev, const struct rec_tuple *tuple)
{
	return *slot_of(ev, tuple);
}

static void
fill_slots(struct evidence *ev)
{
	memset(ev->flow_slots, 0xff, ev->nslots * sizeof(*ev->flow_slots));
	for (uint32_t f = 0; f < ev->nflows; f++)
		*slot_of(ev, &ev->flows[f].tuple) = f;
}

/* Room for half as many flows as slots. */
static int
make_room(struct evidence *ev, uint32_t nslots, struct err *err)
{
	void *flows = realloc(ev->flows, nslots / 2 * sizeof(*ev->flows));
	void *slots;

	if (flows != NULL)
		ev->flows = flows;
	slots = realloc(ev->flow_slots, nslots * sizeof(*ev->flow_slots));
	if (slots != NULL)
		ev->flow_slots = slots;
	if (flows == NULL || slots == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u flows", nslots / 2);
	ev->nslots = nslots;
	fill_slots(ev);
	return 0;
}

static int
add_flow(struct evidence *ev, const struct rec_tuple *tuple, struct err *err)
{
	uint32_t *slot = slot_of(ev, tuple);

	if (*slot != EV_NONE)
		return 0;
	*slot = ev->nflows;
	ev->flows[ev->nflows++] =
		(struct ev_flow){ .tuple = { tuple->src_ip, tuple->dst_ip, tuple->sport, tuple->dport, 0 }, .of = EV_NONE };
	if (ev->nflows < ev->nslots / 2)
		return 0;
	if (ev->nslots > UINT32_MAX / 2)
		return err_set(err, -E2BIG, "more than %u flows", ev->nflows);
	return make_room(ev, 2 * ev->nslots, err);
}

static int
cmp_flow(const void *a, const void *b)
{
	return evidence_tuple_cmp(&((const struct ev_flow *)a)->tuple, &((const struct ev_flow *)b)->tuple);
}

/* The members of a bond have one address: which of them a flow leaves by is in its path. */
static void
resolve_members(struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->routes.count; i++) {
		const struct rec_route *rec = EV_AT(ev->routes, struct rec_route, i);
		struct ev_flow *flow = &ev->flows[evidence_flow(ev, &rec->flow)];
		uint32_t end = rec->reverse ? flow->dst : flow->src;

		if (rec->hop != 0 || rec->hdr.node != end || rec->port >= ev->nodes[end].nports)
			continue;
		if (rec->reverse)
			flow->dst_port = ev->nodes[end].first_port + rec->port;
		else
			flow->src_port = ev->nodes[end].first_port + rec->port;
	}
}

/* The last step of a flow decides. */
static void
mark_scheduled(struct evidence *ev)
{
	struct ev_flow *flow = NULL;

	for (uint32_t i = 0; i < ev->schedule.count; i++) {
		const struct rec_schedule *rec = EV_AT(ev->schedule, struct rec_schedule, i);

		if (rec->peer == rec->rank)
			continue;
		if (flow == NULL || evidence_tuple_cmp(&flow->tuple, &rec->flow) != 0)
			flow = &ev->flows[evidence_flow(ev, &rec->flow)];
		flow->collective = true;
		flow->of = rec->collective;
		flow->prio = (uint8_t)rec->prio;
	}
}

static uint32_t
hash_of_probe(const struct rec_tuple *tuple)
{
	uint64_t key = (uint64_t)tuple->src_ip << 32 | tuple->dst_ip, ports = (uint64_t)tuple->sport << 16 | tuple->dport;

	return (uint32_t)((key * 0x9e3779b97f4a7c15ULL ^ ports * 0xc2b2ae3d27d4eb4fULL) >> 32);
}

/* @return the slot of a tuple, or the free one that it may have */
static uint32_t *
slot_of_probe(const struct evidence *ev, const struct rec_tuple *tuple)
{
	uint32_t mask = ev->nprobe_slots - 1, at = hash_of_probe(tuple) & mask;

	while (ev->probe_slots[at] != EV_NONE &&
	       evidence_tuple_cmp(EV_AT(ev->probe_tuples, struct rec_tuple, ev->probe_slots[at]), tuple) != 0)
		at = (at + 1) & mask;
	return &ev->probe_slots[at];
}

/* Half of the slots stay free. @return 0 or -ENOMEM */
static int
reserve_probe_slot(struct evidence *ev, struct err *err)
{
	uint32_t nslots = ev->nprobe_slots != 0 ? 2 * ev->nprobe_slots : FIRST_SLOTS;
	uint32_t *slots;

	if (2 * (ev->probe_tuples.count + 1) <= ev->nprobe_slots)
		return 0;
	slots = evidence_alloc(nslots, sizeof(*slots), err);
	if (slots == NULL)
		return -ENOMEM;
	memset(slots, UINT8_MAX, nslots * sizeof(*slots)); /* EV_NONE */
	free(ev->probe_slots);
	ev->probe_slots = slots;
	ev->nprobe_slots = nslots;
	for (uint32_t t = 0; t < ev->probe_tuples.count; t++)
		*slot_of_probe(ev, EV_AT(ev->probe_tuples, struct rec_tuple, t)) = t;
	return 0;
}

#define A_BLOCK 16384       /* probes: large beside the pages that it shares with its neighbours when it is released */
#define PROBE_MOST_BYTES 56 /* four differences of 64 bits, three of 32, kind and result */

/* @return 0; -E2BIG with err past EV_MAX_BYTES; -ENOMEM */
static int
reserve_probe(struct ev_probes *probes, struct err *err)
{
	uint64_t cap = probes->cap != 0 ? 2 * probes->cap : 64 * PROBE_MOST_BYTES;
	void *bytes;

	if (probes->size + PROBE_MOST_BYTES > probes->cap) {
		if (cap > EV_MAX_BYTES)
			return err_set(err, -E2BIG, "more than %llu B of probes", EV_MAX_BYTES);
		bytes = realloc(probes->bytes, cap);
		if (bytes == NULL)
			return err_set(err, -ENOMEM, "out of memory for %u probes", probes->count);
		probes->bytes = bytes;
		probes->cap = cap;
	}
	if (probes->count % A_BLOCK != 0)
		return 0;
	if (evidence_reserve(&probes->blocks, sizeof(struct ev_probe_block), "probes", err) != 0)
		return -ENOMEM;
	probes->last = (struct ev_probe){ 0 };
	*EV_AT(probes->blocks, struct ev_probe_block, probes->blocks.count++) =
		(struct ev_probe_block){ .first = probes->size, .least_ps = UINT64_MAX, .first_probe = probes->count };
	return 0;
}

static void
put_probe(struct ev_probes *probes, const struct ev_probe *probe)
{
	struct ev_probe_block *block = EV_AT(probes->blocks, struct ev_probe_block, probes->blocks.count - 1);
	const struct ev_probe *last = &probes->last;
	uint8_t *to = &probes->bytes[probes->size];

	*to++ = (uint8_t)(probe->kind << 4 | probe->result);
	to = leb128_put(to, leb128_change(probe->sent_ps, last->sent_ps));
	to = leb128_put(to, probe->rtt_ps);
	to = leb128_put(to, probe->prober_ps);
	to = leb128_put(to, probe->responder_ps);
	to = leb128_put(to, probe->tuple);
	to = leb128_put(to, leb128_change(probe->target_qpn, last->target_qpn));
	to = leb128_put(to, leb128_change(probe->seq, last->seq));
	probes->size = (uint64_t)(to - probes->bytes);
	probes->last = *probe;
	probes->count++;
	block->count++;
	block->least_ps = min_u64(block->least_ps, probe->sent_ps);
	block->most_ps = max_u64(block->most_ps, probe->sent_ps);
}

int
evidence_add_probe(struct evidence *ev, const struct rec_probe *rec, struct err *err)
{
	struct ev_probe probe = { .sent_ps = rec->sent_ps,
				  .rtt_ps = rec->rtt_ps,
				  .prober_ps = rec->prober_ps,
				  .responder_ps = rec->responder_ps,
				  .target_qpn = rec->target_qpn,
				  .seq = rec->seq,
				  .kind = rec->kind,
				  .result = rec->result };
	int rc = reserve_probe_slot(ev, err);
	uint32_t *slot;

	if (rc == 0)
		rc = evidence_reserve(&ev->probe_tuples, sizeof(struct rec_tuple), "tuples of probes", err);
	if (rc == 0)
		rc = reserve_probe(&ev->probes, err);
	if (rc != 0)
		return rc;
	slot = slot_of_probe(ev, &rec->tuple);
	if (*slot == EV_NONE) {
		*slot = ev->probe_tuples.count++;
		*EV_AT(ev->probe_tuples, struct rec_tuple, *slot) = rec->tuple;
	}
	probe.tuple = *slot;
	put_probe(&ev->probes, &probe);
	return 0;
}

void
evidence_read_probes(const struct evidence *ev, uint32_t block, struct ev_probe_reader *reader)
{
	const struct ev_probe_block *of = EV_AT(ev->probes.blocks, struct ev_probe_block, block);

	*reader = (struct ev_probe_reader){ .at = &ev->probes.bytes[of->first], .left = of->count };
}

static uint64_t
next_number(struct ev_probe_reader *reader)
{
	uint64_t value = *reader->at & 0x7f;

	for (unsigned shift = 7; (*reader->at++ & 0x80) != 0; shift += 7)
		value |= (uint64_t)(*reader->at & 0x7f) << shift;
	return value;
}

const struct ev_probe *
evidence_next_probe(struct ev_probe_reader *reader)
{
	struct ev_probe *probe = &reader->probe;

	if (reader->left == 0)
		return NULL;
	reader->left--;
	probe->kind = *reader->at >> 4;
	probe->result = *reader->at++ & 0xf;
	probe->sent_ps = leb128_changed(probe->sent_ps, next_number(reader));
	probe->rtt_ps = next_number(reader);
	probe->prober_ps = next_number(reader);
	probe->responder_ps = next_number(reader);
	probe->tuple = (uint32_t)next_number(reader);
	probe->target_qpn = (uint32_t)leb128_changed(probe->target_qpn, next_number(reader));
	probe->seq = (uint32_t)leb128_changed(probe->seq, next_number(reader));
	return probe;
}

void
evidence_release_probes(const struct evidence *ev, uint32_t block)
{
	const struct ev_probe_block *of = EV_AT(ev->probes.blocks, struct ev_probe_block, block);
	uint64_t end = block + 1 < ev->probes.blocks.count ? of[1].first : ev->probes.size;

	array_forget(ev->probes.bytes, of->first, end, 1);
}

static void
mark_probed(struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->probe_tuples.count; i++) {
		uint32_t flow = evidence_flow(ev, EV_AT(ev->probe_tuples, struct rec_tuple, i));

		if (flow != EV_NONE)
			ev->flows[flow].probed = true;
	}
}

int
evidence_join_flows(struct evidence *ev, struct err *err)
{
	int rc = make_room(ev, FIRST_SLOTS, err);

	for (size_t s = 0; s < NSOURCES; s++) {
		const struct ev_vec *vec = (const struct ev_vec *)((const char *)ev + tuple_sources[s].vec);
		const struct rec_tuple *before = NULL;

		for (uint32_t i = 0; rc == 0 && i < vec->count; i++) {
			const char *rec = ev_vec_at(vec, tuple_sources[s].size_bytes, i);
			const struct rec_tuple *tuple = (const void *)(rec + tuple_sources[s].tuple);

			if (is_of_none(rec) || (before != NULL && evidence_tuple_cmp(before, tuple) == 0))
				continue;
			rc = add_flow(ev, tuple, err);
			before = tuple;
		}
	}
	if (rc != 0)
		return rc;
	if (ev->nflows > 1)
		qsort(ev->flows, ev->nflows, sizeof(*ev->flows), cmp_flow);
	fill_slots(ev);
	mark_scheduled(ev);
	mark_probed(ev);
	rc = resolve_addresses(ev, err);
	if (rc == 0)
		resolve_members(ev);
	return rc;
}

/* What had passed at the places that polling packets crossed: each record with those that it is compared with. */

#define HOPS_LOOKED_AT                                                                                                     \
	64 /* latest records of packets that left by a port: its polling packet is among them, or its record was lost */

/* Records by the port that their packets left by: the latest, and of each the one before. */
struct leaving {
	uint32_t *latest, *before;
};

static const struct rec_hdr *
passage_at(const struct evidence *ev, uint32_t i)
{
	return &EV_AT(ev->passages, struct rec_passage, i)->hdr;
}

/* Visits of the same polling packet by the same port before record i: each has a record for every port that it left by. */
static uint32_t
visits_before(const struct evidence *ev, uint32_t i)
{
	uint64_t last_ps = passage_at(ev, i)->time_ps;
	uint32_t visits = 0, at = ev->passed[i].earlier;

	for (uint32_t n = 0; at != EV_NONE && n < HOPS_LOOKED_AT; n++, at = ev->passed[at].earlier)
		if (passage_at(ev, at)->event == passage_at(ev, i)->event && passage_at(ev, at)->time_ps != last_ps) {
			last_ps = passage_at(ev, at)->time_ps;
			visits++;
		}
	return visits;
}

/*
 * The record at the other end of in_port's link. Copies of a polling packet that took several paths to that end leave in
 * the order in which they arrive here.
 */
static uint32_t
find_hop(const struct evidence *ev, const struct leaving *leaving, uint32_t i)
{
	uint32_t port = ev->ports[ev->passed[i].in_port].peer, before = visits_before(ev, i), count = 0;
	uint32_t left[HOPS_LOOKED_AT], at = port != EV_NONE ? leaving->latest[port] : EV_NONE;

	for (uint32_t n = 0; at != EV_NONE && n < HOPS_LOOKED_AT; n++, at = leaving->before[at])
		if (passage_at(ev, at)->event == passage_at(ev, i)->event)
			left[count++] = at;
	return count == 0 ? EV_NONE : left[before < count ? count - 1 - before : 0];
}

/*
 * The ACKs' path begins at the flow's destination, which records the packet's arrival and not its return, and ends at the
 * source. Between them the record before it shows the direction; where that was lost, the path of the data is assumed.
 */
static bool
is_back(const struct evidence *ev, const struct ev_passed *passed)
{
	if (passed->hop != EV_NONE)
		return ev->passed[passed->hop].back;
	return passed->in_port != EV_NONE && passed->flow != EV_NONE &&
	       (ev->ports[passed->in_port].peer_node == ev->flows[passed->flow].dst ||
		ev->ports[passed->in_port].node == ev->flows[passed->flow].src);
}

static void
join(struct evidence *ev, struct leaving *leaving, uint32_t i)
{
	const struct rec_passage *rec = EV_AT(ev->passages, struct rec_passage, i);
	struct ev_passed *passed = &ev->passed[i];

	*passed = (struct ev_passed){
		.flow = evidence_flow(ev, &rec->flow),
		.in_port = evidence_port(ev, rec->hdr.node, rec->in_port),
		.out_port = evidence_port(ev, rec->hdr.node, rec->out_port),
		.earlier = EV_NONE,
		.hop = EV_NONE,
	};
	if (passed->in_port != EV_NONE) {
		passed->earlier = ev->ports[passed->in_port].last_passed;
		ev->ports[passed->in_port].last_passed = i;
		passed->hop = find_hop(ev, leaving, i);
	}
	passed->back = is_back(ev, passed);
	if (passed->out_port != EV_NONE) {
		leaving->before[i] = leaving->latest[passed->out_port];
		leaving->latest[passed->out_port] = i;
	}
}

int
evidence_join_passages(struct evidence *ev, struct err *err)
{
	struct leaving leaving = {
		.latest = evidence_alloc(ev->nports, sizeof(*leaving.latest), err),
		.before = evidence_alloc(ev->passages.count, sizeof(*leaving.before), err),
	};
	int rc = 0;

	ev->passed = evidence_alloc(ev->passages.count, sizeof(*ev->passed), err);
	if (leaving.latest == NULL || leaving.before == NULL || ev->passed == NULL) {
		rc = -ENOMEM;
	} else {
		for (uint32_t p = 0; p < ev->nports; p++)
			leaving.latest[p] = ev->ports[p].last_passed = EV_NONE;
		for (uint32_t i = 0; i < ev->passages.count; i++)
			join(ev, &leaving, i);
	}
	free(leaving.latest);
	free(leaving.before);
	return rc;
}

/* Configured paths, and the sets of equal cost that hashes choose from. */

#define PORTS_A_WORD 64

static bool
has_member(const struct rec_ecmp *set, uint16_t port)
{
	uint32_t bit = port - (uint32_t)set->first;

	return port >= set->first && bit / PORTS_A_WORD < ARRAY_LEN(set->ports) &&
	       (set->ports[bit / PORTS_A_WORD] >> bit % PORTS_A_WORD & 1) != 0;
}

/* @return the next record of a set, NULL: it has none */
static const struct rec_ecmp *
next_part(const struct evidence *ev, const struct rec_ecmp *set)
{
	const struct rec_ecmp *end = (const struct rec_ecmp *)ev->ecmps.data + ev->ecmps.count;

	return set + 1 < end && set[1].set == set->set ? set + 1 : NULL;
}

bool
evidence_has_member(const struct evidence *ev, const struct rec_ecmp *set, uint16_t port)
{
	while (set != NULL && !has_member(set, port))
		set = next_part(ev, set);
	return set != NULL;
}

static uint32_t
count_members(const struct evidence *ev, const struct rec_ecmp *set)
{
	uint32_t count = 0;

	for (; set != NULL; set = next_part(ev, set))
		count += (uint32_t)(__builtin_popcountll(set->ports[0]) + __builtin_popcountll(set->ports[1]));
	return count;
}

/* Records of sets are sorted by their number, and those of one by their first port. @return the first of a set */
static const struct rec_ecmp *
find_set(const struct evidence *ev, uint32_t set)
{
	uint32_t lo = 0, hi = ev->ecmps.count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (EV_AT(ev->ecmps, struct rec_ecmp, mid)->set < set)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < ev->ecmps.count && EV_AT(ev->ecmps, struct rec_ecmp, lo)->set == set
		       ? EV_AT(ev->ecmps, struct rec_ecmp, lo)
		       : NULL;
}

/* Route records are sorted by (flow, direction, hop). */
int
evidence_join_routes(struct evidence *ev, struct err *err)
{
	ev->hops = evidence_alloc(ev->routes.count, sizeof(*ev->hops), err);
	if (ev->hops == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < ev->routes.count; i++) {
		const struct rec_route *rec = EV_AT(ev->routes, struct rec_route, i);
		struct ev_flow *flow = &ev->flows[evidence_flow(ev, &rec->flow)];

		if (flow->nhops + flow->nback == 0)
			flow->first_hop = i;
		ev->hops[i] = evidence_port(ev, rec->hdr.node, rec->port);
		if (rec->reverse) {
			flow->nback++;
		} else {
			flow->nhops++;
			ev->ports[ev->hops[i]].on_path = true;
		}
	}
	return 0;
}

bool
evidence_crosses(const struct evidence *ev, uint32_t flow, uint32_t port)
{
	const struct ev_flow *f = &ev->flows[flow];

	for (uint32_t h = 0; h < f->nhops + f->nback; h++)
		if (ev->hops[f->first_hop + h] == port)
			return true;
	return false;
}

bool
evidence_is_sprayed(const struct evidence *ev, uint32_t flow)
{
	const struct ev_flow *f = &ev->flows[flow];

	for (uint32_t h = f->first_hop; h < f->first_hop + f->nhops + f->nback; h++) {
		const struct rec_ecmp *set = find_set(ev, EV_AT(ev->routes, struct rec_route, h)->ecmp);

		if (set != NULL && set->sprayed)
			return true;
	}
	return false;
}

uint32_t
evidence_paths(const struct evidence *ev, uint32_t flow, uint32_t hops)
{
	const struct ev_flow *f = &ev->flows[flow];
	uint32_t paths = 1;

	for (uint32_t h = f->first_hop; h < f->first_hop + min_u32(hops, f->nhops); h++) {
		const struct rec_ecmp *set = find_set(ev, EV_AT(ev->routes, struct rec_route, h)->ecmp);
		uint32_t members = set != NULL && set->sprayed ? count_members(ev, set) : 1;

		paths = members > 1 && paths <= UINT32_MAX / members ? paths * members : paths;
	}
	return paths;
}

const struct rec_ecmp *
evidence_choice(const struct evidence *ev, uint32_t flow, uint32_t port)
{
	const struct ev_flow *f = &ev->flows[flow];

	for (uint32_t h = f->first_hop; h < f->first_hop + f->nhops; h++) {
		const struct rec_ecmp *set;

		if (ev->hops[h] != port)
			continue;
		set = find_set(ev, EV_AT(ev->routes, struct rec_route, h)->ecmp);
		return set != NULL && !set->sprayed ? set : NULL;
	}
	return NULL;
}
