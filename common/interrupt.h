/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interruption of a program: Ctrl-C, timeout(1), systemd, a closed terminal. The first SIGINT, SIGTERM or SIGHUP asks
 * it to end in good order; a later one ends it at once. An ignored SIGHUP (nohup) stays ignored. SIGUSR1 is the same: the
 * one that mpirun hands on to its processes.
 *
 * One interruption can send several signals: to a process and to its group (timeout), of two kinds (a terminal that
 * closes), and from a program of ours that forwards its own. Signals within INTERRUPT_AGAIN_NS of the first, or
 * forwarded ones, are the same interruption.
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

/* Handles interrupts from now on. Interrupted system calls are restarted. */
void interrupt_catch(const struct interrupt_actions *actions);

/* Was an end of the program requested? */
bool interrupt_asked(void);
/* How often? What is the same wish is counted once. */
unsigned interrupt_count(void);

/* Asks a process of ours to end, for whatever reason the caller has. May be called in a signal's handler. */
void interrupt_pass_on(pid_t pid);

/* Blocks these signals; sigprocmask(SIG_SETMASK, before, NULL) unblocks them. */
void interrupt_hold(sigset_t *before);
