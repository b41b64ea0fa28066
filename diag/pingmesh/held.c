/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Was a probe without an ACK lost, or held up by a queue that drains for longer than the timeout? That matters only where
 * buffers can hold a probe for so long, by the announced sizes and rates. Queues serve in order: one that holds a probe
 * for longer than the timeout holds all that cross it after that, until it has drained. So a port may have held a probe
 * only in a gap between two others that crossed it and returned in time. In such a gap a queue is known by late answers,
 * or by data on their way over the port that take longer than the timeout to drain. Where no probe ever crossed a port to
 * a host in time, a queue may be older than the first, longer than what agents remember, and of data that nobody
 * announces: if the host's own probes arrive, its link is not dead in both directions. So it is at a port between
 * switches, of whose link probes are known to have crossed the other direction. Of probes between ToRs whose path is not
 * known the ports are not known either: what a probe is known to have been held for, from one ToR to another, others may
 * have been.
 */
#include "diag/pingmesh/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "common/units.h"
#include "diag/pingmesh/net.h"
#include "diag/run/fill.h"

#define LEAST_LATE 3  /* late probes that show a queue */
#define MOST_PASSES 4 /* ports in a row that wait for each other */
#define BUFFER_KEY ".buffer="

/* A gap between two prompt probes at a port. */
struct gap {
	uint64_t from_ps, to_ps; /* when they were sent; from_ps 0: none was before, to_ps UINT64_MAX: none was after */
	uint32_t at;             /* as place_at() */
	bool late;               /* late answers in it show a queue */
};

struct held {
	struct gap *gaps; /* by place, each in order of time */
	uint32_t ngaps, cap;
	uint32_t *first; /* [nplaces + 1] */
	struct gap *
		any; /* those with late answers: of the cluster, then of services, by from_ps; to_ps is the latest so far */
	uint32_t nany[2];
	uint64_t until_ps; /* after its last late answer a queue is believed in for so long; UINT64_MAX: until it drains */
	struct data *data;
	struct between *between; /* by ToRs, each in order of time */
	uint32_t nbetween;
};

/* A time in which a queue may have held all probes from one ToR to another, by unknown paths. */
struct between {
	uint64_t key; /* as tors_of() */
	uint64_t from_ps, to_ps;
};

/* ---- what buffers can hold ---- */

/* The largest buffer of a switch that the stream announces; 0: it is not known. */
static uint64_t
largest_buffer(const struct evidence *ev)
{
	uint64_t most = 0;
	bool sized = false; /* by the switch itself, from ports and delays */

	for (uint32_t i = 0; i < ev->settings.count; i++) {
		const struct rec_setting *setting = EV_AT(ev->settings, struct rec_setting, i);
		char text[REC_SETTING_TEXT + 1] = "", *value;
		uint64_t bytes = 0;

		memcpy(text, setting->text, REC_SETTING_TEXT);
		value = strstr(text, BUFFER_KEY);
		if (strncmp(text, "switch", 6) != 0 || value == NULL)
			continue;
		value += strlen(BUFFER_KEY);
		value += *value == '"';
		value[strcspn(value, "\"")] = '\0';
		sized |= units_parse_bytes(value, &bytes) != 0 || bytes == 0;
		most = max_u64(most, bytes);
	}
	return sized ? 0 : most;
}

static uint64_t
slowest_rate(const struct run *run)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < run->nports; i++)
		if (run->ports[i].peer_port != RUN_NONE && run->ports[i].rate_bps != 0)
			least = min_u64(least, run->ports[i].rate_bps);
	return least;
}

/* Ports of switches that a probe and its ACKs cross at most. */
static uint32_t
longest_round_trip(const struct net *net)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < net->ntraces; i++)
		most = net->traces[i].count > most ? net->traces[i].count : most;
	return 2 * most;
}

/* @return how long full buffers hold a probe up at most; UINT64_MAX: their sizes are not known */
static uint64_t
longest_hold_ps(const struct net *net, uint64_t buffer_bytes)
{
	uint64_t rate_bps = slowest_rate(net->run);

	if (buffer_bytes == 0 || rate_bps == UINT64_MAX)
		return UINT64_MAX;
	return longest_round_trip(net) * units_serialize_ps(buffer_bytes, rate_bps, 1);
}

/* No more than the switch's buffer waits at a port: for longer than the timeout? @param buffer_bytes  0: not known */
static bool
may_fill(const struct judging *j, uint32_t port, uint64_t buffer_bytes)
{
	uint64_t rate_bps = j->run->ports[port].rate_bps;

	return rate_bps != 0 &&
	       (buffer_bytes == 0 || units_serialize_ps(buffer_bytes, rate_bps, 1) >= j->net.config.timeout_ps);
}

/* ---- where a probe goes ---- */

#define MOST_PORTS 160 /* of a probe's possible paths, there and back */

struct crossed {
	uint32_t ports[MOST_PORTS], count;
	bool whole; /* of both directions */
};

static void
cross(struct crossed *by, uint32_t port)
{
	if (port != RUN_NONE && by->count < MOST_PORTS)
		by->ports[by->count++] = port;
}

/* @param lost  all paths that it may have taken */
static void
cross_one_way(const struct net *net, const struct net_probe *probe, bool back, bool lost, struct crossed *by)
{
	const struct net_rnic *src = &net->rnics[back ? net_dst(net, probe) : net_src(net, probe)];
	const struct net_rnic *dst = &net->rnics[back ? net_src(net, probe) : net_dst(net, probe)];
	uint32_t traces[NET_PATHS] = { net_trace_at(net, probe->tuple, back, probe->sent_ps) }, count = 1;

	if (lost)
		count = net_paths_at(net, probe->tuple, back, probe->sent_ps, traces);
	if (count == 0 || traces[0] == RUN_NONE || !net->traces[traces[0]].whole ||
	    (net_is_sprayed(net) && src->tor != dst->tor)) {
		by->whole = false;
		cross(by, src->port);
		cross(by, net->run->ports[dst->port].peer_port);
		return;
	}
	for (uint32_t t = 0; t < count; t++)
		for (uint32_t i = 0; i < net->traces[traces[t]].count; i++)
			cross(by, net->links[net->traces[traces[t]].first + i]);
}

static void
find_crossed(const struct net *net, const struct net_probe *probe, bool lost, struct crossed *by)
{
	by->count = 0;
	by->whole = true;
	cross_one_way(net, probe, false, lost, by);
	if (!net_is_one_way(probe))
		cross_one_way(net, probe, true, lost, by);
}

/* ---- between two ToRs, by unknown paths ---- */

/* A probe from one ToR to another. */
struct crossing {
	uint64_t key, sent_ps, held_ps; /* as net_timeout's; UINT64_MAX: in time */
};

/* @return the ToRs in this direction; 0: it crosses no unknown path between two */
static uint64_t
tors_of(const struct net *net, const struct net_probe *probe, bool back)
{
	const struct net_rnic *src = &net->rnics[back ? net_dst(net, probe) : net_src(net, probe)];
	const struct net_rnic *dst = &net->rnics[back ? net_src(net, probe) : net_dst(net, probe)];
	uint32_t trace = net_trace_at(net, probe->tuple, back, probe->sent_ps);

	if (src->tor == dst->tor || (back && net_is_one_way(probe)) ||
	    (!net_is_sprayed(net) && trace != RUN_NONE && net->traces[trace].whole))
		return 0;
	return (uint64_t)(src->tor + 1) << 32 | dst->tor;
}

static uint32_t
list_crossings(const struct net *net, struct crossing *list)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < net->nprobes; i++) {
		const struct net_probe *probe = &net->probes[i];

		for (uint32_t back = 0; back < 2; back++) {
			uint64_t key = tors_of(net, probe, back != 0);
			uint64_t held_ps = probe->result == REC_PROBE_OK ? UINT64_MAX : 0;

			if (key == 0)
				continue;
			if (held_ps == 0 && (probe->late == NET_LATE_BY_NETWORK || back == 0))
				held_ps = net_timeout(net, probe)->held_ps;
			list[count++] = (struct crossing){ key, probe->sent_ps, held_ps };
		}
	}
	return count;
}

static int
cmp_crossing(const void *pa, const void *pb)
{
	const struct crossing *a = pa, *b = pb;

	if (a->key != b->key)
		return ORDER(a->key, b->key);
	return a->sent_ps != b->sent_ps ? ORDER(a->sent_ps, b->sent_ps) : ORDER(a->held_ps, b->held_ps);
}

/*
 * Queues serve in order: what was sent after a probe that was held arrived after it. The probes in time before and after
 * it bound the time in which none returned, wherever the queue was: it may have held all of them, and until it arrived
 * others, too.
 */
static void
join_crossings(const struct crossing *list, uint32_t count, uint64_t timeout_ps, struct held *held)
{
	uint64_t prompt_ps = 0, until_ps = 0;
	bool any = false; /* since prompt_ps one was held */

	for (uint32_t i = 0; i < count; i++) {
		const struct crossing *at = &list[i];
		bool prompt = at->held_ps == UINT64_MAX, last = i + 1 == count || at[1].key != at->key;
		uint64_t to_ps = prompt ? at->sent_ps : UINT64_MAX;

		if (!prompt && at->held_ps != 0) {
			any = true;
			until_ps = max_u64(until_ps, at->held_ps - timeout_ps);
		}
		if (held->until_ps != UINT64_MAX)
			to_ps = min_u64(to_ps, until_ps + held->until_ps);
		if ((prompt || last) && (any || until_ps > prompt_ps))
			held->between[held->nbetween++] =
				(struct between){ at->key, prompt_ps, any ? max_u64(until_ps, to_ps) : until_ps };
		if (prompt || last) {
			prompt_ps = last ? 0 : at->sent_ps;
			until_ps = last ? 0 : until_ps;
			any = false;
		}
	}
}

static int
between_prepare(const struct judging *j, struct held *held)
{
	struct crossing *list;
	uint32_t count = 0;

	list = run_alloc(2 * (size_t)j->net.nprobes, sizeof(*list), j->err);
	if (list != NULL)
		count = list_crossings(&j->net, list);
	held->between = run_alloc(count, sizeof(*held->between), j->err);
	if (list != NULL && held->between != NULL) {
		qsort(list, count, sizeof(*list), cmp_crossing);
		join_crossings(list, count, j->net.config.timeout_ps, held);
	}
	free(list);
	return list != NULL && held->between != NULL ? 0 : -ENOMEM;
}

/* ---- data on their way ---- */

#define MOST_SLICES (1u << 22) /* of all ports */

/* Which ports have data ahead that take longer than the timeout to drain, by slices of the run's time? */
struct data {
	uint64_t slice_ps;
	uint32_t nslices;
	float *drain_ps; /* [nports * nslices] as if all of the steps' data were in its queue */
	uint8_t *full;   /* [nports * nslices] */
	uint8_t *any;    /* [nslices] */
};

static void
data_destroy(struct data *data)
{
	if (data == NULL)
		return;
	free(data->drain_ps);
	free(data->full);
	free(data->any);
	free(data);
}

static uint32_t
slice_at(const struct data *data, uint64_t time_ps)
{
	uint64_t slice = time_ps / data->slice_ps;

	return slice < data->nslices ? (uint32_t)slice : data->nslices - 1;
}

/* Bytes of a step ahead of a probe at most: in the network, or of a class that is served before others all of it. */
static double
step_bytes(const struct judging *j, const struct run_step *step)
{
	const struct run *run = j->run;
	bool ahead = (run->config.strict_classes >> step->prio & 1) != 0;
	double bytes = (double)step->bytes + (double)step->retransmits * run->config.payload_bytes;
	double window = (double)run->config.window_bytes;
	double frame = run->config.payload_bytes != 0 ? (double)run->config.frame_bytes / run->config.payload_bytes : 1;

	return (window != 0 && !ahead && bytes > window ? window : bytes) * frame;
}

/* @return the slices in which a step's data may be ahead of a probe: of an unknown step all */
static void
step_slices(const struct judging *j, const struct data *data, const struct run_step *step, uint32_t *from, uint32_t *to)
{
	uint64_t timeout_ps = j->net.config.timeout_ps;

	*from = step->started ? slice_at(data, step->start_ps - min_u64(step->start_ps, timeout_ps)) : 0;
	*to = step->started ? slice_at(data, step->end_ps) : data->nslices - 1;
}

/* A host's NIC has queues by QP: only the switch behind it holds its probes. */
static void
add_step(const struct judging *j, struct data *data, const struct run_step *step, const struct run_hop *hops,
	 uint32_t count)
{
	const struct run *run = j->run;
	double bytes = step_bytes(j, step);
	uint32_t from, to;

	step_slices(j, data, step, &from, &to);
	for (uint32_t h = 0; h < count; h++) {
		const struct run_port *port = &run->ports[hops[h].port];
		float *drain_ps = &data->drain_ps[(size_t)hops[h].port * data->nslices];

		for (uint32_t s = from; !run->nodes[port->node].host && port->rate_bps != 0 && s <= to; s++)
			drain_ps[s] += (float)(bytes * 8 * PS_PER_S / (double)port->rate_bps);
	}
}

/* A port whose data wait for a full one is held up, too: by PFC. @return whether that is new */
static bool
spread_step(const struct judging *j, struct data *data, const struct run_step *step, const struct run_hop *hops,
	    uint32_t count)
{
	uint32_t from, to;
	bool new = false;

	step_slices(j, data, step, &from, &to);
	for (uint32_t s = from; s <= to; s++) {
		bool full = false;

		for (uint32_t h = count; h-- > 0;) {
			uint8_t *at = &data->full[(size_t)hops[h].port * data->nslices + s];

			new |= full && !*at;
			full |= *at != 0;
			*at = full;
		}
	}
	return new;
}

static bool
for_steps(const struct judging *j, struct data *data, const uint32_t *first_hop, bool spread)
{
	const struct run *run = j->run;
	bool new = false;

	for (uint32_t i = 0; i < run->nsteps; i++) {
		const struct run_step *step = &run->steps[i];
		uint32_t count = 0;

		if (run_is_local(step) || first_hop[step->flow] == RUN_NONE || (step->reported && !step->started))
			continue;
		while (first_hop[step->flow] + count < run->nhops &&
		       run->hops[first_hop[step->flow] + count].flow == step->flow &&
		       !run->hops[first_hop[step->flow] + count].reverse)
			count++;
		if (spread)
			new |= spread_step(j, data, step, &run->hops[first_hop[step->flow]], count);
		else
			add_step(j, data, step, &run->hops[first_hop[step->flow]], count);
	}
	return new;
}

static void
mark_full(const struct judging *j, struct data *data, uint64_t buffer_bytes)
{
	const struct run *run = j->run;

	for (uint32_t p = 0; p < run->nports; p++) {
		float timeout_ps = (float)j->net.config.timeout_ps;

		if (!may_fill(j, p, buffer_bytes))
			continue;
		for (size_t s = (size_t)p * data->nslices; s < (size_t)(p + 1) * data->nslices; s++)
			data->full[s] = data->drain_ps[s] > timeout_ps;
	}
}

static int
data_prepare(struct judging *j, struct held *held, uint64_t buffer_bytes)
{
	const struct run *run = j->run;
	struct data *data = held->data = run_alloc(1, sizeof(*data), j->err);
	uint32_t *first_hop = run_alloc(run->nflows, sizeof(*first_hop), j->err);
	uint32_t most = MOST_SLICES / (run->nports + 1) + 1, passes = 0;
	int rc = -ENOMEM;

	if (data != NULL) {
		data->slice_ps = max_u64(j->net.config.timeout_ps / LIMITS_LATE, run->end_ps / most) + 1;
		data->nslices = (uint32_t)(run->end_ps / data->slice_ps) + 1;
		data->drain_ps = run_alloc((size_t)run->nports * data->nslices, sizeof(*data->drain_ps), j->err);
		data->full = run_alloc((size_t)run->nports * data->nslices, sizeof(*data->full), j->err);
		data->any = run_alloc(data->nslices, sizeof(*data->any), j->err);
		rc = first_hop != NULL && data->drain_ps != NULL && data->full != NULL && data->any != NULL ? 0 : -ENOMEM;
	}
	if (rc == 0) {
		for (uint32_t i = 0; i < run->nflows; i++)
			first_hop[i] = RUN_NONE;
		for (uint32_t i = run->nhops; i-- > 0;)
			if (!run->hops[i].reverse)
				first_hop[run->hops[i].flow] = i;
		for_steps(j, data, first_hop, false);
		mark_full(j, data, buffer_bytes);
		while (for_steps(j, data, first_hop, true) && passes++ < MOST_PASSES)
			;
		for (uint32_t p = 0; p < run->nports; p++)
			for (uint32_t s = 0; s < data->nslices; s++)
				data->any[s] |= data->full[(size_t)p * data->nslices + s];
	}
	free(first_hop);
	return rc;
}

/* ---- gaps ---- */

/* Classes of service tracing may have queues of their own. */
static uint32_t
place_at(const struct net_probe *probe, uint32_t port)
{
	return 2 * port + (probe->kind == REC_PROBE_SERVICE);
}

struct watched {
	uint64_t prompt_ps, late_ps; /* when the last such probe was sent */
	uint32_t late;               /* since prompt_ps */
	uint32_t unanswered;         /* before any of prompt_ps: known to be lost in this direction */
	bool crossed;                /* some arrived by it, if not in time */
};

/* Does the link behind a port carry probes in the other direction? */
static bool
is_half_alive(const struct judging *j, const struct watched *places, uint32_t at)
{
	uint32_t peer = j->run->ports[at / 2].peer_port;

	return peer != RUN_NONE && (places[2 * peer].crossed || places[2 * peer + 1].crossed);
}

static int
end_gap(const struct judging *j, struct watched *places, uint32_t at, uint64_t to_ps)
{
	struct held *held = j->held;
	struct watched *of = &places[at];
	bool never = of->prompt_ps == 0 && of->unanswered >= LEAST_LATE && is_half_alive(j, places, at);
	struct gap gap = { of->prompt_ps, to_ps, at, of->late >= LEAST_LATE || never };

	of->late = 0;
	if (to_ps - gap.from_ps < j->net.config.timeout_ps / LIMITS_LATE)
		return 0;
	if (held->ngaps == held->cap) {
		uint32_t cap = held->cap != 0 ? 2 * held->cap : 64;
		void *grown = realloc(held->gaps, cap * sizeof(*held->gaps));

		if (grown == NULL)
			return err_set(j->err, -ENOMEM, "out of memory for probes");
		held->gaps = grown;
		held->cap = cap;
	}
	if (gap.late && held->until_ps != UINT64_MAX)
		gap.to_ps = min_u64(to_ps, of->late_ps + held->until_ps);
	held->gaps[held->ngaps++] = gap;
	return 0;
}

static bool
is_answered(const struct net_probe *probe)
{
	return probe->result == REC_PROBE_OK;
}

static bool
is_slow(const struct judging *j, const struct net_probe *probe)
{
	if (net_is_one_way(probe) || j->slow[probe->kind])
		return false;
	return probe->late == NET_LATE_BY_NETWORK ||
	       (is_answered(probe) && probe->rtt_ps > j->net.config.timeout_ps / LIMITS_LATE);
}

/* A probe is known to be lost there, or its answer back: it may wait at one of the ports that send it this way. */
static void
note_unanswered(const struct judging *j, struct watched *places, const struct net_probe *probe, uint64_t buffer_bytes)
{
	const struct run *run = j->run;
	struct crossed by = { .whole = true };

	if (probe->lost == NET_LOST_SOMEWHERE)
		return;
	cross_one_way(&j->net, probe, probe->lost == NET_LOST_BACK, true, &by);
	for (uint32_t i = 0; i < by.count; i++) {
		uint32_t port = by.ports[i];
		struct watched *of = &places[place_at(probe, port)];

		if (run->nodes[run->ports[port].node].host || !may_fill(j, port, buffer_bytes))
			continue;
		of->unanswered++;
		of->late_ps = of->prompt_ps == 0 ? probe->sent_ps : of->late_ps;
	}
}

/* By which ports is a probe known to have come? */
static void
note_crossed(const struct judging *j, struct watched *places, const struct net_probe *probe)
{
	struct crossed by = { .whole = true };

	if (!is_answered(probe) && probe->late != NET_LATE_BY_NETWORK && probe->lost != NET_LOST_BACK)
		return;
	cross_one_way(&j->net, probe, false, false, &by);
	if (probe->lost != NET_LOST_BACK && !net_is_one_way(probe))
		cross_one_way(&j->net, probe, true, false, &by);
	for (uint32_t i = 0; i < by.count; i++)
		places[place_at(probe, by.ports[i])].crossed = true;
}

static int
watch(const struct judging *j, struct watched *places, uint64_t buffer_bytes)
{
	struct crossed by;
	int rc = 0;

	for (uint32_t i = 0; i < j->net.nprobes; i++)
		note_crossed(j, places, &j->net.probes[i]);
	for (uint32_t i = 0; i < j->net.nprobes && rc == 0; i++) {
		const struct net_probe *probe = &j->net.probes[i];
		bool slow = is_slow(j, probe);

		if (!slow && !is_answered(probe)) {
			note_unanswered(j, places, probe, buffer_bytes);
			continue;
		}
		find_crossed(&j->net, probe, false, &by);
		for (uint32_t k = 0; k < by.count && rc == 0; k++) {
			struct watched *of = &places[place_at(probe, by.ports[k])];

			if (!slow) {
				rc = end_gap(j, places, place_at(probe, by.ports[k]), probe->sent_ps);
				of->prompt_ps = probe->sent_ps;
			} else if (of->late == 0 || of->late_ps != probe->sent_ps) {
				of->late++;
				of->late_ps = probe->sent_ps;
			}
		}
	}
	for (uint32_t at = 0; at < 2 * j->run->nports && rc == 0; at++)
		rc = end_gap(j, places, at, UINT64_MAX);
	return rc;
}

static int
cmp_gap(const void *pa, const void *pb)
{
	const struct gap *a = pa, *b = pb;

	return a->at != b->at ? ORDER(a->at, b->at) : ORDER(a->from_ps, b->from_ps);
}

static int
cmp_from(const void *pa, const void *pb)
{
	const struct gap *a = pa, *b = pb;

	return a->at % 2 != b->at % 2 ? ORDER(a->at % 2, b->at % 2) : ORDER(a->from_ps, b->from_ps);
}

static int
order(const struct judging *j, struct held *held)
{
	uint32_t nplaces = 2 * j->run->nports, at = 0, count = 0;

	held->first = run_alloc(nplaces + 1, sizeof(*held->first), j->err);
	held->any = run_alloc(held->ngaps, sizeof(*held->any), j->err);
	if (held->first == NULL || held->any == NULL)
		return -ENOMEM;
	qsort(held->gaps, held->ngaps, sizeof(*held->gaps), cmp_gap);
	for (uint32_t i = 0; i < held->ngaps; i++) {
		for (; at <= held->gaps[i].at; at++)
			held->first[at] = i;
		if (held->gaps[i].late)
			held->any[count++] = held->gaps[i];
	}
	for (; at <= nplaces; at++)
		held->first[at] = held->ngaps;
	qsort(held->any, count, sizeof(*held->any), cmp_from);
	for (uint32_t i = 0; i < count; i++) {
		held->nany[held->any[i].at % 2]++;
		if (i != 0 && held->any[i - 1].at % 2 == held->any[i].at % 2)
			held->any[i].to_ps = max_u64(held->any[i].to_ps, held->any[i - 1].to_ps);
	}
	return 0;
}

int
held_prepare(struct judging *j)
{
	uint64_t buffer_bytes = largest_buffer(j->net.ev), longest_ps = longest_hold_ps(&j->net, buffer_bytes);
	struct watched *places;
	bool open = false;
	int rc;

	for (uint32_t i = 0; i < j->net.nprobes && !open; i++)
		open = j->net.probes[i].open;
	if (longest_ps <= j->net.config.timeout_ps || !open)
		return 0;
	j->held = run_alloc(1, sizeof(*j->held), j->err);
	places = run_alloc(2 * (size_t)j->run->nports, sizeof(*places), j->err);
	rc = j->held != NULL && places != NULL ? 0 : -ENOMEM;
	if (rc == 0) {
		j->held->until_ps = longest_ps != UINT64_MAX ? UINT64_MAX : JUDGE_RNIC_PERIODS * j->net.config.period_ps;
		rc = watch(j, places, buffer_bytes);
	}
	if (rc == 0)
		rc = order(j, j->held);
	if (rc == 0)
		rc = data_prepare(j, j->held, buffer_bytes);
	if (rc == 0)
		rc = between_prepare(j, j->held);
	free(places);
	return rc;
}

void
held_destroy(struct held *held)
{
	if (held == NULL)
		return;
	free(held->gaps);
	free(held->first);
	free(held->any);
	free(held->between);
	data_destroy(held->data);
	free(held);
}

/* @return the gap that contains a time, if it is the last that began before that; NULL: it does not */
static const struct gap *
gap_at(const struct gap *gaps, uint32_t count, uint64_t time_ps)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (gaps[middle].from_ps <= time_ps)
			low = middle + 1;
		else
			high = middle;
	}
	return low != 0 && time_ps < gaps[low - 1].to_ps ? &gaps[low - 1] : NULL;
}

static bool
is_held_between(const struct held *held, uint64_t key, uint64_t time_ps)
{
	uint32_t low = 0, high = held->nbetween;

	while (low < high) { /* the first that begins later */
		uint32_t middle = low + (high - low) / 2;
		const struct between *at = &held->between[middle];

		if (at->key < key || (at->key == key && at->from_ps <= time_ps))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || held->between[low - 1].key != key)
		return false;
	return time_ps < held->between[low - 1].to_ps;
}

bool
held_may_hold(const struct judging *j, const struct net_probe *probe)
{
	const struct held *held = j->held;
	uint32_t service = probe->kind == REC_PROBE_SERVICE, slice;
	struct crossed by;

	if (held == NULL)
		return false;
	for (uint32_t back = 0; back < 2 && held->nbetween != 0; back++) {
		uint64_t key = tors_of(&j->net, probe, back != 0);

		if (key != 0 && is_held_between(held, key, probe->sent_ps))
			return true;
	}
	slice = slice_at(held->data, probe->sent_ps);
	find_crossed(&j->net, probe, true, &by);
	for (uint32_t i = 0; i < by.count; i++) {
		uint32_t at = place_at(probe, by.ports[i]);
		const struct gap *gap =
			gap_at(&held->gaps[held->first[at]], held->first[at + 1] - held->first[at], probe->sent_ps);

		if (gap != NULL && (gap->late || held->data->full[(size_t)by.ports[i] * held->data->nslices + slice]))
			return true;
	}
	return !by.whole && (held->data->any[slice] != 0 ||
			     gap_at(&held->any[service ? held->nany[0] : 0], held->nany[service], probe->sent_ps) != NULL);
}
