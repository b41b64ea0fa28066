/* SPDX-License-Identifier: BSD-3-Clause */
/* kind = "fat-tree": K pods of K-port switches (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008). */
#include "topo/builder.h"

#include "common/array.h"

struct fat_tree_cfg {
	struct cfg_where where;
	int64_t k;
	uint64_t rate_bps, delay_ps, host_rate_bps, host_delay_ps;
};

#define S struct fat_tree_cfg
static const struct cfg_field fields[] = {
	CFG_FIELD("k", CFG_INT, offsetof(S, k), .min = 2, .max = TOPO_MAX_PORTS,
		  .doc = "Ports of a switch, even: k pods, k^3/4 hosts, 5k^2/4 switches"),
	CFG_FIELD("rate", CFG_RATE, offsetof(S, rate_bps), .def = "100Gbps", .min = 1e6, .max = TOPO_MAX_RATE_BPS,
		  .doc = "Rate of every link"),
	CFG_FIELD("delay", CFG_TIME, offsetof(S, delay_ps), .def = "1us", .min = 1, .max = 1e12,
		  .doc = "One-way delay of every link"),
	CFG_FIELD("host_rate", CFG_RATE, offsetof(S, host_rate_bps), .def = "", .min = 1e6, .max = TOPO_MAX_RATE_BPS,
		  .doc = "Rate of links to hosts; default: rate"),
	CFG_FIELD("host_delay", CFG_TIME, offsetof(S, host_delay_ps), .def = "", .min = 1, .max = 1e12,
		  .doc = "Delay of links to hosts; default: delay"),
};
#undef S

static const struct cfg_table table = {
	.path = "topology",
	.doc = "Three-layer fat-tree without oversubscription: hosts h0.., edge switches e0.., aggregation switches a0.., "
	       "cores c0... Edge and aggregation switches have their lower layer on ports 1 to k/2; a core has pod p on "
	       "port p+1.",
	.size = sizeof(struct fat_tree_cfg),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

static int
add_nodes(struct builder *builder, uint32_t half)
{
	const struct {
		enum topo_kind kind;
		const char *prefix;
		uint32_t count;
	} layers[] = {
		{ TOPO_HOST, "h", 2 * half * half * half },
		{ TOPO_SWITCH, "e", 2 * half * half },
		{ TOPO_SWITCH, "a", 2 * half * half },
		{ TOPO_SWITCH, "c", half * half },
	};

	for (size_t l = 0; l < ARRAY_LEN(layers); l++)
		for (uint32_t i = 0; i < layers[l].count; i++) {
			int rc = builder_numbered(builder, layers[l].kind, layers[l].prefix, i);

			if (rc != 0)
				return rc;
		}
	return 0;
}

/* Every switch i of a layer to half nodes of the next, which which() picks. */
static int
add_layer(struct builder *builder, uint32_t count, uint32_t half, uint64_t rate_bps, uint64_t delay_ps, uint32_t from,
	  uint32_t to, uint32_t (*which)(uint32_t i, uint32_t j, uint32_t half))
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < half; j++) {
			int rc = builder_link(builder, &builder->where, from + i, to + which(i, j, half), rate_bps,
					      delay_ps);

			if (rc != 0)
				return rc;
		}
	return 0;
}

/* Hosts i*half.. of edge i. */
static uint32_t
host_of_edge(uint32_t i, uint32_t j, uint32_t half)
{
	return i * half + j;
}

/* All aggregation switches of the edge's pod. */
static uint32_t
aggregation_of_edge(uint32_t i, uint32_t j, uint32_t half)
{
	return i / half * half + j;
}

/* Aggregation j of any pod reaches cores j*half to j*half + half - 1. */
static uint32_t
core_of_aggregation(uint32_t i, uint32_t j, uint32_t half)
{
	return i % half * half + j;
}

static int
build(const struct cfg *tree, struct builder *builder)
{
	struct fat_tree_cfg cfg;
	uint32_t half, edges, aggregations, cores, layer;
	int rc = cfg_bind(tree, &table, &cfg, builder->err);

	if (rc != 0)
		return rc;
	if (cfg.k % 2 != 0)
		return cfg_fail(&cfg.where, "k", builder->err, "%lld is odd; an even number would be right",
				(long long)cfg.k);
	half = (uint32_t)cfg.k / 2;
	if (2 * half * half * half > TOPO_MAX_NODES)
		return cfg_fail(&cfg.where, "k", builder->err, "%lld makes %u hosts; at most %d nodes are possible",
				(long long)cfg.k, 2 * half * half * half, TOPO_MAX_NODES);
	layer = 2 * half * half;
	edges = layer * half;
	aggregations = edges + layer;
	cores = aggregations + layer;
	rc = add_nodes(builder, half);
	if (rc == 0)
		rc = builder_index(builder);
	if (rc == 0)
		rc = add_layer(builder, layer, half, cfg.host_rate_bps != 0 ? cfg.host_rate_bps : cfg.rate_bps,
			       cfg.host_delay_ps != 0 ? cfg.host_delay_ps : cfg.delay_ps, edges, 0, host_of_edge);
	if (rc == 0)
		rc = add_layer(builder, layer, half, cfg.rate_bps, cfg.delay_ps, edges, aggregations, aggregation_of_edge);
	if (rc == 0)
		rc = add_layer(builder, layer, half, cfg.rate_bps, cfg.delay_ps, aggregations, cores, core_of_aggregation);
	return rc;
}

const struct topo_generator topo_fat_tree = { "fat-tree", &table, NULL, build };
