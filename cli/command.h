/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommands of `rocelab`. Each gets its own argv[0..argc) with its name first, and returns the exit code. */
#pragma once

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1, /* a check or an invariant failed, or a finding where asked for */
	EXIT_USAGE = 2,  /* usage or bad input */
	EXIT_SKIPPED = 77,
};

struct command {
	const char *name;
	const char *args;
	const char *doc;
	int (*run)(int argc, char **argv);
};

int command_run(int argc, char **argv);
int command_diagnose(int argc, char **argv);
int command_topo(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_reference(int argc, char **argv);
