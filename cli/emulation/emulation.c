/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/emulation/emulation.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "cli/emulation/progress.h"
#include "common/clock.h"
#include "common/units.h"

/* Set by SIGINT and SIGTERM, read between windows. */
static volatile sig_atomic_t interrupted;

static void
on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
}

static bool
hook_interrupted(void *ctx)
{
	(void)ctx;
	return interrupted != 0;
}

static uint64_t
hook_next_change(void *ctx, uint64_t now_ps)
{
	return faults_next_ps(((struct emulation *)ctx)->faults, now_ps);
}

static void
hook_change(void *ctx, uint64_t now_ps)
{
	struct emulation *emulation = ctx;

	faults_apply(emulation->faults, &emulation->fault_env, now_ps);
}

/* The run goes on while a rank has steps to do or a background flow is not done. */
static void
watch_hosts(struct emulation *emulation)
{
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		struct step_engine *engine = emulation->engines[i];

		if (engine != NULL)
			embedded_expect_work(emulation->hosts[i], step_engine_state(engine) == STEP_ENGINE_WORKING ||
									  step_engine_background_open(engine));
	}
}

static void
hook_collect(void *ctx, uint64_t now_ps)
{
	struct emulation *emulation = ctx;

	watch_hosts(emulation);
	exporter_collect(emulation->exporter, emulation->records, emulation->scenario->topo->nnodes);
	exporter_advance(emulation->exporter, now_ps);
	progress_show(emulation, now_ps);
}

static void
host_storm(void *ctx, uint32_t node, uint16_t port, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps)
{
	embedded_storm(((struct emulation *)ctx)->hosts[node], port, prio, on, now_ps, interval_ps);
}

static uint8_t
host_pausing(void *ctx, uint32_t node, uint16_t port)
{
	return embedded_pausing(((struct emulation *)ctx)->hosts[node], port);
}

static void
host_link_changed(void *ctx, uint32_t node, uint16_t port, uint8_t held, uint64_t now_ps)
{
	embedded_link_changed(((struct emulation *)ctx)->hosts[node], port, held, now_ps);
}

static int
make_fabric(struct emulation *emulation, uint32_t lcores, struct err *err)
{
	const struct scenario *sc = emulation->scenario;
	const struct fabric_config config = {
		.topo = sc->topo,
		.pipeline_ps = sc->timing.pipeline_ps,
		.quantum_ps = sc->timing.quantum_ps,
		.epoch_ps = sc->telemetry.epoch_ps,
		.limit_ps = sc->limits.virtual_time_ps,
		.stall_ps = sc->limits.stall_ps,
		.seed = (uint64_t)sc->root.seed,
		.min_frame_bytes = sc->min_frame_bytes,
		.pause_bytes = PAUSE_WIRE_BYTES,
		.lcores = lcores,
	};

	emulation->fabric = fabric_create(&config, err);
	if (emulation->fabric == NULL)
		return -errno;
	emulation->fabric->hooks = (struct fabric_hooks){
		.ctx = emulation,
		.next_change_ps = hook_next_change,
		.change = hook_change,
		.collect = hook_collect,
		.interrupted = hook_interrupted,
	};
	emulation->switch_config = (struct switch_config){
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.routes = sc->routes,
		.pins = sc->pins,
		.sertables = &emulation->sertables,
		.params = &sc->sw,
		.pfc = &sc->pfc,
		.ecn = &sc->ecn,
		.telemetry = {
			.flows = &sc->plan->flows,
			.epoch_ps = sc->telemetry.epoch_ps,
			.kept = sc->epochs_kept,
			.exact = sc->telemetry.contention == CONTENTION_EXACT,
		},
		.seed = (uint64_t)sc->root.seed,
		.window_ps = emulation->fabric->window_ps,
		.pipeline_ps = sc->timing.pipeline_ps,
		.mtu_bytes = sc->mtu_frame_bytes,
		.min_frame_bytes = sc->min_frame_bytes,
		.pause_bytes = PAUSE_WIRE_BYTES,
		.telemetry_off = !sc->telemetry.enabled,
	};
	return 0;
}

static int
make_host(struct emulation *emulation, uint32_t id, struct err *err)
{
	const struct scenario *sc = emulation->scenario;
	struct nic_rows *rows = &emulation->nic_rows[id];
	struct nic_telemetry telemetry;
	struct embedded_config config = {
		.node = id,
		.topo = sc->topo,
		.flows = &sc->plan->flows,
		.shared = emulation->shared,
		.sertables = &emulation->sertables,
		.params = &sc->roce,
		.telemetry = sc->telemetry.enabled ? &telemetry : NULL,
		.bdp_bytes = sc->bdp_bytes,
	};
	struct step_engine_config engine = {
		.plan = sc->plan,
		.node = id,
		.detection = &sc->detection,
		.start_delay_ps = sc->slow_hosts.count != 0 ? slow_host_delay_ps : NULL,
		.start_ctx = &sc->slow_hosts,
	};

	if (nic_rows_init(rows, emulation->fabric, &emulation->switch_config.telemetry, sc->topo->nodes[id].nports) < 0)
		return err_set(err, -ENOMEM, "out of memory for telemetry");
	telemetry = nic_rows_ops(rows);
	emulation->hosts[id] = embedded_host_create(&config, err);
	if (emulation->hosts[id] == NULL)
		return -errno;
	fabric_attach(emulation->fabric, emulation->hosts[id]);
	emulation->records[id] = &emulation->hosts[id]->records;
	engine.device = embedded_device(emulation->hosts[id]);
	emulation->engines[id] = step_engine_create(&engine, err);
	return emulation->engines[id] != NULL ? 0 : -errno;
}

static int
make_nodes(struct emulation *emulation, struct err *err)
{
	const struct topo *topo = emulation->scenario->topo;

	emulation->shared = embedded_shared_create(topo, &emulation->scenario->plan->flows, err);
	if (emulation->shared == NULL)
		return -errno;
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		if (topo->nodes[i].kind == TOPO_HOST) {
			int ret = make_host(emulation, i, err);

			if (ret < 0)
				return ret;
			continue;
		}
		emulation->switches[i] = switch_create(&emulation->switch_config, i, err);
		if (emulation->switches[i] == NULL)
			return -errno;
		fabric_attach(emulation->fabric, &emulation->switches[i]->node);
		emulation->records[i] = &emulation->switches[i]->node.records;
	}
	return 0;
}

static int
build(struct emulation *emulation, uint32_t lcores, struct err *err)
{
	const struct topo *topo = emulation->scenario->topo;
	int ret;

	emulation->switches = calloc(topo->nnodes, sizeof(*emulation->switches));
	emulation->hosts = calloc(topo->nnodes, sizeof(*emulation->hosts));
	emulation->nic_rows = calloc(topo->nnodes, sizeof(*emulation->nic_rows));
	emulation->engines = calloc(topo->nnodes, sizeof(*emulation->engines));
	emulation->records = calloc(topo->nnodes, sizeof(*emulation->records));
	if (emulation->switches == NULL || emulation->hosts == NULL || emulation->nic_rows == NULL ||
	    emulation->engines == NULL || emulation->records == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u nodes", topo->nnodes);
	ret = make_fabric(emulation, lcores, err);
	if (ret == 0)
		ret = make_nodes(emulation, err);
	if (ret == 0)
		ret = fabric_partition(emulation->fabric, err);
	emulation->fault_env = (struct fault_env){
		.fabric = emulation->fabric,
		.switches = emulation->switches,
		.topo = topo,
		.host_storm = host_storm,
		.host_pausing = host_pausing,
		.host_link_changed = host_link_changed,
		.host_ctx = emulation,
	};
	return ret;
}

struct emulation *
emulation_create(struct scenario *scenario, uint32_t lcores, struct err *err)
{
	struct emulation *emulation = calloc(1, sizeof(*emulation));
	int ret = -ENOMEM;

	if (emulation != NULL) {
		emulation->scenario = scenario;
		emulation->faults = &scenario->faults;
		emulation->sertables.quantum_ps = scenario->timing.quantum_ps;
		ret = build(emulation, lcores, err);
	}
	if (ret == 0)
		return emulation;
	emulation_destroy(emulation);
	errno = -ret;
	return NULL;
}

void
emulation_destroy(struct emulation *emulation)
{
	if (emulation == NULL)
		return;
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		if (emulation->engines != NULL)
			step_engine_destroy(emulation->engines[i]);
		if (emulation->hosts != NULL)
			embedded_host_destroy(emulation->hosts[i]);
		if (emulation->nic_rows != NULL)
			nic_rows_fini(&emulation->nic_rows[i]);
		if (emulation->switches != NULL)
			switch_destroy(emulation->switches[i]);
	}
	capture_destroy(emulation->capture);
	embedded_shared_destroy(emulation->shared);
	fabric_destroy(emulation->fabric);
	sertables_fini(&emulation->sertables);
	free(emulation->switches);
	free(emulation->hosts);
	free(emulation->nic_rows);
	free(emulation->engines);
	free(emulation->records);
	free(emulation);
}

void
emulation_begin(struct emulation *emulation, struct exporter *exporter)
{
	struct sigaction action = { .sa_handler = on_signal };

	emulation->exporter = exporter;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++)
		if (emulation->engines[i] != NULL)
			step_engine_start(emulation->engines[i]);
	watch_hosts(emulation);
	emulation->start_wall_ns = clock_now_ns();
	emulation->cpu_ns = clock_cpu_ns();
}

static void
finish_stream(struct emulation *emulation)
{
	const struct fabric *fabric = emulation->fabric;
	struct rec_end end = {
		.hdr.node = REC_NONE,
		.reason = fabric->end_reason,
		.at_node = fabric->end_node,
		.end_ps = fabric->window.end_ps,
	};

	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		const struct node *node = fabric->nodes[i];

		end.polling_packets += node->count.polling_packets;
		end.polling_bytes += node->count.polling_bytes;
		end.notification_packets += node->count.notification_packets;
		end.notification_bytes += node->count.notification_bytes;
		if (node->status == NODE_QP_ERROR || node->status == NODE_NO_BUFFER)
			emulation->error_text = node->error;
	}
	exporter_collect(emulation->exporter, emulation->records, emulation->scenario->topo->nnodes);
	exporter_finish(emulation->exporter, &end);
	exporter_stats(emulation->exporter, &emulation->export);
}

void
emulation_end(struct emulation *emulation)
{
	emulation->wall_ns = clock_now_ns() - emulation->start_wall_ns;
	emulation->cpu_ns = clock_cpu_ns() - emulation->cpu_ns;
	progress_clear(emulation);
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++)
		if (emulation->engines[i] != NULL)
			step_engine_close(emulation->engines[i], emulation->fabric->window.end_ps);
	if (emulation->capture != NULL)
		emulation->capture_errno = -capture_close(emulation->capture, emulation->fabric->window.end_ps);
	finish_stream(emulation);
}
