/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/traffic/traffic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "workload/traffic/generator.h"

#define ROW(kind) &generator_##kind,
static const struct generator_ops *const kinds[] = { TRAFFIC_GENERATORS(ROW) };

/* Loads the generators of one kind. */
static int
load_kind(struct traffic *traffic, size_t kind, const struct cfg *cfg, struct err *err)
{
	const struct generator_ops *ops = kinds[kind];
	size_t count = 0;
	int ret = cfg_bind_list(cfg, ops->table, ops->kind, &traffic->blocks[kind], &count, err);

	for (size_t i = 0; ret == 0 && i < count; i++) {
		struct generator *g = (struct generator *)((char *)traffic->blocks[kind] + i * ops->table->size);

		if (traffic->ngenerators == TRAFFIC_MAX_GENERATORS)
			return cfg_fail(&g->where, NULL, err, "more than %d generators; fewer would be right",
					TRAFFIC_MAX_GENERATORS);
		traffic->ops[traffic->ngenerators] = ops;
		traffic->generators[traffic->ngenerators++] = g;
		ret = generator_init(g, ops->kind, cfg, traffic->topo, err);
	}
	return ret;
}

/* Names distinguish generators, for users and for random streams. */
static int
check_names(const struct traffic *traffic, struct err *err)
{
	for (uint32_t i = 0; i < traffic->ngenerators; i++)
		for (uint32_t other = 0; other < i; other++)
			if (strcmp(traffic->generators[i]->name, traffic->generators[other]->name) == 0)
				return cfg_fail(&traffic->generators[i]->where, "name", err,
						"\"%s\" is the name of the generator in line %d; another would be right",
						traffic->generators[i]->name, traffic->generators[other]->where.line);
	return 0;
}

static int
generate(struct traffic *traffic, struct err *err)
{
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < traffic->ngenerators; i++) {
		const struct generator *g = traffic->generators[i];
		size_t before = traffic->nflows;

		if (!g->enabled)
			continue;
		ret = traffic->ops[i]->generate(g, traffic, err);
		if (ret == 0 && traffic->nflows == before)
			ret = cfg_fail(&g->where, NULL, err,
				       "\"%s\" makes no flow; a later until, a higher load or smaller flows would be right",
				       g->name);
	}
	return ret;
}

struct traffic *
traffic_load(const struct cfg *cfg, const struct topo *topo, uint64_t seed, struct err *err)
{
	struct traffic *traffic = calloc(1, sizeof(*traffic));
	int ret = -ENOMEM;

	if (traffic != NULL) {
		*traffic = (struct traffic){ .topo = topo, .seed = seed };
		traffic->blocks = calloc(ARRAY_LEN(kinds), sizeof(*traffic->blocks));
		ret = traffic->blocks != NULL ? 0 : -ENOMEM;
	}
	for (size_t kind = 0; ret == 0 && kind < ARRAY_LEN(kinds); kind++)
		ret = load_kind(traffic, kind, cfg, err);
	if (ret == 0)
		ret = check_names(traffic, err);
	if (ret == 0)
		ret = generate(traffic, err);
	if (ret == 0)
		return traffic;
	err_set(err, ret, "out of memory for generators");
	traffic_destroy(traffic);
	errno = -ret;
	return NULL;
}

static bool
has_node(const struct endpoints *of, uint32_t node)
{
	for (uint32_t i = 0; i < of->count; i++)
		if (of->ends[i].node == node)
			return true;
	return false;
}

bool
traffic_is_quiet(const void *of, uint32_t src_node, uint32_t dst_node)
{
	const struct traffic *traffic = of;

	for (uint32_t i = 0; i < traffic->ngenerators; i++) {
		const struct generator *g = traffic->generators[i];

		if (!g->enabled && has_node(&g->from, src_node) && has_node(&g->to, dst_node))
			return true;
	}
	return false;
}

void
traffic_destroy(struct traffic *traffic)
{
	if (traffic == NULL)
		return;
	for (uint32_t i = 0; i < traffic->ngenerators; i++)
		generator_fini(traffic->generators[i]);
	for (size_t kind = 0; traffic->blocks != NULL && kind < ARRAY_LEN(kinds); kind++)
		free(traffic->blocks[kind]);
	free(traffic->blocks);
	free(traffic->flows);
	free(traffic);
}

int
traffic_add(struct traffic *traffic, const struct generator *g, const struct endpoint *src, const struct endpoint *dst,
	    uint64_t start_ps, uint64_t bytes, struct err *err)
{
	uint32_t index = 0;

	if (traffic->nflows == TRAFFIC_MAX_FLOWS)
		return cfg_fail(
			&g->where, NULL, err,
			"more than %u flows; an earlier until, a lower load, fewer hosts or larger flows would be right",
			TRAFFIC_MAX_FLOWS);
	while (traffic->generators[index] != g)
		index++;
	traffic->flows = grow(traffic->flows, &traffic->cap, traffic->nflows + 1, sizeof(*traffic->flows), "flows");
	traffic->flows[traffic->nflows++] = (struct traffic_flow){
		.start_ps = start_ps,
		.bytes = bytes,
		.src_node = src->node,
		.src_nic = src->nic,
		.dst_node = dst->node,
		.dst_nic = dst->nic,
		.generator = index,
	};
	return 0;
}

size_t
traffic_tables(struct cfg_known *known, size_t cap)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds) && i < cap; i++)
		known[i] = (struct cfg_known){ kinds[i]->table, kinds[i]->kind };
	return ARRAY_LEN(kinds);
}
