/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/volumes.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/hash.h"
#include "common/input_file.h"
#include "common/minmax.h"
#include "common/run_files.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "dpswitch/pipeline/switch.h"
#include "dpswitch/pipeline/switch_cfg.h"
#include "emulation/emulation.h"
#include "workload/plan.h"

/* ---- a prediction from a file ---- */

struct volumes_file {
	const char *path; /* for errors */
	const struct topo *topo;
	const struct tiers *tiers;
	/*
	 * [ndemand] the data of the scenario's measured collectives in an iteration: port is the receiving leaf (a
	 * node) here.
	 */
	const struct volumes_predicted *demand;
	uint32_t ndemand;
	double tolerance; /* share by which a sender's volume may differ from the demand */
};

#define REMEDY                                                                                                             \
	"give the " RUN_VOLUMES " of a run of this scenario with flowpulse.export = \"counts\", or its " RUN_PREDICTION
#define MAX_ROUND UINT32_MAX
#define MAX_BYTES (UINT64_C(1) << 52)
#define PACKET_BYTES 64.0 /* a mean of whole bytes may be off by less */

/* Where each row of the file is, and of which iteration or run. */
struct place {
	uint64_t round;
	uint32_t line;
};

struct reading {
	const struct volumes_file *file;
	struct volumes_predicted *predicted; /* [count] */
	struct place *places;                /* [count] */
	uint32_t count, cap;
	uint32_t lines;
};

static int
add_row(struct reading *r)
{
	uint32_t cap = r->cap == 0 ? 64 : 2 * r->cap;
	void *predicted, *places;

	if (r->count < r->cap)
		return 0;
	predicted = realloc(r->predicted, cap * sizeof(*r->predicted));
	if (predicted == NULL)
		return -ENOMEM;
	r->predicted = predicted;
	places = realloc(r->places, cap * sizeof(*r->places));
	if (places == NULL)
		return -ENOMEM;
	r->places = places;
	r->cap = cap;
	return 0;
}

static int
read_header(const struct volumes_file *file, const char *text, struct err *err)
{
	if (strcmp(text, "port,sender,iteration,predicted,seen\n") == 0 ||
	    strcmp(text, "port,sender,run,predicted,seen\n") == 0)
		return 0;
	return err_set(err, -EINVAL,
		       "%s:1: no prediction: the first line of one is \"port,sender,iteration,predicted,seen\"; " REMEDY,
		       file->path);
}

/* @return 0, or -EINVAL with err set */
static int
read_row(struct reading *r, char *text, struct err *err)
{
	const struct volumes_file *file = r->file;
	const struct topo *topo = file->topo;
	struct volumes_predicted *predicted = &r->predicted[r->count];
	struct place *place = &r->places[r->count];
	char *rest, *port = strtok_r(text, ",\n", &rest), *sender = strtok_r(NULL, ",\n", &rest);
	const char *round = strtok_r(NULL, ",\n", &rest), *predicted_text = strtok_r(NULL, ",\n", &rest);
	const char *seen = strtok_r(NULL, ",\n", &rest);

	if (seen == NULL || strtok_r(NULL, ",\n", &rest) != NULL)
		return err_set(err, -EINVAL, "%s:%u: a row is \"port,sender,iteration,predicted,seen\", as in a run's %s",
			       file->path, r->lines, RUN_VOLUMES);
	predicted->port = topo_find_port(topo, port);
	predicted->sender = topo_find(topo, sender);
	if (predicted->port == TOPO_NONE || topo->nodes[topo->ports[predicted->port].node].kind != TOPO_SWITCH ||
	    !tiers_is_uplink(file->tiers, &topo->ports[predicted->port]))
		return err_set(err, -EINVAL, "%s:%u: %s is no port of a switch of this topology to the tier above; " REMEDY,
			       file->path, r->lines, port);
	if (predicted->sender == TOPO_NONE || topo->nodes[predicted->sender].kind != TOPO_SWITCH)
		return err_set(err, -EINVAL, "%s:%u: %s is no switch of this topology; " REMEDY, file->path, r->lines,
			       sender);
	if (!number_parse(predicted_text, 0, MAX_BYTES, &predicted->bytes) ||
	    !number_parse(seen, 0, MAX_BYTES, &predicted->bytes))
		return err_set(err, -EINVAL, "%s:%u: \"%s,%s\" are no counts of bytes", file->path, r->lines,
			       predicted_text, seen);
	if (!number_parse(round, 0, MAX_ROUND, &place->round))
		return err_set(err, -EINVAL, "%s:%u: %s is no number of an iteration or run", file->path, r->lines, round);
	place->line = r->lines;
	r->count++;
	return 0;
}

static int
read_rows(struct reading *r, FILE *from, struct err *err)
{
	const char *path = r->file->path;
	char *text = NULL;
	size_t room = 0;
	ssize_t length;
	int ret = 0;

	while (ret == 0 && (length = getline(&text, &room, from)) >= 0) {
		r->lines++;
		if (text[length - 1] != '\n')
			ret = err_set(err, -EINVAL, "%s:%u: the line has no end: the file was cut; " REMEDY, path,
				      r->lines);
		else if (r->lines == 1)
			ret = read_header(r->file, text, err);
		else
			ret = add_row(r) == 0 ? read_row(r, text, err) : -ENOMEM;
	}
	free(text);
	if (ret == 0 && ferror(from))
		ret = err_set(err, -EINVAL, "%s:%u: cannot be read on", path, r->lines + 1);
	if (ret == 0 && r->count == 0)
		ret = err_set(err, -EINVAL, "%s:%u: no row: nothing is predicted; " REMEDY, path,
			      r->lines + (r->lines == 0));
	return ret;
}

/* ---- is it whole, and of this scenario? ---- */

static int
by_round(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;

	if (a->round != b->round)
		return a->round < b->round ? -1 : 1;
	return ORDER(a->line, b->line);
}

/* Does every iteration have the same number of rows? @return 0, -EINVAL with err set, -ENOMEM */
static int
check_rounds(const struct reading *r, uint32_t *rounds, struct err *err)
{
	struct place *places = malloc(r->count * sizeof(*places));
	uint32_t most = 0;
	int ret = 0;

	if (places == NULL)
		return -ENOMEM;
	memcpy(places, r->places, r->count * sizeof(*places));
	qsort(places, r->count, sizeof(*places), by_round);
	*rounds = 0;
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t first = 0, end; first < r->count && ret == 0; first = end) {
			for (end = first; end < r->count && places[end].round == places[first].round; end++)
				;
			*rounds += pass;
			most = end - first > most ? end - first : most;
			if (pass == 1 && end - first < most)
				ret = err_set(err, -EINVAL,
					      "%s:%u: the last of %u rows of iteration %" PRIu64
					      ", where another has %u: the "
					      "file was cut, or not all was exported; " REMEDY,
					      r->file->path, places[end - 1].line, end - first, places[first].round, most);
		}
	free(places);
	return ret;
}

/* @return bytes that a leaf received of another, of all rows @param line  set to that of the last, or of the file */
static uint64_t
sum_seen(const struct reading *r, uint32_t leaf, uint32_t sender, uint32_t *line)
{
	uint64_t bytes = 0;

	*line = r->lines;
	for (uint32_t i = 0; i < r->count; i++) {
		const struct volumes_predicted *predicted = &r->predicted[i];

		if (r->file->topo->ports[predicted->port].node != leaf || predicted->sender != sender)
			continue;
		bytes += predicted->bytes;
		*line = r->places[i].line;
	}
	return bytes;
}

/*
 * Does each leaf receive the demand of the scenario's measured collectives from each other? @return 0, or -EINVAL
 * with err set
 */
static int
check_demand(const struct reading *r, uint32_t rounds, struct err *err)
{
	const struct volumes_file *file = r->file;

	for (uint32_t i = 0; i < file->ndemand; i++) {
		const struct volumes_predicted *of = &file->demand[i];
		double demand = 0, seen;
		uint32_t line;

		for (uint32_t k = 0; k < file->ndemand; k++)
			if (file->demand[k].port == of->port && file->demand[k].sender == of->sender)
				demand += (double)file->demand[k].bytes;
		seen = (double)sum_seen(r, of->port, of->sender, &line) / rounds;
		if (fabs(seen - demand) > file->tolerance * demand + PACKET_BYTES)
			return err_set(
				err, -EINVAL,
				"%s:%u: %s receives %.0f B of %s in an iteration here, and %.0f B by this scenario's "
				"measured collectives (flowpulse.tolerance is %g): of another scenario; " REMEDY,
				file->path, line, file->topo->nodes[of->port].name, seen,
				file->topo->nodes[of->sender].name, demand, file->tolerance);
	}
	return 0;
}

/*
 * @param from  at its start
 * @param told  set to an array to be freed, also on errors; a row of the file each  @param count  of it
 * @return 0; -EINVAL with err (file, line, value, remedy); -ENOMEM
 */
static int
volumes_file_read(const struct volumes_file *file, FILE *from, struct volumes_predicted **predicted, uint32_t *count,
		  struct err *err)
{
	struct reading r = { .file = file };
	uint32_t rounds = 0;
	int ret = read_rows(&r, from, err);

	if (ret == 0)
		ret = check_rounds(&r, &rounds, err);
	if (ret == 0)
		ret = check_demand(&r, rounds, err);
	free(r.places);
	*predicted = r.predicted;
	*count = r.count;
	return ret;
}

/* ---- an operator's input to the monitors ---- */

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
			uint32_t flow = plan_step_at(c, r, step)->flow;

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

/*
 * The data that leaves send each other. None where hosts have bonds: it arrives by several leaves. @return 0 or
 * -ENOMEM
 */
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
	return ORDER(x->sender, y->sender);
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
	struct err why = { 0 };
	FILE *from = path != NULL ? input_fopen(path, &why) : NULL;
	int ret = demand != NULL && path != NULL ? sum_demand(&file, demand, sc) : -ENOMEM;

	if (ret == 0 && from == NULL)
		ret = cfg_fail(&params->where, "file", err, "%s", why.text);
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

/* The share of a port's egress that known faults leave; the effect of routes is not included. */
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

/* @return 0; -ENOMEM, -EINVAL (a file that cannot be read, or has impossible values) with err set */
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

bool
prediction_is_asked(const struct scenario *sc)
{
	const struct volumes_params *params = &sc->volumes;

	return params->enabled && params->prediction == REC_PREDICTION_SIMULATED && params->file == NULL;
}

/* The seed of a run: another one than the scenario's, and than those of the others. */
static int64_t
seed_of(const struct scenario *sc, uint32_t run)
{
	return (int64_t)(digest_u64(digest_u64(DIGEST_INIT, (uint64_t)sc->root.seed), run) >> 1);
}

static int
add_predicted(struct prediction *prediction, const struct prediction_row *row)
{
	if (prediction->nrows == prediction->cap) {
		uint32_t cap = prediction->cap == 0 ? 256 : 2 * prediction->cap;
		struct prediction_row *rows = realloc(prediction->rows, cap * sizeof(*rows));

		if (rows == NULL)
			return -ENOMEM;
		prediction->rows = rows;
		prediction->cap = cap;
	}
	prediction->rows[prediction->nrows++] = *row;
	return 0;
}

/* The volumes that a switch learned in a run, where it never had enough of them. */
static int
take(struct prediction *prediction, const struct sw *sw, uint32_t run)
{
	const struct judge *judge = &sw->volumes->judge;
	const struct volumes *v = &judge->volumes;
	uint32_t learned = judge->predict.learned;
	int ret = 0;

	prediction->iterations = learned > prediction->iterations ? learned : prediction->iterations;
	for (uint16_t port = 0; learned != 0 && port < v->config.ports; port++) {
		for (uint16_t s = 0; ret == 0 && s < v->nsenders; s++) {
			struct prediction_row row = {
				.run = run,
				.predicted = { .port = sw->config->topo->nodes[sw->node.id].first_port +
						       sw->volumes->port_of[port],
					       .sender = v->keys[s],
					       .bytes = judge->predict.sum[volumes_cell(v, port, s)] / learned },
			};

			if (row.predicted.bytes != 0)
				ret = add_predicted(prediction, &row);
		}
	}
	return ret;
}

/* @param emulation  not begun yet. @return 0; -EINTR, -ENOMEM with err set */
static int
simulate(struct prediction *prediction, struct emulation *emulation, uint32_t run, struct err *err)
{
	struct exporter *exporter = exporter_create(&emulation->scenario->exporter, NULL, 0, err);
	int ret = 0;

	if (exporter == NULL)
		return -errno;
	emulation_begin(emulation, exporter, 0);
	fabric_run(emulation->fabric, 0);
	emulation_end(emulation);
	exporter_destroy(exporter);
	if (emulation->fabric->end_reason == REC_END_INTERRUPT)
		return err_set(err, -EINTR, "interrupted before the run began");
	for (uint32_t i = 0; ret == 0 && i < emulation->scenario->topo->nnodes; i++)
		if (emulation->switches[i] != NULL && emulation->switches[i]->volumes != NULL)
			ret = take(prediction, emulation->switches[i], run);
	prediction->virtual_ps += emulation->fabric->window.end_ps;
	return ret == 0 ? 0 : err_set(err, ret, "out of memory for the prediction");
}

static int
run_once(struct prediction *prediction, const struct scenario *sc, const struct run_service *const *services, uint32_t run,
	 struct err *err)
{
	const struct emulation_options how = { .lcores = 1, .phase = EMULATION_RUN, .services = services };
	struct scenario *operator= scenario_operator(sc, PREDICTION_ITERATIONS, seed_of(sc, run), err);
	struct emulation *emulation = NULL;
	int ret = -EINVAL;

	if (operator!= NULL) {
		operator->volumes.prediction = REC_PREDICTION_LEARNED;
		operator->volumes.learn = UINT32_MAX; /* it never ends */
		operator->volumes.export = VOLUMES_EXPORT_ALARMS;
		emulation = emulation_create(operator, & how, err);
	}
	ret = emulation != NULL ? simulate(prediction, emulation, run, err) : -errno;
	emulation_destroy(emulation);
	scenario_destroy(operator);
	return ret;
}

struct prediction *
predict_by_simulation(const struct scenario *sc, const struct run_service *const *services, struct err *err)
{
	struct prediction *prediction = calloc(1, sizeof(*prediction));
	uint64_t start_ns = clock_now_ns();
	int ret = prediction != NULL ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (uint32_t run = 0; ret == 0 && run < sc->volumes.simulations; run++) {
		ret = run_once(prediction, sc, services, run, err);
		prediction->runs++;
	}
	if (ret == 0 && prediction->iterations == 0)
		ret = cfg_fail(
			&sc->volumes.where, "prediction", err,
			"in a simulation in advance no switch could distinguish iterations: predict by another method");
	if (ret == 0) {
		prediction->wall_ns = clock_now_ns() - start_ns;
		return prediction;
	}
	prediction_destroy(prediction);
	errno = -ret;
	return NULL;
}

void
prediction_destroy(struct prediction *prediction)
{
	if (prediction != NULL)
		free(prediction->rows);
	free(prediction);
}
