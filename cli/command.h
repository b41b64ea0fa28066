/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommands of `rocelab`. Each gets its own argv[0..argc) with its name first, and returns the exit code. */
#pragma once

#include "common/program.h"

struct command {
	const char *name;
	const char *args;
	const char *doc;
	int (*run)(int argc, char **argv);
	const char *program; /* that is the command, in the folder of the command's name; NULL: run() is */
};

extern const char rocelab_version[]; /* "0.1.0" */

int command_run(int argc, char **argv);
int command_diagnose(int argc, char **argv);
int command_topo(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_shell(int argc, char **argv);
int command_blame(int argc, char **argv);
int command_import(int argc, char **argv);
int command_trace(int argc, char **argv);
int command_reference(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_list(int argc, char **argv);
int command_query(int argc, char **argv);
int command_show(int argc, char **argv);
int command_sweep(int argc, char **argv);
int command_export(int argc, char **argv);
