/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab trace: the paths of a scenario's flows, queried from its devices hop by hop (FlowTracer). */
#include "cli/trace/trace.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "common/array.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/private_dir.h"
#include "common/program.h"
#include "common/run_files.h"
#include "common/units.h"
#include "common/wire/drop.h"
#include "operator/devices/devices.h"
#include "operator/tracer/tracer.h"
#include "scenario/scenario.h"
#include "topo/advise.h"
#include "workload/workload.h"

/* The command line of rocelab trace. */

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
	{ "at", KEY_AT, "TIME", 0, "Apply the scenario's faults up to TIME (default: none)", 0 },
	{ "hosts", KEY_HOSTS, "NAME,...", 0, "Flows that these hosts send (default: all hosts)", 1 },
	{ "job", KEY_JOB, "NAME", 0, "Flows of this job", 1 },
	{ "dport", KEY_DPORT, "N", 0, "Flows to this destination port", 1 },
	{ "first-hop", KEY_FIRST_HOP, "host|sflow", 0,
	  "Source of the flows and of the port by which they leave: their host (default), or its leaves, by sampled "
	  "packets (switch.sampling)",
	  1 },
	{ "processes", KEY_PROCESSES, "N", 0, "Number of processes that share the sources (default: one per 64)", 2 },
	{ "threads", KEY_THREADS, "N", 0, "Threads of each process, if connections are parallel (default 8)", 2 },
	{ "connections", KEY_CONNECTIONS, "KIND", 0, "ad-hoc, persistent or parallel (default)", 2 },
	{ "batch", KEY_BATCH, "N", 0, "Flows that a thread traces at a time, with several queries per message (default 1)",
	  2 },
	{ "timeout", KEY_TIMEOUT, "TIME", 0, "Timeout of a device's reply (default 2s and the round trips)", 2 },
	{ "rtt", KEY_RTT, "TIME", 0, "Round trip of the management network (default: management.rtt)", 3 },
	{ "greeting-rtts", KEY_GREETING, "N", 0, "Round trips of a new connection (default: management.greeting_rtts)", 3 },
	{ "sockets", KEY_SOCKETS, "DIR", 0, "Query the devices whose sockets are in DIR, and serve none", 3 },
	{ "serve", KEY_SERVE, "DIR", 0, "Only serve the devices' sockets in DIR; trace nothing", 3 },
	{ "for", KEY_FOR, "TIME", 0, "With --serve: stop after TIME (default 1h)", 3 },
	{ "advise", KEY_ADVISE, NULL, 0,
	  "Search paths that spread the flows of a scenario or a run more evenly, and report the time regained; see "
	  "--advise --help",
	  4 },
	{ "partition", KEY_PARTITION, "I/N", 0, "Trace the I-th of N partitions of the sources only", 4 },
	{ "out", KEY_OUT, "FILE", 0, "Write the result to FILE, for --merge", 4 },
	{ "merge", KEY_MERGE, NULL, 0, "SCENARIO FILE...: merge the results of instances with --partition", 4 },
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
		args_error(state, "--partition %s: right would be I/N, as in 1/4 for the first of four partitions", arg);
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
	.doc = "Traces the flows of a scenario hop by hop over management sockets: hosts report their flows and the port "
	       "of each, switches the egress port of each.\vFor a scenario, its control plane is started, and does not "
	       "change while it is traced; DIR is the folder of an active run in real time, with management.sockets. See "
	       "docs/flowtracer.md.",
};

#define PAIRS_A_PROCESS 64u /* sources, the default number for a process */

/* Sources, from --hosts and --partition. @return how many, negative: -EINVAL with err */
static int
find_sources(const struct trace_options *trace, const struct topo *topo, uint32_t *sources, struct err *err)
{
	char *copy = strdup(trace->hosts != NULL ? trace->hosts : ""), *save = NULL;
	uint32_t count = 0, first = 0, end;

	if (copy == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	for (char *word = strtok_r(copy, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save)) {
		uint32_t node = topo_find(topo, word);

		if (node == TOPO_NONE || topo->nodes[node].kind != TOPO_HOST || count == topo->nhosts) {
			err_set(err, -EINVAL, "--hosts: \"%s\" is no host of this topology, or is there twice", word);
			free(copy);
			return -EINVAL;
		}
		for (uint32_t i = 0; i < count; i++)
			if (sources[i] == node) {
				err_set(err, -EINVAL, "--hosts: \"%s\" is there twice", word);
				free(copy);
				return -EINVAL;
			}
		sources[count++] = node;
	}
	free(copy);
	for (uint32_t i = 0; trace->hosts == NULL && i < topo->nhosts; i++)
		sources[count++] = topo->hosts[i];
	if (count == 0)
		return err_set(err, -EINVAL, "--hosts: it names none");
	end = count;
	if (trace->partitions != 0) {
		first = (uint32_t)((uint64_t)count * (trace->partition - 1) / trace->partitions);
		end = (uint32_t)((uint64_t)count * trace->partition / trace->partitions);
	}
	memmove(sources, sources + first, (end - first) * sizeof(*sources));
	return (int)(end - first);
}

static int
find_job(const char *name, const struct workload *workload, uint32_t *job, struct err *err)
{
	*job = SWM_ANY;
	for (uint32_t i = 0; name != NULL && i < workload->njobs; i++)
		if (strcmp(workload->jobs[i].name, name) == 0)
			*job = i;
	return name == NULL || *job != SWM_ANY ? 0 : err_set(err, -EINVAL, "--job %s: no such job", name);
}

/* Packets do not identify a job, and where none moves none are sampled. @return 0, or -EINVAL with err */
static int
check_first_hop(const struct trace_options *trace, struct err *err)
{
	if (trace->tracer.first_hop != REC_TRACE_SFLOW || trace->merge)
		return 0;
	if (trace->job != NULL)
		return err_set(
			err, -EINVAL,
			"--first-hop sflow: packets do not identify their job; use --hosts or --dport in place of --job");
	if (trace->sockets == NULL)
		return err_set(err, -EINVAL,
			       "--first-hop sflow: a scenario without a run has no packets to sample; give the folder of "
			       "an active run in real time, with management.sockets and switch.sampling");
	return 0;
}

static void
settle(struct trace_options *trace)
{
	struct tracer_config *tracer = &trace->tracer;
	uint64_t greeting_ns = (trace->greeting_rtts + UINT64_C(1)) * trace->rtt_ps / 1000;

	if (tracer->processes == 0)
		tracer->processes = min_u32(1 + (tracer->nsources - 1) / PAIRS_A_PROCESS, TRACER_MAX_PROCESSES);
	tracer->processes = min_u32(tracer->processes, tracer->nsources);
	tracer->timeout_ns = trace->timeout_ps != 0 ? trace->timeout_ps / 1000 : 2000000000 + greeting_ns;
}

/* Uses the sockets of running devices, or those of the scenario's fabric, standing still. */
static int
trace_sockets(struct trace_options *trace, struct scenario *scenario, struct tracer_result *result, struct err *err)
{
	struct standing_config config = {
		.scenario = scenario,
		.at_ps = trace->at_ps,
		.rtt_ns = trace->rtt_ps / 1000,
		.greeting_rtts = trace->greeting_rtts,
	};
	struct private_dir dir = { .path = "" };
	struct standing *standing;
	int ret;

	if (trace->sockets != NULL) {
		trace->tracer.dir = trace->sockets;
		return tracer_run(&trace->tracer, result, err);
	}
	ret = private_dir_create(&dir, err);
	if (ret < 0)
		return ret;
	config.dir = trace->tracer.dir = dir.path;
	standing = standing_open(&config, err);
	ret = standing != NULL ? standing_start(standing, err) : -errno;
	if (ret == 0)
		ret = tracer_run(&trace->tracer, result, err);
	standing_close(standing);
	private_dir_remove(&dir);
	return ret;
}

static int
serve_sockets(const struct trace_options *trace, struct scenario *scenario, struct err *err)
{
	const struct standing_config config = {
		.scenario = scenario,
		.dir = trace->serve,
		.at_ps = trace->at_ps,
		.rtt_ns = trace->rtt_ps / 1000,
		.greeting_rtts = trace->greeting_rtts,
	};
	const struct interrupt_actions nothing = { 0 };
	struct standing *standing = standing_open(&config, err);
	struct switch_sockets_counts counts;

	if (standing == NULL)
		return -errno;
	interrupt_catch(&nothing);
	log_info("%u sockets in %s", scenario->topo->nnodes, trace->serve);
	standing_serve(standing, trace->for_ps / 1000);
	counts = standing_counts(standing);
	log_info("%" PRIu64 " connections, %" PRIu64 " requests, of which %" PRIu64 " were refused; %" PRIu64
		 " connections ended by timeout, %" PRIu64 " for an invalid request, %" PRIu64 " over the limit",
		 counts.peers, counts.requests, counts.refused, counts.gave_up, counts.malformed, counts.turned_away);
	standing_close(standing);
	return 0;
}

/* @return exit code */
static int
show(const struct trace_view *view, struct err *err)
{
	const struct trace_options *trace = view->options;
	json_t *json = trace->json || trace->out != NULL ? trace_json(view) : NULL;
	int ret = EXIT_DONE;

	if ((trace->json || trace->out != NULL) && json == NULL) {
		err_set(err, -ENOMEM, "out of memory");
		return EXIT_FAILED;
	}
	if (trace->out != NULL && json_dump_file(json, trace->out, JSON_INDENT(1) | JSON_COMPACT) < 0) {
		err_set(err, -EIO, "%s: %s", trace->out, strerror(errno));
		ret = EXIT_FAILED;
	}
	if (trace->json) {
		json_dumpf(json, stdout, JSON_INDENT(1));
		putchar('\n');
	} else {
		trace_print(view);
	}
	json_decref(json);
	return ret == EXIT_DONE && view->result->nsilent == 0 && view->result->work.died == 0 ? EXIT_DONE : EXIT_FAILED;
}

/*
 * Links that are up: as the scenario has them at the time, where it stands still; of a running fabric all but those
 * known to be down.
 */
static bool *
find_up(const struct trace_options *trace, const struct scenario *scenario)
{
	const struct topo *topo = scenario->topo;
	bool *down = calloc(topo->nlinks + 1u, sizeof(*down)), *up = calloc(topo->nports + 1u, sizeof(*up));

	if (down != NULL && scenario->withdrawn != NULL)
		memcpy(down, scenario->withdrawn, topo->nlinks * sizeof(*down));
	if (down != NULL && trace->sockets == NULL && trace->at_ps != TIME_NEVER)
		faults_cables_down(&scenario->faults, topo, trace->at_ps, trace->at_ps, down);
	for (uint32_t p = 0; down != NULL && up != NULL && p < topo->nports; p++)
		up[p] = !down[topo->ports[p].link];
	if (down == NULL) {
		free(up);
		up = NULL;
	}
	free(down);
	return up;
}

static struct flow
flow_of(const struct topo *topo, const struct traced *traced)
{
	struct flow flow = { .src_node = traced->source, .src_nic = topo->ports[traced->walk.path.ports[0]].index };
	uint32_t node = TOPO_NONE;

	topo_find_nic(topo, traced->flow.dst_ip, &node, &flow.dst_nic);
	flow.dst_node = node;
	return flow;
}

/* Flows of the paths, and the links that they could take. */
static int
count_links(const struct trace_options *trace, const struct scenario *scenario, const struct tracer_result *result,
	    struct topo_load *load, struct err *err)
{
	struct flow *flows = calloc(result->count + 1u, sizeof(*flows));
	uint32_t *hops = calloc(result->count + 1u, sizeof(*hops)), count = 0;
	bool *up = find_up(trace, scenario);
	int ret = flows != NULL && hops != NULL && up != NULL ? topo_load_init(load, scenario->topo, up) : -ENOMEM;

	for (uint32_t f = 0; ret == 0 && f < result->count; f++) {
		const struct traced *traced = &result->flows[f];

		if (traced->walk.path.hops == 0 || traced->walk.dst == TOPO_NONE)
			continue;
		topo_load_add(load, &traced->walk.path, 1);
		hops[count] = traced->walk.state == WALK_ARRIVED ? 0 : traced->walk.path.hops;
		flows[count++] = flow_of(scenario->topo, traced);
	}
	if (ret == 0)
		ret = topo_load_offer(load, flows, hops, count);
	free(flows);
	free(hops);
	free(up);
	return ret == 0 ? 0 : err_set(err, ret, "out of memory for %u links", scenario->topo->nports);
}

/* @return exit code; err set where nothing has been printed yet */
static int
trace_scenario(struct trace_options *trace, struct scenario *scenario, struct err *err)
{
	struct trace_view view = { scenario, trace, NULL, NULL, !trace->merge };
	uint32_t *sources = calloc(scenario->topo->nhosts + 1u, sizeof(*sources));
	struct tracer_result result = { 0 };
	struct topo_load load = { 0 };
	int ret = sources != NULL ? find_sources(trace, scenario->topo, sources, err) : -ENOMEM, code = EXIT_USAGE;

	if (ret >= 0) {
		trace->tracer.topo = scenario->topo;
		trace->tracer.sources = sources;
		trace->tracer.nsources = (uint32_t)ret;
		settle(trace);
		ret = check_first_hop(trace, err);
	}
	if (ret == 0)
		ret = find_job(trace->job, scenario->workload, &trace->tracer.filter.job, err);
	if (ret == 0)
		ret = trace->merge ? trace_merge(scenario->topo, trace->paths + 1, trace->npaths - 1, &result, err)
				   : trace_sockets(trace, scenario, &result, err);
	if (ret == 0)
		ret = count_links(trace, scenario, &result, &load, err);
	if (ret == 0) {
		view.result = &result;
		view.load = &load;
		code = show(&view, err);
	}
	topo_load_fini(&load);
	tracer_result_fini(&result);
	free(sources);
	return code;
}

/* A run's folder is its configuration and its sockets. */
static int
find_scenario(struct trace_options *trace, char *config, char *sockets, struct err *err)
{
	struct stat st;

	trace->scenario.path = trace->paths[0];
	if (stat(trace->paths[0], &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	if (snprintf(config, PATH_MAX, "%s/" RUN_CONFIG, trace->paths[0]) >= PATH_MAX ||
	    snprintf(sockets, PATH_MAX, "%s/" RUN_MANAGEMENT, trace->paths[0]) >= PATH_MAX)
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", trace->paths[0]);
	trace->scenario.path = config;
	if (trace->merge || trace->sockets != NULL)
		return 0;
	if (stat(sockets, &st) < 0)
		return err_set(
			err, -ENOENT,
			"%s is not there: the run has ended, or has no management.sockets; rocelab trace %s traces its "
			"configuration",
			sockets, config);
	trace->sockets = sockets;
	return 0;
}

int
command_trace(int argc, char **argv)
{
	struct trace_options trace = {
		.at_ps = TIME_NEVER,
		.rtt_ps = TIME_NEVER,
		.greeting_rtts = UINT32_MAX,
		.for_ps = 3600 * PS_PER_S,
		.tracer = { .threads = 8, .batch = 1, .connections = TRACER_PARALLEL },
	};
	char config[PATH_MAX], sockets[PATH_MAX];
	struct scenario *scenario = NULL;
	struct err err = { 0 };
	int ret = EXIT_USAGE;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--advise") != 0)
			continue;
		memmove(&argv[i], &argv[i + 1], (size_t)(argc - i) * sizeof(*argv)); /* and the NULL behind them */
		return trace_advise(argc - 1, argv);
	}
	argv[0] = "rocelab trace";
	if (args_parse(&trace_argp, argc, argv, 0, &trace) != 0)
		return EXIT_USAGE;
	if (find_scenario(&trace, config, sockets, &err) == 0)
		scenario = scenario_load(&trace.scenario, &err);
	if (scenario != NULL && trace.rtt_ps == TIME_NEVER)
		trace.rtt_ps = scenario->management.rtt_ps;
	if (scenario != NULL && trace.greeting_rtts == UINT32_MAX)
		trace.greeting_rtts = (uint32_t)scenario->management.greeting_rtts;
	if (scenario != NULL && trace.serve != NULL)
		ret = serve_sockets(&trace, scenario, &err) == 0 ? EXIT_DONE : EXIT_USAGE;
	else if (scenario != NULL)
		ret = trace_scenario(&trace, scenario, &err);
	scenario_destroy(scenario);
	if (err.text[0] != '\0')
		log_error("%s", err.text);
	return ret;
}
