/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/emulation.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/wire/record.h"
#include "emulation/partition.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

static void
send_run(const struct scenario *scenario, struct exporter *exporter)
{
	struct rec_run run = {
		.hdr.node = REC_NONE,
		.policy = (uint32_t)scenario->detection.policy,
		.detections = (uint32_t)scenario->detection.detections,
		.rtt_percent = (uint32_t)scenario->detection.rtt_percent,
		.epochs_kept = scenario->epochs_kept,
		.epoch_ps = scenario->telemetry.epoch_ps,
		.budget_bps = scenario->exporter.budget,
		.frame_bytes = scenario->mtu_frame_bytes,
		.payload_bytes = scenario->roce.mtu_bytes,
		.ack_bytes = scenario->roce.ack_bytes,
		.jitter_ps = scenario_jitter_ps(scenario),
		.window_bytes = scenario_window_bytes(scenario),
		.exact_contention = scenario->telemetry.contention == CONTENTION_EXACT,
		.strict_classes = scenario->strict,
	};

	memcpy(run.name, scenario->name, strnlen(scenario->name, REC_NAME_LEN));
	exporter_header(exporter, &run, REC_RUN, sizeof(run));
}

static void
send_topology(const struct topo *topo, struct exporter *exporter)
{
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		const struct topo_node *node = &topo->nodes[i];
		struct rec_node rec = { .hdr.node = i, .kind = node->kind == TOPO_HOST, .nports = node->nports };

		memcpy(rec.name, node->name, strnlen(node->name, REC_NAME_LEN));
		exporter_header(exporter, &rec, REC_NODE, sizeof(rec));
	}
	for (uint32_t i = 0; i < topo->nports; i++) {
		const struct topo_port *port = &topo->ports[i];
		struct rec_port rec = {
			.hdr.node = port->node,
			.port = port->index,
			.peer_port = port->peer_index,
			.peer = port->peer,
			.ip = topo->nodes[port->node].kind == TOPO_HOST ? topo_host_ip(topo, port->node, port->index) : 0,
			.rate_bps = port->rate_bps,
			.delay_ps = port->delay_ps,
		};

		exporter_header(exporter, &rec, REC_PORT, sizeof(rec));
	}
}

/* In one record, or in several. */
static int
send_setting(void *ctx, const char *setting)
{
	size_t length = strlen(setting);

	if (strncmp(setting, "timing.clock=", 13) == 0 || strncmp(setting, "timing.idle=", 12) == 0)
		return 0; /* of this program, not of the fabric */
	for (size_t at = 0; at < length; at += REC_SETTING_TEXT) {
		struct rec_setting rec = { .hdr.node = REC_NONE, .continued = length - at > REC_SETTING_TEXT };

		memcpy(rec.text, setting + at, length - at < REC_SETTING_TEXT ? length - at : REC_SETTING_TEXT);
		exporter_header(ctx, &rec, REC_SETTING, sizeof(rec));
	}
	return 0;
}

/* The configuration of switches and NICs. */
static void
send_settings(const struct scenario *scenario, struct exporter *exporter)
{
	static const char *const groups[] = {
		"switch", "switches", "ports", "host", "load_balancing", "routing", "timing"
	};
	struct cfg_known known[SCENARIO_MAX_TABLES];
	size_t count = scenario_tables(known, SCENARIO_MAX_TABLES);

	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		cfg_settings(scenario->cfg, known, count, groups[i], send_setting, exporter);
}

static void
send_step(const struct plan *plan, const struct rec_collective *of, uint32_t rank, uint32_t number,
	  struct exporter *exporter)
{
	struct rec_schedule step;

	plan_schedule_record(plan, of->id, of->iteration, rank, number, &step);
	exporter_header(exporter, &step, REC_SCHEDULE, sizeof(step));
	for (uint32_t i = 0; i < step.depends; i++) {
		struct rec_depend depend;

		plan_depend_record(plan, &step, i, &depend);
		exporter_header(exporter, &depend, REC_DEPEND, sizeof(depend));
	}
}

/* A partition that does not report for all has the steps of its own ranks. @return nodes of others; NULL: it reports all */
static const bool *
left_out(const struct emulation *emulation)
{
	return emulation->partition != NULL && !emulation->partition->whole ? emulation->partition->remote : NULL;
}

static void
send_collectives(const struct emulation *emulation, struct exporter *exporter)
{
	const struct plan *plan = emulation->scenario->plan;
	const bool *remote = left_out(emulation);

	for (uint32_t c = 0; c < plan->ncollectives; c++) {
		const struct plan_collective *collective = &plan->collectives[c];
		uint32_t all = coll_all_steps(collective->schedule);

		for (uint32_t it = 0; collective->enabled && it < collective->iterations; it++) {
			struct rec_collective rec;

			plan_collective_record(plan, c, it, &rec);
			rec.steps = plan_own_steps(collective, remote);
			exporter_header(exporter, &rec, REC_COLLECTIVE, sizeof(rec));
			for (uint32_t r = 0; r < collective->schedule->ranks; r++) {
				if (rec.steps != all && remote[collective->ranks[r].node])
					continue;
				for (uint32_t s = 1; s <= coll_steps(collective->schedule, r); s++)
					send_step(plan, &rec, r, s, exporter);
			}
		}
	}
}

/* In which order jobs run their collectives. */
static void
send_order(const struct plan *plan, struct exporter *exporter)
{
	for (uint32_t c = 0; c < plan->ncollectives; c++) {
		for (uint32_t i = 0; plan->collectives[c].enabled && i < plan->collectives[c].nafter; i++) {
			struct rec_follow rec = { .hdr.node = REC_NONE,
						  .collective = c,
						  .after = plan->collectives[c].after[i] };

			exporter_header(exporter, &rec, REC_FOLLOW, sizeof(rec));
		}
	}
}

static void
send_judged(const struct plan *plan, struct plan_judged judged, struct exporter *exporter)
{
	struct rec_schedule step;

	plan_judged_record(plan, &judged, &step);
	exporter_header(exporter, &step, REC_SCHEDULE, sizeof(step));
}

/* Flows that are judged: of generators, and of the list. */
static void
send_flows(const struct scenario *scenario, struct exporter *exporter)
{
	const struct plan *plan = scenario->plan;
	struct rec_collective rec;

	for (uint32_t g = 0; g < scenario->traffic->ngenerators; g++) {
		plan_generator_record(plan, scenario->traffic, g, &rec);
		if (rec.steps == 0) /* it is not enabled */
			continue;
		exporter_header(exporter, &rec, REC_COLLECTIVE, sizeof(rec));
		for (uint32_t i = 0; i < plan->nmessages; i++)
			if (plan->messages[i].generator == g)
				send_judged(plan, plan_judged_message(plan, i), exporter);
	}
	if (!plan_backgrounds_record(plan, scenario->topo, &rec))
		return;
	exporter_header(exporter, &rec, REC_COLLECTIVE, sizeof(rec));
	for (uint32_t i = 0; i < plan->nbackgrounds; i++)
		if (plan->backgrounds[i].step != 0)
			send_judged(plan, plan_judged_background(plan, &plan->backgrounds[i]), exporter);
}

/* Sets of equal cost that were sent already: the members are the routing table's, equal sets of a switch share them. */
struct ecmp_sets {
	const uint8_t **members;
	uint32_t count, cap;
};

/* @return the set's number; REC_NO_ECMP where nothing was chosen by hash, or when out of memory */
static uint16_t
send_choice(const struct scenario *scenario, uint32_t node, uint32_t flow, bool reverse, struct ecmp_sets *sets,
	    struct exporter *exporter)
{
	struct route_choice choice;

	if (route_choose(&scenario->routing, node, &scenario->plan->flows.flows[flow], reverse, &choice) != 0 ||
	    choice.is_pinned || choice.nmembers < 2)
		return REC_NO_ECMP;
	for (uint32_t i = sets->count; i-- > 0;) {
		if (sets->members[i] == choice.members)
			return (uint16_t)(i + 1);
	}
	if (sets->count == sets->cap) {
		uint32_t cap = sets->cap == 0 ? 64 : sets->cap * 2;
		const uint8_t **grown = cap <= UINT16_MAX ? realloc(sets->members, cap * sizeof(*grown)) : NULL;

		if (grown == NULL)
			return REC_NO_ECMP;
		sets->members = grown;
		sets->cap = cap;
	}
	sets->members[sets->count++] = choice.members;
	for (uint32_t next = 0; next < choice.nmembers;) {
		struct route_set_part part;
		struct rec_ecmp rec = { .hdr.node = node,
					.set = sets->count,
					.sprayed = balance_is_on(&scenario->balance) };

		next = route_set_part(choice.members, choice.nmembers, next, &part);
		rec.first = part.first;
		memcpy(rec.ports, part.bits, sizeof(rec.ports));
		exporter_header(exporter, &rec, REC_ECMP, sizeof(rec));
	}
	return (uint16_t)sets->count;
}

static void
send_path(const struct scenario *scenario, uint32_t flow, bool reverse, struct ecmp_sets *sets, struct exporter *exporter)
{
	struct route_path path;

	if (scenario_path(scenario, flow, reverse, &path) < 0)
		return;
	for (uint32_t hop = 0; hop < path.hops; hop++) {
		const struct topo_port *port = &scenario->topo->ports[path.ports[hop]];
		struct rec_route rec = {
			.hdr.node = port->node,
			.flow = plan_tuple(scenario->plan, flow),
			.hop = (uint16_t)hop,
			.port = port->index,
			.reverse = reverse,
			.ecmp = send_choice(scenario, port->node, flow, reverse, sets, exporter),
		};

		exporter_header(exporter, &rec, REC_ROUTE, sizeof(rec));
	}
}

static bool
is_judged(const struct plan *plan, uint32_t flow)
{
	const struct plan_flow *of = &plan->of[flow];

	return plan->judged &&
	       (of->kind == FLOW_TRAFFIC || (of->kind == FLOW_BACKGROUND && plan->backgrounds[of->owner].step != 0));
}

/* The paths that the operator's ECMP and pins give the flows that are diagnosed; misroutes are not configured. */
static void
send_routes(const struct scenario *scenario, struct exporter *exporter)
{
	const struct flow_table *flows = &scenario->plan->flows;
	struct ecmp_sets sets = { 0 };

	for (uint32_t f = 0; f < flows->count; f++) {
		bool known = flows->flows[f].kind == FLOW_COLLECTIVE || is_judged(scenario->plan, f);

		for (int reverse = 0; reverse < 2 && known; reverse++)
			send_path(scenario, f, reverse, &sets, exporter);
	}
	free(sets.members);
}

void
stream_head_send(const struct emulation *emulation, struct exporter *exporter)
{
	const struct scenario *scenario = emulation->scenario;

	send_run(scenario, exporter);
	send_topology(scenario->topo, exporter);
	send_settings(scenario, exporter);
	emulation_stream_head(emulation, exporter);
	send_collectives(emulation, exporter);
	send_order(scenario->plan, exporter);
	if (scenario->plan->judged)
		send_flows(scenario, exporter);
	send_routes(scenario, exporter);
}
