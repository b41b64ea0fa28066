/* SPDX-License-Identifier: BSD-3-Clause */
/* kind = "leaf-spine": two layers, every leaf linked to every spine. */
#include <math.h>

#include "common/array.h"
#include "common/units.h"
#include "topo/builder.h"

struct leaf_spine_cfg {
	struct cfg_where where;
	int64_t leaves, spines, hosts_per_leaf, parallel;
	uint64_t rate_bps, uplink_rate_bps, delay_ps, uplink_delay_ps;
	double oversubscription;
};

#define S struct leaf_spine_cfg
static const struct cfg_field fields[] = {
	CFG_FIELD("leaves", CFG_INT, offsetof(S, leaves), .min = 1, .max = TOPO_MAX_NODES, .doc = "Leaf switches l0.."),
	CFG_FIELD("spines", CFG_INT, offsetof(S, spines), .min = 1, .max = TOPO_MAX_PORTS, .doc = "Spine switches s0.."),
	CFG_FIELD("hosts_per_leaf", CFG_INT, offsetof(S, hosts_per_leaf), .min = 1, .max = TOPO_MAX_PORTS,
		  .doc = "Hosts of a leaf; h0.. are the first leaf's"),
	CFG_FIELD("parallel", CFG_INT, offsetof(S, parallel), .def = "1", .min = 1, .max = TOPO_MAX_PORTS,
		  .doc = "Links between a leaf and a spine"),
	CFG_FIELD("rate", CFG_RATE, offsetof(S, rate_bps), .def = "100Gbps", .min = 1e6, .max = TOPO_MAX_RATE_BPS,
		  .doc = "Rate of links to hosts"),
	CFG_FIELD("delay", CFG_TIME, offsetof(S, delay_ps), .def = "1us", .min = 1, .max = 1e12,
		  .doc = "One-way delay of links to hosts"),
	CFG_FIELD("uplink_rate", CFG_RATE, offsetof(S, uplink_rate_bps), .def = "", .min = 1e6, .max = TOPO_MAX_RATE_BPS,
		  .doc = "Rate of a link between leaf and spine; default: the rate that gives oversubscription, else rate"),
	CFG_FIELD("uplink_delay", CFG_TIME, offsetof(S, uplink_delay_ps), .def = "", .min = 1, .max = 1e12,
		  .doc = "Delay of a link between leaf and spine; default: delay"),
	CFG_FIELD("oversubscription", CFG_FLOAT, offsetof(S, oversubscription), .def = "", .min = 0.01, .max = 1000,
		  .doc = "Rate of a leaf's hosts over the rate of its uplinks; sets uplink_rate, or is checked against it"),
};
#undef S

static const struct cfg_table table = {
	.path = "topology",
	.doc = "Leaf-spine: every leaf linked to every spine. A leaf has its hosts on its first ports, then its spines.",
	.size = sizeof(struct leaf_spine_cfg),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

/* Settles uplink rate and oversubscription, of which one gives the other. */
static int
settle_rates(struct leaf_spine_cfg *cfg, struct err *err)
{
	double down_bps = (double)cfg->hosts_per_leaf * (double)cfg->rate_bps;
	double uplinks = (double)(cfg->spines * cfg->parallel), actual;
	char rate[32];

	if (cfg->uplink_delay_ps == 0)
		cfg->uplink_delay_ps = cfg->delay_ps;
	if (cfg->uplink_rate_bps == 0 && cfg->oversubscription == 0)
		cfg->uplink_rate_bps = cfg->rate_bps;
	else if (cfg->uplink_rate_bps == 0)
		cfg->uplink_rate_bps = (uint64_t)llround(down_bps / cfg->oversubscription / uplinks);
	if (cfg->uplink_rate_bps == 0)
		return cfg_fail(&cfg->where, "oversubscription", err, "%g leaves uplinks no rate", cfg->oversubscription);
	actual = down_bps / (uplinks * (double)cfg->uplink_rate_bps);
	if (cfg->oversubscription != 0 && fabs(actual / cfg->oversubscription - 1) > 1e-6)
		return cfg_fail(&cfg->where, "oversubscription", err,
				"%g does not fit uplink_rate = %s: %lld hosts over %g uplinks of that rate are %g to 1",
				cfg->oversubscription, units_format_rate(cfg->uplink_rate_bps, rate, sizeof(rate)),
				(long long)cfg->hosts_per_leaf, uplinks, actual);
	return 0;
}

static int
add_nodes(const struct leaf_spine_cfg *cfg, struct builder *builder)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < cfg->leaves * cfg->hosts_per_leaf; i++)
		rc = builder_numbered(builder, TOPO_HOST, "h", i);
	for (uint32_t i = 0; rc == 0 && i < cfg->leaves; i++)
		rc = builder_numbered(builder, TOPO_SWITCH, "l", i);
	for (uint32_t i = 0; rc == 0 && i < cfg->spines; i++)
		rc = builder_numbered(builder, TOPO_SWITCH, "s", i);
	return rc == 0 ? builder_index(builder) : rc;
}

static int
build(const struct cfg *tree, struct builder *builder)
{
	struct leaf_spine_cfg cfg;
	uint32_t hosts, first_leaf, first_spine;
	int rc = cfg_bind(tree, &table, &cfg, builder->err);

	if (rc == 0)
		rc = settle_rates(&cfg, builder->err);
	if (rc == 0)
		rc = add_nodes(&cfg, builder);
	if (rc != 0)
		return rc;
	hosts = (uint32_t)cfg.hosts_per_leaf;
	first_leaf = (uint32_t)cfg.leaves * hosts;
	first_spine = first_leaf + (uint32_t)cfg.leaves;
	for (uint32_t leaf = 0; rc == 0 && leaf < cfg.leaves; leaf++) {
		for (uint32_t h = 0; rc == 0 && h < hosts; h++)
			rc = builder_link(builder, &cfg.where, leaf * hosts + h, first_leaf + leaf, cfg.rate_bps,
					  cfg.delay_ps);
		for (uint32_t u = 0; rc == 0 && u < cfg.spines * cfg.parallel; u++)
			rc = builder_link(builder, &cfg.where, first_leaf + leaf, first_spine + u / (uint32_t)cfg.parallel,
					  cfg.uplink_rate_bps, cfg.uplink_delay_ps);
	}
	return rc;
}

const struct topo_generator topo_leaf_spine = { "leaf-spine", &table, NULL, build };
