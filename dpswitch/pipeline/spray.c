/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/spray.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "common/pkt_chance.h"
#include "dpswitch/pipeline/stages.h"

_Static_assert(TOPO_MAX_PORTS <= SWITCH_EGRESS_SPRAY, "no port is called like a set of them");

int
spray_init(struct spray *spray, const struct switch_config *config, uint32_t node)
{
	if (!balance_is_on(&config->balance))
		return 0;
	spray->balance = (struct balance){
		.params = &config->balance,
		.flows = config->flows,
		.stream = pkt_chance_stream(config->seed, PKT_CHANCE_PATH, node),
	};
	spray->set_of = calloc((size_t)flow_table_slots(config->flows) * 2 + 1, sizeof(*spray->set_of));
	return spray->set_of != NULL ? 0 : -ENOMEM;
}

void
spray_fini(struct spray *spray)
{
	spray_forget(spray);
	free(spray->sets);
	free(spray->set_of);
}

void
spray_forget(struct spray *spray)
{
	while (spray->nsets != 0)
		free(spray->sets[--spray->nsets]);
}

static void
add_set(struct spray *spray, const uint8_t *ports, uint32_t count)
{
	struct balance_set *set = calloc(1, sizeof(*set));

	if (set == NULL)
		log_fatal("out of memory for ports of equal cost");
	set->count = count;
	memcpy(set->members, ports, count);
	spray->sets = grow(spray->sets, &spray->cap, spray->nsets + 1, sizeof(struct balance_set *), "ports of equal cost");
	spray->sets[spray->nsets++] = set;
}

void
spray_remember(struct spray *spray, uint32_t flow, bool reverse, const uint8_t *ports, uint32_t count)
{
	size_t i = 0;

	while (i < spray->nsets && (spray->sets[i]->count != count || memcmp(spray->sets[i]->members, ports, count) != 0))
		i++;
	if (i == spray->nsets)
		add_set(spray, ports, count);
	assert(i <= UINT16_MAX); /* a set a switch that has hosts, at most */
	spray->set_of[flow * 2 + reverse] = (uint16_t)i;
}

uint8_t
spray_choose(struct spray *spray, const struct pkt *p)
{
	struct balance_set *set = spray->sets[spray->set_of[p->flow * 2 + ((p->flags & PKT_REVERSE) != 0)]];

	return set->members[spray->balance.params->ops->choose(&spray->balance, set, p)];
}

void
switch_spray(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct pkt *p = &pkts[i];
		uint8_t egress = sw->routes.route[p->flow * 2 + ((p->flags & PKT_REVERSE) != 0)];

		bytes += p->wire_bytes;
		p->ttl--;
		if (__builtin_expect(egress >= SWITCH_EGRESS_DROP || p->ttl == 0 || p->type == PKT_POLL, 0))
			switch_route_rare(sw, in_port, p, egress);
		else
			switch_hand_over(sw, in_port, egress != SWITCH_EGRESS_SPRAY ? egress : spray_choose(&sw->spray, p),
					 p);
	}
	sw->node.count.rx_packets += count;
	sw->node.count.rx_bytes += bytes;
}
