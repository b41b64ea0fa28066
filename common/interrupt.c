/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/interrupt.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/clock.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1 };

#define SIGNALS ARRAY_LEN(signals)

/* Written by the handler, which nothing interrupts. */
static volatile sig_atomic_t wishes;
static volatile uint64_t asked_ns;
/* Set before there is a handler. */
static struct interrupt_actions actions;

static void
set_of_signals(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaddset(set, signals[i]);
}

static void
on_signal(int number, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	(void)context;
	if (wishes == 0) {
		asked_ns = clock_now_ns();
		wishes = 1;
		if (actions.ask != NULL)
			actions.ask();
	} else if (info->si_code != SI_QUEUE && clock_now_ns() - asked_ns >= INTERRUPT_AGAIN_NS) {
		if (wishes == 1 && actions.abandons) {
			asked_ns = clock_now_ns();
			wishes = 2;
		} else {
			signal(number, SIG_DFL);
			raise(number); /* when this handler has returned */
		}
	}
	errno = saved_errno;
}

void
interrupt_catch(const struct interrupt_actions *wanted)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART }, before;

	if (wanted != NULL)
		actions = *wanted;
	set_of_signals(&action.sa_mask);
	for (size_t i = 0; i < SIGNALS; i++) {
		sigaction(signals[i], NULL, &before);
		if (signals[i] != SIGHUP || before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

bool
interrupt_asked(void)
{
	return wishes != 0;
}

unsigned
interrupt_count(void)
{
	return (unsigned)wishes;
}

void
interrupt_pass_on(pid_t pid)
{
	/* Its si_code, SI_QUEUE, distinguishes it from a signal that another process sends again. */
	sigqueue(pid, SIGTERM, (union sigval){ .sival_int = 0 });
}

void
interrupt_hold(sigset_t *before)
{
	sigset_t set;

	set_of_signals(&set);
	sigprocmask(SIG_BLOCK, &set, before);
}
