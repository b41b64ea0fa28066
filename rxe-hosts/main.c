/* SPDX-License-Identifier: BSD-3-Clause */
/* rxe-host: one host of a scenario on an RDMA device of its own: kernel soft-RoCE or a NIC. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/program.h"
#include "emulation/rxe_host/session.h"
#include "scenario/scenario.h"

struct options {
	struct scenario_options scenario;
	const char *host, *manage;
};

static const struct argp_option option_table[] = {
	{ "host", 'h', "NAME", 0, "Which host of the scenario this is", 0 },
	{ "manage", 'm', "PATH", 0, "Management channel: a serial line, a unix socket, HOST:PORT, or fd:N", 0 },
	{ "set", SCENARIO_ARGS_SET, "PATH=VALUE", 0, "Override a key of the scenario, as the fabric did", 0 },
	{ "seed", SCENARIO_ARGS_SEED, "N", 0, "Seed of every random choice, as the fabric has it", 0 },
	{ 0 },
};

static volatile sig_atomic_t interrupted;

static void
on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'h':
		options->host = arg;
		return 0;
	case 'm':
		options->manage = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->host == NULL || options->manage == NULL)
			args_error(state, "--host (its name) and --manage (the management channel) are required");
		return 0;
	default:
		return scenario_args_parse(&options->scenario, key, arg, state);
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse,
	.args_doc = "SCENARIO",
	.doc = "Runs one host of a scenario over the RDMA device that has the host's address. `rocelab run` starts this in"
	       " guests; on another server start it by hand.",
};

static int
run(const struct options *options, const struct scenario *scenario, struct err *err)
{
	struct session_config config = {
		.scenario = scenario,
		.node = topo_find(scenario->topo, options->host),
		.interrupted = &interrupted,
	};
	int rc;

	if (config.node == TOPO_NONE || scenario->topo->nodes[config.node].kind != TOPO_HOST) {
		err_set(err, -EINVAL, "%s: \"%s\" is no host of this scenario", options->scenario.path, options->host);
		return EXIT_USAGE;
	}
	config.manage_fd = manage_open(options->manage, err);
	if (config.manage_fd < 0)
		return EXIT_USAGE;
	rc = session_run(&config, err);
	close(config.manage_fd);
	return rc == 0 ? EXIT_DONE : rc == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

int
main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct options options = { 0 };
	struct err err = { 0 };
	struct scenario *scenario;
	int ret = EXIT_USAGE;

	if (program_begin() != EXIT_DONE)
		return EXIT_USAGE;
	if (args_parse(&argp, argc, argv, 0, &options) != 0)
		return EXIT_USAGE;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	scenario = scenario_load(&options.scenario, &err);
	if (scenario != NULL) {
		ret = run(&options, scenario, &err);
		scenario_destroy(scenario);
	}
	if (err.text[0] != '\0')
		log_error("%s", err.text);
	return ret;
}
