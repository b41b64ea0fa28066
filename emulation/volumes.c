/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/volumes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/record.h"
#include "emulation/emulation.h"
#include "emulation/volumes_file.h"

/* Bytes of a message on the wire, as a sending NIC makes its packets: RETH in the first, an immediate in the last. */
static uint64_t
message_bytes(const struct roce_params *roce, uint64_t bytes)
{
	uint64_t packets = (bytes + roce->mtu_bytes - 1) / roce->mtu_bytes;
	uint32_t last = (uint32_t)(bytes - (packets - 1) * roce->mtu_bytes);

	if (packets == 1)
		return roce_data_bytes(roce, last, true, true);
	return roce_data_bytes(roce, roce->mtu_bytes, true, false) +
	       (packets - 2) * roce_data_bytes(roce, roce->mtu_bytes, false, false) +
	       roce_data_bytes(roce, last, false, true);
}

static void
add_collective(const struct scenario *sc, const struct plan_collective *c, uint64_t *bytes)
{
	for (uint32_t r = 0; r < c->schedule->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(c->schedule, r); step++) {
			uint32_t flow = c->steps[plan_at(c, r, step)].flow;

			if (flow != PLAN_NONE && sc->plan->of[flow].measured)
				bytes[flow] += message_bytes(&sc->roce, plan_step_bytes(c, r, step));
		}
}

/* @return [flows.count + 1] bytes that measured collectives send by each flow in one iteration; NULL: no memory */
static uint64_t *
sum_flows(const struct scenario *sc)
{
	const struct plan *plan = sc->plan;
	uint64_t *bytes = calloc(plan->flows.count + 1u, sizeof(*bytes));

	for (uint32_t i = 0; bytes != NULL && i < plan->ncollectives; i++)
		if (plan->collectives[i].enabled)
			add_collective(sc, &plan->collectives[i], bytes);
	return bytes;
}

/* The demand that an operator declares. */
static int
declare(struct volumes_owned *volumes, const struct scenario *sc)
{
	const struct plan *plan = sc->plan;
	uint64_t *bytes = sum_flows(sc);

	volumes->demand = calloc(plan->flows.count + 1u, sizeof(*volumes->demand));
	if (bytes == NULL || volumes->demand == NULL) {
		free(bytes);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < plan->flows.count; i++) {
		const struct flow *flow = &plan->flows.flows[i];

		if (bytes[i] != 0)
			volumes->demand[volumes->setup.ndemand++] = (struct volumes_demand){
				.src_port = sc->topo->nodes[flow->src_node].first_port + flow->src_nic,
				.dst_port = sc->topo->nodes[flow->dst_node].first_port + flow->dst_nic,
				.bytes = bytes[i],
			};
	}
	free(bytes);
	volumes->setup.demand = volumes->demand;
	return 0;
}

/* What leaves send each other. Nothing where hosts have bonds: what they send arrives by several leaves. @return 0 or -ENOMEM */
static int
sum_demand(struct volumes_file *file, struct volumes_predicted *demand, const struct scenario *sc)
{
	uint64_t *bytes = sum_flows(sc);

	if (bytes == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < sc->plan->flows.count && sc->topo->nbonds == 0; i++) {
		const struct flow *flow = &sc->plan->flows.flows[i];
		uint32_t from = topo_port_of(sc->topo, flow->src_node, flow->src_nic)->peer;
		uint32_t to = topo_port_of(sc->topo, flow->dst_node, flow->dst_nic)->peer;

		if (bytes[i] != 0 && from != to)
			demand[file->ndemand++] =
				(struct volumes_predicted){ .port = to, .sender = from, .bytes = bytes[i] };
	}
	free(bytes);
	return 0;
}

static int
by_cell(const void *a, const void *b)
{
	const struct volumes_predicted *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return x->sender < y->sender ? -1 : x->sender > y->sender;
}

/* Several iterations of one port and sender are one, their mean. */
static void
average(struct volumes_owned *volumes)
{
	struct volumes_predicted *predicted = volumes->predicted;
	uint32_t kept = 0;

	if (volumes->setup.npredicted != 0)
		qsort(predicted, volumes->setup.npredicted, sizeof(*predicted), by_cell);
	for (uint32_t first = 0, end; first < volumes->setup.npredicted; first = end) {
		struct volumes_predicted mean = predicted[first];

		for (end = first + 1; end < volumes->setup.npredicted && by_cell(&predicted[first], &predicted[end]) == 0;
		     end++)
			mean.bytes += predicted[end].bytes;
		mean.bytes /= end - first;
		predicted[kept++] = mean;
	}
	volumes->setup.predicted = predicted;
	volumes->setup.npredicted = kept;
}

static int
read_predicted(struct volumes_owned *volumes, const struct scenario *sc, struct err *err)
{
	const struct volumes_params *params = &sc->volumes;
	struct volumes_predicted *demand = calloc(sc->plan->flows.count + 1u, sizeof(*demand));
	char *path = cfg_resolve(sc->cfg, params->file);
	struct volumes_file file = {
		.path = path, .topo = sc->topo, .tiers = &volumes->tiers, .demand = demand, .tolerance = params->tolerance
	};
	FILE *from = path != NULL ? fopen(path, "r") : NULL;
	int ret = demand != NULL && path != NULL ? sum_demand(&file, demand, sc) : -ENOMEM;

	if (ret == 0 && from == NULL)
		ret = cfg_fail(&params->where, "file", err, "%s: %s", path, strerror(errno));
	else if (ret == 0)
		ret = volumes_file_read(&file, from, &volumes->predicted, &volumes->setup.npredicted, err);
	if (from != NULL)
		fclose(from);
	if (ret == 0)
		average(volumes);
	free(demand);
	free(path);
	return ret;
}

static int
take_prediction(struct volumes_owned *volumes, const struct prediction *prediction)
{
	volumes->predicted = calloc(prediction->nrows + 1u, sizeof(*volumes->predicted));
	if (volumes->predicted == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < prediction->nrows; i++)
		volumes->predicted[volumes->setup.npredicted++] = prediction->rows[i].predicted;
	volumes->setup.predicted_of = prediction->runs * prediction->iterations;
	average(volumes);
	return 0;
}

/* What known faults leave of what goes out by a port; what routes leave out is not asked for. */
static int
note_losses(struct volumes_owned *volumes, const struct scenario *sc)
{
	volumes->kept = malloc((sc->topo->nports + 1u) * sizeof(*volumes->kept));
	if (volumes->kept == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < sc->topo->nports; i++)
		volumes->kept[i] = 1;
	for (uint32_t i = 0; i < sc->faults.count; i++) {
		const struct fault *fault = &sc->faults.faults[i];
		const struct fault_common *common = fault->params;
		char target[64];
		uint32_t port;

		if (!common->known || !common->enabled || fault->ops->rate == NULL || fault->ops->takes_cables_down)
			continue;
		fault->ops->target(fault->params, sc->topo, target);
		port = topo_find_port(sc->topo, target);
		if (port != TOPO_NONE)
			volumes->kept[port] *= 1 - fault->ops->rate(fault->params);
	}
	volumes->setup.kept = volumes->kept;
	return 0;
}

const struct volumes_owned *
volumes_of(const struct emulation *emulation)
{
	return emulation_service(emulation, &service_flowpulse);
}

/* ---- the service ---- */

/* @return 0; -ENOMEM, -EINVAL (a file that cannot be read, or has what cannot be) with err set */
static int
create(struct emulation *emulation, const struct emulation_options *options, void **state, struct err *err)
{
	const struct scenario *sc = emulation->scenario;
	struct volumes_owned *volumes;
	int ret;

	if (!sc->volumes.enabled || emulation->phase != EMULATION_RUN)
		return 0;
	volumes = *state = calloc(1, sizeof(*volumes));
	if (volumes == NULL)
		return err_set(err, -ENOMEM, "out of memory for FlowPulse's monitors");
	volumes->emulation = emulation;
	volumes->prediction = options->prediction;
	volumes->setup.params = &sc->volumes;
	volumes->setup.tiers = &volumes->tiers;
	emulation->switch_config.volumes = &volumes->setup;
	ret = tiers_init(&volumes->tiers, sc->topo);
	if (ret == 0)
		ret = note_losses(volumes, sc);
	if (ret == 0 && sc->volumes.prediction == REC_PREDICTION_ANALYTICAL)
		ret = declare(volumes, sc);
	else if (ret == 0 && prediction_is_asked(sc) && options->prediction != NULL)
		ret = take_prediction(volumes, options->prediction);
	else if (ret == 0 && sc->volumes.prediction == REC_PREDICTION_SIMULATED && !prediction_is_asked(sc))
		ret = read_predicted(volumes, sc, err);
	return ret == -ENOMEM ? err_set(err, ret, "out of memory for the monitors of %u nodes", sc->topo->nnodes) : ret;
}

static void
stream_head(const void *state, struct exporter *exporter)
{
	const struct volumes_owned *volumes = state;
	const struct scenario *scenario = volumes->emulation->scenario;
	const struct prediction *prediction = volumes->prediction;
	const struct volumes_params *params = &scenario->volumes;
	struct judge_config judge = volumes_judge_config(params, 1);
	struct rec_monitor rec = {
		.hdr.node = REC_NONE,
		.prediction = (uint32_t)params->prediction,
		.detector = (uint32_t)params->detector,
		.rate_ppb = (uint32_t)(params->false_alarms * 1e9 + 0.5),
		.threshold_ppm = judge.threshold_ppm,
		.tolerance_ppm = judge.tolerance_ppm,
		.learn = judge.predict.learn,
		.counts = params->export == VOLUMES_EXPORT_COUNTS,
		.ports_alone = judge.ports_alone,
		.runs = prediction != NULL ? prediction->runs : 0,
		.iterations = prediction != NULL ? prediction->iterations : 0,
		.virtual_ps = prediction != NULL ? prediction->virtual_ps : 0,
		.in_order = balance_reorders(&scenario->balance) && (!scenario->roce.any_order || scenario->nexternal != 0),
	};

	exporter_header(exporter, &rec, REC_MONITOR, sizeof(rec));
}

static void
finish(void *state, uint64_t end_ps)
{
	const struct emulation *emulation = ((const struct volumes_owned *)state)->emulation;

	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++)
		if (emulation->switches[i] != NULL && emulation->switches[i]->volumes != NULL &&
		    !partition_is_remote(emulation, i))
			switch_volumes_end(emulation->switches[i], end_ps);
}

static void
report(const void *state, json_t *root)
{
	const struct prediction *prediction = ((const struct volumes_owned *)state)->prediction;

	if (prediction != NULL)
		json_object_set_new(root, "prediction",
				    json_pack("{s:I, s:I, s:I, s:f}", "runs", (json_int_t)prediction->runs, "iterations",
					      (json_int_t)prediction->iterations, "virtual_ns",
					      (json_int_t)(prediction->virtual_ps / 1000), "wall_s",
					      (double)prediction->wall_ns / 1e9));
}

static void
destroy(void *state)
{
	struct volumes_owned *volumes = state;

	tiers_fini(&volumes->tiers);
	free(volumes->demand);
	free(volumes->predicted);
	free(volumes->kept);
	free(volumes);
}

const struct run_service service_flowpulse = {
	.name = "flowpulse",
	.create = create,
	.stream_head = stream_head,
	.finish = finish,
	.report = report,
	.destroy = destroy,
};
