/* SPDX-License-Identifier: BSD-3-Clause */
/* FlowTracer's part of a scenario. */
#include "common/array.h"
#include "common/wire/trace.h"
#include "scenario/scenario_load.h"

#define MOST_PROCESSES 64
#define MOST_THREADS 64

#define CHOICE(id, number, name_, meaning) { .name = name_, .value = id, .doc = meaning },
static const struct cfg_choice connections[] = { REC_TRACE_CONNECTIONS(CHOICE){ 0 } };

static const struct cfg_choice first_hops[] = { REC_TRACE_FIRST_HOPS(CHOICE){ 0 } };

#define AT(field) offsetof(struct flowtracer_params, field)
static const struct cfg_field fields[] = {
	{ "enabled", CFG_BOOL, AT(enabled), "false", 0, 0, NULL,
	  "An operator's tracer asks hosts for their flows and switches for the egress of each (FlowTracer, Algorithm 1)" },
	{ "start", CFG_TIME, AT(start_ps), "0s", 0, 1e15, NULL, "The first round begins" },
	{ "period", CFG_TIME, AT(period_ps), "0s", 0, 1e15, NULL,
	  "So long after a round the next begins; 0: there is one. The run waits for the first alone" },
	{ "rtt", CFG_TIME, AT(rtt_ps), "1ms", 1e6, 1e12, NULL, "Round trip of the network of management" },
	{ "connections", CFG_ENUM, AT(connections), "parallel", 0, 0, connections,
	  "To switches and hosts (FlowTracer, Fig. 5). ad-hoc and persistent: of one thread a process" },
	{ "first_hop", CFG_ENUM, AT(first_hop), "host", 0, 0, first_hops,
	  "Who names flows, and the port by which they leave their host (III-B1)" },
	{ "processes", CFG_INT, AT(processes), "1", 1, MOST_PROCESSES, NULL,
	  "Among which pairs of hosts are divided (P of Algorithm 1)" },
	{ "threads", CFG_INT, AT(threads), "8", 1, MOST_THREADS, NULL,
	  "Of a process, among which a pair's flows are divided (T)" },
	{ "all_flows", CFG_BOOL, AT(all_flows), "true", 0, 0, NULL,
	  "Background flows and those of generators are traced, too; false: those of jobs alone" },
};
#undef AT

const struct cfg_table flowtracer_cfg = {
	.path = "flowtracer",
	.doc = "FlowTracer: the ways of flows, and how evenly links carry them. Of embedded hosts; `rocelab trace` asks "
	       "others.",
	.size = sizeof(struct flowtracer_params),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

int
scenario_check_tracer(const struct scenario *sc, struct err *err)
{
	if (!sc->flowtracer.enabled || sc->flowtracer.first_hop != REC_TRACE_SFLOW || sc->sw.sampling != 0)
		return 0;
	return cfg_fail(
		&sc->flowtracer.where, "first_hop", err,
		"\"sflow\" is of packets that switches sample: switch.sampling = 1000, say, has them take one of so many");
}
