/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab reference: the scenario reference, printed from the tables that read scenarios. */
#include <stdio.h>

#include "cli/command.h"
#include "common/log.h"
#include "scenario/scenario.h"

int
command_reference(int argc, char **argv)
{
	struct cfg_known known[SCENARIO_MAX_TABLES];

	if (argc > 1) {
		log_error("reference takes no arguments: \"%s\" is too much", argv[1]);
		return EXIT_USAGE;
	}
	cfg_print_reference(known, scenario_tables(known, SCENARIO_MAX_TABLES), stdout);
	return EXIT_DONE;
}
