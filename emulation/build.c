/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/build.h"

#include <errno.h>
#include <stdlib.h>

#include "emulation/embedded_hosts.h"
#include "emulation/flow_tracing.h"
#include "emulation/hooks.h"
#include "emulation/idle_faults.h"
#include "emulation/probing.h"
#include "emulation/rerouting.h"
#include "rxe-hosts/agent/policy.h"

static int
make_fabric(struct emulation *emulation, uint32_t lcores, struct err *err)
{
	const struct scenario *sc = emulation->scenario;
	bool preparing = emulation->phase == EMULATION_PREPARE;
	struct fabric_config config = {
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.pipeline_ps = sc->timing.pipeline_ps,
		.quantum_ps = sc->timing.quantum_ps,
		.epoch_ps = sc->telemetry.epoch_ps,
		.limit_ps = preparing ? sc->limits.connect_ps : sc->limits.virtual_time_ps,
		.stall_ps = preparing ? sc->limits.connect_ps : sc->limits.stall_ps,
		.seed = (uint64_t)sc->root.seed,
		.min_frame_bytes = sc->min_frame_bytes,
		.pause_bytes = PAUSE_WIRE_BYTES,
		.lcores = lcores,
		.inband = sc->roce.cc.rates != NULL,
		.foreign = emulation->part != NULL ? emulation->part->foreign : NULL,
	};

	for (uint32_t i = 0; i < emulation->ndrivers; i++) {
		const struct host_driver *driver = &emulation->drivers[i];
		int ret = driver->ops->fabric_begin(driver->ctx, emulation, &config.bodies, err);

		if (ret < 0)
			return ret;
		emulation->nbegun++;
	}
	if (emulation->part != NULL && config.bodies == NULL)
		config.bodies = emulation->part->ops->bodies(emulation->part->ctx);
	emulation->fabric = fabric_create(&config, err);
	if (emulation->fabric == NULL)
		return -errno;
	emulation->fabric->hooks = emulation_hooks(emulation);
	return 0;
}

/* Of all switches, and what NICs keep like them. @return 0, or -EINVAL with err set */
static int
configure_switches(struct emulation *emulation, struct err *err)
{
	const struct scenario *sc = emulation->scenario;
	const struct detection_policy *policy = agent_policies[sc->detection.policy];

	emulation->switch_config = (struct switch_config){
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.routes = sc->routes,
		.healthy_routes = sc->routes,
		.pins = sc->pins,
		.sertables = &emulation->sertables,
		.params = &sc->sw,
		.pfc = &sc->pfc,
		.ecn = &sc->ecn,
		.balance = sc->balance,
		.telemetry = {
			.epoch_ps = sc->telemetry.epoch_ps,
			.kept = sc->epochs_kept,
			.exact = sc->telemetry.contention == CONTENTION_EXACT,
			.every_epoch = policy->every_epoch,
			.retain_ps = sc->detection.retain_ps,
			.quiet_depth = policy->every_epoch ? 0 : (uint32_t)sc->telemetry.quiet_depth,
			.strict = sc->strict,
		},
		.seed = (uint64_t)sc->root.seed,
		.hash_seed = sc->routing.seed,
		.window_ps = emulation->fabric->window_ps,
		.pipeline_ps = sc->timing.pipeline_ps,
		.extra_delay_ps = faults_extra_delay_ps(&sc->faults),
		.mtu_bytes = sc->largest_frame_bytes,
		.min_frame_bytes = sc->min_frame_bytes,
		.pause_bytes = PAUSE_WIRE_BYTES,
		.inband = sc->roce.cc.rates,
		.trace_gap_ps = scenario_trace_gap_ps(sc),
		.telemetry_off = emulation->phase == EMULATION_PREPARE || !sc->telemetry.enabled,
	};
	return switch_lossless_classes(&sc->pfc, &emulation->switch_config.telemetry.lossless, err);
}

static int
make_host(struct emulation *emulation, uint32_t id, struct err *err)
{
	const struct scenario *sc = emulation->scenario;
	const struct host_driver *driver =
		part_is_foreign(emulation, id) ? &emulation->part->hosts : &emulation->drivers[sc->hosts[id] != NULL];

	emulation->driver_of[id] = driver;
	emulation->hosts[id] = driver->ops->node_create(driver->ctx, id, err);
	if (emulation->hosts[id] == NULL)
		return -errno;
	fabric_attach(emulation->fabric, emulation->hosts[id]);
	emulation->engines[id] = driver->ops->program_create(driver->ctx, id, err);
	return emulation->engines[id] != NULL ? 0 : -errno;
}

static int
make_switch(struct emulation *emulation, uint32_t id, struct err *err)
{
	emulation->switches[id] = switch_create(&emulation->switch_config, id, err);
	if (emulation->switches[id] == NULL)
		return -errno;
	fabric_attach(emulation->fabric, &emulation->switches[id]->node);
	return 0;
}

static int
make_nodes(struct emulation *emulation, struct err *err)
{
	const struct topo *topo = emulation->scenario->topo;

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		int ret = topo->nodes[i].kind == TOPO_HOST ? make_host(emulation, i, err) : make_switch(emulation, i, err);

		if (ret < 0)
			return ret;
		emulation->records[i] = &emulation->fabric->nodes[i]->records;
	}
	return 0;
}

static int
check_options(const struct scenario *sc, const struct emulation_options *options, struct err *err)
{
	if (sc->nexternal == 0)
		return 0;
	if (options->external == NULL)
		return err_set(err, -ENOTSUP, "%s: hosts with their own kernel cannot be attached here", cfg_file(sc->cfg));
	if (options->lcores != 1 && sc->nexternal != sc->topo->nhosts)
		return err_set(
			err, -EINVAL,
			"--lcores %u: embedded hosts beside such with their own kernel are served by one lcore, as the "
			"bytes of their messages are read where frames leave",
			options->lcores);
	return 0;
}

static int
allocate(struct emulation *emulation, struct err *err)
{
	uint32_t nnodes = emulation->scenario->topo->nnodes;

	emulation->switches = calloc(nnodes, sizeof(*emulation->switches));
	emulation->hosts = calloc(nnodes, sizeof(*emulation->hosts));
	emulation->driver_of = calloc(nnodes, sizeof(*emulation->driver_of));
	emulation->engines = calloc(nnodes, sizeof(*emulation->engines));
	emulation->agents = calloc(nnodes, sizeof(*emulation->agents));
	emulation->records = calloc(nnodes, sizeof(*emulation->records));
	if (emulation->switches == NULL || emulation->hosts == NULL || emulation->driver_of == NULL ||
	    emulation->engines == NULL || emulation->agents == NULL || emulation->records == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u nodes", nnodes);
	return 0;
}

int
emulation_build(struct emulation *emulation, const struct emulation_options *options, struct err *err)
{
	int ret = check_options(emulation->scenario, options, err);

	emulation->drivers[emulation->ndrivers++] = (struct host_driver){ &embedded_hosts, emulation };
	if (options->external != NULL)
		emulation->drivers[emulation->ndrivers++] = *options->external;
	if (ret == 0)
		ret = allocate(emulation, err);
	if (ret == 0 && emulation->part != NULL)
		emulation->part->ops->join(emulation->part->ctx, emulation);
	if (ret == 0)
		ret = make_fabric(emulation, options->lcores, err);
	if (ret < 0)
		return ret;
	ret = configure_switches(emulation, err);
	if (ret == 0 && emulation->phase == EMULATION_RUN && emulation->scenario->volumes.enabled) {
		ret = volumes_setup(&emulation->volumes, emulation->scenario, emulation->foretold, err);
		emulation->switch_config.volumes = &emulation->volumes.setup;
	}
	if (ret == 0)
		ret = probing_create(emulation, err);
	if (ret == 0)
		ret = flow_tracing_create(emulation, err);
	if (ret == 0)
		ret = rerouting_init(emulation, err);
	if (ret == 0)
		ret = make_nodes(emulation, err);
	if (ret == 0)
		ret = fabric_partition(emulation->fabric, err);
	emulation->fault_env = (struct fault_env){
		.fabric = emulation->fabric,
		.topo = emulation->scenario->topo,
		.run = emulation,
		.crosses = idle_faults_crosses,
		.held_ps = idle_faults_held_ps,
		.steps_begun = idle_faults_steps_begun,
		.load_cpu = probing_load,
		.cpu_overloaded = probing_overloaded,
		.stop_agent = probing_stop,
		.agent_deaths = probing_deaths,
	};
	return ret;
}

void
emulation_unbuild(struct emulation *emulation)
{
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		if (emulation->engines != NULL)
			step_engine_destroy(emulation->engines[i]);
		if (emulation->agents != NULL)
			probe_agent_destroy(emulation->agents[i]);
		if (emulation->fabric != NULL)
			node_destroy(emulation->fabric->nodes[i]);
	}
	probing_destroy(emulation);
	flow_tracing_destroy(emulation->tracing);
	rerouting_fini(emulation);
	volumes_unset(&emulation->volumes);
	fabric_destroy(emulation->fabric);
	for (uint32_t i = 0; i < emulation->nbegun; i++)
		emulation->drivers[i].ops->fabric_end(emulation->drivers[i].ctx);
	free(emulation->switches);
	free(emulation->hosts);
	free(emulation->driver_of);
	free(emulation->engines);
	free(emulation->agents);
	free(emulation->records);
}
