/* SPDX-License-Identifier: BSD-3-Clause */
/* kind = "rail": hosts with several NICs, NIC r of every host of a group at the group's rail switch r. */
#include "topo/builder.h"

#include "common/array.h"

struct rail_cfg {
	struct cfg_where where;
	int64_t hosts, nics, hosts_per_group, spines, parallel;
	uint64_t rate_bps, uplink_rate_bps, delay_ps, uplink_delay_ps;
};

#define S struct rail_cfg
static const struct cfg_field fields[] = {
	CFG_FIELD("hosts", CFG_INT, offsetof(S, hosts), .min = 1, .max = TOPO_MAX_NODES, .doc = "Hosts h0.."),
	CFG_FIELD("nics", CFG_INT, offsetof(S, nics), .min = 1, .max = TOPO_MAX_NICS,
		  .doc = "NIC ports of a host: the number of rails"),
	CFG_FIELD("hosts_per_group", CFG_INT, offsetof(S, hosts_per_group), .min = 1, .max = TOPO_MAX_PORTS,
		  .doc = "Hosts that share rail switches"),
	CFG_FIELD("spines", CFG_INT, offsetof(S, spines), .def = "1", .max = TOPO_MAX_PORTS,
		  .doc = "Spine switches s0.. above all rail switches; 0: rails are not connected"),
	CFG_FIELD("parallel", CFG_INT, offsetof(S, parallel), .def = "1", .min = 1, .max = TOPO_MAX_PORTS,
		  .doc = "Links between a rail switch and a spine"),
	CFG_FIELD("rate", CFG_RATE, offsetof(S, rate_bps), .def = "100Gbps", .min = 1e6, .max = TOPO_MAX_RATE_BPS,
		  .doc = "Rate of links to hosts"),
	CFG_FIELD("delay", CFG_TIME, offsetof(S, delay_ps), .def = "1us", .min = 1, .max = 1e12,
		  .doc = "One-way delay of links to hosts"),
	CFG_FIELD("uplink_rate", CFG_RATE, offsetof(S, uplink_rate_bps), .def = "", .min = 1e6, .max = TOPO_MAX_RATE_BPS,
		  .doc = "Rate of a link between rail switch and spine; default: rate"),
	CFG_FIELD("uplink_delay", CFG_TIME, offsetof(S, uplink_delay_ps), .def = "", .min = 1, .max = 1e12,
		  .doc = "Delay of a link between rail switch and spine; default: delay"),
};
#undef S

static const struct cfg_table table = {
	.path = "topology",
	.doc = "Rail-optimized: NIC r of the hosts of group g at switch g<g>r<r>, r and g from 0, and spines above. A rail "
	       "switch has its hosts on its first ports, then its spines.",
	.size = sizeof(struct rail_cfg),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

static int
add_nodes(const struct rail_cfg *cfg, uint32_t groups, struct builder *builder)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < cfg->hosts; i++)
		rc = builder_numbered(builder, TOPO_HOST, "h", i);
	for (uint32_t i = 0; rc == 0 && i < groups * cfg->nics; i++) {
		char prefix[24];

		snprintf(prefix, sizeof(prefix), "g%ur", i / (uint32_t)cfg->nics);
		rc = builder_numbered(builder, TOPO_SWITCH, prefix, i % (uint32_t)cfg->nics);
	}
	for (uint32_t i = 0; rc == 0 && i < cfg->spines; i++)
		rc = builder_numbered(builder, TOPO_SWITCH, "s", i);
	return rc == 0 ? builder_index(builder) : rc;
}

static int
build(const struct cfg *tree, struct builder *builder)
{
	uint32_t hosts, nics, groups, per_group;
	struct rail_cfg cfg;
	int rc = cfg_bind(tree, &table, &cfg, builder->err);

	if (rc != 0)
		return rc;
	if (cfg.hosts % cfg.hosts_per_group != 0)
		return cfg_fail(&cfg.where, "hosts_per_group", builder->err,
				"%lld hosts do not divide into groups of %lld; a divisor would be right",
				(long long)cfg.hosts, (long long)cfg.hosts_per_group);
	cfg.uplink_rate_bps = cfg.uplink_rate_bps != 0 ? cfg.uplink_rate_bps : cfg.rate_bps;
	cfg.uplink_delay_ps = cfg.uplink_delay_ps != 0 ? cfg.uplink_delay_ps : cfg.delay_ps;
	hosts = (uint32_t)cfg.hosts;
	nics = (uint32_t)cfg.nics;
	per_group = (uint32_t)cfg.hosts_per_group;
	groups = hosts / per_group;
	rc = add_nodes(&cfg, groups, builder);
	/* Host by host, NIC by NIC, so that port r+1 of a host is its NIC on rail r. */
	for (uint32_t i = 0; rc == 0 && i < hosts * nics; i++)
		rc = builder_link(builder, &cfg.where, i / nics, hosts + i / nics / per_group * nics + i % nics,
				  cfg.rate_bps, cfg.delay_ps);
	for (uint32_t sw = 0; rc == 0 && sw < groups * nics; sw++)
		for (uint32_t u = 0; rc == 0 && u < cfg.spines * cfg.parallel; u++)
			rc = builder_link(builder, &cfg.where, hosts + sw,
					  hosts + groups * nics + u / (uint32_t)cfg.parallel, cfg.uplink_rate_bps,
					  cfg.uplink_delay_ps);
	return rc;
}

const struct topo_generator topo_rail = { "rail", &table, NULL, build };
