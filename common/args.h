/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of command-line options, for parsers of argp(3). A value that is refused ends the program and says why. */
#pragma once

#include <argp.h>
#include <stdint.h>
#include <stdio.h>

/*
 * argp_parse(3) with what all programs share: `--help` ends with the exit codes, and a program that another one of ours
 * started on a user's input refuses it in the name of the command that the user gave (common/log.h).
 * @param input  for the parser; every parser of argp may be NULL but argp's own
 * @return 0 or an errno
 */
error_t args_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* The table of common/exit_code.h, as `--help` has it. */
void args_print_exit_codes(FILE *to);

/* Ends the program with EXIT_USAGE and this sentence as a line of plain text (common/printable.h): it quotes the user. */
void args_error(const struct argp_state *state, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* @param option  as it was given, "--lcores" @return a whole number from min to max */
uint64_t args_number(const struct argp_state *state, const char *option, const char *text, uint64_t min, uint64_t max);

/* For a help_filter of argp(3): what list() writes, before the text that ends the help. @return the text, by malloc(3) if another */
char *args_help_list(int key, const char *text, void (*list)(FILE *to));
