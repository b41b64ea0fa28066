/* SPDX-License-Identifier: BSD-3-Clause */
/* pingmesh-controller: R-Pingmesh's controller on a unix socket, for the network of a scenario. */
#include <argp.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/program.h"
#include "common/unix_socket.h"
#include "operator/controller/controller.h"
#include "scenario/scenario.h"

struct options {
	struct scenario_options scenario;
	const char *socket, *store;
	uint32_t factor_ppm;
};

static const struct argp_option option_table[] = {
	{ "listen", 'l', "SOCKET", 0, "Path of the unix socket that agents connect to", 0 },
	{ "store", 'f', "FILE", 0, "SQLite file of what RNICs registered; made if absent, and found again after a restart",
	  0 },
	{ "time-factor-ppm", 't', "N", 0, "All of the protocol's times in millionths of the paper's (default 1000000)", 0 },
	{ "set", SCENARIO_ARGS_SET, "PATH=VALUE", 0, "Override a key of the scenario, as the fabric did", 0 },
	{ "seed", SCENARIO_ARGS_SEED, "N", 0, "Seed of every random choice, as the fabric has it", 0 },
	{ 0 },
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'l':
		options->socket = arg;
		return 0;
	case 'f':
		options->store = arg;
		return 0;
	case 't':
		options->factor_ppm = (uint32_t)args_number(state, "--time-factor-ppm", arg, 1, UINT32_MAX);
		return 0;
	case ARGP_KEY_END:
		if (options->socket == NULL || options->store == NULL)
			args_error(state, "--listen (where agents connect) and --store (the registry) are required");
		return 0;
	default:
		return scenario_args_parse(&options->scenario, key, arg, state);
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse,
	.args_doc = "SCENARIO",
	.doc = "Sends agents of R-Pingmesh their pinglists, with the QPNs of targets.",
};

/*
 * Since 1970, so that a restarted controller continues with the same tuples. It wraps every 213 days: then all tuples
 * are new at once.
 */
static uint64_t
protocol_ps(void)
{
	return clock_since_1970_ns() * 1000;
}

static int
is_over(void)
{
	return interrupt_asked();
}

static int
listen_and_serve(const struct options *options, struct controller *controller, struct err *err)
{
	struct unix_listener listener;
	struct serve_counts counts;
	struct serve_config config = {
		.controller = controller,
		.now_ps = protocol_ps,
		.idle_limit_ms = SERVE_TIMEOUT_MS,
		.is_over = is_over,
	};
	sigset_t before;
	int rc;

	if (unix_listen(&listener, options->socket, err) < 0)
		return EXIT_USAGE;
	config.listener = listener.fd;
	interrupt_hold(&before);
	config.waiting = &before;
	log_info("ready");
	rc = serve(&config, &counts, err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	unix_listener_close(&listener);
	log_info("%llu requests of %llu connections, %llu refused; %llu connections broke off or took too long, %llu made "
		 "no "
		 "sense, %llu were turned away",
		 (unsigned long long)counts.requests, (unsigned long long)counts.peers, (unsigned long long)counts.refused,
		 (unsigned long long)counts.gave_up, (unsigned long long)counts.malformed,
		 (unsigned long long)counts.turned_away);
	return rc == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int
run(const struct options *options, const struct scenario *scenario, struct err *err)
{
	const struct controller_config config = {
		.topo = scenario->topo,
		.table = scenario->routes,
		.store = options->store,
		.times = pingmesh_times(options->factor_ppm),
		.seed = (uint64_t)scenario->root.seed,
		.rxe = scenario->nexternal != 0,
		.rails = scenario->pingmesh.rails,
	};
	struct controller *controller;
	int ret;

	if (controller_create(&config, &controller, err) != 0)
		return EXIT_USAGE;
	ret = listen_and_serve(options, controller, err);
	controller_destroy(controller);
	return ret;
}

int
main(int argc, char **argv)
{
	struct options options = { .factor_ppm = PINGMESH_PPM };
	struct err err = { 0 };
	struct scenario *scenario;
	int ret = EXIT_USAGE;

	if (program_begin() != EXIT_DONE)
		return EXIT_USAGE;
	if (args_parse(&argp, argc, argv, 0, &options) != 0)
		return EXIT_USAGE;
	interrupt_catch(NULL);
	scenario = scenario_load(&options.scenario, &err);
	if (scenario != NULL) {
		ret = run(&options, scenario, &err);
		scenario_destroy(scenario);
	}
	if (err.text[0] != '\0')
		log_error("%s", err.text);
	return ret;
}
