/* SPDX-License-Identifier: BSD-3-Clause */
/* How the scenario wants its fabric divided, where several programs run it. */
#include <errno.h>
#include <stdlib.h>

#include "scenario/scenario_load.h"

static int
check_names(const struct scenario *sc, bool *named, struct err *err)
{
	for (size_t g = 0; g < sc->npartitions; g++) {
		const struct partition_config *config = &sc->partitions[g];

		for (size_t i = 0; i < config->names.count; i++) {
			uint32_t node = topo_find(sc->topo, config->names.items[i]);

			if (node == TOPO_NONE)
				return cfg_fail(&config->where, "names", err, "\"%s\" is no node of this topology",
						config->names.items[i]);
			if (named[node])
				return cfg_fail(&config->where, "names", err, "\"%s\" is named twice",
						config->names.items[i]);
			named[node] = true;
		}
	}
	for (uint32_t i = 0; i < sc->topo->nnodes; i++)
		if (sc->topo->nodes[i].kind == TOPO_SWITCH && !named[i])
			return cfg_fail(&sc->partitions[0].where, "names", err,
					"switch \"%s\" is in no part: name every switch in one, or leave \"parts\" out",
					sc->topo->nodes[i].name);
	return 0;
}

int
scenario_load_partitions(struct scenario *sc, struct err *err)
{
	int ret = cfg_bind_list(sc->cfg, &partition_cfg, NULL, (void **)&sc->partitions, &sc->npartitions, err);
	bool *named;

	if (ret < 0 || sc->npartitions == 0)
		return ret;
	named = calloc(sc->topo->nnodes, sizeof(*named));
	if (named == NULL)
		return err_set(err, -ENOMEM, "out of memory for the parts");
	ret = check_names(sc, named, err);
	free(named);
	return ret;
}
