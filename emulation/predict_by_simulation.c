/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/predict_by_simulation.h"

#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/hash.h"
#include "emulation/emulation.h"

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
add_row(struct prediction *prediction, const struct prediction_row *row)
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
				ret = add_row(prediction, &row);
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
	return ret == 0 ? 0 : err_set(err, ret, "out of memory for what is predicted");
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
		ret = cfg_fail(&sc->volumes.where, "prediction", err,
			       "in a run made before no switch could tell iterations apart: predict by another method");
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
