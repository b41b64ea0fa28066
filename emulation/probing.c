/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/probing.h"

#include <errno.h>

#include "common/log.h"
#include "rxe-hosts/controller/registry.h"

int
probing_create(struct emulation *emulation, struct err *err)
{
	const struct scenario *sc = emulation->scenario;
	const struct controller_config config = {
		.topo = sc->topo,
		.table = sc->routes,
		.store = REGISTRY_IN_MEMORY,
		.times = sc->pinglists.times,
		.seed = sc->pinglists.seed,
		.rxe = sc->pinglists.rxe,
		.rails = sc->pinglists.rails,
	};

	if (!sc->pingmesh.enabled || emulation->phase != EMULATION_RUN)
		return 0;
	return controller_create(&config, &emulation->controller, err);
}

void
probing_destroy(struct emulation *emulation)
{
	controller_destroy(emulation->controller);
	emulation->controller = NULL;
}

struct probe_agent *
probing_agent(struct emulation *emulation, uint32_t node)
{
	const struct scenario *sc = emulation->scenario;
	const struct probe_agent_config config = {
		.device = embedded_device(emulation->hosts[node]),
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.node = node,
		.seed = (uint64_t)sc->root.seed,
		.cpu_ps = sc->pingmesh.cpu_ps,
		.clock_ps = sc->pingmesh.clock_ps,
		.management_ps = sc->pingmesh.management_ps,
		.service = sc->pingmesh.service,
		.traces = sc->pingmesh.trace_rate != 0 && sc->pingmesh.tracing == PINGMESH_TRACEROUTE,
	};

	struct probe_agent *agent;

	errno = 0;
	if (emulation->controller == NULL)
		return NULL;
	agent = probe_agent_create(&config);
	if (agent != NULL && probe_agent_start(agent) == 0)
		return agent;
	probe_agent_destroy(agent);
	errno = ENOMEM;
	return NULL;
}

static void
answer(struct emulation *emulation, uint32_t node, const struct probe_request *request)
{
	struct controller_reply reply =
		controller_handle(emulation->controller, request->bytes, request->size, request->arrives_ps);

	if (probe_agent_reply(emulation->agents[node], reply.bytes, reply.size) != 0)
		log_warning("%s: no memory for what the controller of R-Pingmesh answers: it asks again later",
			    emulation->scenario->topo->nodes[node].name);
}

/*
 * Agents of hosts with their own kernel ask over their management channels. Agents that ask in one window ask within less than the delay of management of each other: their
 * hosts' order will do.
 */
void
probing_exchange(struct emulation *emulation)
{
	const struct topo *topo = emulation->scenario->topo;
	struct probe_request request;

	for (uint32_t h = 0; emulation->controller != NULL && h < topo->nhosts; h++)
		if (emulation->agents[topo->hosts[h]] != NULL &&
		    probe_agent_asks(emulation->agents[topo->hosts[h]], &request))
			answer(emulation, topo->hosts[h], &request);
}

void
probing_load(void *run, uint32_t node, uint64_t load_ps)
{
	const struct emulation *emulation = run;

	if (emulation->agents[node] != NULL)
		probe_agent_load(emulation->agents[node], load_ps);
}

uint64_t
probing_overloaded(void *run, uint32_t node)
{
	const struct emulation *emulation = run;

	return emulation->agents[node] != NULL ? probe_agent_counts(emulation->agents[node]).overloaded : 0;
}

/* Who starts again wants to be woken: its host looks at once when. */
void
probing_stop(void *run, uint32_t node, bool stop, uint64_t now_ps)
{
	const struct emulation *emulation = run;
	struct probe_agent *agent = emulation->agents[node];
	struct device *device;

	if (agent == NULL)
		return;
	if (stop) {
		probe_agent_stop(agent);
		return;
	}
	device = embedded_device(emulation->hosts[node]);
	if (probe_agent_restart(agent, now_ps) != 0)
		log_warning("%s: no memory for new QPs of its agent of R-Pingmesh",
			    emulation->scenario->topo->nodes[node].name);
	device->ops->set_timer(device, now_ps);
}

uint64_t
probing_deaths(void *run, uint32_t node)
{
	const struct emulation *emulation = run;

	return emulation->agents[node] != NULL ? probe_agent_counts(emulation->agents[node]).deaths : 0;
}
