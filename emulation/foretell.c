/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/foretell.h"

#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/hash.h"
#include "emulation/emulation.h"

bool
foretell_is_asked(const struct scenario *sc)
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
add_row(struct foretold *foretold, const struct foretold_row *row)
{
	if (foretold->nrows == foretold->cap) {
		uint32_t cap = foretold->cap == 0 ? 256 : 2 * foretold->cap;
		struct foretold_row *rows = realloc(foretold->rows, cap * sizeof(*rows));

		if (rows == NULL)
			return -ENOMEM;
		foretold->rows = rows;
		foretold->cap = cap;
	}
	foretold->rows[foretold->nrows++] = *row;
	return 0;
}

/* What a switch learned in a run of which it never had enough. */
static int
take(struct foretold *foretold, const struct sw *sw, uint32_t run)
{
	const struct judge *judge = &sw->volumes->judge;
	const struct volumes *v = &judge->volumes;
	uint32_t learned = judge->predict.learned;
	int ret = 0;

	foretold->iterations = learned > foretold->iterations ? learned : foretold->iterations;
	for (uint16_t port = 0; learned != 0 && port < v->config.ports; port++) {
		for (uint16_t s = 0; ret == 0 && s < v->nsenders; s++) {
			struct foretold_row row = {
				.run = run,
				.told = { .port = sw->config->topo->nodes[sw->node.id].first_port +
						  sw->volumes->port_of[port],
					  .sender = v->keys[s],
					  .bytes = judge->predict.sum[volumes_cell(v, port, s)] / learned },
			};

			if (row.told.bytes != 0)
				ret = add_row(foretold, &row);
		}
	}
	return ret;
}

/* @param emulation  begun by nobody. @return 0; -EINTR, -ENOMEM with err set */
static int
simulate(struct foretold *foretold, struct emulation *emulation, uint32_t run, struct err *err)
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
			ret = take(foretold, emulation->switches[i], run);
	foretold->virtual_ps += emulation->fabric->window.end_ps;
	return ret == 0 ? 0 : err_set(err, ret, "out of memory for what is predicted");
}

static int
run_once(struct foretold *foretold, const struct scenario *sc, const struct run_service *const *services, uint32_t run,
	 struct err *err)
{
	const struct emulation_options how = { .lcores = 1, .phase = EMULATION_RUN, .services = services };
	struct scenario *operator= scenario_operator(sc, FORETELL_ITERATIONS, seed_of(sc, run), err);
	struct emulation *emulation = NULL;
	int ret = -EINVAL;

	if (operator!= NULL) {
		operator->volumes.prediction = REC_PREDICTION_LEARNED;
		operator->volumes.learn = UINT32_MAX; /* it never ends */
		operator->volumes.export = VOLUMES_EXPORT_ALARMS;
		emulation = emulation_create(operator, & how, err);
	}
	ret = emulation != NULL ? simulate(foretold, emulation, run, err) : -errno;
	emulation_destroy(emulation);
	scenario_destroy(operator);
	return ret;
}

struct foretold *
foretell(const struct scenario *sc, const struct run_service *const *services, struct err *err)
{
	struct foretold *foretold = calloc(1, sizeof(*foretold));
	uint64_t start_ns = clock_now_ns();
	int ret = foretold != NULL ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (uint32_t run = 0; ret == 0 && run < sc->volumes.simulations; run++) {
		ret = run_once(foretold, sc, services, run, err);
		foretold->runs++;
	}
	if (ret == 0 && foretold->iterations == 0)
		ret = cfg_fail(&sc->volumes.where, "prediction", err,
			       "in a run made before no switch could tell iterations apart: predict by another method");
	if (ret == 0) {
		foretold->wall_ns = clock_now_ns() - start_ns;
		return foretold;
	}
	foretold_destroy(foretold);
	errno = -ret;
	return NULL;
}

void
foretold_destroy(struct foretold *foretold)
{
	if (foretold != NULL)
		free(foretold->rows);
	free(foretold);
}
