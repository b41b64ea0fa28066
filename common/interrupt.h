/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a program ends that somebody wants to end: Ctrl-C, timeout(1), systemd, a closed terminal. The first SIGINT, SIGTERM
 * or SIGHUP asks it to end in good order; one that comes later ends it at once. A SIGHUP that is ignored (nohup) stays
 * ignored.
 *
 * One wish comes as several signals: to a process and to its group (timeout), of two kinds (a terminal that closes), and
 * from a program of ours that passes on what it got. What comes within INTERRUPT_AGAIN_NS of the first, or is passed on,
 * is the same wish.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define INTERRUPT_AGAIN_NS 1000000000ULL

struct interrupt_actions {
	void (*ask)(void); /* in the handler of the first; NULL: nothing */
	bool abandons;     /* the program ends at once by itself on the second, interrupt_count() > 1; the third ends it */
};

/* From now on. System calls that are interrupted go on. */
void interrupt_catch(const struct interrupt_actions *actions);

/* Has somebody asked? */
bool interrupt_asked(void);
/* How often? What is the same wish is counted once. */
unsigned interrupt_count(void);

/* Asks a process of ours to end, for whatever reason the caller has. May be called in a signal's handler. */
void interrupt_pass_on(pid_t pid);

/* Holds the three back; sigprocmask(SIG_SETMASK, before, NULL) lets them come. */
void interrupt_hold(sigset_t *before);
