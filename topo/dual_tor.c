/* SPDX-License-Identifier: BSD-3-Clause */
/* kind = "dual-tor": racks whose hosts are bonded to all leaves of their rack, and spines above. */
#include "common/array.h"
#include "topo/builder.h"

struct dual_tor_cfg {
	struct cfg_where where;
	int64_t hosts, hosts_per_rack, nics, nic_ports, leaves_per_rack, spines, parallel;
	uint64_t rate_bps, uplink_rate_bps, delay_ps, uplink_delay_ps;
	bool bond;
};

#define S struct dual_tor_cfg
static const struct cfg_field fields[] = {
	CFG_FIELD("hosts", CFG_INT, offsetof(S, hosts), .min = 1, .max = TOPO_MAX_NODES, .doc = "Hosts h0.."),
	CFG_FIELD("hosts_per_rack", CFG_INT, offsetof(S, hosts_per_rack), .min = 1, .max = TOPO_MAX_PORTS,
		  .doc = "Hosts of a rack; h0.. are the first rack's"),
	CFG_FIELD("nics", CFG_INT, offsetof(S, nics), .def = "1", .min = 1, .max = TOPO_MAX_NICS, .doc = "NICs of a host"),
	CFG_FIELD("nic_ports", CFG_INT, offsetof(S, nic_ports), .def = "2", .min = 1, .max = TOPO_MAX_NICS,
		  .doc = "Ports of a NIC, each to another leaf of the rack"),
	CFG_FIELD("leaves_per_rack", CFG_INT, offsetof(S, leaves_per_rack), .def = "2", .min = 1, .max = TOPO_MAX_PORTS,
		  .doc = "Leaf switches of a rack; l0.. are the first rack's"),
	CFG_FIELD("spines", CFG_INT, offsetof(S, spines), .min = 1, .max = TOPO_MAX_PORTS, .doc = "Spine switches s0.."),
	CFG_FIELD("parallel", CFG_INT, offsetof(S, parallel), .def = "1", .min = 1, .max = TOPO_MAX_PORTS,
		  .doc = "Links between a leaf and a spine"),
	CFG_FIELD("bond", CFG_BOOL, offsetof(S, bond), .def = "true",
		  .doc = "All ports of a host are one bond (LAG) with one address; else each is a NIC with its own"),
	CFG_FIELD("rate", CFG_RATE, offsetof(S, rate_bps), .def = "100Gbps", .min = 1e6, .max = TOPO_MAX_RATE_BPS,
		  .doc = "Rate of links to hosts"),
	CFG_FIELD("delay", CFG_TIME, offsetof(S, delay_ps), .def = "1us", .min = 1, .max = 1e12,
		  .doc = "One-way delay of links to hosts"),
	CFG_FIELD("uplink_rate", CFG_RATE, offsetof(S, uplink_rate_bps), .def = "", .min = 1e6, .max = TOPO_MAX_RATE_BPS,
		  .doc = "Rate of a link between leaf and spine; default: rate"),
	CFG_FIELD("uplink_delay", CFG_TIME, offsetof(S, uplink_delay_ps), .def = "", .min = 1, .max = 1e12,
		  .doc = "Delay of a link between leaf and spine; default: delay"),
};
#undef S

static const struct cfg_table table = {
	.path = "topology",
	.doc = "Racks whose hosts lead to several leaves, as bonds: port p of NIC n is the host's port n * nic_ports + p + "
	       "1, "
	       "at leaf (n * nic_ports + p) % leaves_per_rack of the rack. A leaf has its hosts on its first ports, then "
	       "its "
	       "spines.",
	.size = sizeof(struct dual_tor_cfg),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

static int
check(struct dual_tor_cfg *cfg, struct err *err)
{
	if (cfg->hosts % cfg->hosts_per_rack != 0)
		return cfg_fail(&cfg->where, "hosts_per_rack", err,
				"%lld hosts do not divide into racks of %lld; a divisor would be right",
				(long long)cfg->hosts, (long long)cfg->hosts_per_rack);
	if (cfg->nic_ports > cfg->leaves_per_rack)
		return cfg_fail(
			&cfg->where, "nic_ports", err,
			"%lld ports of a NIC cannot lead to different ones of %lld leaves; at most that many would be "
			"right",
			(long long)cfg->nic_ports, (long long)cfg->leaves_per_rack);
	cfg->uplink_rate_bps = cfg->uplink_rate_bps != 0 ? cfg->uplink_rate_bps : cfg->rate_bps;
	cfg->uplink_delay_ps = cfg->uplink_delay_ps != 0 ? cfg->uplink_delay_ps : cfg->delay_ps;
	return 0;
}

static int
add_nodes(const struct dual_tor_cfg *cfg, uint32_t leaves, struct builder *builder)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < cfg->hosts; i++)
		rc = builder_numbered(builder, TOPO_HOST, "h", i);
	for (uint32_t i = 0; rc == 0 && i < leaves; i++)
		rc = builder_numbered(builder, TOPO_SWITCH, "l", i);
	for (uint32_t i = 0; rc == 0 && i < cfg->spines; i++)
		rc = builder_numbered(builder, TOPO_SWITCH, "s", i);
	for (uint32_t i = 0; rc == 0 && cfg->bond && i < cfg->hosts; i++)
		builder_bond(builder, i);
	return rc == 0 ? builder_index(builder) : rc;
}

static int
build(const struct cfg *tree, struct builder *builder)
{
	uint32_t hosts, leaves, per_rack, ports;
	struct dual_tor_cfg cfg;
	int rc = cfg_bind(tree, &table, &cfg, builder->err);

	if (rc == 0)
		rc = check(&cfg, builder->err);
	if (rc != 0)
		return rc;
	hosts = (uint32_t)cfg.hosts;
	per_rack = (uint32_t)cfg.leaves_per_rack;
	ports = (uint32_t)(cfg.nics * cfg.nic_ports);
	leaves = hosts / (uint32_t)cfg.hosts_per_rack * per_rack;
	rc = add_nodes(&cfg, leaves, builder);
	for (uint32_t host = 0; rc == 0 && host < hosts; host++)
		for (uint32_t p = 0; rc == 0 && p < ports; p++)
			rc = builder_link(builder, &cfg.where, host,
					  hosts + host / (uint32_t)cfg.hosts_per_rack * per_rack + p % per_rack,
					  cfg.rate_bps, cfg.delay_ps);
	for (uint32_t leaf = 0; rc == 0 && leaf < leaves; leaf++)
		for (uint32_t u = 0; rc == 0 && u < cfg.spines * cfg.parallel; u++)
			rc = builder_link(builder, &cfg.where, hosts + leaf, hosts + leaves + u / (uint32_t)cfg.parallel,
					  cfg.uplink_rate_bps, cfg.uplink_delay_ps);
	return rc;
}

const struct topo_generator topo_dual_tor = { "dual-tor", &table, NULL, build };
