/* SPDX-License-Identifier: BSD-3-Clause */
/* Source ports of single queue pairs: which of the ports of equal cost their packets take is up to these. */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/wire/notify.h"
#include "common/wire/poll.h"
#include "scenario/scenario_load.h"
#include "workload/jobs/endpoint.h"

struct port_cfg {
	struct cfg_where where;
	const char *src, *dst;
	int64_t sport, dport, to;
};

#define S struct port_cfg
static const struct cfg_field fields[] = {
	{ "src", CFG_STRING, offsetof(S, src), NULL, 0, 0, NULL, "Sending host, or host:nic" },
	{ "dst", CFG_STRING, offsetof(S, dst), NULL, 0, 0, NULL, "Receiving host, or host:nic" },
	{ "sport", CFG_INT, offsetof(S, sport), NULL, 1, 65535, NULL, "UDP source port that the flow would have" },
	{ "dport", CFG_INT, offsetof(S, dport), "4791", 1, 65535, NULL, "Its UDP destination port" },
	{ "to", CFG_INT, offsetof(S, to), NULL, 1, 65535, NULL, "UDP source port that it has" },
};
#undef S

const struct cfg_table source_ports_cfg = {
	.path = "source_ports",
	.doc = "Flows whose queue pairs send from another UDP source port than their collective gives them: hashes see it, "
	       "and "
	       "lead them elsewhere. rocelab trace --advise finds ports that are better.",
	.list = true,
	.size = sizeof(struct port_cfg),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

/* Addresses, which tell NICs apart and members of a bond not. */
struct ends {
	uint32_t src_ip, dst_ip;
};

static int
find_ends(const struct scenario *sc, const struct port_cfg *cfg, struct ends *ends, struct err *err)
{
	struct endpoint src, dst;
	int ret = endpoint_find(sc->topo, cfg->src, &cfg->where, "src", &src, err);

	if (ret == 0)
		ret = endpoint_find(sc->topo, cfg->dst, &cfg->where, "dst", &dst, err);
	if (ret == 0)
		*ends = (struct ends){ topo_host_ip(sc->topo, src.node, src.nic),
				       topo_host_ip(sc->topo, dst.node, dst.nic) };
	return ret;
}

static bool
has_ends(const struct flow *flow, const struct ends *ends, int64_t dport)
{
	return flow->src_ip == ends->src_ip && flow->dst_ip == ends->dst_ip && flow->dport == dport;
}

/* @return the flow that has these ends and port, or NULL. @param ports  as they were, or are */
static struct flow *
find_flow(const struct flow_table *table, const uint16_t *ports, const struct ends *ends, int64_t sport, int64_t dport)
{
	for (uint32_t f = 0; f < table->count; f++)
		if (ports[f] == sport && has_ends(&table->flows[f], ends, dport))
			return &table->flows[f];
	return NULL;
}

/* @param before  [flows] source ports as the plan gave them; 0: moved @param now  as they are to be */
static int
move(const struct scenario *sc, const struct port_cfg *cfg, uint16_t *before, uint16_t *now, struct err *err)
{
	const struct flow_table *table = &sc->plan->flows;
	const struct flow *flow;
	struct ends ends;
	int ret = find_ends(sc, cfg, &ends, err);

	if (ret != 0)
		return ret;
	flow = find_flow(table, before, &ends, cfg->sport, cfg->dport);
	if (flow == NULL)
		return cfg_fail(&cfg->where, "sport", err, "no flow %s->%s/%lld>%lld, or it was moved before", cfg->src,
				cfg->dst, (long long)cfg->sport, (long long)cfg->dport);
	if (flow->kind == FLOW_CONTROL || flow->kind == FLOW_PROBE)
		return cfg_fail(&cfg->where, "sport", err, "%lld: the flow carries no data", (long long)cfg->sport);
	if (cfg->to == POLL_UDP_PORT || cfg->to == NOTIFY_UDP_PORT)
		return cfg_fail(&cfg->where, "to", err, "%lld is a port of polling packets or of notifications",
				(long long)cfg->to);
	before[flow - table->flows] = 0;
	now[flow - table->flows] = (uint16_t)cfg->to;
	return 0;
}

/* Two flows of one 5-tuple, after all moves. */
static int
check_port(const struct scenario *sc, const struct port_cfg *cfg, const uint16_t *now, struct err *err)
{
	const struct flow_table *table = &sc->plan->flows;
	uint32_t count = 0;
	struct ends ends;
	int ret = find_ends(sc, cfg, &ends, err);

	for (uint32_t f = 0; ret == 0 && f < table->count; f++)
		count += now[f] == cfg->to && has_ends(&table->flows[f], &ends, cfg->dport);
	if (count > 1)
		return cfg_fail(&cfg->where, "to", err, "another flow %s->%s has port %lld; a free one would be right",
				cfg->src, cfg->dst, (long long)cfg->to);
	return ret;
}

int
scenario_move_ports(struct scenario *sc, struct err *err)
{
	struct flow_table *table = &sc->plan->flows;
	uint16_t *before = calloc(table->count + 1u, sizeof(*before)), *now = calloc(table->count + 1u, sizeof(*now));
	void *bound = NULL;
	const struct port_cfg *items;
	size_t count = 0;
	int ret = before != NULL && now != NULL ? 0 : err_set(err, -ENOMEM, "out of memory for %u flows", table->count);

	if (ret == 0)
		ret = cfg_bind_list(sc->cfg, &source_ports_cfg, NULL, &bound, &count, err);
	items = bound;
	for (uint32_t f = 0; ret == 0 && f < table->count; f++)
		before[f] = now[f] = table->flows[f].sport;
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = move(sc, &items[i], before, now, err);
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = check_port(sc, &items[i], now, err);
	for (uint32_t f = 0; ret == 0 && f < table->count; f++)
		table->flows[f].sport = now[f];
	free(bound);
	free(before);
	free(now);
	return ret;
}
