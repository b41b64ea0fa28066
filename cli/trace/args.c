/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of rocelab trace. */
#include <argp.h>
#include <string.h>

#include "cli/trace/trace.h"
#include "common/args.h"
#include "common/array.h"
#include "common/number.h"
#include "common/units.h"

#define MAX_RTT_PS (10 * PS_PER_S)

enum trace_key {
	KEY_AT = 0x100,
	KEY_HOSTS,
	KEY_JOB,
	KEY_DPORT,
	KEY_FIRST_HOP,
	KEY_PROCESSES,
	KEY_THREADS,
	KEY_CONNECTIONS,
	KEY_BATCH,
	KEY_RTT,
	KEY_GREETING,
	KEY_TIMEOUT,
	KEY_PARTITION,
	KEY_OUT,
	KEY_MERGE,
	KEY_JSON,
	KEY_PATHS,
	KEY_LINKS,
	KEY_SERVE,
	KEY_FOR,
	KEY_SOCKETS,
	KEY_ADVISE,
};

static const struct argp_option options[] = {
	{ "set", SCENARIO_ARGS_SET, "PATH=VALUE", 0, "Override a key of the scenario", 0 },
	{ "seed", SCENARIO_ARGS_SEED, "N", 0, "Seed of the run: ECMP depends on it", 0 },
	{ "at", KEY_AT, "TIME", 0, "With the scenario's faults up to that time (default: before all of them)", 0 },
	{ "hosts", KEY_HOSTS, "NAME,...", 0, "Flows that these hosts send (default: all hosts)", 1 },
	{ "job", KEY_JOB, "NAME", 0, "Flows of this job", 1 },
	{ "dport", KEY_DPORT, "N", 0, "Flows to this destination port", 1 },
	{ "first-hop", KEY_FIRST_HOP, "host|sflow", 0,
	  "Who names flows, and the port by which they leave: their host (default); or its leaves, by the packets that "
	  "they "
	  "sampled (switch.sampling)",
	  1 },
	{ "processes", KEY_PROCESSES, "N", 0, "Processes among which sources are divided (default: one for 64)", 2 },
	{ "threads", KEY_THREADS, "N", 0, "Threads of each process, where connections are parallel (default 8)", 2 },
	{ "connections", KEY_CONNECTIONS, "KIND", 0, "ad-hoc, persistent or parallel (default)", 2 },
	{ "batch", KEY_BATCH, "N", 0, "Flows that a thread traces at a time, many questions a message (default 1)", 2 },
	{ "timeout", KEY_TIMEOUT, "TIME", 0, "How long a device may take to answer (default 2s and the round trips)", 2 },
	{ "rtt", KEY_RTT, "TIME", 0, "Round trip of the management network (default: management.rtt)", 3 },
	{ "greeting-rtts", KEY_GREETING, "N", 0, "Round trips that a connection costs (default: management.greeting_rtts)",
	  3 },
	{ "sockets", KEY_SOCKETS, "DIR", 0, "Ask the devices whose sockets are there, and serve none", 3 },
	{ "serve", KEY_SERVE, "DIR", 0, "Trace nothing: only serve the devices' sockets in DIR", 3 },
	{ "for", KEY_FOR, "TIME", 0, "With --serve: so long at most (default 1h)", 3 },
	{ "advise", KEY_ADVISE, NULL, 0,
	  "Search ways by which a scenario's, or a run's, flows lie more evenly, and say what that regains; --advise "
	  "--help tells "
	  "more",
	  4 },
	{ "partition", KEY_PARTITION, "I/N", 0, "Only the I-th of N parts of the sources", 4 },
	{ "out", KEY_OUT, "FILE", 0, "Write what was found there, for --merge", 4 },
	{ "merge", KEY_MERGE, NULL, 0, "SCENARIO FILE...: what instances with --partition found, together", 4 },
	{ "paths", KEY_PATHS, NULL, 0, "Print all paths, not only those that end early", 5 },
	{ "links", KEY_LINKS, NULL, 0, "Print all links, not only the busiest", 5 },
	{ "json", KEY_JSON, NULL, 0, "Print all of it as JSON", 5 },
	{ 0 },
};

static uint64_t
time_arg(const struct argp_state *state, const char *option, const char *arg, uint64_t most_ps)
{
	uint64_t time_ps;

	if (units_parse_time(arg, &time_ps) < 0 || time_ps > most_ps)
		args_error(state, "%s %s: right would be a time, as in 1ms, of at most %llu s", option, arg,
			   (unsigned long long)(most_ps / PS_PER_S));
	return time_ps;
}

static void
partition_arg(const struct argp_state *state, struct trace_options *trace, const char *arg)
{
	uint64_t partition = 0, partitions = 0;
	const char *rest = number_scan(arg, &partition);

	if (rest == NULL || *rest != '/' || !number_parse(rest + 1, 1, 10000, &partitions) || partition < 1 ||
	    partition > partitions)
		args_error(state, "--partition %s: right would be I/N, as in 1/4 for the first of four parts", arg);
	trace->partition = (uint32_t)partition;
	trace->partitions = (uint32_t)partitions;
}

static error_t
parse_tracer(int key, char *arg, struct argp_state *state, struct tracer_config *tracer)
{
	static const char *const names[] = { TRACER_CONNECTIONS(ENUM_NAME) };
	static const char *const first_hops[] = { REC_TRACE_FIRST_HOPS(ENUM_NAME) };

	switch (key) {
	case KEY_PROCESSES:
		tracer->processes = (uint32_t)args_number(state, "--processes", arg, 1, TRACER_MAX_PROCESSES);
		return 0;
	case KEY_THREADS:
		tracer->threads = (uint32_t)args_number(state, "--threads", arg, 1, TRACER_MAX_THREADS);
		return 0;
	case KEY_BATCH:
		tracer->batch = (uint32_t)args_number(state, "--batch", arg, 1, SWM_MAX_QUERIES);
		return 0;
	case KEY_DPORT:
		tracer->filter.dport = (uint16_t)args_number(state, "--dport", arg, 1, UINT16_MAX);
		return 0;
	case KEY_FIRST_HOP:
		for (uint32_t i = 0; i < ARRAY_LEN(first_hops); i++)
			if (strcmp(arg, first_hops[i]) == 0) {
				tracer->first_hop = (enum rec_trace_first_hop)i;
				return 0;
			}
		args_error(state, "--first-hop %s: right would be host or sflow", arg);
		return 0;
	case KEY_CONNECTIONS:
		for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
			if (strcmp(arg, names[i]) == 0) {
				tracer->connections = (enum tracer_connections)i;
				return 0;
			}
		args_error(state, "--connections %s: right would be ad-hoc, persistent or parallel", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t
parse_output(int key, char *arg, struct argp_state *state, struct trace_options *trace)
{
	switch (key) {
	case KEY_PARTITION:
		partition_arg(state, trace, arg);
		return 0;
	case KEY_OUT:
		trace->out = arg;
		return 0;
	case KEY_MERGE:
		trace->merge = true;
		return 0;
	case KEY_JSON:
		trace->json = true;
		return 0;
	case KEY_PATHS:
		trace->show_paths = true;
		return 0;
	case KEY_LINKS:
		trace->show_links = true;
		return 0;
	default:
		return parse_tracer(key, arg, state, &trace->tracer);
	}
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct trace_options *trace = state->input;

	switch (key) {
	case KEY_AT:
		trace->at_ps = time_arg(state, "--at", arg, 100000 * PS_PER_S);
		return 0;
	case KEY_HOSTS:
		trace->hosts = arg;
		return 0;
	case KEY_JOB:
		trace->job = arg;
		return 0;
	case KEY_RTT:
		trace->rtt_ps = time_arg(state, "--rtt", arg, MAX_RTT_PS);
		return 0;
	case KEY_GREETING:
		trace->greeting_rtts = (uint32_t)args_number(state, "--greeting-rtts", arg, 0, 100);
		return 0;
	case KEY_TIMEOUT:
		trace->timeout_ps = time_arg(state, "--timeout", arg, 3600 * PS_PER_S);
		return 0;
	case KEY_SOCKETS:
		trace->sockets = arg;
		return 0;
	case KEY_SERVE:
		trace->serve = arg;
		return 0;
	case KEY_FOR:
		trace->for_ps = time_arg(state, "--for", arg, 100000 * PS_PER_S);
		return 0;
	case ARGP_KEY_ARG:
		if (trace->npaths == ARRAY_LEN(trace->paths))
			args_error(state, "more than %d files", TRACE_MAX_FILES);
		trace->paths[trace->npaths++] = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
	case ARGP_KEY_END:
		if (trace->npaths == 0)
			argp_usage(state);
		if (trace->merge != (trace->npaths > 1))
			args_error(state, trace->merge ? "--merge: give the files behind the scenario"
						       : "one scenario, or a run's folder; more files are for --merge");
		return 0;
	case SCENARIO_ARGS_SET:
	case SCENARIO_ARGS_SEED:
		return scenario_args_parse(&trace->scenario, key, arg, state);
	default:
		return parse_output(key, arg, state, trace);
	}
}

const struct argp trace_argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SCENARIO|DIR\n--merge SCENARIO FILE...",
	.doc = "Traces the flows of a scenario hop by hop: hosts say which they have and by which port each leaves, "
	       "switches "
	       "where it goes on, over their management sockets.\v"
	       "Of a scenario its control plane is brought up, and stands still while it is traced; DIR is the folder of a "
	       "run "
	       "in real time that goes on, with management.sockets. docs/flowtracer.md tells more.",
};
