/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of hosts, and their requirements of a scenario. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "common/units.h"
#include "dpswitch/fabric/node.h"
#include "dpswitch/fabric/pacer.h"
#include "rxe-hosts/device/verbs/label.h"
#include "scenario/scenario_load.h"
#include "workload/plan.h"
#include "workload/traffic/generator.h"

/* The kinds of hosts and the two ends of their cables. */

static void
socket_port(const struct host_cable *cable, char *buf, size_t cap)
{
	snprintf(buf, cap, "vhost:%s/%s.vhost", cable->dir, cable->name);
}

static void
socket_nic(const struct host_cable *cable, char *buf, size_t cap)
{
	snprintf(buf, cap, "%s/%s.vhost", cable->dir, cable->name);
}

/* The program that starts the host moves the tap into its namespace. */
static void
tap_port(const struct host_cable *cable, char *buf, size_t cap)
{
	snprintf(buf, cap, "net_tap_%u,iface=rl-%s", cable->node, cable->name);
}

static void
tap_nic(const struct host_cable *cable, char *buf, size_t cap)
{
	snprintf(buf, cap, "rl-%s", cable->name);
}

static void
given_port(const struct host_cable *cable, char *buf, size_t cap)
{
	snprintf(buf, cap, "%s", cable->config->port);
}

const struct host_kind_row host_kinds[ENUM_COUNT(HOST_KINDS)] = {
	[HOST_EMBEDDED] = { 0 },
	[HOST_GUEST] = { .guest = "uml", .builds_kernel = true, .port = socket_port, .nic = socket_nic },
	[HOST_QEMU] = { .guest = "qemu", .port = socket_port, .nic = socket_nic },
	[HOST_NETNS] = { .guest = "netns", .port = tap_port, .nic = tap_nic },
	[HOST_PORT] = { .remote = true, .port = given_port },
};

const char *
host_kind_name(enum host_kind kind)
{
	static const char *const names[] = { HOST_KINDS(ENUM_NAME) };

	return names[kind];
}

/* The windows that the fabric advances by. */

/* @param port  out: at which it is, TOPO_NONE if every cable is longer than a window may be */
static uint64_t
shortest(const struct scenario *sc, uint32_t *port)
{
	uint64_t window_ps = WINDOW_MAX_PS;

	*port = TOPO_NONE;
	for (uint32_t i = 0; i < sc->topo->nports; i++) {
		uint64_t delay_ps = sc->topo->ports[i].delay_ps + sc->timing.pipeline_ps;

		if (delay_ps >= window_ps)
			continue;
		window_ps = delay_ps;
		*port = i;
	}
	return window_ps;
}

uint64_t
scenario_window_ps(const struct scenario *sc)
{
	uint32_t port;

	return shortest(sc, &port);
}

/*
 * Are windows long enough, once the clock is decided? Times that are checked once a window become as long as one.
 * @return 0 or -EINVAL
 */
static int
scenario_fit_window(struct scenario *sc, struct err *err)
{
	uint32_t port;
	uint64_t window_ps = shortest(sc, &port);
	char delay[32], least[32], port_name[64];

	if (window_ps < WINDOW_MIN_PS)
		return cfg_fail(
			&sc->topo->where, "delay", err,
			"the fabric advances by the shortest delay between two nodes, link and timing.pipeline together; "
			"%s has %s: at least %s would be right",
			topo_port_name(sc->topo, port, port_name), units_format_time(window_ps, delay, sizeof(delay)),
			units_format_time(WINDOW_MIN_PS, least, sizeof(least)));
	/* In real time each window costs the machine some microseconds. */
	if (sc->timing.clock == CLOCK_REAL && window_ps < PACER_WINDOW_MIN_PS)
		return cfg_fail(&sc->topo->where, "delay", err,
				"real time needs %s between any two nodes, delay and timing.pipeline together; %s has %s: "
				"give the link a longer delay",
				units_format_time(PACER_WINDOW_MIN_PS, least, sizeof(least)),
				topo_port_name(sc->topo, port, port_name),
				units_format_time(window_ps, delay, sizeof(delay)));
	/* A monitor checks its clock once a window. */
	sc->volumes.grace_ps = max_u64(sc->volumes.grace_ps, window_ps);
	sc->volumes.idle_ps = max_u64(sc->volumes.idle_ps, window_ps);
	return 0;
}

/* How several programs divide the fabric. */

static int
check_names(const struct scenario *sc, bool *named, struct err *err)
{
	for (size_t g = 0; g < sc->npartitions; g++) {
		const struct partition_config *config = &sc->partitions[g];

		for (size_t i = 0; i < config->names.count; i++) {
			uint32_t node = topo_find(sc->topo, config->names.items[i]);

			if (node == TOPO_NONE)
				return cfg_fail(&config->where, "names", err, "\"%s\" is no node of this topology",
						config->names.items[i]);
			if (named[node])
				return cfg_fail(&config->where, "names", err, "\"%s\" is named twice",
						config->names.items[i]);
			named[node] = true;
		}
	}
	for (uint32_t i = 0; i < sc->topo->nnodes; i++)
		if (sc->topo->nodes[i].kind == TOPO_SWITCH && !named[i])
			return cfg_fail(
				&sc->partitions[0].where, "names", err,
				"switch \"%s\" is in no partition: name every switch in one, or leave \"partitions\" out",
				sc->topo->nodes[i].name);
	return 0;
}

/* The groups of "partitions", once the topology is known. @return 0, -EINVAL, -ENOMEM */
static int
scenario_load_partitions(struct scenario *sc, struct err *err)
{
	int ret = cfg_bind_list(sc->cfg, &partition_cfg, NULL, (void **)&sc->partitions, &sc->npartitions, err);
	bool *named;

	if (ret < 0 || sc->npartitions == 0)
		return ret;
	named = calloc(sc->topo->nnodes, sizeof(*named));
	if (named == NULL)
		return err_set(err, -ENOMEM, "out of memory for the partitions");
	ret = check_names(sc, named, err);
	free(named);
	return ret;
}

/* Requirements of a host with its own kernel on flows. */

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

/* Who runs each host. */

/*
 * Room beside the payload in a network device's MTU: headers of RoCEv2 (80 B at most in Linux' rxe, which takes the
 * largest path MTU that fits), and IP packets of other protocols as long as common ones.
 */
#define ROCE_HOST_MTU_ROOM 404
/* Ethernet header, 802.1Q tag, FCS, preamble and gap. */
#define ETH_OVERHEAD_BYTES (14 + 4 + 4 + 20)

/* On two busy cores a guest that is due may wait for others that long. */
#define GUEST_JITTER_PS (50 * PS_PER_MS)

static int
assign(struct scenario *sc, const struct host_config *config, uint32_t node, struct err *err)
{
	const struct topo_node *host = &sc->topo->nodes[node];

	if (sc->hosts[node] != NULL)
		return cfg_fail(&config->where, "names", err, "host %s has a kind already, from line %d", host->name,
				sc->hosts[node]->where.line);
	if (config->kind != HOST_EMBEDDED && sc->topo->nbonds != 0)
		return cfg_fail(&config->where, "kind", err,
				"host %s is not embedded, and hosts of this topology have bonds, which only embedded ones "
				"know: leave "
				"the bonds out, or make all hosts embedded",
				host->name);
	if (config->kind != HOST_EMBEDDED && host->nports != 1)
		return cfg_fail(&config->where, "kind", err,
				"host %s has %u NICs; hosts that are not embedded have one: give it one link", host->name,
				host->nports);
	sc->hosts[node] = config;
	return 0;
}

static int
assign_named(struct scenario *sc, const struct host_config *config, struct err *err)
{
	for (size_t i = 0; i < config->names.count; i++) {
		uint32_t node = topo_find(sc->topo, config->names.items[i]);
		int ret;

		if (node == TOPO_NONE || sc->topo->nodes[node].kind != TOPO_HOST)
			return cfg_fail(&config->where, "names", err, "\"%s\" is no host of this topology",
					config->names.items[i]);
		ret = assign(sc, config, node, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int
check_port(const struct host_config *config, struct err *err)
{
	bool given = config->port != NULL && config->port[0] != '\0', remote = host_kinds[config->kind].remote;

	if (remote && !given)
		return cfg_fail(&config->where, "port", err,
				"kind = \"port\" needs it, e.g. \"net_af_packet0,iface=eth1\" or \"vhost:/run/h1.sock\"");
	if (!remote && given)
		return cfg_fail(&config->where, "port", err, "\"%s\" is for kind = \"port\"", config->port);
	if (remote && config->names.count != 1)
		return cfg_fail(&config->where, "names", err, "%zu hosts behind one port: name one", config->names.count);
	if (!remote && config->pfc)
		return cfg_fail(&config->where, "pfc", err,
				"true is for kind = \"port\": no other kind obeys PAUSE frames");
	return 0;
}

/* Hosts with their own kernel send real frames, and not RoCEv2 alone. */
static int
size_frames(struct scenario *sc, struct err *err)
{
	uint32_t device_bytes;

	if (sc->host.data_overhead_bytes != 0)
		return cfg_fail(&sc->host.where, "data_overhead", err,
				"%u B: frames of hosts with their own kernel have the size they have; leave it out",
				(uint32_t)sc->host.data_overhead_bytes);
	sc->host_mtu_bytes = sc->roce.mtu_bytes + ROCE_HOST_MTU_ROOM;
	device_bytes = sc->host_mtu_bytes + ETH_OVERHEAD_BYTES;
	if (device_bytes > sc->largest_frame_bytes)
		sc->largest_frame_bytes = device_bytes;
	if (PAUSE_WIRE_BYTES < sc->min_frame_bytes)
		sc->min_frame_bytes = PAUSE_WIRE_BYTES; /* the shortest frame of Ethernet */
	return 0;
}

int
scenario_check_bonds(const struct scenario *sc, struct err *err)
{
	const struct topo *topo = sc->topo;

	if (topo->nbonds == 0)
		return 0;
	if (sc->pingmesh.enabled)
		return cfg_fail(
			&sc->pingmesh.where, NULL, err,
			"probes are sent from NIC to NIC, and hosts of this topology have bonds, whose ports have one "
			"address: leave pingmesh out, or the bonds");
	if (sc->volumes.enabled)
		return cfg_fail(
			&sc->volumes.where, NULL, err,
			"volumes are predicted for one leaf a NIC, and hosts of this topology have bonds, which lead to "
			"several: leave flowpulse out, or the bonds");
	return 0;
}

void
scenario_forget_hosts(struct scenario *sc)
{
	free(sc->host_configs);
	free(sc->partitions);
	free(sc->hosts);
}

int
scenario_resolve_hosts(struct scenario *sc, struct err *err)
{
	const struct host_config *all = NULL;
	int ret = scenario_load_partitions(sc, err);

	sc->hosts = calloc(sc->topo->nnodes, sizeof(*sc->hosts));
	if (sc->hosts == NULL)
		return err_set(err, -ENOMEM, "out of memory for the hosts");
	for (size_t i = 0; ret == 0 && i < sc->nhost_configs; i++) {
		const struct host_config *config = &sc->host_configs[i];

		ret = check_port(config, err);
		if (ret == 0 && config->names.count == 0 && all != NULL)
			ret = cfg_fail(&config->where, "names", err, "absent: line %d speaks of all hosts already",
				       all->where.line);
		if (ret == 0 && config->names.count == 0)
			all = config;
		if (ret == 0)
			ret = assign_named(sc, config, err);
	}
	for (uint32_t h = 0; ret == 0 && all != NULL && h < sc->topo->nhosts; h++)
		if (sc->hosts[sc->topo->hosts[h]] == NULL)
			ret = assign(sc, all, sc->topo->hosts[h], err);
	for (uint32_t h = 0; ret == 0 && h < sc->topo->nhosts; h++) {
		const struct host_config **host = &sc->hosts[sc->topo->hosts[h]];

		if (*host != NULL && (*host)->kind == HOST_EMBEDDED)
			*host = NULL;
		sc->nexternal += *host != NULL;
	}
	if (ret < 0)
		return ret;
	if (sc->timing.clock == CLOCK_AUTO)
		sc->timing.clock = sc->nexternal != 0 ? CLOCK_REAL : CLOCK_VIRTUAL;
	if (sc->timing.clock == CLOCK_VIRTUAL && sc->nexternal != 0)
		return cfg_fail(&sc->timing.where, "clock", err,
				"hosts with their own kernel live in real time: give \"real\" or leave it out");
	if (sc->timing.clock == CLOCK_VIRTUAL && sc->management.sockets)
		return cfg_fail(&sc->management.where, "sockets", err,
				"a run in virtual time ends before a query could arrive: set timing.clock to \"real\", or "
				"serve them with `rocelab trace`");
	if (sc->nexternal != 0 && !sc->roce.transport->kernels)
		return cfg_fail(&sc->host.where, "transport", err,
				"\"%s\" is for embedded hosts alone: the RDMA device of a kernel (soft-RoCE) repeats by "
				"go-back-N, and takes no packets out of order; leave it out, or let all hosts be embedded",
				sc->roce.transport->name);
	if (sc->nexternal != 0 && sc->host.ip_version != 4)
		return cfg_fail(
			&sc->host.where, "ip_version", err,
			"6: hosts with their own kernel speak IPv4 here: leave it out, or let all hosts be embedded");
	if (sc->nexternal != 0)
		ret = size_frames(sc, err);
	return ret == 0 ? scenario_fit_window(sc, err) : ret;
}

/* Between a kernel's memory and an embedded host's, only payload passes whose place both ends know. */
static int
check_mixed(const struct scenario *sc, uint32_t flow, bool real, const struct cfg_where *where, struct err *err)
{
	const struct flow *f = &sc->plan->flows.flows[flow];
	const struct topo_node *nodes = sc->topo->nodes;

	if ((sc->hosts[f->src_node] == NULL) == (sc->hosts[f->dst_node] == NULL) || real)
		return 0;
	return cfg_fail(
		where, NULL, err,
		"%s->%s: one of them is embedded and the other has its own kernel: they exchange payload = \"real\" of "
		"collectives alone",
		nodes[f->src_node].name, nodes[f->dst_node].name);
}

static bool
touches_kernel_host(const struct scenario *sc, uint32_t flow)
{
	const struct flow *f = &sc->plan->flows.flows[flow];

	return sc->hosts[f->src_node] != NULL || sc->hosts[f->dst_node] != NULL;
}

int
scenario_check_hosts(const struct scenario *sc, struct err *err)
{
	const struct plan *plan = sc->plan;
	int ret = scenario_check_measured(sc, err);

	for (uint32_t c = 0; sc->nexternal != 0 && ret == 0 && c < plan->ncollectives; c++) {
		const struct plan_collective *collective = &plan->collectives[c];

		for (uint32_t f = 0; ret == 0 && f < collective->nflows; f++) {
			if (collective->qp_per_step && touches_kernel_host(sc, collective->first_flow + f))
				ret = cfg_fail(&collective->where, "qp", err,
					       "\"per-step\" is for embedded hosts: an RDMA device keeps its queue pairs");
			if (ret == 0)
				ret = check_mixed(sc, collective->first_flow + f, collective->real, &collective->where,
						  err);
		}
	}
	for (uint32_t b = 0; sc->nexternal != 0 && ret == 0 && b < plan->nbackgrounds; b++)
		ret = check_mixed(sc, plan->backgrounds[b].flow, false, &plan->backgrounds[b].where, err);
	for (uint32_t f = 0; sc->nexternal != 0 && ret == 0 && f < plan->flows.count; f++)
		if (plan->of[f].kind == FLOW_TRAFFIC && touches_kernel_host(sc, f))
			ret = cfg_fail(
				&sc->traffic->generators[plan->messages[plan->of[f].owner].generator]->where, NULL, err,
				"%s->%s: one of them has its own kernel; embedded hosts alone have generated flows: name "
				"those as hosts",
				sc->topo->nodes[plan->flows.flows[f].src_node].name,
				sc->topo->nodes[plan->flows.flows[f].dst_node].name);
	for (uint32_t i = 0; sc->nexternal != 0 && ret == 0 && i < sc->topo->nnodes; i++)
		if (sc->hosts[i] != NULL)
			ret = sc->flowtracer.enabled
				      ? cfg_fail(&sc->flowtracer.where, "enabled", err,
						 "%s has its own kernel: `rocelab trace` asks such hosts while they run",
						 sc->topo->nodes[i].name)
				      : kernel_host_check(sc, i, err);
	return ret;
}

void
scenario_embed_hosts(struct scenario *sc)
{
	for (uint32_t h = 0; h < sc->topo->nhosts; h++)
		sc->hosts[sc->topo->hosts[h]] = NULL;
	sc->nexternal = 0;
}

uint64_t
scenario_jitter_ps(const struct scenario *sc)
{
	if (sc->detection.jitter_ps != 0 || sc->nexternal == 0)
		return sc->detection.jitter_ps;
	return GUEST_JITTER_PS;
}

uint64_t
scenario_window_bytes(const struct scenario *sc)
{
	uint64_t window_bytes = sc->roce.window_is_bdp ? sc->bdp_bytes : sc->roce.window_bytes;

	return sc->nexternal == 0 ? min_u64(window_bytes, scenario_in_flight_bytes(sc)) : 0;
}

uint64_t
scenario_in_flight_bytes(const struct scenario *sc)
{
	uint64_t window_bytes = sc->roce.window_is_bdp ? sc->bdp_bytes : sc->roce.window_bytes;
	uint64_t most_bytes = (uint64_t)ROCE_MAX_INFLIGHT * sc->roce.mtu_bytes;

	if (sc->nexternal != 0)
		return 0;
	return window_bytes != 0 ? min_u64(window_bytes, most_bytes) : most_bytes;
}
