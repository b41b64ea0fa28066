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
#include "common/units.h"
#include "scenario/scenario.h"
#include "topo/circle.h"

#define CIRCLE_SHOWN 12 /* ports of a circle by name */

struct checking {
	const struct emulation *emulation;
	const struct scenario *sc;
	struct preflight_finding *findings; /* [PREFLIGHT_FINDINGS] */
	int count;
};

/* @return the finding, for its remedy */
static struct preflight_finding *add(struct checking *c, const char *check, bool inert, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static struct preflight_finding *
add(struct checking *c, const char *check, bool inert, const char *fmt, ...)
{
	struct preflight_finding *f = &c->findings[c->count++];
	va_list ap;

	assert(c->count <= PREFLIGHT_FINDINGS);
	*f = (struct preflight_finding){ .check = check, .inert = inert };
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return f;
}

/* A flow of the plan that sends more than single packets. */
static bool
carries_data(const struct scenario *sc, uint32_t flow)
{
	uint32_t owner = sc->plan->of[flow].owner;

	switch (sc->plan->flows.flows[flow].kind) {
	case FLOW_COLLECTIVE:
		return sc->plan->collectives[owner].enabled;
	case FLOW_BACKGROUND:
		return sc->plan->backgrounds[owner].start_ps != TIME_NEVER;
	case FLOW_TRAFFIC:
		return true;
	default:
		return false;
	}
}

/*
 * ECN that cannot mark: ingresses that fill an egress are paused, or their senders' windows are full, before its queue is
 * long enough.
 */

/* What the flows' paths lead to an egress. */
struct load {
	uint64_t busy[TOPO_MAX_PORTS / 64]; /* ingresses of its switch, a bit each */
	uint32_t flows;
};

static void
add_path(struct load *loads, const struct topo *topo, const struct route_path *path)
{
	for (uint32_t h = 1; h < path->hops; h++) {
		struct load *load = &loads[path->ports[h]];
		uint16_t ingress = topo->ports[path->ports[h - 1]].peer_index;

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
find_loads(const struct scenario *sc)
{
	struct load *loads = calloc(sc->topo->nports + 1u, sizeof(*loads));

	if (loads != NULL && balance_is_on(&sc->balance))
		add_all(loads, sc->topo, sc->plan->flows.count);
	for (uint32_t f = 0; loads != NULL && !balance_is_on(&sc->balance) && f < sc->plan->flows.count; f++) {
		struct route_path path;

		if (carries_data(sc, f) && scenario_path(sc, f, false, &path) == 0)
			add_path(loads, sc->topo, &path);
	}
	return loads;
}

/* What one egress makes of its busy ingresses. */
struct marking {
	uint32_t port, busy;
	uint64_t xoff_bytes;  /* of each, when all have as much: reserve and threshold */
	uint64_t queue_bytes; /* then */
	uint64_t kmin_bytes;
};

/*
 * With n ingresses of the same fill x above their reserves, the dynamic threshold is alpha (pool - n x): they reach it at
 * x = alpha pool / (1 + n alpha).
 */
static struct marking
mark(const struct sw *sw, uint16_t index, uint8_t prio, uint32_t busy)
{
	const struct pfc_params *pfc = &sw->account.pfc;
	double alpha = (double)pfc->alpha_num / (double)(1u << pfc->alpha_shift);
	uint64_t above = pfc->model == PFC_STATIC ? pfc->xoff_bytes
						  : (uint64_t)(alpha * (double)pfc->pool_bytes / (1 + busy * alpha));

	return (struct marking){
		.port = sw->node.topo->nodes[sw->node.id].first_port + index,
		.busy = busy,
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
roomy_mb(const struct sw *sw, const struct marking *m)
{
	const struct account *a = &sw->account;
	double alpha = (double)a->pfc.alpha_num / (double)(1u << a->pfc.alpha_shift);
	double pool = 2 * ((double)m->kmin_bytes / m->busy) * (1 + m->busy * alpha) / alpha;
	double fixed = (double)(a->buffer_bytes - a->pfc.pool_bytes);

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
	uint32_t ports, behind_pfc, behind_window;
	struct marking best;      /* of those behind PFC: the nearest to marking */
	uint64_t in_flight_bytes; /* of those behind windows: the most, and where */
	uint32_t in_flight_port, in_flight_flows;
};

static void
weigh(struct crowded *all, const struct scenario *sc, const struct marking *m, uint32_t flows)
{
	uint64_t in_flight_bytes = windows_bytes(sc, flows);

	all->ports++;
	if (in_flight_bytes <= m->kmin_bytes) {
		all->behind_window++;
		if (in_flight_bytes > all->in_flight_bytes) {
			all->in_flight_bytes = in_flight_bytes;
			all->in_flight_port = m->port;
			all->in_flight_flows = flows;
		}
	} else if (m->queue_bytes <= m->kmin_bytes) {
		if (all->behind_pfc++ == 0 || (double)m->queue_bytes / (double)m->kmin_bytes >
						      (double)all->best.queue_bytes / (double)all->best.kmin_bytes)
			all->best = *m;
	}
}

static void
report_pfc(struct checking *c, const struct crowded *all, bool inert)
{
	const struct marking *best = &all->best;
	const struct sw *sw = c->emulation->switches[c->sc->topo->ports[best->port].node];
	char port[64];
	struct preflight_finding *f;

	f = add(c, "ecn-behind-pfc", inert,
		"%sat %u of the %u ports that several ingresses fill, PFC pauses before ECN marks. %s, with %u of them "
		"busy: "
		"XOFF at %" PRIu64 " B each, which are %" PRIu64 " B in its queue; kmin %" PRIu64 " B",
		inert ? "host.cc = \"dcqcn\" cannot act: " : "", all->behind_pfc, all->ports,
		topo_port_name(c->sc->topo, best->port, port), best->busy, best->xoff_bytes, best->queue_bytes,
		best->kmin_bytes);
	if (sw->account.pfc.model == PFC_STATIC)
		snprintf(f->remedy, sizeof(f->remedy), "--set switch.pfc.xoff=%" PRIu64, 2 * best->kmin_bytes / best->busy);
	else
		snprintf(f->remedy, sizeof(f->remedy), "--set switch.buffer=%" PRIu64 "MB%s", roomy_mb(sw, best),
			 scenario_window_bytes(c->sc) != 0 ? " --set host.window=none" : "");
}

static void
report_window(struct checking *c, const struct crowded *all, bool inert)
{
	const struct egress *egress = &c->emulation->switches[c->sc->topo->ports[all->in_flight_port].node]
					       ->ports[c->sc->topo->ports[all->in_flight_port].index]
					       .egress;
	char port[64];
	struct preflight_finding *f;

	f = add(c, "ecn-behind-window", inert,
		"%sat %u of the %u ports that several ingresses fill, the senders' windows are full before ECN marks. %s, "
		"of %u flows: at most %" PRIu64 " B in flight; kmin %" PRIu64 " B",
		inert ? "host.cc = \"dcqcn\" cannot act: " : "", all->behind_window, all->ports,
		topo_port_name(c->sc->topo, all->in_flight_port, port), all->in_flight_flows, all->in_flight_bytes,
		egress->ecn[c->sc->roce.data_prio].kmin_bytes);
	snprintf(f->remedy, sizeof(f->remedy), "--set host.window=none");
}

static int
check_ecn(struct checking *c)
{
	const struct topo *topo = c->sc->topo;
	struct crowded all = { .ports = 0 };
	struct load *loads;
	bool inert;

	if (c->sc->cc.echo == CC_ECHO_NONE || !c->sc->pfc.enabled || (!c->sc->ecn.enabled && c->sc->nwreds == 0))
		return 0;
	loads = find_loads(c->sc);
	if (loads == NULL)
		return -ENOMEM;
	for (uint32_t p = 0; p < topo->nports; p++) {
		const struct sw *sw = c->emulation->switches[topo->ports[p].node];
		uint32_t busy = sw != NULL ? crowd(topo, p, loads[p].busy) : 0;
		struct marking m;

		if (busy == 0)
			continue;
		m = mark(sw, topo->ports[p].index, c->sc->roce.data_prio, busy);
		if (m.kmin_bytes != ECN_NEVER)
			weigh(&all, c->sc, &m, loads[p].flows);
	}
	free(loads);
	inert = all.behind_pfc + all.behind_window == all.ports;
	if (all.behind_pfc != 0)
		report_pfc(c, &all, inert);
	if (all.behind_window != 0)
		report_window(c, &all, inert);
	if (all.ports == 0)
		add(c, "no-contention", false,
		    "host.cc = \"dcqcn\" has nothing to react to: the flows' paths lead no port more than its rate");
	return 0;
}

/* Rows of headroom that are short for a cable. */

static int
check_headroom(struct checking *c)
{
	const struct topo *topo = c->sc->topo;
	uint32_t worst = TOPO_NONE, count = 0;
	uint64_t worst_row = 0, worst_needed = 0;
	char port[64], rate[32], delay[32];

	if (c->sc->pfc.headroom_bytes != 0 || !c->sc->pfc.enabled)
		return 0; /* one size of all is checked as the switches are made */
	for (uint32_t p = 0; p < topo->nports; p++) {
		const struct sw *sw = c->emulation->switches[topo->ports[p].node];
		uint64_t row, needed;
		struct err err = { "" };

		if (sw == NULL || switch_headroom_row(&c->sc->pfc, &topo->ports[p], &row, &err) < 0 || row == 0)
			continue;
		needed = account_headroom_needed(sw, topo->ports[p].index);
		if (row >= needed)
			continue;
		if (count++ == 0 || needed - row > worst_needed - worst_row) {
			worst = p;
			worst_row = row;
			worst_needed = needed;
		}
	}
	if (count != 0)
		add(c, "headroom-short", false,
		    "the row of switch.pfc.headrooms for %s (%s, %s) has %" PRIu64 " B and is short by %" PRIu64
		    " KiB: the cable needs %" PRIu64 " B, which it has here; so are those of %u more ports",
		    topo_port_name(topo, worst, port), units_format_rate(topo->ports[worst].rate_bps, rate, sizeof(rate)),
		    units_format_time(topo->ports[worst].delay_ps, delay, sizeof(delay)), worst_row,
		    (worst_needed - worst_row + 1023) / 1024, worst_needed, count - 1);
	return 0;
}

/* A retransmission timer that ends before the first ACK can arrive. */

#define TIMER_UNIT_PS 4096000ULL /* IBTA 9.7.6.1.3: 4.096 us x 2^n */
#define TIMER_SAFE 4             /* round trips without queues */

static int
check_timer(struct checking *c)
{
	uint64_t rtt_ps = c->sc->roce.cc.base_rtt_ps, right_ps = TIMER_UNIT_PS;
	char rtt[32], timer[32];
	struct preflight_finding *f;

	if (c->sc->roce.timeout_ps == 0 || c->sc->roce.timeout_ps > rtt_ps)
		return 0;
	while (right_ps < TIMER_SAFE * rtt_ps)
		right_ps *= 2;
	f = add(c, "timer-below-rtt", false,
		"host.timeout is %s, and the longest round trip without queues %s: packets are sent again before their ACK "
		"can arrive",
		units_format_time(c->sc->roce.timeout_ps, timer, sizeof(timer)),
		units_format_time(rtt_ps, rtt, sizeof(rtt)));
	snprintf(f->remedy, sizeof(f->remedy), "--set host.timeout=%" PRIu64 "us", (right_ps + 999999) / 1000000);
	return 0;
}

/* Data in classes without PFC, where others have it. */

static int
check_classes(struct checking *c)
{
	const struct flow_table *flows = &c->sc->plan->flows;
	uint8_t lossless = 0, reported = 0;
	struct err err = { "" };

	if (!c->sc->pfc.enabled || switch_lossless_classes(&c->sc->pfc, &lossless, &err) < 0)
		return 0;
	for (uint32_t i = 0; i < flows->count; i++) {
		const struct flow *flow = &flows->flows[i];
		char limit[32], more[64] = "";
		struct preflight_finding *f;

		if (!carries_data(c->sc, i) || ((lossless | reported) >> flow->prio & 1) != 0)
			continue;
		reported |= (uint8_t)(1u << flow->prio);
		f = add(c, "lossy-class", false,
			"data of %s to %s is in class %u, which has no PFC: what a queue of %s cannot hold is lost",
			c->sc->topo->nodes[flow->src_node].name, c->sc->topo->nodes[flow->dst_node].name, flow->prio,
			units_format_bytes(c->sc->sw.lossy_queue_bytes, limit, sizeof(limit)));
		for (uint32_t p = 1; p < SWITCH_CLASSES; p++)
			if (((lossless | 1u << flow->prio) >> p & 1) != 0)
				snprintf(more + strlen(more), sizeof(more) - strlen(more), "%s\"%u\"",
					 more[0] != '\0' ? ", " : "", p);
		snprintf(f->remedy, sizeof(f->remedy), "--set 'switch.pfc.priorities=[ %s ]'", more);
	}
	return 0;
}

/* Circles of buffers that wait for each other. */

/* @param ports  [count] of which those that fit are there */
static void
report_circle(struct checking *c, const uint32_t *ports, int count)
{
	char text[512] = "", name[64];

	for (int i = 0; i < count && i < CIRCLE_SHOWN; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i != 0 ? " -> " : "",
			 topo_port_name(c->sc->topo, ports[i], name));
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s",
		 count > CIRCLE_SHOWN ? " -> ..." : " -> the first");
	add(c, "buffer-circle", false,
	    "routes lead packets around a circle of %d buffers, each of which waits for the next: PFC may stop them for "
	    "good (%s): let every path go up and then down, by other routes or \"paths\"",
	    count, text);
}

static int
check_circles(struct checking *c)
{
	const struct scenario *sc = c->sc;
	struct dependencies *d;
	uint32_t ports[CIRCLE_SHOWN];
	int ret;

	if (!sc->pfc.enabled)
		return 0;
	d = dependencies_create(sc->topo);
	ret = d != NULL ? dependencies_add_routes(d, sc->routes) : -ENOMEM;
	for (uint32_t f = 0; ret == 0 && f < sc->plan->flows.count; f++) {
		struct route_path path;

		if (scenario_path(sc, f, false, &path) == 0)
			dependencies_add_path(d, &path);
	}
	if (ret == 0)
		ret = dependencies_circle(d, ports, CIRCLE_SHOWN);
	if (ret > 0)
		report_circle(c, ports, ret);
	dependencies_destroy(d);
	return ret < 0 ? ret : 0;
}

/* Switches whose hosts can send more than leaves them. */

struct sides {
	uint64_t hosts_bps, others_bps;
	uint32_t others;
};

static struct sides
sides_of(const struct topo *topo, uint32_t node)
{
	struct sides sides = { 0 };

	for (uint16_t p = 0; p < topo->nodes[node].nports; p++) {
		const struct topo_port *port = topo_port_of(topo, node, p);

		if (topo->nodes[port->peer].kind == TOPO_HOST) {
			sides.hosts_bps += port->rate_bps;
		} else {
			sides.others_bps += port->rate_bps;
			sides.others++;
		}
	}
	return sides;
}

static int
check_oversubscription(struct checking *c)
{
	const struct topo *topo = c->sc->topo;
	struct cfg_where where = cfg_where_key(c->sc->cfg, "topology");
	uint32_t worst = TOPO_NONE, count = 0;
	struct sides most = { 0 };
	char hosts[32], others[32];
	struct preflight_finding *f;

	for (uint32_t n = 0; n < topo->nnodes; n++) {
		struct sides sides = sides_of(topo, n);

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
	f = add(c, "oversubscription", false,
		"hosts can send %.2f times what leaves their switch: at %s, of %u such, %s of hosts above %s of other "
		"ports",
		(double)most.hosts_bps / (double)most.others_bps, topo->nodes[worst].name, count,
		units_format_rate(most.hosts_bps, hosts, sizeof(hosts)),
		units_format_rate(most.others_bps, others, sizeof(others)));
	if (cfg_has(&where, "uplink_rate"))
		snprintf(f->remedy, sizeof(f->remedy), "--set topology.uplink_rate=%" PRIu64 "Mbps",
			 (most.hosts_bps / most.others + 999999) / 1000000);
	else if (cfg_has(&where, "oversubscription"))
		snprintf(f->remedy, sizeof(f->remedy), "--set topology.oversubscription=1.0");
	return 0;
}

static int (*const checks[])(struct checking *c) = {
	check_ecn, check_headroom, check_timer, check_classes, check_circles, check_oversubscription,
};

int
preflight(const struct emulation *emulation, struct preflight_finding *findings)
{
	struct checking c = { .emulation = emulation, .sc = emulation->scenario, .findings = findings };
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(checks); i++)
		ret = checks[i](&c);
	return ret < 0 ? ret : c.count;
}
