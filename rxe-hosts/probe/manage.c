/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of an agent to its controller, one at a time (common/wire/pingmesh_manage.h). */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rxe-hosts/probe/inside.h"

/* Room for the largest request: every RNIC, or every target. @return false: out of memory */
static bool
reserve(uint8_t **bytes, size_t *cap, size_t size)
{
	uint8_t *grown;

	if (size <= *cap)
		return true;
	grown = realloc(*bytes, size);
	if (grown == NULL)
		return false;
	*bytes = grown;
	*cap = size;
	return true;
}

/* @return where its body begins; NULL: out of memory, the request is repeated */
static void *
begin(struct probe_agent *agent, uint16_t type, size_t body)
{
	const struct pingmesh_hdr hdr = {
		.magic = PINGMESH_MAGIC, .version = PINGMESH_MANAGE_VERSION, .type = type, .size = (uint32_t)body
	};

	if (!reserve(&agent->request, &agent->request_cap, sizeof(hdr) + body))
		return NULL;
	agent->request_size = sizeof(hdr) + body;
	memcpy(agent->request, &hdr, sizeof(hdr));
	memset(agent->request + sizeof(hdr), 0, body);
	return agent->request + sizeof(hdr);
}

/* RoCEv2 over IPv4: the address mapped into IPv6 (IBTA A17.4.5.2, RFC 4291 2.5.5.2). */
static void
gid_of(uint32_t ip, uint8_t gid[16])
{
	const uint32_t net = htobe32(ip);

	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, &net, sizeof(net));
}

static bool
ask_registration(struct probe_agent *agent)
{
	const struct topo *topo = agent->config.topo;
	struct pingmesh_host host = { .host = agent->config.node, .count = agent->nnics };
	uint8_t *body = begin(agent, PINGMESH_REGISTER, sizeof(host) + agent->nnics * sizeof(struct pingmesh_rnic));

	if (body == NULL)
		return false;
	memcpy(body, &host, sizeof(host));
	for (uint16_t i = 0; i < agent->nnics; i++) {
		struct pingmesh_rnic rnic = { .ip = topo_nic_ip(agent->config.node, i),
					      .qpn = agent->nics[i].qpn,
					      .tor = topo_port_of(topo, agent->config.node, i)->peer,
					      .nic = i };

		gid_of(rnic.ip, rnic.gid);
		memcpy(body + sizeof(host) + i * sizeof(rnic), &rnic, sizeof(rnic));
	}
	return true;
}

static bool
ask_lists(struct probe_agent *agent)
{
	const struct pingmesh_host host = { .host = agent->config.node };
	void *body = begin(agent, PINGMESH_PINGLISTS, sizeof(host));

	if (body != NULL)
		memcpy(body, &host, sizeof(host));
	return body != NULL;
}

/* Targets of service tracing in the order of NICs and lists: up to a limit, the others with the next request. */
static uint32_t
put_targets(const struct probe_agent *agent, uint8_t *to)
{
	uint32_t count = 0;

	for (uint32_t n = 0; n < agent->nnics; n++) {
		const struct probe_list *list = &agent->nics[n].lists[REC_PROBE_SERVICE];

		for (uint32_t i = 0; i < list->count && count < PINGMESH_MAX_RESOLVED; i++, count++) {
			const uint32_t ip = agent->config.flows->flows[list->targets[i].flow].dst_ip;

			if (to != NULL)
				memcpy(to + count * sizeof(ip), &ip, sizeof(ip));
		}
	}
	return count;
}

static bool
ask_targets(struct probe_agent *agent)
{
	struct pingmesh_list list = { .count = put_targets(agent, NULL) };
	uint8_t *body =
		list.count != 0 ? begin(agent, PINGMESH_RESOLVE, sizeof(list) + list.count * sizeof(uint32_t)) : NULL;

	if (body == NULL)
		return false;
	memcpy(body, &list, sizeof(list));
	put_targets(agent, body + sizeof(list));
	return true;
}

void
probe_ask(struct probe_agent *agent, uint64_t now_ps)
{
	static const struct {
		uint8_t want;
		bool (*ask)(struct probe_agent *agent);
	} asks[] = {
		{ PROBE_WANTS_REGISTRATION, ask_registration },
		{ PROBE_WANTS_LISTS, ask_lists },
		{ PROBE_WANTS_TARGETS, ask_targets },
	};

	for (size_t i = 0; agent->asked == 0 && i < sizeof(asks) / sizeof(*asks); i++) {
		if ((agent->wants & asks[i].want) == 0)
			continue;
		agent->wants &= (uint8_t)~asks[i].want;
		if (!asks[i].ask(agent))
			continue;
		agent->asked = asks[i].want;
		agent->is_taken = false;
		agent->reply_size = 0;
		agent->asked_ps = now_ps;
		agent->reply_ps =
			now_ps + (agent->config.management_ps != 0 ? 2 * agent->config.management_ps : PROBE_REPLY_PS);
	}
}

bool
probe_agent_asks(struct probe_agent *agent, struct probe_request *request)
{
	if (agent->asked == 0 || agent->is_taken)
		return false;
	agent->is_taken = true;
	*request = (struct probe_request){ agent->request, agent->request_size,
					   agent->asked_ps + agent->config.management_ps };
	return true;
}

int
probe_agent_reply(struct probe_agent *agent, const void *bytes, size_t size)
{
	if (!reserve(&agent->reply, &agent->reply_cap, size))
		return -ENOMEM;
	memcpy(agent->reply, bytes, size);
	agent->reply_size = size;
	if (agent->config.management_ps == 0 && agent->asked != 0)
		agent->reply_ps = agent->asked_ps;
	return 0;
}

/* The controller's data on the RNICs from now on: records carry it too. */
static void
registered(struct probe_agent *agent, const uint8_t *body, size_t size, uint64_t now_ps)
{
	struct recbuf *records = agent->config.device->ops->records(agent->config.device);

	(void)body;
	(void)size;
	for (uint16_t i = 0; i < agent->nnics; i++) {
		struct rec_rnic rec = { .nic = i,
					.ip = topo_nic_ip(agent->config.node, i),
					.qpn = agent->nics[i].qpn,
					.tor = topo_port_of(agent->config.topo, agent->config.node, i)->peer };

		recbuf_put(records, &rec, REC_RNIC, sizeof(rec), now_ps);
	}
	agent->wants |= PROBE_WANTS_LISTS;
}

static void
take_entry(struct probe_agent *agent, const struct pingmesh_entry *entry, uint64_t interval_ps[][PROBE_LISTS])
{
	uint32_t flow;

	if (entry->nic >= agent->nnics || entry->kind == REC_PROBE_SERVICE || entry->kind >= PROBE_LISTS) {
		agent->counts.unplanned++;
		return;
	}
	flow = probe_path_key_of(agent, entry->nic, entry->ip, entry->sport);
	if (flow == PROBE_NO_FLOW ||
	    probe_list_add(&agent->nics[entry->nic].lists[entry->kind],
			   (struct probe_target){ .flow = flow, .qpn = entry->qpn, .collective = REC_NONE }) != 0)
		agent->counts.unplanned++;
	else
		interval_ps[entry->nic][entry->kind] = entry->interval_ps;
}

static void
listed(struct probe_agent *agent, const uint8_t *body, size_t size, uint64_t now_ps)
{
	uint64_t interval_ps[PINGMESH_MAX_RNICS][PROBE_LISTS] = { { 0 } };
	struct pingmesh_entries head;
	struct pingmesh_entry entry;

	if (size < sizeof(head))
		return;
	memcpy(&head, body, sizeof(head));
	if (size - sizeof(head) != head.count * sizeof(entry) || head.timeout_ps == 0 || head.upload_ps == 0) {
		agent->counts.refused++;
		return;
	}
	for (uint32_t n = 0; n < agent->nnics; n++)
		for (uint32_t kind = 0; kind < PROBE_LISTS; kind++)
			if (kind != REC_PROBE_SERVICE)
				agent->nics[n].lists[kind].count = 0;
	for (uint32_t i = 0; i < head.count; i++) {
		memcpy(&entry, body + sizeof(head) + i * sizeof(entry), sizeof(entry));
		take_entry(agent, &entry, interval_ps);
	}
	agent->service_ps = head.service_ps;
	agent->timeout_ps = head.timeout_ps;
	agent->upload_ps = head.upload_ps;
	agent->pinglist_ps = head.pinglist_ps;
	for (uint32_t n = 0; n < agent->nnics; n++) {
		for (uint32_t kind = 0; kind < PROBE_LISTS; kind++)
			if (kind != REC_PROBE_SERVICE)
				probe_list_set(agent, &agent->nics[n].lists[kind], interval_ps[n][kind], now_ps);
		probe_agent_retime(agent, &agent->nics[n], now_ps);
		if (agent->config.traces && agent->nics[n].trace.next_ps == TIME_NEVER)
			agent->nics[n].trace.next_ps =
				now_ps + prng_below(&agent->prng, agent->upload_ps / PROBE_TRACES + 1);
	}
	if (agent->next_upload_ps == TIME_NEVER)
		agent->next_upload_ps = now_ps + 1 + prng_below(&agent->prng, agent->upload_ps);
	agent->next_pull_ps = now_ps + agent->pinglist_ps;
}

/* In the order of requests; a list may have lost or got targets meanwhile: targets are found by address. */
static void
resolved(struct probe_agent *agent, const uint8_t *body, size_t size, uint64_t now_ps)
{
	struct pingmesh_list head;
	struct pingmesh_rnic rnic;

	(void)now_ps;
	if (size < sizeof(head))
		return;
	memcpy(&head, body, sizeof(head));
	if (size - sizeof(head) != head.count * sizeof(rnic)) {
		agent->counts.refused++;
		return;
	}
	for (uint32_t k = 0; k < head.count; k++) {
		memcpy(&rnic, body + sizeof(head) + k * sizeof(rnic), sizeof(rnic));
		for (uint32_t n = 0; n < agent->nnics; n++) {
			struct probe_list *list = &agent->nics[n].lists[REC_PROBE_SERVICE];

			for (uint32_t i = 0; i < list->count; i++)
				if (agent->config.flows->flows[list->targets[i].flow].dst_ip == rnic.ip)
					list->targets[i].qpn = rnic.qpn;
		}
	}
}

void
probe_take_reply(struct probe_agent *agent, uint64_t now_ps)
{
	static const struct {
		uint8_t want;
		uint16_t type;
		void (*take)(struct probe_agent *agent, const uint8_t *body, size_t size, uint64_t now_ps);
	} replies[] = {
		{ PROBE_WANTS_REGISTRATION, PINGMESH_REGISTERED, registered },
		{ PROBE_WANTS_LISTS, PINGMESH_ENTRIES, listed },
		{ PROBE_WANTS_TARGETS, PINGMESH_RESOLVED, resolved },
	};
	uint8_t asked = agent->asked;
	struct pingmesh_hdr hdr = { 0 };
	bool is_taken = false;

	agent->asked = 0;
	agent->reply_ps = TIME_NEVER;
	if (agent->reply_size >= sizeof(hdr))
		memcpy(&hdr, agent->reply, sizeof(hdr));
	for (size_t i = 0; i < sizeof(replies) / sizeof(*replies); i++)
		if (asked == replies[i].want && hdr.magic == PINGMESH_MAGIC && hdr.type == replies[i].type &&
		    hdr.size == agent->reply_size - sizeof(hdr)) {
			replies[i].take(agent, agent->reply + sizeof(hdr), hdr.size, now_ps);
			is_taken = true;
		}
	if (!is_taken) { /* refused, or no controller: again in a while */
		agent->counts.refused++;
		agent->next_pull_ps = now_ps + PS_PER_S;
		agent->wants |= asked == PROBE_WANTS_REGISTRATION ? asked : 0;
	}
}

/* How probes ended is kept until the next upload, which is the agent's heartbeat too. */

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

/* Reports recent probers of this RNIC: also that their probes ceased. */
static void
report_received(struct probe_agent *agent, uint32_t nic, struct probe_back *back, uint64_t now_ps)
{
	struct rec_responder rec = { .tuple = flow_tuple(&agent->config.flows->flows[back->flow]),
				     .nic = (uint16_t)nic,
				     .chained = back->chained,
				     .first_seq = back->first_seq,
				     .last_seq = back->last_seq,
				     .after_seq = back->after_seq,
				     .count = back->count,
				     .qpn = back->qpn };

	if (back->count == 0 && now_ps - back->received_ps > agent->pinglist_ps)
		return; /* its prober has others to probe by now */
	recbuf_put(agent->config.device->ops->records(agent->config.device), &rec, REC_RESPONDER, sizeof(rec), now_ps);
	if (back->count == 0)
		return;
	back->after_seq = back->last_seq;
	back->chained = true;
	back->count = back->first_seq = back->last_seq = 0;
}

/* Of timers alone: the agent's own clock measures them, independent of faults elsewhere. */
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
