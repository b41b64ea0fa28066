/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of buffers before a run: thresholds that never act, headroom and pools that are short. */
#include "emulation/preflight.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/units.h"
#include "dpswitch/pipeline/switch.h"
#include "scenario/profile.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

/*
 * ECN that cannot mark: ingresses that fill an egress are paused, or their senders' windows are full, before its queue is
 * long enough.
 */

#define DYNAMIC_TH_MOST 8 /* of a profile */
#define MANY_FLOWS 65536  /* whose windows together bound no queue */

/* What the flows' paths lead to an egress. */
struct load {
	uint64_t busy[(TOPO_MAX_PORTS + 63) / 64]; /* ingresses of its switch, a bit each */
	uint32_t flows;
};

#define ANY_CLASS 0 /* which control has, and no data */

/* @param prio  of the class in which switches serve it, or ANY_CLASS */
static void
add_path(struct load *loads, const struct preflight *c, const struct route_path *path, uint32_t flow, uint8_t prio)
{
	const struct topo *topo = c->sc->topo;

	for (uint32_t h = 1; h < path->hops; h++) {
		struct load *load = &loads[path->ports[h]];
		uint16_t ingress = topo->ports[path->ports[h - 1]].peer_index;
		const struct sw *sw = c->switches[topo->ports[path->ports[h]].node];

		if (prio != ANY_CLASS && switch_class_of(sw, ingress, &c->sc->plan->flows.flows[flow]) != prio)
			continue;
		load->busy[ingress / 64] |= 1ULL << ingress % 64;
		load->flows++;
	}
}

/* Where packets take paths of their own, each egress may have any flow's, by any other port. */
static void
add_all(struct load *loads, const struct topo *topo, uint32_t flows)
{
	for (uint32_t p = 0; p < topo->nports; p++) {
		for (uint16_t i = 0; i < topo->nodes[topo->ports[p].node].nports; i++)
			if (i != topo->ports[p].index)
				loads[p].busy[i / 64] |= 1ULL << i % 64;
		loads[p].flows = flows;
	}
}

/* @return [ports], the caller's to free; NULL: out of memory */
static struct load *
find_loads(const struct preflight *c, uint8_t prio)
{
	const struct scenario *sc = c->sc;
	struct load *loads = calloc(sc->topo->nports + 1u, sizeof(*loads));

	if (loads != NULL && balance_is_on(&sc->balance))
		add_all(loads, sc->topo, sc->plan->flows.count);
	for (uint32_t f = 0; loads != NULL && !balance_is_on(&sc->balance) && f < sc->plan->flows.count; f++) {
		struct route_path path;

		if (plan_flow_sends(sc->plan, f) && scenario_path(sc, f, false, &path) == 0)
			add_path(loads, c, &path, f, prio);
	}
	return loads;
}

/* What one egress makes of its busy ingresses. */
struct marking {
	uint32_t port, busy;
	uint8_t prio;
	uint64_t xoff_bytes;  /* of each, when all have as much: reserve and threshold */
	uint64_t queue_bytes; /* then; of a class without PFC: the most that its queue holds */
	uint64_t kmin_bytes;
	bool paused; /* the class has PFC */
};

static const struct pfc_params *
pfc_at(const struct sw *sw, uint16_t index, uint8_t prio)
{
	return account_params(&sw->account, &sw->account.ingress[account_index(&sw->account, index, prio)]);
}

/* @return limit of a port's queue by its pool, when it is alone; UINT64_MAX: it has none */
static uint64_t
queue_limit(const struct sw *sw, uint16_t port, uint8_t prio)
{
	const struct pool_queue *queue =
		sw->account.pools != NULL ? &sw->account.pools->queues[port * SWITCH_CLASSES + prio] : NULL;
	double alpha;

	if (queue == NULL || queue->pool == BUFFER_POOLS)
		return UINT64_MAX;
	if (queue->params.model == PFC_STATIC)
		return queue->params.reserve_bytes + queue->params.xoff_bytes;
	alpha = (double)queue->params.alpha_num / (double)(1u << queue->params.alpha_shift);
	return queue->params.reserve_bytes + (uint64_t)(alpha * (double)queue->params.pool_bytes / (1 + alpha));
}

/*
 * With n ingresses of the same fill x above their reserves, the dynamic threshold is alpha (pool - n x): they reach it at
 * x = alpha pool / (1 + n alpha).
 */
static struct marking
mark(const struct sw *sw, uint16_t index, uint8_t prio, uint32_t busy)
{
	const struct pfc_params *pfc = pfc_at(sw, index, prio);
	double alpha = (double)pfc->alpha_num / (double)(1u << pfc->alpha_shift);
	uint64_t above = pfc->model == PFC_STATIC ? pfc->xoff_bytes
						  : (uint64_t)(alpha * (double)pfc->pool_bytes / (1 + busy * alpha));

	if ((account_configured(sw, index) >> prio & 1) == 0)
		return (struct marking){ .port = sw->node.topo->nodes[sw->node.id].first_port + index,
					 .busy = busy,
					 .prio = prio,
					 .queue_bytes =
						 min_u64(sw->rules[index].limit_bytes[prio], queue_limit(sw, index, prio)),
					 .kmin_bytes = sw->ports[index].egress.ecn[prio].kmin_bytes };
	return (struct marking){
		.port = sw->node.topo->nodes[sw->node.id].first_port + index,
		.busy = busy,
		.prio = prio,
		.paused = true,
		.xoff_bytes = pfc->reserve_bytes + above,
		.queue_bytes = busy * (pfc->reserve_bytes + above),
		.kmin_bytes = sw->ports[index].egress.ecn[prio].kmin_bytes,
	};
}

/* Do the busy ingresses bring more than the port sends? @return their number, 0: no queue grows */
static uint32_t
crowd(const struct topo *topo, uint32_t port, const uint64_t *busy)
{
	const struct topo_node *node = &topo->nodes[topo->ports[port].node];
	uint64_t rate_bps = 0;
	uint32_t count = 0;

	for (uint16_t i = 0; i < node->nports; i++) {
		if ((busy[i / 64] >> i % 64 & 1) == 0)
			continue;
		rate_bps += topo->ports[node->first_port + i].rate_bps;
		count++;
	}
	return rate_bps > topo->ports[port].rate_bps ? count : 0;
}

/* The buffer with which a port of this switch marks first, with room to spare, in whole MB. */
static uint64_t
roomy_mb(const struct sw *sw, const struct marking *m, const struct pfc_params *pfc)
{
	double alpha = (double)pfc->alpha_num / (double)(1u << pfc->alpha_shift);
	double pool = 2 * ((double)m->kmin_bytes / m->busy) * (1 + m->busy * alpha) / alpha;
	double fixed = (double)(sw->account.buffer_bytes - pfc->pool_bytes);

	return (uint64_t)ceil((pool + fixed) / 1e6);
}

/* Bytes on the wire that the windows of an egress' flows let be on their way; UINT64_MAX: there are no windows. */
static uint64_t
windows_bytes(const struct scenario *sc, uint32_t flows)
{
	uint64_t window = scenario_window_bytes(sc);

	return window != 0 ? flows * (window / sc->roce.mtu_bytes + 1) * sc->mtu_frame_bytes : UINT64_MAX;
}

/* Egresses that more comes to than they send, and those of them that never mark. */
struct crowded {
	bool imagined; /* no flows meet: as if all other ports of a switch filled each */
	uint32_t ports, behind_pfc, behind_window, behind_limit, off;
	uint32_t off_port;        /* the first without ECN */
	struct marking best;      /* of those behind PFC: the nearest to marking */
	struct marking limited;   /* the first of those whose queue drops before: its limit is queue_bytes */
	uint64_t in_flight_bytes; /* of those behind windows: the most, and where */
	uint32_t in_flight_port, in_flight_flows;
	uint8_t off_prio, in_flight_prio, classes;          /* a bit each; a port counts once for each */
	struct preflight_finding of_pfc, of_limits, of_off; /* their remedies */
};

/* @return the place of a class's profile; NULL: no row names one */
static const struct cfg_where *
profile_of(const struct switch_settings *settings, const struct buffer_rows *rows, uint8_t prio)
{
	const struct buffer_row_params *row = buffer_row_of(rows, prio);

	return row != NULL ? &settings->buffers->profiles[row->profile].where : NULL;
}

/* @return the most that a switch's buffer can be: its own, if that is a chip's; else that of the largest chip known */
static uint64_t
chip_bytes(const struct switch_settings *settings)
{
	return settings->params.is_chips ? settings->params.buffer_bytes : profiles_largest_chip();
}

/* Half of what the queue holds as PFC pauses, as the setting has it: the least of all ports that share it. */
static void
remedy_kmin(struct preflight_finding *f, const struct switch_settings *settings, const struct sw *sw,
	    const struct marking *m)
{
	const struct switch_ecn_params *ecn = &settings->ecn;
	double scale = ecn->scales ? (double)sw->node.topo->ports[m->port].rate_bps / (double)ecn->reference_rate_bps : 1;
	const struct switch_wred_params *row = NULL;
	char path[CFG_WHERE_PATH], option[CFG_WHERE_PATH + 32], tail[64];
	uint64_t bytes = (uint64_t)((double)m->queue_bytes / 2 / scale);

	for (size_t i = 0; i < settings->nwreds; i++)
		row = settings->wreds[i].class == m->prio ? &settings->wreds[i] : row;
	if (row == NULL) {
		preflight_remedy_key(f, &ecn->where, "switch.ecn", "kmin", bytes, "", true);
		return;
	}
	snprintf(option, sizeof(option), "--set '%.255s={ class = %u; kmin = ", cfg_where_path(&row->where, path), m->prio);
	snprintf(tail, sizeof(tail), "; kmax = %" PRIu64 "; pmax = %g; }'", row->kmax_bytes, row->pmax);
	preflight_remedy_bytes(f, option, bytes, tail, true);
}

/* The pool's size, or where the chip has no more, the profile's share of it, or thresholds below what it can hold. */
static void
remedy_pool(struct preflight_finding *f, const struct scenario *sc, const struct sw *sw, const struct marking *m)
{
	const struct pfc_params *pfc = pfc_at(sw, sw->node.topo->ports[m->port].index, m->prio);
	const struct switch_settings *settings = switch_settings_at(&sc->switches, sw->node.topo, m->port);
	const struct cfg_where *profile = profile_of(settings, &settings->groups, m->prio);
	const struct buffer_pool_params *pool = &settings->buffers->pools[pfc->pool];
	double alpha = (double)pfc->alpha_num / (double)(1u << pfc->alpha_shift);
	uint64_t static_th = 2 * m->kmin_bytes / m->busy;
	uint64_t size = (uint64_t)(2 * ((double)m->kmin_bytes / m->busy) * (1 + m->busy * alpha) / alpha);
	uint64_t most = chip_bytes(settings) - min_u64(chip_bytes(settings), sw->account.buffer_bytes - pool->size_bytes);

	if (pfc->model == PFC_STATIC && static_th <= most) {
		preflight_remedy_setting(f, profile, "static_th", static_th, false);
		return;
	}
	for (uint32_t th = 0; pfc->model != PFC_STATIC && th <= DYNAMIC_TH_MOST && size > most; th++) {
		double share = (double)(1u << th);

		if (share > alpha && m->busy * (share * (double)pfc->pool_bytes / (1 + m->busy * share)) > m->kmin_bytes) {
			preflight_remedy_setting(f, profile, "dynamic_th", th, false);
			return;
		}
	}
	if (pfc->model != PFC_STATIC && size <= most)
		preflight_remedy_setting(f, &pool->where, "size", size, false);
	else
		remedy_kmin(f, settings, sw, m);
}

/* With twice what marks, for all ports that share the setting. No remedy asks for more buffer than a chip has. */
static void
remedy_marking(struct preflight_finding *f, const struct scenario *sc, const struct sw *sw, const struct marking *m)
{
	const struct pfc_params *pfc = pfc_at(sw, sw->node.topo->ports[m->port].index, m->prio);
	const struct switch_settings *settings = switch_settings_of(&sc->switches, sw->node.id);

	if (sw->account.pools != NULL)
		remedy_pool(f, sc, sw, m);
	else if (pfc->model == PFC_STATIC && 2 * m->kmin_bytes / m->busy <= chip_bytes(settings))
		preflight_remedy_key(f, &settings->pfc.where, "switch.pfc", "xoff", 2 * m->kmin_bytes / m->busy, "", false);
	else if (pfc->model != PFC_STATIC && roomy_mb(sw, m, pfc) * 1000000 <= chip_bytes(settings))
		preflight_remedy_key(f, &settings->params.where, "switch", "buffer", roomy_mb(sw, m, pfc), "MB", false);
	else
		remedy_kmin(f, switch_settings_at(&sc->switches, sw->node.topo, m->port), sw, m);
}

/* A class without PFC: its queue has a limit of all such classes, and one of its pool. */
static void
weigh_limit(struct crowded *all, const struct scenario *sc, const struct sw *sw, const struct marking *m)
{
	const struct switch_settings *settings = switch_settings_of(&sc->switches, sw->node.id);
	const struct switch_settings *own = switch_settings_at(&sc->switches, sw->node.topo, m->port);
	uint16_t index = sw->node.topo->ports[m->port].index;

	if (all->behind_limit++ == 0)
		all->limited = *m;
	if (sw->rules[index].limit_bytes[m->prio] <= m->kmin_bytes)
		preflight_remedy_key(&all->of_limits, &settings->params.where, "switch", "lossy_queue", 2 * m->kmin_bytes,
				     "", false);
	if (queue_limit(sw, index, m->prio) <= m->kmin_bytes)
		preflight_remedy_setting(&all->of_limits, profile_of(own, &own->queues, m->prio), "size", 2 * m->kmin_bytes,
					 false);
}

static void
weigh(struct crowded *all, const struct scenario *sc, const struct sw *sw, const struct marking *m, uint32_t flows)
{
	uint64_t in_flight_bytes = windows_bytes(sc, flows);

	all->ports++;
	if (in_flight_bytes <= m->kmin_bytes) {
		all->behind_window++;
		if (in_flight_bytes > all->in_flight_bytes) {
			all->in_flight_bytes = in_flight_bytes;
			all->in_flight_port = m->port;
			all->in_flight_flows = flows;
			all->in_flight_prio = m->prio;
		}
	} else if (!m->paused && m->queue_bytes <= m->kmin_bytes) {
		weigh_limit(all, sc, sw, m);
	} else if (m->queue_bytes <= m->kmin_bytes) {
		remedy_marking(&all->of_pfc, sc, sw, m);
		if (all->behind_pfc++ == 0 || (double)m->queue_bytes / (double)m->kmin_bytes >
						      (double)all->best.queue_bytes / (double)all->best.kmin_bytes)
			all->best = *m;
	}
}

static const char *
filled(const struct crowded *all)
{
	bool several = (all->classes & (all->classes - 1)) != 0;

	if (all->imagined)
		return several ? "queues that all other ports of their switch could fill"
			       : "ports that all others of their switch could fill";
	return several ? "queues that several ingresses fill" : "ports that several ingresses fill";
}

static void
report_pfc(struct preflight *c, const struct crowded *all, bool inert)
{
	const struct marking *best = &all->best;
	const struct topo_port *at = &c->sc->topo->ports[best->port];
	const struct sw *sw = c->switches[at->node];
	char port[64];
	struct preflight_finding *f;

	f = preflight_add(c, "ecn-behind-pfc", inert,
			  "%sat %u of the %u %s, PFC pauses before ECN marks. %s, class %u, with %u of them busy: "
			  "XOFF at %" PRIu64 " B each, which are %" PRIu64 " B in its queue; kmin %" PRIu64 " B",
			  inert ? "host.cc = \"dcqcn\" cannot act: " : "", all->behind_pfc, all->ports, filled(all),
			  topo_port_name(c->sc->topo, best->port, port), best->prio, best->busy, best->xoff_bytes,
			  best->queue_bytes, best->kmin_bytes);
	memcpy(f->remedy, all->of_pfc.remedy, sizeof(f->remedy));
	if (sw->account.pools == NULL && pfc_at(sw, at->index, best->prio)->model != PFC_STATIC &&
	    scenario_window_bytes(c->sc) != 0)
		preflight_remedy(f, "--set host.window=none");
}

static void
report_limit(struct preflight *c, const struct crowded *all, bool inert)
{
	char port[64];
	struct preflight_finding *f;

	f = preflight_add(c, "ecn-behind-drop", inert,
			  "%sat %u of the %u %s, queues of a class without PFC drop before ECN marks. "
			  "%s: its queue holds %" PRIu64 " B; kmin %" PRIu64 " B",
			  inert ? "host.cc = \"dcqcn\" cannot act: " : "", all->behind_limit, all->ports, filled(all),
			  topo_port_name(c->sc->topo, all->limited.port, port), all->limited.queue_bytes,
			  all->limited.kmin_bytes);
	memcpy(f->remedy, all->of_limits.remedy, sizeof(f->remedy));
}

static void
report_window(struct preflight *c, const struct crowded *all, bool inert)
{
	const struct egress *egress = &c->switches[c->sc->topo->ports[all->in_flight_port].node]
					       ->ports[c->sc->topo->ports[all->in_flight_port].index]
					       .egress;
	char port[64];
	struct preflight_finding *f;

	f = preflight_add(c, "ecn-behind-window", inert,
			  "%sat %u of the %u %s, the senders' windows are full before ECN marks. %s, "
			  "of %u flows: at most %" PRIu64 " B in flight; kmin %" PRIu64 " B",
			  inert ? "host.cc = \"dcqcn\" cannot act: " : "", all->behind_window, all->ports, filled(all),
			  topo_port_name(c->sc->topo, all->in_flight_port, port), all->in_flight_flows,
			  all->in_flight_bytes, egress->ecn[all->in_flight_prio].kmin_bytes);
	snprintf(f->remedy, sizeof(f->remedy), "--set host.window=none");
}

/* No ECN for the class of data. */
static void
weigh_off(struct crowded *all, const struct scenario *sc, const struct sw *sw, uint32_t port, uint8_t prio)
{
	const struct switch_settings *settings = switch_settings_at(&sc->switches, sw->node.topo, port);
	char path[CFG_WHERE_PATH];

	all->ports++;
	if (all->off++ == 0) {
		all->off_port = port;
		all->off_prio = prio;
	}
	preflight_remedy(&all->of_off, "--set %.255s.enabled=true",
			 preflight_path(&settings->ecn.where, "switch.ecn", path));
}

static void
report_off(struct preflight *c, const struct crowded *all, bool inert)
{
	char port[64];
	struct preflight_finding *f;

	f = preflight_add(c, "ecn-off", inert, "%sat %u of the %u %s, nothing is marked: ECN of class %u is off. One is %s",
			  inert ? "host.cc = \"dcqcn\" cannot act: " : "", all->off, all->ports, filled(all), all->off_prio,
			  topo_port_name(c->sc->topo, all->off_port, port));
	memcpy(f->remedy, all->of_off.remedy, sizeof(f->remedy));
}

/* @param loads  of the class. @param together  of all classes, which fill a port */
static void
weigh_ports(struct crowded *all, const struct preflight *c, const struct load *loads, const struct load *together,
	    uint8_t prio)
{
	const struct topo *topo = c->sc->topo;

	for (uint32_t p = 0; p < topo->nports; p++) {
		const struct sw *sw = c->switches[topo->ports[p].node];
		uint32_t busy = 0;
		struct marking m;

		for (size_t i = 0; i < ARRAY_LEN(loads[p].busy); i++)
			busy += (uint32_t)__builtin_popcountll(loads[p].busy[i]);
		if (busy == 0 || sw == NULL || crowd(topo, p, together[p].busy) == 0)
			continue;
		all->classes |= (uint8_t)(1u << prio);
		m = mark(sw, topo->ports[p].index, prio, busy);
		if (m.kmin_bytes == ECN_NEVER)
			weigh_off(all, c->sc, sw, p, prio);
		else
			weigh(all, c->sc, sw, &m, loads[p].flows);
	}
}

static void
report_marking(struct preflight *c, const struct crowded *all, bool inert)
{
	if (all->off != 0)
		report_off(c, all, inert);
	if (all->behind_limit != 0)
		report_limit(c, all, inert);
	if (all->behind_pfc != 0)
		report_pfc(c, all, inert);
	if (all->behind_window != 0)
		report_window(c, all, inert);
}

/* Nothing meets, and DCQCN has nothing to react to: whether it could, with other traffic. */
static int
check_unmet(struct preflight *c)
{
	struct load *loads = calloc(c->sc->topo->nports + 1u, sizeof(*loads));
	struct crowded all = { .imagined = true };
	uint8_t used = preflight_classes(c->sc);

	if (loads == NULL)
		return -ENOMEM;
	preflight_add(c, "no-contention", false,
		      "host.cc = \"dcqcn\" has nothing to react to: the flows' paths lead no port more than its rate")
		->unmarked = true;
	add_all(loads, c->sc->topo, MANY_FLOWS);
	for (uint8_t prio = 1; prio < SWITCH_CLASSES; prio++)
		if ((used >> prio & 1) != 0)
			weigh_ports(&all, c, loads, loads, prio);
	report_marking(c, &all, false);
	free(loads);
	return 0;
}

/* @return classes in which switches may serve data: of packets with paths of their own, as hosts send it */
static uint8_t
served_classes(const struct scenario *sc)
{
	return sc->switches.maps_classes && !balance_is_on(&sc->balance) ? UINT8_MAX : preflight_classes(sc);
}

int
preflight_ecn(struct preflight *c)
{
	struct crowded all = { .ports = 0 };
	uint8_t served = served_classes(c->sc);
	struct load *together;
	int ret;

	if (c->sc->cc.echo == CC_ECHO_NONE)
		return 0;
	together = find_loads(c, ANY_CLASS);
	ret = together != NULL ? 0 : -ENOMEM;
	for (uint8_t prio = 1; ret == 0 && prio < SWITCH_CLASSES; prio++) {
		struct load *own = (served >> prio & 1) != 0 ? find_loads(c, prio) : NULL;

		if (own != NULL)
			weigh_ports(&all, c, own, together, prio);
		else if ((served >> prio & 1) != 0)
			ret = -ENOMEM;
		free(own);
	}
	free(together);
	if (ret == 0)
		report_marking(c, &all, all.off + all.behind_pfc + all.behind_window + all.behind_limit == all.ports);
	return ret == 0 && all.ports == 0 ? check_unmet(c) : ret;
}

/* Watchdogs that take a pause of usual length for a storm: their queues drop. */

/*
 * How long an ingress pauses its peer where busy ones fill an egress, each draining at its part of the rate: what arrives
 * for a round trip after PAUSE, and the distance to RESUME. Both frames are on their way for as long.
 */
static uint64_t
usual_pause_ps(const struct scenario *sc, const struct sw *sw, uint32_t ingress, uint32_t busy)
{
	const struct topo_port *cable = &sc->topo->ports[ingress];
	const struct pfc_params *pfc = pfc_at(sw, cable->index, sc->roce.data_prio);

	return busy * (2 * (cable->delay_ps + sw->config->pipeline_ps) +
		       (uint64_t)((double)pfc->xon_offset_bytes * 8e12 / (double)cable->rate_bps));
}

struct hasty {
	uint32_t count, port, busy; /* that of the longest pause: the port that is paused */
	uint64_t pause_ps;
	struct preflight_finding remedies;
};

/* The ingresses of a switch whose pauses their peers' watchdogs take for storms. */
static void
weigh_watchdogs(struct hasty *all, const struct preflight *c, uint32_t egress, const uint64_t *busy, uint32_t count)
{
	const struct topo *topo = c->sc->topo;
	const struct topo_node *node = &topo->nodes[topo->ports[egress].node];
	const struct sw *sw = c->switches[topo->ports[egress].node];

	for (uint32_t i = node->first_port; i < node->first_port + node->nports; i++) {
		uint16_t index = topo->ports[i].index;
		uint32_t peer = topo->ports[i].peer_port;
		const struct switch_settings *settings;
		uint64_t pause_ps;
		char path[CFG_WHERE_PATH];

		if ((busy[index / 64] >> index % 64 & 1) == 0 || c->switches[topo->ports[peer].node] == NULL ||
		    (account_configured(sw, index) >> c->sc->roce.data_prio & 1) == 0)
			continue;
		settings = switch_settings_at(&c->sc->switches, topo, peer);
		pause_ps = usual_pause_ps(c->sc, sw, i, count);
		if (!settings->watchdog.enabled || !settings->pfc.enabled || settings->watchdog.detection_ps > pause_ps)
			continue;
		preflight_remedy(&all->remedies, "--set %.255s.detection_time=200ms",
				 preflight_path(&settings->watchdog.where, "switch.watchdog", path));
		all->count++;
		if (pause_ps > all->pause_ps) {
			all->pause_ps = pause_ps;
			all->port = peer;
			all->busy = count;
		}
	}
}

/* @return whether the flows fill any port */
static bool
weigh_all_watchdogs(struct hasty *all, const struct preflight *c, const struct load *loads)
{
	const struct topo *topo = c->sc->topo;
	bool fill = false;

	for (uint32_t p = 0; p < topo->nports; p++) {
		uint32_t busy = c->switches[topo->ports[p].node] != NULL ? crowd(topo, p, loads[p].busy) : 0;

		fill |= busy != 0;
		if (busy != 0)
			weigh_watchdogs(all, c, p, loads[p].busy, busy);
	}
	return fill;
}

int
preflight_watchdog(struct preflight *c)
{
	const struct topo *topo = c->sc->topo;
	struct hasty all = { .count = 0 };
	char port[64], pause[32], detection[32];
	struct preflight_finding *f;
	struct load *loads;
	bool enabled = false;

	for (uint32_t p = 0; p < topo->nports && !enabled; p++)
		enabled = c->switches[topo->ports[p].node] != NULL &&
			  switch_settings_at(&c->sc->switches, topo, p)->watchdog.enabled;
	if (!enabled)
		return 0;
	loads = find_loads(c, ANY_CLASS);
	if (loads == NULL)
		return -ENOMEM;
	if (!weigh_all_watchdogs(&all, c, loads)) {
		add_all(loads, topo, MANY_FLOWS); /* as if others filled the ports */
		weigh_all_watchdogs(&all, c, loads);
	}
	free(loads);
	if (all.count == 0)
		return 0;
	f = preflight_add(
		c, "watchdog-short", false,
		"the PFC watchdog of %s takes a pause of %s for a storm, and one lasts %s when %u ingresses fill a port "
		"of its peer",
		topo_port_name(topo, all.port, port),
		units_format_time(switch_settings_at(&c->sc->switches, topo, all.port)->watchdog.detection_ps, detection,
				  sizeof(detection)),
		units_format_time(all.pause_ps, pause, sizeof(pause)), all.busy);
	memcpy(f->remedy, all.remedies.remedy, sizeof(f->remedy));
	return 0;
}

/* Rows of headroom that are short for a cable. */

/* @return whether the row is the scenario's: the remedy gives it what the cable needs */
static bool
remedy_row(struct preflight_finding *f, const struct switch_pfc_params *pfc, size_t index, uint64_t needed)
{
	char path[CFG_WHERE_PATH], option[512];
	const char *row = pfc->headrooms.items[index];

	if (!cfg_has(&pfc->where, "headrooms"))
		return false;
	snprintf(option, sizeof(option), "--set '%.100s.headrooms.[%zu]=\"%.*s ", cfg_where_path(&pfc->where, path), index,
		 (int)(strrchr(row, ' ') - row), row);
	preflight_remedy_bytes(f, option, needed, "\"'", false);
	return true;
}

int
preflight_headroom(struct preflight *c)
{
	const struct topo *topo = c->sc->topo;
	uint32_t worst = TOPO_NONE, count = 0;
	uint64_t worst_row = 0, worst_needed = 0, most_needed = 0;
	bool profiles = false;
	char port[64], more[PREFLIGHT_MORE], rate[32], delay[32];
	struct preflight_finding *f, rows_of = { .remedy = "" };
	size_t index = 0;

	for (uint32_t p = 0; p < topo->nports; p++) {
		const struct sw *sw = c->switches[topo->ports[p].node];
		const struct switch_pfc_params *pfc = &switch_settings_at(&c->sc->switches, topo, p)->pfc;
		uint64_t row, needed;

		/* One size of all cables is checked as the switches are made. */
		if (sw == NULL || sw->account.pools != NULL || !pfc->enabled || pfc->headroom_bytes != 0)
			continue;
		needed = account_headroom_needed(sw, topo->ports[p].index);
		most_needed = max_u64(most_needed, needed);
		switch_headroom_row(pfc, &topo->ports[p], &row, &index);
		if (row == 0 || row >= needed)
			continue;
		profiles |= !remedy_row(&rows_of, pfc, index, needed);
		if (count++ == 0 || needed - row > worst_needed - worst_row) {
			worst = p;
			worst_row = row;
			worst_needed = needed;
		}
	}
	if (count == 0)
		return 0;
	f = preflight_add(c, "headroom-short", false,
			  "the row of switch.pfc.headrooms for %s (%s, %s) has %" PRIu64 " B and is short by %" PRIu64
			  " KiB: the cable needs %" PRIu64 " B, which it has here%s",
			  topo_port_name(topo, worst, port),
			  units_format_rate(topo->ports[worst].rate_bps, rate, sizeof(rate)),
			  units_format_time(topo->ports[worst].delay_ps, delay, sizeof(delay)), worst_row,
			  (worst_needed - worst_row + 1023) / 1024, worst_needed,
			  preflight_further(count - 1, "port", "ports", more));
	if (profiles) /* one size for all cables */
		preflight_remedy_bytes(&rows_of, "--set switch.pfc.headroom=", most_needed, "", false);
	memcpy(f->remedy, rows_of.remedy, sizeof(f->remedy));
	return 0;
}

/* Pools that hold more than the switch, headroom that groups share, and lossless queues that drop. */

/* The switch where something is short by most, of some number. */
struct short_switch {
	const struct sw *sw;
	size_t pool;
	uint64_t has_bytes, needed_bytes;
	uint32_t count;
	struct preflight_finding of_all; /* its remedy */
};

static void
note_switch(struct short_switch *worst, const struct sw *sw, size_t pool, uint64_t has_bytes, uint64_t needed_bytes)
{
	if (needed_bytes <= has_bytes)
		return;
	if (worst->count++ == 0 || needed_bytes - has_bytes > worst->needed_bytes - worst->has_bytes) {
		worst->sw = sw;
		worst->pool = pool;
		worst->has_bytes = has_bytes;
		worst->needed_bytes = needed_bytes;
	}
}

/* @param headroom  shared by groups. @param buffer  of the switch: its pool is the largest of ingress */
static void
look_at_pools(const struct preflight *c, const struct sw *sw, struct short_switch *headroom, struct short_switch *buffer)
{
	const struct switch_settings *settings = switch_settings_of(&c->sc->switches, sw->node.id);
	uint64_t most = 0, excess;
	size_t largest = 0;

	for (size_t i = 0; i < settings->buffers->npools; i++) {
		const struct buffer_pool_params *pool = &settings->buffers->pools[i];
		const struct pool_headroom *shared = &sw->account.pools->headroom[i];

		if (!pool->egress && pool->size_bytes > most) {
			most = pool->size_bytes;
			largest = i;
		}
		if (shared->limit_bytes == 0)
			continue;
		note_switch(headroom, sw, i, shared->limit_bytes, shared->needed_bytes);
		if (shared->needed_bytes > shared->limit_bytes)
			preflight_remedy_setting(&headroom->of_all, &pool->where, "xoff", shared->needed_bytes, false);
	}
	if (settings->params.buffer_bytes == 0 || sw->account.buffer_bytes <= settings->params.buffer_bytes)
		return;
	note_switch(buffer, sw, largest, settings->params.buffer_bytes, sw->account.buffer_bytes);
	excess = sw->account.buffer_bytes - settings->params.buffer_bytes;
	if (excess < most)
		preflight_remedy_setting(&buffer->of_all, &settings->buffers->pools[largest].where, "size", most - excess,
					 true);
	else /* reserves and headroom alone are too much */
		preflight_remedy_key(&buffer->of_all, &settings->params.where, "switch", "buffer", sw->account.buffer_bytes,
				     "", false);
}

static void
report_pools(struct preflight *c, const struct short_switch *headroom, const struct short_switch *buffer)
{
	const struct buffer_pool_params *pool;
	char has[32], takes[32], more[PREFLIGHT_MORE];
	struct preflight_finding *f;

	if (headroom->count != 0) {
		pool = &switch_settings_of(&c->sc->switches, headroom->sw->node.id)->buffers->pools[headroom->pool];
		f = preflight_add(c, "headroom-oversubscribed", false,
				  "the groups of pool \"%s\" of %s may need %" PRIu64
				  " B of shared headroom when all are paused at "
				  "once; it has %" PRIu64 " B: what does not fit is dropped (no_buffer)%s",
				  pool->name, c->sc->topo->nodes[headroom->sw->node.id].name, headroom->needed_bytes,
				  headroom->has_bytes, preflight_further(headroom->count - 1, "pool", "pools", more));
		memcpy(f->remedy, headroom->of_all.remedy, sizeof(f->remedy));
	}
	if (buffer->count == 0)
		return;
	f = preflight_add(c, "pools-oversubscribed", false,
			  "ingress pools, reserves and headroom of %s take %s; its buffer is %s%s",
			  c->sc->topo->nodes[buffer->sw->node.id].name,
			  units_format_bytes(buffer->needed_bytes, takes, sizeof(takes)),
			  units_format_bytes(buffer->has_bytes, has, sizeof(has)),
			  preflight_further(buffer->count - 1, "switch", "switches", more));
	memcpy(f->remedy, buffer->of_all.remedy, sizeof(f->remedy));
}

/* What all ingresses can hold for one queue of a class: their pool, reserves and headroom. */
static uint64_t
ingress_limit(const struct sw *sw, uint8_t prio)
{
	const struct account *account = &sw->account;
	uint64_t bytes = 0;

	for (uint16_t port = 0; port < sw->node.nports; port++) {
		const struct pfc_ingress *in = &account->ingress[account_index(account, port, prio)];
		const struct pfc_params *params = account_params(account, in);

		if ((account_configured(sw, port) >> prio & 1) == 0)
			continue;
		if (bytes == 0)
			bytes = params->pool_bytes;
		bytes += params->reserve_bytes + in->headroom_limit_bytes;
	}
	return bytes;
}

/* A port whose profile's headroom is short, or whose lossless queue drops before PFC pauses: the worst of all. */
struct short_port {
	uint32_t port, count;
	uint8_t prio;
	uint64_t has_bytes, needed_bytes;
	struct preflight_finding of_all; /* its remedy */
};

/* @param profile  of profile_of(). @param key  in it that is too small */
static void
note_short(struct short_port *worst, uint32_t port, uint8_t prio, uint64_t has_bytes, uint64_t needed_bytes,
	   const struct cfg_where *profile, const char *key)
{
	if (has_bytes >= needed_bytes)
		return;
	preflight_remedy_setting(&worst->of_all, profile, key, needed_bytes, false);
	if (worst->count++ == 0 || needed_bytes - has_bytes > worst->needed_bytes - worst->has_bytes) {
		worst->port = port;
		worst->prio = prio;
		worst->has_bytes = has_bytes;
		worst->needed_bytes = needed_bytes;
	}
}

static void
report_short(struct preflight *c, const struct short_port *headroom, const struct short_port *queue)
{
	const struct topo *topo = c->sc->topo;
	const struct switch_settings *settings;
	const struct buffer_profile_params *profile;
	char port[64], rate[32], delay[32], more[PREFLIGHT_MORE];
	struct preflight_finding *f;

	if (headroom->count != 0) {
		settings = switch_settings_at(&c->sc->switches, topo, headroom->port);
		profile = &settings->buffers->profiles[buffer_row_of(&settings->groups, headroom->prio)->profile];
		f = preflight_add(
			c, "headroom-short", false,
			"buffer_profile \"%s\" has xoff %" PRIu64 " B and is short by %" PRIu64
			" KiB for %s (%s, %s): the cable needs %" PRIu64 " B; what does not fit is dropped (no_buffer)%s",
			profile->name, headroom->has_bytes, (headroom->needed_bytes - headroom->has_bytes + 1023) / 1024,
			topo_port_name(topo, headroom->port, port),
			units_format_rate(topo->ports[headroom->port].rate_bps, rate, sizeof(rate)),
			units_format_time(topo->ports[headroom->port].delay_ps, delay, sizeof(delay)),
			headroom->needed_bytes, preflight_further(headroom->count - 1, "group", "groups", more));
		memcpy(f->remedy, headroom->of_all.remedy, sizeof(f->remedy));
	}
	if (queue->count == 0)
		return;
	settings = switch_settings_at(&c->sc->switches, topo, queue->port);
	profile = &settings->buffers->profiles[buffer_row_of(&settings->queues, queue->prio)->profile];
	f = preflight_add(c, "lossless-queue-short", false,
			  "class %u has PFC, and its queue at %s may hold %" PRIu64
			  " B by buffer_profile \"%s\", where the ingresses "
			  "hold up to %" PRIu64 " B: it drops (queue_full) before PFC pauses%s",
			  queue->prio, topo_port_name(topo, queue->port, port), queue->has_bytes, profile->name,
			  queue->needed_bytes, preflight_further(queue->count - 1, "queue", "queues", more));
	memcpy(f->remedy, queue->of_all.remedy, sizeof(f->remedy));
}

int
preflight_pools(struct preflight *c)
{
	const struct topo *topo = c->sc->topo;
	struct short_port headroom = { .count = 0 }, queue = { .count = 0 };
	struct short_switch shared = { .count = 0 }, buffer = { .count = 0 };

	for (uint32_t p = 0; p < topo->nports; p++) {
		const struct sw *sw = c->switches[topo->ports[p].node];
		uint16_t index = topo->ports[p].index;
		const struct switch_settings *settings;
		uint8_t lossless;

		if (sw == NULL || sw->account.pools == NULL)
			continue;
		lossless = account_configured(sw, index);
		settings = switch_settings_at(&c->sc->switches, topo, p);
		for (uint8_t prio = 1; prio < SWITCH_CLASSES; prio++) {
			const struct pfc_ingress *in = &sw->account.ingress[account_index(&sw->account, index, prio)];

			if ((lossless >> prio & 1) == 0)
				continue;
			note_short(&headroom, p, prio, in->headroom_limit_bytes, account_headroom_needed(sw, index),
				   profile_of(settings, &settings->groups, prio), "xoff");
			note_short(&queue, p, prio, queue_limit(sw, index, prio), ingress_limit(sw, prio),
				   profile_of(settings, &settings->queues, prio), "size");
		}
	}
	report_short(c, &headroom, &queue);
	for (uint32_t n = 0; n < topo->nnodes; n++)
		if (c->switches[n] != NULL && c->switches[n]->account.pools != NULL)
			look_at_pools(c, c->switches[n], &shared, &buffer);
	report_pools(c, &shared, &buffer);
	return 0;
}

/* Rows of buffer_pg in an element itself, beside which it has those of all. @param path  of the element */
static size_t
count_own_groups(const struct buffer_rows *groups, const char *path)
{
	char prefix[CFG_WHERE_PATH], row[CFG_WHERE_PATH];
	size_t count = 0;

	snprintf(prefix, sizeof(prefix), "%.150s.buffer_pg.[", path);
	for (size_t i = 0; i < groups->count; i++)
		count += strncmp(cfg_where_path(&groups->rows[i].where, row), prefix, strlen(prefix)) == 0;
	return count;
}

/* A class that gets PFC has a queue that holds what the ingresses do, as that of another class with PFC. */
static void
remedy_queue(const struct preflight *c, struct preflight_finding *f, uint32_t port, uint8_t prio)
{
	const struct topo_port *at = &c->sc->topo->ports[port];
	const struct switch_settings *settings = switch_settings_at(&c->sc->switches, c->sc->topo, port);
	const struct sw *sw = c->switches[at->node];
	uint64_t needed = 0;

	for (uint8_t other = 1; other < SWITCH_CLASSES; other++)
		needed = max_u64(needed, ingress_limit(sw, other));
	if (queue_limit(sw, at->index, prio) < needed)
		preflight_remedy_setting(f, profile_of(settings, &settings->queues, prio), "size", needed, false);
}

bool
preflight_remedy_group(const struct preflight *c, struct preflight_finding *f, uint32_t port, uint8_t prio, size_t added)
{
	const struct topo_port *at = &c->sc->topo->ports[port];
	const struct topo_node *node = &c->sc->topo->nodes[at->node];
	const struct switch_settings *settings = switch_settings_at(&c->sc->switches, c->sc->topo, port);
	const struct buffer_row_params *row = NULL;
	char path[CFG_WHERE_PATH];

	if (c->switches[at->node]->account.pools == NULL)
		return false;
	remedy_queue(c, f, port, prio);
	if (buffer_row_of(&settings->groups, prio) != NULL)
		return false;
	for (uint16_t i = 0; row == NULL && i < node->nports; i++)
		row = buffer_row_of(&switch_settings_at(&c->sc->switches, c->sc->topo, node->first_port + i)->groups, prio);
	for (uint8_t other = 1; row == NULL && other < SWITCH_CLASSES; other++)
		if ((account_configured(c->switches[at->node], at->index) >> other & 1) != 0)
			row = buffer_row_of(&settings->groups, other);
	if (row == NULL)
		return false;
	preflight_path(&settings->params.where, "switch", path);
	preflight_remedy(f, "--set '%.150s.buffer_pg.[%zu]=\"%u %.100s\"'", path,
			 count_own_groups(&settings->groups, path) + added, prio, row->profile_name);
	return true;
}
