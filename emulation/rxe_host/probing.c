/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/rxe_host/probing.h"

#include <errno.h>
#include <string.h>

#include "common/wire/pingmesh_manage.h"
#include "rxe-hosts/steps/engine.h"

int
probing_start(struct session *session, struct err *err)
{
	const struct scenario *sc = session->config.scenario;
	const struct probe_agent_config config = {
		.device = verbs_host_device(session->verbs),
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.node = session->config.node,
		.seed = (uint64_t)sc->root.seed,
		.service = sc->pingmesh.service,
		.traces = sc->pingmesh.trace_rate != 0,
	};
	const char *why;
	int rc;

	if (!sc->pingmesh.enabled)
		return 0;
	session->probes = probe_agent_create(&config);
	if (session->probes == NULL)
		return err_set(err, -ENOMEM, "no memory for R-Pingmesh's agent");
	rc = probe_agent_start(session->probes);
	why = verbs_host_error(session->verbs);
	return rc == 0 ? 0 : err_set(err, rc, "%s", why != NULL ? why : "no memory for R-Pingmesh's agent");
}

uint32_t
probing_interface(const void *ctx, uint32_t ip)
{
	const struct topo *topo = ctx;
	uint32_t node = (ip & 0xffff) - 1;
	uint16_t port = ip >> 16 & 0x7f;

	if (node >= topo->nnodes || port >= topo->nodes[node].nports || topo_nic_ip(node, port) != ip)
		return UINT32_MAX;
	return node << EXPIRED_NODE_SHIFT | port;
}

int
probing_ask(struct session *session, struct err *err)
{
	struct probe_request request;

	if (session->probes == NULL || session->state != SESSION_RUNNING ||
	    !manage_stream_has_room(&session->stream, sizeof(struct pingmesh_hdr) + PINGMESH_MAX_REQUEST) ||
	    !probe_agent_asks(session->probes, &request))
		return 0;
	return session_send(session, MANAGE_PINGMESH, request.bytes, request.size, err);
}

int
probing_reply(struct session *session, const struct manage_message *message, struct err *err)
{
	if (session->probes == NULL)
		return err_set(err, -EPROTO, "management channel: a reply to an agent that there is not");
	if (probe_agent_reply(session->probes, message->body, message->size) != 0)
		return err_set(err, -ENOMEM, "no memory for a reply of R-Pingmesh's controller");
	step_engine_rearm(session->engine);
	return 0;
}
