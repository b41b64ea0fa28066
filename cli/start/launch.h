/* SPDX-License-Identifier: BSD-3-Clause */
/* One run: dpswitch on a scenario, and the analyzer that listens to it, connected by one socket. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/start/run_hosts.h"
#include "common/child.h"
#include "common/err.h"

struct launch {
	const char *scenario, *dir;    /* dir exists; the run's files go there */
	const char *private_dir;       /* struct private_dir's path: for sockets */
	const struct child_args *pass; /* options that dpswitch understands */
	struct run_hosts *hosts;       /* with their own kernel; NULL: there are none */
	uint32_t partitions;           /* programs that share the fabric; 0: one runs all of it */
	bool print;                    /* for people: brief results, then the report */
};

#define LAUNCH_NO_STREAM (-1) /* the analyzer was sent away: no run began that it could diagnose */

/*
 * The analyzer of a run, which may be slow, stopped or dead. Slow is waited for, however long a diagnosis takes; one
 * that is idle (common/child.h) while it should work is stopped or stuck, and is killed.
 */

struct analyzer {
	const char *dir; /* where the reports go; a recording is DIR/records.bin */
	bool print;      /* the report for people as well */
	pid_t pid;       /* 0: there is none */
	int done;        /* pipe that ends when the reports are written */
};

/* Exit statuses as child_wait() gives them. */
struct launch_status {
	int fabric, analyzer; /* analyzer: or LAUNCH_NO_STREAM */
};

/*
 * Runs both to their end; the verdict is in the directory when it returns.
 * @return 0 with *status set, or negative errno with err set: a program did not start
 */
int launch_run(const struct launch *launch, struct launch_status *status, struct err *err);

/*
 * From now on the first interrupt ends the running fabric, and the verdict on the records so far follows; a later one
 * kills both programs, so that launch_run() returns at once.
 */
void launch_catch_interrupts(void);
bool launch_abandoned(void);
