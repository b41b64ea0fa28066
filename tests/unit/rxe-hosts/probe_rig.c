/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/rxe-hosts/probe_rig.h"

#include <assert.h>
#include <string.h>

#include "common/wire/pingmesh_manage.h"

#define REPLY_BYTES 256

/* A host's program that is an agent and nothing else. */
static void
arm(struct probe_rig *probes, struct probe_agent *agent)
{
	struct device *dev = probes->rig.hosts[agent == probes->agents[1]].dev;

	dev->ops->set_timer(dev, probe_agent_next_ps(agent));
}

struct program {
	struct probe_rig *probes;
	struct probe_agent *agent;
};

static struct program programs[2];

static void
received(void *ctx, const struct datagram *datagram, uint64_t now_ps)
{
	const struct program *p = ctx;

	probe_agent_received(p->agent, datagram, now_ps);
	arm(p->probes, p->agent);
}

static void
departed(void *ctx, const struct datagram *datagram)
{
	const struct program *p = ctx;

	probe_agent_departed(p->agent, datagram);
	arm(p->probes, p->agent);
}

static void
timer(void *ctx, uint64_t now_ps)
{
	const struct program *p = ctx;

	probe_agent_wake(p->agent, now_ps);
	arm(p->probes, p->agent);
}

void
probe_rig_init(struct probe_rig *probes)
{
	memset(probes, 0, sizeof(*probes));
	rig_defaults(&probes->rig);
	probes->flow = rig_flow(&probes->rig, 0, 0);
}

void
probe_rig_start(struct probe_rig *probes)
{
	struct rig *rig = &probes->rig;

	rig_start(rig);
	for (uint32_t h = 0; h < 2; h++) {
		const struct probe_agent_config config = { .device = rig->hosts[h].dev,
							   .topo = &rig->topo,
							   .flows = &rig->table,
							   .node = h,
							   .seed = 5,
							   .cpu_ps = probes->cpu_ps,
							   .management_ps = PROBE_RIG_MANAGEMENT_PS,
							   .service = true,
							   .traces = probes->traces };
		const struct device_client client = {
			.ctx = &programs[h], .received = received, .departed = departed, .timer = timer
		};

		probes->agents[h] = probe_agent_create(&config);
		assert(probes->agents[h] != NULL);
		programs[h] = (struct program){ probes, probes->agents[h] };
		rig->hosts[h].dev->ops->set_client(rig->hosts[h].dev, &client);
		int rc = probe_agent_start(probes->agents[h]);
		assert(rc == 0);
		arm(probes, probes->agents[h]);
	}
}

void
probe_rig_stop(struct probe_rig *probes)
{
	for (uint32_t h = 0; h < 2; h++)
		probe_agent_destroy(probes->agents[h]);
	rig_stop(&probes->rig);
}

static size_t
begin(uint8_t *reply, uint16_t type, size_t body)
{
	const struct pingmesh_hdr hdr = {
		.magic = PINGMESH_MAGIC, .version = PINGMESH_MANAGE_VERSION, .type = type, .size = (uint32_t)body
	};

	memcpy(reply, &hdr, sizeof(hdr));
	return sizeof(hdr) + body;
}

/* Host 0 probes host 1 by the one flow, host 1 nobody. */
static size_t
lists(struct probe_rig *probes, uint32_t host, uint8_t *reply)
{
	const struct pingmesh_entries head = {
		.count = host == 0,
		.left_out = probes->left_out,
		.service_ps = PROBE_RIG_INTERVAL_PS / 10,
		.timeout_ps = PROBE_RIG_TIMEOUT_PS,
		.upload_ps = probes->slow_ps != 0 ? probes->slow_ps : 5 * PROBE_RIG_INTERVAL_PS,
		.pinglist_ps = probes->slow_ps != 0 ? probes->slow_ps : 100 * PROBE_RIG_INTERVAL_PS
	};
	const struct pingmesh_entry entry = { .ip = probes->rig.flows[probes->flow].dst_ip,
					      .qpn = probes->qpns[1] + (probes->is_stale ? 7 : 0),
					      .kind = REC_PROBE_TOR_MESH,
					      .sport = probes->rig.flows[probes->flow].sport,
					      .interval_ps = PROBE_RIG_INTERVAL_PS };

	memcpy(reply + sizeof(struct pingmesh_hdr), &head, sizeof(head));
	memcpy(reply + sizeof(struct pingmesh_hdr) + sizeof(head), &entry, sizeof(entry));
	return begin(reply, PINGMESH_ENTRIES, sizeof(head) + head.count * sizeof(entry));
}

static size_t
answer(struct probe_rig *probes, uint32_t host, const uint8_t *request, uint8_t *reply)
{
	const struct pingmesh_hdr *hdr = (const void *)request;
	const uint8_t *body = request + sizeof(*hdr);
	struct pingmesh_rnic rnic = { .ip = topo_nic_ip(1 - host, 0), .qpn = probes->qpns[1 - host] };
	struct pingmesh_list list;

	assert(hdr->magic == PINGMESH_MAGIC && hdr->version == PINGMESH_MANAGE_VERSION && hdr->type < 8);
	probes->asked[hdr->type]++;
	switch (hdr->type) {
	case PINGMESH_REGISTER:
		memcpy(&rnic, body + sizeof(struct pingmesh_host), sizeof(rnic));
		assert(hdr->size == sizeof(struct pingmesh_host) + sizeof(rnic) && rnic.ip == topo_nic_ip(host, 0));
		probes->qpns[host] = rnic.qpn;
		return begin(reply, PINGMESH_REGISTERED, 0);
	case PINGMESH_PINGLISTS:
		return lists(probes, host, reply);
	default:
		memcpy(&list, body, sizeof(list));
		assert(hdr->type == PINGMESH_RESOLVE && hdr->size == sizeof(list) + list.count * sizeof(uint32_t));
		assert(sizeof(*hdr) + sizeof(list) + list.count * sizeof(rnic) <= REPLY_BYTES);
		memcpy(reply + sizeof(*hdr), &list, sizeof(list));
		for (uint32_t i = 0; i < list.count; i++) /* all of the one RNIC */
			memcpy(reply + sizeof(*hdr) + sizeof(list) + i * sizeof(rnic), &rnic, sizeof(rnic));
		return begin(reply, PINGMESH_RESOLVED, sizeof(list) + list.count * sizeof(rnic));
	}
}

void
probe_rig_run(struct probe_rig *probes, uint64_t end_ps)
{
	while (probes->rig.window.end_ps < end_ps) {
		rig_run(&probes->rig, probes->rig.window.end_ps + RIG_DELAY_PS);
		for (uint32_t h = 0; h < 2; h++) {
			struct probe_request request;
			uint8_t reply[REPLY_BYTES];

			if (!probe_agent_asks(probes->agents[h], &request))
				continue;
			int rc = probe_agent_reply(probes->agents[h], reply, answer(probes, h, request.bytes, reply));
			assert(rc == 0);
		}
	}
}

const void *
probe_rig_record(const struct probe_rig *probes, uint32_t host, uint16_t type, uint32_t n)
{
	const struct recbuf *records = &probes->rig.hosts[host].node->records;

	for (size_t at = 0; at < records->used_bytes;) {
		const struct rec_hdr *rec = (const void *)(records->data + at);

		if (rec->type == type && n-- == 0)
			return rec;
		at += rec->size;
	}
	return NULL;
}
