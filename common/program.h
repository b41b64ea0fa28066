/* SPDX-License-Identifier: BSD-3-Clause */
/* How every program of rocelab begins. */
#pragma once

/* The only argument of a program that then prints its kinds, a name and what it is a line, for `rocelab --help`. */
#define PROGRAM_LIST_KINDS "--list-kinds"

/*
 * First of all: standard streams that are there, the exit code of refused arguments, the log as the environment wants it.
 * @return EXIT_DONE, or EXIT_USAGE: the program ends with it
 */
int program_begin(void);
