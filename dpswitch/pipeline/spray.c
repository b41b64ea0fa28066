/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/spray.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/pkt_chance.h"
#include "common/units.h"
#include "dpswitch/pipeline/switch.h"

_Static_assert(TOPO_MAX_PORTS <= SWITCH_EGRESS_SPRAY, "no port has the name of a set of ports");

int
spray_init(struct spray *spray, const struct switch_config *config, uint32_t node)
{
	size_t directions = (size_t)flow_table_slots(config->flows) * 2 + 1;

	if (!balance_is_on(&config->balance))
		return 0;
	spray->topo = config->topo;
	spray->node = node;
	spray->balance = (struct balance){
		.params = &config->balance,
		.flows = config->flows,
		.stream = pkt_chance_stream(config->seed, PKT_CHANCE_PATH, node),
	};
	spray->set_of = calloc(directions, sizeof(*spray->set_of));
	if (config->balance.ops->per_flow)
		spray->balance.flow_word = calloc(directions, sizeof(*spray->balance.flow_word));
	return spray->set_of != NULL && (spray->balance.flow_word != NULL) == config->balance.ops->per_flow ? 0 : -ENOMEM;
}

static void
forget(struct spray *spray)
{
	while (spray->nsets != 0) {
		free(spray->sets[--spray->nsets]->words);
		free(spray->sets[spray->nsets]);
	}
}

void
spray_fini(struct spray *spray)
{
	forget(spray);
	free(spray->sets);
	free(spray->set_of);
	free(spray->balance.flow_word);
}

void
switch_forget_sets(struct sw *sw)
{
	struct spray *spray = &sw->spray;

	forget(spray);
	if (spray->balance.flow_word != NULL)
		memset(spray->balance.flow_word, 0,
		       (size_t)flow_table_slots(spray->balance.flows) * 2 * sizeof(*spray->balance.flow_word));
	if (spray->balance.params->ops->in_order)
		group_find(&sw->group, sw->config, sw->node.id);
}

static void
add_set(struct spray *spray, const uint8_t *ports, uint32_t count)
{
	const struct balance_ops *ops = spray->balance.params->ops;
	struct balance_set *set = calloc(1, sizeof(*set));
	size_t words = ops->set_words != NULL ? ops->set_words(count) : 0;

	if (set == NULL || (words != 0 && (set->words = calloc(words, sizeof(*set->words))) == NULL))
		log_fatal("out of memory for ports of equal cost");
	set->count = count;
	set->fastest_ps = UINT32_MAX;
	memcpy(set->members, ports, count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t byte_ps = 8 * PS_PER_S / topo_port_of(spray->topo, spray->node, ports[i])->rate_bps;

		set->byte_ps[i] = byte_ps != 0 ? (uint32_t)byte_ps : 1;
		set->fastest_ps = set->byte_ps[i] < set->fastest_ps ? set->byte_ps[i] : set->fastest_ps;
	}
	if (ops->set_begin != NULL)
		ops->set_begin(spray->balance.params, set);
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

static inline __attribute__((always_inline)) void
hand_over(struct sw *sw, uint16_t in_port, uint8_t egress, struct pkt *p, bool extra)
{
	struct spray *spray = &sw->spray;

	if (sw->group.count != 0 && (egress == SWITCH_EGRESS_SPRAY || group_has(&sw->group, egress))) {
		p->in_port = (uint8_t)in_port;
		p->out_port = egress;
		arrivals_add(&sw->group.arrivals, in_port, p, sw->arriving, extra);
		account_arrive(&sw->account, p);
		return;
	}
	if (egress == SWITCH_EGRESS_SPRAY)
		egress = spray_choose(spray, spray_set(spray, p->flow, p->flags & PKT_REVERSE),
				      &(struct balance_ask){ .p = p });
	switch_hand_over(sw, in_port, egress, p, extra);
}

void
switch_hand_over_sprayed(struct sw *sw, uint16_t in_port, uint8_t egress, struct pkt *p)
{
	hand_over(sw, in_port, egress, p, true);
}

void
switch_spray(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count)
{
	if (__builtin_expect(flow_map_is_direct(&sw->routes.cache), 1))
		switch_route_all(sw, in_port, pkts, count, true, hand_over);
	else
		switch_route_all(sw, in_port, pkts, count, false, hand_over);
}
