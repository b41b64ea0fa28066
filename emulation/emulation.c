/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/emulation.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "common/minmax.h"
#include "common/units.h"
#include "dpswitch/pipeline/switch.h"
#include "rxe-hosts/agent/policy.h"
#include "rxe-hosts/steps/engine.h"
#include "scenario/scenario.h"

bool
partition_is_remote(const struct emulation *emulation, uint32_t node)
{
	return emulation->partition != NULL && emulation->partition->remote[node];
}

/* ---- services ---- */

void
emulation_attach(struct emulation *emulation, const struct run_service *service, void *state)
{
	assert(emulation->services.count < RUN_SERVICES);
	emulation->services.rows[emulation->services.count].of = service;
	emulation->services.rows[emulation->services.count++].state = state;
}

void *
emulation_service(const struct emulation *emulation, const struct run_service *service)
{
	for (uint32_t i = 0; i < emulation->services.count; i++)
		if (emulation->services.rows[i].of == service)
			return emulation->services.rows[i].state;
	return NULL;
}

void
emulation_stream_head(const struct emulation *emulation, struct exporter *exporter)
{
	for (uint32_t i = 0; i < emulation->services.count; i++)
		if (emulation->services.rows[i].of->stream_head != NULL)
			emulation->services.rows[i].of->stream_head(emulation->services.rows[i].state, exporter);
}

void
emulation_report(const struct emulation *emulation, json_t *root)
{
	for (uint32_t i = 0; i < emulation->services.count; i++)
		if (emulation->services.rows[i].of->report != NULL)
			emulation->services.rows[i].of->report(emulation->services.rows[i].state, root);
}

static int
create_services(struct emulation *emulation, const struct emulation_options *options, struct err *err)
{
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && options->services != NULL && options->services[i] != NULL; i++) {
		const struct run_service *service = options->services[i];
		void *state = NULL;

		ret = service->create(emulation, options, &state, err);
		if (state != NULL)
			emulation_attach(emulation, service, state);
	}
	return ret;
}

/* ---- hooks of the fabric between its windows ---- */

static bool
hook_interrupted(void *ctx)
{
	(void)ctx;
	return interrupt_asked();
}

void
emulation_settle(const struct emulation *emulation)
{
	for (uint32_t i = 0; i < emulation->drivers.count; i++)
		if (emulation->drivers.rows[i].ops->settle != NULL)
			emulation->drivers.rows[i].ops->settle(emulation->drivers.rows[i].ctx);
}

void
emulation_answer(const struct emulation *emulation, uint64_t now_ps)
{
	for (uint32_t i = 0; i < emulation->services.count; i++)
		if (emulation->services.rows[i].of->answer != NULL)
			emulation->services.rows[i].of->answer(emulation->services.rows[i].state, now_ps);
}

static uint64_t
hook_pace(void *ctx, uint64_t earliest_ps, uint64_t start_ps)
{
	struct emulation *emulation = ctx;

	emulation_settle(emulation);
	emulation_answer(emulation, earliest_ps); /* here, too: of a fabric that is behind no window waits */
	return pacer_wait(&emulation->pacer, earliest_ps, start_ps);
}

static uint64_t
hook_next_change(void *ctx, uint64_t now_ps)
{
	const struct emulation *emulation = ctx;
	uint64_t next_ps = TIME_NEVER;

	for (uint32_t i = 0; i < emulation->services.count; i++)
		if (emulation->services.rows[i].of->next_ps != NULL)
			next_ps =
				min_u64(next_ps,
					emulation->services.rows[i].of->next_ps(emulation->services.rows[i].state, now_ps));
	return next_ps;
}

static void
hook_change(void *ctx, uint64_t now_ps)
{
	struct emulation *emulation = ctx;

	for (uint32_t i = 0; i < emulation->services.count; i++)
		if (emulation->services.rows[i].of->change != NULL)
			emulation->services.rows[i].of->change(emulation->services.rows[i].state, now_ps);
}

static bool
services_busy(const struct emulation *emulation)
{
	for (uint32_t i = 0; i < emulation->services.count; i++)
		if (emulation->services.rows[i].of->busy != NULL &&
		    emulation->services.rows[i].of->busy(emulation->services.rows[i].state))
			return true;
	return false;
}

bool
emulation_ready(const struct emulation *emulation)
{
	for (uint32_t i = 0; i < emulation->drivers.count; i++) {
		const struct host_driver *driver = &emulation->drivers.rows[i];

		if (driver->ops->ready != NULL && !driver->ops->ready(driver->ctx))
			return false;
	}
	return true;
}

/* Whether the program of a host keeps the run going: a rank has steps to do, or a background flow is not done. */
static bool
host_works(const struct emulation *emulation, uint32_t node)
{
	const struct host_driver *driver = emulation->driver_of[node];

	return emulation->collected_ps < emulation->scenario->limits.hold_ps || services_busy(emulation) ||
	       driver->ops->working(driver->ctx, node);
}

/*
 * Bytes in flight should move. Where there are none, something waits for a time: that of a collective, an iteration,
 * a delayed step, a flow or the end of a hold, and everything that depends on it waits for that time too. Where
 * nothing waits for a time, the run has stalled.
 */
static bool
hook_due(void *ctx, uint64_t now_ps)
{
	const struct emulation *emulation = ctx;
	bool timed = services_busy(emulation) || now_ps < emulation->scenario->limits.hold_ps;

	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		const struct host_driver *driver = emulation->driver_of[i];
		uint64_t next_ps;

		if (driver == NULL)
			continue;
		if (driver->ops->sending(driver->ctx, i, &next_ps))
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

static void
watch_failure(struct emulation *emulation, const struct host_driver *driver)
{
	uint32_t id;
	bool lost;
	const char *why = driver->ops->failure != NULL ? driver->ops->failure(driver->ctx, &id, &lost) : NULL;

	if (why == NULL)
		return;
	emulation->hosts[id]->status = lost ? NODE_LOST : NODE_QP_ERROR;
	snprintf(emulation->hosts[id]->error, sizeof(emulation->hosts[id]->error), "%s", why);
}

void
emulation_watch_hosts(struct emulation *emulation)
{
	const struct host_driver *others = emulation->partition != NULL ? &emulation->partition->hosts : NULL;
	bool preparing = emulation->phase == EMULATION_PREPARE, unready = preparing && !emulation_ready(emulation);

	if (preparing && others != NULL)
		unready |= !others->ops->ready(others->ctx);
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		struct node *host = emulation->hosts[i];

		if (host != NULL)
			host->ops->expect_work(host, preparing ? unready : host_works(emulation, i));
	}
	for (uint32_t i = 0; i < emulation->drivers.count; i++)
		watch_failure(emulation, &emulation->drivers.rows[i]);
}

void
emulation_take_reports(struct emulation *emulation)
{
	for (uint32_t i = 0; emulation->phase == EMULATION_RUN && i < emulation->scenario->topo->nnodes; i++) {
		const struct host_driver *driver = emulation->driver_of[i];

		if (driver != NULL && driver->ops->records != NULL)
			driver->ops->records(driver->ctx, i, emulation->records[i], emulation->collected_ps);
	}
}

/* struct pacer.pending. @param ctx  the emulation */
static bool
is_pending(void *ctx)
{
	const struct emulation *emulation = ctx;
	bool any = false;

	emulation_answer(emulation, emulation->fabric->window.end_ps);
	for (uint32_t i = 0; i < emulation->drivers.count; i++) {
		const struct host_driver *driver = &emulation->drivers.rows[i];

		any |= driver->ops->pending != NULL && driver->ops->pending(driver->ctx);
	}
	return any;
}

static void
hook_collect(void *ctx, uint64_t now_ps)
{
	struct emulation *emulation = ctx;
	uint64_t complete_ps = now_ps; /* nothing that happened before will be reported any more */

	for (uint32_t i = 0; i < emulation->drivers.count; i++)
		if (emulation->drivers.rows[i].ops->service != NULL)
			emulation->drivers.rows[i].ops->service(emulation->drivers.rows[i].ctx);
	emulation_answer(emulation, now_ps);
	emulation_take_reports(emulation);
	for (uint32_t i = 0; i < emulation->services.count; i++)
		if (emulation->services.rows[i].of->collect != NULL)
			emulation->services.rows[i].of->collect(emulation->services.rows[i].state, now_ps);
	emulation->collected_ps = now_ps;
	emulation_watch_hosts(emulation);
	if (emulation->partition != NULL)
		complete_ps = emulation->partition->ops->collect(emulation->partition->ctx, now_ps);
	if (emulation->exporter == NULL) {
		for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++)
			emulation->records[i]->used_bytes = 0;
		return;
	}
	exporter_collect(emulation->exporter, emulation->records, emulation->scenario->topo->nnodes);
	exporter_advance(emulation->exporter, complete_ps);
}

static uint64_t
part_pace(void *ctx, uint64_t earliest_ps, uint64_t start_ps)
{
	const struct partition *partition = ((const struct emulation *)ctx)->partition;

	emulation_settle(ctx);
	return partition->ops->pace(partition->ctx, earliest_ps, start_ps);
}

static void
part_leaving(void *ctx, const struct window *window)
{
	const struct partition *partition = ((const struct emulation *)ctx)->partition;

	partition->ops->leaving(partition->ctx, window);
}

static void
part_entering(void *ctx, const struct window *window)
{
	const struct partition *partition = ((const struct emulation *)ctx)->partition;

	partition->ops->entering(partition->ctx, window);
}

static uint64_t
part_horizon(void *ctx)
{
	const struct partition *partition = ((const struct emulation *)ctx)->partition;

	return partition->ops->horizon_ps(partition->ctx);
}

static uint64_t
part_agree(void *ctx, const struct window *window, uint64_t next_ps)
{
	const struct partition *partition = ((const struct emulation *)ctx)->partition;

	return partition->ops->agree(partition->ctx, window, next_ps);
}

static uint8_t
part_pausing(void *ctx, uint32_t port)
{
	const struct partition *partition = ((const struct emulation *)ctx)->partition;

	return partition->ops->pausing(partition->ctx, port);
}

static bool
part_interrupted(void *ctx)
{
	const struct partition *partition = ((const struct emulation *)ctx)->partition;

	return partition->ops->interrupted(partition->ctx);
}

static bool
part_over(void *ctx, enum rec_end_reason *reason, uint32_t *node)
{
	const struct partition *partition = ((const struct emulation *)ctx)->partition;

	return partition->ops->over(partition->ctx, reason, node);
}

static void
partition_hooks(struct emulation *emulation, struct fabric_hooks *hooks)
{
	if (emulation->partition == NULL)
		return;
	hooks->leaving = part_leaving;
	hooks->entering = part_entering;
	hooks->over = part_over;
	hooks->interrupted = part_interrupted;
	if (emulation->scenario->timing.clock == CLOCK_REAL)
		hooks->pace = part_pace;
	if (emulation->partition->windows) {
		hooks->agree = part_agree;
		hooks->pausing = part_pausing;
		hooks->lived_ps = NULL; /* of this machine: all have to judge a silence at the same window */
	} else {
		hooks->horizon_ps = part_horizon;
	}
}

static struct fabric_hooks
fabric_hooks_of(struct emulation *emulation)
{
	bool preparing = emulation->phase == EMULATION_PREPARE, real = emulation->scenario->timing.clock == CLOCK_REAL;

	struct fabric_hooks hooks = {
		.ctx = emulation,
		.pace = real ? hook_pace : NULL,
		.lived_ps = real ? hook_lived : NULL,
		.due = preparing ? NULL : hook_due,
		.next_change_ps = preparing ? NULL : hook_next_change,
		.change = preparing ? NULL : hook_change,
		.collect = hook_collect,
		.interrupted = hook_interrupted,
	};

	partition_hooks(emulation, &hooks);
	return hooks;
}

/* ---- nodes and fabric ---- */

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
		.seed = scenario_chance_seed(sc),
		.min_frame_bytes = sc->min_frame_bytes,
		.pause_bytes = PAUSE_WIRE_BYTES,
		.lcores = lcores,
		.inband = sc->roce.cc.rates != NULL,
		.remote = emulation->partition != NULL ? emulation->partition->remote : NULL,
	};

	for (uint32_t i = 0; i < emulation->drivers.count; i++) {
		const struct host_driver *driver = &emulation->drivers.rows[i];
		int ret = driver->ops->fabric_begin(driver->ctx, emulation, &config.bodies, err);

		if (ret < 0)
			return ret;
		emulation->drivers.begun++;
	}
	if (emulation->partition != NULL && config.bodies == NULL)
		config.bodies = emulation->partition->ops->bodies(emulation->partition->ctx);
	emulation->fabric = fabric_create(&config, err);
	if (emulation->fabric == NULL)
		return -errno;
	emulation->fabric->hooks = fabric_hooks_of(emulation);
	return 0;
}

/* Of all switches, and the same state of NICs. @return 0, or -EINVAL with err set */
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
		.setup = &sc->switches,
		.balance = sc->balance,
		.telemetry = {
			.epoch_ps = sc->telemetry.epoch_ps,
			.kept = sc->epochs_kept,
			.exact = sc->telemetry.contention == CONTENTION_EXACT,
			.late_looks = sc->telemetry.late_looks,
			.every_epoch = policy->every_epoch,
			.retain_ps = sc->detection.retain_ps,
			.quiet_depth = policy->every_epoch ? 0 : (uint32_t)sc->telemetry.quiet_depth,
			.strict = sc->strict,
		},
		.seed = scenario_chance_seed(sc),
		.hash_seed = sc->routing.seed,
		.window_ps = emulation->fabric->window_ps,
		.pipeline_ps = sc->timing.pipeline_ps,
		.extra_delay_ps = faults_extra_delay_ps(&sc->faults),
		.mtu_bytes = sc->largest_frame_bytes,
		.min_frame_bytes = sc->min_frame_bytes,
		.pause_bytes = PAUSE_WIRE_BYTES,
		.inband = sc->roce.cc.rates,
		.trace_gap_ps = scenario_trace_gap_ps(sc),
		.cnp_classes = sc->roce.cc.cnp_prio != 0 ? (uint8_t)(1u << sc->roce.cc.cnp_prio) : 0,
		.telemetry_off = emulation->phase == EMULATION_PREPARE || !sc->telemetry.enabled,
	};
	return switch_lossless_classes(&sc->switches.all.pfc, &emulation->switch_config.telemetry.lossless, err);
}

static int
make_host(struct emulation *emulation, uint32_t id, struct err *err)
{
	const struct scenario *sc = emulation->scenario;
	const struct host_driver *driver = partition_is_remote(emulation, id)
						   ? &emulation->partition->hosts
						   : &emulation->drivers.rows[sc->hosts[id] != NULL];

	emulation->driver_of[id] = driver;
	emulation->hosts[id] = driver->ops->node_create(driver->ctx, id, err);
	if (emulation->hosts[id] == NULL)
		return -errno;
	fabric_attach(emulation->fabric, emulation->hosts[id]);
	emulation->engines[id] = driver->ops->program_create(driver->ctx, id, err);
	return emulation->engines[id] != NULL ? 0 : -errno;
}

/* A switch of another partition is made, so that all partitions refuse the same settings, and makes room for the next. */
static int
make_switch(struct emulation *emulation, uint32_t id, struct err *err)
{
	struct sw *sw = switch_create(&emulation->switch_config, id, err);
	struct node *node;

	if (sw == NULL)
		return -errno;
	node = &sw->node;
	emulation->largest_buffer_bytes = max_u64(emulation->largest_buffer_bytes, sw->account.buffer_bytes);
	if (partition_is_remote(emulation, id)) {
		node_destroy(node);
		node = remote_node_create(emulation->scenario->topo, &emulation->scenario->plan->flows, id);
	} else {
		emulation->switches[id] = sw;
	}
	if (node == NULL)
		return err_set(err, -ENOMEM, "out of memory for switch %s", emulation->scenario->topo->nodes[id].name);
	fabric_attach(emulation->fabric, node);
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
	if (options->kernel_host == NULL)
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
	emulation->records = calloc(nnodes, sizeof(*emulation->records));
	if (emulation->switches == NULL || emulation->hosts == NULL || emulation->driver_of == NULL ||
	    emulation->engines == NULL || emulation->records == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u nodes", nnodes);
	return 0;
}

/* @return 0 or negative errno with err set: emulation_destroy() cleans up */
static int
build(struct emulation *emulation, const struct emulation_options *options, struct err *err)
{
	int ret = check_options(emulation->scenario, options, err);

	emulation->drivers.rows[emulation->drivers.count++] = (struct host_driver){ &embedded_hosts, emulation };
	if (options->kernel_host != NULL)
		emulation->drivers.rows[emulation->drivers.count++] = *options->kernel_host;
	if (ret == 0)
		ret = allocate(emulation, err);
	if (ret == 0 && emulation->partition != NULL)
		emulation->partition->ops->join(emulation->partition->ctx, emulation);
	if (ret == 0)
		ret = make_fabric(emulation, options->lcores, err);
	if (ret < 0)
		return ret;
	ret = configure_switches(emulation, err);
	if (ret == 0)
		ret = create_services(emulation, options, err);
	/* Services sum up what all ranks send. */
	if (ret == 0 && emulation->phase == EMULATION_RUN && emulation->partition != NULL)
		plan_keep_share(emulation->scenario->plan, emulation->partition->remote, emulation->partition->whole);
	if (ret == 0)
		ret = make_nodes(emulation, err);
	return ret == 0 ? fabric_partition(emulation->fabric, err) : ret;
}

struct emulation *
emulation_create(struct scenario *scenario, const struct emulation_options *options, struct err *err)
{
	struct emulation *emulation = calloc(1, sizeof(*emulation));
	int ret = -ENOMEM;

	if (emulation != NULL) {
		emulation->scenario = scenario;
		emulation->sertables.quantum_ps = scenario->timing.quantum_ps;
		emulation->phase = options->phase;
		emulation->lcores = options->lcores;
		emulation->partition = options->partition;
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
	for (uint32_t i = emulation->services.count; i-- > 0;)
		if (emulation->services.rows[i].of->destroy != NULL)
			emulation->services.rows[i].of->destroy(emulation->services.rows[i].state);
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		if (emulation->engines != NULL)
			step_engine_destroy(emulation->engines[i]);
		if (emulation->fabric != NULL)
			node_destroy(emulation->fabric->nodes[i]);
	}
	fabric_destroy(emulation->fabric);
	for (uint32_t i = 0; i < emulation->drivers.begun; i++)
		emulation->drivers.rows[i].ops->fabric_end(emulation->drivers.rows[i].ctx);
	free(emulation->switches);
	free(emulation->hosts);
	free(emulation->driver_of);
	free(emulation->engines);
	free(emulation->records);
	sertables_fini(&emulation->sertables);
	free(emulation);
}

/* ---- a run ---- */

void
emulation_begin(struct emulation *emulation, struct exporter *exporter, uint64_t zero_ns)
{
	emulation->exporter = exporter;
	pacer_init(&emulation->pacer, zero_ns, emulation->fabric->window_ps, emulation->scenario->timing.idle == IDLE_BUSY);
	for (uint32_t i = 0; i < emulation->drivers.count; i++)
		if (emulation->drivers.rows[i].ops->pending != NULL)
			emulation->pacer.pending = is_pending;
	for (uint32_t i = 0; i < emulation->services.count; i++)
		if (emulation->services.rows[i].of->answer != NULL)
			emulation->pacer.pending = is_pending;
	if (emulation->scenario->timing.clock == CLOCK_REAL && emulation->scenario->timing.idle == IDLE_BUSY)
		emulation->fabric->barrier.spins = UINT32_MAX;
	emulation->pacer.ctx = emulation;
	for (uint32_t i = 0; emulation->phase == EMULATION_RUN && i < emulation->scenario->topo->nnodes; i++) {
		const struct host_driver *driver = emulation->driver_of[i];

		if (driver != NULL && driver->ops->start != NULL)
			driver->ops->start(driver->ctx, i);
	}
	emulation_watch_hosts(emulation);
	emulation->result.wall_ns = clock_now_ns();
	emulation->result.cpu_ns = clock_cpu_ns();
}

uint64_t
emulation_clock_error_ns(const struct emulation *emulation)
{
	uint64_t worst_ns = 0;

	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		const struct host_driver *driver = emulation->driver_of[i];

		if (driver != NULL && driver->ops->clock_error_ns != NULL)
			worst_ns = max_u64(worst_ns, driver->ops->clock_error_ns(driver->ctx));
	}
	return worst_ns;
}

static uint64_t
clock_error_ps(const struct emulation *emulation)
{
	uint64_t worst_ns = emulation_clock_error_ns(emulation);

	if (emulation->partition != NULL)
		worst_ns = max_u64(worst_ns, emulation->partition->ops->clock_error_ns(emulation->partition->ctx));
	return worst_ns * PS_PER_NS;
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
		.clock_error_ps = clock_error_ps(emulation),
	};

	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		const struct node *node = fabric->nodes[i];

		end.polling_packets += node->count.control[PKT_POLL].packets;
		end.polling_bytes += node->count.control[PKT_POLL].bytes;
		end.notification_packets += node->count.control[PKT_NOTIFY].packets;
		end.notification_bytes += node->count.control[PKT_NOTIFY].bytes;
		end.detections += node->count.detections;
		end.collected_reports += node->count.reports.unkept_reports;
		end.collected_bytes += node->count.reports.unkept_bytes;
		if (node->status != NODE_RUNNING && node->status != NODE_PASSIVE)
			emulation->result.error_text = node->error;
	}
	if (emulation->partition != NULL && emulation->partition->ops->why(emulation->partition->ctx) != NULL)
		emulation->result.error_text = emulation->partition->ops->why(emulation->partition->ctx);
	exporter_collect(emulation->exporter, emulation->records, emulation->scenario->topo->nnodes);
	exporter_finish(emulation->exporter, &end);
	exporter_stats(emulation->exporter, &emulation->result.export);
	emulation->result.end = end;
}

void
emulation_end(struct emulation *emulation)
{
	emulation->result.wall_ns = clock_now_ns() - emulation->result.wall_ns;
	emulation->result.cpu_ns = clock_cpu_ns() - emulation->result.cpu_ns;
	emulation_take_reports(emulation); /* the last ones arrived after the last window */
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		const struct host_driver *driver = emulation->driver_of[i];

		if (driver != NULL && driver->ops->close != NULL)
			driver->ops->close(driver->ctx, i, emulation->fabric->window.end_ps);
	}
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		struct node *node = emulation->fabric->nodes[i];

		if (node->ops->last_reports != NULL)
			node->ops->last_reports(node, emulation->fabric->window.end_ps);
	}
	for (uint32_t i = 0; i < emulation->services.count; i++)
		if (emulation->services.rows[i].of->finish != NULL)
			emulation->services.rows[i].of->finish(emulation->services.rows[i].state,
							       emulation->fabric->window.end_ps);
	if (emulation->partition != NULL)
		emulation->partition->ops->finish(emulation->partition->ctx);
	finish_stream(emulation);
}

uint64_t
emulation_dropped(const struct emulation *emulation, uint32_t node, uint16_t port, enum rec_drop reason)
{
	const struct node *of = emulation->fabric->nodes[node];

	return of->ops->dropped(of, port, reason);
}

bool
emulation_marked(const struct emulation *emulation)
{
	const struct topo *topo = emulation->scenario->topo;
	uint64_t packets = 0;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		for (uint16_t p = 0; emulation->switches[i] != NULL && p < topo->nodes[i].nports; p++)
			for (uint32_t c = 0; c < SWITCH_CLASSES; c++)
				packets += emulation->switches[i]->ports[p].counts.marked[c].packets;
	return packets != 0;
}

const struct port_truth *
emulation_truth_of(const struct emulation *emulation, uint32_t node, uint16_t port)
{
	const struct node *of = emulation->fabric->nodes[node];

	return of->ops->truth != NULL ? of->ops->truth(of, port) : NULL;
}
