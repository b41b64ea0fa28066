/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/run/warn.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "common/log.h"
#include "common/run_files.h"
#include "common/units.h"
#include "emulation/injection.h"

#define SHARERS_SHOWN 4
#define SHARERS_TEXT 512

void
warn_of_capture(const struct run_options *options, const struct capturing *capturing)
{
	struct capture_totals totals;
	char limit[32], when[32];

	capture_sum(capturing->capture, &totals);
	if (capturing->error != 0)
		log_warning("%s/" RUN_CAPTURE " is cut short: %s", options->out, strerror(capturing->error));
	else if (totals.lagged != 0)
		log_warning("%s/" RUN_CAPTURE " lacks %" PRIu64 " of %" PRIu64 " frames: the disk did not keep up; "
			    "--capture-bytes makes less of them",
			    options->out, totals.lagged, totals.frames);
	if (totals.missing != 0)
		log_warning("%s/" RUN_CAPTURE " reached its limit of %s at %s: %" PRIu64 " of %" PRIu64
			    " frames are not in it; --capture-limit and --capture-bytes make room",
			    options->out, units_format_bytes(options->capture.limit_bytes, limit, sizeof(limit)),
			    units_format_time(totals.limit_ps, when, sizeof(when)), totals.missing, totals.frames);
}

bool
warn_of_stream(const struct run_options *options, const struct exporter *exporter)
{
	bool whole = true;

	for (const struct output_ops *const *ops = output_registry; *ops != NULL; ops++) {
		struct output_stats stats = sink_stats(exporter_outputs(exporter), *ops);

		if ((*ops)->report != NULL)
			(*ops)->report(&stats, options->out);
		whole &= !(*ops)->kept || stats.error == 0;
	}
	return whole;
}

void
warn_of_idle_faults(const struct emulation *emulation)
{
	json_t *list = injection_idle_json(emulation), *text;
	size_t i;

	json_array_foreach(list, i, text) log_warning("%s", json_string_value(text));
	json_decref(list);
}

void
warn_of_refusals(const struct attach *attach)
{
	for (uint32_t i = 0; attach != NULL && i < attach_hosts(attach); i++) {
		struct attach_host host = attach_host(attach, i);

		if (host.manage.refused_records != 0)
			log_warning("%" PRIu64 " records of a host were refused, the first: %s",
				    host.manage.refused_records, host.refused);
	}
}

void
warn_order(const struct scenario *sc)
{
	const struct balance_ops *balance = sc->balance.ops;

	if (balance->reorders && !balance->per_flow && (!sc->roce.any_order || sc->nexternal != 0))
		log_warning("load_balancing.kind = \"%s\" sends a flow's packets by many ways, and some come too early: a "
			    "go-back-N receiver answers those with NAKs, and everything behind them is sent again%s",
			    balance->name,
			    sc->nexternal != 0 ? "; hosts with their own kernel have no other"
					       : "; host.transport = \"selective\" takes them as they come");
}

/* A list of flows for a warning: the first few by name, the others by number. */
struct flow_list {
	char text[SHARERS_TEXT];
	size_t used;
	uint32_t count;
};

static void
list_flow(struct flow_list *list, const struct topo *topo, const struct flow *flow)
{
	int more = 0;

	if (list->count++ < SHARERS_SHOWN)
		more = snprintf(list->text + list->used, sizeof(list->text) - list->used, "%s%s to %s (port %u)",
				list->count > 1 ? ", " : "", topo->nodes[flow->src_node].name,
				topo->nodes[flow->dst_node].name, flow->sport);
	list->used += (size_t)more;
	if (list->used >= sizeof(list->text))
		list->used = sizeof(list->text) - 1;
}

/* Does a flow send anything in this run, and out of its leaf? */
static bool
leaves_its_leaf(const struct scenario *sc, uint32_t index)
{
	const struct flow *flow = &sc->plan->flows.flows[index];
	uint32_t owner = sc->plan->of[index].owner;

	if (topo_port_of(sc->topo, flow->src_node, flow->src_nic)->peer ==
	    topo_port_of(sc->topo, flow->dst_node, flow->dst_nic)->peer)
		return false;
	switch (flow->kind) {
	case FLOW_COLLECTIVE:
		return sc->plan->collectives[owner].enabled;
	case FLOW_BACKGROUND:
		return sc->plan->backgrounds[owner].start_ps != TIME_NEVER;
	case FLOW_TRAFFIC:
		return true;
	default:
		return false; /* a few packets */
	}
}

/* Flows that measured data does not go before: in its class, or in one that shares the link with it. */
static void
list_sharers(const struct scenario *sc, struct flow_list *list)
{
	const struct flow_table *flows = &sc->plan->flows;
	uint8_t measured = 0;

	for (uint32_t i = 0; i < flows->count; i++)
		if (sc->plan->of[i].measured && leaves_its_leaf(sc, i))
			measured |= (uint8_t)(1u << flows->flows[i].prio);
	for (uint32_t i = 0; i < flows->count && measured != 0; i++) {
		uint8_t class = (uint8_t)(1u << flows->flows[i].prio);

		if (!sc->plan->of[i].measured && leaves_its_leaf(sc, i) &&
		    ((measured & class) != 0 || (measured & ~sc->strict) != 0))
			list_flow(list, sc->topo, &flows->flows[i]);
	}
}

void
warn_of_shared_class(const struct scenario *sc)
{
	struct flow_list list = { .used = 0 };
	char more[32] = "";

	if (!sc->volumes.enabled || !balance_evens_out(&sc->balance))
		return;
	list_sharers(sc, &list);
	if (list.count > SHARERS_SHOWN)
		snprintf(more, sizeof(more), " and %u more", list.count - SHARERS_SHOWN);
	if (list.count != 0)
		log_warning(
			"%s:%d: flowpulse is blind where other flows share the measured collective's class: "
			"load_balancing.kind = \"%s\" evens out the sum of all flows, and what these take of a port looks "
			"like a loss: %s%s; give the collective a class that is served first (host.measured_prio, "
			"switch.strict)",
			sc->volumes.where.file, sc->volumes.where.line, sc->balance.ops->name, list.text, more);
}

void
warn_late(const struct emulation *emulation)
{
	const struct pacer *pacer = &emulation->pacer;
	double scale = pacer_scale(pacer);
	char worst[32];

	if (scale < 1)
		log_warning("this machine did not keep up: %.1f %% of the windows were late, by up to %s; scale the "
			    "links' rates by %.2g",
			    100.0 * (double)pacer->late_windows / (double)pacer->windows,
			    units_format_time(pacer->worst_late_ps, worst, sizeof(worst)), scale);
}
