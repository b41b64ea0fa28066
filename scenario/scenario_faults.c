/* SPDX-License-Identifier: BSD-3-Clause */
/* The faults of a scenario, and the routes as they are with those that are known. */
#include <errno.h>
#include <stdlib.h>

#include "rxe-hosts/faults/host_faults.h"
#include "scenario/scenario_load.h"

/* Routes have no cable that is known to be cut. */
static int
make_routes(struct scenario *sc, struct err *err)
{
	sc->routes = route_table_create(sc->topo);
	sc->withdrawn = calloc(sc->topo->nlinks + 1u, sizeof(*sc->withdrawn));
	if (sc->routes == NULL || sc->withdrawn == NULL)
		return err_set(err, -ENOMEM, "out of memory for routes");
	if (!faults_withdraw(&sc->faults, sc->topo, sc->withdrawn)) {
		free(sc->withdrawn);
		sc->withdrawn = NULL;
	} else if (route_table_update(sc->routes, sc->withdrawn) < 0) {
		return err_set(err, -ENOMEM, "out of memory for routes");
	}
	return 0;
}

int
scenario_load_faults(struct scenario *sc, struct err *err)
{
	int ret = faults_load(&sc->faults, switch_faults, sc->cfg, sc->topo, err);

	if (ret == 0)
		ret = faults_load(&sc->faults, host_faults, sc->cfg, sc->topo, err);
	return ret == 0 ? make_routes(sc, err) : ret;
}

int
scenario_check_faults(const struct scenario *sc, struct err *err)
{
	uint32_t *steps = calloc(sc->plan->ncollectives + 1u, sizeof(*steps));
	bool *own_kernel = calloc(sc->topo->nnodes + 1u, sizeof(*own_kernel));
	const struct fault_work work = { .flows = &sc->plan->flows,
					 .steps = steps,
					 .ncollectives = sc->plan->ncollectives,
					 .has_agents = sc->pingmesh.enabled,
					 .topo = sc->topo,
					 .own_kernel = own_kernel };
	int ret = -ENOMEM;

	if (steps == NULL || own_kernel == NULL) {
		err_set(err, -ENOMEM, "out of memory for %u collectives", sc->plan->ncollectives);
		goto out;
	}
	for (uint32_t i = 0; i < sc->topo->nnodes; i++)
		own_kernel[i] = sc->hosts[i] != NULL;
	for (uint32_t c = 0; c < sc->plan->ncollectives; c++)
		steps[c] = coll_max_steps(sc->plan->collectives[c].schedule);
	ret = faults_check(&sc->faults, &work, err);
out:
	free(own_kernel);
	free(steps);
	return ret;
}
