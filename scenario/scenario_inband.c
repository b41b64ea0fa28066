/* SPDX-License-Identifier: BSD-3-Clause */
/* Telemetry that packets carry of their path: which links it can name, and whether every path has room in its header. */
#include "common/int_header.h"
#include "scenario/scenario_load.h"

static int
add_rates(struct scenario *sc, struct err *err)
{
	struct int_rates *rates = &sc->int_rates;

	for (uint32_t i = 0; i < sc->topo->nports; i++) {
		if (int_rate_index(rates, sc->topo->ports[i].rate_bps) >= 0)
			continue;
		if (rates->count == INT_RATES)
			return cfg_fail(&sc->host.where, "cc", err,
					"\"%s\" tells at most %d rates of links apart, and the topology has more: use "
					"fewer, or another algorithm",
					sc->roce.cc.ops->name, INT_RATES);
		rates->bps[rates->count++] = sc->topo->ports[i].rate_bps;
	}
	return 0;
}

/* Probes, and ACKs on their way back. */
static int
check_probe(const struct scenario *sc, uint32_t flow, bool reverse, struct err *err)
{
	const struct flow *f = &sc->plan->flows.flows[flow];
	struct route_path path;

	if (f->kind == FLOW_CONTROL || scenario_path(sc, flow, reverse, &path) < 0 || path.hops <= INT_MAX_HOPS + 1)
		return 0;
	return cfg_fail(
		&sc->pingmesh.where, "tracing", err,
		"\"int\" has room for %d switches in a packet, and %s and %s are %u apart: \"traceroute\" would be right, "
		"or a topology or paths with fewer",
		INT_MAX_HOPS, sc->topo->nodes[f->src_node].name, sc->topo->nodes[f->dst_node].name, path.hops - 1);
}

/* Switches write their hops into probes. */
static int
prepare_probes(struct scenario *sc, struct err *err)
{
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < 2 * sc->plan->flows.count; i++)
		ret = check_probe(sc, i / 2, i % 2 != 0, err);
	sc->roce.inband_bytes = INT_WIRE_BYTES;
	sc->roce.cc.rates = &sc->int_rates;
	return ret;
}

static int
check_path(const struct scenario *sc, uint32_t flow, struct err *err)
{
	const struct flow *f = &sc->plan->flows.flows[flow];
	struct route_path path;

	if (f->kind == FLOW_CONTROL || scenario_path(sc, flow, false, &path) < 0 || path.hops <= INT_MAX_HOPS + 1)
		return 0;
	return cfg_fail(&sc->host.where, "cc", err,
			"\"%s\" has room for %d switches in its packets, and %s sends to %s through %u: use a topology or "
			"paths with fewer, or another algorithm",
			sc->roce.cc.ops->name, INT_MAX_HOPS, sc->topo->nodes[f->src_node].name,
			sc->topo->nodes[f->dst_node].name, path.hops - 1);
}

int
scenario_prepare_inband(struct scenario *sc, struct err *err)
{
	int ret = 0;

	if (sc->pingmesh.enabled && sc->pingmesh.tracing == PINGMESH_INT)
		ret = prepare_probes(sc, err);
	if (ret < 0 || !sc->roce.cc.ops->inband)
		return ret;
	for (uint32_t i = 0; sc->nexternal != 0 && i < sc->topo->nnodes; i++)
		if (sc->hosts[i] != NULL)
			return cfg_fail(&sc->host.where, "cc", err,
					"\"%s\" needs telemetry in packets and ACKs, which host %s with its own kernel "
					"cannot send back: use another algorithm, or embedded hosts alone",
					sc->roce.cc.ops->name, sc->topo->nodes[i].name);
	ret = add_rates(sc, err);
	for (uint32_t i = 0; ret == 0 && i < sc->plan->flows.count; i++)
		ret = check_path(sc, i, err);
	sc->roce.cc.rates = &sc->int_rates;
	return ret;
}
