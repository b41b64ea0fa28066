/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The analyzer of a run, which may be slow, stopped or dead. Slow is waited for, however long a diagnosis takes; one that is
 * idle (common/child.h) while it should work is stopped or stuck, and is killed.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "common/child.h"
#include "common/err.h"

#define ANALYZER_STUCK (-2) /* besides exit statuses */

struct analyzer {
	const char *dir; /* where the reports go; a recording is DIR/records.bin */
	bool print;      /* the report for people as well */
	pid_t pid;       /* 0: there is none */
	int done;        /* pipe that ends when the reports are written */
};

/*
 * Starts one that listens, and waits for its socket.
 * @return 0, or negative errno with err set and nothing left: -ETIMEDOUT: it is stuck; -EINTR: so it was when the user had
 *         enough; -ECHILD: it ended at once
 */
int analyzer_listen(struct analyzer *analyzer, const char *socket, struct err *err);

/* Sends it away: there is nothing to diagnose, or not by this one. */
void analyzer_dismiss(struct analyzer *analyzer);

/*
 * Waits until its reports are written and what it prints is read. Once the stream has ended.
 * @return its exit status as child_wait() gives it, or ANALYZER_STUCK: it has been killed
 */
int analyzer_wait(struct analyzer *analyzer);

/* Diagnoses the recording. @return as analyzer_wait(), or another negative value with err set: it did not start */
int analyzer_reread(struct analyzer *analyzer, struct err *err);
