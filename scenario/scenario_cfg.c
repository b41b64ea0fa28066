/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of keys that belong to no module, and the list of all tables. */
#include <stddef.h>

#include "common/array.h"
#include "common/prng.h"
#include "common/wire/trace.h"
#include "rxe-hosts/faults/host_faults.h"
#include "scenario/profile.h"
#include "scenario/scenario.h"
#include "scenario/scenario_load.h"
#include "topo/build.h"
#include "topo/route.h"
#include "workload/config.h"
#include "workload/workload.h"

#define S struct scenario_root
static const struct cfg_field root_fields[] = {
	CFG_FIELD("name", CFG_STRING, offsetof(S, name), .def = "", .doc = "Name of the run; default: the file's"),
	CFG_FIELD("seed", CFG_INT, offsetof(S, seed), .def = "1", .max = PRNG_SEEDS,
		  .doc = "Seed of every random choice: ECMP, ECN marking, lossy links"),
	CFG_FIELD(
		"draw", CFG_INT, offsetof(S, draw), .def = "0", .max = PRNG_SEEDS,
		.doc = "Another draw of packets' chance (ECN marking, lossy links, spraying), with placements, hashes and "
		       "other choices as the seed has them"),
	CFG_FIELD("diagnosers", CFG_STRINGS, offsetof(S, diagnosers), .def = "",
		  .doc = "Systems whose findings `rocelab run` compares side by side: vedrfolnir, flowpulse, flowtracer, "
			 "pingmesh, hawkeye-minr, hawkeye-maxr, full-polling, or the path of a plugin diagnoser, with a "
			 "slash; absent or empty: one run of the systems that the scenario enables"),
};
#undef S

static const struct cfg_choice clocks[] = {
	{ .name = "auto", .value = CLOCK_AUTO },
	{ .name = "virtual", .value = CLOCK_VIRTUAL },
	{ .name = "real", .value = CLOCK_REAL },
	{ 0 },
};
static const struct cfg_choice idles[] = {
	{ .name = "auto", .value = IDLE_AUTO },
	{ .name = "sleep", .value = IDLE_SLEEP },
	{ .name = "busy", .value = IDLE_BUSY },
	{ 0 },
};

#define S struct timing_params
static const struct cfg_field timing_fields[] = {
	CFG_FIELD("clock", CFG_ENUM, offsetof(S, clock), .def = "auto", .choices = clocks,
		  .doc = "virtual: as fast as the CPU allows, exact and repeatable; real: paced by the machine's clock, "
			 "for hosts that have their own kernel; auto: real where there are such hosts"),
	CFG_FIELD("idle", CFG_ENUM, offsetof(S, idle), .def = "auto", .choices = idles,
		  .doc = "When idle in real time: sleep leaves the CPUs to the guests, busy polls on dedicated CPUs; auto: "
			 "busy if there is a CPU for each lcore and a spare one, and another one for kernel hosts on this "
			 "machine"),
	CFG_FIELD("quantum", CFG_TIME, offsetof(S, quantum_ps), .def = "0ps", .max = 1e9,
		  .doc = "Floor every serialization and pacing time to multiples of this, as ns-3 does with 1ns; 0: exact"),
	CFG_FIELD("pipeline", CFG_TIME, offsetof(S, pipeline_ps), .def = "600ns", .max = 1e9,
		  .doc = "Latency of a receiver (switch or NIC) between the last bit and the packet's arrival at a queue"),
};
#undef S

static const struct cfg_choice route_rules[] = {
	{ .name = "shortest", .value = ROUTE_SHORTEST },
	{ .name = "up-down", .value = ROUTE_UP_DOWN },
	{ 0 },
};

#define S struct routing_params
static const struct cfg_field routing_fields[] = {
	CFG_FIELD("kind", CFG_ENUM, offsetof(S, rule), .def = "shortest", .choices = route_rules,
		  .doc = "shortest: the shortest paths; up-down: those that never go up after they went down, so that no "
			 "buffers wait for each other in a circle, by tiers where these connect all hosts, else in a tree "
			 "of all switches (Autonet)"),
	CFG_FIELD("convergence", CFG_TIME, offsetof(S, convergence_ps), .def = "100ms", .max = 1e16,
		  .doc = "Time from a lasting failure or repair of a link until all switches have updated their routes; "
			 "the link's own switches avoid a dead port at once. The default lies between the tens of "
			 "milliseconds of a tuned BGP fabric and the second that RFC 7938, section 7, allows one: a run "
			 "that is shorter ends before its fabric has converged; set less to observe convergence"),
};
#undef S

#define HOST_CHOICE(id, value, name, ...) { name, id, NULL },
static const struct cfg_choice host_choices[] = { HOST_KINDS(HOST_CHOICE){ 0 } };

#define S struct host_config
static const struct cfg_field host_fields[] = {
	CFG_FIELD("names", CFG_STRINGS, offsetof(S, names), .def = "", .doc = "Hosts of the topology; absent: all"),
	CFG_FIELD("kind", CFG_ENUM, offsetof(S, kind), .choices = host_choices,
		  .doc = "embedded: inside the fabric's process; guest: user-mode Linux with kernel rxe; qemu: a QEMU "
			 "machine with kernel rxe; netns: a network namespace with the server's rdma_rxe; port: an "
			 "external host behind a DPDK port"),
	CFG_FIELD("port", CFG_STRING, offsetof(S, port), .def = "",
		  .doc = "kind port: DPDK device arguments such as \"net_af_packet0,iface=eth1\", or vhost:PATH"),
	CFG_FIELD("memory", CFG_BYTES, offsetof(S, memory_bytes), .def = "64MB", .min = 16e6, .max = 64e9,
		  .doc = "Memory of a guest"),
	CFG_FIELD("pfc", CFG_BOOL, offsetof(S, pfc), .def = "false",
		  .doc = "kind port: the peer obeys and sends 802.1Qbb PAUSE frames; false: its transmit ring is held "
			 "instead"),
};
#undef S

#define S struct partition_config
static const struct cfg_field part_fields[] = {
	CFG_FIELD("names", CFG_STRINGS, offsetof(S, names),
		  .doc = "Its switches; every switch is in one partition. A host is in the partition of the switch at its "
			 "first port, unless it is named too"),
};
#undef S

#define S struct management_params
static const struct cfg_field management_fields[] = {
	CFG_FIELD("sockets", CFG_BOOL, offsetof(S, sockets), .def = "false",
		  .doc = "A run in real time serves a management socket of every switch and every host, "
			 "DIR/management/NAME.manage, which `rocelab trace DIR` asks; beside a run in virtual time "
			 "`rocelab trace SCENARIO` serves them"),
	CFG_FIELD("rtt", CFG_TIME, offsetof(S, rtt_ps), .def = "0s", .max = 1e13,
		  .doc = "Round trip of the management network: time from a request to its reply"),
	CFG_FIELD("greeting_rtts", CFG_INT, offsetof(S, greeting_rtts), .def = "2", .max = 100,
		  .doc = "Round trips until a new connection is usable: TCP's handshake and the greeting take 2; SSH takes "
			 "more"),
};
#undef S

#define S struct limits_params
static const struct cfg_field limits_fields[] = {
	CFG_FIELD(
		"virtual_time", CFG_TIME, offsetof(S, virtual_time_ps), .def = "0s", .max = 1e16,
		.doc = "The run ends here at the latest (end_reason virtual_time), whatever hold, pingmesh.duration or the "
		       "hosts' work require; 0: 60s after hold and pingmesh.duration"),
	CFG_FIELD("hold", CFG_TIME, offsetof(S, hold_ps), .def = "0s", .max = 1e16,
		  .doc = "Minimum duration of the run, with or without work, within virtual_time: for interactive use of "
			 "the hosts (`rocelab shell`)"),
	CFG_FIELD("connect", CFG_TIME, offsetof(S, connect_ps), .def = "60s", .min = 1e9, .max = 1e16,
		  .doc = "Hosts that have their own kernel must be up and connected within this time"),
	CFG_FIELD("stall", CFG_TIME, offsetof(S, stall_ps), .def = "2s", .min = 1e6, .max = 1e16,
		  .doc = "End the run if no host accepts a byte for this time although one is due (end_reason stall), also "
			 "within hold and pingmesh.duration"),
	CFG_FIELD("memory", CFG_BYTES, offsetof(S, memory_bytes), .def = "4GB", .min = 1e6, .max = 1e15,
		  .doc = "Refuse a scenario whose run would need more memory by an estimate: fabric, payload, records and "
			 "diagnosis together"),
};
#undef S

static const struct cfg_choice contentions[] = {
	{ .name = "replay", .value = CONTENTION_REPLAY },
	{ .name = "exact", .value = CONTENTION_EXACT },
	{ 0 },
};

#define S struct telemetry_params
static const struct cfg_field telemetry_fields[] = {
	CFG_FIELD("enabled", CFG_BOOL, offsetof(S, enabled), .def = "true",
		  .doc = "Keep telemetry rows; false: nothing can be diagnosed, for measuring their cost"),
	CFG_FIELD("epoch", CFG_TIME, offsetof(S, epoch_ps), .def = "1ms", .min = 1e7, .max = 1e12,
		  .doc = "Length of an epoch"),
	CFG_FIELD("epochs_kept", CFG_INT, offsetof(S, epochs_kept), .def = "0", .max = 1024,
		  .doc = "Epochs that a port remembers, the open one included; 0: as many as cover the spacing of "
			 "detections, at least 2"),
	CFG_FIELD("quiet_depth", CFG_INT, offsetof(S, quiet_depth), .def = "8", .max = 1e6,
		  .doc = "In packets: a switch port whose queue stayed below this, without a pause, reports closed epochs "
			 "only, and so does one that reported many, unless the open epoch has news; the diagnosis ignores "
			 "queues below 8. 0: every port also reports the open epoch"),
	CFG_FIELD("contention", CFG_ENUM, offsetof(S, contention), .def = "replay", .choices = contentions,
		  .doc = "Source of w(f_i,f_j): replay estimates it from flow rows as hardware reports them; exact counts "
			 "every packet ahead, which no hardware does"),
	CFG_FIELD("late_looks", CFG_BOOL, offsetof(S, late_looks), .def = "false",
		  .doc = "Switches that were asked once report unasked, as a flow cache exports: of each flow its first "
			 "packet, its latest and its bytes, and the end of a pause that a port was asked in; on by "
			 "`rocelab run --blame twin` or auto"),
};
#undef S

#define S struct counters_params
static const struct cfg_field counters_fields[] = {
	CFG_FIELD("enabled", CFG_BOOL, offsetof(S, enabled), .def = "true",
		  .doc = "Write DIR/run.sqlite: counters of ports, queues, NICs and QPs, their series, steps, flows, jobs"),
	CFG_FIELD("period", CFG_TIME, offsetof(S, period_ps), .def = "0s", .max = 1e15,
		  .doc = "Grain of the series; rows are taken between windows, at or after its multiples. 0: 100us in "
			 "virtual time, 100ms in real time"),
	CFG_FIELD("rows", CFG_INT, offsetof(S, rows), .def = "250000", .max = 1e9,
		  .doc = "Rows of the series at most. From half of them on the grain grows with the square of the time. 0: "
			 "no series"),
};
#undef S

const struct cfg_table scenario_root_cfg = {
	.path = "",
	.doc = "The scenario itself.",
	.size = sizeof(struct scenario_root),
	.fields = root_fields,
	.nfields = ARRAY_LEN(root_fields),
};

const struct cfg_table timing_cfg = {
	.path = "timing",
	.doc = "The clock of a run and the precision of its times.",
	.size = sizeof(struct timing_params),
	.fields = timing_fields,
	.nfields = ARRAY_LEN(timing_fields),
};

const struct cfg_table management_cfg = {
	.path = "management",
	.doc = "The management plane: queries of operators' tools to switches and hosts, outside the data network.",
	.size = sizeof(struct management_params),
	.fields = management_fields,
	.nfields = ARRAY_LEN(management_fields),
};

const struct cfg_table routing_cfg = {
	.path = "routing",
	.doc = "Which paths are routes, and how switches learn that a link failed or was repaired (fault link-down). "
	       "Pinned "
	       "paths are not rerouted.",
	.size = sizeof(struct routing_params),
	.fields = routing_fields,
	.nfields = ARRAY_LEN(routing_fields),
};

const struct cfg_table host_cfg = {
	.path = "hosts",
	.doc = "How hosts are run; hosts that no group names are embedded.",
	.list = true,
	.size = sizeof(struct host_config),
	.fields = host_fields,
	.nfields = ARRAY_LEN(host_fields),
};

const struct cfg_table partition_cfg = {
	.path = "partitions",
	.doc = "How a fabric is divided over several processes (`rocelab run --partitions`): one group per partition. "
	       "Absent: METIS divides it.",
	.list = true,
	.size = sizeof(struct partition_config),
	.fields = part_fields,
	.nfields = ARRAY_LEN(part_fields),
};

const struct cfg_table limits_cfg = {
	.path = "limits",
	.doc = "Limits at which an incomplete run ends.",
	.size = sizeof(struct limits_params),
	.fields = limits_fields,
	.nfields = ARRAY_LEN(limits_fields),
};

const struct cfg_table telemetry_cfg = {
	.path = "telemetry",
	.doc = "Telemetry that switches and NICs keep (VEDRFOLNIR III-C3, after Hawkeye).",
	.size = sizeof(struct telemetry_params),
	.fields = telemetry_fields,
	.nfields = ARRAY_LEN(telemetry_fields),
};

const struct cfg_table counters_cfg = {
	.path = "counters",
	.doc = "The store of a run (docs/outputs.md). No diagnosis reads it, and the run is the same without it.",
	.size = sizeof(struct counters_params),
	.fields = counters_fields,
	.nfields = ARRAY_LEN(counters_fields),
};

static size_t
add(struct cfg_known *known, size_t cap, size_t count, const struct cfg_table *table, const char *kind)
{
	if (count < cap)
		known[count] = (struct cfg_known){ table, kind };
	return count + 1;
}

/* Tables that are no kind among several, in the order of the reference. */
static const struct cfg_table *const singles[] = {
	&timing_cfg,
	&routing_cfg,
	&balance_table,
	&host_cfg,
	&limits_cfg,
	&switch_cfg,
	&switch_profile_cfg,
	&switch_pfc_cfg,
	&switch_ecn_cfg,
	&switch_wred_cfg,
	&switch_watchdog_cfg,
	&switch_pool_cfg,
	&switch_profiles_cfg,
	&switch_pg_cfg,
	&switch_queue_cfg,
	&switches_cfg,
	&switches_profile_cfg,
	&switches_switch_cfg,
	&switches_pfc_cfg,
	&switches_ecn_cfg,
	&switches_wred_cfg,
	&switches_watchdog_cfg,
	&switches_pool_cfg,
	&switches_profiles_cfg,
	&switches_pg_cfg,
	&switches_queue_cfg,
	&ports_cfg,
	&ports_switch_cfg,
	&ports_pfc_cfg,
	&ports_ecn_cfg,
	&ports_wred_cfg,
	&ports_watchdog_cfg,
	&ports_pg_cfg,
	&ports_queue_cfg,
	&roce_table,
	&host_profile_cfg,
	&sel_table,
	&collective_table,
	&job_table,
	&placement_table,
	&dims_table,
	&pipeline_table,
	&jitter_table,
	&straggler_table,
	&job_collective_table,
	&background_table,
	&detection_table,
	&telemetry_cfg,
	&exporter_cfg_table,
	&volumes_cfg,
	&pingmesh_cfg,
	&flowtracer_cfg,
	&source_ports_cfg,
	&management_cfg,
	&partition_cfg,
	&counters_cfg,
};

size_t
scenario_tables(struct cfg_known *known, size_t cap)
{
	size_t count = add(known, cap, 0, &scenario_root_cfg, NULL);

	count += topo_tables(known + count, cap - count);
	for (size_t i = 0; i < ARRAY_LEN(singles); i++)
		count = add(known, cap, count, singles[i], NULL);
	for (int kind = 0; kind < CC_KINDS; kind++)
		if (cc_algorithms[kind]->table != NULL)
			count = add(known, cap, count, cc_algorithms[kind]->table, NULL);
	for (int kind = 0; kind < BALANCE_COUNT; kind++)
		if (balance_kinds[kind]->table != NULL)
			count = add(known, cap, count, balance_kinds[kind]->table, NULL);
	count += plan_file_tables(known + count, cap - count);
	count += traffic_tables(known + count, cap - count);
	for (const struct fault_ops *const *fault = switch_faults; *fault != NULL; fault++)
		count = add(known, cap, count, (*fault)->table, (*fault)->kind);
	for (const struct fault_ops *const *fault = host_faults; *fault != NULL; fault++)
		count = add(known, cap, count, (*fault)->table, (*fault)->kind);
	return count;
}

/* FlowTracer. */

#define TRACE_MOST_PROCESSES 64
#define TRACE_MOST_THREADS 64

#define CHOICE(id, number, name_, meaning) { .name = name_, .value = id, .doc = meaning },
static const struct cfg_choice trace_connections[] = { REC_TRACE_CONNECTIONS(CHOICE){ 0 } };

static const struct cfg_choice trace_first_hops[] = { REC_TRACE_FIRST_HOPS(CHOICE){ 0 } };

#define AT(field) offsetof(struct flowtracer_params, field)
static const struct cfg_field flowtracer_fields[] = {
	CFG_FIELD("enabled", CFG_BOOL, AT(enabled), .def = "false",
		  .doc = "An operator's tracer asks hosts for their flows and switches for the egress of each (FlowTracer, "
			 "Algorithm 1)"),
	CFG_FIELD("start", CFG_TIME, AT(start_ps), .def = "0s", .max = 1e15, .doc = "Start of the first round"),
	CFG_FIELD("period", CFG_TIME, AT(period_ps), .def = "0s", .max = 1e15,
		  .doc = "Time from a round to the next; 0: only one round. The run waits for the first only"),
	CFG_FIELD("rtt", CFG_TIME, AT(rtt_ps), .def = "1ms", .min = 1e6, .max = 1e12,
		  .doc = "Round trip time of the management network"),
	CFG_FIELD("connections", CFG_ENUM, AT(connections), .def = "parallel", .choices = trace_connections,
		  .doc = "Connections to switches and hosts (FlowTracer, Fig. 5). ad-hoc and persistent: one thread per "
			 "process"),
	CFG_FIELD("first_hop", CFG_ENUM, AT(first_hop), .def = "host", .choices = trace_first_hops,
		  .doc = "Source of the flows and of the port by which they leave their host (III-B1)"),
	CFG_FIELD("processes", CFG_INT, AT(processes), .def = "1", .min = 1, .max = TRACE_MOST_PROCESSES,
		  .doc = "Processes over which pairs of hosts are divided (P of Algorithm 1)"),
	CFG_FIELD("threads", CFG_INT, AT(threads), .def = "8", .min = 1, .max = TRACE_MOST_THREADS,
		  .doc = "Threads of a process, over which the flows of a pair are divided (T)"),
	CFG_FIELD("all_flows", CFG_BOOL, AT(all_flows), .def = "true",
		  .doc = "Also trace background flows and flows of generators; false: only flows of jobs"),
};
#undef AT

const struct cfg_table flowtracer_cfg = {
	.path = "flowtracer",
	.doc = "FlowTracer: the paths of flows, and how evenly links carry them. For embedded hosts; `rocelab trace` "
	       "queries others.",
	.size = sizeof(struct flowtracer_params),
	.fields = flowtracer_fields,
	.nfields = ARRAY_LEN(flowtracer_fields),
};

int
scenario_check_tracer(const struct scenario *sc, struct err *err)
{
	if (!sc->flowtracer.enabled || sc->flowtracer.first_hop != REC_TRACE_SFLOW || sc->switches.all.params.sampling != 0)
		return 0;
	return cfg_fail(&sc->flowtracer.where, "first_hop", err,
			"\"sflow\" needs sampled packets: set switch.sampling, as to 1000");
}
