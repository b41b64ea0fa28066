/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab reference: the scenario reference, printed from the tables that read scenarios. */
#include <stdio.h>

#include "cli/command.h"
#include "emulation/scenario/scenario.h"

int
command_reference(int argc, char **argv)
{
	struct cfg_known known[SCENARIO_MAX_TABLES];

	if (argc > 1) {
		fprintf(stderr, "rocelab reference: \"%s\" is too much: it takes no arguments\n", argv[1]);
		return EXIT_USAGE;
	}
	cfg_print_reference(known, scenario_tables(known, SCENARIO_MAX_TABLES), stdout);
	return EXIT_DONE;
}
