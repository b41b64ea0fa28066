/* SPDX-License-Identifier: BSD-3-Clause */
/* What the command lines of all programs that read a scenario have in common: SCENARIO, --set and --seed. */
#pragma once

#include <argp.h>

#include "scenario/scenario.h"

/* Keys of --set PATH=VALUE and --seed N in a program's table of options. */
#define SCENARIO_ARGS_SET 's'
#define SCENARIO_ARGS_SEED 'S'

/* Adds a PATH=VALUE, which has to stay where it is; ends the program if there are too many. */
void scenario_args_set(struct scenario_options *options, const char *set, const struct argp_state *state);

/*
 * For the default case of a program's parser (argp(3)): handles the options listed above, and ends the program when it
 * gets no scenario or two.
 * @return 0 or ARGP_ERR_UNKNOWN
 */
error_t scenario_args_parse(struct scenario_options *options, int key, char *arg, const struct argp_state *state);
