/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/wire/record.h"
#include "diag/collect/radix.h"
#include "diag/run/fill.h"

/* ---- orders ---- */

static const struct rec_tuple *
tuple_of(const struct net *net, const struct ev_probe *probe)
{
	return EV_AT(net->ev->probe_tuples, struct rec_tuple, probe->tuple);
}

static int
cmp_rnic(const void *pa, const void *pb)
{
	const struct net_rnic *a = pa, *b = pb;

	return ORDER(a->ip, b->ip);
}

int
net_cmp_tuple(const struct rec_tuple *a, const struct rec_tuple *b)
{
	int by = ORDER(a->src_ip, b->src_ip);

	by = by != 0 ? by : ORDER(a->dst_ip, b->dst_ip);
	by = by != 0 ? by : ORDER(a->sport, b->sport);
	return by != 0 ? by : ORDER(a->dport, b->dport);
}

static int
cmp_net_tuple(const void *pa, const void *pb)
{
	const struct net_tuple *a = pa, *b = pb;

	return net_cmp_tuple(&a->tuple, &b->tuple);
}

/* A record of a probe, and its place in the stream: a host's records arrive in the order in which it made them. */
struct sent {
	struct ev_probe probe;
	uint32_t at;
};

static int
cmp_sent(const void *pa, const void *pb, void *net)
{
	const struct sent *a = pa, *b = pb;
	int by = ORDER(a->probe.sent_ps, b->probe.sent_ps);

	by = by != 0 ? by : ORDER(tuple_of(net, &a->probe)->src_ip, tuple_of(net, &b->probe)->src_ip);
	by = by != 0 ? by : ORDER(a->probe.seq, b->probe.seq);
	return by != 0 ? by : ORDER(a->at, b->at);
}

static int
cmp_registered(const void *pa, const void *pb)
{
	const struct rec_rnic *a = pa, *b = pb;
	int by = ORDER(a->ip, b->ip);

	by = by != 0 ? by : ORDER(a->hdr.time_ps, b->hdr.time_ps);
	return by != 0 ? by : ORDER(a->hdr.seq, b->hdr.seq);
}

static int
cmp_upload(const void *pa, const void *pb)
{
	const struct rec_upload *a = pa, *b = pb;
	int by = ORDER(a->hdr.node, b->hdr.node);

	return by != 0 ? by : ORDER(a->hdr.time_ps, b->hdr.time_ps);
}

void *
net_sorted(const struct ev_vec *records, size_t size_bytes, int (*cmp)(const void *, const void *), uint32_t *count,
	   struct err *err)
{
	void *all = run_alloc(records->count, size_bytes, err);

	if (all == NULL)
		return NULL;
	*count = records->count;
	if (records->count != 0)
		memcpy(all, records->data, records->count * size_bytes);
	if (records->count > 1)
		qsort(all, records->count, size_bytes, cmp);
	return all;
}

/* ---- RNICs and tuples ---- */

static int
list_rnics(struct net *net, struct err *err)
{
	const struct run *run = net->run;

	net->rnics = run_alloc(run->nports, sizeof(*net->rnics), err);
	if (net->rnics == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->nports; i++) {
		const struct run_port *port = &run->ports[i];

		if (port->ip != 0 && run->nodes[port->node].host)
			net->rnics[net->nrnics++] =
				(struct net_rnic){ .ip = port->ip, .port = i, .host = port->node, .tor = port->peer_node };
	}
	if (net->nrnics > 1)
		qsort(net->rnics, net->nrnics, sizeof(*net->rnics), cmp_rnic);
	return 0;
}

uint32_t
net_find_rnic(const struct net *net, uint32_t ip)
{
	const struct net_rnic key = { .ip = ip }, *found = NULL;

	if (net->nrnics != 0)
		found = bsearch(&key, net->rnics, net->nrnics, sizeof(key), cmp_rnic);
	return found != NULL ? (uint32_t)(found - net->rnics) : RUN_NONE;
}

uint32_t
net_find_tuple(const struct net *net, const struct rec_tuple *tuple)
{
	const struct net_tuple key = { .tuple = *tuple }, *found = NULL;

	if (net->ntuples != 0)
		found = bsearch(&key, net->tuples, net->ntuples, sizeof(key), cmp_net_tuple);
	return found != NULL ? (uint32_t)(found - net->tuples) : RUN_NONE;
}

/* As by net_cmp_tuple(). */
static struct radix_item
item_of(const struct rec_tuple *tuple, uint32_t index)
{
	return (struct radix_item){
		{ (uint64_t)tuple->src_ip << 32 | tuple->dst_ip, (uint64_t)tuple->sport << 16 | tuple->dport }, index
	};
}

/* @param of  [probe_tuples.count] the evidence's tuples: set to indices into tuples */
static int
list_tuples(struct net *net, uint32_t *of, struct err *err)
{
	const struct ev_vec *tuples = &net->ev->probe_tuples;
	struct radix_item *items = run_alloc(2 * (size_t)tuples->count, sizeof(*items), err), *sorted;

	net->tuples = run_alloc(tuples->count, sizeof(*net->tuples), err);
	if (items == NULL || net->tuples == NULL) {
		free(items);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < tuples->count; i++)
		items[i] = item_of(EV_AT(*tuples, struct rec_tuple, i), i);
	sorted = radix_sort(items, items + tuples->count, tuples->count);
	net->ntuples = tuples->count;
	for (uint32_t i = 0; i < net->ntuples; i++) {
		const struct rec_tuple *tuple = EV_AT(*tuples, struct rec_tuple, sorted[i].index);

		of[sorted[i].index] = i;
		net->tuples[i] = (struct net_tuple){ .tuple = *tuple,
						     .src = net_find_rnic(net, tuple->src_ip),
						     .dst = net_find_rnic(net, tuple->dst_ip) };
	}
	free(items);
	return 0;
}

/* ---- probes ---- */

/* Room for one more in an array that grows. @return 0 or -ENOMEM with err */
static int
make_room(void **array, uint32_t *cap, uint32_t count, size_t elem_bytes, struct err *err)
{
	uint32_t next = *cap != 0 ? 2 * *cap : 64;
	void *grown;

	if (count < *cap)
		return 0;
	grown = realloc(*array, next * elem_bytes);
	if (grown == NULL)
		return err_set(err, -ENOMEM, "out of memory for probes");
	*array = grown;
	*cap = next;
	return 0;
}

/* @return 0 or -ENOMEM with err */
static int
put_timeout(struct net *net, uint32_t qpn, struct err *err)
{
	void *timeouts = net->timeouts;
	int rc = make_room(&timeouts, &net->timeouts_cap, net->ntimeouts, sizeof(*net->timeouts), err);

	net->timeouts = timeouts;
	if (rc == 0)
		net->timeouts[net->ntimeouts++] = (struct net_timeout){ .probe = net->nprobes, .qpn = qpn };
	return rc;
}

struct net_timeout *
net_timeout(const struct net *net, const struct net_probe *probe)
{
	return &net->timeouts[ARRAY_FROM(net->timeouts, probe, 0, net->ntimeouts, (uint64_t)(probe - net->probes))];
}

/* A time that is longer than any timeout is none of a probe that ended in time. */
static uint64_t
time_of(uint64_t ps)
{
	return min_u64(ps, (1ull << NET_TIME_BITS) - 1);
}

/* @return 0 or -ENOMEM with err */
static int
put_probe(struct net *net, const struct ev_probe *rec, uint32_t tuple, struct err *err)
{
	bool good = rec->result == REC_PROBE_OK, one_way = rec->kind == REC_PROBE_RAIL;
	struct net_probe probe = { .sent_ps = rec->sent_ps,
				   .tuple = tuple,
				   .kind = rec->kind & 7,
				   .result = rec->result & 7,
				   .lost = one_way && !good ? NET_LOST_FORTH : NET_LOST_SOMEWHERE,
				   .open = !good };

	if (net->tuples[tuple].src == RUN_NONE || net->tuples[tuple].dst == RUN_NONE ||
	    rec->sent_ps / net->config.period_ps >= NET_MAX_PERIODS) {
		net->strangers++;
		return 0;
	}
	if (!good && put_timeout(net, rec->target_qpn, err) != 0)
		return -ENOMEM;
	if (good && one_way) {
		probe.rtt_ps = (rec->responder_ps - rec->prober_ps) & ((1ull << NET_TIME_BITS) - 1);
	} else if (good) {
		probe.rtt_ps = time_of(rec->rtt_ps);
		probe.prober_ps = time_of(rec->prober_ps);
		probe.responder_ps = time_of(rec->responder_ps);
	}
	net->seqs[net->nprobes] = rec->seq;
	net->probes[net->nprobes++] = probe;
	return 0;
}

/* Its first record precedes it; where that was dropped, this record alone has the probe. @return 0 or -ENOMEM with err */
static int
put_late(struct net *net, const struct ev_probe *rec, uint32_t tuple, struct err *err)
{
	const struct net_probe *last = net->nprobes != 0 ? &net->probes[net->nprobes - 1] : NULL;

	if (last == NULL || last->sent_ps != rec->sent_ps || net->seqs[net->nprobes - 1] != rec->seq ||
	    net_src(net, last) != net->tuples[tuple].src) {
		struct ev_probe first = *rec;

		first.result = REC_PROBE_TIMEOUT;
		if (put_probe(net, &first, tuple, err) != 0)
			return -ENOMEM;
	}
	if (net->nprobes != 0 && net->seqs[net->nprobes - 1] == rec->seq) {
		struct net_probe *probe = &net->probes[net->nprobes - 1];
		bool by_network = rec->rtt_ps > rec->prober_ps + rec->responder_ps;

		probe->late = by_network ? NET_LATE_BY_NETWORK : NET_LATE_BY_HOSTS;
		if (probe->result != REC_PROBE_OK)
			net->timeouts[net->ntimeouts - 1].held_ps =
				by_network && rec->rtt_ps > net->config.timeout_ps ? rec->sent_ps + rec->rtt_ps : 0;
	}
	return 0;
}

#define AT_ONCE (1u << 19) /* probes that are sorted at once, about: they were sent in a slice of the run's time */

/* Records of a slice. */
struct slice {
	uint64_t from_ps, to_ps; /* sent in [from_ps, to_ps] */
	struct sent *sent;
	uint32_t count, cap;
};

/* @return 0 or -ENOMEM with err */
static int
put_sent(struct slice *slice, const struct ev_probe *probe, uint32_t at, struct err *err)
{
	void *sent = slice->sent;
	int rc = make_room(&sent, &slice->cap, slice->count, sizeof(*slice->sent), err);

	slice->sent = sent;
	if (rc == 0)
		slice->sent[slice->count++] = (struct sent){ *probe, at };
	return rc;
}

/*
 * The order of the stream is nearly that of sending: few blocks have some of a slice. Those of which nothing is left are
 * released. @return 0 or -ENOMEM with err
 */
static int
collect_slice(const struct net *net, struct slice *slice, struct err *err)
{
	const struct ev_vec *blocks = &net->ev->probes.blocks;

	slice->count = 0;
	for (uint32_t b = 0; b < blocks->count; b++) {
		const struct ev_probe_block *block = EV_AT(*blocks, struct ev_probe_block, b);
		struct ev_probe_reader reader;
		const struct ev_probe *probe;

		if (block->least_ps > slice->to_ps || block->most_ps < slice->from_ps)
			continue;
		evidence_read_probes(net->ev, b, &reader);
		for (uint32_t at = block->first_probe; (probe = evidence_next_probe(&reader)) != NULL; at++)
			if (probe->sent_ps >= slice->from_ps && probe->sent_ps <= slice->to_ps &&
			    put_sent(slice, probe, at, err) != 0)
				return -ENOMEM;
		if (block->most_ps <= slice->to_ps)
			evidence_release_probes(net->ev, b);
	}
	return 0;
}

/* @param of  [probe_tuples.count] as of list_tuples() @return 0 or -ENOMEM with err */
static int
list_slices(struct net *net, const uint32_t *of, struct err *err)
{
	const struct ev_vec *blocks = &net->ev->probes.blocks;
	uint64_t least_ps = UINT64_MAX, most_ps = 0, width_ps;
	struct slice slice = { 0 };
	int rc = 0;

	for (uint32_t b = 0; b < blocks->count; b++) {
		least_ps = min_u64(least_ps, EV_AT(*blocks, struct ev_probe_block, b)->least_ps);
		most_ps = max_u64(most_ps, EV_AT(*blocks, struct ev_probe_block, b)->most_ps);
	}
	width_ps = blocks->count != 0 ? (most_ps - least_ps) / (net->ev->probes.count / AT_ONCE + 1) + 1 : 1;
	for (slice.from_ps = least_ps; rc == 0 && slice.from_ps <= most_ps; slice.from_ps += width_ps) {
		slice.to_ps = slice.from_ps + (width_ps - 1);
		rc = collect_slice(net, &slice, err);
		if (slice.count > 1)
			qsort_r(slice.sent, slice.count, sizeof(*slice.sent), cmp_sent, net);
		for (uint32_t i = 0; rc == 0 && i < slice.count; i++) {
			const struct ev_probe *rec = &slice.sent[i].probe;

			rc = rec->result == REC_PROBE_LATE ? put_late(net, rec, of[rec->tuple], err)
							   : put_probe(net, rec, of[rec->tuple], err);
		}
	}
	free(slice.sent);
	return rc;
}

static int
list_probes(struct net *net, struct err *err)
{
	uint32_t *of = run_alloc(net->ev->probe_tuples.count, sizeof(*of), err);
	int rc = of != NULL ? list_tuples(net, of, err) : -ENOMEM;

	net->probes = run_alloc(net->ev->probes.count, sizeof(*net->probes), err);
	net->seqs = run_alloc(net->ev->probes.count, sizeof(*net->seqs), err);
	if (net->probes == NULL || net->seqs == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = list_slices(net, of, err);
	free(of);
	return rc;
}

/* ---- life ---- */

uint32_t
net_first_upload(const struct net *net, uint32_t host, uint64_t after_ps)
{
	uint32_t low = 0, high = net->nuploads;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct rec_hdr *hdr = &net->uploads[middle].hdr;

		if (hdr->node < host || (hdr->node == host && hdr->time_ps <= after_ps))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
is_registered(const struct net *net, uint32_t host)
{
	bool any = false;

	for (uint32_t i = 0; i < net->nregistered && !any; i++)
		any = net->registered[i].hdr.node == host;
	return any;
}

/* A registration is a sign of life, too: a restarted agent uploads for the first time a while later. */
static void
end_at_registration(const struct net *net, uint32_t host, uint64_t time_ps, uint64_t *from_ps, uint64_t *to_ps)
{
	for (uint32_t i = 0; i < net->nregistered; i++) {
		const struct rec_hdr *hdr = &net->registered[i].hdr;

		if (hdr->node != host)
			continue;
		if (hdr->time_ps <= time_ps)
			*from_ps = max_u64(*from_ps, hdr->time_ps);
		else
			*to_ps = min_u64(*to_ps, hdr->time_ps);
	}
}

/* Uploads that the exporter dropped may be any host's: do they suffice to leave no silence of more than a period? */
static bool
may_be_unreported(const struct net *net, uint64_t from_ps, uint64_t to_ps)
{
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < net->ev->gaps.count; i++) {
		const struct rec_gap *gap = EV_AT(net->ev->gaps, struct rec_gap, i);

		if (gap->kind == REC_UPLOAD && gap->from_ps < to_ps && gap->to_ps > from_ps)
			dropped += gap->dropped;
	}
	return (to_ps - from_ps) / (dropped + 1) <= net->config.period_ps;
}

enum net_life
net_life_at(const struct net *net, uint32_t host, uint64_t time_ps, uint64_t *from_ps, uint64_t *to_ps)
{
	uint32_t next = net_first_upload(net, host, time_ps);
	bool has_next = next < net->nuploads && net->uploads[next].hdr.node == host;
	bool has_last = next != 0 && net->uploads[next - 1].hdr.node == host;

	*from_ps = has_last ? net->uploads[next - 1].hdr.time_ps : net->begin_ps;
	*to_ps = has_next ? net->uploads[next].hdr.time_ps : max_u64(net->horizon_ps, *from_ps);
	if (net->nuploads == 0 || (!has_last && !has_next && !is_registered(net, host)))
		return NET_ALIVE; /* it has no agent, or no agent uploads: its state is unknown */
	if (*to_ps - *from_ps > net->config.period_ps)
		end_at_registration(net, host, time_ps, from_ps, to_ps);
	if (*to_ps - *from_ps > (has_last ? net->config.period_ps : max_u64(net->config.period_ps, 2 * net->startup_ps)))
		return may_be_unreported(net, *from_ps, *to_ps) ? NET_UNREPORTED : NET_DOWN;
	return !has_next && *to_ps - *from_ps > 2 * net->config.upload_ps ? NET_SILENT : NET_ALIVE;
}

bool
net_is_reset(const struct net *net, const struct net_probe *probe)
{
	uint32_t ip = net->rnics[net_dst(net, probe)].ip, qpn = net_timeout(net, probe)->qpn;
	uint32_t low = 0, high = net->nregistered;
	uint64_t judged_ps = probe->sent_ps + net->config.timeout_ps;
	const struct rec_rnic *now = NULL, *next = NULL;

	while (low < high) { /* the first of a higher address, or of this one after the probe was judged */
		uint32_t middle = low + (high - low) / 2;
		const struct rec_rnic *rnic = &net->registered[middle];

		if (rnic->ip < ip || (rnic->ip == ip && rnic->hdr.time_ps <= judged_ps))
			low = middle + 1;
		else
			high = middle;
	}
	if (low != 0 && net->registered[low - 1].ip == ip)
		now = &net->registered[low - 1];
	if (low < net->nregistered && net->registered[low].ip == ip)
		next = &net->registered[low];
	if (now != NULL && now->qpn != qpn)
		return true;
	if (next == NULL || next->qpn == qpn)
		return false;
	/* Its agent was starting: from the last sign of life on until it registered, its QP is gone. */
	return net_first_upload(net, net->rnics[net_dst(net, probe)].host, probe->sent_ps) ==
	       net_first_upload(net, net->rnics[net_dst(net, probe)].host, next->hdr.time_ps);
}

static int
cmp_u64(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return ORDER(*a, *b);
}

/* Sets begin_ps and startup_ps: an agent's silence is evidence only beside the time that all of them take to begin. */
static int
measure_startup(struct net *net, struct err *err)
{
	uint64_t *gaps = run_alloc(net->nregistered, sizeof(*gaps), err);
	uint32_t count = 0;

	if (gaps == NULL)
		return -ENOMEM;
	net->begin_ps = net->nregistered + net->nuploads != 0 ? UINT64_MAX : 0;
	for (uint32_t i = 0; i < net->nuploads; i++)
		net->begin_ps = min_u64(net->begin_ps, net->uploads[i].hdr.time_ps);
	for (uint32_t i = 0; i < net->nregistered; i++) {
		const struct rec_hdr *hdr = &net->registered[i].hdr;
		uint32_t next = net_first_upload(net, hdr->node, hdr->time_ps);

		net->begin_ps = min_u64(net->begin_ps, hdr->time_ps);
		if (next < net->nuploads && net->uploads[next].hdr.node == hdr->node)
			gaps[count++] = net->uploads[next].hdr.time_ps - hdr->time_ps;
	}
	if (count > 1)
		qsort(gaps, count, sizeof(*gaps), cmp_u64);
	net->startup_ps = count != 0 ? gaps[(count - 1) / 2] : 0;
	free(gaps);
	return 0;
}

int
net_init(struct net *net, const struct evidence *ev, const struct run *run, struct err *err)
{
	int rc;

	net->run = run;
	net->ev = ev;
	net->config = *EV_AT(ev->pingmeshes, struct rec_pingmesh, 0);
	net->registered = net_sorted(&ev->rnics, sizeof(*net->registered), cmp_registered, &net->nregistered, err);
	net->uploads = net_sorted(&ev->uploads, sizeof(*net->uploads), cmp_upload, &net->nuploads, err);
	rc = net->registered != NULL && net->uploads != NULL ? list_rnics(net, err) : -ENOMEM;
	if (rc == 0)
		rc = measure_startup(net, err);
	for (uint32_t i = 0; rc == 0 && i < net->nuploads; i++) {
		net->horizon_ps = max_u64(net->horizon_ps, net->uploads[i].hdr.time_ps);
		net->dropped += net->uploads[i].dropped;
	}
	if (rc == 0)
		rc = list_probes(net, err);
	if (rc == 0)
		rc = net_level_rails(net, err);
	if (rc == 0)
		rc = net_list_traces(net, &ev->probe_hops, err);
	if (rc == 0 && net_is_em_sprayed(net)) {
		net->given = run_alloc(net->nprobes, sizeof(*net->given), err);
		rc = net->given != NULL ? 0 : -ENOMEM;
	}
	if (rc == 0 && net->given != NULL)
		memset(net->given, UINT8_MAX, net->nprobes * sizeof(*net->given));
	if (rc == 0)
		rc = net_mark_lost(net, &ev->received, err);
	free(net->seqs);
	net->seqs = NULL;
	return rc;
}

void
net_fini(struct net *net)
{
	free(net->rnics);
	free(net->probes);
	free(net->timeouts);
	free(net->given);
	free(net->tuples);
	free(net->traces);
	free(net->links);
	free(net->paths);
	free(net->registered);
	free(net->uploads);
}
