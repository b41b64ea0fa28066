/* SPDX-License-Identifier: BSD-3-Clause */
/* The faults of a scenario, and the routes as they are with those that are known. */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/int_header.h"
#include "common/wire/poll.h"
#include "dpswitch/pipeline/switch_cfg.h"
#include "rxe-hosts/faults/host_faults.h"
#include "scenario/scenario_load.h"
#include "workload/jobs/endpoint.h"
#include "workload/plan.h"

/* Which IP hosts speak. */

int
scenario_resolve_ip(struct scenario *sc, struct err *err)
{
	struct route_hashing *hashing = &sc->balance.hashing;
	struct cfg_where balance = cfg_where_key(sc->cfg, "load_balancing");

	hashing->ipv6 = sc->host.ip_version == 6;
	if (sc->balance.names_label && !hashing->ipv6)
		return cfg_fail(&balance, "fields", err,
				"\"flow-label\": IPv4, which hosts speak here, has none: set host.ip_version to 6, or hash "
				"\"sport\"");
	if (sc->balance.names_label && hashing->vxlan)
		return cfg_fail(&balance, "fields", err,
				"\"flow-label\": what switches see with encapsulation = \"vxlan\" are IPv4 headers, which "
				"have none: "
				"hash \"sport\"");
	if (hashing->ipv6 && sc->pingmesh.enabled)
		return cfg_fail(&sc->host.where, "ip_version", err,
				"6: agents of pingmesh probe and trace over IPv4: leave it out, or pingmesh");
	return 0;
}

/* The faults, and the routes as they are with those that are known. */

/* Routes use no cable that is known to be down. */
static int
make_routes(struct scenario *sc, struct err *err)
{
	sc->routes = route_table_create(sc->topo, (enum route_rule)sc->rerouting.rule);
	sc->withdrawn = calloc(sc->topo->nlinks + 1u, sizeof(*sc->withdrawn));
	if (sc->routes == NULL || sc->withdrawn == NULL)
		return err_set(err, -ENOMEM, "out of memory for routes");
	if (!faults_withdraw(&sc->faults, sc->topo, sc->withdrawn)) {
		free(sc->withdrawn);
		sc->withdrawn = NULL;
	} else if (route_table_update(sc->routes, sc->withdrawn) < 0) {
		return err_set(err, -ENOMEM, "out of memory for routes");
	}
	return 0;
}

int
scenario_load_faults(struct scenario *sc, struct err *err)
{
	int ret = faults_load(&sc->faults, switch_faults, sc->cfg, sc->topo, err);

	if (ret == 0)
		ret = faults_load(&sc->faults, host_faults, sc->cfg, sc->topo, err);
	return ret == 0 ? make_routes(sc, err) : ret;
}

int
scenario_check_faults(const struct scenario *sc, struct err *err)
{
	uint32_t *steps = calloc(sc->plan->ncollectives + 1u, sizeof(*steps));
	bool *own_kernel = calloc(sc->topo->nnodes + 1u, sizeof(*own_kernel));
	const struct fault_work work = { .flows = &sc->plan->flows,
					 .steps = steps,
					 .ncollectives = sc->plan->ncollectives,
					 .has_agents = sc->pingmesh.enabled,
					 .topo = sc->topo,
					 .own_kernel = own_kernel };
	int ret = -ENOMEM;

	if (steps == NULL || own_kernel == NULL) {
		err_set(err, -ENOMEM, "out of memory for %u collectives", sc->plan->ncollectives);
		goto out;
	}
	for (uint32_t i = 0; i < sc->topo->nnodes; i++)
		own_kernel[i] = sc->hosts[i] != NULL;
	for (uint32_t c = 0; c < sc->plan->ncollectives; c++)
		steps[c] = coll_max_steps(sc->plan->collectives[c].schedule);
	ret = faults_check(&sc->faults, &work, err);
out:
	free(own_kernel);
	free(steps);
	return ret;
}

/* Source ports of single queue pairs: they decide which of the ports of equal cost their packets take. */

struct port_cfg {
	struct cfg_where where;
	const char *src, *dst;
	int64_t sport, dport, to;
};

#define S struct port_cfg
static const struct cfg_field fields[] = {
	CFG_FIELD("src", CFG_STRING, offsetof(S, src), .doc = "Sending host, or host:nic"),
	CFG_FIELD("dst", CFG_STRING, offsetof(S, dst), .doc = "Receiving host, or host:nic"),
	CFG_FIELD("sport", CFG_INT, offsetof(S, sport), .min = 1, .max = 65535,
		  .doc = "UDP source port that its collective assigns"),
	CFG_FIELD("dport", CFG_INT, offsetof(S, dport), .def = "4791", .min = 1, .max = 65535,
		  .doc = "Its UDP destination port"),
	CFG_FIELD("to", CFG_INT, offsetof(S, to), .min = 1, .max = 65535, .doc = "UDP source port that it uses instead"),
};
#undef S

const struct cfg_table source_ports_cfg = {
	.path = "source_ports",
	.doc = "Flows whose queue pairs use another UDP source port than their collective assigns: hashes then choose "
	       "another path. `rocelab trace --advise` finds better ports.",
	.list = true,
	.size = sizeof(struct port_cfg),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

/* Addresses: they distinguish NICs, but not members of a bond. */
struct ends {
	uint32_t src_ip, dst_ip;
};

static int
find_ends(const struct scenario *sc, const struct port_cfg *cfg, struct ends *ends, struct err *err)
{
	struct endpoint src, dst;
	int ret = endpoint_find(sc->topo, cfg->src, &cfg->where, "src", &src, err);

	if (ret == 0)
		ret = endpoint_find(sc->topo, cfg->dst, &cfg->where, "dst", &dst, err);
	if (ret == 0)
		*ends = (struct ends){ topo_host_ip(sc->topo, src.node, src.nic),
				       topo_host_ip(sc->topo, dst.node, dst.nic) };
	return ret;
}

static bool
has_ends(const struct flow *flow, const struct ends *ends, int64_t dport)
{
	return flow->src_ip == ends->src_ip && flow->dst_ip == ends->dst_ip && flow->dport == dport;
}

/* @return the flow that has these ends and port, or NULL. @param ports  as they were, or are */
static struct flow *
find_flow(const struct flow_table *table, const uint16_t *ports, const struct ends *ends, int64_t sport, int64_t dport)
{
	for (uint32_t f = 0; f < table->count; f++)
		if (ports[f] == sport && has_ends(&table->flows[f], ends, dport))
			return &table->flows[f];
	return NULL;
}

/* @param before  [flows] source ports of the plan; 0: moved @param now  the new source ports */
static int
move(const struct scenario *sc, const struct port_cfg *cfg, uint16_t *before, uint16_t *now, struct err *err)
{
	const struct flow_table *table = &sc->plan->flows;
	const struct flow *flow;
	struct ends ends;
	int ret = find_ends(sc, cfg, &ends, err);

	if (ret != 0)
		return ret;
	flow = find_flow(table, before, &ends, cfg->sport, cfg->dport);
	if (flow == NULL)
		return cfg_fail(&cfg->where, "sport", err, "no flow %s->%s/%lld>%lld, or it was moved before", cfg->src,
				cfg->dst, (long long)cfg->sport, (long long)cfg->dport);
	if (flow->kind == FLOW_CONTROL || flow->kind == FLOW_PROBE)
		return cfg_fail(&cfg->where, "sport", err, "%lld: the flow carries no data", (long long)cfg->sport);
	if (cfg->to == POLL_UDP_PORT || cfg->to == NOTIFY_UDP_PORT)
		return cfg_fail(&cfg->where, "to", err, "%lld is a port of polling packets or of notifications",
				(long long)cfg->to);
	before[flow - table->flows] = 0;
	now[flow - table->flows] = (uint16_t)cfg->to;
	return 0;
}

/* Two flows of one 5-tuple, after all moves. */
static int
check_port(const struct scenario *sc, const struct port_cfg *cfg, const uint16_t *now, struct err *err)
{
	const struct flow_table *table = &sc->plan->flows;
	uint32_t count = 0;
	struct ends ends;
	int ret = find_ends(sc, cfg, &ends, err);

	for (uint32_t f = 0; ret == 0 && f < table->count; f++)
		count += now[f] == cfg->to && has_ends(&table->flows[f], &ends, cfg->dport);
	if (count > 1)
		return cfg_fail(&cfg->where, "to", err, "another flow %s->%s has port %lld; a free one would be right",
				cfg->src, cfg->dst, (long long)cfg->to);
	return ret;
}

int
scenario_move_ports(struct scenario *sc, struct err *err)
{
	struct flow_table *table = &sc->plan->flows;
	uint16_t *before = calloc(table->count + 1u, sizeof(*before)), *now = calloc(table->count + 1u, sizeof(*now));
	void *bound = NULL;
	const struct port_cfg *items;
	size_t count = 0;
	int ret = before != NULL && now != NULL ? 0 : err_set(err, -ENOMEM, "out of memory for %u flows", table->count);

	if (ret == 0)
		ret = cfg_bind_list(sc->cfg, &source_ports_cfg, NULL, &bound, &count, err);
	items = bound;
	for (uint32_t f = 0; ret == 0 && f < table->count; f++)
		before[f] = now[f] = table->flows[f].sport;
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = move(sc, &items[i], before, now, err);
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = check_port(sc, &items[i], now, err);
	for (uint32_t f = 0; ret == 0 && f < table->count; f++)
		table->flows[f].sport = now[f];
	free(bound);
	free(before);
	free(now);
	return ret;
}

/* R-Pingmesh: the 5-tuples that its controller gives out are flows of the plan. */

/* Each host has several NICs, and each of them another ToR. */
static int
check_rails(const struct scenario *sc, struct err *err)
{
	const struct topo *topo = sc->topo;

	if (sc->nexternal != 0)
		return cfg_fail(
			&sc->pingmesh.where, "rails", err,
			"a kernel delivers what a host sends to itself without any cable: for embedded hosts alone");
	for (uint32_t i = 0; i < topo->nhosts; i++) {
		const struct topo_node *host = &topo->nodes[topo->hosts[i]];

		if (host->nports < 2)
			return cfg_fail(&sc->pingmesh.where, "rails", err,
					"%s has one NIC; hosts probe from one of their NICs to another", host->name);
		for (uint32_t a = 0; a < host->nports; a++)
			for (uint32_t b = 0; b < a; b++)
				if (topo->ports[host->first_port + a].peer == topo->ports[host->first_port + b].peer)
					return cfg_fail(
						&sc->pingmesh.where, "rails", err,
						"NICs %u and %u of %s are at the same switch, %s; each rail has its own",
						b + 1, a + 1, host->name,
						topo->nodes[topo->ports[host->first_port + a].peer].name);
	}
	return 0;
}

static int
check(const struct scenario *sc, struct err *err)
{
	if (sc->nexternal != 0 && sc->nexternal != sc->topo->nhosts)
		return cfg_fail(&sc->pingmesh.where, "enabled", err,
				"%u of %u hosts have their own kernel; agents probe where either all have, or none",
				sc->nexternal, sc->topo->nhosts);
	if (sc->nexternal != 0 && sc->pingmesh.tracing == PINGMESH_INT)
		return cfg_fail(&sc->pingmesh.where, "tracing", err,
				"\"int\": kernels take no packets into which switches wrote: \"traceroute\" would be "
				"right, or embedded "
				"hosts");
	return sc->pingmesh.rails ? check_rails(sc, err) : 0;
}

static struct plan_probe
probe_of(const struct rnic_map *map, uint32_t rnic, const struct pinglist_entry *entry)
{
	const struct rnic *from = &map->rnics[rnic], *to = &map->rnics[entry->target];

	return (struct plan_probe){ .src_node = from->host,
				    .src_nic = from->nic,
				    .dst_node = to->host,
				    .dst_nic = to->nic,
				    .sport = entry->sport };
}

/* How often tuples are drawn anew until the run is over at the latest. */
static uint64_t
rotations(const struct scenario *sc)
{
	return sc->limits.virtual_time_ps / sc->pinglists.times.rotate_ps;
}

int
scenario_plan_probes(struct scenario *sc, struct plan_probe **probes, uint32_t *nprobes, struct err *err)
{
	uint64_t entries = 0, turns;

	*probes = NULL;
	*nprobes = 0;
	if (!sc->pingmesh.enabled)
		return 0;
	if (check(sc, err) < 0 || rnic_map_init(&sc->rnics, sc->topo, sc->routes, PINGLIST_COVERED, err) < 0)
		return -EINVAL;
	sc->pinglists = (struct pinglists){ .map = &sc->rnics,
					    .times = pingmesh_times(pingmesh_factor_ppm(&sc->pingmesh)),
					    .seed = (uint64_t)sc->root.seed,
					    .rxe = sc->nexternal != 0,
					    .rails = sc->pingmesh.rails };
	turns = rotations(sc) + 1;
	for (uint32_t r = 0; r < sc->rnics.nrnics; r++)
		entries += pinglist_count(&sc->pinglists, r);
	if (entries * turns > UINT32_MAX)
		return cfg_fail(
			&sc->pingmesh.where, "time_factor", err,
			"%g: tuples change %llu times within limits.virtual_time: a larger factor, or a lower limit",
			sc->pingmesh.time_factor, (unsigned long long)turns - 1);
	*probes = calloc(entries * turns + 1, sizeof(**probes));
	if (*probes == NULL)
		return err_set(err, -ENOMEM, "out of memory for %llu tuples", (unsigned long long)(entries * turns));
	for (uint32_t r = 0; r < sc->rnics.nrnics; r++)
		for (uint32_t i = 0; i < pinglist_count(&sc->pinglists, r); i++)
			for (uint64_t turn = 0; turn < turns; turn++) {
				struct pinglist_entry entry =
					pinglist_at(&sc->pinglists, r, i, turn * sc->pinglists.times.rotate_ps);

				if (entry.target != TOPO_NONE)
					(*probes)[(*nprobes)++] = probe_of(&sc->rnics, r, &entry);
			}
	return 0;
}

uint64_t
scenario_trace_gap_ps(const struct scenario *scenario)
{
	if (!scenario->pingmesh.enabled || scenario->pingmesh.trace_rate == 0)
		return 0;
	return PS_PER_S / PINGMESH_PPM * pingmesh_factor_ppm(&scenario->pingmesh) / (uint64_t)scenario->pingmesh.trace_rate;
}

/* Telemetry that packets carry of their path: which links it can name, and whether every path has room in its header. */

static int
add_rates(struct scenario *sc, struct err *err)
{
	struct int_rates *rates = &sc->int_rates;

	for (uint32_t i = 0; i < sc->topo->nports; i++) {
		if (int_rate_index(rates, sc->topo->ports[i].rate_bps) >= 0)
			continue;
		if (rates->count == INT_RATES)
			return cfg_fail(&sc->host.where, "cc", err,
					"\"%s\" distinguishes at most %d link rates, and the topology has more: use fewer, "
					"or another algorithm",
					sc->roce.cc.ops->name, INT_RATES);
		rates->bps[rates->count++] = sc->topo->ports[i].rate_bps;
	}
	return 0;
}

/* Probes, and ACKs on the reverse path. */
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

/* Whether hosts and switches support measured collectives. */

/* A class of its own is to be as lossless as that of other data. */
static int
check_class(const struct scenario *sc, struct err *err)
{
	uint8_t lossless;
	int ret = switch_lossless_classes(&sc->switches.all.pfc, &lossless, err);

	if (ret == 0 && (lossless >> sc->roce.data_prio & 1) != 0 && (lossless >> sc->roce.measured_prio & 1) == 0)
		ret = cfg_fail(
			&sc->host.where, "measured_prio", err,
			"class %u has no PFC and would lose packets; add it: switch.pfc.priorities = [ \"%u\", \"%u\" ]",
			sc->roce.measured_prio, sc->roce.data_prio, sc->roce.measured_prio);
	return ret;
}

/* What monitors of volumes rest on. @param any  there is something to measure */
static int
check_volumes(const struct scenario *sc, bool any, struct err *err)
{
	const struct volumes_params *params = &sc->volumes;
	bool spread = params->prediction == REC_PREDICTION_ANALYTICAL || params->prediction == REC_PREDICTION_MEASURED;

	if (!params->enabled)
		return 0;
	if (!any)
		return cfg_fail(&params->where, "enabled", err, "no collective is measured: set measured = true in one");
	if (spread && !balance_spreads(&sc->balance))
		return cfg_fail(&params->where, "prediction", err,
				"this one holds where every packet is spread by itself (load_balancing.kind); for ecmp and "
				"flowlets "
				"loads can be \"learned\"");
	if (params->prediction == REC_PREDICTION_SIMULATED && params->file == NULL && balance_is_on(&sc->balance) &&
	    !balance_spreads(&sc->balance))
		return cfg_fail(&params->where, "prediction", err,
				"the port of a flowlet is random, and differs in a simulation: loads can be \"learned\", "
				"or given by a file");
	return 0;
}

int
scenario_check_measured(const struct scenario *sc, struct err *err)
{
	const struct plan *plan = sc->plan;
	bool any = false;

	for (uint32_t i = 0; i < plan->flows.count; i++) {
		uint32_t node = plan->flows.flows[i].src_node;

		if (!plan->of[i].measured)
			continue;
		any = true;
		if (sc->hosts[node] != NULL && sc->hosts[node]->kind == HOST_PORT)
			return cfg_fail(
				&plan->collectives[plan->of[i].owner].where, "measured", err,
				"host %s is external, and its program sets no tags: measure collectives of other hosts",
				sc->topo->nodes[node].name);
	}
	if (any && check_class(sc, err) < 0)
		return -EINVAL;
	return check_volumes(sc, any, err);
}
