/* SPDX-License-Identifier: BSD-3-Clause */
/* The control plane of a switch's monitor: what its routes make of demand. */
#include <math.h>

#include "dpswitch/pipeline/volumes_predict.h"
#include "topo/spread.h"

/* The group that a node is of, for switches of this tier. */
static uint32_t
group_of(const struct switch_volumes *volumes, uint32_t node)
{
	return volumes->setup->tiers->group[volumes->tier - 1][node];
}

/* Adds a declared demand's volumes, if they come down to this switch. @return false: there is no room for its sender */
static bool
add_demand(struct switch_volumes *volumes, const struct switch_config *config, uint32_t at,
	   const struct volumes_demand *demand)
{
	const struct topo *topo = config->topo;
	const struct topo_port *dst = &topo->ports[demand->dst_port];
	uint32_t from = topo->ports[demand->src_port].peer, group = group_of(volumes, from);
	double share[TOPO_MAX_PORTS] = { 0 };
	uint16_t sender;

	if (group == group_of(volumes, at) || group_of(volumes, dst->peer) != group_of(volumes, at))
		return true;
	sender = volumes_sender(&volumes->judge.volumes, group);
	if (sender == VOLUMES_NO_SENDER)
		return false;
	spread_add(topo, config->routes, volumes->setup->kept, from, dst->node, dst->index, at, share, NULL);
	for (uint16_t i = 0; i < volumes->judge.config.volumes.ports; i++) {
		uint32_t cell = volumes_cell(&volumes->judge.volumes, i, sender);

		volumes->judge.predict.bytes[cell] += (uint64_t)llround((double)demand->bytes * share[volumes->port_of[i]]);
	}
	return true;
}

/* Each leaf of a group sends each leaf of this switch's alike, by all that its routes know. @param share, again  spread_add() */
static void
spread_group(const struct switch_volumes *volumes, const struct switch_config *config, uint32_t at, uint32_t group,
	     double *share, double *again)
{
	const struct topo *topo = config->topo;

	for (uint32_t from = 0; from < topo->nnodes; from++) {
		if (volumes->setup->tiers->of[from] != 1 || group_of(volumes, from) != group)
			continue;
		for (uint32_t h = 0; h < topo->nhosts; h++) {
			const struct topo_node *host = &topo->nodes[topo->hosts[h]];

			for (uint16_t nic = 0; nic < host->nports; nic++)
				if (group_of(volumes, topo->ports[host->first_port + nic].peer) == group_of(volumes, at))
					spread_add(topo, config->routes, volumes->setup->kept, from, topo->hosts[h], nic,
						   at, share, again);
		}
	}
}

void
volumes_share(struct switch_volumes *volumes, const struct switch_config *config, uint32_t at, uint16_t sender)
{
	const struct volumes *v = &volumes->judge.volumes;
	double share[TOPO_MAX_PORTS] = { 0 }, again[TOPO_MAX_PORTS] = { 0 }, sum = 0;

	spread_group(volumes, config, at, v->keys[sender], share, again);
	for (uint16_t i = 0; i < v->config.ports; i++)
		sum += share[volumes->port_of[i]];
	for (uint16_t i = 0; i < v->config.ports; i++) {
		uint16_t port = volumes->port_of[i];
		uint32_t cell = volumes_cell(v, i, sender);

		volumes->judge.predict.share[cell] =
			sum > 0 ? (uint64_t)llround(share[port] / sum * (double)PREDICT_WHOLE) : 0;
		volumes->judge.scores.lost[cell] = share[port] > 0 ? (float)(1 - again[port] / share[port]) : 0;
	}
}

bool
volumes_predict(struct switch_volumes *volumes, const struct switch_config *config, uint32_t at)
{
	const struct volumes_setup *setup = volumes->setup;
	struct volumes *v = &volumes->judge.volumes;
	bool room = true;

	if (volumes->judge.config.predict.source == PREDICT_DECLARED)
		predict_clear(&volumes->judge.predict, v);
	for (uint32_t i = 0; i < setup->ndemand && room; i++)
		room = add_demand(volumes, config, at, &setup->demand[i]);
	for (uint32_t i = 0; i < setup->npredicted && room; i++) {
		const struct topo_port *port = &config->topo->ports[setup->predicted[i].port];
		uint16_t sender;

		if (port->node != at || volumes->monitored[port->index] == VOLUMES_NO_PORT)
			continue;
		sender = volumes_sender(v, setup->predicted[i].sender);
		room = sender != VOLUMES_NO_SENDER;
		if (room)
			volumes->judge.predict.bytes[volumes_cell(v, volumes->monitored[port->index], sender)] =
				setup->predicted[i].bytes;
	}
	for (uint16_t s = 0; s < v->nsenders; s++)
		volumes_share(volumes, config, at, s);
	return room;
}
