/* SPDX-License-Identifier: BSD-3-Clause */
/* kind = "explicit": hosts, switches and links written out. */
#include <stdlib.h>

#include "common/array.h"
#include "topo/builder.h"

struct explicit_cfg {
	struct cfg_where where;
	struct cfg_strings hosts, switches, bonds;
	uint64_t rate_bps, delay_ps;
};

struct link_cfg {
	struct cfg_where where;
	const char *a, *b;
	uint64_t rate_bps, delay_ps; /* 0: the group's */
};

#define S struct explicit_cfg
static const struct cfg_field fields[] = {
	CFG_FIELD("hosts", CFG_STRINGS, offsetof(S, hosts), .doc = "Names of the hosts, in the order of node ids"),
	CFG_FIELD("switches", CFG_STRINGS, offsetof(S, switches), .def = "",
		  .doc = "Names of the switches, ids after the hosts'"),
	CFG_FIELD("bonds", CFG_STRINGS, offsetof(S, bonds), .def = "",
		  .doc = "Hosts whose ports are one bond (LAG) with one address, whatever leaves they lead to (MLAG)"),
	CFG_FIELD("rate", CFG_RATE, offsetof(S, rate_bps), .def = "100Gbps", .min = 1e6, .max = TOPO_MAX_RATE_BPS,
		  .doc = "Default rate of links"),
	CFG_FIELD("delay", CFG_TIME, offsetof(S, delay_ps), .def = "1us", .min = 1, .max = 1e12,
		  .doc = "Default one-way delay of links"),
};
#undef S

#define S struct link_cfg
static const struct cfg_field link_fields[] = {
	CFG_FIELD("a", CFG_STRING, offsetof(S, a), .doc = "Node at one end"),
	CFG_FIELD("b", CFG_STRING, offsetof(S, b), .doc = "Node at the other end"),
	CFG_FIELD("rate", CFG_RATE, offsetof(S, rate_bps), .def = "", .min = 1e6, .max = TOPO_MAX_RATE_BPS,
		  .doc = "In each direction; default: the topology's rate"),
	CFG_FIELD("delay", CFG_TIME, offsetof(S, delay_ps), .def = "", .min = 1, .max = 1e12,
		  .doc = "One-way; default: the topology's delay"),
};
#undef S

static const struct cfg_table table = {
	.path = "topology",
	.doc = "Hosts, switches and links written out. Ports of a node count from 1 in the order of its links.",
	.size = sizeof(struct explicit_cfg),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

static const struct cfg_table link_table = {
	.path = "topology.links",
	.doc = "Cables of an explicit topology; two nodes may have several between them.",
	.list = true,
	.size = sizeof(struct link_cfg),
	.fields = link_fields,
	.nfields = ARRAY_LEN(link_fields),
	.words = "a b rate delay",
};

static int
find_end(struct builder *builder, const struct link_cfg *link, const char *key, const char *name, uint32_t *node)
{
	*node = topo_find(builder->topo, name);
	if (*node == TOPO_NONE)
		return cfg_fail(&link->where, key, builder->err,
				"\"%s\" is neither among topology.hosts nor topology.switches", name);
	return 0;
}

static int
add_links(const struct explicit_cfg *cfg, const struct link_cfg *links, size_t count, struct builder *builder)
{
	for (size_t i = 0; i < count; i++) {
		const struct link_cfg *link = &links[i];
		uint32_t a, b;
		int rc = find_end(builder, link, "a", link->a, &a);

		if (rc == 0)
			rc = find_end(builder, link, "b", link->b, &b);
		if (rc == 0)
			rc = builder_link(builder, &link->where, a, b, link->rate_bps != 0 ? link->rate_bps : cfg->rate_bps,
					  link->delay_ps != 0 ? link->delay_ps : cfg->delay_ps);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
add_bonds(const struct explicit_cfg *cfg, struct builder *builder)
{
	for (size_t i = 0; i < cfg->bonds.count; i++) {
		uint32_t node = topo_find(builder->topo, cfg->bonds.items[i]);

		if (node == TOPO_NONE || builder->topo->nodes[node].kind != TOPO_HOST)
			return cfg_fail(&cfg->where, "bonds", builder->err, "\"%s\" is not among topology.hosts",
					cfg->bonds.items[i]);
		builder_bond(builder, node);
	}
	return 0;
}

static int
build(const struct cfg *tree, struct builder *builder)
{
	struct explicit_cfg cfg;
	void *links = NULL;
	size_t count;
	int rc = cfg_bind(tree, &table, &cfg, builder->err);

	if (rc == 0)
		rc = cfg_bind_list(tree, &link_table, NULL, &links, &count, builder->err);
	for (size_t i = 0; rc == 0 && i < cfg.hosts.count; i++)
		rc = builder_node(builder, TOPO_HOST, &cfg.where, "hosts", cfg.hosts.items[i]);
	for (size_t i = 0; rc == 0 && i < cfg.switches.count; i++)
		rc = builder_node(builder, TOPO_SWITCH, &cfg.where, "switches", cfg.switches.items[i]);
	if (rc == 0)
		rc = builder_index(builder);
	if (rc == 0)
		rc = add_bonds(&cfg, builder);
	if (rc == 0)
		rc = add_links(&cfg, links, count, builder);
	free(links);
	return rc;
}

const struct topo_generator topo_explicit = { "explicit", &table, &link_table, build };
