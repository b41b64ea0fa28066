/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/rerouting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"

int
rerouting_init(struct emulation *emulation, struct err *err)
{
	const struct scenario *sc = emulation->scenario;

	if (emulation->phase != EMULATION_RUN || !faults_cut_cables(&sc->faults))
		return 0;
	emulation->convergence = convergence_create(sc->topo, sc->rerouting.convergence_ps, sc->withdrawn);
	if (emulation->convergence == NULL)
		return err_set(err, -ENOMEM, "out of memory for routes");
	emulation->switch_config.routes = convergence_routes(emulation->convergence);
	return 0;
}

void
rerouting_fini(struct emulation *emulation)
{
	convergence_destroy(emulation->convergence);
}

uint64_t
rerouting_next_ps(const struct emulation *emulation, uint64_t now_ps)
{
	return emulation->convergence != NULL ? convergence_next_ps(emulation->convergence, now_ps) : TIME_NEVER;
}

void
rerouting_apply(struct emulation *emulation, uint64_t now_ps)
{
	const struct topo *topo = emulation->scenario->topo;
	int ret;

	if (emulation->convergence == NULL)
		return;
	for (uint32_t i = 0; i < topo->nlinks; i++)
		convergence_link_changed(emulation->convergence, i, emulation->fabric->links[topo->links[i].port[0]].down,
					 now_ps);
	ret = convergence_apply(emulation->convergence, now_ps);
	if (ret < 0)
		log_fatal("out of memory for the routes of %u nodes", topo->nnodes);
	if (ret == 0)
		return;
	emulation->reroutes++;
	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (emulation->fabric->nodes[i]->ops->routes_changed != NULL)
			emulation->fabric->nodes[i]->ops->routes_changed(emulation->fabric->nodes[i]);
}
