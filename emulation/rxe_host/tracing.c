/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/rxe_host/tracing.h"

#include "common/log.h"
#include "common/wire/record.h"

/* Flows that nobody planned have no number here: their tuples are not probed. */
static void
changed(void *ctx, const struct traced_tuple *tuple, bool open)
{
	struct session *session = ctx;
	const struct plan *plan = session->config.scenario->plan;
	const struct device *device = verbs_host_device(session->verbs);

	for (uint32_t i = 0; i < plan->flows.count; i++) {
		const struct flow *flow = &plan->flows.flows[i];
		uint32_t collective = plan->of[i].kind == FLOW_COLLECTIVE ? plan->of[i].owner : REC_NONE;

		if (flow->src_node != session->config.node || flow->dst_ip != tuple->peer_ip ||
		    flow->sport != tuple->sport || flow->kind == FLOW_CONTROL || flow->kind == FLOW_PROBE)
			continue;
		probe_agent_connection(session->probes, i, collective, open, device->ops->now(device));
		step_engine_rearm(session->engine);
		return;
	}
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

	if (session->probes == NULL || !session->config.scenario->pingmesh.service)
		return;
	session->tracer = tracer_create(&config, &err);
	if (session->tracer != NULL)
		log_info("connections are traced by rdma netlink and frames");
	else
		log_warning("connections are those that this host's ranks tell of: %s", err.text);
}

uint64_t
tracing_run(struct session *session, uint64_t now_ns)
{
	if (session->tracer == NULL || session->state != SESSION_RUNNING)
		return UINT64_MAX;
	tracer_run(session->tracer, now_ns);
	return tracer_next_ns(session->tracer);
}
