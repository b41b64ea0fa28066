/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario/kernel_host.h"

#include <errno.h>
#include <stdlib.h>

#include "rxe-hosts/device/verbs/label.h"

static const struct cfg_where *
where_of(const struct scenario *sc, uint32_t flow)
{
	const struct plan_flow *of = &sc->plan->of[flow];

	if (sc->plan->flows.flows[flow].kind == FLOW_PROBE)
		return &sc->pingmesh.where;
	return of->kind == FLOW_BACKGROUND ? &sc->plan->backgrounds[of->owner].where
					   : &sc->plan->collectives[of->owner].where;
}

static int
check_flow(const struct scenario *sc, uint32_t index, uint32_t node, struct err *err)
{
	const struct flow *flow = &sc->plan->flows.flows[index];
	const struct cfg_where *where = where_of(sc, index);
	const char *name = sc->topo->nodes[node].name;

	if ((flow->src_node == node && flow->src_nic != 0) || (flow->dst_node == node && flow->dst_nic != 0))
		return cfg_fail(where, NULL, err, "uses the second NIC of %s; a host with its own kernel has one", name);
	if (flow->kind == FLOW_CONTROL)
		return 0;
	if (!verbs_sport_possible(flow->sport))
		return cfg_fail(where, "sport", err,
				"%u: %s has its own kernel, and RoCEv2 devices send from ports %u to 65535", flow->sport,
				name, VERBS_FIRST_SPORT);
	if (flow->dport != ROCEV2_UDP_PORT)
		return cfg_fail(where, "dport", err, "%u: %s has its own kernel, and RoCEv2 devices send to port %u",
				flow->dport, name, ROCEV2_UDP_PORT);
	return 0;
}

int
kernel_host_check(const struct scenario *sc, uint32_t node, struct err *err)
{
	uint32_t mtu = sc->roce.mtu_bytes;
	int ret = 0;

	if (mtu < 256 || mtu > 4096 || (mtu & (mtu - 1)) != 0)
		return cfg_fail(&sc->host.where, "mtu", err,
				"%u: %s has its own kernel; its path MTU is 256, 512, 1024, 2048 or"
				" 4096",
				mtu, sc->topo->nodes[node].name);
	for (uint32_t i = 0; ret == 0 && i < sc->plan->flows.count; i++)
		if (sc->plan->flows.flows[i].src_node == node || sc->plan->flows.flows[i].dst_node == node)
			ret = check_flow(sc, i, node, err);
	return ret;
}

uint64_t *
kernel_host_slowest_bps(const struct scenario *sc, struct err *err)
{
	uint64_t *slowest = calloc(sc->plan->flows.count + 1u, sizeof(*slowest));

	if (slowest == NULL) {
		err_set(err, -ENOMEM, "no memory for %u flows", sc->plan->flows.count);
		return NULL;
	}
	for (uint32_t i = 0; i < sc->plan->flows.count; i++) {
		struct route_path path;

		if (scenario_path(sc, i, false, &path) < 0 || path.hops == 0) {
			err_set(err, -EHOSTUNREACH, "flow %u has no path", i);
			free(slowest);
			return NULL;
		}
		slowest[i] = UINT64_MAX;
		for (uint32_t h = 0; h < path.hops; h++)
			if (sc->topo->ports[path.ports[h]].rate_bps < slowest[i])
				slowest[i] = sc->topo->ports[path.ports[h]].rate_bps;
	}
	return slowest;
}
