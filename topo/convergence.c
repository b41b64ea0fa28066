/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/convergence.h"

#include <errno.h>
#include <stdlib.h>

struct cable {
	bool down;           /* as configured */
	bool withdrawn;      /* as the routes have it */
	uint64_t changed_ps; /* when down changed last */
};

struct convergence {
	const struct topo *topo;
	uint64_t after_ps;
	struct cable *cables; /* [nlinks] */
	bool *withdrawn;      /* [nlinks] the cables' in a row */
	uint32_t unknown;     /* cables whose state the routes do not know */
	struct route_table *routes;
};

struct convergence *
convergence_create(const struct topo *topo, enum route_rule rule, uint64_t after_ps, const bool *withdrawn)
{
	struct convergence *convergence = calloc(1, sizeof(*convergence));

	if (convergence == NULL)
		return NULL;
	convergence->topo = topo;
	convergence->after_ps = after_ps;
	convergence->cables = calloc(topo->nlinks + 1, sizeof(*convergence->cables));
	convergence->withdrawn = calloc(topo->nlinks + 1, sizeof(*convergence->withdrawn));
	convergence->routes = route_table_create(topo, rule);
	if (convergence->cables == NULL || convergence->withdrawn == NULL || convergence->routes == NULL)
		goto fail;
	for (uint32_t i = 0; withdrawn != NULL && i < topo->nlinks; i++) {
		convergence->cables[i] = (struct cable){ .down = withdrawn[i], .withdrawn = withdrawn[i] };
		convergence->withdrawn[i] = withdrawn[i];
	}
	if (withdrawn == NULL || route_table_update(convergence->routes, convergence->withdrawn) == 0)
		return convergence;
fail:
	convergence_destroy(convergence);
	errno = ENOMEM;
	return NULL;
}

void
convergence_destroy(struct convergence *convergence)
{
	if (convergence == NULL)
		return;
	route_table_destroy(convergence->routes);
	free(convergence->cables);
	free(convergence->withdrawn);
	free(convergence);
}

const struct route_table *
convergence_routes(const struct convergence *convergence)
{
	return convergence->routes;
}

static bool
has_other_paths(const struct topo *topo, uint32_t link)
{
	const struct topo_port *end = &topo->ports[topo->links[link].port[0]];

	const struct topo_node *a = &topo->nodes[end->node], *b = &topo->nodes[end->peer];

	return (a->kind == TOPO_SWITCH || a->bonded) && (b->kind == TOPO_SWITCH || b->bonded);
}

void
convergence_link_changed(struct convergence *convergence, uint32_t link, bool down, uint64_t now_ps)
{
	struct cable *cable = &convergence->cables[link];

	if (cable->down == down || !has_other_paths(convergence->topo, link))
		return;
	convergence->unknown -= cable->down != cable->withdrawn;
	cable->down = down;
	cable->changed_ps = now_ps;
	convergence->unknown += cable->down != cable->withdrawn;
}

/* When the routes learn of a cable; UINT64_MAX if they know it. */
static uint64_t
due_ps(const struct convergence *convergence, const struct cable *cable)
{
	if (cable->down == cable->withdrawn || cable->changed_ps > UINT64_MAX - convergence->after_ps)
		return UINT64_MAX;
	return cable->changed_ps + convergence->after_ps;
}

uint64_t
convergence_next_ps(const struct convergence *convergence, uint64_t now_ps)
{
	uint64_t next_ps = UINT64_MAX;

	for (uint32_t i = 0; convergence->unknown != 0 && i < convergence->topo->nlinks; i++) {
		uint64_t at_ps = due_ps(convergence, &convergence->cables[i]);

		next_ps = at_ps < next_ps ? at_ps : next_ps;
	}
	return next_ps > now_ps ? next_ps : now_ps;
}

int
convergence_apply(struct convergence *convergence, uint64_t now_ps)
{
	bool changed = false;

	for (uint32_t i = 0; convergence->unknown != 0 && i < convergence->topo->nlinks; i++) {
		struct cable *cable = &convergence->cables[i];

		if (due_ps(convergence, cable) > now_ps)
			continue;
		cable->withdrawn = cable->down;
		convergence->withdrawn[i] = cable->down;
		convergence->unknown--;
		changed = true;
	}
	if (!changed)
		return 0;
	return route_table_update(convergence->routes, convergence->withdrawn) == 0 ? 1 : -ENOMEM;
}
