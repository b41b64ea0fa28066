/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Was a probe without ACK lost on its forward path, or were its ACKs lost on the path back? Responders report how many
 * probes of a tuple they received, and the numbers of the first and the last. Of those between, the difference from the
 * number sent was lost on the forward path. Where that is all or none of the probes without ACKs, each is marked.
 * Probes that are in no count until the responder's last report were lost on the forward path. The first and the last of
 * a count are known to have arrived since the count before.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "common/units.h"
#include "diag/pingmesh/net.h"
#include "diag/run/fill.h"

static int
cmp_counts(const void *pa, const void *pb)
{
	const struct rec_responder *a = pa, *b = pb;
	int by = net_cmp_tuple(&a->tuple, &b->tuple);

	by = by != 0 ? by : ORDER(a->hdr.time_ps, b->hdr.time_ps);
	return by != 0 ? by : ORDER(a->hdr.seq, b->hdr.seq);
}

static void
mark(struct net_probe *probe, enum net_lost lost)
{
	if (probe->result == REC_PROBE_TIMEOUT)
		probe->lost = (uint8_t)lost;
}

/* Were all probes uploaded that had been sent until then? Each ends within the timeout, and is in the next upload. */
static bool
is_complete(const struct net *net, const struct net_probe *last)
{
	uint64_t ended_ps = last->sent_ps + net->config.timeout_ps;
	uint32_t host = net->rnics[net_src(net, last)].host;
	bool complete = false;

	for (uint32_t i = net_first_upload(net, host, 0); i < net->nuploads && net->uploads[i].hdr.node == host; i++) {
		if (net->uploads[i].dropped != 0)
			return false;
		complete |= net->uploads[i].hdr.time_ps >= ended_ps;
	}
	return complete;
}

/*
 * Of a tuple's probes, [at, end): those from first_seq to last_seq of a responder's count. @return the first beyond
 * them
 */
static uint32_t
mark_counted(struct net *net, const uint32_t *sent, uint32_t at, uint32_t end, const struct rec_responder *counts)
{
	uint32_t count = 0, timeouts = 0, past = at, missing;

	for (; past < end && net->seqs[sent[past]] <= counts->last_seq; past++) {
		count++;
		timeouts += net->probes[sent[past]].result == REC_PROBE_TIMEOUT;
	}
	if (count < counts->count || net->seqs[sent[past - 1]] != counts->last_seq ||
	    !is_complete(net, &net->probes[sent[past - 1]]))
		return past; /* results are missing */
	missing = count - counts->count;
	for (uint32_t i = at; i < past && (missing == 0 || missing == timeouts); i++)
		mark(&net->probes[sent[i]], missing == 0 ? NET_LOST_BACK : NET_LOST_FORTH);
	return past;
}

static void
note_held(const struct net *net, const struct net_probe *probe, uint64_t held_ps)
{
	struct net_timeout *timeout = net_timeout(net, probe);

	timeout->held_ps = max_u64(timeout->held_ps, held_ps);
}

/*
 * A probe that is counted with an upload arrived after the upload before it, less what the agent was late for its own
 * timers, and so for completions: if that is after the timeout, a queue held it.
 */
static void
note_arrival(struct net *net, struct net_probe *probe, const struct rec_responder *counts)
{
	uint32_t at = net_first_upload(net, counts->hdr.node, counts->hdr.time_ps);
	const struct rec_upload *with = &net->uploads[at - 1], *before = with - 1;
	uint64_t late_ps;

	if (at < 2 || net->config.software_times != 0 || with->hdr.time_ps != counts->hdr.time_ps ||
	    before->hdr.node != counts->hdr.node || probe->result != REC_PROBE_TIMEOUT)
		return;
	late_ps = max_u64(with->late_us, before->late_us) * PS_PER_US;
	if (before->hdr.time_ps > late_ps && before->hdr.time_ps - late_ps > probe->sent_ps + net->config.timeout_ps)
		note_held(net, probe, before->hdr.time_ps - late_ps);
}

static void
note_arrivals(struct net *net, const uint32_t *sent, uint32_t at, uint32_t end, const struct rec_responder *counts)
{
	for (uint32_t i = at; i < end && net->seqs[sent[i]] <= counts->last_seq; i++) {
		uint32_t seq = net->seqs[sent[i]];

		if (seq == counts->first_seq || seq == counts->last_seq)
			note_arrival(net, &net->probes[sent[i]], counts);
	}
}

static void
mark_tuple(struct net *net, const uint32_t *sent, uint32_t end, const struct rec_responder *counts, uint32_t ncounts)
{
	uint32_t at = 0;
	const struct rec_responder *last = &counts[ncounts - 1];

	for (uint32_t h = 0; h < ncounts; h++) {
		for (; counts[h].count != 0 && at < end && net->seqs[sent[at]] < counts[h].first_seq; at++)
			if (counts[h].chained && net->seqs[sent[at]] > counts[h].after_seq)
				mark(&net->probes[sent[at]], NET_LOST_FORTH);
		if (counts[h].count != 0)
			note_arrivals(net, sent, at, end, &counts[h]);
		if (counts[h].count != 0)
			at = mark_counted(net, sent, at, end, &counts[h]);
	}
	/* None was received after the last one, up to the time of the responder's last report. */
	for (; at < end && (last->count != 0 || last->chained); at++)
		if (net->probes[sent[at]].sent_ps + net->config.timeout_ps <= last->hdr.time_ps)
			mark(&net->probes[sent[at]], NET_LOST_FORTH);
}

/* When a prober's RNIC had this QPN: its numbers of before and after are another agent's. @return false: never */
static bool
find_life(const struct net *net, uint32_t ip, uint32_t qpn, uint64_t *from_ps, uint64_t *to_ps)
{
	for (uint32_t i = 0; i < net->nregistered; i++) {
		const struct rec_rnic *rnic = &net->registered[i], *next = rnic + 1;

		if (rnic->ip != ip || rnic->qpn != qpn)
			continue;
		*from_ps = rnic->hdr.time_ps;
		*to_ps = i + 1 < net->nregistered && next->ip == ip ? next->hdr.time_ps : UINT64_MAX;
		return true;
	}
	return false;
}

/* Marks a tuple's probes, [0, count), by the responders' counts for each of the prober's lives. */
static void
mark_lives(struct net *net, const uint32_t *sent, uint32_t count, const struct rec_responder *counts, uint32_t ncounts)
{
	for (uint32_t first = 0, end; first < ncounts; first = end) {
		uint64_t from_ps, to_ps;
		uint32_t begin = 0, past;

		for (end = first + 1; end < ncounts && counts[end].qpn == counts[first].qpn; end++)
			;
		if (!find_life(net, counts[first].tuple.src_ip, counts[first].qpn, &from_ps, &to_ps))
			continue;
		while (begin < count && net->probes[sent[begin]].sent_ps < from_ps)
			begin++;
		for (past = begin; past < count && net->probes[sent[past]].sent_ps < to_ps; past++)
			;
		mark_tuple(net, &sent[begin], past - begin, &counts[first], end - first);
	}
}

/*
 * A counting sort by tuples: probes are in order of time.
 * @param ends  [ntuples + 1] of zeros; set: those of tuple t end before sent[ends[t]]
 */
static void
sort_by_tuple(const struct net *net, uint32_t *sent, uint32_t *ends)
{
	for (uint32_t i = 0; i < net->nprobes; i++)
		ends[net->probes[i].tuple + 1]++;
	for (uint32_t t = 0; t < net->ntuples; t++)
		ends[t + 1] += ends[t];
	for (uint32_t i = 0; i < net->nprobes; i++)
		sent[ends[net->probes[i].tuple]++] = i;
}

int
net_mark_lost(struct net *net, const struct ev_vec *records, struct err *err)
{
	uint32_t count = 0;
	struct rec_responder *counts = net_sorted(records, sizeof(*counts), cmp_counts, &count, err);
	uint32_t *sent = run_alloc(net->nprobes, sizeof(*sent), err);
	uint32_t *ends = run_alloc((size_t)net->ntuples + 1, sizeof(*ends), err);
	bool all = counts != NULL && sent != NULL && ends != NULL;

	if (all)
		sort_by_tuple(net, sent, ends);
	for (uint32_t h = 0, end; all && h < count; h = end) {
		uint32_t tuple = net_find_tuple(net, &counts[h].tuple), first;

		for (end = h + 1; end < count && net_cmp_tuple(&counts[end].tuple, &counts[h].tuple) == 0; end++)
			;
		if (tuple == RUN_NONE)
			continue;
		first = tuple != 0 ? ends[tuple - 1] : 0;
		mark_lives(net, &sent[first], ends[tuple] - first, &counts[h], end - h);
	}
	free(counts);
	free(sent);
	free(ends);
	return all ? 0 : -ENOMEM;
}
