/* SPDX-License-Identifier: BSD-3-Clause */
/* A scenario from its file and the command line. */
#include "scenario/scenario_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

/* What the file and the command line say. @return NULL with err set */
static struct cfg *
load_tree(const struct scenario_options *options, struct err *err)
{
	struct cfg *cfg = cfg_load(options->path, err);
	int ret = 0;

	for (size_t i = 0; cfg != NULL && ret == 0 && i < options->nsets; i++)
		ret = cfg_override(cfg, options->sets[i], err);
	if (cfg != NULL && ret == 0 && options->seed != NULL) {
		char set[64];

		snprintf(set, sizeof(set), "seed=%s", options->seed);
		ret = cfg_override(cfg, set, err);
	}
	if (cfg != NULL && ret == 0)
		return cfg;
	cfg_destroy(cfg);
	errno = ret < 0 ? -ret : EINVAL;
	return NULL;
}

/* @return 0 or -ENOMEM */
static int
keep_overrides(const struct scenario_options *options, struct scenario *sc)
{
	size_t size = 1;

	for (size_t i = 0; i < options->nsets; i++)
		size += strlen(options->sets[i]) + 1;
	sc->overrides = options->nsets != 0 ? calloc(1, size) : NULL;
	for (size_t i = 0; sc->overrides != NULL && i < options->nsets; i++)
		strcat(strcat(sc->overrides, options->sets[i]), "\n");
	return options->nsets == 0 || sc->overrides != NULL ? 0 : -ENOMEM;
}

struct scenario *
scenario_load(const struct scenario_options *options, struct err *err)
{
	struct cfg *cfg = load_tree(options, err);
	struct scenario *sc = cfg != NULL ? scenario_of(cfg, err) : NULL;

	if (sc != NULL && keep_overrides(options, sc) < 0) {
		err_set(err, -ENOMEM, "out of memory for %zu --set", options->nsets);
		scenario_destroy(sc);
		return NULL;
	}
	if (sc != NULL)
		log_debug("%s: %u nodes, %u links, %u flows, seed %llu", options->path, sc->topo->nnodes, sc->topo->nlinks,
			  sc->plan->flows.count, (unsigned long long)sc->routing.seed);
	return sc;
}
