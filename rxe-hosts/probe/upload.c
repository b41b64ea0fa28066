/* SPDX-License-Identifier: BSD-3-Clause */
/* How probes ended is kept until the next upload, which is the agent's heartbeat too. */
#include "rxe-hosts/probe/inside.h"

static void
report_round_trip(const struct probe_open *probe, struct rec_probe *rec)
{
	if (probe->has_second)
		rec->responder_ps = probe->responder_ps;
	if (probe->has_left && probe->has_ack && probe->taken_ps - probe->posted_ps > probe->ack_ps - probe->left_ps)
		rec->prober_ps = probe->taken_ps - probe->posted_ps - (probe->ack_ps - probe->left_ps);
	if ((rec->result == REC_PROBE_OK || rec->result == REC_PROBE_LATE) &&
	    probe->ack_ps > probe->left_ps + probe->responder_ps)
		rec->rtt_ps = probe->ack_ps - probe->left_ps - probe->responder_ps;
}

static void
report_one_way(const struct probe_agent *agent, uint32_t nic, const struct probe_open *probe, struct rec_probe *rec)
{
	const struct flow *flow = &agent->config.flows->flows[probe->flow];

	if (rec->result != REC_PROBE_OK)
		return;
	rec->prober_ps = probe->left_ps + agent->nics[nic].clock_ps;
	rec->responder_ps = probe->ack_ps + agent->nics[flow->dst_nic].clock_ps;
}

void
probe_result(struct probe_agent *agent, uint32_t nic, const struct probe_open *probe, uint32_t result)
{
	struct rec_probe rec = {
		.nic = (uint16_t)nic,
		.kind = probe->kind,
		.result = (uint16_t)result,
		.tuple = flow_tuple(&agent->config.flows->flows[probe->flow]),
		.target_qpn = probe->qpn,
		.seq = probe->seq,
		.sent_ps = probe->posted_ps,
	};

	if (probe->kind == REC_PROBE_RAIL)
		report_one_way(agent, nic, probe, &rec);
	else
		report_round_trip(probe, &rec);
	if (result != REC_PROBE_LATE) { /* it has ended before */
		agent->counts.results++;
		agent->counts.timeouts += result != REC_PROBE_OK;
		agent->nended++;
		agent->ntimeouts += result != REC_PROBE_OK;
	}
	if (agent->nresults == PROBE_RESULTS)
		agent->counts.dropped++;
	else
		agent->results[agent->nresults++] = rec;
}

/* Of whom was probed by lately: also that none came any more. */
static void
report_received(struct probe_agent *agent, uint32_t nic, struct probe_back *back, uint64_t now_ps)
{
	struct rec_heard rec = { .tuple = flow_tuple(&agent->config.flows->flows[back->flow]),
				 .nic = (uint16_t)nic,
				 .chained = back->chained,
				 .first_seq = back->first_seq,
				 .last_seq = back->last_seq,
				 .after_seq = back->after_seq,
				 .count = back->count,
				 .qpn = back->qpn };

	if (back->count == 0 && now_ps - back->received_ps > agent->pinglist_ps)
		return; /* its prober has others to probe by now */
	recbuf_put(agent->config.device->ops->records(agent->config.device), &rec, REC_HEARD, sizeof(rec), now_ps);
	if (back->count == 0)
		return;
	back->after_seq = back->last_seq;
	back->chained = true;
	back->count = back->first_seq = back->last_seq = 0;
}

/* Of timers alone, which the agent's own clock tells, whoever is at fault for what comes from outside. */
static uint32_t
late_us(struct probe_agent *agent, uint64_t now_ps)
{
	uint64_t late_ps = agent->late_ps;

	for (uint32_t nic = 0; nic < agent->nnics; nic++) {
		uint64_t since_ps = probe_queue_timer_ps(&agent->nics[nic].prober);

		if (since_ps < now_ps && now_ps - since_ps > late_ps)
			late_ps = now_ps - since_ps;
	}
	agent->late_ps = 0;
	return late_ps / PS_PER_US < UINT32_MAX ? (uint32_t)(late_ps / PS_PER_US) : UINT32_MAX;
}

void
probe_upload(struct probe_agent *agent, uint64_t now_ps)
{
	struct recbuf *records = agent->config.device->ops->records(agent->config.device);
	struct rec_upload upload = { .probes = agent->nended,
				     .timeouts = agent->ntimeouts,
				     .dropped = (uint32_t)(agent->counts.dropped - agent->reported_dropped),
				     .late_us = late_us(agent, now_ps) };

	for (uint32_t i = 0; i < agent->nresults; i++)
		recbuf_put(records, &agent->results[i], REC_PROBE, sizeof(agent->results[i]), now_ps);
	for (uint32_t i = 0; i < agent->nhops; i++)
		recbuf_put(records, &agent->hops[i], REC_PROBE_HOP, sizeof(agent->hops[i]), now_ps);
	for (uint32_t nic = 0; nic < agent->nnics; nic++)
		for (uint32_t i = 0; i < agent->nics[nic].nbacks; i++)
			report_received(agent, nic, &agent->nics[nic].backs[i], now_ps);
	for (uint32_t nic = 0; nic < agent->nnics; nic++)
		probe_paths_report(agent, &agent->nics[nic], now_ps);
	agent->nhops = 0;
	recbuf_put(records, &upload, REC_UPLOAD, sizeof(upload), now_ps);
	agent->nresults = agent->nended = agent->ntimeouts = 0;
	agent->reported_dropped = agent->counts.dropped;
	agent->next_upload_ps = now_ps + agent->upload_ps;
}
