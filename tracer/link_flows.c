/* SPDX-License-Identifier: BSD-3-Clause */
#include "tracer/link_flows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char *
tier_name(uint8_t tier, uint8_t most, char *buf, size_t cap)
{
	static const char *const two[] = { "host", "leaf", "spine" }, *const three[] = { "host", "edge", "aggregation",
											 "core" };

	if (most <= 2 && tier <= 2)
		return two[tier];
	if (most == 3 && tier <= 3)
		return three[tier];
	snprintf(buf, cap, tier == 0 ? "host" : "tier %u", tier);
	return buf;
}

/* @return the group of links between these tiers, made where it is new; those beyond FIM_MAX_GROUPS share the last */
static uint16_t
group_of(struct link_flows *links, uint8_t from, uint8_t to, uint8_t most)
{
	char a[16], b[16];
	uint32_t i = 0;

	while (i < links->ngroups && (links->tier[i][0] != from || links->tier[i][1] != to))
		i++;
	if (i < links->ngroups || links->ngroups == FIM_MAX_GROUPS)
		return (uint16_t)(i < links->ngroups ? i : FIM_MAX_GROUPS - 1);
	links->ngroups++;
	links->tier[i][0] = from;
	links->tier[i][1] = to;
	links->from_host[i] = from == 0;
	snprintf(links->names[i], sizeof(links->names[i]), "%s to %s", tier_name(from, most, a, sizeof(a)),
		 tier_name(to, most, b, sizeof(b)));
	return (uint16_t)i;
}

int
link_flows_init(struct link_flows *links, const struct topo *topo, const struct traced *flows, uint32_t count,
		struct err *err)
{
	struct tiers tiers = { 0 };

	*links = (struct link_flows){ .count = topo->nports };
	links->of = calloc(topo->nports + 1u, sizeof(*links->of));
	if (links->of == NULL || tiers_init(&tiers, topo) < 0) {
		free(links->of);
		return err_set(err, -ENOMEM, "out of memory for %u links", topo->nports);
	}
	for (uint32_t i = 0; i < topo->nports; i++) {
		const struct topo_port *port = &topo->ports[i];

		links->of[i] = (struct fim_link){ .rate_bps = port->rate_bps,
						  .group = group_of(links, tiers.of[port->node], tiers.of[port->peer],
								    tiers.most) };
	}
	for (uint32_t f = 0; f < count; f++)
		for (uint32_t i = 0; i < flows[f].walk.path.hops; i++)
			links->of[flows[f].walk.path.ports[i]].flows++;
	fim_even(links->of, links->count);
	tiers_fini(&tiers);
	return 0;
}

void
link_flows_fini(struct link_flows *links)
{
	free(links->of);
	links->of = NULL;
}

struct fim
link_flows_group(const struct link_flows *links, uint32_t group)
{
	return fim_of(links->of, links->count, (uint16_t)group);
}

struct fim
link_flows_all(const struct link_flows *links)
{
	struct fim_link *switched = calloc(links->count + 1u, sizeof(*switched));
	struct fim fim = { 0 };
	size_t count = 0;

	for (uint32_t i = 0; switched != NULL && i < links->count; i++)
		if (!links->from_host[links->of[i].group])
			switched[count++] = links->of[i];
	if (switched != NULL)
		fim = fim_of(switched, count, FIM_ALL);
	free(switched);
	return fim;
}
