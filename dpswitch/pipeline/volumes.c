/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/volumes.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/record.h"
#include "dpswitch/pipeline/switch.h"
#include "topo/route.h"

/*
 * The control plane of a switch's monitor: what its routes make of demand (5.2). Between windows, or when a sender is
 * new.
 */

/* ---- making ---- */

static void volumes_share(struct switch_volumes *volumes, const struct switch_config *config, uint32_t at, uint16_t sender);
static bool volumes_predict(struct switch_volumes *volumes, const struct switch_config *config, uint32_t at);

static uint16_t
find_ports(struct switch_volumes *volumes, const struct switch_config *config, const struct node *node)
{
	uint16_t count = 0;

	for (uint16_t i = 0; i < node->nports; i++) {
		bool is_uplink = tiers_is_uplink(volumes->setup->tiers, topo_port_of(config->topo, node->id, i));

		volumes->monitored[i] = is_uplink ? count : VOLUMES_NO_PORT;
		if (is_uplink)
			volumes->port_of[count++] = i;
	}
	return count;
}

/* @return 0; 1: there is nothing to monitor; negative as switch_volumes_create() */
static int
make(struct switch_volumes *volumes, const struct switch_config *config, const struct node *node, struct err *err)
{
	const struct volumes_params *params = volumes->setup->params;
	struct judge_config judge;
	uint32_t nodes = config->topo->nnodes;

	volumes->tier = volumes->setup->tiers->of[node->id];
	volumes->monitored = malloc(node->nports * sizeof(*volumes->monitored));
	volumes->port_of = malloc(node->nports * sizeof(*volumes->port_of));
	volumes->sender_of = malloc(nodes * sizeof(*volumes->sender_of));
	if (volumes->monitored == NULL || volumes->port_of == NULL || volumes->sender_of == NULL)
		return -ENOMEM;
	memset(volumes->sender_of, 0xff, nodes * sizeof(*volumes->sender_of)); /* VOLUMES_NO_SENDER */
	judge = volumes_judge_config(params, find_ports(volumes, config, node));
	judge.relative = volumes->tier > 1;
	/* The error of a file's prediction itself is unknown; the noise that ports show includes it. */
	judge.scores.is_random = config->balance.ops == &balance_random && !judge.relative &&
				 (params->prediction != REC_PREDICTION_SIMULATED || volumes->setup->predicted_of != 0);
	if (judge.volumes.ports == 0)
		return 1;
	assert(params->grace_ps >= config->window_ps && params->idle_ps >= config->window_ps);
	if (judge_init(&volumes->judge, &judge) < 0)
		return -ENOMEM;
	volumes->judge.scores.mean_of = volumes->setup->predicted_of;
	volumes->sent.is_counted = balance_evens_out(&config->balance);
	if (volumes->sent.is_counted) {
		volumes->up_of = calloc(config->flows->count + 1u, sizeof(*volumes->up_of));
		if (volumes->up_of == NULL)
			return -ENOMEM;
	}
	if (!volumes_predict(volumes, config, node->id))
		return cfg_fail(&params->where, "senders", err,
				"%lld are not enough: at switch %s more switches' hosts send", (long long)params->senders,
				config->topo->nodes[node->id].name);
	volumes->sum.ports = judge.volumes.ports;
	volumes->sum.bytes = (uint32_t)judge_bytes(&judge);
	return 0;
}

int
switch_volumes_create(const struct switch_config *config, const struct node *node, struct switch_volumes **volumes,
		      struct err *err)
{
	struct switch_volumes *made;
	int ret;

	*volumes = NULL;
	if (config->volumes == NULL)
		return 0;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	made->setup = config->volumes;
	ret = make(made, config, node, err);
	if (ret != 0)
		switch_volumes_destroy(made);
	else
		*volumes = made;
	return ret < 0 ? ret : 0;
}

void
switch_volumes_destroy(struct switch_volumes *volumes)
{
	if (volumes == NULL)
		return;
	judge_fini(&volumes->judge);
	free(volumes->monitored);
	free(volumes->port_of);
	free(volumes->sender_of);
	free(volumes->up_of);
	free(volumes);
}

/* ---- counting ---- */

/* The sender of what a flow brings. Hosts with NICs at several switches are looked up each time. */
static uint16_t
find_sender(struct sw *sw, const struct flow *flow)
{
	struct switch_volumes *volumes = sw->volumes;
	const struct topo *topo = sw->config->topo;
	const struct topo_node *host = &topo->nodes[flow->src_node];
	struct volumes *v = &volumes->judge.volumes;
	uint16_t known = v->nsenders;
	uint32_t key = tiers_group_of(volumes->setup->tiers, topo, volumes->tier, host->first_port + flow->src_nic);
	uint16_t sender = key != TOPO_NONE ? volumes_sender(v, key) : VOLUMES_NO_SENDER;

	if (v->nsenders != known)
		volumes_share(volumes, sw->config, sw->node.id, sender);
	if (host->nports == 1)
		volumes->sender_of[flow->src_node] = sender;
	return sender;
}

/* Looks up whether a flow goes up from here, to the tier above. Not inlined: once a flow. */
static __attribute__((noinline)) uint8_t
find_direction(const struct sw *sw, uint32_t flow_id)
{
	const struct switch_volumes *volumes = sw->volumes;
	const struct topo *topo = sw->config->topo;
	const struct tiers *tiers = volumes->setup->tiers;
	const struct flow *flow = &sw->config->flows->flows[flow_id];
	uint32_t nic = topo->nodes[flow->dst_node].first_port + flow->dst_nic;
	bool goes_up = tiers_group_of(tiers, topo, volumes->tier, nic) != tiers->group[volumes->tier - 1][sw->node.id];

	volumes->up_of[flow_id] = goes_up ? VOLUMES_GOES_UP : VOLUMES_STAYS;
	return volumes->up_of[flow_id];
}

/* Does a flow go up from here, to the tier above? */
static inline bool
goes_up(const struct sw *sw, uint32_t flow)
{
	uint8_t direction = sw->volumes->up_of[flow];

	return (__builtin_expect(direction == VOLUMES_UNKNOWN, 0) ? find_direction(sw, flow) : direction) ==
	       VOLUMES_GOES_UP;
}

/* Counts what arrives from below and shares the ports to the tier above with measured data. */
static void
count_sent(struct sw *sw, const struct pkt *pkts, uint32_t count)
{
	struct volumes_sent *sent = &sw->volumes->sent;

	for (uint32_t i = 0; i < count; i++) {
		const struct pkt *p = &pkts[i];
		bool is_measured = tag_is(p->tag);

		if (p->type != PKT_DATA || (!is_measured && (sent->classes & 1u << p->prio) == 0) || !goes_up(sw, p->flow))
			continue;
		if (is_measured) {
			sent->classes |= (uint8_t)(1u << p->prio);
			sent->measured_bytes += p->wire_bytes;
		} else {
			sent->other_bytes += p->wire_bytes;
		}
	}
}

void
switch_volumes_count(struct sw *sw, uint16_t in_port, const struct pkt *pkts, uint32_t count)
{
	struct switch_volumes *volumes = sw->volumes;
	uint16_t port = volumes->monitored[in_port];

	if (port == VOLUMES_NO_PORT) {
		if (volumes->sent.is_counted)
			count_sent(sw, pkts, count);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct pkt *p = &pkts[i];
		const struct flow *flow;
		uint16_t sender;

		if (p->type != PKT_DATA || !tag_is(p->tag) || (p->flags & PKT_CORRUPT))
			continue;
		flow = &sw->config->flows->flows[p->flow];
		sender = volumes->sender_of[flow->src_node];
		if (__builtin_expect(sender == VOLUMES_NO_SENDER, 0))
			sender = find_sender(sw, flow);
		volumes_add(&volumes->judge.volumes, port, sender, tag_iteration4(p->tag), p->wire_bytes, p->time_ps);
	}
}

/* ---- reporting ---- */

static void
put_volumes(struct sw *sw, const struct volumes_slot *slot, uint64_t at_ps)
{
	const struct judge *j = &sw->volumes->judge;

	for (uint16_t port = 0; port < j->config.volumes.ports; port++) {
		for (uint16_t s = 0; s < j->volumes.nsenders; s++) {
			uint32_t cell = volumes_cell(&j->volumes, port, s);
			struct rec_volume rec = {
				.port = sw->volumes->port_of[port],
				.flaws = (uint16_t)(slot->flaws | j->flaws[s]),
				.sender = j->volumes.keys[s],
				.iteration = slot->iteration,
				.learned = j->outcome == JUDGE_LEARNED,
				.predicted = j->outcome == JUDGE_LEARNED ? 0 : j->expected[cell],
				.seen = slot->counts[cell].bytes,
				.packets = slot->counts[cell].packets,
			};

			if (rec.predicted != 0 || rec.seen != 0)
				recbuf_put(&sw->node.records, &rec, REC_VOLUME, sizeof(rec), at_ps);
		}
	}
}

static uint32_t
ppm(double share)
{
	return share < UINT32_MAX / DETECT_PPM ? (uint32_t)(share * DETECT_PPM + 0.5) : UINT32_MAX;
}

static void
put_alarm(struct sw *sw, const struct volumes_slot *slot, const struct judge_alarm *alarm, uint64_t at_ps)
{
	const struct locate_place *place = &alarm->place;
	const struct judge *j = &sw->volumes->judge;
	struct rec_volume_alarm rec = {
		.port = sw->volumes->port_of[alarm->port],
		.place = (uint16_t)place->where,
		.sender = place->sender != VOLUMES_NO_SENDER ? j->volumes.keys[place->sender] : REC_NONE,
		.iteration = slot->iteration,
		.pooled = alarm->pooled,
		.predicted = alarm->sample.predicted,
		.seen = alarm->sample.seen,
		.expected = (uint64_t)place->expected_bytes,
		.got = (uint64_t)place->got_bytes,
		.packets = (uint64_t)place->got_packets,
		.drop_ppm = ppm(place->drop),
		.low_ppm = ppm(place->drop_low),
		.high_ppm = ppm(place->drop_high),
		.dispersion_ppm = ppm(place->dispersion),
		.noise = alarm->noise,
		.reference_packets = (uint64_t)place->reference_packets,
	};

	recbuf_put(&sw->node.records, &rec, REC_VOLUME_ALARM, sizeof(rec), at_ps);
}

/* One record of each reason, of the iteration and of each sender. */
static void
put_flaws(struct sw *sw, const struct volumes_slot *slot, uint64_t at_ps)
{
	const struct judge *j = &sw->volumes->judge;

	for (uint32_t s = 0; s <= j->volumes.nsenders; s++) {
		bool whole = s == j->volumes.nsenders;
		uint32_t flaws = whole ? slot->flaws : j->flaws[s];

		for (uint32_t flaw = 0; flaw < ENUM_COUNT(REC_VOLUME_FLAWS); flaw++) {
			struct rec_volume_flaw rec = { .sender = whole ? REC_NONE : j->volumes.keys[s],
						       .iteration = slot->iteration,
						       .flaw = flaw };

			if ((flaws & VOLUMES_FLAW(flaw)) == 0)
				continue;
			for (uint16_t port = 0; port < j->config.volumes.ports && !whole; port++) {
				uint32_t cell = volumes_cell(&j->volumes, port, (uint16_t)s);

				rec.predicted += j->expected[cell];
				rec.seen += slot->counts[cell].bytes;
			}
			recbuf_put(&sw->node.records, &rec, REC_VOLUME_FLAW, sizeof(rec), at_ps);
		}
	}
}

/* Others' data since the last iteration. @param iteration  REC_NONE: none was ever counted here */
static void
put_shared(struct sw *sw, uint32_t iteration, uint64_t at_ps)
{
	struct volumes_sent *sent = &sw->volumes->sent;
	struct rec_volume_flaw rec = { .sender = REC_NONE,
				       .iteration = iteration,
				       .flaw = REC_FLAW_SHARED,
				       .predicted = sent->measured_bytes,
				       .seen = sent->other_bytes };

	if (sent->other_bytes != 0 && sent->measured_bytes != 0)
		recbuf_put(&sw->node.records, &rec, REC_VOLUME_FLAW, sizeof(rec), at_ps);
	sent->measured_bytes = sent->other_bytes = 0;
}

static void
judge_slot(struct sw *sw, struct volumes_slot *slot, uint64_t at_ps)
{
	struct switch_volumes *volumes = sw->volumes;
	struct judge *j = &volumes->judge;
	struct rec_monitored *sum = &volumes->sum;
	enum judge_outcome outcome = judge_iteration(j, slot);

	sum->flawed += outcome == JUDGE_FLAWED;
	sum->learned += outcome == JUDGE_LEARNED;
	sum->relearned += outcome == JUDGE_RELEARNED;
	sum->compared += outcome == JUDGE_COMPARED;
	sum->alarms += j->nalarms != 0;
	put_flaws(sw, slot, at_ps);
	put_shared(sw, slot->iteration, at_ps);
	for (uint32_t i = 0; i < j->nalarms; i++)
		put_alarm(sw, slot, &j->alarms[i], at_ps);
	if (j->nalarms != 0 || volumes->setup->params->export == VOLUMES_EXPORT_COUNTS)
		put_volumes(sw, slot, at_ps);
	volumes_release(&j->volumes, slot);
}

void
switch_volumes_window(struct sw *sw, uint64_t end_ps)
{
	struct volumes *v = &sw->volumes->judge.volumes;
	struct volumes_slot *slot;
	uint64_t at_ps;

	volumes_window(v, end_ps);
	while ((slot = volumes_due(v, end_ps, &at_ps)) != NULL)
		judge_slot(sw, slot, at_ps);
}

void
switch_volumes_end(struct sw *sw, uint64_t now_ps)
{
	struct volumes *v = &sw->volumes->judge.volumes;
	struct rec_monitored *sum = &sw->volumes->sum;
	struct volumes_slot *slot;

	volumes_window(v, now_ps);
	while ((slot = volumes_last(v)) != NULL)
		judge_slot(sw, slot, now_ps);
	if (sum->compared + sum->learned + sum->relearned + sum->flawed == 0)
		put_shared(sw, REC_NONE, now_ps);
	sum->senders = v->nsenders;
	sum->late_packets = v->late_packets;
	sum->lost_packets = v->lost_packets;
	recbuf_put(&sw->node.records, sum, REC_MONITORED, sizeof(*sum), now_ps);
}

void
switch_volumes_rerouted(struct sw *sw)
{
	volumes_routes_changed(&sw->volumes->judge.volumes);
	volumes_predict(sw->volumes, sw->config, sw->node.id);
	if (sw->volumes->setup->params->prediction == REC_PREDICTION_SIMULATED) /* that was of other routes */
		predict_clear(&sw->volumes->judge.predict, &sw->volumes->judge.volumes);
	predict_split(&sw->volumes->judge.predict, &sw->volumes->judge.volumes);
	scores_forget(&sw->volumes->judge.scores, &sw->volumes->judge.volumes);
}

/* The control plane of a switch's monitor: what its routes make of demand. */

/* The group that a node is of, for switches of this tier. */
static uint32_t
group_of(const struct switch_volumes *volumes, uint32_t node)
{
	return volumes->setup->tiers->group[volumes->tier - 1][node];
}

/* Adds a declared demand's volumes, if they descend to this switch. @return false: there is no room for its sender */
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

/*
 * Each leaf of a group sends each leaf of this switch's alike, by all that its routes know. @param share, again
 * spread_add()
 */
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

/* Sets the ports of a sender's bytes, as shares of all that arrive here. */
static void
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

/*
 * Predicts volumes, from those declared or found by earlier runs, by the present routes, and shares of all senders
 * known.
 * @param at  the switch  @return false: there is no room for all senders
 */
static bool
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
