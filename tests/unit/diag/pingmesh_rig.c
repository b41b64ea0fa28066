/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/diag/pingmesh_rig_network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/ending.h"
#include "diag/registry.h"

#define SWITCH_PS (300 * PS_PER_NS)
#define CPU_PS (20 * PS_PER_US)
#define REMEMBERED_PS (10 * PS_PER_S) /* an agent knows a probe that timed out for so long */
#define QPN(rnic, times) (1000 + 10 * (rnic) + (times))

static bool
is_within(uint64_t time_ps, uint64_t start_ps, uint64_t end_ps)
{
	return time_ps >= start_ps && (end_ps == 0 || time_ps < end_ps);
}

static bool
is_down(const struct rig *rig, uint32_t host, uint64_t time_ps)
{
	const struct rig_host *h = &rig->hosts[host];

	return h->absent || (h->down_ps != 0 && is_within(time_ps, h->down_ps, h->up_ps)) ||
	       (h->restart_ps != 0 && is_within(time_ps, h->restart_ps, h->restart_ps + PS_PER_S));
}

static bool
chance(struct rig *rig, double p)
{
	return prng_unit(&rig->prng) < p;
}

/* @return whether it is lost there; adds to delay */
static bool
cross(struct rig *rig, uint32_t from, uint32_t to, uint64_t time_ps, uint64_t *delay_ps)
{
	bool lost = false;

	*delay_ps += HOP_PS + SWITCH_PS;
	for (uint32_t i = 0; i < rig->nlinks; i++) {
		const struct rig_link *l = &rig->links[i];

		if (l->from != from || l->to != to || !is_within(time_ps, l->start_ps, l->end_ps))
			continue;
		if (l->in_time == 0 || !chance(rig, l->in_time))
			*delay_ps += l->delay_ps;
		rig->queued_ps += (uint64_t)(l->grows * (double)(time_ps - l->start_ps));
		lost |= chance(rig, l->loss);
	}
	return lost;
}

static bool
nic_loses(struct rig *rig, uint32_t rnic, uint64_t time_ps)
{
	const struct rig_host *h = &rig->hosts[host_of(rnic)];
	bool deaf = is_within(time_ps, h->slow_ps, h->fast_ps) && (rnic < RIG_HOSTS ? h->deaf_first : h->deaf_second);

	return deaf || chance(rig, rig->nic_loss[rnic]);
}

static bool
is_hole(const struct rig_hole *hole, uint32_t node, uint32_t from, uint32_t to, uint64_t time_ps)
{
	return hole->node == node && hole->host == to && (hole->sender == 0 || hole->sender == from + 1) &&
	       time_ps >= hole->start_ps;
}

/* A packet's way from NIC to NIC. @return whether it is lost */
static bool
travel(struct rig *rig, uint32_t from, uint32_t to, uint32_t spine, uint64_t time_ps, uint64_t *delay_ps)
{
	bool lost = nic_loses(rig, from, time_ps);

	*delay_ps += rig->far_ps;
	lost |= nic_loses(rig, to, time_ps);
	lost |= cross(rig, RIG_HOST(host_of(from)), leaf_of(from), time_ps, delay_ps);
	if (leaf_of(from) != leaf_of(to)) {
		lost |= cross(rig, leaf_of(from), RIG_SPINE(spine), time_ps, delay_ps);
		lost |= cross(rig, RIG_SPINE(spine), leaf_of(to), time_ps, delay_ps);
		for (uint32_t i = 0; i < RIG_HOLES; i++)
			lost |= is_hole(&rig->holes[i], RIG_SPINE(spine), host_of(from), host_of(to), time_ps);
	}
	lost |= cross(rig, leaf_of(to), RIG_HOST(host_of(to)), time_ps, delay_ps);
	return lost;
}

static uint64_t
processing(struct rig *rig, uint32_t host, uint64_t time_ps)
{
	const struct rig_host *h = &rig->hosts[host];
	uint64_t usual_ps = rig->instant ? 0 : CPU_PS + prng_below(&rig->prng, CPU_PS);

	if (h->delay_ps != 0 && is_within(time_ps, h->slow_ps, h->fast_ps))
		return usual_ps + prng_below(&rig->prng, 2 * h->delay_ps);
	return usual_ps;
}

static uint16_t
sport_of(uint32_t i)
{
	return (uint16_t)(0xc000 + i);
}

static uint32_t
qpn_of(const struct rig *rig, uint32_t rnic, uint64_t time_ps, uint64_t known_ps)
{
	uint64_t restart_ps = rig->hosts[host_of(rnic)].restart_ps;

	return QPN(rnic, restart_ps != 0 && time_ps >= restart_ps + known_ps);
}

/* What a responder reports of a tuple, with its uploads, as its probes arrive. @param received  whether this one arrived */
static void
receive(struct rig *rig, struct rig_receipts *receipts, const struct rec_probe *probe, uint32_t qpn, uint32_t to,
	bool received)
{
	struct rec_responder *rec = &receipts->rec;

	if (rec->qpn != qpn)
		*rec = (struct rec_responder){ .qpn = qpn }; /* of another life of the prober's agent */
	for (; receipts->upload_ps <= probe->sent_ps; receipts->upload_ps += UPLOAD_PS) {
		rec->tuple = probe->tuple;
		rec->nic = to >= RIG_HOSTS;
		RECORDS_PUT(&rig->r, *rec, REC_RESPONDER, RIG_HOST(host_of(to)), receipts->upload_ps);
		if (rec->count != 0)
			*rec = (struct rec_responder){ .qpn = qpn, .chained = 1, .after_seq = rec->last_seq };
	}
	if (!received)
		return;
	rec->first_seq = rec->count++ == 0 ? probe->seq : rec->first_seq;
	rec->last_seq = probe->seq;
}

static void
probe(struct rig *rig, uint32_t from, uint32_t to, uint32_t i, uint32_t kind, uint64_t time_ps)
{
	struct rec_probe rec = { .nic = from >= RIG_HOSTS,
				 .kind = (uint16_t)kind,
				 .tuple = { ip_of(from), ip_of(to), sport_of(i), 4791, 0 },
				 .target_qpn = qpn_of(rig, to, time_ps, 30 * PS_PER_S), /* pinglists are older */
				 .seq = rig->seq[from]++,
				 .sent_ps = time_ps };
	uint64_t uploaded_ps = (time_ps + TIMEOUT_PS + UPLOAD_PS - 1) / UPLOAD_PS * UPLOAD_PS;
	const struct rig_host *to_host = &rig->hosts[host_of(to)];
	const struct rig_host *behind = rig->hosts[host_of(from)].flushed_ps != 0 ? &rig->hosts[host_of(from)] : to_host;
	bool queued = is_within(time_ps, behind->queue_ps, behind->flushed_ps + 1), late, lost, forth;
	uint32_t spine = rig->sprayed ? (uint32_t)prng_below(&rig->prng, RIG_SPINES) : i % 2;
	uint32_t back_spine = rig->sprayed ? (uint32_t)prng_below(&rig->prng, RIG_SPINES) : i / 2 % 2;

	if (is_down(rig, host_of(from), time_ps) || is_down(rig, host_of(from), uploaded_ps) || uploaded_ps > rig->end_ps ||
	    rig->hosts[host_of(to)].absent)
		return;
	rec.prober_ps = processing(rig, host_of(from), time_ps);
	rec.responder_ps = processing(rig, host_of(to), time_ps);
	rig->queued_ps = 0;
	lost = travel(rig, from, to, spine, time_ps, &rec.rtt_ps);
	rig->arrived[i][0][spine] += !lost;
	forth = !lost;
	if (rig->all_received || (rig->received && kind == REC_PROBE_SERVICE))
		receive(rig, &rig->receipts[from][to][i], &rec, qpn_of(rig, from, time_ps, 0), to, !lost);
	lost |= travel(rig, to, from, back_spine, time_ps, &rec.rtt_ps);
	rig->arrived[i][1][back_spine] += forth && !lost;
	rec.rtt_ps += rig->queued_ps;
	late = (queued && time_ps < behind->sends_ps) ||
	       (!lost && rig->queued_ps >= TIMEOUT_PS && rig->queued_ps < REMEMBERED_PS);
	if (lost || queued || rig->queued_ps >= TIMEOUT_PS || is_down(rig, host_of(to), time_ps) ||
	    rec.target_qpn != qpn_of(rig, to, time_ps, 0) || rec.responder_ps >= TIMEOUT_PS ||
	    is_within(time_ps, to_host->fast_ps, to_host->mute_ps + 1)) {
		rec.result = REC_PROBE_TIMEOUT;
		rec.rtt_ps = rec.prober_ps = rec.responder_ps = 0;
	}
	RECORDS_PUT(&rig->r, rec, REC_PROBE, RIG_HOST(host_of(from)), uploaded_ps);
	if (late) {
		rec.result = REC_PROBE_LATE;
		rec.rtt_ps = 2 * TIMEOUT_PS;
		RECORDS_PUT(&rig->r, rec, REC_PROBE, RIG_HOST(host_of(from)), uploaded_ps);
	}
}

static void
probe_rail(struct rig *rig, uint32_t from, uint32_t to, uint64_t time_ps)
{
	struct rec_probe rec = { .nic = from >= RIG_HOSTS,
				 .kind = REC_PROBE_RAIL,
				 .tuple = { ip_of(from), ip_of(to), sport_of(0), 4791, 0 },
				 .target_qpn = QPN(to, 0),
				 .seq = rig->seq[from]++,
				 .sent_ps = time_ps };
	uint64_t uploaded_ps = (time_ps + TIMEOUT_PS + UPLOAD_PS - 1) / UPLOAD_PS * UPLOAD_PS, took_ps = 0;

	if (uploaded_ps > rig->end_ps)
		return;
	if (travel(rig, from, to, 0, time_ps, &took_ps)) {
		rec.result = REC_PROBE_TIMEOUT;
	} else {
		rec.prober_ps = time_ps + from * 7 * PS_PER_MS; /* each by its own clock */
		rec.responder_ps = time_ps + took_ps + to * 7 * PS_PER_MS;
	}
	RECORDS_PUT(&rig->r, rec, REC_PROBE, RIG_HOST(host_of(from)), uploaded_ps);
}

static void
put_hop(struct rig *rig, uint32_t from, uint32_t to, uint32_t i, bool back, uint16_t hop, uint32_t at, uint16_t port)
{
	bool mesh = leaf_of(from) == leaf_of(to);
	struct rec_probe_hop rec = { .tuple = { ip_of(from), ip_of(to), sport_of(i), 4791, 0 },
				     .hop = hop,
				     .back = back,
				     .at = at,
				     .port = port,
				     .last = hop == (mesh ? 1 : 3),
				     .trace = i,
				     .sent_ps = rig->trace_ps + hop * PS_PER_US }; /* each by a packet of its own */

	RECORDS_PUT(&rig->r, rec, REC_PROBE_HOP, RIG_HOST(host_of(back ? to : from)), rig->trace_ps + PS_PER_MS);
}

static void
trace(struct rig *rig, uint32_t from, uint32_t to, uint32_t i, uint32_t life)
{
	rig->trace_ps = rig->retraced * life * 10 * PS_PER_S;
	for (uint32_t back = 0; back < 2; back++) {
		uint32_t src = back ? to : from, dst = back ? from : to, spine = ((back ? i / 2 : i) + !life) % 2;

		put_hop(rig, from, to, i, back, 1, leaf_of(src), leaf_port(src));
		if (leaf_of(src) == leaf_of(dst))
			continue;
		put_hop(rig, from, to, i, back, 2, RIG_SPINE(spine), (uint16_t)leaf_of(src));
		put_hop(rig, from, to, i, back, 3, leaf_of(dst), (uint16_t)(RIG_UPLINK + spine));
	}
}

/* The path that packets took until an upload: received ones carry it. */
static void
report_path(struct rig *rig, uint32_t from, uint32_t to, uint32_t i, uint32_t back, uint32_t spine, uint64_t time_ps)
{
	uint32_t src = back ? to : from, dst = back ? from : to;
	const uint32_t at[] = { leaf_of(src), RIG_SPINE(spine), leaf_of(dst) };
	const uint32_t ports[] = { leaf_port(src), leaf_of(src), RIG_UPLINK + spine };
	uint32_t hops = leaf_of(src) == leaf_of(dst) ? 1 : 3;

	for (uint32_t h = 0; h < hops && rig->arrived[i][back][spine] != 0; h++) {
		struct rec_probe_hop rec = { .tuple = { ip_of(from), ip_of(to), sport_of(i), 4791, 0 },
					     .hop = (uint16_t)(h + 1),
					     .back = (uint16_t)back,
					     .at = at[h],
					     .port = (uint16_t)ports[h],
					     .last = h + 1 == hops,
					     .trace = spine,
					     .sent_ps = time_ps - PS_PER_MS * (1 + spine),
					     .count = rig->arrived[i][back][spine] };

		RECORDS_PUT(&rig->r, rec, REC_PROBE_HOP, RIG_HOST(host_of(dst)), time_ps);
	}
	rig->arrived[i][back][spine] = 0;
}

static void
report_paths(struct rig *rig, uint32_t from, uint32_t to, uint64_t time_ps)
{
	for (uint32_t i = 0; i < RIG_PORTS; i++)
		for (uint32_t back = 0; back < 2; back++)
			for (uint32_t spine = 0; spine < RIG_SPINES; spine++)
				report_path(rig, from, to, i, back, spine, time_ps);
}

/* Every second, or as often as the test says, a ToR-mesh probe a pair; of the others one of the tuples in turn. */
static void
probe_pair(struct rig *rig, uint32_t from, uint32_t to)
{
	bool mesh = leaf_of(from) == leaf_of(to);
	bool service =
		(from == rig->service[0] && to == rig->service[1]) || (from == rig->tenant[0] && to == rig->tenant[1]);
	uint64_t gap_ps = rig->gap_ps != 0 ? rig->gap_ps : PS_PER_S;
	uint32_t count = (uint32_t)(rig->end_ps / gap_ps);
	uint64_t uploads = 0;

	if (host_of(from) == host_of(to) && from != to && rig->rails)
		for (uint64_t time_ps = (10 * from + to) * PS_PER_MS; time_ps < rig->end_ps; time_ps += gap_ps)
			probe_rail(rig, from, to, time_ps);
	if (host_of(from) == host_of(to) || (rig->mesh_only && !mesh && !service))
		return;
	for (uint32_t i = 0; i < (mesh ? 1 : RIG_PORTS) && !rig->untraced && !rig->sprayed; i++)
		for (uint32_t life = !rig->retraced; life < 2; life++)
			trace(rig, from, to, i, life);
	for (uint32_t k = 0; k < count; k++) {
		uint32_t s = rig->backwards ? count - 1 - k : k;
		uint64_t time_ps = s * gap_ps + (10 * from + to) * PS_PER_MS;

		if (rig->sprayed && time_ps / UPLOAD_PS != uploads)
			report_paths(rig, from, to, ++uploads * UPLOAD_PS);
		if (mesh || !rig->mesh_only)
			probe(rig, from, to, mesh ? 0 : s % RIG_PORTS, mesh ? REC_PROBE_TOR_MESH : REC_PROBE_INTER_TOR,
			      time_ps);
		if (service)
			probe(rig, from, to, 1, REC_PROBE_SERVICE, time_ps + 500 * PS_PER_MS);
	}
}

/*
 * What its agent reports of its own timers since its last upload: they wait as its completions do, unless a test says
 * otherwise.
 */
static uint32_t
late_us(const struct rig_host *h, uint64_t time_ps)
{
	bool slow = time_ps > h->slow_ps && time_ps < h->fast_ps + UPLOAD_PS;
	uint64_t most_ps = 2 * h->delay_ps;

	if (h->late_us != 0)
		return is_within(time_ps, h->slow_ps, h->fast_ps) ? h->late_us : 0;
	return slow && !h->in_time ? (uint32_t)(most_ps / PS_PER_US) : 0;
}

static uint32_t
dropped(const struct rig_host *h, uint64_t time_ps)
{
	return is_within(time_ps, h->slow_ps, h->fast_ps + UPLOAD_PS) ? h->dropped : 0;
}

static void
put_agent(struct rig *rig, uint32_t rnic)
{
	uint32_t host = host_of(rnic);
	uint64_t restart_ps = rig->hosts[host].restart_ps;
	struct rec_rnic rec = { .nic = rnic >= RIG_HOSTS, .ip = ip_of(rnic), .qpn = QPN(rnic, 0), .tor = leaf_of(rnic) };

	if (rig->hosts[host].absent)
		return;
	RECORDS_PUT(&rig->r, rec, REC_RNIC, RIG_HOST(host), 1);
	rec.qpn = QPN(rnic, 1);
	if (restart_ps != 0)
		RECORDS_PUT(&rig->r, rec, REC_RNIC, RIG_HOST(host), restart_ps + PS_PER_S);
	for (uint64_t time_ps = UPLOAD_PS; rnic < RIG_HOSTS && time_ps <= rig->end_ps; time_ps += UPLOAD_PS) {
		const struct rig_host *h = &rig->hosts[host];
		struct rec_upload upload = { .probes = 1, .late_us = late_us(h, time_ps), .dropped = dropped(h, time_ps) };

		if (!is_down(rig, host, time_ps))
			RECORDS_PUT(&rig->r, upload, REC_UPLOAD, RIG_HOST(host), time_ps);
	}
}

struct rig_job {
	uint32_t id;
	const char *name, *collective;
	const uint32_t *hosts;     /* [2] */
	const uint64_t *durations; /* [iterations] */
	bool unseen;
};

static uint64_t
step_bytes(const struct rig *rig)
{
	return rig->step_bytes != 0 ? rig->step_bytes : 1000;
}

/* Where it goes: by spine 1, if it leaves its leaf. */
static void
put_route(struct rig *rig, const struct rig_job *job, struct rec_tuple tuple)
{
	uint32_t src = job->hosts[0], dst = job->hosts[1];
	const uint32_t near[][2] = { { RIG_HOST(src), 0 }, { leaf_of(dst), leaf_port(dst) } };
	const uint32_t far[][2] = { { RIG_HOST(src), 0 },
				    { leaf_of(src), RIG_UPLINK + 1 },
				    { RIG_SPINE(1), leaf_of(dst) },
				    { leaf_of(dst), leaf_port(dst) } };

	if (leaf_of(src) == leaf_of(dst))
		records_route(&rig->r, tuple, near, 2);
	else
		records_route(&rig->r, tuple, far, 4);
}

static void
put_schedule(struct rig *rig, const struct rig_job *job, uint32_t iteration, struct rec_tuple tuple)
{
	struct rec_collective collective = { .id = job->id,
					     .job = job->id,
					     .iteration = iteration,
					     .ranks = 2,
					     .steps = 1,
					     .rank_steps = 1,
					     .bytes = 1000 };
	struct rec_schedule schedule = { .collective = job->id,
					 .iteration = iteration,
					 .step = 1,
					 .flow = tuple,
					 .bytes = step_bytes(rig),
					 .prio = rig->strict_prio,
					 .peer = 1,
					 .depends_rank = REC_NONE,
					 .ideal_ps = PS_PER_S,
					 .expect_ps = PS_PER_S };

	snprintf(collective.name, sizeof(collective.name), "%s", job->collective);
	snprintf(collective.job_name, sizeof(collective.job_name), "%s", job->name);
	RECORDS_PUT(&rig->r, collective, REC_COLLECTIVE, REC_NONE, 0);
	RECORDS_PUT(&rig->r, schedule, REC_SCHEDULE, RIG_HOST(job->hosts[0]), 0);
	if (rig->step_bytes != 0 && iteration == 0)
		put_route(rig, job, tuple);
}

/* A step an iteration, one after the other. */
static void
put_job(struct rig *rig, const struct rig_job *job, bool is_head)
{
	uint32_t src = RIG_HOST(job->hosts[0]);
	struct rec_connection connection = { .open = 1,
					     .collective = job->id,
					     .tuple = { ip_of(job->hosts[0]), ip_of(job->hosts[1]), sport_of(1), 4791,
							0 } };
	uint64_t start_ps = PS_PER_S;

	if (job->hosts[0] == job->hosts[1])
		return;
	for (uint32_t i = 0; i < rig->iterations; i++) {
		struct rec_step step = { .collective = job->id,
					 .iteration = i,
					 .step = 1,
					 WAITED_NONE,
					 .bytes = step_bytes(rig),
					 .acked_bytes = step_bytes(rig),
					 .start_ps = start_ps,
					 .end_ps = start_ps + job->durations[i] };

		if (is_head)
			put_schedule(rig, job, i, connection.tuple);
		else
			RECORDS_PUT(&rig->r, step, REC_STEP, src, step.end_ps);
		start_ps = step.end_ps;
	}
	if (rig->iterations != 0 && !is_head && !job->unseen)
		RECORDS_PUT(&rig->r, connection, REC_CONNECTION, src, PS_PER_S);
}

static void
put_jobs(struct rig *rig)
{
	const struct rig_job jobs[] = {
		{ 0, "job", "c", rig->service, rig->iteration_ps, rig->unseen },
		{ 1, "tenant", "d", rig->tenant, rig->tenant_ps, false },
	};

	for (uint32_t pass = 0; pass < 2; pass++) /* header records come first */
		for (uint32_t i = 0; i < 2; i++)
			put_job(rig, &jobs[i], pass == 0);
}

void
rig_init(struct rig *rig, uint64_t end_ps)
{
	*rig = (struct rig){ .end_ps = end_ps };
	prng_init(&rig->prng, 5, 5);
}

void
rig_link(struct rig *rig, uint32_t from, uint32_t to, double loss)
{
	rig->links[rig->nlinks++] = (struct rig_link){ .from = from, .to = to, .loss = loss };
}

void
rig_init_lossy(struct rig *rig)
{
	rig_init(rig, 60 * PS_PER_S);
	rig->gap_ps = 5 * PS_PER_S;
	rig->service[1] = rig->tenant[0] = 8;
	rig->tenant[1] = 1;
	rig->iterations = 3;
	for (uint32_t k = 0; k < rig->iterations; k++)
		rig->iteration_ps[k] = rig->tenant_ps[k] = (k == 1 ? 30 : 10) * PS_PER_S;
	rig_link(rig, 0, RIG_SPINE(1), 0.5);
	rig->nic_loss[4] = 0.5;
}

void
rig_stream(struct rig *rig)
{
	struct rec_run *run;

	rig_put_network(&rig->r, rig->timeout_ps != 0 ? rig->timeout_ps : TIMEOUT_PS, rig->software_times, rig->algorithm);
	run = (struct rec_run *)(void *)(rig->r.data + sizeof(struct rec_stream));
	run->window_bytes = rig->window_bytes;
	run->strict_classes = (uint16_t)(rig->strict_prio != 0 ? 1u << rig->strict_prio : 0);
	if (rig->buffer != NULL) {
		struct rec_setting setting = { 0 };

		snprintf(setting.text, sizeof(setting.text), "switch.buffer=%s", rig->buffer);
		RECORDS_PUT(&rig->r, setting, REC_SETTING, REC_NONE, 0);
	}
	put_jobs(rig);
	for (uint32_t i = 0; i < RIG_RNICS; i++)
		put_agent(rig, i);
	for (uint32_t i = 0; i < RIG_RNICS; i++)
		for (uint32_t k = 0; k < RIG_RNICS; k++)
			probe_pair(rig, rig->backwards ? RIG_RNICS - 1 - i : i, rig->backwards ? RIG_RNICS - 1 - k : k);
	if (rig->gap.dropped != 0)
		RECORDS_PUT(&rig->r, rig->gap, REC_GAP, REC_NONE, rig->end_ps);
	if (rig->lateness.to_ps != 0)
		RECORDS_PUT(&rig->r, rig->lateness, REC_LATENESS, RIG_HOST(4), rig->end_ps);
	records_end(&rig->r, REC_END_COMPLETE, rig->end_ps);
}

struct verdict *
rig_diagnose(struct rig *rig)
{
	struct verdict *v = NULL;
	struct err err = { 0 };
	struct evidence ev;

	rig_stream(rig);
	records_evidence(&rig->r, &ev);
	if (registry_diagnose(&ev, &v, &err) != 0)
		fail_msg("%s", err.text);
	evidence_fini(&ev);
	records_report(v);
	records_shake(&rig->r);
	records_fini(&rig->r);
	return v;
}

const struct pingmesh *
rig_own(const struct verdict *v)
{
	assert_non_null(verdict_section(v, PINGMESH_NAME));
	return verdict_section(v, PINGMESH_NAME)->own;
}

uint64_t
rig_cause(const struct verdict *v, enum pingmesh_cause cause)
{
	return rig_own(v)->networks[PINGMESH_CLUSTER].causes[cause];
}

void
rig_assert_findings(const struct verdict *v, uint32_t count, const char *const *expected)
{
	char all[1024] = "";

	for (uint32_t i = 0; i < v->nfindings; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s %s; ", v->findings[i].type->key,
			 v->findings[i].root);
	for (uint32_t i = 0; i < count; i++) {
		char one[200];

		snprintf(one, sizeof(one), "%s; ", expected[i]);
		if (strstr(all, one) == NULL)
			fail_msg("no \"%s\" in \"%s\"", expected[i], all);
	}
	if (v->nfindings != count)
		fail_msg("%u findings: %s", v->nfindings, all);
}

static uint32_t
faults(const struct verdict *v, const char *expected)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < v->nfindings; i++) {
		char one[200];

		if ((v->findings[i].type->traits & FINDING_OF_FAULT) == 0)
			continue;
		count++;
		snprintf(one, sizeof(one), "%s %s", v->findings[i].type->key, v->findings[i].root);
		if (expected == NULL || strncmp(one, expected, strlen(expected)) != 0)
			fail_msg("%s, not %s", one, expected != NULL ? expected : "nothing");
	}
	return count;
}

void
rig_assert_no_fault(const struct verdict *v)
{
	faults(v, NULL);
}

void
rig_assert_fault(const struct verdict *v, const char *expected)
{
	assert_int_not_equal(faults(v, expected), 0);
}
