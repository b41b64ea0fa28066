/* SPDX-License-Identifier: BSD-3-Clause */
/* dpswitch-forward: the program of emulation/forward/forward.h; `rocelab bench realtime` starts it. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/program.h"
#include "dpswitch/lcore/launch.h"
#include "emulation/forward/forward.h"
#include "scenario/scenario.h"

/* DPDK's, and for the frames of each port */
#define MEMORY_MB 64
#define PAIR_MEMORY_MB 32

struct options {
	struct scenario_options scenario;
	struct forward_options forward;
	const char *eal;
};

static const struct argp_option option_table[] = {
	{ "set", SCENARIO_ARGS_SET, "PATH=VALUE", 0, "Override a key of the scenario", 0 },
	{ "out", 'o', "DIR", 0, "Write frames.pcap and forward.json to DIR (default .)", 0 },
	{ "frame-bytes", 'f', "N", 0, "Size of the frames without FCS (default 60)", 0 },
	{ "seconds", 't', "S", 0, "How long, behind 0.3 s that are not counted (default 1)", 0 },
	{ "round", 'r', "KIND", 0,
	  "Frames go round over ports of a kind, instead of from net_pcap to net_null: ring, memif, vhost; af_packet over "
	  "two "
	  "pairs of veth, source and source-peer, sink and sink-peer",
	  0 },
	{ "lcores", 'l', "N", 0, "DPDK lcores that share the switches (default 1)", 0 },
	{ "eal", 'e', "ARGS", 0, "Further arguments of DPDK's EAL, in one word: \"--telemetry\"", 0 },
	{ "paced", 'p', NULL, 0, "Forward one frame at a time in real time, and measure how late it leaves", 0 },
	{ 0 },
};

static void
set_round(const struct argp_state *state, const char *kind, struct forward_options *forward)
{
	static const char *const names[PORT_ROUND_KINDS] = PORT_ROUND_NAMES;
	int number = 0;

	while (number < PORT_ROUND_KINDS && strcmp(kind, names[number]) != 0)
		number++;
	if (number == PORT_ROUND_KINDS)
		args_error(state, "--round %s: ring, memif, vhost and af_packet are there", kind);
	forward->goes_round = true;
	forward->round = (enum port_round_kind)number;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	char *end;

	switch (key) {
	case 'o':
		options->forward.dir = arg;
		return 0;
	case 'f':
		options->forward.frame_bytes =
			(uint32_t)args_number(state, "--frame-bytes", arg, ETH_MIN_BYTES, FORWARD_MOST_BYTES);
		return 0;
	case 't':
		options->forward.seconds = strtod(arg, &end);
		if (*end != '\0' || !(options->forward.seconds > 0 && options->forward.seconds < 1000))
			args_error(state, "--seconds %s: give a number above 0", arg);
		return 0;
	case 'r':
		set_round(state, arg, &options->forward);
		return 0;
	case 'l':
		options->forward.lcores = (uint32_t)args_number(state, "--lcores", arg, 1, FABRIC_MAX_LCORES);
		return 0;
	case 'e':
		options->eal = arg;
		return 0;
	case 'p':
		options->forward.paced = true;
		return 0;
	default:
		return scenario_args_parse(&options->scenario, key, arg, state);
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse,
	.args_doc = "SCENARIO",
	.doc = "Forwards frames of a scenario's flows between external ports. `rocelab bench realtime` starts it.",
};

int
main(int argc, char **argv)
{
	struct options options = { .forward = { .dir = ".", .frame_bytes = ETH_MIN_BYTES, .lcores = 1, .seconds = 1 } };
	struct lcore_config eal = { 0 };
	struct scenario *scenario;
	struct err err = { 0 };
	int ret = -EINVAL;

	if (program_begin() != EXIT_DONE)
		return EXIT_USAGE;
	if (args_parse(&argp, argc, argv, 0, &options) != 0)
		return EXIT_USAGE;
	scenario = scenario_load(&options.scenario, &err);
	eal.lcores = options.forward.lcores;
	eal.eal = options.eal;
	eal.memory_mb = scenario != NULL ? MEMORY_MB + PAIR_MEMORY_MB * scenario->topo->nhosts : 0;
	if (scenario != NULL && lcore_init(&eal, &err) == 0) {
		ret = forward_run(scenario, &options.forward, &err);
		lcore_fini();
	}
	scenario_destroy(scenario);
	if (ret < 0)
		log_error("%s", err.text);
	return ret < 0 ? EXIT_FAILED : EXIT_DONE;
}
