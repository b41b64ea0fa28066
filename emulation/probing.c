/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/probing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/wire/record.h"
#include "emulation/emulation.h"
#include "emulation/preflight.h"
#include "operator/controller/controller.h"
#include "rxe-hosts/device/embedded/embedded.h"
#include "rxe-hosts/probe/agent.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

struct probing {
	struct emulation *emulation;
	struct controller *controller;
	struct probe_agent **agents; /* [nnodes] NULL for switches, hosts with their own kernel, and of other partitions */
	struct probe_request *asked; /* [nhosts] after the last window, of hosts here; bytes NULL: none */
	const struct partition_request **shared; /* [nnodes] the same of others; NULL: none */
};

static struct probing *
probing_of(const struct emulation *emulation)
{
	return emulation_service(emulation, &service_pingmesh);
}

struct controller_reply
probing_answer(struct emulation *emulation, uint32_t node, const void *request, size_t size, uint64_t now_ps)
{
	const struct probing *probing = probing_of(emulation);
	const struct partition *partition = emulation->partition;

	if (probing == NULL)
		return (struct controller_reply){ 0 };
	if (partition != NULL)
		partition->ops->share(partition->ctx, &(struct partition_request){ .node = node,
										   .time_ps = now_ps,
										   .bytes = (void *)(uintptr_t)request,
										   .size = size });
	return controller_handle(probing->controller, request, size, now_ps);
}

struct probe_agent *
probing_agent(const struct emulation *emulation, uint32_t node)
{
	const struct probing *probing = probing_of(emulation);

	return probing != NULL ? probing->agents[node] : NULL;
}

int
probing_start_agent(struct emulation *emulation, uint32_t node, struct probe_agent **agent, struct err *err)
{
	struct probing *probing = probing_of(emulation);
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

	*agent = NULL;
	if (probing == NULL)
		return 0;
	*agent = probing->agents[node] = probe_agent_create(&config);
	if (*agent == NULL || probe_agent_start(*agent) != 0)
		return err_set(err, -ENOMEM, "no memory for the agent of %s", sc->topo->nodes[node].name);
	return 0;
}

/* @param node  whose request it is: it gets the reply if it is here */
static void
reply_to(struct probing *probing, uint32_t node, const void *bytes, size_t size, uint64_t arrives_ps)
{
	struct controller_reply reply = controller_handle(probing->controller, bytes, size, arrives_ps);

	if (probing->agents[node] != NULL && probe_agent_reply(probing->agents[node], reply.bytes, reply.size) != 0)
		log_warning("%s: no memory for what the controller of R-Pingmesh answers: it asks again later",
			    probing->emulation->scenario->topo->nodes[node].name);
}

void
probing_load(void *run, uint32_t node, uint64_t load_ps)
{
	struct probe_agent *agent = probing_agent(run, node);

	if (agent != NULL)
		probe_agent_load(agent, load_ps);
}

uint64_t
probing_overloaded(void *run, uint32_t node)
{
	const struct probe_agent *agent = probing_agent(run, node);

	return agent != NULL ? probe_agent_counts(agent).overloaded : 0;
}

/* An agent that starts again is due at once: its host is woken. */
void
probing_stop(void *run, uint32_t node, bool stop, uint64_t now_ps)
{
	const struct emulation *emulation = run;
	struct probe_agent *agent = probing_agent(emulation, node);
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
	const struct probe_agent *agent = probing_agent(run, node);

	return agent != NULL ? probe_agent_counts(agent).deaths : 0;
}

/* ---- the service ---- */

static int
create(struct emulation *emulation, const struct emulation_options *options, void **state, struct err *err)
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
	struct probing *probing;

	(void)options;
	if (!sc->pingmesh.enabled || emulation->phase != EMULATION_RUN)
		return 0;
	probing = *state = calloc(1, sizeof(*probing));
	if (probing != NULL) {
		probing->agents = calloc(sc->topo->nnodes, sizeof(struct probe_agent *));
		probing->asked = calloc(sc->topo->nhosts + 1u, sizeof(*probing->asked));
		probing->shared = calloc(sc->topo->nnodes, sizeof(*probing->shared));
	}
	if (probing == NULL || probing->agents == NULL || probing->asked == NULL || probing->shared == NULL)
		return err_set(err, -ENOMEM, "out of memory for the agents of %u hosts", sc->topo->nhosts);
	probing->emulation = emulation;
	return controller_create(&config, &probing->controller, err);
}

static void
destroy(void *state)
{
	struct probing *probing = state;

	for (uint32_t i = 0; probing->agents != NULL && i < probing->emulation->scenario->topo->nnodes; i++)
		probe_agent_destroy(probing->agents[i]);
	controller_destroy(probing->controller);
	free(probing->agents);
	free(probing->asked);
	free(probing->shared);
	free(probing);
}

/* Requests of hosts of other partitions, by node; those of hosts here are sent to them. */
static void
share_requests(struct probing *probing, const struct probe_request *ours, const struct partition_request **theirs)
{
	const struct partition *partition = probing->emulation->partition;
	const struct topo *topo = probing->emulation->scenario->topo;
	const struct partition_request *shared;
	uint32_t count;

	for (uint32_t h = 0; h < topo->nhosts; h++) {
		struct partition_request request = { .node = topo->hosts[h],
						     .time_ps = ours[h].arrives_ps,
						     .bytes = (void *)ours[h].bytes,
						     .size = ours[h].size };

		if (request.bytes != NULL)
			partition->ops->share(partition->ctx, &request);
	}
	shared = partition->ops->shared(partition->ctx, &count);
	for (uint32_t i = 0; i < count; i++)
		theirs[shared[i].node] = &shared[i];
}

/* Requests of kernel hosts of other partitions, which answer them: the controller here learns what they register. */
static void
note_requests(const struct probing *probing)
{
	const struct partition *partition = probing->emulation->partition;
	struct partition_request request;

	while (partition->ops->arrived(partition->ctx, PARTITION_PINGMESH, &request)) {
		controller_handle(probing->controller, request.bytes, request.size, request.time_ps);
		free(request.bytes);
	}
}

/*
 * Answers the requests of agents. Agents that send requests in one window send them within less than the delay of the
 * management network of each other, so that the order of their hosts suffices. Agents of kernel hosts send theirs
 * over their management channels. Each partition has the controller, and hears the requests of all hosts: so all know the
 * same, where kernel hosts are some time later.
 */
static void
collect(void *state, uint64_t now_ps)
{
	struct probing *probing = state;
	const struct topo *topo = probing->emulation->scenario->topo;
	const struct partition *partition = probing->emulation->partition;

	(void)now_ps;
	if (partition != NULL && !partition->windows) {
		note_requests(probing);
		return;
	}
	memset(probing->asked, 0, topo->nhosts * sizeof(*probing->asked));
	memset(probing->shared, 0, topo->nnodes * sizeof(*probing->shared));
	for (uint32_t h = 0; h < topo->nhosts; h++)
		if (probing->agents[topo->hosts[h]] != NULL)
			probe_agent_asks(probing->agents[topo->hosts[h]], &probing->asked[h]);
	if (partition != NULL)
		share_requests(probing, probing->asked, probing->shared);
	for (uint32_t h = 0; h < topo->nhosts; h++) {
		const struct probe_request *ours = &probing->asked[h];
		const struct partition_request *theirs = probing->shared[topo->hosts[h]];

		if (ours->bytes != NULL)
			reply_to(probing, topo->hosts[h], ours->bytes, ours->size, ours->arrives_ps);
		else if (theirs != NULL)
			reply_to(probing, topo->hosts[h], theirs->bytes, theirs->size, theirs->time_ps);
	}
}

static void
stream_head(const void *state, struct exporter *exporter)
{
	const struct scenario *scenario = ((const struct probing *)state)->emulation->scenario;
	const struct pingmesh_times *times = &scenario->pinglists.times;
	struct rec_pingmesh rec = {
		.hdr.node = REC_NONE,
		.time_factor_ppm = pingmesh_factor_ppm(&scenario->pingmesh),
		.software_times = scenario->nexternal != 0,
		.algorithm = (uint16_t)scenario->pingmesh.algorithm,
		.tor_mesh_ps = times->tor_mesh_ps,
		.inter_tor_ps = times->inter_tor_ps,
		.service_ps = times->service_ps,
		.timeout_ps = times->timeout_ps,
		.upload_ps = times->upload_ps,
		.period_ps = times->period_ps,
		.pinglist_ps = times->pinglist_ps,
	};

	exporter_header(exporter, &rec, REC_PINGMESH, sizeof(rec));
}

int
probing_preflight(struct preflight *c)
{
	const struct scenario *sc = c->sc;
	const struct topo_port *port;
	struct preflight_finding *f;
	double factor = sc->pingmesh.time_factor, share;
	uint32_t rnic;
	char name[40];

	if (!sc->pingmesh.enabled)
		return 0;
	share = pinglist_link_share(&sc->pinglists, sc->topo, sc->pingmesh.service, &rnic);
	if (share <= PINGLIST_MOST_SHARE)
		return 0;
	port = topo_port_of(sc->topo, sc->rnics.rnics[rnic].host, sc->rnics.rnics[rnic].nic);
	f = preflight_add(
		c, "probes-heavy", true,
		"R-Pingmesh's probes take %.0f %% of the link of %s, %.3g Gbps: with pingmesh.time_factor = %g, %.0f "
		"times as many a second as in the paper. They slow down, or stop, what they watch",
		100 * share, topo_port_name(sc->topo, (uint32_t)(port - sc->topo->ports), name),
		(double)port->rate_bps / 1e9, factor, 1 / factor);
	f->unmarked = false;
	preflight_remedy(f, "--set pingmesh.time_factor=%g", ceil(factor * share / PINGLIST_MOST_SHARE * 1e4) / 1e4);
	return 0;
}

const struct run_service service_pingmesh = {
	.name = "pingmesh",
	.create = create,
	.collect = collect,
	.stream_head = stream_head,
	.destroy = destroy,
};
