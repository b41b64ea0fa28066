/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommands of `rocelab`. Each gets its own argv[0..argc) with its name first, and returns the exit code. */
#pragma once

#include <stdio.h>

#include "common/exit_code.h"

struct command {
	const char *name;
	const char *args;
	const char *doc;
	int (*run)(int argc, char **argv);
	void (*list)(FILE *to); /* prints what there is of it, a name and what it is a line; NULL: there are no kinds */
};

int command_run(int argc, char **argv);
int command_diagnose(int argc, char **argv);
int command_topo(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_bench(int argc, char **argv);
void command_bench_list(FILE *to);
int command_doctor(int argc, char **argv);
int command_shell(int argc, char **argv);
int command_eval(int argc, char **argv);
void command_eval_list(FILE *to);
void command_eval_studies(FILE *to); /* of these those that are no families of cases */
int command_eval_counterfactual(int argc, char **argv);
int command_eval_flowpulse(int argc, char **argv);
int command_eval_flowtracer(int argc, char **argv);
int command_eval_odd(int argc, char **argv);
int command_eval_compare(int argc, char **argv);
int command_eval_pingmesh(int argc, char **argv);
int command_blame(int argc, char **argv);
int command_import(int argc, char **argv);
int command_trace(int argc, char **argv);
int command_reference(int argc, char **argv);
