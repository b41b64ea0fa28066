/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/emulation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "common/units.h"
#include "emulation/idle_faults.h"
#include "emulation/progress.h"
#include "emulation/rerouting.h"
#include "rxe-hosts/agent/policy.h"
#include "rxe-hosts/steps/remote.h"

static bool
hook_interrupted(void *ctx)
{
	(void)ctx;
	return interrupt_asked();
}

static uint64_t
hook_pace(void *ctx, uint64_t earliest_ps, uint64_t start_ps)
{
	return pacer_wait(&((struct emulation *)ctx)->pacer, earliest_ps, start_ps);
}

static uint64_t
hook_next_change(void *ctx, uint64_t now_ps)
{
	const struct emulation *emulation = ctx;
	uint64_t fault_ps = faults_next_ps(emulation->faults, now_ps), route_ps = rerouting_next_ps(emulation, now_ps);

	return fault_ps < route_ps ? fault_ps : route_ps;
}

static void
hook_change(void *ctx, uint64_t now_ps)
{
	struct emulation *emulation = ctx;

	faults_apply(emulation->faults, &emulation->fault_env, now_ps);
	rerouting_apply(emulation, now_ps);
}

static bool
is_outside(const struct emulation *emulation, uint32_t node)
{
	return emulation->scenario->hosts[node] != NULL;
}

/* Whether the program of a host keeps the run going: a rank has steps to do, or a background flow is not done. */
static bool
host_works(const struct emulation *emulation, uint32_t node)
{
	const struct step_engine *engine = emulation->engines[node];

	if (emulation->phase == EMULATION_RUN && emulation->collected_ps < emulation->scenario->limits.hold_ps)
		return true;
	if (emulation->phase == EMULATION_PREPARE)
		return emulation->outside.ops == NULL || !emulation->outside.ops->ready(emulation->outside.ctx);
	if (is_outside(emulation, node))
		return emulation->outside.ops->working(emulation->outside.ctx, node);
	return step_engine_state(engine) == STEP_ENGINE_WORKING || step_engine_background_open(engine);
}

/*
 * Bytes on their way should move. Where there are none, somebody waits for a time to come: that of a collective, an
 * iteration, a delayed step or a flow, and whoever depends on it waits for that too. Where nobody does, something is wrong.
 */
static bool
hook_due(void *ctx, uint64_t now_ps)
{
	const struct emulation *emulation = ctx;
	const struct outside *outside = &emulation->outside;
	bool timed = false;

	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		uint64_t next_ps;
		bool sending;

		if (emulation->hosts[i] == NULL)
			continue;
		if (is_outside(emulation, i)) {
			sending = outside->ops->sending(outside->ctx, i, &next_ps);
		} else {
			sending = step_engine_sending(emulation->engines[i]);
			next_ps = step_engine_next_ps(emulation->engines[i]);
		}
		if (sending)
			return true;
		timed |= next_ps > now_ps && next_ps != TIME_NEVER;
	}
	return !timed;
}

static uint64_t
hook_lived(void *ctx)
{
	return pacer_lived_ps(&((struct emulation *)ctx)->pacer);
}

/* A host that went away, or failed, ends the run. */
static void
watch_failure(struct emulation *emulation)
{
	uint32_t id;
	bool lost;
	const char *why = emulation->outside.ops->failure(emulation->outside.ctx, &id, &lost);

	if (why == NULL)
		return;
	emulation->hosts[id]->status = lost ? NODE_LOST : NODE_QP_ERROR;
	snprintf(emulation->hosts[id]->error, sizeof(emulation->hosts[id]->error), "%s", why);
}

static void
watch_hosts(struct emulation *emulation)
{
	const struct outside_ops *outside = emulation->outside.ops;

	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		if (emulation->hosts[i] == NULL)
			continue;
		emulation->hosts[i]->ops->expect_work(emulation->hosts[i], host_works(emulation, i));
	}
	if (outside != NULL)
		watch_failure(emulation);
}

/* What the programs of hosts with their own kernel have reported goes into the stream. */
static void
take_reports(struct emulation *emulation)
{
	const struct outside *outside = &emulation->outside;

	if (outside->ops == NULL || emulation->phase != EMULATION_RUN)
		return;
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++)
		if (emulation->hosts[i] != NULL && is_outside(emulation, i))
			outside->ops->records(outside->ctx, i, emulation->records[i], emulation->collected_ps);
}

static void
hook_collect(void *ctx, uint64_t now_ps)
{
	struct emulation *emulation = ctx;

	if (emulation->outside.ops != NULL)
		emulation->outside.ops->service(emulation->outside.ctx);
	take_reports(emulation);
	emulation->collected_ps = now_ps;
	watch_hosts(emulation);
	if (emulation->exporter == NULL) {
		for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++)
			emulation->records[i]->used_bytes = 0;
		return;
	}
	exporter_collect(emulation->exporter, emulation->records, emulation->scenario->topo->nnodes);
	exporter_advance(emulation->exporter, now_ps);
	progress_show(emulation, now_ps);
}

static int
make_fabric(struct emulation *emulation, uint32_t lcores, struct err *err)
{
	const struct scenario *sc = emulation->scenario;
	bool preparing = emulation->phase == EMULATION_PREPARE;
	const struct detection_policy *policy = agent_policies[sc->detection.policy];
	struct fabric_config config = {
		.topo = sc->topo,
		.pipeline_ps = sc->timing.pipeline_ps,
		.quantum_ps = sc->timing.quantum_ps,
		.epoch_ps = sc->telemetry.epoch_ps,
		.limit_ps = preparing ? sc->limits.connect_ps : sc->limits.virtual_time_ps + sc->limits.hold_ps,
		.stall_ps = preparing ? sc->limits.connect_ps : sc->limits.stall_ps + sc->limits.hold_ps,
		.seed = (uint64_t)sc->root.seed,
		.min_frame_bytes = sc->min_frame_bytes,
		.pause_bytes = PAUSE_WIRE_BYTES,
		.lcores = lcores,
	};

	if (emulation->outside.ops != NULL) {
		config.bodies = emulation->outside.ops->fabric_begin(emulation->outside.ctx, emulation, err);
		if (config.bodies == NULL)
			return -errno;
	}
	emulation->fabric = fabric_create(&config, err);
	if (emulation->fabric == NULL)
		return -errno;
	emulation->fabric->hooks = (struct fabric_hooks){
		.ctx = emulation,
		.pace = sc->timing.clock == CLOCK_REAL ? hook_pace : NULL,
		.lived_ps = sc->timing.clock == CLOCK_REAL ? hook_lived : NULL,
		.due = preparing ? NULL : hook_due,
		.next_change_ps = preparing ? NULL : hook_next_change,
		.change = preparing ? NULL : hook_change,
		.collect = hook_collect,
		.interrupted = hook_interrupted,
	};
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
		.telemetry = {
			.epoch_ps = sc->telemetry.epoch_ps,
			.kept = sc->epochs_kept,
			.exact = sc->telemetry.contention == CONTENTION_EXACT,
			.every_epoch = policy->every_epoch,
			.retain_ps = sc->detection.retain_ps,
			.quiet_depth = policy->every_epoch ? 0 : (uint32_t)sc->telemetry.quiet_depth,
		},
		.seed = (uint64_t)sc->root.seed,
		.window_ps = emulation->fabric->window_ps,
		.pipeline_ps = sc->timing.pipeline_ps,
		.extra_delay_ps = faults_extra_delay_ps(&sc->faults),
		.mtu_bytes = sc->largest_frame_bytes,
		.min_frame_bytes = sc->min_frame_bytes,
		.pause_bytes = PAUSE_WIRE_BYTES,
		.telemetry_off = preparing || !sc->telemetry.enabled,
	};
	return rerouting_init(emulation, err);
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
		.telemetry = emulation->switch_config.telemetry_off ? NULL : &telemetry,
		.bdp_bytes = sc->bdp_bytes,
	};
	struct step_engine_config engine = {
		.plan = sc->plan,
		.node = id,
		.detection = &sc->detection,
		.start_delay_ps = faults_start_delay_ps,
		.start_ctx = &sc->faults,
	};

	if (nic_rows_init(rows, emulation->fabric, &emulation->switch_config.telemetry, &sc->plan->flows,
			  sc->topo->nodes[id].nports) < 0)
		return err_set(err, -ENOMEM, "out of memory for telemetry");
	telemetry = nic_rows_ops(rows);
	if (is_outside(emulation, id))
		emulation->hosts[id] = emulation->outside.ops->node_create(emulation->outside.ctx, id, err);
	else
		emulation->hosts[id] = embedded_host_create(&config, err);
	if (emulation->hosts[id] == NULL)
		return -errno;
	fabric_attach(emulation->fabric, emulation->hosts[id]);
	emulation->records[id] = &emulation->hosts[id]->records;
	if (is_outside(emulation, id)) {
		emulation->engines[id] = step_engine_create_remote(sc->plan, id, err);
	} else {
		engine.device = embedded_device(emulation->hosts[id]);
		emulation->engines[id] = step_engine_create(&engine, err);
	}
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
check_options(const struct scenario *sc, const struct emulation_options *options, struct err *err)
{
	if (sc->noutside == 0)
		return 0;
	if (options->outside == NULL)
		return err_set(err, -ENOTSUP, "%s: hosts with their own kernel cannot be attached here", cfg_file(sc->cfg));
	if (options->lcores != 1)
		return err_set(err, -EINVAL, "--lcores %u: hosts with their own kernel are served by one lcore",
			       options->lcores);
	return 0;
}

static int
build(struct emulation *emulation, const struct emulation_options *options, struct err *err)
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
	ret = check_options(emulation->scenario, options, err);
	if (ret == 0)
		ret = make_fabric(emulation, options->lcores, err);
	if (ret == 0)
		ret = make_nodes(emulation, err);
	if (ret == 0)
		ret = fabric_partition(emulation->fabric, err);
	emulation->fault_env = (struct fault_env){
		.fabric = emulation->fabric,
		.topo = topo,
		.run = emulation,
		.crosses = idle_faults_crosses,
		.held_ps = idle_faults_held_ps,
		.steps_begun = idle_faults_steps_begun,
	};
	return ret;
}

struct emulation *
emulation_create(struct scenario *scenario, const struct emulation_options *options, struct err *err)
{
	struct emulation *emulation = calloc(1, sizeof(*emulation));
	int ret = -ENOMEM;

	if (emulation != NULL) {
		emulation->scenario = scenario;
		emulation->faults = &scenario->faults;
		emulation->sertables.quantum_ps = scenario->timing.quantum_ps;
		emulation->phase = options->phase;
		if (options->outside != NULL)
			emulation->outside = *options->outside;
		ret = build(emulation, options, err);
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
			node_destroy(emulation->hosts[i]);
		if (emulation->nic_rows != NULL)
			nic_rows_fini(&emulation->nic_rows[i]);
		if (emulation->switches != NULL && emulation->switches[i] != NULL)
			node_destroy(&emulation->switches[i]->node);
	}
	rerouting_fini(emulation);
	capture_destroy(emulation->capture);
	embedded_shared_destroy(emulation->shared);
	fabric_destroy(emulation->fabric);
	if (emulation->outside.ops != NULL)
		emulation->outside.ops->fabric_end(emulation->outside.ctx);
	sertables_fini(&emulation->sertables);
	free(emulation->switches);
	free(emulation->hosts);
	free(emulation->nic_rows);
	free(emulation->engines);
	free(emulation->records);
	free(emulation);
}

void
emulation_begin(struct emulation *emulation, struct exporter *exporter, uint64_t zero_ns)
{
	emulation->exporter = exporter;
	pacer_init(&emulation->pacer, zero_ns, emulation->fabric->window_ps, emulation->scenario->timing.idle == IDLE_BUSY);
	if (emulation->outside.ops != NULL) {
		emulation->pacer.pending = emulation->outside.ops->pending;
		emulation->pacer.ctx = emulation->outside.ctx;
	}
	for (uint32_t i = 0; emulation->phase == EMULATION_RUN && i < emulation->scenario->topo->nnodes; i++)
		if (emulation->engines[i] != NULL && !is_outside(emulation, i))
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
		end.detections += node->count.detections;
		end.kept_reports += node->count.reports.kept_reports;
		end.kept_bytes += node->count.reports.kept_bytes;
		end.collected_reports += node->count.reports.reports;
		end.collected_bytes += node->count.reports.bytes;
		if (node->status != NODE_RUNNING && node->status != NODE_PASSIVE)
			emulation->error_text = node->error;
	}
	exporter_collect(emulation->exporter, emulation->records, emulation->scenario->topo->nnodes);
	exporter_finish(emulation->exporter, &end);
	exporter_stats(emulation->exporter, &emulation->export);
	emulation->end = end;
}

void
emulation_end(struct emulation *emulation)
{
	emulation->wall_ns = clock_now_ns() - emulation->start_wall_ns;
	emulation->cpu_ns = clock_cpu_ns() - emulation->cpu_ns;
	progress_clear(emulation);
	take_reports(emulation); /* the last ones came after the last window */
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++)
		if (emulation->engines[i] != NULL && !is_outside(emulation, i))
			step_engine_close(emulation->engines[i], emulation->fabric->window.end_ps);
	if (emulation->capture != NULL)
		emulation->capture_errno = -capture_close(emulation->capture, emulation->fabric->window.end_ps);
	faults_close(emulation->faults, &emulation->fault_env);
	finish_stream(emulation);
}

uint64_t
emulation_dropped(const struct emulation *emulation, uint32_t node, uint16_t port, enum rec_drop reason)
{
	const struct node *of = emulation->fabric->nodes[node];

	return of->ops->dropped(of, port, reason);
}

bool
emulation_describe(void *ctx, const struct pkt *p, struct pkt_message *message)
{
	const struct emulation *emulation = ctx;

	embedded_describe(emulation->shared, &emulation->scenario->roce, p, message);
	return true;
}

const struct port_truth *
emulation_truth_of(const struct emulation *emulation, uint32_t node, uint16_t port)
{
	return emulation->switches[node] != NULL ? &emulation->switches[node]->ports[port].truth
						 : &emulation->nic_rows[node].ports[port].truth;
}
