/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of a program on stderr: "PROGRAM: text", a line a message, as plain text (common/printable.h), at most
 * LOG_BYTES of it.
 * ROCELAB_LOG in the environment names the lowest level that is printed: error, warning, info (the default) or debug;
 * programs that rocelab starts inherit it. Not for packet threads, but for what ends the program.
 */
#pragma once

#define LOG_BYTES 2048
#define LOG_COMMAND "ROCELAB_COMMAND"

enum log_level {
	LOG_ERROR,   /* the requested work is not done */
	LOG_WARNING, /* it is done, and lacks something */
	LOG_INFO,    /* what a person should know or do meanwhile */
	LOG_DEBUG,   /* details for debugging the program */
};

/*
 * Reads ROCELAB_LOG, and ROCELAB_COMMAND, in which `rocelab` leaves the command that the user gave to the programs that
 * it starts; before any thread starts. @return 0, or -EINVAL: no such level (it is reported, and the default stays)
 */
int log_open(void);

/* Prints a message if its level is printed. @param fmt  as printf(3), without a line feed at its end */
void log_print(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_print(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_print(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_print(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_print(LOG_DEBUG, __VA_ARGS__)

/* The command of `rocelab` that started this program, "rocelab run"; NULL: a user did. */
const char *log_command(void);
/* One of several commands in a program: later errors carry its name. Before there are threads. */
void log_set_command(const char *name);
/* The user's input is refused: log_error(), in the name of the user's command. */
void log_refusal(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program with an error and SIGABRT: for memory that runs out where to go on would lose something silently. */
void log_fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), __noreturn__));

/*
 * A line of progress on a terminal, overwritten again and again, from threads that must not wait: a terminal that
 * is held (Ctrl-S), or that is not read any more, gets none.
 */

/* Shows a line in the place of the last one; where standard error is no terminal, a line a minute. */
void progress_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
