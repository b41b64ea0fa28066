/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/rxe_host/tracing.h"

#include "common/log.h"
#include "common/wire/record.h"
#include "common/wire/switch_manage.h"
#include "rxe-hosts/steps/engine.h"

#define FLOWS_NS 500000000ULL /* between two lists of connections */
#define PROTOCOL_UDP 17

/* Flows that nobody planned have no number here: their tuples are not probed. */
static void
changed(void *ctx, const struct traced_tuple *tuple, bool open)
{
	struct session *session = ctx;
	const struct plan *plan = session->config.scenario->plan;
	const struct device *device = verbs_host_device(session->verbs);

	for (uint32_t i = 0; session->probes != NULL && i < plan->flows.count; i++) {
		const struct flow *flow = &plan->flows.flows[i];
		uint32_t collective = plan->of[i].kind == FLOW_COLLECTIVE ? plan->of[i].owner : REC_NONE;

		if (flow->src_node != session->config.node || flow->dst_ip != tuple->peer_ip ||
		    flow->sport != tuple->sport || flow->kind == FLOW_CONTROL || flow->kind == FLOW_PROBE)
			continue;
		probe_agent_connection(session->probes, i, collective, open, device->ops->now(device));
		step_engine_rearm(session->engine);
		return;
	}
	if (session->probes == NULL)
		return; /* operators alone want to know, who are told of all */
	log_info("connection by UDP source port %u: %s, and not probed: it is none of the scenario's", tuple->sport,
		 open ? "came" : "gone");
}

void
tracing_start(struct session *session)
{
	const struct tracer_config config = {
		.device = verbs_host_name(session->verbs), .loop = &session->loop, .changed = changed, .ctx = session
	};
	struct err err = { 0 };

	if ((session->probes == NULL || !session->config.scenario->pingmesh.service) &&
	    !session->config.scenario->management.sockets)
		return;
	session->tracer = tracer_create(&config, &err);
	if (session->tracer != NULL)
		log_info("connections are traced by rdma netlink and frames");
	else
		log_warning("connections are those that this host's ranks tell of: %s", err.text);
}

/* The job whose planned flow has a tuple. */
static uint32_t
job_of(const struct session *session, const struct traced_tuple *tuple)
{
	const struct plan *plan = session->config.scenario->plan;

	for (uint32_t i = 0; i < plan->flows.count; i++) {
		const struct flow *flow = &plan->flows.flows[i];

		if (flow->kind == FLOW_COLLECTIVE && flow->src_node == session->config.node &&
		    flow->dst_ip == tuple->peer_ip && flow->sport == tuple->sport)
			return plan->collectives[plan->of[i].owner].job;
	}
	return SWM_ANY;
}

/* What operators' tools ask this host for; where the channel is full, the next time. */
static void
render_flows(struct session *session, uint64_t now_ns)
{
	struct traced_connection rows[TRACED_QPS];
	struct swm_flow flows[TRACED_QPS];
	struct err err = { 0 };
	uint32_t count;

	if (!session->config.scenario->management.sockets || now_ns < session->flows_ns)
		return;
	session->flows_ns = now_ns + FLOWS_NS;
	count = tracer_connections(session->tracer, rows, TRACED_QPS);
	for (uint32_t i = 0; i < count; i++)
		flows[i] = (struct swm_flow){
			.src_ip = topo_nic_ip(session->config.node, 0),
			.dst_ip = rows[i].tuple.peer_ip,
			.sport = rows[i].tuple.sport,
			.dport = ROCEV2_UDP_PORT,
			.protocol = PROTOCOL_UDP,
			.flags = SWM_RDMA,
			.job = job_of(session, &rows[i].tuple),
			.qpn = rows[i].qpn,
		};
	if (manage_stream_has_room(&session->stream, count * sizeof(flows[0])))
		session_send(session, MANAGE_FLOWS, flows, count * sizeof(flows[0]), &err);
}

uint64_t
tracing_run(struct session *session, uint64_t now_ns)
{
	if (session->tracer == NULL || session->state != SESSION_RUNNING)
		return UINT64_MAX;
	tracer_run(session->tracer, now_ns);
	render_flows(session, now_ns);
	return tracer_next_ns(session->tracer);
}
