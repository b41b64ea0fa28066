/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "common/units.h"
#include "dpswitch/lcore/telemetry.h"
#include "emulation/forward/forward_state.h"

#define FOREVER_PS (1000000 * PS_PER_S)
#define SPARES 16

/* Whether faults acted is seen in what is counted. */
static bool
crosses(void *run, uint32_t port)
{
	(void)run;
	(void)port;
	return true;
}

static uint64_t
held_ps(void *run, uint32_t port)
{
	(void)run;
	(void)port;
	return FAULT_UNSEEN;
}

static int
make_fabric(struct forward *f, struct err *err)
{
	const struct scenario *sc = f->scenario;
	struct fabric_config config = {
		.topo = sc->topo,
		.pipeline_ps = sc->timing.pipeline_ps,
		.epoch_ps = sc->telemetry.epoch_ps,
		.limit_ps = FOREVER_PS,
		.stall_ps = FOREVER_PS,
		.seed = 1,
		.min_frame_bytes = PAUSE_WIRE_BYTES,
		.pause_bytes = PAUSE_WIRE_BYTES,
		.lcores = f->options->lcores,
		.bodies = edge_bodies(f->edge),
	};

	f->fabric = fabric_create(&config, err);
	if (f->fabric == NULL)
		return -errno;
	f->faults = (struct fault_env){ .fabric = f->fabric, .topo = sc->topo, .crosses = crosses, .held_ps = held_ps };
	f->fabric->hooks = forward_hooks(f);
	f->switch_config = (struct switch_config){
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.routes = sc->routes,
		.healthy_routes = sc->routes,
		.sertables = &f->sertables,
		.params = &sc->sw,
		.pfc = &sc->pfc,
		.ecn = &sc->ecn,
		.telemetry = { .epoch_ps = sc->telemetry.epoch_ps, .kept = sc->epochs_kept },
		.seed = 1,
		.hash_seed = 1,
		.window_ps = f->fabric->window_ps,
		.pipeline_ps = sc->timing.pipeline_ps,
		.mtu_bytes = sc->mtu_frame_bytes,
		.min_frame_bytes = PAUSE_WIRE_BYTES,
		.pause_bytes = PAUSE_WIRE_BYTES,
		.telemetry_off = !sc->telemetry.enabled,
	};
	return 0;
}

/* @return the port of a host, NULL: it is none */
static struct port *
port_of(const struct forward *f, uint32_t node)
{
	for (uint32_t i = 0; i < f->npairs; i++) {
		const struct flow *flow = &f->scenario->plan->flows.flows[i];

		if (flow->src_node == node || flow->dst_node == node)
			return f->ports[2 * i + (flow->dst_node == node)];
	}
	return NULL;
}

/* Hosts are ports here: nothing can be done to them. @return 0, or -EINVAL with err */
static int
check_faults(const struct scenario *sc, struct err *err)
{
	for (uint32_t i = 0; i < sc->faults.count; i++) {
		const struct fault_ops *const *ops = switch_faults;

		while (*ops != NULL && *ops != sc->faults.faults[i].ops)
			ops++;
		if (*ops == NULL)
			return err_set(err, -EINVAL,
				       "%s: faults.[%u]: \"%s\" is of hosts, which are ports here: leave it out", sc->name,
				       i, sc->faults.faults[i].ops->kind);
	}
	return 0;
}

/* Every host is at one end of one flow. */
static bool
makes_pairs(const struct forward *f)
{
	const struct scenario *sc = f->scenario;
	uint32_t ends = 0;

	for (uint32_t i = 0; i < sc->topo->nnodes; i++) {
		uint32_t flows = 0;

		for (uint32_t k = 0; sc->topo->nodes[i].kind == TOPO_HOST && k < f->npairs; k++)
			flows += sc->plan->flows.flows[k].src_node == i || sc->plan->flows.flows[k].dst_node == i;
		ends += flows == 1;
	}
	return ends == sc->topo->nhosts && ends == 2 * f->npairs && f->npairs != 0;
}

static int
make_nodes(struct forward *f, struct err *err)
{
	const struct topo *topo = f->scenario->topo;
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		const struct kernel_host_nic_config nic = { .port = port_of(f, i) };
		const struct kernel_host_config host = {
			.node = i,
			.topo = topo,
			.nics = &nic,
			.edge = f->edge,
			.sertables = &f->sertables,
			.telemetry = f->switch_config.telemetry_off ? NULL : &f->switch_config.telemetry,
			.window_ps = f->fabric->window_ps,
			.mtu_bytes = f->switch_config.mtu_bytes,
			.min_frame_bytes = PAUSE_WIRE_BYTES,
		};

		if (topo->nodes[i].kind == TOPO_SWITCH) {
			f->switches[i] = switch_create(&f->switch_config, i, err);
			if (f->switches[i] == NULL)
				return -errno;
			fabric_attach(f->fabric, &f->switches[i]->node);
			continue;
		}
		f->hosts[i] = kernel_host_create(&host, err);
		if (f->hosts[i] == NULL)
			return -errno;
		f->hosts[i]->ops->expect_work(f->hosts[i], true);
		fabric_attach(f->fabric, f->hosts[i]);
	}
	return fabric_partition(f->fabric, err);
}

int
forward_build(struct forward *f, struct err *err)
{
	struct scenario *sc = f->scenario;
	const struct edge_config edge = {
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.switches = f->switches,
		.idle_ps = 2 * sc->epochs_kept * sc->telemetry.epoch_ps,
		.data_prio = sc->roce.data_prio,
		.measured_prio = sc->roce.measured_prio,
		.lossy_prio = 1,
		.lossless = (uint8_t)(1u << sc->roce.data_prio),
	};
	int ret;

	f->npairs = sc->plan->flows.count;
	if (!makes_pairs(f))
		return err_set(err, -EINVAL, "%s: forwarding needs a flow for every two hosts", sc->name);
	if (sc->host.ip_version != 4)
		return cfg_fail(&sc->host.where, "ip_version", err, "6: what ports forward here is IPv4: leave it out");
	ret = check_faults(sc, err);
	if (ret < 0)
		return ret;
	if (f->switches == NULL || f->hosts == NULL || flow_table_reserve(&sc->plan->flows, SPARES) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	ret = forward_open_ports(f, err);
	if (ret < 0)
		return ret;
	f->edge = edge_create(&edge, err);
	if (f->edge == NULL)
		return -errno;
	ret = make_fabric(f, err);
	if (ret == 0)
		ret = make_nodes(f, err);
	if (ret < 0)
		return ret;
	f->counters = counters_create(sc->topo, f->switches, NULL, sc->routes, err);
	return f->counters != NULL ? telemetry_open(f->counters, err) : -errno;
}

void
forward_unbuild(struct forward *f)
{
	telemetry_close();
	counters_destroy(f->counters);
	for (uint32_t i = 0; i < f->scenario->topo->nnodes; i++) {
		if (f->hosts != NULL)
			node_destroy(f->hosts[i]);
		if (f->switches != NULL && f->switches[i] != NULL)
			node_destroy(&f->switches[i]->node);
	}
	fabric_destroy(f->fabric);
	edge_destroy(f->edge);
	forward_close_ports(f);
	sertables_fini(&f->sertables);
	free(f->switches);
	free(f->hosts);
	free(f->probe);
}
