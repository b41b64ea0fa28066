/* SPDX-License-Identifier: BSD-3-Clause */
/* The other programs of rocelab: where they are, starting them, waiting for them. */
#pragma once

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/stall_timer.h"

#define CHILD_MAX_ARGS 256

/* An argument vector under construction; strings are borrowed. */
struct child_args {
	const char *argv[CHILD_MAX_ARGS + 1];
	size_t count;
	int stderr_fd; /* what it has for stderr; 0: this program's */
	bool apart;    /* in a process group of its own: signals of the terminal do not reach it */
};

/* @return 0, or -E2BIG with err set */
int child_add(struct child_args *args, const char *arg, struct err *err);
/*
 * Makes an argument of a path that a user named: prefixes "./" to one that a program would take for an option ("-x").
 * @return path, or buf
 */
const char *child_path(const char *path, char buf[PATH_MAX]);

/*
 * Finds a program of rocelab: beside this one, in its folder of the build tree, or where helpers are installed.
 * @param folder  its folder in the build tree ("diag")
 * @return 0, or -ENOENT with err set
 */
int child_find(const char *program, const char *folder, char *path, size_t cap, struct err *err);
/* child_find() for a program beside another one than this. @param of  that one's path, which may be a symbolic link */
int child_find_beside(const char *of, const char *program, const char *folder, char *path, size_t cap, struct err *err);

/*
 * fork() with all signals blocked on both sides, so that none reaches the child while its handlers are still those of its
 * parent, and is lost. Each side gives the signals back when it is ready for them: sigprocmask(SIG_SETMASK, before, NULL).
 * @param before  set to the signals that were blocked before
 * @return as fork(), with errno
 */
pid_t child_fork(sigset_t *before);

/*
 * Starts a program that ends when this process does.
 * @param ignore_interrupt  Ctrl-C is not for it
 * @return pid, or negative errno with err set
 */
pid_t child_start(const char *path, const struct child_args *args, bool ignore_interrupt, struct err *err);

/* Added to the number of a signal that killed a child: no exit status is as large. */
#define CHILD_KILLED 256

/*
 * Starts a program as child_start() does, and reads its stdout.
 * @param pid  set to it: the caller waits for it once it has closed the stream
 * @return NULL with err set
 */
FILE *child_read(const char *path, const struct child_args *args, pid_t *pid, struct err *err);

/* @return exit status 0..255, or CHILD_KILLED + signal number */
int child_wait(pid_t pid);

/* Such a status in words: "ended with status 3", "was killed (signal 9: Killed)". @return buf */
const char *child_text(int status, char *buf, size_t cap);

/* @return whether the signal that interrupted this program also ended the child, before the child could end in order */
bool child_interrupted(int status);

/* @return true when the process has ended; *status as child_wait() returns it */
int child_poll(pid_t pid, int *status);
/* child_poll() that also measures the processor time of the child and of all processes that the child waited for. */
int child_poll_cpu(pid_t pid, int *status, uint64_t *cpu_ns);

/* Asks a child to end, and kills it if it has not within 2 s: a stopped one gets no signal. @return as child_wait() */
int child_end(pid_t pid);

/* Looks whether a child does anything. Zero-initialise but for pid. */
struct child_watch {
	pid_t pid;
	uint64_t work; /* of its processor time and page faults */
	struct stall_timer stall_timer;
};

/*
 * A child that computes, waits for a processor or for a disk is busy; one that is stopped, or waits for anything else, is
 * idle: its processor time and its page faults in /proc/PID/stat stay, and its state there is neither R nor D.
 * @return for how long it has been idle now, nanoseconds of the caller's own life; to be asked a few times a second
 */
uint64_t child_idle_ns(struct child_watch *watch);
