/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "emulation/emulation.h"
#include "scenario/scenario.h"
#include "topo/convergence.h"

struct rerouting {
	struct emulation *emulation;
	struct convergence *convergence; /* NULL: no fault takes a link down */
	uint64_t reroutes;               /* times that it changed the routes */
};

/* Before switches are made, which get its routes. */
static int
create(struct emulation *emulation, const struct emulation_options *options, void **state, struct err *err)
{
	const struct scenario *sc = emulation->scenario;
	struct rerouting *rerouting;

	(void)options;
	if (emulation->phase != EMULATION_RUN)
		return 0;
	rerouting = *state = calloc(1, sizeof(*rerouting));
	if (rerouting == NULL)
		return err_set(err, -ENOMEM, "out of memory for routes");
	rerouting->emulation = emulation;
	if (!faults_take_cables_down(&sc->faults))
		return 0;
	rerouting->convergence = convergence_create(sc->topo, (enum route_rule)sc->rerouting.rule,
						    sc->rerouting.convergence_ps, sc->withdrawn);
	if (rerouting->convergence == NULL)
		return err_set(err, -ENOMEM, "out of memory for routes");
	emulation->switch_config.routes = convergence_routes(rerouting->convergence);
	return 0;
}

static uint64_t
next_ps(const void *state, uint64_t now_ps)
{
	const struct rerouting *rerouting = state;

	return rerouting->convergence != NULL ? convergence_next_ps(rerouting->convergence, now_ps) : TIME_NEVER;
}

/* After the faults of now_ps. */
static void
change(void *state, uint64_t now_ps)
{
	struct rerouting *rerouting = state;
	const struct fabric *fabric = rerouting->emulation->fabric;
	const struct topo *topo = rerouting->emulation->scenario->topo;
	int ret;

	if (rerouting->convergence == NULL)
		return;
	for (uint32_t i = 0; i < topo->nlinks; i++)
		convergence_link_changed(rerouting->convergence, i, fabric->links[topo->links[i].port[0]].down, now_ps);
	ret = convergence_apply(rerouting->convergence, now_ps);
	if (ret < 0)
		log_fatal("out of memory for the routes of %u nodes", topo->nnodes);
	if (ret == 0)
		return;
	rerouting->reroutes++;
	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (fabric->nodes[i]->ops->routes_changed != NULL)
			fabric->nodes[i]->ops->routes_changed(fabric->nodes[i]);
}

static void
report(const void *state, json_t *root)
{
	json_object_set_new(root, "reroutes", json_integer((json_int_t)((const struct rerouting *)state)->reroutes));
}

static void
destroy(void *state)
{
	struct rerouting *rerouting = state;

	convergence_destroy(rerouting->convergence);
	free(rerouting);
}

const struct run_service service_rerouting = {
	.name = "rerouting",
	.create = create,
	.next_ps = next_ps,
	.change = change,
	.report = report,
	.destroy = destroy,
};
