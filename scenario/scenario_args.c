/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario/scenario_args.h"
#include "common/program.h"

void
scenario_args_set(struct scenario_options *options, const char *set, const struct argp_state *state)
{
	if (options->nsets == SCENARIO_MAX_SETS)
		args_error(state, "more than %d --set", SCENARIO_MAX_SETS);
	options->sets[options->nsets++] = set;
}

error_t
scenario_args_parse(struct scenario_options *options, int key, char *arg, const struct argp_state *state)
{
	switch (key) {
	case SCENARIO_ARGS_SET:
		scenario_args_set(options, arg, state);
		return 0;
	case SCENARIO_ARGS_SEED:
		options->seed = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (options->path != NULL)
			args_error(state, "one file at a time: \"%s\" is the second", arg);
		options->path = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		args_error(state, "which scenario? topo/scenarios/ has some");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}
