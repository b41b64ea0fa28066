/* SPDX-License-Identifier: BSD-3-Clause */
/* How every program of rocelab begins, takes its arguments, and ends. */
#pragma once

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* How every program ends: one table, which `--help` prints. */

/* clang-format off */
#define EXIT_CODES(ROW)                                                                                                    \
	ROW(EXIT_DONE, 0, "done")                                                                                          \
	ROW(EXIT_FAILED, 1, "an invariant failed, a program broke or slowed down, or a write failed")            \
	ROW(EXIT_USAGE, 2, "wrong usage, or input that is refused")                                                        \
	ROW(EXIT_NOT_BEGUN, 3, "no run can start, though input is valid: a host or program is missing")                  \
	ROW(EXIT_FINDING, 4, "the verdict has a finding, and --fail-on-finding was given")                                 \
	ROW(EXIT_UNFINISHED, 5, "the run ended before its work was done; run.json has the end_reason")                     \
	ROW(EXIT_SLOWER, 6, "a run is slower than the one it is compared with, beyond --fail-on")                          \
	ROW(EXIT_SKIPPED, 77, "a test was skipped")                                                                        \
	ROW(EXIT_INTERRUPTED, 130, "interrupted by a signal; results so far are kept")
/* clang-format on */

#define EXIT_CODE_VALUE(name, value, text) name = value,
enum exit_code { EXIT_CODES(EXIT_CODE_VALUE) };

/*
 * @return whether the status is that of a run that began and ended in order, so that its files are complete, whatever
 *         they report
 * @param status  of child_wait()
 */
static inline bool
exit_code_is_of_run(int status)
{
	return status == EXIT_DONE || status == EXIT_FAILED || status == EXIT_UNFINISHED || status == EXIT_INTERRUPTED;
}

/*
 * @return the exit code of a program that could not create its folder or file
 * @param ret  negative errno: the disk failed, or the input is refused
 */
static inline int
exit_code_of_file(int ret)
{
	return ret == -ENOSPC || ret == -EDQUOT || ret == -EIO ? EXIT_FAILED : EXIT_USAGE;
}

/* The only argument of a program that then prints its kinds, a name and a meaning a line, for `rocelab --help`. */
#define PROGRAM_LIST_KINDS "--list-kinds"

/*
 * The only argument of a command that then prints the tables behind its --help, of which man pages and completion are made
 * (scripts/man-pages). A line an entry, its fields between tabs, with \\n for a line feed:
 *   args TEXT | doc TEXT | more TEXT | group TEXT | option NAME KEY ARGUMENT MEANING
 */
#define PROGRAM_LIST_OPTIONS "--list-options"

/*
 * First of all: standard streams that are there, the exit code of refused arguments, the log as the environment wants it.
 * @return EXIT_DONE, or EXIT_USAGE: the program ends with it
 */
int program_begin(void);

/* Values of command-line options, for parsers of argp(3). A refused value ends the program with an error. */

/*
 * argp_parse(3) with what all programs share: `--help` ends with the exit codes, and a program that another one of ours
 * started on a user's input refuses it in the name of the command that the user gave (common/log.h).
 * @param input  for the parser; every parser of argp may be NULL but argp's own
 * @return 0 or an errno
 */
error_t args_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);

/* The table of exit codes, as `--help` has it. */
void args_print_exit_codes(FILE *to);

/* Ends the program with EXIT_USAGE and this sentence as a line of plain text (common/printable.h): it quotes the user. */
void args_error(const struct argp_state *state, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* @param option  as it was given, "--lcores" @return a whole number from min to max */
uint64_t args_number(const struct argp_state *state, const char *option, const char *text, uint64_t min, uint64_t max);

/*
 * Inserts the output of list() in front of the text that ends the help, for a help_filter of argp(3).
 * @return the text, by malloc(3) if another
 */
char *args_help_list(int key, const char *text, void (*list)(FILE *to));
