/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab topo: check, show and import topologies without running anything. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "common/log.h"
#include "common/program.h"
#include "emulation/emulation.h"
#include "emulation/preflight.h"
#include "emulation/service.h"
#include "scenario/scenario.h"
#include "topo/build.h"
#include "topo/topo.h"
#include "workload/plan.h"

struct topo_options {
	struct scenario_options scenario;
	const char *action;
	bool dot;
};

static const struct argp_option options[] = {
	{ "dot", 'd', NULL, 0, "show: print Graphviz instead of a table", 0 },
	{ "set", SCENARIO_ARGS_SET, "PATH=VALUE", 0, "Override a key of the scenario", 0 },
	{ 0 },
};

static bool
is_action(const char *text)
{
	return strcmp(text, "check") == 0 || strcmp(text, "show") == 0 || strcmp(text, "import") == 0;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct topo_options *topo = state->input;

	switch (key) {
	case 'd':
		topo->dot = true;
		return 0;
	case ARGP_KEY_ARG:
		if (topo->action == NULL) {
			if (!is_action(arg))
				args_error(state, "\"%s\": there are check, show and import", arg);
			topo->action = arg;
			return 0;
		}
		return scenario_args_parse(&topo->scenario, key, arg, state);
	case ARGP_KEY_NO_ARGS:
	case ARGP_KEY_END:
		if (topo->scenario.path == NULL)
			args_error(state, "give an action and a file");
		return 0;
	default:
		return scenario_args_parse(&topo->scenario, key, arg, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "check SCENARIO\nshow SCENARIO\nimport NS3-TOPOLOGY",
	.doc = "check: everything that a run checks before it starts (ports, reachability, loops, headroom, flows), and "
	       "what "
	       "cannot act or work as it is written, with the options that change it (docs/running.md).\n"
	       "show: nodes, ports, links.\n"
	       "import: an HPCC ns-3 topology file as a \"topology\" group of ours, on standard output.",
};

/*
 * Prints parts that can be built but do not do what they seem to. Without any, the scenario is sound. @return 0 or
 * -ENOMEM
 */
static int
print_findings(const struct scenario *sc, const struct emulation *emulation, struct err *err)
{
	struct preflight_finding findings[PREFLIGHT_FINDINGS];
	int count = preflight(emulation, findings);

	printf("%s: %u switches, %u hosts, %u links, %u flows: ", sc->name, sc->topo->nswitches, sc->topo->nhosts,
	       sc->topo->nlinks, sc->plan->flows.count);
	if (count > 0)
		printf("it can be built; %d warning%s\n", count, count == 1 ? "" : "s");
	else
		puts("sound");
	for (int i = 0; i < count; i++) {
		printf("%s: %s\n", findings[i].check, findings[i].text);
		printf("  %sremedy: %s\n", findings[i].no_remedy != NULL ? "no " : "",
		       findings[i].no_remedy != NULL ? findings[i].no_remedy : findings[i].remedy);
	}
	return count < 0 ? err_set(err, count, "out of memory") : 0;
}

/* A scenario that can be built has passed every check that a run makes. */
static int
check(struct scenario *sc, struct err *err)
{
	const struct emulation_options how = { .lcores = 1, .phase = EMULATION_RUN, .services = run_services };
	struct emulation *emulation;
	int ret;

	scenario_embed_hosts(sc);
	emulation = emulation_create(sc, &how, err);
	if (emulation == NULL)
		return EXIT_USAGE;
	ret = print_findings(sc, emulation, err);
	emulation_destroy(emulation);
	return ret == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int
act(const struct topo_options *options_given, struct err *err)
{
	struct scenario *sc;
	int ret = EXIT_DONE;

	if (strcmp(options_given->action, "import") == 0)
		return topo_import_ns3(options_given->scenario.path, stdout, err) == 0 ? EXIT_DONE : EXIT_USAGE;
	sc = scenario_load(&options_given->scenario, err);
	if (sc == NULL)
		return EXIT_USAGE;
	if (strcmp(options_given->action, "check") == 0)
		ret = check(sc, err);
	else if (options_given->dot)
		topo_show_dot(sc->topo, stdout);
	else
		topo_show(sc->topo, stdout);
	scenario_destroy(sc);
	return ret;
}

int
command_topo(int argc, char **argv)
{
	struct topo_options given = { 0 };
	struct err err = { 0 };
	int ret;

	argv[0] = "rocelab topo";
	if (args_parse(&argp, argc, argv, 0, &given) != 0)
		return EXIT_USAGE;
	ret = act(&given, &err);
	if (err.text[0] != '\0')
		log_error("%s", err.text);
	return ret;
}
