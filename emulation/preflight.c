/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/preflight.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/roce.h"
#include "dpswitch/pipeline/switch.h"
#include "emulation/probing.h"
#include "scenario/scenario.h"
#include "topo/build.h"
#include "topo/circle.h"
#include "workload/plan.h"

#define CIRCLE_SHOWN 12    /* ports of a circle by name */
#define IBTA_LEAST_MTU 256 /* path MTUs are its powers of two */
#define IBTA_MOST_MTU 4096

struct preflight_finding *
preflight_add(struct preflight *c, const char *check, bool inert, const char *fmt, ...)
{
	struct preflight_finding *f = &c->findings[c->count++];
	va_list ap;

	assert(c->count <= PREFLIGHT_FINDINGS);
	*f = (struct preflight_finding){ .check = check, .inert = inert, .unmarked = inert };
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return f;
}

const char *
preflight_further(uint32_t count, const char *one, const char *several, char text[PREFLIGHT_MORE])
{
	text[0] = '\0';
	if (count != 0)
		snprintf(text, PREFLIGHT_MORE, "; so it is at %u more %s", count, count == 1 ? one : several);
	return text;
}

uint8_t
preflight_classes(const struct scenario *sc)
{
	uint8_t used = 0;

	for (uint32_t f = 0; f < sc->plan->flows.count; f++)
		if (plan_flow_sends(sc->plan, f))
			used |= (uint8_t)(1u << sc->plan->flows.flows[f].prio);
	return used != 0 ? used : (uint8_t)(1u << sc->roce.data_prio);
}

/* Switches whose ports need more than their chip has, or have less headroom than is usual. */

static void
report_least_headroom(struct preflight *c)
{
	struct preflight_finding *f, remedies = { .remedy = "" };
	uint32_t first = 0, count = 0;
	char buffer[32];

	for (uint32_t n = 0; n < c->sc->topo->nnodes; n++) {
		const struct cfg_where *where = &switch_settings_of(&c->sc->switches, n)->params.where;
		const struct sw *sw = c->switches[n];
		char path[CFG_WHERE_PATH];

		if (sw == NULL || sw->account.pools != NULL || !sw->account.least_headroom)
			continue;
		preflight_remedy(&remedies, "--set %.255s.buffer=0", preflight_path(where, "switch", path));
		if (count++ == 0)
			first = n;
	}
	if (count == 0)
		return;
	f = preflight_add(
		c, "buffer-short", false,
		"the usual headroom of the cables of %s, of %u such switches, leaves nothing of a buffer of %s: each "
		"cable has what it needs, and no more",
		c->sc->topo->nodes[first].name, count,
		units_format_bytes(switch_settings_of(&c->sc->switches, first)->params.buffer_bytes, buffer,
				   sizeof(buffer)));
	memcpy(f->remedy, remedies.remedy, sizeof(f->remedy));
}

static int
check_buffer(struct preflight *c)
{
	const struct topo *topo = c->sc->topo;
	const struct switch_params *params = NULL;
	uint64_t most_bytes = 0;
	uint32_t worst = TOPO_NONE, count = 0;
	char chip[32], needed[32], path[CFG_WHERE_PATH];
	struct preflight_finding *f, remedies = { .remedy = "" };

	for (uint32_t n = 0; n < topo->nnodes; n++) {
		const struct switch_params *own = &switch_settings_of(&c->sc->switches, n)->params;
		const struct sw *sw = c->switches[n];

		if (sw == NULL || sw->account.pools != NULL || !own->is_chips ||
		    sw->account.buffer_bytes == own->buffer_bytes)
			continue;
		count++;
		preflight_remedy(&remedies, "--set %.255s.buffer=0", preflight_path(&own->where, "switch", path));
		if (sw->account.buffer_bytes > most_bytes) {
			most_bytes = sw->account.buffer_bytes;
			params = own;
			worst = n;
		}
	}
	report_least_headroom(c);
	if (params == NULL)
		return 0;
	f = preflight_add(
		c, "buffer-short", false,
		"the headroom of the cables of %s, of %u such switches, leaves nothing of the profile's buffer of %s: it "
		"has %s here, as with switch.buffer = 0",
		topo->nodes[worst].name, count, units_format_bytes(params->buffer_bytes, chip, sizeof(chip)),
		units_format_bytes(most_bytes, needed, sizeof(needed)));
	memcpy(f->remedy, remedies.remedy, sizeof(f->remedy));
	return 0;
}

/* A retransmission timer that ends before the first ACK can arrive. */

static int
check_timer(struct preflight *c)
{
	uint64_t rtt_ps = c->sc->roce.cc.base_rtt_ps, right_ps = roce_timer_ps(ROCE_TIMER_ROUND_TRIPS * rtt_ps);
	char rtt[32], timer[32];
	struct preflight_finding *f;

	if (c->sc->roce.timeout_ps == 0 || c->sc->roce.timeout_ps > rtt_ps)
		return 0;
	f = preflight_add(
		c, "timer-below-rtt", false,
		"host.timeout is %s, and the longest round trip without queues %s: packets are sent again before their ACK "
		"can arrive",
		units_format_time(c->sc->roce.timeout_ps, timer, sizeof(timer)),
		units_format_time(rtt_ps, rtt, sizeof(rtt)));
	snprintf(f->remedy, sizeof(f->remedy), "--set host.timeout=%" PRIu64 "us", (right_ps + 999999) / 1000000);
	return 0;
}

/* Messages that a QP cannot have in flight as fast as their path carries them. */

struct short_window {
	uint32_t flow, count; /* the one that lacks most, and how many there are */
	uint32_t hops;
	uint64_t rate_bps, needed_bytes; /* of its path, payload */
	uint8_t *seen;                   /* [flows] */
};

static void
weigh_window(const struct preflight *c, uint32_t flow, uint64_t message_bytes, struct short_window *found)
{
	const struct scenario *sc = c->sc;
	uint64_t rate_bps = UINT64_MAX, most_bytes = scenario_in_flight_bytes(sc), wire_bytes, bytes;
	struct route_path path;

	if (message_bytes <= most_bytes || found->seen[flow] || !plan_flow_sends(sc->plan, flow) ||
	    scenario_path(sc, flow, false, &path) != 0)
		return;
	found->seen[flow] = true;
	for (uint32_t h = 0; h < path.hops; h++)
		rate_bps = min_u64(rate_bps, sc->topo->ports[path.ports[h]].rate_bps);
	wire_bytes = (uint64_t)((unsigned __int128)rate_bps * sc->plan->of[flow].base_rtt_ps / 8 / PS_PER_S);
	bytes = (uint64_t)((unsigned __int128)wire_bytes * sc->roce.mtu_bytes / sc->mtu_frame_bytes);
	if (bytes <= most_bytes)
		return;
	found->count++;
	if (bytes > found->needed_bytes) {
		found->flow = flow;
		found->hops = path.hops;
		found->rate_bps = rate_bps;
		found->needed_bytes = bytes;
	}
}

/* Every message of the plan. */
static void
weigh_windows(const struct preflight *c, struct short_window *found)
{
	const struct plan *plan = c->sc->plan;

	for (uint32_t i = 0; i < plan->ncollectives; i++) {
		const struct plan_collective *collective = &plan->collectives[i];

		for (uint32_t r = 0; r < collective->schedule->ranks; r++)
			for (uint32_t s = 1; s <= coll_steps(collective->schedule, r); s++)
				if (plan_step_at(collective, r, s)->flow != PLAN_NONE)
					weigh_window(c, plan_step_at(collective, r, s)->flow,
						     plan_step_bytes(collective, r, s), found);
	}
	for (uint32_t i = 0; i < plan->nbackgrounds; i++)
		weigh_window(c, plan->backgrounds[i].flow, plan->backgrounds[i].bytes * plan->backgrounds[i].depth, found);
	for (uint32_t i = 0; i < plan->nmessages; i++)
		weigh_window(c, plan->messages[i].flow, plan->messages[i].bytes, found);
}

/* The smallest MTU above the present one of which as many packets as a QP has hold what the path does; 0: there is none */
static uint64_t
roomy_mtu(const struct scenario *sc, const struct short_window *found)
{
	uint64_t rtt_ps = sc->plan->of[found->flow].base_rtt_ps;
	uint64_t wire_bytes = (uint64_t)((unsigned __int128)found->rate_bps * rtt_ps / 8 / PS_PER_S);
	uint64_t mtu =
		sc->roce.data_overhead_bytes != 0 ? wire_bytes / (ROCE_MAX_INFLIGHT - found->hops) + 1 : sc->roce.mtu_bytes;

	while (sc->roce.data_overhead_bytes == 0 && mtu <= IBTA_MOST_MTU &&
	       mtu * (ROCE_MAX_INFLIGHT - found->hops) < wire_bytes) /* its frames are longer at every hop */
		mtu *= 2;
	return mtu <= (sc->roce.data_overhead_bytes != 0 ? ROCE_MAX_MTU : IBTA_MOST_MTU) ? mtu : 0;
}

static void
report_window(struct preflight *c, const struct short_window *found)
{
	const struct scenario *sc = c->sc;
	const struct flow *flow = &sc->plan->flows.flows[found->flow];
	uint64_t most_bytes = scenario_in_flight_bytes(sc),
		 packets_bytes = (uint64_t)ROCE_MAX_INFLIGHT * sc->roce.mtu_bytes;
	char rtt[32], rate[32], packets[64] = "", more[64] = "";
	struct preflight_finding *f;

	if (most_bytes == packets_bytes)
		snprintf(packets, sizeof(packets), ", %d packets of host.mtu", ROCE_MAX_INFLIGHT);
	if (found->count > 1)
		snprintf(more, sizeof(more), "; so it is of %u more flow%s", found->count - 1,
			 found->count == 2 ? "" : "s");
	f = preflight_add(c, "window-below-bdp", false,
			  "%s to %s: a QP has at most %" PRIu64
			  " B in flight%s, and %s in %s, a round trip without queues, are %" PRIu64
			  " B of payload: it sends at %.1f %% of that rate at most%s",
			  sc->topo->nodes[flow->src_node].name, sc->topo->nodes[flow->dst_node].name, most_bytes, packets,
			  units_format_rate(found->rate_bps, rate, sizeof(rate)),
			  units_format_time(sc->plan->of[found->flow].base_rtt_ps, rtt, sizeof(rtt)), found->needed_bytes,
			  100 * (double)most_bytes / (double)found->needed_bytes, more);
	if (packets_bytes < found->needed_bytes && roomy_mtu(sc, found) == 0)
		return;
	if (packets_bytes < found->needed_bytes)
		preflight_remedy(f, "--set host.mtu=%" PRIu64, roomy_mtu(sc, found));
	if (!sc->roce.window_is_bdp && sc->roce.window_bytes != 0 && sc->roce.window_bytes < found->needed_bytes)
		preflight_remedy(f, "--set host.window=bdp");
}

/* A window that is the longest path's bandwidth and delay holds them, but for what frames and ACKs add. */
static int
check_window(struct preflight *c)
{
	struct short_window found = { .count = 0 };
	uint64_t most_bytes = scenario_in_flight_bytes(c->sc);

	if (most_bytes == 0 || (c->sc->roce.window_is_bdp && most_bytes == c->sc->bdp_bytes))
		return 0;
	found.seen = calloc(c->sc->plan->flows.count + 1u, sizeof(*found.seen));
	if (found.seen == NULL)
		return -ENOMEM;
	weigh_windows(c, &found);
	free(found.seen);
	if (found.count != 0)
		report_window(c, &found);
	return 0;
}

/* Data in classes without PFC, where others have it. */

/* Has any switch on a flow's path PFC for the class that its data is in there, by its class map? */
static bool
has_pfc(const struct preflight *c, uint32_t flow)
{
	struct route_path path;
	bool has = false;

	if (scenario_path(c->sc, flow, false, &path) != 0)
		return true;
	for (uint32_t h = 0; h < path.hops && !has; h++) {
		const struct topo_port *ingress = &c->sc->topo->ports[c->sc->topo->ports[path.ports[h]].peer_port];
		const struct sw *sw = c->switches[ingress->node];

		has = sw != NULL && (account_configured(sw, ingress->index) >>
					     switch_class_of(sw, ingress->index, &c->sc->plan->flows.flows[flow]) &
				     1) != 0;
	}
	return has;
}

static void remedy_pfc(const struct preflight *c, struct preflight_finding *f, uint32_t port, uint8_t wanted);

/* PFC for classes, at each port that data of one of them enters. @return 0 or -ENOMEM */
static int
remedy_classes(const struct preflight *c, struct preflight_finding *f, uint8_t classes)
{
	const struct flow_table *flows = &c->sc->plan->flows;
	bool *seen = calloc(c->sc->topo->nports + 1u, sizeof(*seen));

	if (seen == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < flows->count; i++) {
		struct route_path path;

		if ((classes >> flows->flows[i].prio & 1) == 0 || !plan_flow_sends(c->sc->plan, i) ||
		    scenario_path(c->sc, i, false, &path) != 0)
			continue;
		for (uint32_t h = 0; h < path.hops; h++) {
			uint32_t ingress = c->sc->topo->ports[path.ports[h]].peer_port;

			if (!seen[ingress] && c->switches[c->sc->topo->ports[ingress].node] != NULL)
				remedy_pfc(c, f, ingress, classes);
			seen[ingress] = true;
		}
	}
	free(seen);
	return 0;
}

/* PFC is off, but where single switches or ports have it: one flow stands for all. */
static int
report_without_pfc(struct preflight *c)
{
	const struct flow_table *flows = &c->sc->plan->flows;
	struct preflight_finding *f;
	char limit[32];
	uint32_t i = 0;

	while (i < flows->count && (!plan_flow_sends(c->sc->plan, i) || has_pfc(c, i)))
		i++;
	if (i == flows->count)
		return 0;
	f = preflight_add(c, "lossy-class", false,
			  "data of %s to %s is in class %u, and PFC is off: what a queue of %s cannot hold is lost",
			  c->sc->topo->nodes[flows->flows[i].src_node].name,
			  c->sc->topo->nodes[flows->flows[i].dst_node].name, flows->flows[i].prio,
			  units_format_bytes(c->sc->switches.all.params.lossy_queue_bytes, limit, sizeof(limit)));
	return remedy_classes(c, f, preflight_classes(c->sc));
}

static int
check_classes(struct preflight *c)
{
	const struct flow_table *flows = &c->sc->plan->flows;
	uint8_t lossless = 0, reported = 0;
	struct err err = { "" };
	int ret = 0;

	if (!c->sc->switches.all.pfc.enabled)
		return report_without_pfc(c);
	if (switch_lossless_classes(&c->sc->switches.all.pfc, &lossless, &err) < 0)
		return 0;
	for (uint32_t i = 0; ret == 0 && i < flows->count; i++) {
		const struct flow *flow = &flows->flows[i];
		char limit[32];
		struct preflight_finding *f;

		if (!plan_flow_sends(c->sc->plan, i) || ((lossless | reported) >> flow->prio & 1) != 0 || has_pfc(c, i))
			continue; /* by check_ports(), where a map or a switch of its own gives it PFC */
		reported |= (uint8_t)(1u << flow->prio);
		f = preflight_add(
			c, "lossy-class", false,
			"data of %s to %s is in class %u, which has no PFC: what a queue of %s cannot hold is lost",
			c->sc->topo->nodes[flow->src_node].name, c->sc->topo->nodes[flow->dst_node].name, flow->prio,
			units_format_bytes(c->sc->switches.all.params.lossy_queue_bytes, limit, sizeof(limit)));
		ret = remedy_classes(c, f, reported);
	}
	return ret;
}

/* Single ports that do not carry what passes them: without PFC for its class, or with a smaller MTU. */

struct unfit {
	uint32_t port, flow, count; /* the first, and how many there are; count 0: none */
	uint32_t *flow_of;          /* [ports] the first flow + 1; 0: fit */
	uint8_t *classes;           /* [ports] of data whose settings are to be mended there, a bit each; at others, too */
};

static void
note_unfit(struct unfit *unfit, uint32_t port, uint32_t flow)
{
	if (unfit->flow_of[port] != 0)
		return;
	unfit->flow_of[port] = flow + 1;
	if (unfit->count++ == 0) {
		unfit->port = port;
		unfit->flow = flow;
	}
}

/* Classes that are to be mended at a port, and at all that have its settings. */
static uint8_t
classes_at(const struct preflight *c, const struct unfit *unfit, uint32_t port)
{
	const struct switch_setup *all = &c->sc->switches;
	char path[CFG_WHERE_PATH], other[CFG_WHERE_PATH];
	uint8_t classes = 0;

	cfg_where_path(&switch_settings_at(all, c->sc->topo, port)->params.where, path);
	for (uint32_t p = 0; p < c->sc->topo->nports; p++)
		if ((unfit->classes[p] & ~classes) != 0 &&
		    strcmp(cfg_where_path(&switch_settings_at(all, c->sc->topo, p)->params.where, other), path) == 0)
			classes |= unfit->classes[p];
	return classes;
}

/* PFC for the classes, at the port or all that have its setting. */
static void
remedy_pfc(const struct preflight *c, struct preflight_finding *f, uint32_t port, uint8_t wanted)
{
	const struct switch_settings *settings = switch_settings_at(&c->sc->switches, c->sc->topo, port);
	char path[CFG_WHERE_PATH], classes[64] = "";
	struct switch_pfc_params on = settings->pfc;
	uint8_t lossless = 0;
	struct err err = { "" };
	size_t added = 0;

	on.enabled = true;
	cfg_where_path(&settings->pfc.where, path);
	if (!settings->pfc.enabled)
		preflight_remedy(f, "--set %.150s.enabled=true", path);
	if (switch_lossless_classes(&on, &lossless, &err) < 0 || (wanted & ~lossless) != 0) {
		for (uint32_t p = 1; p < SWITCH_CLASSES; p++)
			if (((lossless | wanted) >> p & 1) != 0)
				snprintf(classes + strlen(classes), sizeof(classes) - strlen(classes), "%s\"%u\"",
					 classes[0] != '\0' ? ", " : "", p);
		preflight_remedy(f, "--set '%.150s.priorities=[ %s ]'", path, classes);
	}
	for (uint8_t p = 1; p < SWITCH_CLASSES; p++)
		if ((wanted >> p & 1) != 0)
			added += preflight_remedy_group(c, f, port, p, added);
}

static void
report_lossy_port(struct preflight *c, const struct unfit *unfit, bool ignored)
{
	const struct flow *flow = &c->sc->plan->flows.flows[unfit->flow];
	char port[64], more[PREFLIGHT_MORE];
	struct preflight_finding *f;

	topo_port_name(c->sc->topo, unfit->port, port);
	if (ignored)
		f = preflight_add(
			c, "pause-ignored", false,
			"data of %s to %s leaves %s, which has no PFC for its class, and enters a port that has: a "
			"PAUSE does not hold it back there, and what does not fit is lost%s",
			c->sc->topo->nodes[flow->src_node].name, c->sc->topo->nodes[flow->dst_node].name, port,
			preflight_further(unfit->count - 1, "port", "ports", more));
	else
		f = preflight_add(
			c, "lossy-port", false,
			"data of %s to %s in class %u, which has PFC elsewhere, enters %s, where it has none: what "
			"does not fit is lost%s",
			c->sc->topo->nodes[flow->src_node].name, c->sc->topo->nodes[flow->dst_node].name, flow->prio, port,
			preflight_further(unfit->count - 1, "port", "ports", more));
	for (uint32_t p = 0; p < c->sc->topo->nports; p++)
		if (unfit->classes[p] != 0)
			remedy_pfc(c, f, p, classes_at(c, unfit, p));
}

/* @return by how much the frames exceed what a port lets pass */
static uint32_t
lacking_at(const struct preflight *c, uint32_t port)
{
	const struct topo_port *at = &c->sc->topo->ports[port];

	return c->sc->mtu_frame_bytes - c->switches[at->node]->rules[at->index].max_wire_bytes;
}

/* No path MTU fits: larger ones at the ports. */
static void
remedy_mtus(const struct preflight *c, struct preflight_finding *f, const struct unfit *unfit)
{
	for (uint32_t p = 0; p < c->sc->topo->nports; p++) {
		const struct switch_settings *settings = switch_settings_at(&c->sc->switches, c->sc->topo, p);
		char path[CFG_WHERE_PATH], option[CFG_WHERE_PATH + 32];

		if (unfit->flow_of[p] == 0)
			continue;
		snprintf(option, sizeof(option), "--set %.255s.mtu=", cfg_where_path(&settings->params.where, path));
		preflight_remedy_bytes(f, option, settings->mtu_bytes + lacking_at(c, p), "", false);
	}
}

static void
report_mtu(struct preflight *c, const struct unfit *unfit)
{
	const struct switch_settings *settings = switch_settings_at(&c->sc->switches, c->sc->topo, unfit->port);
	const struct flow *flow = &c->sc->plan->flows.flows[unfit->flow];
	uint32_t lacking = lacking_at(c, unfit->port);
	uint32_t fits = IBTA_MOST_MTU;
	char port[64], more[PREFLIGHT_MORE];
	struct preflight_finding *f;

	f = preflight_add(c, "mtu-short", false,
			  "frames of %s to %s have %u B on the wire, %u B more than the MTU of %s lets pass (mtu %" PRIu64
			  "): they are dropped there%s",
			  c->sc->topo->nodes[flow->src_node].name, c->sc->topo->nodes[flow->dst_node].name,
			  c->sc->mtu_frame_bytes, lacking, topo_port_name(c->sc->topo, unfit->port, port),
			  settings->mtu_bytes, preflight_further(unfit->count - 1, "port", "ports", more));
	for (uint32_t p = 0; p < c->sc->topo->nports; p++)
		if (unfit->flow_of[p] != 0)
			lacking = max_u32(lacking, lacking_at(c, p));
	while (fits > IBTA_LEAST_MTU && fits + lacking > c->sc->roce.mtu_bytes)
		fits /= 2;
	if (fits + lacking <= c->sc->roce.mtu_bytes)
		preflight_remedy(f, "--set host.mtu=%u", fits);
	else
		remedy_mtus(c, f, unfit);
}

/* A port's map, or that of all that have its setting, leads the classes into themselves; the other rows stay. */
static void
remedy_map(const struct preflight *c, struct preflight_finding *f, uint32_t port, uint8_t wanted)
{
	const struct topo_port *at = &c->sc->topo->ports[port];
	const struct switch_settings *settings = switch_settings_at(&c->sc->switches, c->sc->topo, port);
	char path[CFG_WHERE_PATH], rows[128] = "";

	for (uint32_t p = 1; p < SWITCH_CLASSES; p++)
		if ((wanted >> p & 1) != 0 || settings->class_of[p] != p)
			snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), "%s\"%u:%u\"",
				 rows[0] != '\0' ? ", " : "", p * 8, (wanted >> p & 1) != 0 ? p : settings->class_of[p]);
	cfg_where_path(&settings->params.where, path);
	preflight_remedy(f, "--set '%.100s.class_map=[ %s ]'", path[0] != '\0' ? path : "switch", rows);
	if ((wanted & ~account_configured(c->switches[at->node], at->index)) != 0)
		remedy_pfc(c, f, port, wanted);
}

/* @param lost  the class into which it is mapped has no PFC; else the one that it is paused in is another */
static void
report_map(struct preflight *c, const struct unfit *unfit, bool lost)
{
	const struct topo_port *at = &c->sc->topo->ports[unfit->port];
	const struct flow *flow = &c->sc->plan->flows.flows[unfit->flow];
	uint8_t class = switch_class_of(c->switches[at->node], at->index, flow);
	char port[64], more[PREFLIGHT_MORE];
	struct preflight_finding *f;

	topo_port_name(c->sc->topo, unfit->port, port);
	if (lost)
		f = preflight_add(
			c, "class-map-lossy", false,
			"data of %s to %s is in class %u, which has PFC; class_map at %s leads it into class %u, which has "
			"none: what does not fit is lost%s",
			c->sc->topo->nodes[flow->src_node].name, c->sc->topo->nodes[flow->dst_node].name, flow->prio, port,
			class, preflight_further(unfit->count - 1, "port", "ports", more));
	else
		f = preflight_add(
			c, "class-map-differs", false,
			"data of %s to %s enters %s in class %u, and waits in another class in front of it, by their class "
			"maps: a PAUSE of class %u does not hold it back, and what does not fit is lost%s",
			c->sc->topo->nodes[flow->src_node].name, c->sc->topo->nodes[flow->dst_node].name, port, class,
			class, preflight_further(unfit->count - 1, "port", "ports", more));
	for (uint32_t p = 0; p < c->sc->topo->nports; p++)
		if (unfit->classes[p] != 0)
			remedy_map(c, f, p, classes_at(c, unfit, p));
}

enum unfit_kind { UNFIT_LOSSY, UNFIT_IGNORED, UNFIT_MTU, UNFIT_MAP_LOSSY, UNFIT_MAP_DIFFERS, UNFIT_KINDS };

struct unfits {
	struct unfit of[UNFIT_KINDS];
};

/*
 * @param before  the class in which it waits in front of the port
 * @return what is unfit there; UNFIT_KINDS: nothing
 */
static enum unfit_kind
look_at_class(struct unfits *unfits, const struct preflight *c, uint32_t port, uint32_t flow, uint8_t before)
{
	const struct topo_port *at = &c->sc->topo->ports[port];
	const struct sw *sw = c->switches[at->node];
	uint8_t prio = c->sc->plan->flows.flows[flow].prio;
	uint8_t class = switch_class_of(sw, at->index, &c->sc->plan->flows.flows[flow]);
	enum unfit_kind kind = class == prio ? UNFIT_LOSSY : UNFIT_MAP_LOSSY;

	if ((account_configured(sw, at->index) >> class & 1) != 0)
		kind = class != before ? UNFIT_MAP_DIFFERS : UNFIT_KINDS;
	if (kind == UNFIT_KINDS)
		return kind;
	note_unfit(&unfits->of[kind], port, flow);
	if (kind == UNFIT_LOSSY)
		unfits->of[kind].classes[port] |= (uint8_t)(1u << prio);
	return kind;
}

/*
 * Where a map leads a flow astray, all maps on its path have to lead it into its own class: one that is mended alone
 * differs from the next.
 */
static void
mend_maps(struct unfit *unfit, const struct preflight *c, const struct route_path *path, uint32_t flow)
{
	const struct flow *of = &c->sc->plan->flows.flows[flow];

	for (uint32_t h = 0; h < path->hops; h++) {
		uint32_t ingress = c->sc->topo->ports[path->ports[h]].peer_port;
		const struct topo_port *at = &c->sc->topo->ports[ingress];

		if (c->switches[at->node] != NULL && switch_class_of(c->switches[at->node], at->index, of) != of->prio)
			unfit->classes[ingress] |= (uint8_t)(1u << of->prio);
	}
}

/* @param egress  by which a flow leaves a switch in a class that the ingress behind it pauses */
static void
look_at_egress(struct unfits *unfits, const struct preflight *c, uint32_t egress, uint32_t flow, uint8_t class)
{
	const struct topo_port *from = &c->sc->topo->ports[egress], *to = &c->sc->topo->ports[from->peer_port];
	const struct sw *sender = c->switches[from->node], *receiver = c->switches[to->node];

	if (sender == NULL || (sender->rules[from->index].obeys >> class & 1) != 0 ||
	    (account_configured(receiver, to->index) >> class & 1) == 0 ||
	    switch_class_of(receiver, to->index, &c->sc->plan->flows.flows[flow]) != class)
		return;
	note_unfit(&unfits->of[UNFIT_IGNORED], egress, flow);
	unfits->of[UNFIT_IGNORED].classes[egress] |= (uint8_t)(1u << class);
}

static void
look_at_mtu(struct unfits *unfits, const struct preflight *c, uint32_t port, uint32_t flow)
{
	const struct topo_port *at = &c->sc->topo->ports[port];
	const struct sw *sw = c->switches[at->node];

	if (sw != NULL && c->sc->mtu_frame_bytes > sw->rules[at->index].max_wire_bytes)
		note_unfit(&unfits->of[UNFIT_MTU], port, flow);
}

/* A flow's data enters switches and leaves them. */
static void
follow(struct unfits *unfits, const struct preflight *c, const struct route_path *path, uint32_t flow)
{
	uint8_t class = c->sc->plan->flows.flows[flow].prio, lossless = 0;
	struct err err = { "" };
	bool has = switch_lossless_classes(&c->sc->switches.all.pfc, &lossless, &err) >= 0 && (lossless >> class & 1) != 0;
	bool is_unfit[UNFIT_KINDS + 1] = { false };

	has = has || has_pfc(c, flow);
	for (uint32_t h = 0; h < path->hops; h++) {
		uint32_t ingress = c->sc->topo->ports[path->ports[h]].peer_port;
		const struct sw *sw = c->switches[c->sc->topo->ports[ingress].node];

		look_at_mtu(unfits, c, path->ports[h], flow);
		look_at_mtu(unfits, c, ingress, flow);
		if (sw == NULL || !has)
			continue;
		look_at_egress(unfits, c, path->ports[h], flow, class);
		is_unfit[look_at_class(unfits, c, ingress, flow, class)] = true;
		class = switch_class_of(sw, c->sc->topo->ports[ingress].index, &c->sc->plan->flows.flows[flow]);
	}
	if (is_unfit[UNFIT_MAP_LOSSY])
		mend_maps(&unfits->of[UNFIT_MAP_LOSSY], c, path, flow);
	if (is_unfit[UNFIT_MAP_DIFFERS])
		mend_maps(&unfits->of[UNFIT_MAP_DIFFERS], c, path, flow);
}

static int
check_ports(struct preflight *c)
{
	const struct scenario *sc = c->sc;
	struct unfits unfits = { 0 };
	int ret = 0;

	for (uint32_t k = 0; k < UNFIT_KINDS; k++) {
		unfits.of[k].flow_of = calloc(sc->topo->nports + 1u, sizeof(uint32_t));
		unfits.of[k].classes = calloc(sc->topo->nports + 1u, 1);
		ret = unfits.of[k].flow_of != NULL && unfits.of[k].classes != NULL ? ret : -ENOMEM;
	}
	for (uint32_t f = 0; ret == 0 && (sc->switches.nown != 0 || sc->switches.maps_classes) && f < sc->plan->flows.count;
	     f++) {
		struct route_path path;

		if (plan_flow_sends(sc->plan, f) && scenario_path(sc, f, false, &path) == 0)
			follow(&unfits, c, &path, f);
	}
	for (uint32_t k = UNFIT_LOSSY; k <= UNFIT_IGNORED; k++)
		if (unfits.of[k].count != 0)
			report_lossy_port(c, &unfits.of[k], k == UNFIT_IGNORED);
	if (unfits.of[UNFIT_MTU].count != 0)
		report_mtu(c, &unfits.of[UNFIT_MTU]);
	if (unfits.of[UNFIT_MAP_LOSSY].count != 0)
		report_map(c, &unfits.of[UNFIT_MAP_LOSSY], true);
	if (unfits.of[UNFIT_MAP_DIFFERS].count != 0)
		report_map(c, &unfits.of[UNFIT_MAP_DIFFERS], false);
	for (uint32_t k = 0; k < UNFIT_KINDS; k++) {
		free(unfits.of[k].flow_of);
		free(unfits.of[k].classes);
	}
	return ret;
}

/* Circles of buffers that wait for each other. */

/* A port waits for the next switch where that pauses it, and it obeys. */
static void
remove_lossy(const struct preflight *c, struct dependencies *d, uint8_t prio)
{
	const struct topo *topo = c->sc->topo;

	for (uint32_t p = 0; p < topo->nports; p++) {
		const struct topo_port *from = &topo->ports[p], *to = &topo->ports[from->peer_port];
		const struct sw *sender = c->switches[from->node], *receiver = c->switches[to->node];
		uint8_t class = switch_settings_at(&c->sc->switches, topo, from->peer_port)->class_of[prio];

		if (sender != NULL && receiver != NULL &&
		    (sender->rules[from->index].obeys & account_configured(receiver, to->index) & 1u << class) == 0)
			dependencies_remove(d, p);
	}
}

/*
 * Of the paths that packets may take.
 * @param prio    their class, as hosts send them
 * @param routes  of flows that have no pin. @param pins  whether pinned flows have theirs
 * @param ports   [CIRCLE_SHOWN] out: see dependencies_circle()
 * @return how many buffers a circle has; 0: there is none; -ENOMEM
 */
static int
circle_of(const struct preflight *c, uint8_t prio, const struct route_table *routes, bool pins, uint32_t *ports)
{
	const struct scenario *sc = c->sc;
	struct dependencies *d = dependencies_create(sc->topo);
	int ret = d != NULL ? dependencies_add_routes(d, routes) : -ENOMEM;

	for (uint32_t f = 0; ret == 0 && pins && sc->pins != NULL && f < sc->plan->flows.count; f++) {
		struct route_path path;

		if (sc->pins->of[f] != NULL && scenario_path(sc, f, false, &path) == 0)
			dependencies_add_path(d, &path);
	}
	if (ret == 0)
		remove_lossy(c, d, prio);
	if (ret == 0)
		ret = dependencies_circle(d, ports, CIRCLE_SHOWN);
	dependencies_destroy(d);
	return ret;
}

/* Other routes, if these have a circle; no pins, if there is one with theirs. @return 0 or -ENOMEM */
static int
remedy_circle(struct preflight_finding *f, const struct preflight *c, uint8_t prio)
{
	const struct scenario *sc = c->sc;
	struct route_table *up_down = route_table_create(sc->topo, ROUTE_UP_DOWN);
	const struct route_table *routes = sc->routes;
	uint32_t ports[CIRCLE_SHOWN];
	int ret = up_down != NULL ? route_table_update(up_down, sc->withdrawn) : -ENOMEM;

	if (ret == 0)
		ret = circle_of(c, prio, routes, false, ports);
	if (ret > 0) {
		preflight_remedy(f, "--set routing.kind=up-down");
		routes = up_down;
	}
	if (ret >= 0)
		ret = circle_of(c, prio, routes, true, ports);
	if (ret > 0)
		preflight_remedy(f, "--set 'paths=()'");
	route_table_destroy(up_down);
	return ret < 0 ? ret : 0;
}

/* @param ports  [count] of which those that fit are there */
static int
report_circle(struct preflight *c, uint8_t prio, const uint32_t *ports, int count)
{
	char text[512] = "", name[64];

	for (int i = 0; i < count && i < CIRCLE_SHOWN; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i != 0 ? " -> " : "",
			 topo_port_name(c->sc->topo, ports[i], name));
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s",
		 count > CIRCLE_SHOWN ? " -> ..." : " -> the first");
	return remedy_circle(
		preflight_add(c, "buffer-circle", false,
			      "routes lead packets around a circle of %d buffers, each of which waits for the next: PFC "
			      "may stop them for good (%s): let every path go up and then down, by other routes or "
			      "\"paths\"",
			      count, text),
		c, prio);
}

static int
check_circles(struct preflight *c)
{
	uint8_t used = preflight_classes(c->sc);
	uint32_t ports[CIRCLE_SHOWN];
	int ret = 0;

	for (uint8_t prio = 1; ret == 0 && prio < SWITCH_CLASSES; prio++) {
		ret = (used >> prio & 1) != 0 ? circle_of(c, prio, c->sc->routes, true, ports) : 0;
		if (ret > 0)
			return report_circle(c, prio, ports, ret);
	}
	return ret;
}

/* Switches whose hosts can send more than leaves them. */

static int
check_oversubscription(struct preflight *c)
{
	const struct topo *topo = c->sc->topo;
	struct cfg_where where = cfg_where_key(c->sc->cfg, "topology");
	uint32_t worst = TOPO_NONE, count = 0;
	struct preflight_sides most = { 0 };
	char hosts[32], others[32], rate[32];
	struct preflight_finding *f;

	for (uint32_t n = 0; n < topo->nnodes; n++) {
		struct preflight_sides sides = preflight_sides_of(topo, n);

		if (topo->nodes[n].kind != TOPO_SWITCH || sides.others == 0 || sides.hosts_bps <= sides.others_bps)
			continue;
		if (count++ == 0 ||
		    (double)sides.hosts_bps / (double)sides.others_bps > (double)most.hosts_bps / (double)most.others_bps) {
			worst = n;
			most = sides;
		}
	}
	if (count == 0)
		return 0;
	f = preflight_add(
		c, "oversubscription", false,
		"hosts can send %.2f times what leaves their switch: at %s, of %u such, %s of hosts above %s of other "
		"ports",
		(double)most.hosts_bps / (double)most.others_bps, topo->nodes[worst].name, count,
		units_format_rate(most.hosts_bps, hosts, sizeof(hosts)),
		units_format_rate(most.others_bps, others, sizeof(others)));
	if (cfg_has(&where, "links"))
		preflight_remedy_links(c, f);
	else if (cfg_has(&where, "oversubscription") && !cfg_has(&where, "uplink_rate"))
		snprintf(f->remedy, sizeof(f->remedy), "--set topology.oversubscription=1.0");
	else if (cfg_has(&where, "host_rate") && cfg_has(&where, "k"))
		snprintf(f->remedy, sizeof(f->remedy), "--set topology.rate=%s",
			 units_format_rate(preflight_whole_mbps(most.hosts_bps / most.others), rate, sizeof(rate)));
	else if ((cfg_has(&where, "spines") || cfg_has(&where, "nics")) &&
		 most.hosts_bps / most.others <= TOPO_MAX_RATE_BPS)
		snprintf(f->remedy, sizeof(f->remedy), "--set topology.uplink_rate=%s%s",
			 units_format_rate(preflight_whole_mbps(most.hosts_bps / most.others), rate, sizeof(rate)),
			 cfg_has(&where, "oversubscription") ? " --set topology.oversubscription=1.0" : "");
	return 0;
}

/* A watchdog watches queues of classes with PFC. */
static int
check_watchdog(struct preflight *c)
{
	const struct topo *topo = c->sc->topo;
	const struct switch_settings *first = NULL;
	char path[CFG_WHERE_PATH];
	struct preflight_finding *f;

	for (uint32_t p = 0; p < topo->nports; p++) {
		const struct switch_settings *settings;

		if (topo->nodes[topo->ports[p].node].kind != TOPO_SWITCH)
			continue;
		settings = switch_settings_at(&c->sc->switches, topo, p);
		if (settings->watchdog.enabled && settings->pfc.enabled)
			return 0;
		if (settings->watchdog.enabled && first == NULL)
			first = settings;
	}
	if (first == NULL)
		return 0;
	f = preflight_add(c, "watchdog-idle", false,
			  "a PFC watchdog is enabled, and no port that has one has PFC: it watches nothing");
	cfg_where_path(&first->pfc.where, path);
	snprintf(f->remedy, sizeof(f->remedy), "--set %.150s.enabled=true", path);
	return 0;
}

/* CNPs in a class that data shares, or goes before, slow senders down late. */
static int
check_cnps(struct preflight *c)
{
	uint8_t prio = c->sc->roce.cc.cnp_prio, strict = c->sc->strict;
	struct preflight_finding *f;
	char names[64] = "";

	if (prio == 0 || (strict >> prio & 1) != 0)
		return 0;
	f = preflight_add(
		c, "cnp-class-shared", false,
		"CNPs have class %u (host.dcqcn.cnp_prio), which switch.strict does not name: they wait in turn with "
		"data%s",
		prio, strict != 0 ? ", and behind that of strict classes" : "");
	for (uint32_t p = 1; p < SWITCH_CLASSES; p++)
		if (((strict | 1u << prio) >> p & 1) != 0)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s\"%u\"",
				 names[0] != '\0' ? ", " : "", p);
	snprintf(f->remedy, sizeof(f->remedy), "--set 'switch.strict=[ %s ]'", names);
	return 0;
}

/* Faults that change nothing: of CNPs that no host sends, or of a place where another of their kind is on as well. */
static int
check_faults(struct preflight *c)
{
	const struct fault_list *faults = &c->sc->faults;
	const struct fault *of_cnps = NULL, *replaced = NULL, *by = NULL;
	char path[CFG_WHERE_PATH], other[CFG_WHERE_PATH], target[64];
	struct preflight_finding *f;

	for (uint32_t i = 0; i < faults->count; i++) {
		const struct fault *fault = &faults->faults[i];
		const struct fault *next = replaced == NULL ? faults_replacing(faults, c->sc->topo, fault) : NULL;

		if (of_cnps == NULL && fault->ops->of_cnps != NULL && fault->ops->of_cnps(fault->params) &&
		    ((const struct fault_common *)fault->params)->enabled)
			of_cnps = fault;
		replaced = next != NULL ? fault : replaced;
		by = next != NULL ? next : by;
	}
	if (of_cnps != NULL && c->sc->cc.echo != CC_ECHO_CNP) {
		of_cnps->ops->target(of_cnps->params, c->sc->topo, target);
		f = preflight_add(
			c, "fault-idle", true, "%s (%s at %s) is of CNPs alone, and hosts send none: host.cc = \"%s\"%s",
			cfg_where_path(of_cnps->params, path), of_cnps->ops->kind, target, cc_choices[c->sc->host.cc].name,
			c->sc->cc.echo == CC_ECHO_ACK ? ", which marks ACKs (host.dcqcn.echo)" : "");
		f->unmarked = false;
		if (c->sc->host.cc != CC_DCQCN)
			preflight_remedy(f, "--set host.cc=dcqcn");
		preflight_remedy(f, "--set host.dcqcn.echo=cnp");
	}
	if (replaced == NULL)
		return 0;
	replaced->ops->target(replaced->params, c->sc->topo, target);
	f = preflight_add(
		c, "fault-replaced", false,
		"%s (%s at %s) and %s of the same place are on at one time: the latter to begin replaces the other",
		cfg_where_path(replaced->params, path), replaced->ops->kind, target, cfg_where_path(by->params, other));
	preflight_remedy(f, "--set %.255s.enabled=false", other);
	return 0;
}

static int (*const checks[])(struct preflight *c) = {
	preflight_ecn, preflight_headroom, check_buffer,  preflight_pools,        check_timer,
	check_classes, check_ports,        check_circles, check_oversubscription, check_watchdog,
	check_faults,  preflight_watchdog, check_cnps,    check_window,           probing_preflight,
};

/* @param switches  of all_switches(); may be NULL */
static void
release_switches(const struct emulation *emulation, struct sw **switches)
{
	for (uint32_t i = 0; switches != NULL && i < emulation->scenario->topo->nnodes; i++)
		if (switches[i] != NULL && switches[i] != emulation->switches[i])
			node_destroy(&switches[i]->node);
	free(switches);
}

/* Those that another partition runs are made for the checks. @return [nnodes]; NULL: out of memory */
static struct sw **
all_switches(const struct emulation *emulation)
{
	const struct topo *topo = emulation->scenario->topo;
	struct sw **switches = calloc(topo->nnodes, sizeof(*switches));
	struct err err = { "" };
	bool all = switches != NULL;

	for (uint32_t i = 0; all && i < topo->nnodes; i++) {
		switches[i] = emulation->switches[i];
		if (topo->nodes[i].kind == TOPO_SWITCH && switches[i] == NULL)
			switches[i] = switch_create(&emulation->switch_config, i, &err);
		all = topo->nodes[i].kind != TOPO_SWITCH || switches[i] != NULL;
	}
	if (all)
		return switches;
	release_switches(emulation, switches);
	return NULL;
}

int
preflight(const struct emulation *emulation, struct preflight_finding *findings)
{
	struct preflight c = { .sc = emulation->scenario, .switches = all_switches(emulation), .findings = findings };
	int ret = c.switches != NULL ? 0 : -ENOMEM;

	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(checks); i++)
		ret = checks[i](&c);
	for (int i = 0; ret == 0 && i < c.count; i++)
		ret = preflight_gather_remedy(&findings[i]);
	release_switches(emulation, c.switches);
	return ret < 0 ? ret : c.count;
}
