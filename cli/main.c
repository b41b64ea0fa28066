/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab: the command a person uses. It starts the other programs and shows what they found. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "common/array.h"
#include "common/log.h"
#include "common/stdio_guard.h"

static const struct command commands[] = {
	{ "run", "SCENARIO", "run a scenario, diagnose it, print the verdict", command_run },
	{ "diagnose", "DIR", "diagnose the recorded stream of an earlier run again", command_diagnose },
	{ "topo", "check|show|import FILE", "look at a topology without running it", command_topo },
	{ "explain", "SCENARIO --flow SRC,DST,SPORT,DPORT", "every switch's decision for one packet", command_explain },
	{ "trace", "SCENARIO|DIR", "ask hosts and switches for the ways of all flows, hop by hop", command_trace },
	{ "blame", "SCENARIO|DIR", "run it again without each suspect: what each really cost", command_blame },
	{ "eval", "FAMILY...|all|counterfactual", "make cases with known causes, diagnose them, score the verdicts",
	  command_eval },
	{ "bench", "fabric|analyzer|realtime", "measure the programs on this machine", command_bench },
	{ "doctor", "[KIND...]", "which kinds of hosts this machine can run, and what is missing", command_doctor },
	{ "shell", "HOST [-- COMMAND...]", "run a command in a host that has its own kernel", command_shell },
	{ "import", "msccl|chakra|goal|hpcc FILE...", "make a scenario of what other tools wrote", command_import },
	{ "reference", "", "print the scenario reference (Markdown)", command_reference },
};

#define NCOMMANDS ARRAY_LEN(commands)

static void
print_help(FILE *to)
{
	fprintf(to, "rocelab runs a whole lossless RoCE fabric on this machine and says what slowed a collective down.\n\n"
		    "Usage: rocelab COMMAND [ARGS]\n\n");
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(to, "  %-10s %-38s %s\n", commands[i].name, commands[i].args, commands[i].doc);
	fprintf(to, "\nrocelab COMMAND --help tells more. Start with:\n"
		    "  rocelab run topo/scenarios/case-study.cfg\n\n"
		    "Exit codes: 0 done, 1 a failed check or invariant, or a collective that did not finish (or a finding, "
		    "where asked for), 2 usage or bad input.\n"
		    "ROCELAB_LOG=error|warning|info|debug in the environment says how much is told on stderr (default "
		    "info).\n");
}

int
main(int argc, char **argv)
{
	stdio_guard();
	argp_err_exit_status = EXIT_USAGE;
	if (log_open() < 0)
		return EXIT_USAGE;
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return EXIT_DONE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("rocelab " ROCELAB_VERSION);
		return EXIT_DONE;
	}
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	log_error("no command \"%s\"; rocelab --help lists them", argv[1]);
	return EXIT_USAGE;
}
