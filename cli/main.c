/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab: the command a person uses. It starts the other programs and shows their results. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "common/array.h"
#include "common/child.h"
#include "common/log.h"
#include "common/nearest.h"
#include "common/program.h"

const char rocelab_version[] = ROCELAB_VERSION;

static const struct command commands[] = {
	{ "run", "SCENARIO", "run a scenario, diagnose it, print the verdict", command_run, NULL },
	{ "diagnose", "DIR", "diagnose the recorded stream of an earlier run again", command_diagnose, NULL },
	{ "show", "WHAT [RUN]", "counters of a run's ports, queues, NICs and QPs, its flows and jobs", command_show, NULL },
	{ "compare", "RUN RUN...", "how runs differ from the first: configuration, times, findings, counters",
	  command_compare, NULL },
	{ "sweep", "SCENARIO", "run a scenario with combinations of values and seeds: one table, CSV, plot", command_sweep,
	  NULL },
	{ "list", "[FOLDER]", "list the runs below a folder", command_list, NULL },
	{ "export", "FORMAT [RUN]", "write a run for Perfetto, Prometheus, nccl-tests' readers, Wireshark", command_export,
	  NULL },
	{ "query", "RUN SQL", "ask the store of a run, DIR/run.sqlite", command_query, NULL },
	{ "topo", "check|show|import FILE", "look at a topology without running it", command_topo, NULL },
	{ "explain", "SCENARIO --flow SRC,DST,SPORT,DPORT", "every switch's decision for one packet", command_explain,
	  NULL },
	{ "trace", "SCENARIO|DIR", "ask hosts and switches for the paths of all flows, hop by hop", command_trace, NULL },
	{ "blame", "SCENARIO|DIR", "run it again without each suspect: what each really cost", command_blame, NULL },
	{ "eval", "KIND...|all", "make cases with known causes, diagnose them, score the verdicts", NULL, "rocelab-eval" },
	{ "bench", "KIND", "measure the programs on this machine", NULL, "rocelab-bench" },
	{ "doctor", "[KIND...]", "check which kinds of hosts this machine can run, and name missing parts", command_doctor,
	  NULL },
	{ "shell", "HOST [-- COMMAND...]", "run a command in a host that has its own kernel", command_shell, NULL },
	{ "import", "msccl|chakra|goal|hpcc|sonic FILE...", "make a scenario of what other tools wrote", command_import,
	  NULL },
	{ "reference", "", "print the scenario reference (Markdown, JSON)", command_reference, NULL },
};

#define NCOMMANDS ARRAY_LEN(commands)

/* @return 0, or -ENOENT with err set */
static int
find_program(const struct command *command, char path[PATH_MAX], struct err *err)
{
	return child_find(command->program, command->name, path, PATH_MAX, err);
}

/* The help of a command that another program has, as that prints it. */
static void
list_kinds(const struct command *command, FILE *to)
{
	char path[PATH_MAX], line[256];
	struct child_args args = { 0 };
	struct err err = { 0 };
	FILE *from = NULL;
	pid_t pid;

	if (find_program(command, path, &err) == 0 && child_add(&args, path, &err) == 0 &&
	    child_add(&args, PROGRAM_LIST_KINDS, &err) == 0)
		from = child_read(path, &args, &pid, &err);
	if (from == NULL) {
		fprintf(to, "  none here: %s\n", err.text);
		return;
	}
	while (fgets(line, sizeof(line), from) != NULL)
		fputs(line, to);
	fclose(from);
	child_wait(pid);
}

static void
print_help(FILE *to)
{
	fprintf(to,
		"rocelab runs a whole lossless RoCE fabric on this machine and reports what slowed a collective down.\n\n"
		"Usage: rocelab COMMAND [ARGS]\n\n");
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(to, "  %-10s %-38s %s\n", commands[i].name, commands[i].args, commands[i].doc);
	for (size_t i = 0; i < NCOMMANDS; i++) {
		if (commands[i].program == NULL)
			continue;
		fprintf(to, "\nKinds of rocelab %s:\n", commands[i].name);
		list_kinds(&commands[i], to);
	}
	fprintf(to, "\nrocelab COMMAND --help has the details. Start with:\n"
		    "  rocelab run topo/scenarios/case-study.cfg\n\n");
	args_print_exit_codes(to);
	fprintf(to, "\nROCELAB_LOG=error|warning|info|debug in the environment sets how much is logged on stderr (default "
		    "info).\n");
}

/* Programs that are started refuse input in the name of this command. @return exit code */
static int
run_command(const struct command *command, int argc, char **argv)
{
	char name[64], path[PATH_MAX];
	struct err err = { 0 };

	snprintf(name, sizeof(name), "rocelab %s", command->name);
	setenv(LOG_COMMAND, name, 1);
	if (command->program == NULL)
		return command->run(argc, argv);
	if (find_program(command, path, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_NOT_BEGUN;
	}
	argv[0] = "rocelab"; /* whose messages they are */
	execv(path, argv);
	log_error("%s: %s", path, strerror(errno));
	return EXIT_NOT_BEGUN;
}

static int
no_command(const char *word)
{
	struct nearest nearest = { .word = word };

	for (size_t i = 0; i < NCOMMANDS; i++)
		nearest_offer(&nearest, commands[i].name, strlen(commands[i].name));
	if (nearest_is_near(&nearest))
		log_error("no command \"%s\"; did you mean \"%s\"? rocelab --help lists them", word, nearest.best);
	else
		log_error("no command \"%s\"; rocelab --help lists them", word);
	return EXIT_USAGE;
}

int
main(int argc, char **argv)
{
	if (program_begin() != EXIT_DONE)
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
		printf("rocelab %s\n", rocelab_version);
		return EXIT_DONE;
	}
	for (size_t i = 0; i < NCOMMANDS; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return run_command(&commands[i], argc - 1, argv + 1);
	return no_command(argv[1]);
}
