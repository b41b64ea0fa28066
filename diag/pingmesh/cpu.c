/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "common/units.h"
#include "diag/collect/radix.h"
#include "diag/pingmesh/net.h"
#include "diag/run/fill.h"
#include "diag/run/lateness.h"

#define PROBE_WIRE_BITS (8.0 * 142) /* of a probe or an ACK, with preamble and gap */

/* A host's processing delays in some time. */
struct host_delays {
	uint32_t count;
	uint64_t p99_ps, most_ps;
};

static int
cmp_double(const void *pa, const void *pb)
{
	const double *a = pa, *b = pb;

	return ORDER(*a, *b);
}

/* Delays as prober and as responder are of the same CPU. @return their number, by host */
static uint32_t
delays_of(const struct judging *j, uint32_t i, uint32_t hosts[2], uint64_t delays_ps[2])
{
	const struct net_probe *probe = &j->net.probes[i];

	if (probe->result != REC_PROBE_OK || net_is_one_way(probe))
		return 0;
	hosts[0] = j->net.rnics[net_dst(&j->net, probe)].host;
	hosts[1] = j->net.rnics[net_src(&j->net, probe)].host;
	delays_ps[0] = probe->responder_ps;
	delays_ps[1] = probe->prober_ps;
	return 2;
}

/* Room for the delays of some hosts, by host. */
struct delays_room {
	uint64_t *values, *sorting; /* [size] */
	uint32_t *ends;             /* [nnodes] */
	uint32_t size;
};

/* @return the end of the hosts from first on, one at least, whose delays have room together: their ends are set */
static uint32_t
take_hosts(const struct judging *j, const struct host_delays *hosts, uint32_t first, struct delays_room *room)
{
	uint32_t total = 0, h = first;

	for (; h < j->run->nnodes && hosts[h].count <= room->size - total; h++) {
		room->ends[h] = total;
		total += hosts[h].count;
	}
	return h;
}

/* Sets p99_ps and most_ps of hosts [from, to). */
static void
sort_hosts(const struct judging *j, uint32_t first, uint32_t end, uint32_t from, uint32_t to, struct host_delays *hosts,
	   struct delays_room *room)
{
	uint64_t delays_ps[2];
	uint32_t of[2];

	for (uint32_t i = first; i < end; i++)
		for (uint32_t k = delays_of(j, i, of, delays_ps); k-- > 0;)
			if (of[k] >= from && of[k] < to)
				room->values[room->ends[of[k]]++] = delays_ps[k];
	for (uint32_t h = from; h < to; h++) {
		uint32_t count = hosts[h].count;
		const uint64_t *sorted;

		if (count == 0)
			continue;
		sorted = radix_sort_words(&room->values[room->ends[h] - count], room->sorting, count);
		hosts[h].p99_ps = sorted[(uint64_t)(count - 1) * 99 / 100];
		hosts[h].most_ps = sorted[count - 1];
	}
}

#define DELAYS_AT_ONCE (1u << 22) /* of several hosts, at least: 64 MB, however long the run */

/* @param out  [nnodes] set, to be freed; NULL with -ENOMEM */
static int
measure(struct judging *j, uint32_t first, uint32_t end, struct host_delays **out)
{
	struct host_delays *hosts = *out = run_alloc(j->run->nnodes, sizeof(*hosts), j->err);
	struct delays_room room = { .ends = run_alloc(j->run->nnodes, sizeof(*room.ends), j->err) };
	uint64_t delays_ps[2], total = 0;
	uint32_t of[2], most = 0;

	for (uint32_t i = first; hosts != NULL && i < end; i++)
		for (uint32_t k = delays_of(j, i, of, delays_ps); k-- > 0;)
			hosts[of[k]].count++;
	for (uint32_t h = 0; hosts != NULL && h < j->run->nnodes; h++) {
		most = max_u32(most, hosts[h].count);
		total += hosts[h].count;
	}
	room.size = max_u32(most, (uint32_t)min_u64(total, DELAYS_AT_ONCE));
	room.values = run_alloc(room.size, sizeof(*room.values), j->err);
	room.sorting = run_alloc(room.size, sizeof(*room.sorting), j->err);
	if (hosts == NULL || room.ends == NULL || room.values == NULL || room.sorting == NULL) {
		free(hosts);
		hosts = *out = NULL;
	}
	for (uint32_t from = 0, to; hosts != NULL && from < j->run->nnodes; from = to) {
		to = take_hosts(j, hosts, from, &room);
		sort_hosts(j, first, end, from, to, hosts, &room);
	}
	free(room.values);
	free(room.sorting);
	free(room.ends);
	return hosts != NULL ? 0 : -ENOMEM;
}

/*
 * Processing delays include a probe's time at the RNIC's own line, and that of a data frame which is on it, however fast
 * the host is: of the slowest RNIC.
 */
static double
wire_ps(const struct judging *j)
{
	double most_ps = 0, bits = PROBE_WIRE_BITS + 8.0 * j->run->config.frame_bytes;

	for (uint32_t i = 0; i < j->net.nrnics; i++) {
		uint64_t rate_bps = j->run->ports[j->net.rnics[i].port].rate_bps;

		if (rate_bps != 0)
			most_ps = fmax(most_ps, bits * (double)PS_PER_S / (double)rate_bps);
	}
	return most_ps;
}

/* @param values  are sorted */
static double
median(double *values, uint32_t count)
{
	if (count > 1)
		qsort(values, count, sizeof(*values), cmp_double);
	return count != 0 ? values[(count - 1) / 2] : 0;
}

/*
 * Of all hosts' uploads: hosts that are overloaded for a time do not raise it. An agent that waits for a timeout as long as
 * real ones is overloaded whatever the others do: none is usual then. @return 0 or -ENOMEM
 */
static int
set_usual_late(struct judging *j)
{
	double *late_ps;

	if (j->net.config.timeout_ps >= LIMITS_HOST_PS)
		return 0;
	late_ps = run_alloc(j->net.nuploads, sizeof(*late_ps), j->err);
	if (late_ps == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < j->net.nuploads; i++)
		late_ps[i] = (double)j->net.uploads[i].late_us * PS_PER_US;
	j->usual_late_ps = median(late_ps, j->net.nuploads);
	free(late_ps);
	return 0;
}

int
cpu_prepare(struct judging *j)
{
	double *p99s = run_alloc(j->run->nnodes, sizeof(*p99s), j->err);
	struct host_delays *hosts = NULL;
	uint32_t count = 0;
	int rc = p99s != NULL ? measure(j, 0, j->net.nprobes, &hosts) : -ENOMEM;

	for (uint32_t i = 0; rc == 0 && i < j->run->nnodes; i++)
		if (hosts[i].count >= JUDGE_LEAST_DELAYS)
			p99s[count++] = (double)hosts[i].p99_ps;
	j->usual_delay_ps = count != 0 ? fmax(median(p99s, count), wire_ps(j)) : 0;
	free(hosts);
	free(p99s);
	return rc == 0 ? set_usual_late(j) : rc;
}

/* ---- a period ---- */

struct suspicion {
	bool several, slow, refuted;
	/*
	 * that its agent was for a timer of its own, by its own word, if that is long enough for any answer to be
	 * too late
	 */
	uint64_t late_ps;
	uint64_t reported_ps; /* when it reported so */
	bool causes_timeouts;
	bool lingers;      /* slow by what the period before has left, */
	uint64_t until_ps; /* for probes sent until then; else UINT64_MAX */
	uint64_t bad, probes;
};

/*
 * The end of a condition that a period before had shown: the last probe that the host processed slowly enough to make
 * timeouts; and the first that it answered in time, if there were timeouts before: the queue outlasts the load.
 * @return when the last such probe was sent
 */
static uint64_t
lingers_until(const struct judging *j, uint32_t host)
{
	uint64_t least_ps = j->net.config.timeout_ps / JUDGE_TIMEOUT_PART, last_ps = 0, silent_ps = 0;
	bool answered = false;

	for (uint32_t i = j->first; i < j->end; i++) {
		const struct net_probe *probe = &j->net.probes[i];
		bool from = j->net.rnics[net_src(&j->net, probe)].host == host,
		     to = j->net.rnics[net_dst(&j->net, probe)].host == host;

		if ((from && probe->prober_ps >= least_ps) || (to && probe->responder_ps >= least_ps))
			last_ps = probe->sent_ps;
		answered |= to && probe->result == REC_PROBE_OK && !net_is_one_way(probe);
		if (to && !answered && probe->open)
			silent_ps = probe->sent_ps;
	}
	return answered ? max_u64(last_ps, silent_ps) : last_ps;
}

/*
 * The lateness of the host's agent for its own timers in the period; 0: below the timeout, or with kernels on shared
 * CPUs, or what is usual for agents: a scaled timeout may be no longer than that.
 */
static void
ask_agent(const struct judging *j, uint32_t host, struct suspicion *s)
{
	const struct pingmesh_period *period = &j->own->periods[j->period];

	for (uint32_t i = net_first_upload(&j->net, host, period->start_ps);
	     !j->net.config.software_times && i < j->net.nuploads && j->net.uploads[i].hdr.node == host; i++) {
		const struct rec_upload *upload = &j->net.uploads[i];
		uint64_t late_ps = upload->late_us * PS_PER_US;

		if (late_ps < j->net.config.timeout_ps || late_ps <= s->late_ps ||
		    (double)late_ps <= JUDGE_DELAY_RATIO * j->usual_late_ps ||
		    upload->hdr.time_ps - min_u64(late_ps, upload->hdr.time_ps) >= period->end_ps)
			continue;
		s->late_ps = late_ps;
		s->reported_ps = upload->hdr.time_ps;
	}
}

/*
 * An agent waits for the processor as its completions do: its own timers show that wait, in whole microseconds, and
 * nothing else. The rest of a long delay is its RNIC's queue, which the host's own messages fill.
 * @return whether the agent reported after the period began, and had waited long enough that its processor explains
 *         high delays
 */
static bool
is_agent_late(const struct judging *j, uint32_t host, uint64_t p99_ps)
{
	const struct pingmesh_period *period = &j->own->periods[j->period];
	uint64_t most_ps = 0;

	for (uint32_t i = net_first_upload(&j->net, host, period->start_ps);
	     i < j->net.nuploads && j->net.uploads[i].hdr.node == host; i++) {
		uint64_t late_ps = j->net.uploads[i].late_us * PS_PER_US, time_ps = j->net.uploads[i].hdr.time_ps;

		if (time_ps - min_u64(late_ps, time_ps) >= period->end_ps + j->net.config.upload_ps)
			break;
		most_ps = max_u64(most_ps, late_ps);
	}
	return (double)most_ps > JUDGE_DELAY_RATIO * fmax(j->usual_delay_ps, j->usual_late_ps) &&
	       most_ps >= p99_ps / JUDGE_LATE_PART;
}

static bool
suspect(const struct judging *j, uint32_t host, const struct host_delays *delays, struct suspicion *s)
{
	uint32_t anomalous = 0;
	bool known = delays->count >= JUDGE_LEAST_DELAYS && j->usual_delay_ps > 0;
	/*
	 * On shared CPUs single completions are late at all times: where delays make a share of probes time out, many
	 * more are close to the timeout.
	 */
	bool long_enough = j->net.config.software_times ? delays->p99_ps >= j->net.config.timeout_ps / 2
							: delays->most_ps >= j->net.config.timeout_ps / JUDGE_TIMEOUT_PART;

	for (uint32_t i = 0; i < j->net.nrnics; i++)
		anomalous += j->net.rnics[i].host == host && j->mesh[i].anomalous;
	*s = (struct suspicion){ .slow = known && (double)delays->p99_ps > JUDGE_DELAY_RATIO * j->usual_delay_ps &&
					 (j->net.config.software_times || is_agent_late(j, host, delays->p99_ps)),
				 .until_ps = UINT64_MAX };
	ask_agent(j, host, s);
	s->lingers = !s->slow && s->late_ps == 0 && j->overloaded[host] && lingers_until(j, host) != 0;
	if (s->lingers) {
		s->slow = true;
		s->until_ps =
			lingers_until(j, host) + j->net.config.timeout_ps; /* those after it may be timeouts, all of them */
	}
	s->several = anomalous >= 2;
	s->causes_timeouts = (s->slow && (long_enough || s->lingers)) || s->late_ps != 0;
	s->refuted = s->several && known && !s->slow && s->late_ps == 0;
	return s->slow || s->late_ps != 0 || (s->several && !s->refuted);
}

/* By ToR-mesh timeouts that the end of an overload does not explain. */
static bool
is_still_anomalous(const struct judging *j, uint32_t rnic)
{
	uint64_t all = 0, bad = 0;

	for (uint32_t i = j->first; i < j->end; i++) {
		const struct net_probe *probe = &j->net.probes[i];

		if (probe->kind != REC_PROBE_TOR_MESH || net_dst(&j->net, probe) != rnic)
			continue;
		all++;
		bad += probe->open;
	}
	return 100 * bad > JUDGE_MESH_PERCENT * all;
}

/* All timeouts of the host are its CPU's; its RNICs are cleared. */
static void
attribute(struct judging *j, uint32_t host, struct suspicion *s, struct pingmesh_problem *seen)
{
	const struct pingmesh_period *period = &j->own->periods[j->period];

	for (uint32_t i = j->begin; i < j->end; i++) {
		struct net_probe *probe = &j->net.probes[i];

		if ((j->net.rnics[net_src(&j->net, probe)].host != host &&
		     j->net.rnics[net_dst(&j->net, probe)].host != host) ||
		    probe->sent_ps > s->until_ps || (i < j->first && !probe->open))
			continue;
		s->probes++;
		if (probe->open && (s->several || s->causes_timeouts)) {
			probe->open = false;
			probe->cause = PINGMESH_CPU;
			s->bad++;
		} else if (!(s->slow && (double)max_u64(probe->responder_ps, probe->prober_ps) >
						JUDGE_DELAY_RATIO * j->usual_delay_ps)) {
			continue;
		}
		if (seen->start_ps == UINT64_MAX)
			seen->start_ps = probe->sent_ps;
		seen->end_ps = probe->sent_ps;
	}
	if (seen->start_ps == UINT64_MAX) { /* no probe dates it: its agent's report does, or else the period */
		seen->start_ps = max_u64(period->start_ps, s->reported_ps - min_u64(s->late_ps, s->reported_ps));
		seen->end_ps = min_u64(period->end_ps, s->late_ps != 0 ? s->reported_ps : j->run->end_ps);
	}
	for (uint32_t i = 0; i < j->net.nrnics; i++)
		if (j->net.rnics[i].host == host && (s->several || s->causes_timeouts) &&
		    !(s->lingers && is_still_anomalous(j, i)))
			j->mesh[i].anomalous = j->mesh[i].alike = false;
}

/*
 * Of the delays and timeouts that count against a kernel host, the share that the machine may explain: its processes
 * waited for a processor while the probe was under way.
 */
static double
machine_share(const struct judging *j, uint32_t host)
{
	double of_ps = 0, machine_ps = 0;

	for (uint32_t i = j->first; i < j->end && run_is_kernel_timed(j->run, host); i++) {
		const struct net_probe *probe = &j->net.probes[i];
		bool to = j->net.rnics[net_dst(&j->net, probe)].host == host, ok = probe->result == REC_PROBE_OK;
		uint64_t claim_ps = !ok ? j->net.config.timeout_ps : to ? probe->responder_ps : probe->prober_ps;
		uint64_t took_ps = !ok ? claim_ps : probe->rtt_ps + probe->prober_ps + probe->responder_ps;
		struct run_machine waited;

		if ((!to && j->net.rnics[net_src(&j->net, probe)].host != host) || net_is_one_way(probe) || claim_ps == 0 ||
		    (ok && (double)claim_ps <= JUDGE_DELAY_RATIO * j->usual_delay_ps))
			continue;
		waited = run_waited(j->run, host, probe->sent_ps, probe->sent_ps + took_ps);
		of_ps += (double)claim_ps;
		machine_ps += (double)claim_ps * run_machine_share((double)claim_ps, (double)waited.most_ps,
								   (double)waited.unmeasured_ps / (double)took_ps);
	}
	return of_ps > 0 ? machine_ps / of_ps : 0;
}

static int
judge_host(struct judging *j, uint32_t host, const struct host_delays *delays)
{
	struct pingmesh_problem seen = { .kind = PINGMESH_PROBLEM_CPU,
					 .node = host,
					 .or_node = RUN_NONE,
					 .start_ps = UINT64_MAX,
					 .networks = 1u << PINGMESH_CLUSTER };
	struct suspicion s;
	bool overloaded = suspect(j, host, delays, &s);

	j->overloaded[host] = overloaded;
	j->own->cpu.several += s.several;
	j->own->cpu.delay += s.slow;
	j->own->cpu.both += s.several && s.slow;
	j->own->cpu.several_refuted += s.refuted;
	j->own->cpu.agent += s.late_ps != 0;
	if (!overloaded)
		return 0;
	attribute(j, host, &s, &seen);
	seen.bases = (s.several ? 1u << PINGMESH_BY_SEVERAL : 0) | (s.slow ? 1u << PINGMESH_BY_DELAY : 0) |
		     (s.late_ps != 0 ? 1u << PINGMESH_BY_AGENT : 0);
	seen.probes = s.probes;
	seen.bad = s.bad;
	seen.base_ps = j->usual_delay_ps;
	seen.high_ps = (double)(s.slow ? delays->p99_ps : s.late_ps);
	seen.confidence = s.several && s.slow        ? 1
			  : s.slow || s.late_ps != 0 ? 0.9
						     : 0.5; /* an ordering, no probability: see docs */
	seen.machine = machine_share(j, host);
	seen.confidence *= 1 - seen.machine;
	return problem_add(j, &seen);
}

int
cpu_judge(struct judging *j)
{
	struct host_delays *hosts = NULL;
	int rc = measure(j, j->first, j->end, &hosts);

	for (uint32_t i = 0; rc == 0 && i < j->run->nnodes; i++)
		if (j->run->nodes[i].host)
			rc = judge_host(j, i, &hosts[i]);
	free(hosts);
	return rc;
}
