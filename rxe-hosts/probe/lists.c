/* SPDX-License-Identifier: BSD-3-Clause */
/* Whom an RNIC probes, in turn, and by which flow. */
#include <errno.h>
#include <stdlib.h>

#include "rxe-hosts/probe/inside.h"

static int
by_tuple(const void *a, const void *b)
{
	const struct probe_path_key *x = a, *y = b;

	if (x->nic != y->nic)
		return x->nic < y->nic ? -1 : 1;
	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	return x->sport < y->sport ? -1 : x->sport > y->sport;
}

int
probe_paths_init(struct probe_agent *agent)
{
	const struct flow_table *flows = agent->config.flows;
	uint32_t count = 0;

	for (uint32_t i = 0; i < flows->count; i++)
		count += flows->flows[i].src_node == agent->config.node;
	agent->paths = calloc(count + 1u, sizeof(*agent->paths));
	if (agent->paths == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < flows->count; i++) {
		const struct flow *flow = &flows->flows[i];

		if (flow->src_node == agent->config.node && flow->dport == ROCEV2_UDP_PORT)
			agent->paths[agent->npaths++] =
				(struct probe_path_key){ flow->src_nic, flow->dst_ip, flow->sport, i };
	}
	qsort(agent->paths, agent->npaths, sizeof(*agent->paths), by_tuple);
	return 0;
}

uint32_t
probe_path_key_of(const struct probe_agent *agent, uint32_t nic, uint32_t ip, uint16_t sport)
{
	const struct probe_path_key key = { nic, ip, sport, 0 };
	const struct probe_path_key *found = bsearch(&key, agent->paths, agent->npaths, sizeof(key), by_tuple);

	return found != NULL ? found->flow : PROBE_NO_FLOW;
}

int
probe_list_add(struct probe_list *list, struct probe_target target)
{
	if (list->count == list->cap) {
		uint32_t cap = list->cap == 0 ? 16 : 2 * list->cap;
		struct probe_target *targets = realloc(list->targets, cap * sizeof(*targets));

		if (targets == NULL)
			return -ENOMEM;
		list->targets = targets;
		list->cap = cap;
	}
	list->targets[list->count++] = target;
	return 0;
}

void
probe_list_set(struct probe_agent *agent, struct probe_list *list, uint64_t interval_ps, uint64_t now_ps)
{
	if (list->count == 0) {
		list->next_ps = TIME_NEVER;
		return;
	}
	list->gap_ps = interval_ps / list->count + (interval_ps < list->count);
	if (list->at >= list->count)
		list->at = 0;
	if (list->next_ps == TIME_NEVER)
		list->next_ps = now_ps + prng_below(&agent->prng, list->gap_ps);
}

/* Fisher and Yates's. */
static void
shuffle(struct prng *prng, struct probe_list *list)
{
	for (uint32_t i = list->count; i > 1; i--) {
		uint32_t k = (uint32_t)prng_below(prng, i);
		struct probe_target last = list->targets[i - 1];

		list->targets[i - 1] = list->targets[k];
		list->targets[k] = last;
	}
}

const struct probe_target *
probe_list_turn(struct probe_agent *agent, struct probe_list *list, bool shuffled)
{
	list->next_ps += list->gap_ps;
	for (uint32_t i = 0; i < list->count; i++) {
		const struct probe_target *target;

		if (list->at == 0 && shuffled)
			shuffle(&agent->prng, list);
		target = &list->targets[list->at];
		list->at = list->at + 1 == list->count ? 0 : list->at + 1;
		if (target->qpn != 0)
			return target;
	}
	return NULL;
}
