/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab bench: a benchmark is a file and a row. */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/fabric_cases.h"
#include "common/array.h"
#include "common/log.h"
#include "common/private_dir.h"
#include "common/program.h"
#include "eval/study.h"

struct benchmark {
	const char *name;
	const char *doc;
	/* @param dir  for scratch files. @return 0, or negative errno with err set */
	int (*run)(const char *dir, const struct bench_options *options, struct err *err);
	/* run() with options->against; -EINVAL: it is refused. NULL: there is nothing to compare */
	int (*compare)(const char *dir, const struct bench_options *options, struct err *err);
};

/* Reached only if "ai-fabric" is not the first word; it has options of its own. */
static int
ai_fabric(const char *dir, const struct bench_options *options, struct err *err)
{
	(void)dir;
	(void)options;
	return err_set(err, -EINVAL, "ai-fabric is the first word, and has other options: rocelab bench ai-fabric --help");
}

static int
scale(const char *dir, const struct bench_options *options, struct err *err)
{
	(void)dir;
	(void)options;
	return err_set(err, -EINVAL, "scale is the first word, and has other options: rocelab bench scale --help");
}

static const struct benchmark benchmarks[] = {
	{ "fabric", "packet hops per second per core, hosts included: a hop is a packet that arrives at a node",
	  bench_fabric, bench_fabric_against },
	{ "telemetry",
	  "from a switch's epoch to the analyzer's evidence, by budget; with SCENARIO|FAMILY... what accuracy a budget "
	  "buys "
	  "(rocelab bench telemetry --help): records and bytes, how many are held back or "
	  "dropped, what each costs, and how long after an epoch's end its rows are known, in virtual and in real time",
	  bench_telemetry, NULL },
	{ "stages",
	  "each stage of the telemetry path by itself: processor time of a record that is packed, exported, joined, and of "
	  "the "
	  "diagnosis; the rate of a unix and of a TCP socket; and how late records leave, from idle to ten times what the "
	  "budget "
	  "carries, with --k and --rate of the fabric",
	  bench_stages, NULL },
	{ "state",
	  "bytes of telemetry that a port of a switch keeps, and each flow at it, by structure, at the defaults; and what "
	  "FlowPulse's counters are in bits of SRAM",
	  bench_state, NULL },
	{ "epochs",
	  "in real time, how long after an epoch's end its rows are at the analyzer, and in which stage of the path the "
	  "time "
	  "goes, with embedded hosts and with guests, on one and on two lcores",
	  bench_epochs, NULL },
	{ "analyzer",
	  "records taken in per second, and the time from the last record to the verdict, up to 1,024 ranks and 1,280 "
	  "switches: processor time, of streams made up for it, the best of N runs, and of up to 20 where they are short. "
	  "Where it is proportional, ns a step stays the same along \"ranks x steps\", and ns a report along \"more "
	  "switches\" and \"more reports\": but for what no cache holds any more",
	  bench_analyzer, NULL },
	{ "realtime",
	  "frames per second per core between two external ports with 1 and 20 switches in the path, beside DPDK's "
	  "testpmd; and how long they take in real time",
	  bench_realtime, NULL },
	{ "monitor",
	  "what a host pays for its monitor and detection agent: processor time of a step, an ACK, a look and a "
	  "detection, and memory",
	  bench_monitor, NULL },
	{ "agent",
	  "what hosts with 8 RNICs pay for R-Pingmesh's agent: processor time of a second, memory, and bits a second on "
	  "the wire and to the analyzer",
	  bench_agent, NULL },
	{ "trace", "how long FlowTracer takes, by flows, threads, connections and the management network's round trip",
	  bench_trace, NULL },
	{ "ai-fabric",
	  "tests of the IETF's drafts on AI fabrics: on the fabric of a scenario, with pass rules (SCENARIO [TEST...])",
	  ai_fabric, NULL },
	{ "scale",
	  "speed against size, lcores and processes: hops, time and memory of each run, and a model of them with a "
	  "forecast for "
	  "more machines",
	  scale, NULL },
};

struct options {
	const struct benchmark *benchmark;
	struct bench_options bench;
};

static const struct argp_option option_table[] = {
	{ "repeats", 'n', "N", 0,
	  "Runs of every case, or pairs of runs with --against (default 5): of the fabric median and best are printed, of "
	  "others the best",
	  0 },
	{ "against", 'a', "PROGRAM|FILE", 0,
	  "fabric: compare with another rocelab by alternating pairs of runs, or with a file of --json, in mac-swap "
	  "hops of the same run since machines differ. Exit 1 if a case is slower than 0.95 by more than the noise, which "
	  "pairs of this program with itself show",
	  0 },
	{ "size", 's', "PERCENT", 0, "fabric: scale every message to PERCENT of its full size (default 100)", 0 },
	{ "case", 'c', "NAME", 0, "fabric: run only cases with NAME as a part of their name (\"ring\", \"K=8\")", 0 },
	{ "k", 'k', "K", 0, "stages: use a fat-tree of K (default 4)", 0 },
	{ "rate", 'r', "GBPS", 0, "stages: rate of its links (default 100)", 0 },
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ 0 },
};

static const struct benchmark *
find(const char *name, const struct argp_state *state)
{
	char names[256];
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_LEN(benchmarks); i++)
		if (strcmp(benchmarks[i].name, name) == 0)
			return &benchmarks[i];
	for (size_t i = 0; i < ARRAY_LEN(benchmarks); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i != 0 ? ", " : "",
					 benchmarks[i].name);
	args_error(state, "no benchmark \"%s\": there are %s", name, names);
	return NULL;
}

/* @return name; ends the program if no case has it */
static const char *
check_case(const char *name, const struct argp_state *state)
{
	for (size_t i = 0; i < FABRIC_CASES; i++)
		if (fabric_case_is_meant(&fabric_cases[i], name))
			return name;
	args_error(state, "no case of the fabric has \"%s\" in its name", name);
	return NULL;
}

static bool
is_fabrics(const struct bench_options *options)
{
	return options->against != NULL || options->only != NULL || options->percent != 100;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'n':
		options->bench.repeats = (int)args_number(state, "--repeats", arg, 1, BENCH_MAX_REPEATS);
		return 0;
	case 'a':
		options->bench.against = arg;
		return 0;
	case 's':
		options->bench.percent = (int)args_number(state, "--size", arg, 1, 100);
		return 0;
	case 'c':
		options->bench.only = check_case(arg, state);
		return 0;
	case 'k':
		options->bench.k = (int)args_number(state, "--k", arg, 4, 16) / 2 * 2;
		return 0;
	case 'r':
		options->bench.rate_gbps = (int)args_number(state, "--rate", arg, 10, 800);
		return 0;
	case 'j':
		options->bench.json = true;
		return 0;
	case ARGP_KEY_ARG:
		options->benchmark = find(arg, state);
		return 0;
	case ARGP_KEY_END:
		if (options->benchmark->compare == NULL && is_fabrics(&options->bench))
			args_error(state, "--against, --case and --size are of the benchmark \"fabric\"");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void
list_details(FILE *to)
{
	for (size_t i = 0; i < ARRAY_LEN(benchmarks); i++)
		fprintf(to, "%s: %s.\n", benchmarks[i].name, benchmarks[i].doc);
}

static char *
help_filter(int key, const char *text, void *input)
{
	(void)input;
	return args_help_list(key, text, list_details);
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse,
	.args_doc = "[KIND]",
	.doc = "Measures the programs on this machine.\vThe cost of a plain net_ring mac-swap hop, measured in the same "
	       "run, calibrates the fabric's: shared machines are noisy, and ratios are more stable than absolute figures.",
	.help_filter = help_filter,
};

static void
list_kinds(FILE *to)
{
	for (size_t i = 0; i < ARRAY_LEN(benchmarks); i++)
		fprintf(to, "  %-14s %.*s\n", benchmarks[i].name, (int)strcspn(benchmarks[i].doc, ":;,"),
			benchmarks[i].doc);
}

/* "telemetry" and more than the options of its costs: a scenario or family, or an option of those. */
static bool
is_tradeoff(int argc, char **argv)
{
	if (argc < 3 || strcmp(argv[1], "telemetry") != 0)
		return false;
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "-n") == 0 || strcmp(argv[i], "--repeats") == 0)
			i++;
		else if (strncmp(argv[i], "-n", 2) != 0 && strncmp(argv[i], "--repeats=", 10) != 0 &&
			 strcmp(argv[i], "-j") != 0 && strcmp(argv[i], "--json") != 0)
			return true;
	}
	return false;
}

int
main(int argc, char **argv)
{
	struct options options = { .benchmark = &benchmarks[0],
				   .bench = { .repeats = 5, .percent = 100, .k = 4, .rate_gbps = 100 } };
	struct private_dir dir;
	struct err err = { 0 };
	int ret;

	if (program_begin() != EXIT_DONE)
		return EXIT_USAGE;
	if (argc == 2 && strcmp(argv[1], PROGRAM_LIST_KINDS) == 0) {
		list_kinds(stdout);
		return EXIT_DONE;
	}
	if (argc >= 2 && strcmp(argv[1], "ai-fabric") == 0)
		return study_main(&bench_ai_fabric, argc - 1, argv + 1);
	if (argc >= 2 && strcmp(argv[1], "scale") == 0)
		return study_main(&bench_scale, argc - 1, argv + 1);
	if (is_tradeoff(argc, argv))
		return study_main(&bench_tradeoff, argc - 1, argv + 1);
	log_set_command("rocelab bench");
	/* Many short runs follow: warnings would repeat, and what they warn of is being measured. */
	setenv("ROCELAB_LOG", "error", 0);
	if (args_parse(&argp, argc, argv, 0, &options) != 0)
		return EXIT_USAGE;
	ret = private_dir_create(&dir, &err);
	if (ret == 0) {
		ret = (options.bench.against != NULL ? options.benchmark->compare
						     : options.benchmark->run)(dir.path, &options.bench, &err);
		private_dir_remove(&dir);
	}
	if (ret == 0)
		return EXIT_DONE;
	log_error("%s", err.text);
	return ret == -EINVAL && options.bench.against != NULL ? EXIT_USAGE : EXIT_FAILED;
}
